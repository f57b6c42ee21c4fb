//! Tables I to VI of the paper, measured and compared with the printed figures.

use std::collections::HashMap;

use crate::entry::{AVAILABLE, BASELINE};
use crate::fnn::paper_methods;
use crate::pictures::{self, MethodCurve};
use crate::verdict::{all_hold, all_of, covering, listed, pointer};
use crate::{
    Count, Effort, Entry, EntryResult, Lab, PAPER_COMPARISON, PAPER_EPSILON, PAPER_TIMES, PaperRow,
    TEST_SEED, TEST_SIZES,
};
use anyk::framework::{
    Chart, Claim, Error, Head, Holds, Method, PretrainSettings, Series, Table, Value,
};
use anyk::row;

/// Explanation of the two criteria of availability in notes.
pub(crate) const COUNTS: &str = "A_K is the share of users whose loss is at most ε if it is split into equal halves, \
    ε_c = ε_q = ε/2. “As coded” uses the loss that the base station codes for, ε_c = ε_D/2: a user is served if \
    ε_D/2 + ε_q is at most ε. As in the paper, A_K is rounded to two digits: a method serves every user if A_K is at \
    least 0.995.";
/// Explanation of the columns with bandwidths in notes.
const BANDWIDTHS: &str = "Deviation is relative to the paper's W_K. Extra bandwidth is relative to the exact optimum \
    of the same cells; if it is negative, some users lack bandwidth.";

pub(crate) fn table1(_: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let row = |set: &str, sizes: &str, each: usize, total: usize, paper: usize| {
        row![set, sizes, each, total, paper]
    };
    let pretraining = |preset: &str, settings: PretrainSettings| {
        let (most, each) = (settings.sizes.most(), settings.samples_per_size);
        let count = settings.sizes.list().len();
        let sizes = format!("{count} in [1, …, {most}]");
        row(&format!("pre-training, preset {preset}"), &sizes, each, count * each, 4000)
    };
    let rows = vec![
        row("training", "[10]", 2000, 2000, 2000),
        row("validation", "[10]", 200, 200, 200),
        row("test", "[1, 2, 5, 10, 50, 100, 200]", 100, 700, 700),
        pretraining("paper", PretrainSettings::paper()),
        pretraining("fast", PretrainSettings::default()),
    ];
    Ok(vec![Table {
        name: "table1".into(),
        title: "Table I: number of cells in each data set".into(),
        note: format!(
            "Data sets of P-GNN. Only the pre-training depends on the preset. The paper pre-trains B^v \
             on every K from 1 to 200, as preset paper does. The test set (seed {TEST_SEED}) was fixed before the \
             first training run, and no setting was chosen on it."
        ),
        columns: row!["set", "K", "samples for each K", "total", "paper's total"],
        rows,
        ..Table::default()
    }])
}

/// Describes how many runs serve every user at every size, with equal halves and as coded.
fn serving(result: &EntryResult) -> String {
    let [halves, coded] = Count::ALL.map(|count| result.serving(count));
    format!("{halves} and {coded} of {}", result.trainings())
}

/// Returns rows of tables III and VI: for each size, availability and bandwidth, measured and from the paper, and the
/// deviation.
fn size_rows(label: &str, result: &EntryResult, paper: &PaperRow) -> Vec<Vec<Value>> {
    TEST_SIZES
        .iter()
        .zip(paper.figures)
        .map(|(&size, (paper_a, paper_w))| {
            let [(worst, best), (least, most)] = result.spread(size);
            let (coded_worst, coded_best) = result.availability_range(Count::AsCoded, size);
            let w = result.bandwidth_mhz(size);
            row![
                label,
                size,
                result.availability(size),
                result.availability_by(Count::AsCoded, size),
                paper_a,
                w,
                paper_w,
                100.0 * (w / paper_w - 1.0),
                result.gap_percent(size),
                [worst, best],
                [coded_worst, coded_best],
                [least, most],
            ]
        })
        .collect()
}

