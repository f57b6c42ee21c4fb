//! Tables I to VI of the paper, measured beside what it prints.

use std::collections::HashMap;

use crate::entry::{AVAILABLE, BASELINE};
use crate::lab::SELECTION_SEED;
use crate::pictures::{self, MethodCurve};
use crate::verdict::listed;
use crate::{
    Effort, Entry, EntryResult, Lab, PAPER_COMPARISON, PAPER_EPSILON, PAPER_SMALL_K, PAPER_TIMES,
    PaperRow, TEST_SEED, TEST_SIZES, paper_entries,
};
use anyk::framework::{
    Chart, Claim, Error, Head, Method, PretrainSettings, Schedule, Series, Table, Update, Value,
};
use anyk::network::SizeScale;
use anyk::problems::urllc::Recipe;
use anyk::row;

/// Sample counts that table IV tries.
const SAMPLE_COUNTS: [usize; 10] = [20, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000];
/// Values of `ε_D` that it tries them for: the paper's, and stricter ones.
const TARGETS: [f64; 4] = [6e-6, 5e-6, 4e-6, 3e-6];

pub(crate) fn table1(_: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let PretrainSettings { sizes, samples_per_size, .. } = PretrainSettings::default();
    let (most, count) = (sizes.most(), sizes.list().len());
    let row = |set: &str, sizes: &str, each: usize, total: usize, paper: usize| {
        row![set, sizes, each, total, paper]
    };
    let pretraining = format!("{count} in [1, …, {most}]");
    let rows = vec![
        row("training", "[10]", 2000, 2000, 2000),
        row("validation", "[10]", 200, 200, 200),
        row("test", "[1, 2, 5, 10, 50, 100, 200]", 100, 700, 700),
        row("pre-training", &pretraining, samples_per_size, count * samples_per_size, 4000),
    ];
    Ok(vec![Table {
        name: "table1".into(),
        title: "Table I: data sets".into(),
        note: format!(
            "As used for P-GNN. The test set (seed {TEST_SEED}) was fixed before the first training, and \
             no choice was made on it."
        ),
        columns: row!["set", "sizes K", "samples for each K", "total", "paper's total"],
        rows,
        ..Table::default()
    }])
}

pub(crate) fn table2(_: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let pretraining = PretrainSettings::default();
    let p = paper_entries(Effort::Full);
    let recipe = &p[0].settings.recipe;
    let fnn = &p[3].settings.recipe;
    let steps = |steps: Option<u64>| steps.map_or("–".to_owned(), |steps| steps.to_string());
    let scale = match pretraining.shape.scale {
        SizeScale::Linear => "K/200",
        SizeScale::Logarithmic => "ln K",
    };
    let rows = vec![
        row![
            "hidden layers",
            "[4] for each user",
            format!("{:?}", pretraining.shape.hidden),
            "[300]",
            "[4K]; [200, 100, 100, 50]; [300]",
        ],
        row!["the size goes in as", (), scale, (), "–; K/200; –"],
        row!["hidden activation", "leaky ReLU", "leaky ReLU", "leaky ReLU", "leaky ReLU"],
        row!["output", "softmax, softplus", "softplus", "softmax, softplus", "the same"],
        row!["optimizer", update(recipe), "Adam", update(fnn), "gradient steps"],
        row![
            "learning rate",
            rate(recipe.rate),
            rate(pretraining.rate),
            rate(fnn.rate),
            "0.01/(1+0.01t); 0.01/(1+0.001t); 0.001/(1+0.001t)",
        ],
        row!["batch", recipe.batch, pretraining.batch, fnn.batch, "10; 100; 100"],
        row![
            "length",
            format!("{} steps", steps(recipe.steps)),
            format!("{} epochs", pretraining.epochs),
            format!("{} steps", steps(fnn.steps)),
            "5000 epochs; 2500 epochs; –",
        ],
        row![
            "fading states in a step",
            format!("{} of {}", recipe.draws, recipe.stored_draws),
            "quadrature",
            format!("{} of {}", fnn.draws, fnn.stored_draws),
            "1",
        ],
    ];
    Ok(vec![Table {
        name: "table2".into(),
        title: "Table II: hyper-parameters, as used (preset fast)".into(),
        note: "The paper's own are the preset “paper” of anyk train. For training cells of more than 50 \
               users the fast preset takes batches of 5, 20,000 steps and 4 of 16 fading states."
            .into(),
        columns: row!["", "GNNs", "B^v", "FNN", "paper: GNNs; B^v; FNN"],
        rows,
        ..Table::default()
    }])
}

