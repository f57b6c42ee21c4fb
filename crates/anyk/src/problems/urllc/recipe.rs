//! How to train: optimizer, schedule, batch.

use serde::{Deserialize, Serialize};

use crate::framework::{Initialization, RatePer, Schedule, Update};

/// What the loss of Algorithm 1 is measured in, which the paper does not say and plain gradient steps depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossScale {
    /// Bandwidths in units of their mean at the start, the constraint divided by its target `e^(−θS^E)`.
    #[default]
    Relative,
    /// As the paper writes it: bandwidths in MHz, `e^(−θs) − e^(−θS^E)`.
    Raw,
}

/// Optimizer, schedule and batch of Algorithm 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// How parameters move.
    pub update: Update,
    /// Learning rate over the steps.
    pub rate: Schedule,
    /// Samples in a step.
    pub batch: usize,
    /// Passes over the samples, unless `steps` is set.
    pub epochs: u64,
    /// Steps, whatever the number of samples.
    pub steps: Option<u64>,
    /// Fading states stored with each large-scale sample.
    pub stored_draws: usize,
    /// Fading states used in a step.
    pub draws: usize,
    /// What t counts in the learning rate.
    #[serde(default)]
    pub rate_per: RatePer,
    /// How the parameters start.
    #[serde(default)]
    pub initialization: Initialization,
    /// What the loss is measured in.
    #[serde(default)]
    pub loss: LossScale,
}

impl Recipe {
    /// The paper's (table II): plain gradient steps, `0.01/(1 + 0.01t)`, batches of 10, 5000 epochs,
    /// one fading state for each sample, the loss as it is written.
    ///
    /// Three things it leaves open are settled by what gives its figures (`anyk reproduce ablation`): t counts
    /// epochs, bandwidths are in MHz, and networks start from small normal weights.
    pub fn paper() -> Self {
        Self {
            update: Update::Sgd { scale: 1.0 },
            rate: Schedule::Inverse { rate: 0.01, decay: 0.01 },
            batch: 10,
            epochs: 5000,
            steps: None,
            stored_draws: 1,
            draws: 1,
            rate_per: RatePer::Epoch,
            initialization: Initialization::Normal,
            loss: LossScale::Raw,
        }
    }

    /// Ours: 30,000 steps of Adam without its first moment, which would carry the game between
    /// descending bandwidths and ascending multipliers around in circles; 16 of 64 stored fading
    /// states in each step, since what the networks must learn about the *other* users is a hundredth
    /// of the noise that a single state brings.
    ///
    /// `largest` is the largest training size: a cell of 200 users brings as many users to a step as
    /// twenty of 10, and fewer fading states do.
    pub fn fast(largest: usize) -> Self {
        let large = largest > 50;
        Self {
            update: Update::Adam { beta1: 0.0, beta2: 0.999 },
            rate: Schedule::Cosine { rate: 3e-3, last: 1e-5 },
            batch: if large { 5 } else { 10 },
            epochs: 0,
            steps: Some(if large { 20_000 } else { 30_000 }),
            stored_draws: if large { 16 } else { 64 },
            draws: if large { 4 } else { 16 },
            rate_per: RatePer::Step,
            initialization: Initialization::Placed,
            loss: LossScale::Relative,
        }
    }

    /// The paper's for the FNN (section V-C3): as [`paper`](Self::paper), with `0.001/(1 + 0.001t)` and
    /// batches of 100. It starts from Glorot's weights: with 200 inputs and 300 neurons the normal ones of the GNNs
    /// give outputs so large that every training diverges within ten steps.
    pub fn paper_fnn() -> Self {
        Self {
            rate: Schedule::Inverse { rate: 0.001, decay: 0.001 },
            batch: 100,
            initialization: Initialization::Glorot,
            ..Self::paper()
        }
    }

    /// Ours for the FNN: 25,000 steps, after which more gain less than 1 %.
    pub fn fast_fnn() -> Self {
        Self {
            update: Update::Adam { beta1: 0.0, beta2: 0.999 },
            rate: Schedule::Cosine { rate: 1e-3, last: 1e-5 },
            batch: 100,
            epochs: 0,
            steps: Some(25_000),
            stored_draws: 2,
            draws: 2,
            ..Self::fast(200)
        }
    }
}