/// Returns the rows of equal power with exact bandwidths, without figures of the paper.
fn baseline_rows(equal: &EntryResult) -> Vec<Vec<Value>> {
    let row = |size: usize| {
        let (availability, w) = (equal.availability(size), equal.bandwidth_mhz(size));
        let gap = equal.gap_percent(size);
        row![BASELINE, size, availability, availability, (), w, (), (), gap, (), (), ()]
    };
    TEST_SIZES.map(row).to_vec()
}

fn size_columns(first: &str) -> Vec<Head> {
    row![
        first,
        "K",
        ("A_K", "{:.2}"),
        ("A_K as coded", "{:.2}"),
        ("paper's A_K", "{:.2}"),
        ("W_K", "MHz", "{:.4}"),
        ("paper's W_K", "MHz", "{:.2}"),
        ("deviation", "%", "{:+.2}"),
        ("extra bandwidth", "%", "{:+.2}"),
        ("A_K, all runs", "{:.3}–{:.3}"),
        ("A_K as coded, all runs", "{:.3}–{:.3}"),
        ("extra bandwidth, all runs", "%", "{:+.2} to {:+.2}"),
    ]
}

fn points(value: impl Fn(usize) -> f64) -> Vec<(f64, f64)> {
    TEST_SIZES.iter().map(|&size| (size as f64, value(size))).collect()
}

pub(crate) fn table3(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let (mut rows, mut measured, mut printed) = (vec![], vec![], vec![]);
    let (mut strictness, mut serves, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    let entry = |epsilon_d: f64| Entry::p_gnn(10, 2000, epsilon_d).published();
    lab.prepare_laws(&PAPER_EPSILON.each_ref().map(|(epsilon_d, _)| entry(*epsilon_d)))?;
    for (epsilon_d, paper) in &PAPER_EPSILON {
        let result = lab.outcomes(&entry(*epsilon_d))?;
        strictness.push((result.lowest().0, result.bandwidth_mhz(LARGEST)));
        let said = paper.figures.iter().all(|figure| figure.0 >= AVAILABLE);
        serves.push((paper.label, said, Count::ALL.map(|count| result.serves(count))));
        counts.push(format!("{} for ε_D = {}", serving(&result), paper.label));
        rows.extend(size_rows(paper.label, &result, paper));
        let label = format!("ε_D = {}", paper.label);
        measured.push(Series::solid(label.clone(), points(|size| result.availability(size))));
        let figures: HashMap<usize, f64> =
            TEST_SIZES.iter().copied().zip(paper.figures.map(|figure| figure.0)).collect();
        printed.push(Series::dashed(format!("{label}, paper"), points(|size| figures[&size])));
    }
    rows.extend(baseline_rows(&lab.equal_power()?));
    let errors = lab.law_errors_at(&entry(6e-6), 0, &[5, 100])?;
    let [[at_5, most_at_5], [at_100, _]] = [errors[0], errors[1]].map(|e| e.map(|e| 100.0 * e));
    let claims = stricter_claim(&strictness).into_iter().chain([enough_claim(&serves)]);
    Ok(vec![Table {
        name: "table3".into(),
        title:
            "Table III: availability and bandwidth of P-GNN for different ε_D, trained at K = 10"
                .into(),
        note: format!(
            "Each figure is the {}; all runs for one ε_D share one outer function B^v. {COUNTS} {BANDWIDTHS} Runs that \
             serve every user at every K, with equal halves and as coded: {}. The paper prints W_1 and W_2 with two \
             digits and uses other cells, so compare the extra bandwidth. At ε_D = 6e-6, the mean error of B^v is \
             {at_5:+.2} % at K = 5 (largest error {most_at_5:.2} %) and {at_100:+.2} % at K = 100.",
            lab.rule(),
            counts.join(", "),
        ),
        columns: size_columns("ε_D"),
        rows,
        chart: Some(Chart {
            title: "Availability of P-GNN against the number of users K".into(),
            x_label: "number of users K".into(),
            y_label: "availability".into(),
            log_x: true,
            log_y: false,
            series: measured.into_iter().chain(printed).collect(),
        }),
        claims: covering(claims, &format!("{}, 2,000 samples, preset paper", lab.covers())),
        ..Table::default()
    }])
}

/// Largest number of users in the test set.
pub(crate) const LARGEST: usize = TEST_SIZES[TEST_SIZES.len() - 1];
/// Largest increase in bandwidth that counts as small.
const A_LITTLE: f64 = 0.05;

/// Returns the claim about the `ε_D` that serve every user at every K, in the paper and by each criterion.
fn enough_claim(found: &[(&str, bool, [Option<bool>; 2])]) -> Claim {
    type Found<'a> = (&'a str, bool, [Option<bool>; 2]);
    let names = |of: fn(&&Found<'_>) -> bool| {
        let all: Vec<&str> = found.iter().filter(of).map(|one| one.0).collect();
        if all.is_empty() {
            "for no ε_D tested".to_owned()
        } else {
            format!("for ε_D = {}", listed(&all))
        }
    };
    let agrees = |count: usize| all_of(found.iter().map(|one| Some(one.2[count]? == one.1)));
    let holds = all_hold([0, 1].map(agrees));
    Claim::paper(
        format!(
            "P-GNN, trained at K = 10, serves every user at every K {} and for no larger one",
            names(|one| one.1)
        ),
        format!(
            "all runs do so {} with equal halves, and {} as coded{}",
            names(|one| one.2[0] == Some(true)),
            names(|one| one.2[1] == Some(true)),
            pointer(holds)
        ),
        holds,
    )
}

