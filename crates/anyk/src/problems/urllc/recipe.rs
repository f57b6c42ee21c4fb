//! Training recipe: optimizer, schedule and batch.

use serde::{Deserialize, Serialize};

use crate::framework::{Initialization, RatePer, Schedule, Update};

/// Units of the loss of Algorithm 1. The paper does not state them, and plain gradient steps depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossScale {
    /// Relative units: bandwidths divided by their initial mean, the constraint divided by its target
    /// `e^(−θS^E)`.
    #[default]
    Relative,
    /// Units of the paper's formulas: bandwidths in MHz, `e^(−θs) − e^(−θS^E)`.
    Raw,
}

/// Optimizer, schedule and batch of Algorithm 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Update rule of the parameters.
    pub update: Update,
    /// Learning rate as a function of the step.
    pub rate: Schedule,
    /// Number of samples in a step.
    pub batch: usize,
    /// Number of passes over the samples, unless `steps` is set.
    pub epochs: u64,
    /// Number of steps, independent of the number of samples.
    pub steps: Option<u64>,
    /// Number of fading states stored with each large-scale sample.
    pub stored_draws: usize,
    /// Number of fading states used in a step.
    pub draws: usize,
    /// Unit of t in the learning rate: step or epoch.
    #[serde(default)]
    pub rate_per: RatePer,
    /// Initialization of the parameters.
    #[serde(default)]
    pub initialization: Initialization,
    /// Units of the loss.
    #[serde(default)]
    pub loss: LossScale,
}

impl Recipe {
    /// Returns the paper's recipe (table II): plain gradient steps, `0.01/(1 + 0.01t)`, batches of 10, 5000
    /// epochs, one fading state for each sample, and the loss as in its formulas.
    ///
    /// The paper leaves two choices open: in this recipe, bandwidths are in MHz, and networks start from small normal
    /// weights. The paper says that t counts iterations. Here it counts epochs, which gives bandwidths closer to the
    /// paper's (`anyk reproduce ablation`).
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

    /// Returns AnyK's fast recipe: 30,000 steps of Adam without the first moment, which would make the game between
    /// descending bandwidths and ascending multipliers oscillate. Each step uses 16 of 64 stored fading states: the
    /// effect of the *other* users, which the networks must learn, is a hundredth of the noise of a single state.
    ///
    /// `largest` is the largest training size. Above 50 users, the recipe has 20,000 steps, batches of 5 cells, and 4
    /// of 16 stored fading states. A cell of 200 users contributes as many users to a step as twenty cells of 10.
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

    /// Returns the paper's recipe for the FNN (section V-C3): as [`paper`](Self::paper), but with `0.001/(1 +
    /// 0.001t)`, batches of 100 and Glorot's initialization. With 200 inputs and 300 neurons, the GNNs' normal
    /// weights give outputs so large that every training run diverges within ten steps.
    pub fn paper_fnn() -> Self {
        Self {
            rate: Schedule::Inverse { rate: 0.001, decay: 0.001 },
            batch: 100,
            initialization: Initialization::Glorot,
            ..Self::paper()
        }
    }

    /// Returns AnyK's fast recipe for the FNN: 25,000 steps; further steps gain less than 1 %.
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
