//! Remark 1: which networks follow the size law of a policy.
//!
//! Propositions 2 to 4 apply to every network of a kind, so each kind is measured on random networks. The exponent of
//! `q̂(x, K)` is measured on the policy's inputs over the same range of K as the exponent of `f(x, K)`.

use rand::{Rng, RngExt};
use rayon::prelude::*;
use serde::Serialize;

use super::{Diagnosis, Ground, Prediction, Samples, SizeLaw, Support};
use crate::math::Moments;
use crate::math::median;
use crate::math::over_others;
use crate::network::{Activation, Aggregator, Gnn, Output, Tape};

/// Number of features of the input, hidden and output layers.
const WIDTHS: [usize; 4] = [1, 6, 6, 1];
/// Number of random networks of each kind.
const NETWORKS: u64 = 9;
const DRAWS: u64 = 40;
/// Largest difference of exponents that count as the same size law: a factor of 1.26 over a decade of K.
const ALIGNED: f64 = 0.1;

/// Kind of network and its size law.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Candidate {
    /// Aggregator over the other users.
    pub aggregator: Aggregator,
    /// Output layer.
    pub output: Output,
    /// Exponent in K of the output, as the median over random networks.
    pub exponent: f64,
    /// Largest difference between a network's exponent and the policy's.
    pub mismatch: f64,
    /// Whether the network can produce the policy's outputs. A normalization cannot produce negative outputs.
    pub possible: bool,
    /// Whether every network follows the size law of the policy.
    pub aligned: bool,
}

impl Candidate {
    /// Returns the name used in tables.
    pub fn label(&self) -> String {
        format!("{} + {}", aggregator_name(self.aggregator), output_name(self.output))
    }
}

/// Returns the name of an aggregator, as in flags and files.
fn aggregator_name(aggregator: Aggregator) -> &'static str {
    match aggregator {
        Aggregator::Mean => "mean",
        Aggregator::Sum => "sum",
        Aggregator::Max => "max",
    }
}

/// Returns the name of an output layer.
pub fn output_name(output: Output) -> &'static str {
    match output {
        Output::Elementwise(_) => "size-invariant activation",
        Output::Softmax => "softmax",
        Output::SumNormalisation => "sum-normalisation",
        Output::Pretrained => "pre-trained activation",
    }
}

/// Comparison of networks with a policy, and the recommended network.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recommendation {
    /// Smaller of the two sizes between which exponents are measured.
    pub from_k: usize,
    /// Larger of the two sizes.
    pub to_k: usize,
    /// Exponent of the policy between these sizes, as the median over the inputs.
    pub policy_exponent: f64,
    /// Signs of the policy's outputs.
    pub support: Support,
    /// Whether the influence of other users on an output vanishes as K grows.
    pub decouples: bool,
    /// All combinations of aggregator and output layer.
    pub candidates: Vec<Candidate>,
    /// Reason for the recommendation, as data.
    pub ground: Ground,
    /// Index of the recommended candidate, or `None` if no network is recommended.
    pub chosen: Option<usize>,
    /// Reason for the recommendation, as a sentence.
    pub reason: String,
}

impl Recommendation {
    /// Returns the recommended candidate.
    pub fn pair(&self) -> Option<&Candidate> {
        self.chosen.and_then(|index| self.candidates.get(index))
    }

