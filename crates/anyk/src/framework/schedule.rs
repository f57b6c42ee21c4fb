//! Update rules of parameters and learning-rate schedules.

use serde::{Deserialize, Serialize};

/// Update rule of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// Gradient descent, `x ← x − rate·scale·g`.
    Sgd {
        /// Factor on the gradient of the loss.
        scale: f64,
    },
    /// Adam.
    Adam {
        /// Decay rate of the mean of gradients.
        beta1: f64,
        /// Decay rate of the mean of squared gradients.
        beta2: f64,
    },
}

/// Learning rate as a function of the step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// `rate / (1 + decay·t)`.
    Inverse {
        /// Initial learning rate.
        rate: f64,
        /// Decay per t; see [`RatePer`].
        decay: f64,
    },
    /// Half cosine from `rate` down to `last`.
    Cosine {
        /// Initial learning rate.
        rate: f64,
        /// Final learning rate.
        last: f64,
    },
}

/// Unit of the variable t in a schedule such as `0.01/(1 + 0.01t)`.
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
    /// Returns the number of steps per unit of t.
    pub(crate) fn steps(self, steps_per_epoch: u64) -> u64 {
        match self {
            Self::Step => 1,
            Self::Epoch => steps_per_epoch.max(1),
        }
    }
}

impl Schedule {
    /// Returns the learning rate of a step.
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

    /// Returns the decay rates of Adam's moments, or 0 for gradient descent.
    pub(crate) fn betas(self) -> (f64, f64) {
        match self {
            Self::Adam { beta1, beta2 } => (beta1, beta2),
            Self::Sgd { .. } => (0.0, 0.0),
        }
    }
}