/// Returns the claim that a stricter `ε_D` raises availability at a small cost in bandwidth. `measured` contains the
/// lowest availability over all sizes and the bandwidth at the largest, the loosest target first.
fn stricter_claim(measured: &[(f64, f64)]) -> Option<Claim> {
    let (&(first_a, first_w), &(last_a, last_w)) = (measured.first()?, measured.last()?);
    let rises = measured.windows(2).all(|pair| pair[1].0 >= pair[0].0) && last_a > first_a;
    let more = last_w / first_w - 1.0;
    Some(Claim::paper(
        "A stricter ε_D raises availability at a small cost in bandwidth",
        format!(
            "the lowest availability over all K goes from {first_a:.2} to {last_a:.2}. The bandwidth at K = {LARGEST} \
             changes by {:+.1} %, where up to {:.0} % counts as small",
            100.0 * more,
            100.0 * A_LITTLE,
        ),
        rises && more <= A_LITTLE,
    ))
}

pub(crate) fn table5(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let mut rows = Vec::new();
    let (mut ours, mut theirs, mut times) = (vec![], vec![], vec![]);
    let (entries, budget) = paper_methods(lab)?;
    for (entry, (label, epsilon_d, train_k, samples, seconds)) in entries.iter().zip(PAPER_TIMES) {
        let result = lab.outcomes(entry)?;
        let pretraining = lab.pretrain_seconds(entry)?;
        let place = (entry.settings.samples as f64, result.seconds());
        // The FNN does only a part of the paper's steps, so its time is not comparable.
        let is_alike = entry.settings.method != Method::Fnn;
        if is_alike {
            times.push((label, result.seconds() + pretraining.unwrap_or(0.0), seconds));
        }
        ours.push(Series::solid(label, vec![place]));
        theirs.push(Series::dashed(format!("{label}, paper"), vec![(samples as f64, seconds)]));
        rows.push(row![
            label,
            epsilon_d,
            train_k,
            entry.settings.samples,
            samples,
            entry.settings.steps(),
            result.seconds(),
            pretraining,
            seconds,
            is_alike.then(|| seconds / result.seconds()),
        ]);
    }
    let covers = format!(
        "{} of each method on one core of another machine than the paper's, preset paper",
        lab.trainings_words()
    );
    Ok(vec![Table {
        name: "table5".into(),
        title: "Table V: training samples and seconds of training (preset paper)".into(),
        note: format!(
            "“Training” is the mean time of one run on one core with the paper's recipe; “pre-training” is the time \
             for B^v, once for all runs of an ε_D. The paper's time and “times faster” are for training only; “times \
             faster” is shown where the number of steps is the paper's. {budget}"
        ),
        columns: row![
            "method",
            ("ε_D", "{:e}"),
            "training K",
            "samples",
            "paper's samples",
            "steps",
            ("training", "s", "{:.2}"),
            ("pre-training", "s", "{:.2}"),
            ("paper's training", "s", "{:.2}"),
            ("times faster", "{:.0}"),
        ],
        rows,
        chart: Some(Chart {
            title: "Training time against the number of samples".into(),
            x_label: "number of training samples".into(),
            y_label: "training time (s)".into(),
            log_x: true,
            log_y: true,
            series: ours.into_iter().chain(theirs).collect(),
        }),
        claims: covering([faster(&times)], &covers),
        ..Table::default()
    }])
}

