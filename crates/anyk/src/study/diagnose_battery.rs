//! How often the diagnosis is right about policies that it knows by samples alone.

use rayon::prelude::*;

use super::Lab;
use super::battery::{Advice, CASES, Case, Word, settles_rules};
use crate::diagnosis::{
    Answer, Finding, Ground, PROMISE_PERCENT, Prediction, Recommendation, SizeLaw,
};
use crate::framework::{Error, Table, strings};
use crate::math::median;
use crate::network::Output;

/// Size `K_0` of the training.
const TRAIN_K: usize = 20;
/// Users of each size.
const USERS: usize = 4000;
/// Users of each size on trial, and policies.
const TRIAL: (usize, usize) = (400, 4);
/// Seeds of the count, of which the first is shown; the rules were settled on others.
const SEEDS: [u64; 4] = [1, 2, 3, 4];

/// What was found about a case, and what it is worth.
struct Row {
    found: String,
    recommended: String,
    right: bool,
    contradictions: Vec<&'static str>,
    /// Predictions, and how many of them lie in their range.
    predictions: usize,
    covered: usize,
    /// How wide the ranges are, as logarithms.
    widths: Vec<f64>,
}

/// The law that was found.
fn word(law: SizeLaw) -> Word {
    match law {
        SizeLaw::Constant => Word::Constant,
        SizeLaw::Settling | SizeLaw::Saturating => Word::Settles,
        SizeLaw::Normalised { .. } => Word::Normalised,
        SizeLaw::Power => Word::Power,
        SizeLaw::Logarithmic => Word::Logarithmic,
        SizeLaw::DriftingPower => Word::Drifting,
        SizeLaw::Exponential => Word::Exponential,
        SizeLaw::None => Word::Other,
        SizeLaw::Undecided => Word::Undecided,
    }
}

/// What was recommended.
fn advice(recommendation: &Recommendation) -> Advice {
    match recommendation.pair().map(|pair| pair.output) {
        Some(Output::Elementwise(_)) => Advice::Invariant,
        Some(Output::Softmax | Output::SumNormalisation) => Advice::Normalisation,
        Some(Output::Pretrained) => Advice::Pretrained,
        None if recommendation.ground == Ground::Unsure => Advice::Undecided,
        None => Advice::Nothing,
    }
}

/// A loss that is larger than that of another output by more, percentage points, is worth a word.
const WORTH_A_WORD: f64 = 10.0;

/// What does not go together in a finding, from what it shows: law, recommendation, reason, samples and check. It
/// does not ask how the recommendation was made.
fn contradictions(finding: &Finding) -> Vec<&'static str> {
    let Finding { diagnosis, recommendation, predictions } = finding;
    let (law, advice) = (word(diagnosis.law), advice(recommendation));
    let reason = recommendation.reason.as_str();
    let checked = matches!(recommendation.ground, Ground::Overruled { .. });
    let loss = |output: Output| {
        let one = predictions.iter().find(|one| one.output == output)?;
        Some((one.with_law_percent, one.train_loss_percent))
    };
    let own = recommendation.pair().and_then(|pair| loss(pair.output));
    let keeps_sum = |one: &&Prediction| {
        law != Word::Normalised || matches!(one.output, Output::Softmax | Output::SumNormalisation)
    };
    let best = predictions.iter().filter(keeps_sum).map(|one| one.with_law_percent);
    let best = best.fold(f64::INFINITY, f64::min);
    let still = matches!(law, Word::Constant | Word::Settles);
    let moving =
        matches!(law, Word::Power | Word::Logarithmic | Word::Drifting | Word::Exponential);
    let rules = [
        (
            law == Word::Constant
                && !checked
                && matches!(advice, Advice::Pretrained | Advice::Normalisation),
            "constant, but an output for a law that moves",
        ),
        (still && advice == Advice::Normalisation, "has a limit, but an output that falls as 1/K"),
        (
            law == Word::Normalised && !matches!(advice, Advice::Normalisation | Advice::Nothing),
            "one sum, but an output that does not keep it",
        ),
        (
            moving
                && advice == Advice::Invariant
                && !checked
                && !reason.contains("moves, but by no more"),
            "moves, but an output that does not",
        ),
        (
            advice == Advice::Normalisation && diagnosis.support.negative,
            "negative outputs, but an output that cannot be negative",
        ),
        (
            (diagnosis.order.equivariant == Answer::No)
                != (reason.contains("not permutation-equivariant")),
            "the reason does not go with the order",
        ),
        (
            matches!(advice, Advice::Nothing | Advice::Undecided) && reason.contains("will do"),
            "nothing recommended, but a reason for something",
        ),
        (
            (law == Word::Undecided) != (advice == Advice::Undecided) && advice != Advice::Nothing,
            "undecided, but not throughout",
        ),
        (
            own.is_some_and(|(measured, trained)| {
                measured > best + WORTH_A_WORD && measured > trained + WORTH_A_WORD
            }),
            "the check measures another output as better",
        ),
        (
            diagnosis.law_text().contains("( )") || diagnosis.law_text().contains("average )"),
            "a sentence with a gap",
        ),
    ];
    rules.iter().filter(|rule| rule.0).map(|rule| rule.1).collect()
}

