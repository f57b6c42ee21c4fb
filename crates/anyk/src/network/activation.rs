//! Size-invariant activation functions.

use serde::{Deserialize, Serialize};

/// Activation function `σ` that acts on each number separately (the paper's SI-AF).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// Identity function, `x`.
    Identity,
    /// Leaky ReLU: `x` if positive, otherwise `0.01 x` (paper, table II).
    LeakyRelu,
    /// Rectified linear unit, `max(x, 0)`.
    Relu,
    /// Hyperbolic tangent.
    Tanh,
    /// Logistic function, `1 / (1 + e^(−x))`.
    Sigmoid,
    /// Softplus, `ln(1 + e^x)`.
    Softplus,
}

impl Activation {
    /// All activations, for tests and sweeps.
    pub const ALL: [Self; 6] =
        [Self::Identity, Self::LeakyRelu, Self::Relu, Self::Tanh, Self::Sigmoid, Self::Softplus];

    /// Returns `σ(x)`.
    pub fn value(self, x: f64) -> f64 {
        match self {
            Self::Identity => x,
            Self::LeakyRelu => x.max(0.01 * x),
            Self::Relu => x.max(0.0),
            Self::Tanh => x.tanh(),
            Self::Sigmoid => sigmoid(x),
            // Avoids overflow for large x and cancellation for small x.
            Self::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p(),
        }
    }

    /// Returns `σ'(x)`.
    pub fn slope(self, x: f64) -> f64 {
        match self {
            Self::Identity => 1.0,
            Self::LeakyRelu => {
                if x > 0.0 {
                    1.0
                } else {
                    0.01
                }
            }
            Self::Relu => {
                if x > 0.0 {
                    1.0
                } else {
                    0.0
                }
            }
            Self::Tanh => 1.0 - x.tanh().powi(2),
            Self::Sigmoid => sigmoid(x) * sigmoid(-x),
            Self::Softplus => sigmoid(x),
        }
    }
}

fn sigmoid(x: f64) -> f64 {
    // e^(−|x|) never overflows.
    let small = (-x.abs()).exp();
    if x >= 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_match_finite_differences_and_extremes_are_finite() {
        for activation in Activation::ALL {
            for x in [-30.0, -3.0, -0.4, 0.3, 1.7, 25.0] {
                let h = 1e-6;
                let numeric = (activation.value(x + h) - activation.value(x - h)) / (2.0 * h);
                assert!((activation.slope(x) - numeric).abs() < 1e-8, "{activation:?} at {x}");
            }
            for x in [-1e300, -800.0, 800.0, 1e300] {
                assert!(activation.value(x).is_finite() && activation.slope(x).is_finite());
            }
        }
    }
}
