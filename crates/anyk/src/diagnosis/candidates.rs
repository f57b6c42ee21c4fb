//! Remark 1: which networks follow the size law of a policy.
//!
//! Propositions 2 to 4 apply to every network of a kind, so the size law of a kind is measured on random networks. The
//! exponent of `q̂(x, K)` is measured on the policy's inputs over the same range of K as the exponent of `f(x, K)`.

use rand::{Rng, RngExt};
use rayon::prelude::*;
use serde::Serialize;

use super::{Diagnosis, Ground, Prediction, Samples, SizeLaw, Support};
use crate::framework::SamplePrice;
use crate::math::Moments;
use crate::math::median;
use crate::math::over_others;
use crate::network::{Activation, Aggregator, Gnn, Output, Tape};

/// Number of features of the input, hidden and output layers.
const WIDTHS: [usize; 4] = [1, 6, 6, 1];
/// Number of random networks of each kind.
const NETWORKS: u64 = 9;
const DRAWS: u64 = 40;
/// Largest difference between exponents that count as the same size law. It is a factor of 1.26 over a decade of K.
const ALIGNED: f64 = 0.1;

/// Kind of network and its size law.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Candidate {
    /// Aggregator over the other users; `None` for a price layer, which has none.
    pub aggregator: Option<Aggregator>,
    /// Output layer.
    pub output: Layer,
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
        let aggregator = self.aggregator.map(aggregator_name);
        aggregator.map_or(String::new(), |name| format!("{name} + ")) + self.output.name()
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

/// Output layer of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// Price layer: each user responds to a price, and the price is set so that the outputs spend the budget of the
    /// cell. It applies if the outputs of every instance have the same sum.
    Price,
    /// Output layer of a GNN.
    #[serde(untagged)]
    Network(Output),
}

impl Layer {
    /// Returns all output layers: those of a GNN, and the price layer if the outputs share a budget.
    pub(super) fn all(shared: bool) -> impl Iterator<Item = Self> {
        Output::ALL.into_iter().map(Self::Network).chain(shared.then_some(Self::Price))
    }

    /// Returns the name used in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Price => "price layer",
            Self::Network(Output::Elementwise(_)) => "size-invariant activation",
            Self::Network(Output::Softmax) => "softmax",
            Self::Network(Output::SumNormalisation) => "sum-normalisation",
            Self::Network(Output::Pretrained) => "pre-trained activation",
        }
    }

    /// Returns whether the outputs of every instance have the same sum.
    pub(super) fn keeps_sum(self) -> bool {
        matches!(self, Self::Price | Self::Network(Output::Softmax | Output::SumNormalisation))
    }
}

/// Comparison of the size laws of networks with that of a policy, and the recommended network.
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

    /// Compares all candidates with a policy. Exponents are measured between the largest size that is at most `from`
    /// and the largest size of all.
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
        // A price layer has positive outputs with a fixed sum.
        for output in Layer::all(normalised && !diagnosis.support.zero) {
            let aggregators: &[_] = match output {
                Layer::Price => &[None],
                _ => &[Some(Aggregator::Mean), Some(Aggregator::Max), Some(Aggregator::Sum)],
            };
            for &aggregator in aggregators {
                let plain = measure(aggregator, output, &inputs, own, (from_k, to_k), seed);
                // The outer function is fitted to the policy, so it has the policy's size law.
                let is_outer = output == Layer::Network(Output::Pretrained);
                let outer = if is_outer { policy_exponent } else { 0.0 };
                let share = output.keeps_sum();
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

    /// Revises the recommendation with the losses of trained networks. If another output layer has a clearly smaller
    /// loss, it replaces the recommended one.
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

/// Function from the inputs of all users to the output of the first.
type First = dyn Fn(&[f64]) -> f64 + Sync;

/// Returns the exponents of random networks of one kind between two sizes, for a user with the input `own`.
fn measure(
    aggregator: Option<Aggregator>,
    output: Layer,
    inputs: &[f64],
    own: f64,
    (from_k, to_k): (usize, usize),
    seed: u64,
) -> Vec<f64> {
    let exponent = |network: u64| {
        let first: Box<First> = match (aggregator, output) {
            (Some(aggregator), Layer::Network(output)) => {
                let gnn = Gnn::new(&WIDTHS, aggregator, Activation::LeakyRelu, output);
                let parameters = gnn.random_parameters(seed, network);
                Box::new(move |x| {
                    gnn.forward(&parameters, x, &vec![1.0; x.len()], &mut Tape::default())[0]
                })
            }
            _ => {
                let layer = SamplePrice::random(seed + network);
                Box::new(move |x| layer.outputs(x)[0])
            }
        };
        let mean = |k: usize| {
            let draw = |rng: &mut dyn Rng| inputs[rng.random_range(0..inputs.len())];
            let [moments] =
                over_others((k, own), (DRAWS, seed + 1 + network), draw, || |x: &[f64]| [first(x)]);
            // An output may underflow to 0, which has no logarithm.
            moments.mean.max(f64::MIN_POSITIVE)
        };
        (mean(to_k) / mean(from_k)).ln() / (to_k as f64 / from_k as f64).ln()
    };
    (0..NETWORKS).into_par_iter().map(exponent).collect()
}