fn update(recipe: &Recipe) -> String {
    match recipe.update {
        Update::Sgd { scale } => format!("gradient steps, loss times {scale}"),
        Update::Adam { beta1, beta2 } => format!("Adam ({beta1}, {beta2})"),
    }
}

fn rate(schedule: Schedule) -> String {
    match schedule {
        Schedule::Inverse { rate, decay } => format!("{rate}/(1+{decay}t)"),
        Schedule::Cosine { rate, last } if last > 0.0 => format!("{rate} to {last:e}, cosine"),
        Schedule::Cosine { rate, .. } => format!("{rate} to 0, cosine"),
    }
}

/// Columns of tables III and VI: for each size the availability and the bandwidth, ours and the
/// paper's, and the deviation.
fn size_rows(label: &str, result: &EntryResult, paper: &PaperRow) -> Vec<Vec<Value>> {
    TEST_SIZES
        .iter()
        .zip(paper.figures)
        .map(|(&size, (paper_a, paper_w))| {
            let [(worst, best), (least, most)] = result.spread(size);
            let w = result.bandwidth_mhz(size);
            row![
                label,
                size,
                result.availability(size),
                paper_a,
                w,
                paper_w,
                100.0 * (w / paper_w - 1.0),
                result.gap_percent(size),
                [worst, best],
                [least, most],
            ]
        })
        .collect()
}

/// The same columns for equal power with exact bandwidths, of which the paper says nothing.
fn baseline_rows(equal: &EntryResult) -> Vec<Vec<Value>> {
    let row = |size: usize| {
        let (availability, w) = (equal.availability(size), equal.bandwidth_mhz(size));
        let gap = equal.gap_percent(size);
        row![BASELINE, size, availability, (), w, (), (), gap, (), ()]
    };
    TEST_SIZES.map(row).to_vec()
}

fn size_columns(first: &str) -> Vec<Head> {
    row![
        first,
        "K",
        ("A_K", "{:.2}"),
        ("paper", "{:.2}"),
        ("W_K", "MHz", "{:.4}"),
        ("paper", "{:.2}"),
        ("deviation", "%", "{:+.2}"),
        ("over optimum", "%", "{:+.2}"),
        ("A_K, all", "{:.3}–{:.3}"),
        ("over optimum, all", "%", "{:+.2} to {:+.2}"),
    ]
}

fn points(value: impl Fn(usize) -> f64) -> Vec<(f64, f64)> {
    TEST_SIZES.iter().map(|&size| (size as f64, value(size))).collect()
}

pub(crate) fn table3(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let (mut rows, mut measured, mut printed) = (vec![], vec![], vec![]);
    let (mut strictness, mut serves) = (Vec::new(), Vec::new());
    for (epsilon_d, paper) in &PAPER_EPSILON {
        let result = lab.results(&Entry::p_gnn(10, 2000, *epsilon_d))?;
        strictness.push((result.lowest().0, result.bandwidth_mhz(LARGEST)));
        let said = paper.figures.iter().all(|figure| figure.0 >= AVAILABLE);
        serves.push((paper.label, said, result.is_available()));
        rows.extend(size_rows(paper.label, &result, paper));
        let label = format!("ε_D = {}", paper.label);
        measured.push(Series::solid(label.clone(), points(|size| result.availability(size))));
        let figures: HashMap<usize, f64> =
            TEST_SIZES.iter().copied().zip(paper.figures.map(|figure| figure.0)).collect();
        printed.push(Series::dashed(format!("{label}, paper"), points(|size| figures[&size])));
    }
    rows.extend(baseline_rows(&lab.equal_power()?));
    let errors = lab.law_errors(&Entry::p_gnn(10, 2000, 6e-6))?;
    let [mean, percentile_99, max] = errors.map(|error| 100.0 * error);
    Ok(vec![Table {
        name: "table3".into(),
        title: "Table III: P-GNN trained at K = 10 for different ε_D".into(),
        note: format!(
            "Each figure is the {}. W_1 and W_2 of the paper are printed with two digits, and its cells are not ours: \
             compare the gap to the optimum of the same cells. The outer function B^v at ε_D = 6e-6 is off \
             by {mean:.2} % on average, {percentile_99:.2} % at the 99th percentile and {max:.2} % at most, \
             on 4,000 held-out (α, K).",
            lab.rule(),
        ),
        columns: size_columns("ε_D"),
        rows,
        chart: Some(Chart {
            title: "Availability over the number of users".into(),
            x_label: "users K".into(),
            y_label: "availability".into(),
            log_x: true,
            log_y: false,
            series: measured.into_iter().chain(printed).collect(),
        }),
        claims: stricter_claim(&strictness).into_iter().chain([enough_claim(&serves)]).collect(),
        ..Table::default()
    }])
}