fn diagnose(case: &Case, users: usize, seed: u64) -> Result<Finding, Error> {
    let samples = case.samples(&Finding::SIZES, users, seed).map_err(Error::other)?;
    let mut finding = Finding::of_samples(case.name, &samples, TRAIN_K, seed);
    finding.check(&samples, seed).map_err(Error::other)?;
    Ok(finding)
}

impl Row {
    fn of(case: &Case, finding: &Finding) -> Self {
        let (law, advice) = (word(finding.diagnosis.law), advice(&finding.recommendation));
        let right_law = case.laws.contains(&law) || case.laws.contains(&Word::Any);
        Self {
            found: finding.diagnosis.law_text(),
            recommended: finding.recommendation.pair_text(),
            right: right_law && case.advice.contains(&advice),
            contradictions: contradictions(finding),
            predictions: finding.predictions.len(),
            covered: finding.predictions.iter().filter(|one| one.in_range()).count(),
            widths: finding
                .predictions
                .iter()
                .map(|one| ((100.0 + one.high_percent) / (100.0 + one.low_percent)).ln())
                .collect(),
        }
    }
}

/// What a half of the battery comes to.
#[derive(Default)]
struct Count {
    policies: usize,
    diagnoses: usize,
    right: usize,
    contradictory: usize,
    predictions: usize,
    covered: usize,
    widths: Vec<f64>,
}

impl Count {
    fn add(&mut self, rows: &[Row]) {
        self.policies += 1;
        self.diagnoses += rows.len();
        for row in rows {
            self.right += usize::from(row.right);
            self.contradictory += usize::from(!row.contradictions.is_empty());
            self.predictions += row.predictions;
            self.covered += row.covered;
            self.widths.extend(&row.widths);
        }
    }

    fn row(&self, name: &str) -> Vec<String> {
        let share = |part: usize, whole: usize| {
            format!("{part} of {whole} ({:.1} %)", 100.0 * part as f64 / whole.max(1) as f64)
        };
        vec![
            name.to_owned(),
            self.policies.to_string(),
            share(self.right, self.diagnoses),
            self.contradictory.to_string(),
            share(self.covered, self.predictions),
            format!("{:.2}", median(self.widths.clone())),
        ]
    }
}

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let seeds = &SEEDS[..lab.effort.of([1, 1, SEEDS.len()])];
    let (users, count) = lab.effort.of([TRIAL, (USERS, CASES.len()), (USERS, CASES.len())]);
    let cases = &CASES[..count];
    let rows_of = |case: &Case| -> Result<Vec<Row>, Error> {
        let row = |&seed: &u64| {
            lab.go_on()?;
            let finding = diagnose(case, users, seed);
            lab.observer.done(1);
            Ok(Row::of(case, &finding?))
        };
        seeds.iter().map(row).collect()
    };
    let parts = (cases.len() * seeds.len()) as u64;
    let found = lab.watched("diagnoses", parts, || {
        cases.par_iter().map(rows_of).collect::<Result<Vec<_>, Error>>()
    })?;
    let (mut rows, mut halves) = (Vec::new(), [Count::default(), Count::default()]);
    for (place, (case, found)) in cases.iter().zip(&found).enumerate() {
        let Some(first) = found.first() else { continue };
        let half = usize::from(!settles_rules(place));
        halves[half].add(found);
        let right = found.iter().filter(|row| row.right).count();
        let mut contradictions: Vec<&str> =
            found.iter().flat_map(|row| row.contradictions.iter().copied()).collect();
        contradictions.sort_unstable();
        contradictions.dedup();
        let any = |words: Vec<&'static str>| words.join(" or ");
        rows.push(vec![
            case.name.to_owned(),
            HALVES[half].to_owned(),
            any(case.laws.iter().map(|law| law.text()).collect()),
            first.found.clone(),
            any(case.advice.iter().map(|advice| advice.text()).collect()),
            first.recommended.clone(),
            format!("{right} of {}", found.len()),
            if contradictions.is_empty() { "none".to_owned() } else { contradictions.join("; ") },
        ]);
    }
    let mut all = Count::default();
    found.iter().for_each(|rows| all.add(rows));
    let counts = [(HALVES[0], &halves[0]), (HALVES[1], &halves[1]), ("all", &all)];
    Ok(vec![
        Table {
            name: "diagnose-battery".into(),
            title: "Policies of known law, diagnosed from samples alone".into(),
            note: format!(
                "{users} users of each size up to 200, x and y only, seeds {seeds:?}, of which the first is \
                 shown. Right: the law is one of those expected, and the recommendation too."
            ),
            columns: strings([
                "policy",
                "half",
                "law",
                "found",
                "right to recommend",
                "recommended",
                "right",
                "contradictions",
            ]),
            rows,
            chart: None,
            ..Table::default()
        },
        Table {
            name: "diagnose-battery-count".into(),
            title: "How often the diagnosis is right".into(),
            note: format!(
                "Rules were settled on the policies of the first half, with other seeds. A range promises \
                 {PROMISE_PERCENT} %: of predictions from K ≤ {TRAIN_K} of what a network misses at K = 200, \
                 for policies with positive outputs. Its width is ln((1 + high)/(1 + low)) of the losses, in the \
                 median."
            ),
            columns: strings([
                "half",
                "policies",
                "right",
                "contradictory",
                "in the range",
                "width of the range",
            ]),
            rows: counts.iter().map(|(name, count)| count.row(name)).collect(),
            chart: None,
            ..Table::default()
        },
    ])
}

