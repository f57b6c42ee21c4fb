//! How often the diagnosis is right about policies that it knows by samples alone.

use rayon::prelude::*;

use super::Lab;
use super::battery::{Advice, CASES, Case, Word, settles_rules};
use crate::diagnosis::{Finding, SMALL_PERCENT, SizeLaw};
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
struct Row {
    found: String,
    recommended: String,
    right: bool,
    contradictions: Vec<&'static str>,
    /// Predictions, and how many of them lie in their range.
    predictions: usize,
    covered: usize,
}

/// The law that was found.
fn word(finding: &Finding) -> Word {
    match finding.diagnosis.law {
        SizeLaw::Constant => Word::Constant,
        SizeLaw::Normalised { .. } => Word::Normalised,
        SizeLaw::Power => Word::Power,
        SizeLaw::Logarithmic => Word::Logarithmic,
        SizeLaw::DriftingPower => Word::Drifting,
        SizeLaw::None => Word::Other,
    }
}

/// What was recommended.
fn advice(finding: &Finding) -> Advice {
    match finding.recommendation.pair().map(|pair| pair.output) {
        Some(Output::Elementwise(_)) => Advice::Invariant,
        Some(Output::Softmax | Output::SumNormalisation) => Advice::Normalisation,
        Some(Output::Pretrained) => Advice::Pretrained,
        None => Advice::Nothing,
    }
}

/// What does not go together in a finding.
fn contradictions(finding: &Finding) -> Vec<&'static str> {
    let (law, advice) = (word(finding), advice(finding));
    let mut found = Vec::new();
    if law == Word::Constant && matches!(advice, Advice::Pretrained | Advice::Normalisation) {
        found.push("constant, but another output");
    }
    if law == Word::Normalised && advice != Advice::Normalisation {
        found.push("normalised, but another output");
    }
    found
}

fn diagnose(case: &Case, seed: u64) -> Result<Row, Error> {
    let samples = case.samples(&Finding::SIZES, USERS, seed).map_err(Error::other)?;
    let mut finding = Finding::of_samples(case.name, &samples, TRAIN_K, seed);
    finding.check(&samples, seed).map_err(Error::other)?;
    let (law, advice) = (word(&finding), advice(&finding));
    let right_law = case.laws.contains(&law) || case.laws.contains(&Word::Any);
    let in_range = finding.predictions.iter().filter(|one| {
        let measured = one.measured_percent.max(SMALL_PERCENT);
        (one.low_percent..=one.high_percent.max(SMALL_PERCENT)).contains(&measured)
    });
    Ok(Row {
        found: finding.diagnosis.law_text(),
        recommended: finding.recommendation.pair_text(),
        right: right_law && case.advice.contains(&advice),
        contradictions: contradictions(&finding),
        predictions: finding.predictions.len(),
        covered: in_range.count(),
    })
}

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let more: &[u64] = if lab.full { &MORE_SEEDS } else { &[] };
    let seeds: Vec<u64> = SEEDS.iter().chain(more).copied().collect();
    let row = |case: &Case| -> Result<Vec<Row>, Error> {
        let row = |&seed: &u64| {
            lab.go_on()?;
            let row = diagnose(case, seed);
            lab.observer.done(1);
            row
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