/// The largest size of the test set.
const LARGEST: usize = TEST_SIZES[TEST_SIZES.len() - 1];
/// Up to this share more it is a little bandwidth.
const A_LITTLE: f64 = 0.05;

/// For which `ε_D` everyone is served at every K: by the paper, and here.
fn enough_claim(found: &[(&str, bool, bool)]) -> Claim {
    let names = |of: fn(&(&str, bool, bool)) -> bool| {
        listed(&found.iter().filter(|one| of(one)).map(|one| one.0).collect::<Vec<_>>())
    };
    Claim::paper(
        format!(
            "P-GNN, trained at K = 10, serves everyone at every K for ε_D = {} and for no larger one",
            names(|one| one.1)
        ),
        format!("it does for ε_D = {}", names(|one| one.2)),
        found.iter().all(|(_, printed, measured)| printed == measured),
    )
}

/// That a stricter `ε_D` buys availability for a little bandwidth: by the lowest availability of any size and the
/// bandwidth at the largest, the loosest target first.
fn stricter_claim(measured: &[(f64, f64)]) -> Option<Claim> {
    let (&(first_a, first_w), &(last_a, last_w)) = (measured.first()?, measured.last()?);
    let rises = measured.windows(2).all(|pair| pair[1].0 >= pair[0].0) && last_a > first_a;
    let more = last_w / first_w - 1.0;
    Some(Claim::paper(
        "A stricter ε_D buys availability for a little bandwidth",
        format!(
            "the lowest of any K goes from {first_a:.2} to {last_a:.2}, for {:+.1} % of bandwidth at K = {LARGEST} (up to \
             {:.0} % is a little)",
            100.0 * more,
            100.0 * A_LITTLE,
        ),
        rises && more <= A_LITTLE,
    ))
}

pub(crate) fn table4(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let mut rows = Vec::new();
    let (mut ours, mut theirs, mut targets) = (vec![], vec![], vec![]);
    for (size, paper_samples, paper_seconds) in PAPER_SMALL_K {
        // Ascending; the first count that holds on the cells for choosing is measured on the test
        // set.
        let tries = TARGETS.into_iter().flat_map(|epsilon_d| {
            SAMPLE_COUNTS.map(|samples| Entry::p_gnn(size, samples, epsilon_d))
        });
        let found = lab.first_available(tries)?;
        let entry = found.clone().unwrap_or_else(|| Entry::p_gnn(size, paper_samples, TARGETS[0]));
        let result = lab.results(&entry)?;
        let (lowest, lowest_at) = result.lowest();
        if found.as_ref().is_some_and(|entry| entry.settings.epsilon_d >= TARGETS[0]) {
            ours.push((size as f64, entry.settings.samples as f64));
        }
        theirs.push((size as f64, paper_samples as f64));
        targets.push((size, found.as_ref().map(|entry| entry.settings.epsilon_d)));
        rows.push(row![
            size,
            entry.settings.epsilon_d,
            found.map_or("none tried".into(), |entry| Value::from(entry.settings.samples)),
            paper_samples,
            result.seconds(),
            paper_seconds,
            [lowest, lowest_at as f64],
            result.gap_percent(LARGEST),
        ]);
    }
    let equal = lab.equal_power()?;
    let lowest = [equal.lowest().0, equal.lowest().1 as f64];
    let gap = equal.gap_percent(LARGEST);
    rows.push(row![BASELINE; [(); 5]; lowest, gap]);
    Ok(vec![Table {
        name: "table4".into(),
        title: "Table IV: small training sizes".into(),
        note: format!(
            "Smallest number of samples, of {SAMPLE_COUNTS:?}, whose availability is 1.00 at every size ({}), chosen on \
             cells of their own (seed {SELECTION_SEED}) and measured on the test set; for the paper's ε_D = 6e-6, and \
             where none does for the next of {TARGETS:?}. A sample of ours has 64 fading states, one of the paper's has \
             one.",
            lab.rule(),
        ),
        columns: row![
            "training K",
            ("ε_D", "{:e}"),
            "samples",
            "paper",
            ("seconds", "{:.2}"),
            ("paper", "{:.2}"),
            ("lowest A_K, test", "{:.3} at K = {}"),
            ("over optimum, K = 200", "%", "{:+.2}"),
        ],
        rows,
        chart: Some(Chart {
            title: "Samples for availability 1.00 at every size".into(),
            x_label: "users K in the training samples".into(),
            y_label: "training samples".into(),
            log_x: false,
            log_y: true,
            series: vec![Series::solid("AnyK", ours), Series::dashed("paper", theirs)],
        }),
        claims: vec![small_claim(&targets)],
        ..Table::default()
    }])
}