/// Returns the claim that training takes less time than in the paper. `times` contains each method's seconds,
/// pre-training included, and the paper's.
fn faster(times: &[(&str, f64, f64)]) -> Claim {
    let words = times
        .iter()
        .map(|(label, own, paper)| format!("{label} {own:.1} s instead of {paper:.0} s"));
    Claim::own(
        "With the paper's recipe, every GNN trains in less time than the paper reports, pre-training included",
        words.collect::<Vec<String>>().join(", "),
        Holds::in_all(times.iter().map(|(_, own, paper)| own < paper)),
    )
}

/// Smallest number of users at which a method must follow the optimum, and its largest distance in percent.
const FROM: usize = 10;
const FOLLOWS_PERCENT: f64 = 10.0;

/// Names the methods that follow the optimum. `gaps` contains the largest distance of each from it, in percent, at
/// sizes of at least [`FROM`].
fn followers(gaps: &[(&str, f64)]) -> String {
    let names: Vec<&str> =
        gaps.iter().filter(|gap| gap.1 <= FOLLOWS_PERCENT).map(|gap| gap.0).collect();
    let who = match names.as_slice() {
        [] => "No method follows".to_owned(),
        [one] => format!("Only {one} follows"),
        several => format!("{} follow", listed(several)),
    };
    format!(
        "{who} the growth of the optimum with K (within {FOLLOWS_PERCENT:.0} % of it at every K ≥ {FROM})."
    )
}

pub(crate) fn table6(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let (mut rows, mut measured, mut printed) = (vec![], vec![], vec![]);
    let mut gaps = Vec::new();
    let (equal, mut beside) = (lab.equal_power()?, Vec::new());
    let (mut curves, mut results) = (Vec::new(), Vec::new());
    let (entries, budget) = paper_methods(lab)?;
    let mut counts = Vec::new();
    for (entry, paper) in entries.iter().zip(&PAPER_COMPARISON) {
        let result = lab.outcomes(entry)?;
        counts.push(format!("{} of {}", serving(&result), paper.label));
        curves.push(curve(paper.label, &result));
        results.push((paper, result.clone()));
        let large = TEST_SIZES.iter().filter(|&&size| size >= FROM);
        // A gap that is NaN stays NaN.
        let farthest = large
            .map(|&size| result.gap_percent(size).abs())
            .fold(0.0, |most: f64, gap| if gap.is_nan() || gap > most { gap } else { most });
        gaps.push((paper.label, farthest));
        rows.extend(size_rows(paper.label, &result, paper));
        if entry.settings.method == Method::PGnn {
            let large = TEST_SIZES.into_iter().filter(|&size| size >= FROM);
            let gaps = |size| (size, result.gap_percent(size), equal.gap_percent(size));
            beside = large.map(gaps).collect();
        }
        let per_user = |size: usize| result.bandwidth_mhz(size) / size as f64;
        measured.push(Series::solid(paper.label, points(per_user)));
        let figures: Vec<(f64, f64)> = TEST_SIZES
            .iter()
            .zip(paper.figures)
            .map(|(&size, figure)| (size as f64, figure.1 / size as f64))
            .collect();
        printed.push(Series::dashed(format!("{}, paper", paper.label), figures));
    }
    rows.extend(baseline_rows(&equal));
    curves.push(curve(BASELINE, &equal));
    let shortened = |label: &str| lab.effort != Effort::Full && label == PAPER_COMPARISON[3].label;
    let claim = |(paper, result): &(&PaperRow, EntryResult)| {
        let claim = as_printed(paper, result);
        if shortened(paper.label) { too_short(claim) } else { claim }
    };
    let mut claims: Vec<Claim> = results.iter().map(claim).collect();
    results.retain(|(paper, _)| !shortened(paper.label));
    claims.extend(least(&results));
    claims.push(baseline_claim(PAPER_COMPARISON[0].label, &beside));
    let fnn = &entries[3].settings;
    let (samples, epochs) = (fnn.samples, fnn.recipe.epochs);
    let covers =
        format!("{}, preset paper, FNN: {samples} samples and {epochs} epochs", lab.covers());
    Ok(vec![Table {
        name: "table6".into(),
        title: "Table VI: availability and bandwidth of the methods (preset paper)".into(),
        note: format!(
            "Each figure is the {}; the runs of P-GNN share one B^v. {COUNTS} {BANDWIDTHS} Runs that serve every user \
             at every K, with equal halves and as coded: {}. {} {budget}",
            lab.rule(),
            counts.join(", "),
            followers(&gaps),
        ),
        columns: size_columns("method"),
        rows,
        chart: Some(Chart {
            title: "Bandwidth per user against the number of users K".into(),
            x_label: "number of users K".into(),
            y_label: "W_K / K (MHz)".into(),
            log_x: true,
            log_y: true,
            series: measured.into_iter().chain(printed).collect(),
        }),
        claims: covering(claims, &covers),
        pictures: pictures::of_methods(&curves, &curves),
    }])
}

