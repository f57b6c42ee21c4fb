//! Remark 1 on every built-in policy: the verdicts beside what the paper and our other measurements lead
//! one to expect, and the losses predicted from K ≤ 20 beside those measured at K = 200.

use anyk::diagnosis::{Answer, BuiltIn, SMALL_PERCENT, SizeLaw};
use anyk::network::Output;

use super::Lab;
use super::tables::strings;
use crate::commands::diagnose::{Finding, USERS, tables};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::report::Table;

/// Size `K_0` of the training.
const TRAIN_K: usize = 20;
/// A prediction is good within this factor.
const FACTOR: f64 = 1.5;

/// What is expected of a policy: in words, and as a test.
fn expected(policy: BuiltIn) -> (&'static str, fn(&Finding) -> bool) {
    fn output(finding: &Finding) -> Option<Output> {
        finding.recommendation.pair().map(|pair| pair.output)
    }
    fn invariant(finding: &Finding) -> bool {
        finding.diagnosis.law == SizeLaw::Constant
            && matches!(output(finding), Some(Output::Elementwise(_)))
    }
    fn normalised(finding: &Finding) -> bool {
        matches!(finding.diagnosis.law, SizeLaw::Normalised { .. })
            && output(finding) == Some(Output::Softmax)
    }
    fn grows(finding: &Finding) -> bool {
        finding.diagnosis.invariance.answer == Answer::No
            && finding.recommendation.policy_exponent > 0.0
            && output(finding) == Some(Output::Pretrained)
    }
    match policy {
        BuiltIn::QosPower | BuiltIn::ToyOne | BuiltIn::LinkScheduling => {
            ("invariant, any size-invariant output", invariant)
        }
        BuiltIn::EqualBandwidthPower | BuiltIn::UrllcPower => ("1/K, softmax", normalised),
        BuiltIn::EqualBandwidthBandwidth | BuiltIn::UrllcBandwidth | BuiltIn::ToyTwo => {
            ("grows with K, pre-trained activation", grows)
        }
        BuiltIn::Interference => {
            ("not invariant", |finding| finding.diagnosis.invariance.answer == Answer::No)
        }
    }
}

pub(super) fn tables(lab: &Lab) -> Result<Vec<Table>, Failure> {
    let progress = Progress::new("diagnoses", BuiltIn::ALL.len() as u64);
    let (mut verdicts, mut losses) = (Vec::new(), Vec::new());
    let (mut agree, mut good) = (0, 0);
    for policy in BuiltIn::ALL {
        let finding = Finding::built_in(&lab.system, policy, USERS, TRAIN_K)?;
        let (words, holds) = expected(policy);
        let (diagnosis, holds) = (&finding.diagnosis, holds(&finding));
        agree += usize::from(holds);
        verdicts.push(vec![
            policy.label().to_owned(),
            tables::answer(diagnosis.order.equivariant).to_owned(),
            tables::answer(diagnosis.invariance.answer).to_owned(),
            format!("{:+.1}", diagnosis.invariance.largest_percent()),
            diagnosis.law_text(),
            tables::pair(&finding.recommendation),
            words.to_owned(),
            if holds { "yes" } else { "no" }.to_owned(),
        ]);
        for (row, prediction) in
            tables::predictions(&finding).rows.into_iter().zip(&finding.predictions)
        {
            let within = (FACTOR.recip()..=FACTOR).contains(&prediction.ratio);
            good += usize::from(within);
            let mut line = vec![policy.label().to_owned()];
            line.extend(row);
            line.push(if within { "yes" } else { "no" }.to_owned());
            losses.push(line);
        }
        progress.step();
    }
    progress.finish();
    let (verdict_count, loss_count) = (verdicts.len(), losses.len());
    Ok(vec![
        Table {
            name: "diagnose".into(),
            title: "Remark 1: size laws of policies, and the networks that follow them".into(),
            note: format!(
                "{agree} of {verdict_count} verdicts are as expected; {USERS} users of each size up to 200. \
                 That dense interference is not invariant is what we measure (fig2b), not what the paper \
                 says."
            ),
            columns: strings([
                "policy",
                "equivariant",
                "invariant",
                "change when K doubles (%)",
                "size law",
                "recommended",
                "expected",
                "agrees",
            ]),
            rows: verdicts,
            chart: None,
        },
        Table {
            name: "diagnose-prediction".into(),
            title: format!("Losses at K = 200, predicted from K ≤ {TRAIN_K}"),
            note: format!(
                "{good} of {loss_count} predictions are within a factor of {FACTOR} of what a network \
                 trained at K = {TRAIN_K} then misses at K = 200 (mean of |ŷ/y − 1| over users); losses \
                 under {SMALL_PERCENT} % count as {SMALL_PERCENT} %. Policies with outputs of 0 have no \
                 relative error."
            ),
            columns: strings([
                "policy",
                "mean aggregator and",
                "drift (%)",
                "loss at 20 (%)",
                "predicted at 200 (%)",
                "measured (%)",
                "ratio",
                "within 1.5",
            ]),
            rows: losses,
            chart: None,
        },
    ])
}
