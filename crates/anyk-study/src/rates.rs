//! How often a run with the paper's recipe serves every user at every K, from enough runs to state a rate.

use crate::entry::{AVAILABLE, BASELINE, ENOUGH};
use crate::verdict::{covering, either, listed};
use crate::{Count, Entry, EntryResult, Lab, Outer, PAPER_SMALL_K, TEST_SIZES};
use anyk::framework::{
    Claim, Error, Holds, Initialization, LawSizes, PretrainSettings, RatePer, Table,
};
use anyk::problems::urllc::LossScale;
use anyk::row;

/// Number of runs of each kind: in a trial, by default, and with full effort.
const RUNS: [u64; 3] = [1, 32, 64];
/// Smallest rate that agrees with the paper, whose figures are the second worst of ten runs.
const PAPER_RATE: f64 = 0.9;
/// Sizes at which the outer function is compared with the exact b.
const SIZES: [usize; 10] = [1, 2, 3, 5, 8, 10, 20, 50, 100, 200];
/// Largest of the small sizes, and the size with which they are compared.
const SMALL: usize = 10;
const LARGE: usize = 100;
const EPSILON_D: f64 = 6e-6;

/// Returns the paper's pre-training with sizes that are evenly spaced in ln K instead of 1, …, 200.
pub(crate) fn small_sizes() -> PretrainSettings {
    let sizes = LawSizes::Geometric { most: 200, count: 200 };
    PretrainSettings { sizes, ..PretrainSettings::paper() }
}

/// Returns a P-GNN whose runs each pre-train a `B^v`.
fn own(train_k: usize, samples: usize) -> Entry {
    Entry { outer: Outer::Own, ..Entry::p_gnn(train_k, samples, EPSILON_D).published() }
}

/// Changes to the paper's recipe at K = 10, as in a claim.
const CHANGES: [&str; 6] = [
    "B^v pre-trained on K evenly spaced in ln K",
    "the B^v of preset fast",
    "the exact b instead of B^v",
    "placed initial weights",
    "a relative loss",
    "t that counts steps, as printed",
];

/// Returns the kinds of runs: the paper's at each training size, and at K = 10 with each of [`CHANGES`].
fn kinds() -> Vec<(String, Entry)> {
    let mut kinds: Vec<(String, Entry)> = PAPER_SMALL_K
        .iter()
        .rev()
        .map(|&(size, samples, _)| (format!("K = {size}, the paper's B^v"), own(size, samples)))
        .collect();
    let at_10 = own(10, 2000);
    let small = Entry { pretraining: small_sizes(), ..at_10.clone() };
    let fast = Entry { pretraining: PretrainSettings::default(), ..at_10.clone() };
    let exact = Entry { outer: Outer::Exact, ..at_10.clone() };
    let [mut placed, mut relative, mut by_step] = [at_10.clone(), at_10.clone(), at_10];
    placed.settings.recipe.initialization = Initialization::Placed;
    relative.settings.recipe.loss = LossScale::Relative;
    by_step.settings.recipe.rate_per = RatePer::Step;
    let changed = CHANGES.iter().zip([small, fast, exact, placed, relative, by_step]);
    kinds.extend(changed.map(|(change, entry)| (format!("K = 10, {change}"), entry)));
    kinds
}

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let mut lab = lab.with_trainings(lab.trainings_or(RUNS[2], RUNS[1]));
    let (mut rows, mut claims, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    for (label, entry) in kinds() {
        let result = lab.outcomes(&entry)?;
        let [halves, coded] = Count::ALL.map(|count| Rate::of(&result, count));
        let failing = TEST_SIZES.map(|size| {
            Count::ALL.map(|count| {
                let found = result.runs.iter().flat_map(|run| &run.sizes);
                let failed = found.filter(|found| found.k == size && count.of(found) < AVAILABLE);
                (failed.count() + result.diverged) as f64
            })
        });
        rows.push(row![
            label.clone(), entry.settings.samples, halves.cell(), coded.cell(),
            result.worst(Count::EqualHalves), result.worst(Count::AsCoded); failing
        ]);
        rates.push((label, [halves, coded]));
    }
    let equal = lab.equal_power()?;
    let lowest = equal.worst(Count::EqualHalves);
    rows.push(row![BASELINE, (), (), (), lowest, lowest; [(); TEST_SIZES.len()]]);
    let covers = format!("{}, preset paper, each with its own B^v", lab.covers());
    let of_paper: Vec<(usize, [Rate; 2])> =
        PAPER_SMALL_K.iter().rev().zip(&rates).map(|(row, (_, by))| (row.0, *by)).collect();
    claims.push(rate_claim(&of_paper).covering(&*covers));
    let (paper, changed) = rates.split_at(PAPER_SMALL_K.len());
    let changes = CHANGES.iter().zip(changed);
    claims.extend(
        changes
            .map(|(change, (_, rate))| change_claim(change, &paper[0].1, rate).covering(&*covers)),
    );
    Ok(vec![
        Table {
            name: "rates".into(),
            title: "Share of runs with the paper's recipe that serve every user at every K".into(),
            note: format!(
                "Preset paper, ε_D = {EPSILON_D:e}, {}, each with its own B^v, measured at K = {TEST_SIZES:?}. A run \
                 serves every user if its availability rounds to 1.00 at every K, with equal halves of the loss or as \
                 coded. Brackets show the 95 % interval of the rate (Wilson) for {ENOUGH} runs or more. The last \
                 columns show how many runs fail at each K, with equal halves and as coded.",
                lab.trainings_words(),
            ),
            columns: row![
                "P-GNN",
                "samples",
                ("runs that serve every user", "{} of {} ({:.0}–{:.0} %)"),
                ("runs that serve every user, as coded", "{} of {} ({:.0}–{:.0} %)"),
                ("lowest A_K of all runs", "{:.3}"),
                ("lowest A_K of all runs, as coded", "{:.3}");
                TEST_SIZES.map(|size| (format!("runs that fail at K = {size}"), "{}, {}"))
            ],
            rows,
            claims,
            ..Table::default()
        },
        outer_functions(&mut lab)?,
    ])
}

