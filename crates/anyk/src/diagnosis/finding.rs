//! Complete result for one policy: the diagnosis, the recommended network, and the predicted losses.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    Diagnosis, FEWEST_INSTANCES, FEWEST_SAMPLES, Prediction, Recommendation, Samples, Subject,
    predict,
};
use crate::exchange::SampleRow;
use crate::framework::{Error, Options};
use crate::invalid::Invalid;

/// Complete result for one policy.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// Diagnosis of the policy.
    pub diagnosis: Diagnosis,
    /// Comparison with networks, and the recommended one.
    pub recommendation: Recommendation,
    /// Predicted and measured losses, at the largest size, of networks trained at a small size. Empty until
    /// [`Finding::check`] is called.
    pub predictions: Vec<Prediction>,
}

impl Finding {
    /// Default number of users drawn at each size.
    pub const USERS: usize = 20_000;
    /// Default sizes.
    pub const SIZES: [usize; 8] = [2, 3, 5, 10, 20, 50, 100, 200];

    /// Diagnoses a policy that can be called, from samples of it. `train_k` is `K_0`, the number of users in
    /// training.
    pub fn of_subject(
        subject: &mut Subject,
        samples: &Samples,
        train_k: usize,
        seed: u64,
    ) -> Result<Self, Error> {
        let diagnosis = Diagnosis::of_subject(subject, samples, seed)?;
        Ok(Self::of(diagnosis, samples, train_k, seed))
    }

    /// Diagnoses samples of a policy that cannot be called.
    pub fn of_samples(label: &str, samples: &Samples, train_k: usize, seed: u64) -> Self {
        Self::of(Diagnosis::of_samples(label.to_owned(), samples), samples, train_k, seed)
    }

    /// Returns the size law of a policy that is known only from samples, and the recommended network, both as text. Sizes
    /// with too few samples, such as K = 1, are left out if two others have enough.
    pub fn law_of_rows(label: &str, rows: &[SampleRow]) -> Result<(String, String), Invalid> {
        let mut counts: BTreeMap<usize, (usize, BTreeSet<Option<u64>>)> = BTreeMap::new();
        for row in rows {
            let (count, instances) = counts.entry(row.k).or_default();
            *count += 1;
            instances.insert(row.instance);
        }
        let is_enough = |(count, instances): &(usize, BTreeSet<Option<u64>>)| {
            *count >= FEWEST_SAMPLES && instances.len() >= FEWEST_INSTANCES
        };
        let few = counts.iter().filter(|(_, counts)| !is_enough(counts)).map(|(k, _)| *k);
        let few: BTreeSet<usize> = few.collect();
        let kept: Vec<SampleRow> = match counts.len() - few.len() {
            0 | 1 => rows.to_vec(),
            _ => rows.iter().filter(|row| !few.contains(&row.k)).copied().collect(),
        };
        let finding = Self::of_samples(label, &Samples::from_rows(&kept)?, 20, 1);
        let mut law = finding.diagnosis.law_text();
        if kept.len() < rows.len() {
            let few: Vec<String> = few.iter().map(usize::to_string).collect();
            law.push_str(&format!(" (without K = {}: too few samples)", few.join(", ")));
        }
        Ok((law, finding.recommendation.pair_text()))
    }

    /// Diagnoses a built-in policy with default sizes and users, and checks the recommendation. Options of a cell that
    /// the policy does not have are ignored.
    pub fn built_in(
        policy: &str,
        options: &Options,
        train_k: usize,
        seed: u64,
    ) -> Result<Self, Error> {
        let unknown = || Invalid::value("policy", policy, "the name of a built-in policy");
        let mut subject = Subject::in_cell(policy, options).ok_or_else(unknown)??;
        let samples = subject.sample(&Self::SIZES, Self::USERS, seed)?;
        let mut finding = Self::of_subject(&mut subject, &samples, train_k, seed)?;
        finding.check(&samples, seed)?;
        Ok(finding)
    }

    fn of(diagnosis: Diagnosis, samples: &Samples, train_k: usize, seed: u64) -> Self {
        let recommendation = Recommendation::of(&diagnosis, samples, train_k, seed);
        Self { diagnosis, recommendation, predictions: Vec::new() }
    }

    /// Trains networks at the smaller size of the recommendation, predicts their losses at the larger size, and
    /// measures them. If another output layer has a clearly smaller loss than the recommended output layer, it replaces
    /// the recommendation.
    pub fn check(&mut self, samples: &Samples, seed: u64) -> Result<(), Error> {
        let sizes = (self.recommendation.from_k, self.recommendation.to_k);
        self.predictions = predict(samples, sizes, seed)?;
        self.recommendation.check(&self.predictions);
        Ok(())
    }
}
