//! How often the diagnosis is right about policies that it knows by samples alone.

use rayon::prelude::*;

use super::Lab;
use super::battery::{Advice, CASES, Case, Word, settles_rules};
use crate::diagnosis::{Answer, Finding, Ground, Prediction, Recommendation, SizeLaw};
use crate::framework::{Error, Table, strings};
use crate::network::Output;

/// Size `K_0` of the training.
const TRAIN_K: usize = 20;
/// Users of each size.
const USERS: usize = 4000;
/// Seeds of the count, of which the first is shown; the rules were settled on others.
const SEEDS: [u64; 1] = [1];
const MORE_SEEDS: [u64; 3] = [2, 3, 4];

/// What was found about a case, and what it is worth.
pub(crate) struct Row {
    found: String,
    recommended: String,
    pub(crate) right: bool,
    pub(crate) contradictions: Vec<&'static str>,
    /// Predictions, and how many of them lie in their range.
    pub(crate) predictions: usize,
    pub(crate) covered: usize,
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
    pub(crate) fn of(case: &Case, finding: &Finding) -> Self {
        let (law, advice) = (word(finding.diagnosis.law), advice(&finding.recommendation));
        let right_law = case.laws.contains(&law) || case.laws.contains(&Word::Any);
        Self {
            found: finding.diagnosis.law_text(),
            recommended: finding.recommendation.pair_text(),
            right: right_law && case.advice.contains(&advice),
            contradictions: contradictions(finding),
            predictions: finding.predictions.len(),
            covered: finding.predictions.iter().filter(|one| one.in_range()).count(),
        }
    }
}

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let more: &[u64] = if lab.full { &MORE_SEEDS } else { &[] };
    let seeds: Vec<u64> = SEEDS.iter().chain(more).copied().collect();
    let row = |case: &Case| -> Result<Vec<Row>, Error> {
        let row = |&seed: &u64| {
            lab.go_on()?;
            let finding = diagnose(case, USERS, seed);
            lab.observer.done(1);
            Ok(Row::of(case, &finding?))
        };
        seeds.iter().map(row).collect()
    };
    let parts = (CASES.len() * seeds.len()) as u64;
    let found = lab.watched("diagnoses", parts, || {
        CASES.par_iter().map(row).collect::<Result<Vec<_>, Error>>()
    })?;
    let mut rows = Vec::new();
    for (place, (case, found)) in CASES.iter().zip(&found).enumerate() {
        let Some(first) = found.first() else { continue };
        rows.push(vec![
            case.name.to_owned(),
            if settles_rules(place) { "first" } else { "held out" }.to_owned(),
            first.found.clone(),
            first.recommended.clone(),
            found.iter().filter(|row| row.right).count().to_string(),
            first.contradictions.join("; "),
        ]);
    }
    Ok(vec![Table {
        name: "diagnose-battery".into(),
        title: "Policies of known law, diagnosed from samples".into(),
        note: String::new(),
        columns: strings(["policy", "half", "found", "recommended", "right", "contradictions"]),
        rows,
        chart: None,
    }])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    #[ignore]
    fn print_half() {
        let seeds: Vec<u64> =
            std::env::var("SEEDS").unwrap().split(',').map(|s| s.parse().unwrap()).collect();
        let only = std::env::var("ONLY").unwrap_or_default();
        let detail = std::env::var("DETAIL").is_ok();
        let jobs: Vec<(usize, u64)> = (0..CASES.len())
            .filter(|&place| settles_rules(place) && CASES[place].name.contains(&only))
            .flat_map(|place| seeds.iter().map(move |&seed| (place, seed)))
            .collect();
        let found: Vec<(usize, u64, Finding)> = jobs
            .par_iter()
            .map(|&(place, seed)| (place, seed, diagnose(&CASES[place], USERS, seed).unwrap()))
            .collect();
        let (mut right, mut bad, mut covered, mut all) = (0, 0, 0, 0);
        for (place, seed, finding) in &found {
            let row = Row::of(&CASES[*place], finding);
            right += usize::from(row.right);
            bad += usize::from(!row.contradictions.is_empty());
            covered += row.covered;
            all += row.predictions;
            println!(
                "{} {seed} | {} | {} | {} | {} | {:?} | {}/{}",
                if row.right { "ok   " } else { "WRONG" },
                CASES[*place].name,
                row.found,
                row.recommended,
                finding.recommendation.reason,
                row.contradictions,
                row.covered,
                row.predictions
            );
            if detail {
                println!("  order: {}", finding.diagnosis.order.text());
                for score in &finding.diagnosis.scores {
                    println!(
                        "    {:?} misfit {:.2} p {:.4} miss {:.4} crit {:.1}",
                        score.law, score.misfit, score.likelihood, score.miss, score.criterion
                    );
                }
                for curve in &finding.diagnosis.estimate.curves {
                    let text: Vec<String> = curve
                        .points
                        .iter()
                        .map(|p| format!("{}: {:.4} ± {:.4}", p.k, p.value, p.standard_error))
                        .collect();
                    println!("    x {:.3}: {}", curve.x, text.join(", "));
                }
            }
            for p in &finding.predictions {
                if detail || !p.in_range() {
                    println!(
                        "    {} {:?}: train {:.2} predicted {:.2} in {:.2}..{:.2} measured {:.2} ± {:.2}",
                        if p.in_range() { "in " } else { "OUT" },
                        p.output,
                        p.train_loss_percent,
                        p.predicted_percent,
                        p.low_percent,
                        p.high_percent,
                        p.measured_percent,
                        100.0 * p.measured_error
                    );
                }
            }
        }
        println!(
            "right {right} of {}, contradictory {bad}, covered {covered} of {all}",
            found.len()
        );
    }
}