/// Returns a method's figures at the sizes of the test set.
fn curve(label: &str, result: &EntryResult) -> MethodCurve {
    let figure = |size: usize| (size, result.availability(size), result.gap_percent(size));
    MethodCurve { label: label.to_owned(), figures: TEST_SIZES.map(figure).to_vec() }
}

/// Lists sizes in words.
fn at_sizes(sizes: &[usize]) -> String {
    match sizes {
        [] => "no K".to_owned(),
        all if all.len() == TEST_SIZES.len() => "every K".to_owned(),
        some => {
            let some: Vec<String> = some.iter().map(usize::to_string).collect();
            format!("K = {}", some.join(", "))
        }
    }
}

/// Returns the claim about the sizes at which a method serves every user, compared with the paper.
fn as_printed(paper: &PaperRow, result: &EntryResult) -> Claim {
    let printed: Vec<usize> = TEST_SIZES
        .into_iter()
        .zip(paper.figures)
        .filter(|(_, (availability, _))| *availability >= AVAILABLE)
        .map(|(size, _)| size)
        .collect();
    let serves = |count, size: &usize| result.serves_at(count, *size) == Some(true);
    let holds =
        all_hold(TEST_SIZES.map(|size| {
            Some(printed.contains(&size) == result.serves_at(Count::EqualHalves, size)?)
        }));
    let [found, as_coded] = Count::ALL.map(|count| {
        TEST_SIZES.into_iter().filter(|size| serves(count, size)).collect::<Vec<usize>>()
    });
    let alone = if printed.len() == TEST_SIZES.len() { "" } else { " and at no other K" };
    Claim::paper(
        format!("{} serves every user at {}{alone}", paper.label, at_sizes(&printed)),
        match result.lowest() {
            (lowest, size) if lowest < AVAILABLE => {
                let mut words = format!(
                    "availability is 1.00 at {} and lowest, {lowest:.2}, at K = {size}",
                    at_sizes(&found)
                );
                if as_coded != found {
                    words += &format!(". As coded, it is 1.00 at {}", at_sizes(&as_coded));
                }
                if holds == Holds::Undecided {
                    let (some, all) = (result.serving(Count::EqualHalves), result.trainings());
                    words += &format!(
                        ". {some} of {all} runs serve every user at every K, which is too few to decide"
                    );
                }
                words
            }
            (lowest, _) => format!("availability is at least {lowest:.3} at every K"),
        },
        holds,
    )
}

/// Leaves a verdict on the FNN undecided, because its training is shorter than the paper's.
pub(crate) fn too_short(claim: Claim) -> Claim {
    let measured =
        format!("{}. The FNN's training is too short to decide (see `--full`)", claim.measured);
    Claim { measured, holds: Holds::Undecided, ..claim }
}