/// Number of runs that serve every user, of all runs.
#[derive(Debug, Clone, Copy)]
struct Rate {
    served: usize,
    all: usize,
}

impl Rate {
    fn of(result: &EntryResult, count: Count) -> Self {
        Self { served: result.serving(count), all: result.trainings() }
    }

    /// Returns the ends of the 95 % interval (Wilson) in percent; `None` for too few runs.
    fn interval(self) -> Option<[f64; 2]> {
        let (all, z) = (self.all as f64, 1.96f64);
        let (rate, square) = (self.served as f64 / all, z * z / all);
        let middle = (rate + square / 2.0) / (1.0 + square);
        let half = (rate * (1.0 - rate) * square + square * square / 4.0).sqrt() / (1.0 + square);
        (self.all >= ENOUGH).then_some([middle - half, middle + half].map(|end| 100.0 * end))
    }

    /// Returns the counts, followed by the interval if there is one.
    fn cell(self) -> Vec<f64> {
        let counts = [self.served as f64, self.all as f64];
        counts.into_iter().chain(self.interval().into_iter().flatten()).collect()
    }

    fn words(self) -> String {
        format!("{} of {}", self.served, self.all)
    }
}

/// Returns the claim that nine of ten runs serve every user, at each training size and by each criterion.
fn rate_claim(rates: &[(usize, [Rate; 2])]) -> Claim {
    let list = |numbers: &mut dyn Iterator<Item = usize>| {
        let words: Vec<String> = numbers.map(|number| number.to_string()).collect();
        listed(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let runs = rates.first().map_or(0, |(_, by)| by[0].all);
    let all = || rates.iter().flat_map(|(_, by)| *by);
    let holds = if all().all(|rate| rate.all >= ENOUGH) {
        Holds::in_all(all().map(|rate| rate.served as f64 >= PAPER_RATE * rate.all as f64))
    } else {
        Holds::Undecided
    };
    Claim::paper(
        "Nine of ten runs of P-GNN serve every user at every K, whether trained at K = 2, 5, 8 or 10",
        format!(
            "{} of {runs} runs do so with equal halves, trained at K = {}. As coded, {} of {runs} do",
            list(&mut rates.iter().map(|rate| rate.1[0].served)),
            list(&mut rates.iter().map(|rate| rate.0)),
            list(&mut rates.iter().map(|rate| rate.1[1].served))
        ),
        holds,
    )
}

/// Returns the claim that more runs serve every user if the paper's recipe is changed. By each criterion, it holds if
/// the intervals of the rates do not overlap; if they overlap by both, the numbers do not decide.
fn change_claim(change: &str, paper: &[Rate; 2], changed: &[Rate; 2]) -> Claim {
    let more = |(paper, changed): (&Rate, &Rate)| {
        let ([low, high], [changed_low, changed_high]) = (paper.interval()?, changed.interval()?);
        (changed_low > high || changed_high < low).then_some(changed_low > high)
    };
    let found: Vec<Option<bool>> = paper.iter().zip(changed).map(more).collect();
    let decided = found.iter().any(Option::is_some);
    let holds = Holds::in_all(found.into_iter().map(|more| more == Some(true)));
    Claim::own(
        format!("With {change}, more runs trained at K = 10 serve every user at every K"),
        format!(
            "{} instead of {} with equal halves, and {} instead of {} as coded{}",
            changed[0].words(),
            paper[0].served,
            changed[1].served,
            paper[1].served,
            either(decided, ["", "; the 95 % intervals overlap"])
        ),
        if decided { holds } else { Holds::Undecided },
    )
}

/// Measures the outer functions of all runs against the exact b, by K.
pub(crate) fn outer_functions(lab: &mut Lab<'_>) -> Result<Table, Error> {
    let paper = own(10, 2000);
    let with = |pretraining| Entry { pretraining, ..paper.clone() };
    let fast = with(PretrainSettings::default());
    let laws = [
        ("the paper's", paper.clone()),
        ("the paper's, on K evenly spaced in ln K", with(small_sizes())),
        ("preset fast", fast),
    ];
    lab.prepare_laws(&laws.each_ref().map(|law| law.1.clone()))?;
    let (mut rows, mut claims) = (Vec::new(), Vec::new());
    for (label, entry) in &laws {
        let mut mean = vec![[0.0, 0.0, 0.0]; SIZES.len()];
        for run in 0..lab.runs() {
            for (sum, [off, most]) in mean.iter_mut().zip(lab.law_errors_at(entry, run, &SIZES)?) {
                sum[0] += 100.0 * off / lab.runs() as f64;
                sum[1] = f64::min(sum[1], 100.0 * off);
                sum[2] = f64::max(sum[2], 100.0 * most);
            }
        }
        if *label != laws[0].0 {
            let most: Vec<f64> = mean.iter().map(|[.., most]| *most).collect();
            claims.push(even_claim(label, &most));
        }
        rows.push(row![*label; mean]);
    }
    let exact = vec![[0.0, 0.0, 0.0]; SIZES.len()];
    rows.push(row!["the exact b"; exact]);
    let covers = format!("ε_D = {EPSILON_D:e}, {} pre-training runs, 1,000 gains", lab.runs());
    Ok(Table {
        name: "outer-function".into(),
        title: format!("Relative error of B^v by K at ε_D = {EPSILON_D:e}"),
        note: format!(
            "Relative error of B^v(α, K) compared with the exact b(αP_max/K) on 1,000 held-out gains. The three \
             numbers are the signed mean over gains and {} pre-training runs, the lowest mean of any run (0 if none \
             is negative), and the largest error. The target ε_D = {EPSILON_D:e} leaves a margin of \
             about 3 % at ε = 1e-5; a B^v that is too low uses up part of it.",
            lab.runs(),
        ),
        columns: row![
            "B^v";
            SIZES.map(|size| (format!("K = {size}"), "%", "{:+.2}, {:+.2}, {:.2}"))
        ],
        rows,
        claims: covering(claims, &covers),
        ..Table::default()
    })
}

/// Returns the claim that a `B^v` is as good in small cells as at [`LARGE`], from its largest error at each of [`SIZES`]
/// in percent.
fn even_claim(label: &str, errors: &[f64]) -> Claim {
    let of = |is_one: fn(usize) -> bool| {
        let found = SIZES.iter().zip(errors).filter(|(size, _)| is_one(**size));
        found.map(|(_, error)| *error).fold(0.0, f64::max)
    };
    let (small, large) = (of(|size| size <= SMALL), of(|size| size == LARGE));
    Claim::own(
        format!("B^v ({label}) is as accurate at K ≤ {SMALL} as at K = {LARGE}"),
        format!("its largest error is {small:.2} % at K ≤ {SMALL} and {large:.2} % at K = {LARGE}"),
        small <= large,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_rate_is_stated_from_few_trainings() {
        let rate = |served, all| Rate { served, all };
        // Wilson's interval of 45 of 74, by hand.
        let [low, high] = rate(45, 74).interval().unwrap();
        assert!((low - 49.4).abs() < 0.1 && (high - 71.1).abs() < 0.1, "{low} {high}");
        assert_eq!(rate(9, 10).cell(), [9.0, 10.0]);
        let claim = |halves, coded| rate_claim(&[(10, [halves, coded])]);
        assert_eq!(claim(rate(9, 10), rate(10, 10)).holds, Holds::Undecided);
        assert_eq!(claim(rate(20, 32), rate(30, 32)).holds, Holds::Partly);
        assert_eq!(claim(rate(29, 32), rate(32, 32)).holds, Holds::Yes);
        assert_eq!(
            claim(rate(20, 32), rate(30, 32)).measured,
            "20 of 32 runs do so with equal halves, trained at K = 10. As coded, 30 of 32 do"
        );
        let change = |paper, changed| {
            change_claim("b", &[paper, rate(30, 32)], &[changed, rate(31, 32)]).holds
        };
        assert_eq!(change(rate(8, 32), rate(28, 32)), Holds::Partly);
        assert_eq!(change(rate(28, 32), rate(8, 32)), Holds::No);
        assert_eq!(change(rate(18, 32), rate(22, 32)), Holds::Undecided);
        assert_eq!(change(rate(1, 10), rate(10, 10)), Holds::Undecided);
        let both = change_claim("b", &[rate(8, 32); 2], &[rate(28, 32); 2]);
        assert_eq!(both.holds, Holds::Yes);
    }

    #[test]
    fn a_law_is_even_if_small_cells_are_no_worse() {
        let at = |small: f64, large: f64| {
            let off = SIZES.map(|size| if size <= SMALL { small } else { large });
            even_claim("b", &off).holds
        };
        assert_eq!([at(0.4, 0.5), at(0.5, 0.5), at(0.6, 0.5)], [Holds::Yes, Holds::Yes, Holds::No]);
    }
}
