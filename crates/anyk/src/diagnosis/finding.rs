//! All that is found about one policy: the diagnosis, the networks that follow it, and what they will miss.

use serde::Serialize;

use super::{Diagnosis, Prediction, Recommendation, Samples, Subject, predict};
use crate::exchange::SampleRow;
use crate::framework::{Error, Options};
use crate::invalid::Invalid;

/// All that is found about one policy.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// What the policy is.
    pub diagnosis: Diagnosis,
    /// The networks beside it, and the one to take.
    pub recommendation: Recommendation,
    /// What networks trained at a small size will miss at the largest, and what they do miss; empty until
    /// [`Finding::check`].
    pub predictions: Vec<Prediction>,
}

impl Finding {
    /// Users drawn of each size unless said otherwise.
    pub const USERS: usize = 20_000;
    /// Sizes drawn unless said otherwise.
    pub const SIZES: [usize; 8] = [2, 3, 5, 10, 20, 50, 100, 200];

    /// Of a policy that can be called, from samples of it; `train_k` is `K_0`.
    pub fn of_subject(
        subject: &mut Subject,
        samples: &Samples,
        train_k: usize,
        seed: u64,
    ) -> Result<Self, Error> {
        let diagnosis = Diagnosis::of_subject(subject, samples, seed)?;
        Ok(Self::of(diagnosis, samples, train_k, seed))
    }

    /// Of samples alone.
    pub fn of_samples(label: &str, samples: &Samples, train_k: usize, seed: u64) -> Self {
        Self::of(Diagnosis::of_samples(label.to_owned(), samples), samples, train_k, seed)
    }

    /// The size law of a policy that is known by its answers, and the network that follows it, in words.
    pub fn law_of_rows(label: &str, rows: &[SampleRow]) -> Result<(String, String), Invalid> {
        let finding = Self::of_samples(label, &Samples::from_rows(rows)?, 20, 1);
        Ok((finding.diagnosis.law_text(), finding.recommendation.pair_text()))
    }

    /// Of a built-in policy, drawn as unless said otherwise and checked.
    pub fn built_in(
        policy: &str,
        options: &Options,
        train_k: usize,
        seed: u64,
    ) -> Result<Self, Error> {
        let unknown = || Invalid::value("policy", policy, "one that is built in");
        let mut subject = Subject::built_in(policy, options).ok_or_else(unknown)??;
        let samples = subject.sample(&Self::SIZES, Self::USERS, seed)?;
        let mut finding = Self::of_subject(&mut subject, &samples, train_k, seed)?;
        finding.check(&samples, seed)?;
        Ok(finding)
    }

    fn of(diagnosis: Diagnosis, samples: &Samples, train_k: usize, seed: u64) -> Self {
        let recommendation = Recommendation::of(&diagnosis, samples, train_k, seed);
        Self { diagnosis, recommendation, predictions: Vec::new() }
    }

    /// Trains networks at the small size of the recommendation, predicts what they miss at its large one, and
    /// measures it; where another output does better than the one recommended, that one is.
    pub fn check(&mut self, samples: &Samples, seed: u64) -> Result<(), Error> {
        let sizes = (self.recommendation.from_k, self.recommendation.to_k);
        self.predictions = predict(samples, sizes, seed)?;
        self.recommendation.check(&self.predictions);
        Ok(())
    }
}
