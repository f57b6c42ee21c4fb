//! Output layers, which determine the size law of a network.

use serde::{Deserialize, Serialize};

use crate::network::Activation;

/// Output layer: a function of the last layer's pre-activations `o_k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Output {
    /// Activation of each output, `y_k = σ(o_k)`, which does not depend on K.
    Elementwise(Activation),
    /// Softmax, `y_k = e^{o_k} / Σ_j e^{o_j}`: the outputs sum to 1 and scale as 1/K (paper, eq. (P-case2-equi)).
    Softmax,
    /// Normalization by the sum, `y_k = s_k / Σ_j s_j` with `s = softplus(o)` (paper, footnote 2).
    SumNormalisation,
    /// Product `y_k = softplus(o_k)·f_k` with a pre-trained outer function `f_k = f(x_k, K)` that has the size law
    /// (paper, section IV-B1).
    Pretrained,
}

impl Output {
    /// One output layer of each kind, for tests and sweeps.
    pub const ALL: [Self; 4] = [
        Self::Elementwise(Activation::Softplus),
        Self::Softmax,
        Self::SumNormalisation,
        Self::Pretrained,
    ];

    /// Replaces pre-activations by outputs. `outer` is `f_k`, used only by [`Output::Pretrained`].
    pub(crate) fn forward(self, values: &mut [f64], outer: &[f64]) {
        match self {
            Self::Elementwise(activation) => {
                for value in values {
                    *value = activation.value(*value);
                }
            }
            Self::Softmax => softmax(values),
            Self::SumNormalisation => {
                // s_k/Σs is the softmax of ln s, which avoids 0/0 if every softplus underflows.
                for value in &mut *values {
                    *value = ln_softplus(*value);
                }
                softmax(values);
            }
            Self::Pretrained => {
                for (value, outer) in values.iter_mut().zip(outer) {
                    *value = Activation::Softplus.value(*value) * outer;
                }
            }
        }
    }

    /// Replaces the gradient of the outputs by that of the pre-activations.
    pub(crate) fn backward(
        self,
        pre_activations: &[f64],
        outputs: &[f64],
        outer: &[f64],
        gradient: &mut [f64],
    ) {
        let weighted = |gradient: &[f64]| -> f64 {
            gradient.iter().zip(outputs).map(|(gradient, output)| gradient * output).sum()
        };
        match self {
            Self::Elementwise(activation) => {
                for (gradient, &pre) in gradient.iter_mut().zip(pre_activations) {
                    *gradient *= activation.slope(pre);
                }
            }
            Self::Softmax => {
                let mean = weighted(gradient);
                for (gradient, output) in gradient.iter_mut().zip(outputs) {
                    *gradient = output * (*gradient - mean);
                }
            }
            Self::SumNormalisation => {
                let mean = weighted(gradient);
                let rows = gradient.iter_mut().zip(pre_activations).zip(outputs);
                for ((gradient, &pre), output) in rows {
                    *gradient = output * (*gradient - mean) * ln_softplus_slope(pre);
                }
            }
            Self::Pretrained => {
                let rows = gradient.iter_mut().zip(pre_activations).zip(outer);
                for ((gradient, &pre), outer) in rows {
                    *gradient *= Activation::Softplus.slope(pre) * outer;
                }
            }
        }
    }
}

fn softmax(values: &mut [f64]) {
    let most = values.iter().fold(f64::NEG_INFINITY, |most, &value| most.max(value));
    let mut sum = 0.0;
    for value in &mut *values {
        *value = (*value - most).exp();
        sum += *value;
    }
    for value in values {
        *value /= sum;
    }
}

/// Argument below which `softplus(x) = e^x` up to rounding.
const FAR_BELOW: f64 = -40.0;

/// Returns `ln softplus(x)` without underflow.
fn ln_softplus(x: f64) -> f64 {
    if x < FAR_BELOW { x } else { Activation::Softplus.value(x).ln() }
}

/// Returns the derivative of `ln softplus(x)`.
fn ln_softplus_slope(x: f64) -> f64 {
    if x < FAR_BELOW { 1.0 } else { Activation::Softplus.slope(x) / Activation::Softplus.value(x) }
}
