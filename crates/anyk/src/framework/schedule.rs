//! How parameters move: the rule of a step, and its rate over the steps.

use serde::{Deserialize, Serialize};

/// How parameters move against their gradient.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// `x ← x − rate·scale·g`.
    Sgd {
        /// Factor on the loss.
        scale: f64,
    },
    /// Adam, with these decay rates.
    Adam {
        /// Decay of the mean of gradients.
        beta1: f64,
        /// Decay of the mean of their squares.
        beta2: f64,
    },
}

/// Learning rate over the steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// `rate / (1 + decay·t)`.
    Inverse {
        /// At the start.
        rate: f64,
        /// For each t: see [`RatePer`].
        decay: f64,
    },
    /// From `rate` down to `last` along a half cosine.
    Cosine {
        /// At the start.
        rate: f64,
        /// At the end.
        last: f64,
    },
}

/// What t counts in a learning rate such as `0.01/(1 + 0.01t)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RatePer {
    /// Steps.
    #[default]
    Step,
    /// Passes over the samples.
    Epoch,
}

impl RatePer {
    /// Steps for one t.
    pub(crate) fn steps(self, steps_per_epoch: u64) -> u64 {
        match self {
            Self::Step => 1,
            Self::Epoch => steps_per_epoch.max(1),
        }
    }
}

impl Schedule {
    /// The rate of a step.
    pub fn at(self, step: u64, steps: u64) -> f64 {
        match self {
            Self::Inverse { rate, decay } => rate / (1.0 + decay * step as f64),
            Self::Cosine { rate, last } => {
                let phase = std::f64::consts::PI * step as f64 / steps.max(1) as f64;
                last + (rate - last) * 0.5 * (1.0 + phase.cos())
            }
        }
    }
}

impl Update {
    /// Adam with its usual decay rates.
    pub const ADAM: Self = Self::Adam { beta1: 0.9, beta2: 0.999 };

    /// Decay rates of Adam's memory; 0 without one.
    pub(crate) fn betas(self) -> (f64, f64) {
        match self {
            Self::Adam { beta1, beta2 } => (beta1, beta2),
            Self::Sgd { .. } => (0.0, 0.0),
        }
    }
}