/// That the paper's `ε_D` is enough at each training size: by the one that each takes, `None` where none of those tried
/// is enough.
fn small_claim(found: &[(usize, Option<f64>)]) -> Claim {
    let words = found.iter().map(|(size, target)| match target {
        Some(target) => format!("K = {size} takes {target:e}"),
        None => format!("K = {size} takes less than any of them"),
    });
    Claim::paper(
        "P-GNN can be trained at K = 2, 5, 8 or 10, for the same ε_D = 6e-6",
        words.collect::<Vec<String>>().join(", "),
        found.iter().all(|(_, target)| target.is_some_and(|target| target >= TARGETS[0])),
    )
}

pub(crate) fn table5(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let mut rows = Vec::new();
    let (mut ours, mut theirs, mut times) = (vec![], vec![], vec![]);
    let entries = paper_entries(lab.effort);
    for (entry, (label, epsilon_d, train_k, samples, seconds)) in entries.iter().zip(PAPER_TIMES) {
        let result = lab.results(entry)?;
        let pretraining = lab.pretrain_seconds(entry)?;
        let place = (entry.settings.samples as f64, result.seconds());
        times.push((label, result.seconds() + pretraining.unwrap_or(0.0), seconds));
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
            seconds / result.seconds(),
        ]);
    }
    Ok(vec![Table {
        name: "table5".into(),
        title: "Table V: samples and training time".into(),
        note: format!(
            "Mean seconds of one training on one core, and beside it those of the pre-training of B^v, once for all \
             trainings of an ε_D. The paper's seconds and “times faster” are of the training alone. {}",
            fnn_note(lab)
        ),
        columns: row![
            "method",
            ("ε_D", "{:e}"),
            "training K",
            "samples",
            "paper",
            "steps",
            ("seconds", "{:.2}"),
            ("pre-training", "{:.2}"),
            ("paper", "{:.2}"),
            ("times faster", "{:.0}"),
        ],
        rows,
        chart: Some(Chart {
            title: "Training time over the number of samples".into(),
            x_label: "training samples".into(),
            y_label: "seconds".into(),
            log_x: true,
            log_y: true,
            series: ours.into_iter().chain(theirs).collect(),
        }),
        claims: vec![faster(&times)],
        ..Table::default()
    }])
}

/// That trainings are shorter than the paper's: of each method our seconds, pre-training included, and the paper's.
fn faster(times: &[(&str, f64, f64)]) -> Claim {
    let words = times
        .iter()
        .map(|(label, own, paper)| format!("{label} {own:.1} s instead of {paper:.0} s"));
    Claim::own(
        "Every method trains in less time than the paper reports, pre-training included",
        words.collect::<Vec<String>>().join(", "),
        times.iter().all(|(_, own, paper)| own < paper),
    )
}

fn fnn_note(lab: &Lab<'_>) -> String {
    if lab.effort == Effort::Full {
        "The FNN has the paper's 100,000 samples.".to_owned()
    } else {
        let samples = paper_entries(lab.effort)[3].settings.samples;
        format!("The FNN is on a reduced budget of {samples} samples; `full` gives it all 100,000.")
    }
}

/// From this size on a method that follows the optimum is within so many percent of it.
const FROM: usize = 10;
const FOLLOWS_PERCENT: f64 = 10.0;

/// Who follows the optimum, by the largest distance from it in percent at the sizes from [`FROM`] on.
fn followers(gaps: &[(&str, f64)]) -> String {
    let names: Vec<&str> =
        gaps.iter().filter(|gap| gap.1 <= FOLLOWS_PERCENT).map(|gap| gap.0).collect();
    let who = match names.as_slice() {
        [] => "No method follows".to_owned(),
        [one] => format!("Only {one} follows"),
        several => format!("{} follow", listed(several)),
    };
    format!(
        "{who} the optimum's growth with K (within {FOLLOWS_PERCENT:.0} % of it at every K from {FROM} on)."
    )
}