/// Returns the claim that the first method uses the least bandwidth at every size of those that serve every user at
/// every size, by each criterion. Without another method that serves every user, there is no verdict.
fn least(results: &[(&PaperRow, EntryResult)]) -> Option<Claim> {
    let ((paper, first), others) = results.split_first()?;
    let by = |count: Count| {
        let serving = others.iter().filter(|(_, result)| result.is_available_by(count));
        let rivals: Vec<&(&PaperRow, EntryResult)> = serving.collect();
        let beaten = |size: &usize| {
            let own = first.bandwidth_mhz(*size);
            rivals.iter().all(|(_, rival)| own <= rival.bandwidth_mhz(*size))
        };
        let sizes: Vec<usize> = TEST_SIZES.into_iter().filter(beaten).collect();
        let names: Vec<&str> = rivals.iter().map(|(rival, _)| rival.label).collect();
        let served = first.serves(count);
        let words = match served {
            _ if names.is_empty() => "no other method serves every user".to_owned(),
            Some(true) => {
                let sizes = at_sizes(&sizes);
                format!("compared with {}, it needs the least bandwidth at {sizes}", listed(&names))
            }
            Some(false) => format!("{} every user, and it does not", serve(&names)),
            None => format!("{} every user, and it does in some runs", serve(&names)),
        };
        let least = sizes.len() == TEST_SIZES.len();
        (words, if names.is_empty() { None } else { served.map(|served| served && least) })
    };
    let [(halves, halves_hold), (coded, coded_hold)] = Count::ALL.map(by);
    Some(Claim::paper(
        format!(
            "{} uses the least bandwidth of the learned methods that serve every user",
            paper.label
        ),
        if halves == coded {
            format!("{halves} by either criterion")
        } else {
            format!("with equal halves, {halves}. As coded, {coded}")
        },
        all_hold([halves_hold, coded_hold]),
    ))
}

/// Returns the list of method names, followed by “serves” or “serve”.
fn serve(names: &[&str]) -> String {
    format!("{} {}", listed(names), if names.len() == 1 { "serves" } else { "serve" })
}