/// What the halves are called.
const HALVES: [&str; 2] = ["for the rules", "held out"];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn finding(name: &str, seed: u64) -> (&'static Case, Finding) {
        let case = CASES.iter().find(|case| case.name == name).unwrap();
        (case, diagnose(case, USERS, seed).unwrap())
    }

    /// One of each kind that was wrong before: zeros, both signs, choices, a limit, a slow power, noise, places.
    #[test]
    fn a_few_of_the_battery_are_right_and_go_together() {
        for name in [
            "water-filling, sum 10",
            "x less the mean: sum 0",
            "all to the largest",
            "settling, 1 + 5/K",
            "K^-0.1",
            "dying out, e^(-K/50)",
            "constant, noise of ×/÷ 4.5",
            "place: the first gets twice",
        ] {
            let (case, finding) = finding(name, 1);
            let row = Row::of(case, &finding);
            assert!(row.right, "{name}: {}, {}", row.found, row.recommended);
            assert_eq!(row.contradictions, Vec::<&str>::new(), "{name}");
        }
    }

    #[test]
    fn what_does_not_go_together_is_told() {
        let (_, mut still) = finding("constant, no user sees another", 1);
        assert_eq!(contradictions(&still), Vec::<&str>::new());
        let position = |finding: &Finding, output: Output| {
            finding.recommendation.candidates.iter().position(|one| one.output == output)
        };
        still.recommendation.chosen = position(&still, Output::Pretrained);
        assert_eq!(contradictions(&still), ["constant, but an output for a law that moves"]);
        still.recommendation.chosen = None;
        assert_eq!(contradictions(&still), ["nothing recommended, but a reason for something"]);
        let (_, mut signed) = finding("x less the mean: sum 0", 1);
        signed.recommendation.chosen = position(&signed, Output::Softmax);
        assert!(
            contradictions(&signed)
                .contains(&"negative outputs, but an output that cannot be negative")
        );
        let (_, mut slow) = finding("K^-0.1", 1);
        slow.recommendation.chosen = position(&slow, Output::ALL[0]);
        let told = contradictions(&slow);
        assert!(told.contains(&"moves, but an output that does not"), "{told:?}");
        assert!(told.contains(&"the check measures another output as better"), "{told:?}");
    }

    #[test]
    fn wrong_words_are_counted_as_wrong() {
        let (case, finding) = finding("K^-0.1", 2);
        assert!(Row::of(case, &finding).right);
        let other = CASES.iter().find(|case| case.name == "constant, coupled").unwrap();
        assert!(!Row::of(other, &finding).right);
        let mut count = Count::default();
        count.add(&[Row::of(case, &finding), Row::of(other, &finding)]);
        assert_eq!((count.diagnoses, count.right), (2, 1));
    }
}