    /// Compares all candidates with a policy. Exponents are measured between the largest size of at most `from` and
    /// the largest of all.
    pub fn of(diagnosis: &Diagnosis, samples: &Samples, from: usize, seed: u64) -> Self {
        let sizes = &diagnosis.sizes;
        let to_k = sizes.last().copied().unwrap_or(2);
        let below = sizes.iter().copied().rfind(|&k| k <= from && k < to_k);
        let from_k = below.or(sizes.first().copied()).unwrap_or(1);
        let span = (to_k as f64 / from_k as f64).ln();
        let exponents = diagnosis.estimate.curves.iter().filter_map(|curve| {
            let exponent = (curve.at(to_k)?.value / curve.at(from_k)?.value).ln() / span;
            exponent.is_finite().then_some(exponent)
        });
        let policy_exponent = median(exponents.collect());
        let inputs = standardised(samples);
        let own = median(inputs.clone());
        let normalised = matches!(diagnosis.law, SizeLaw::Normalised { .. });
        let mut candidates = Vec::new();
        for output in Output::ALL {
            for aggregator in [Aggregator::Mean, Aggregator::Max, Aggregator::Sum] {
                let plain = measure(aggregator, output, &inputs, own, (from_k, to_k), seed);
                // The outer function is fitted to the policy, so it has the policy's size law.
                let outer = if output == Output::Pretrained { policy_exponent } else { 0.0 };
                let share = matches!(output, Output::Softmax | Output::SumNormalisation);
                // A normalized policy has the same form as the network, so both deviate from 1/K alike, for example
                // if the weights have no mean.
                let target = if share && normalised { -1.0 } else { policy_exponent };
                let exponents: Vec<f64> = plain.iter().map(|exponent| exponent + outer).collect();
                let apart = exponents.iter().map(|exponent| (exponent - target).abs());
                let mismatch = apart.fold(0.0, f64::max);
                candidates.push(Candidate {
                    aggregator,
                    output,
                    exponent: median(exponents),
                    mismatch,
                    possible: !(share && diagnosis.support.negative),
                    aligned: mismatch <= ALIGNED,
                });
            }
        }
        let ground = Ground::of(diagnosis, from_k, to_k);
        let (support, decouples) = (diagnosis.support, diagnosis.decouples);
        let mut made = Self {
            from_k,
            to_k,
            policy_exponent,
            support,
            decouples,
            candidates,
            ground,
            chosen: None,
            reason: String::new(),
        };
        made.follow(ground);
        made
    }

    /// Revises the recommendation with the losses of trained networks: it stays, or an output layer with a smaller
    /// loss replaces it.
    pub(super) fn check(&mut self, predictions: &[Prediction]) {
        self.follow(self.ground.checked(self.support, predictions));
    }

    /// Derives the recommended candidate and the sentence from the ground.
    fn follow(&mut self, ground: Ground) {
        self.ground = ground;
        let output = ground.output(self.support);
        let fits = |one: &Candidate| Some(one.output) == output && one.possible;
        self.chosen = self.candidates.iter().position(fits);
        let reason = ground.text(self.support, self.from_k, self.to_k);
        self.reason = if self.decouples || self.chosen.is_none() {
            reason
        } else {
            format!(
                "{reason}; other users keep influencing the output, so the network must see them"
            )
        };
    }
}

/// Returns the inputs of the policy, scaled to mean 0 and deviation 1 as for a network.
fn standardised(samples: &Samples) -> Vec<f64> {
    let moments: Moments = samples.users().map(|user| user.0).collect();
    let deviation = if moments.deviation() > 0.0 { moments.deviation() } else { 1.0 };
    samples.users().map(|user| (user.0 - moments.mean) / deviation).collect()
}

/// Returns the exponents of random networks of one kind between two sizes, for a user with the input `own`.
fn measure(
    aggregator: Aggregator,
    output: Output,
    inputs: &[f64],
    own: f64,
    (from_k, to_k): (usize, usize),
    seed: u64,
) -> Vec<f64> {
    let gnn = Gnn::new(&WIDTHS, aggregator, Activation::LeakyRelu, output);
    let exponent = |network: u64| {
        let parameters = gnn.random_parameters(seed, network);
        let mean = |k: usize| {
            let draw = |rng: &mut dyn Rng| inputs[rng.random_range(0..inputs.len())];
            let outer = vec![1.0; k];
            let [moments] = over_others((k, own), (DRAWS, seed + 1 + network), draw, || {
                let mut tape = Tape::default();
                let (gnn, parameters, outer) = (&gnn, &parameters, &outer);
                move |x: &[f64]| [gnn.forward(parameters, x, outer, &mut tape)[0]]
            });
            // An output may underflow to 0, which has no logarithm.
            moments.mean.max(f64::MIN_POSITIVE)
        };
        (mean(to_k) / mean(from_k)).ln() / (to_k as f64 / from_k as f64).ln()
    };
    (0..NETWORKS).into_par_iter().map(exponent).collect()
}
