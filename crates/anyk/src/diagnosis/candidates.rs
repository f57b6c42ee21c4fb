//! Remark 1: which networks follow the size law of a policy?
//!
//! Propositions 2 to 4 speak of every network of a kind, so each kind is measured on random networks: on
//! inputs like the policy's, the exponent of `q̂(x, K)` over the same range of K as that of `f(x, K)`.

use rand::{Rng, RngExt};
use rayon::prelude::*;
use serde::Serialize;

use super::{Diagnosis, Ground, Prediction, Samples, SizeLaw, Support};
use crate::math::Moments;
use crate::math::median;
use crate::math::over_others;
use crate::network::{Activation, Aggregator, Gnn, Output, Tape};

/// Features of input, hidden layer and output.
const WIDTHS: [usize; 4] = [1, 6, 6, 1];
/// Random networks of each kind, and draws of the other users.
const NETWORKS: u64 = 9;
const DRAWS: u64 = 40;
/// Exponents that differ by less belong to one law: 1.26 over a decade of K.
const ALIGNED: f64 = 0.1;

/// A kind of network and its size law.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Candidate {
    /// How users see each other.
    pub aggregator: Aggregator,
    /// What the last layer does.
    pub output: Output,
    /// Exponent in K of its output, median over random networks.
    pub exponent: f64,
    /// Largest distance of a network's exponent from the policy's.
    pub mismatch: f64,
    /// Whether its outputs can be the policy's: none of a normalisation is negative.
    pub possible: bool,
    /// Whether every network follows the law of the policy.
    pub aligned: bool,
}

impl Candidate {
    /// What it is called in tables.
    pub fn label(&self) -> String {
        format!("{} + {}", aggregator_name(self.aggregator), output_name(self.output))
    }
}

/// The name of an aggregator, as in flags and files.
fn aggregator_name(aggregator: Aggregator) -> &'static str {
    match aggregator {
        Aggregator::Mean => "mean",
        Aggregator::Sum => "sum",
        Aggregator::Max => "max",
    }
}

/// The name of an output.
pub fn output_name(output: Output) -> &'static str {
    match output {
        Output::Elementwise(_) => "size-invariant activation",
        Output::Softmax => "softmax",
        Output::SumNormalisation => "sum-normalisation",
        Output::Pretrained => "pre-trained activation",
    }
}

/// The networks beside a policy, and the one to take.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recommendation {
    /// Sizes between which exponents are taken.
    pub from_k: usize,
    /// The larger.
    pub to_k: usize,
    /// Exponent of the policy there, median over the inputs.
    pub policy_exponent: f64,
    /// Which values the outputs take.
    pub support: Support,
    /// Whether what the other users do to an output vanishes.
    pub decouples: bool,
    /// Every aggregator with every output.
    pub candidates: Vec<Candidate>,
    /// What the recommendation follows from.
    pub ground: Ground,
    /// Position of the recommended one; none where no network is.
    pub chosen: Option<usize>,
    /// Why, in a sentence.
    pub reason: String,
}

impl Recommendation {
    /// The recommended pair.
    pub fn pair(&self) -> Option<&Candidate> {
        self.chosen.and_then(|index| self.candidates.get(index))
    }

    /// Measures all candidates beside a policy, between the largest size of at most `from` and the
    /// largest of all.
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
                // The outer function is fitted to the policy: it brings the policy's own law.
                let outer = if output == Output::Pretrained { policy_exponent } else { 0.0 };
                let share = matches!(output, Output::Softmax | Output::SumNormalisation);
                // A normalised policy is the network's own form: what 1/K leaves out, such as weights without a
                // mean, both have alike.
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

    /// What trained networks say: the same, or that another output does better.
    pub(super) fn check(&mut self, predictions: &[Prediction]) {
        self.follow(self.ground.checked(self.support, predictions));
    }

    /// All that is recommended, from its ground.
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
                "{reason}; what other users do to the output does not vanish, a network must see them"
            )
        };
    }
}

/// Inputs of the policy with mean 0 and deviation 1, as a network gets them.
fn standardised(samples: &Samples) -> Vec<f64> {
    let moments: Moments = samples.users().map(|user| user.0).collect();
    let deviation = if moments.deviation() > 0.0 { moments.deviation() } else { 1.0 };
    samples.users().map(|user| (user.0 - moments.mean) / deviation).collect()
}

/// Exponents between two sizes of random networks of one kind, for a user of given input.
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
            // An output that underflows has fallen far enough.
            moments.mean.max(f64::MIN_POSITIVE)
        };
        (mean(to_k) / mean(from_k)).ln() / (to_k as f64 / from_k as f64).ln()
    };
    (0..NETWORKS).into_par_iter().map(exponent).collect()
}