/// Returns the claim that equal power, which needs no training, is nearer to the optimum.
fn baseline_claim(label: &str, gaps: &[(usize, f64, f64)]) -> Claim {
    let nearer = gaps.iter().filter(|(_, own, equal)| equal.abs() < own.abs()).count();
    let most = |figure: fn(&(usize, f64, f64)) -> f64| gaps.iter().map(figure).fold(0.0, f64::max);
    Claim::own(
        format!(
            "Equal power with the exact b, which needs no training, is nearer to the optimum than {label}"
        ),
        format!(
            "at {nearer} of {} sizes K ≥ {FROM}. Its extra bandwidth is at most {:.1} %, compared with {:.1} %",
            gaps.len(),
            most(|gap| gap.2),
            most(|gap| gap.1),
        ),
        Holds::in_all(gaps.iter().map(|(_, own, equal)| equal.abs() < own.abs())),
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Measure;
    use anyk::problems::urllc::SizeResult;

    /// Builds a run of a method with an availability for each size and one bandwidth.
    pub(crate) fn measured(availability: [f64; 7], mhz: f64) -> EntryResult {
        let sizes = TEST_SIZES.into_iter().zip(availability).map(|(k, availability)| SizeResult {
            k,
            availability,
            availability_as_coded: availability,
            total_bandwidth_mhz: mhz,
            optimum_mhz: 1.0,
            gap_percent: 0.0,
        });
        EntryResult {
            runs: vec![Measure { train_seconds: 1.0, sizes: sizes.collect() }],
            diverged: 0,
        }
    }

    #[test]
    fn claims_follow_the_numbers() {
        let (p_gnn, fnn) = (&PAPER_COMPARISON[0], &PAPER_COMPARISON[3]);
        let everyone = measured([1.0; 7], 2.0);
        let few = measured([1.0, 1.0, 1.0, 0.2, 0.2, 0.2, 1.0], 1.0);
        let held = |claim: &Claim| claim.holds;
        assert_eq!(held(&as_printed(p_gnn, &everyone)), Holds::Yes);
        assert_eq!(held(&as_printed(p_gnn, &few)), Holds::Partly);
        assert_eq!(held(&as_printed(p_gnn, &measured([0.2; 7], 1.0))), Holds::No);
        // The paper's FNN fails at K = 10, 50 and 100, and nowhere else.
        assert_eq!(held(&as_printed(fnn, &few)), Holds::Yes);
        let other = as_printed(fnn, &everyone);
        assert_eq!(held(&other), Holds::Partly);
        assert_eq!(other.statement, "FNN serves every user at K = 1, 2, 5, 200 and at no other K");
        assert_eq!(other.measured, "availability is at least 1.000 at every K");
        let mut coded = few.clone();
        coded.runs[0].sizes.iter_mut().for_each(|size| size.availability_as_coded = 1.0);
        assert_eq!(
            as_printed(p_gnn, &coded).measured,
            "availability is 1.00 at K = 1, 2, 5, 200 and lowest, 0.20, at K = 10. As coded, it is 1.00 at every K"
        );
        // Methods that do not serve every user are no rivals.
        let least = |first: &EntryResult, rival: &EntryResult| {
            least(&[(p_gnn, first.clone()), (fnn, rival.clone())]).unwrap().holds
        };
        assert_eq!(least(&everyone, &few), Holds::Undecided);
        assert_eq!(least(&everyone, &measured([1.0; 7], 2.0)), Holds::Yes);
        assert_eq!(least(&everyone, &measured([1.0; 7], 1.0)), Holds::No);
        assert_eq!(least(&few, &everyone), Holds::No);
        assert_eq!(least(&coded, &measured([1.0; 7], 1.5)), Holds::Partly);
        let nearer =
            |large: f64| baseline_claim("P-GNN", &[(10, 2.9, 0.7), (200, large, 2.8)]).holds;
        assert_eq!([nearer(4.7), nearer(1.7)], [Holds::Yes, Holds::Partly]);
        assert_eq!(held(&faster(&[("a", 1.0, 2.0)])), Holds::Yes);
        assert_eq!(held(&faster(&[("a", 1.0, 2.0), ("b", 3.0, 2.0)])), Holds::Partly);
        assert_eq!(stricter_claim(&[(0.4, 50.0), (1.0, 51.0)]).unwrap().holds, Holds::Yes);
        assert_eq!(stricter_claim(&[(0.4, 50.0), (1.0, 60.0)]).unwrap().holds, Holds::No);
        let uneven = stricter_claim(&[(0.9, 50.0), (0.8, 51.0), (1.0, 51.0)]);
        assert_eq!(uneven.unwrap().holds, Holds::No);
        assert!(stricter_claim(&[]).is_none());
        let [yes, no, open] = [Some(true), Some(false), None];
        let enough = |measured: [Option<bool>; 2]| {
            enough_claim(&[("8e-6", false, [no; 2]), ("6e-6", true, measured)])
        };
        let all = [[yes; 2], [no, yes], [no; 2], [open, no], [open, yes]];
        let all = all.map(|measured| enough(measured).holds);
        let (partly, undecided) = (Holds::Partly, Holds::Undecided);
        assert_eq!(all, [Holds::Yes, partly, Holds::No, undecided, undecided]);
        // One run of two serves every user, so the numbers do not decide.
        let mut two = few.clone();
        two.runs.extend(everyone.runs.clone());
        let claim = as_printed(p_gnn, &two);
        assert_eq!(claim.holds, undecided);
        assert!(claim.measured.contains("1 of 2 runs serve every user"), "{}", claim.measured);
        assert_eq!(too_short(claim).holds, undecided);
        let claim = enough([no, yes]);
        assert!(claim.statement.contains("for ε_D = 6e-6 and for no larger one"));
        assert_eq!(
            claim.measured,
            "all runs do so for no ε_D tested with equal halves, and for ε_D = 6e-6 as coded"
        );
    }

    #[test]
    fn followers_are_near_the_optimum() {
        let sentence = |gaps: &[(&str, f64)]| followers(gaps);
        assert!(sentence(&[("a", 4.0), ("b", 30.0)]).starts_with("Only a follows the growth"));
        assert!(sentence(&[("a", 4.0), ("b", 3.0)]).starts_with("a and b follow the growth"));
        assert!(sentence(&[("a", 40.0)]).starts_with("No method follows"));
        assert!(sentence(&[("a", f64::NAN)]).starts_with("No method follows"));
    }
}