pub(crate) fn table6(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let (mut rows, mut measured, mut printed) = (vec![], vec![], vec![]);
    let mut gaps = Vec::new();
    let (equal, mut beside) = (lab.equal_power()?, Vec::new());
    let (mut curves, mut results) = (Vec::new(), Vec::new());
    for (entry, paper) in paper_entries(lab.effort).iter().zip(&PAPER_COMPARISON) {
        let result = lab.results(entry)?;
        curves.push(curve(paper.label, &result));
        results.push((paper, result.clone()));
        let large = TEST_SIZES.iter().filter(|&&size| size >= FROM);
        // No number stays none.
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
    let mut claims: Vec<Claim> =
        results.iter().map(|(paper, result)| as_printed(paper, result)).collect();
    claims.extend(least(&results));
    claims.push(baseline_claim(PAPER_COMPARISON[0].label, &beside));
    Ok(vec![Table {
        name: "table6".into(),
        title: "Table VI: the methods compared".into(),
        note: format!("Each figure is the {}. {} {}", lab.rule(), followers(&gaps), fnn_note(lab)),
        columns: size_columns("method"),
        rows,
        chart: Some(Chart {
            title: "Bandwidth of a user over the number of users".into(),
            x_label: "users K".into(),
            y_label: "W_K / K (MHz)".into(),
            log_x: true,
            log_y: true,
            series: measured.into_iter().chain(printed).collect(),
        }),
        claims,
        pictures: pictures::of_methods(&curves),
    }])
}

/// A method's figures at the sizes of the test set.
fn curve(label: &str, result: &EntryResult) -> MethodCurve {
    let figure = |size: usize| (size, result.availability(size), result.gap_percent(size));
    MethodCurve { label: label.to_owned(), figures: TEST_SIZES.map(figure).to_vec() }
}

/// Sizes of which something is said, in words.
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

/// Where a method serves everyone, beside what the paper prints.
fn as_printed(paper: &PaperRow, result: &EntryResult) -> Claim {
    let printed: Vec<usize> = TEST_SIZES
        .into_iter()
        .zip(paper.figures)
        .filter(|(_, (availability, _))| *availability >= AVAILABLE)
        .map(|(size, _)| size)
        .collect();
    let found: Vec<usize> =
        TEST_SIZES.into_iter().filter(|&size| result.availability(size) >= AVAILABLE).collect();
    let alone = if printed.len() == TEST_SIZES.len() { "" } else { " and at no other" };
    Claim::paper(
        format!("{} serves everyone at {}{alone}", paper.label, at_sizes(&printed)),
        match result.lowest() {
            (lowest, size) if lowest < AVAILABLE => {
                format!(
                    "availability is 1.00 at {}, and {lowest:.2} at K = {size}",
                    at_sizes(&found)
                )
            }
            (lowest, _) => format!("availability is at least {lowest:.3} at every K"),
        },
        printed == found,
    )
}

/// That the first method takes the least bandwidth, at every size, of those that serve everyone at every size.
fn least(results: &[(&PaperRow, EntryResult)]) -> Option<Claim> {
    let ((paper, first), others) = results.split_first()?;
    let rivals: Vec<&(&PaperRow, EntryResult)> =
        others.iter().filter(|(_, result)| result.is_available()).collect();
    let beaten = |size: &usize| {
        let own = first.bandwidth_mhz(*size);
        rivals.iter().all(|(_, rival)| own <= rival.bandwidth_mhz(*size))
    };
    let sizes: Vec<usize> = TEST_SIZES.into_iter().filter(beaten).collect();
    let names: Vec<&str> = rivals.iter().map(|(rival, _)| rival.label).collect();
    Some(Claim::paper(
        format!(
            "{} takes the least bandwidth of the learned methods that serve everyone",
            paper.label
        ),
        format!(
            "it does at {}; others that serve everyone at every K: {}",
            at_sizes(&sizes),
            listed(&names)
        ),
        first.is_available() && sizes.len() == TEST_SIZES.len(),
    ))
}

/// That equal power, which learns nothing, is nearer to the optimum.
fn baseline_claim(label: &str, gaps: &[(usize, f64, f64)]) -> Claim {
    let nearer = gaps.iter().filter(|(_, own, equal)| equal.abs() < own.abs()).count();
    let most = |figure: fn(&(usize, f64, f64)) -> f64| gaps.iter().map(figure).fold(0.0, f64::max);
    Claim::own(
        format!(
            "Equal power with exact bandwidths, which learns nothing but knows b, is nearer to the optimum than {label}"
        ),
        format!(
            "at {nearer} of {} sizes from K = {FROM} on, at most {:.1} % over it beside {:.1} %",
            gaps.len(),
            most(|gap| gap.2),
            most(|gap| gap.1),
        ),
        nearer == gaps.len(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Measure;
    use anyk::problems::urllc::SizeResult;

    /// Trainings of a method with one availability and one bandwidth at each size.
    fn measured(availability: [f64; 7], mhz: f64) -> EntryResult {
        let sizes = TEST_SIZES.into_iter().zip(availability).map(|(k, availability)| SizeResult {
            k,
            availability,
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
        assert_eq!(held(&as_printed(p_gnn, &everyone)), Some(true));
        assert_eq!(held(&as_printed(p_gnn, &few)), Some(false));
        // The paper's FNN fails at K = 10, 50 and 100, and nowhere else.
        assert_eq!(held(&as_printed(fnn, &few)), Some(true));
        let other = as_printed(fnn, &everyone);
        assert_eq!(held(&other), Some(false));
        assert_eq!(other.statement, "FNN serves everyone at K = 1, 2, 5, 200 and at no other");
        assert_eq!(other.measured, "availability is at least 1.000 at every K");
        let words = as_printed(p_gnn, &few).measured;
        assert_eq!(words, "availability is 1.00 at K = 1, 2, 5, 200, and 0.20 at K = 10");
        // Less bandwidth counts only where everyone is served.
        let least = |first: &EntryResult, rival: &EntryResult| {
            least(&[(p_gnn, first.clone()), (fnn, rival.clone())]).unwrap().holds
        };
        assert_eq!(least(&everyone, &few), Some(true));
        assert_eq!(least(&everyone, &measured([1.0; 7], 1.0)), Some(false));
        assert_eq!(least(&few, &everyone), Some(false));
        assert_eq!(held(&baseline_claim("P-GNN", &[(10, 2.9, 0.7), (200, 4.7, 2.8)])), Some(true));
        assert_eq!(held(&baseline_claim("P-GNN", &[(10, 2.9, 0.7), (200, 1.7, 2.8)])), Some(false));
        assert_eq!(held(&faster(&[("a", 1.0, 2.0)])), Some(true));
        assert_eq!(held(&faster(&[("a", 1.0, 2.0), ("b", 3.0, 2.0)])), Some(false));
        assert_eq!(stricter_claim(&[(0.4, 50.0), (1.0, 51.0)]).unwrap().holds, Some(true));
        assert_eq!(stricter_claim(&[(0.4, 50.0), (1.0, 60.0)]).unwrap().holds, Some(false));
        let uneven = stricter_claim(&[(0.9, 50.0), (0.8, 51.0), (1.0, 51.0)]);
        assert_eq!(uneven.unwrap().holds, Some(false));
        assert!(stricter_claim(&[]).is_none());
        let enough =
            |measured: bool| enough_claim(&[("8e-6", false, false), ("6e-6", true, measured)]);
        assert_eq!([enough(true).holds, enough(false).holds], [Some(true), Some(false)]);
        assert!(enough(false).statement.contains("for ε_D = 6e-6 and for no larger one"));
        assert_eq!(enough(false).measured, "it does for ε_D = none");
    }

    #[test]
    fn small_sizes_are_as_the_paper_says_or_not() {
        let paper = small_claim(&[(2, Some(6e-6)), (10, Some(6e-6))]);
        assert_eq!(paper.measured, "K = 2 takes 6e-6, K = 10 takes 6e-6");
        assert_eq!(paper.holds, Some(true));
        assert_eq!(small_claim(&[(2, Some(4e-6)), (10, Some(6e-6))]).holds, Some(false));
        let none = small_claim(&[(2, None)]);
        assert_eq!(none.measured, "K = 2 takes less than any of them");
        assert_eq!(none.holds, Some(false));
    }

    #[test]
    fn followers_are_near_the_optimum() {
        let sentence = |gaps: &[(&str, f64)]| followers(gaps);
        assert!(sentence(&[("a", 4.0), ("b", 30.0)]).starts_with("Only a follows the optimum"));
        assert!(sentence(&[("a", 4.0), ("b", 3.0)]).starts_with("a and b follow the optimum"));
        assert!(sentence(&[("a", 40.0)]).starts_with("No method follows"));
        assert!(sentence(&[("a", f64::NAN)]).starts_with("No method follows"));
    }
}
