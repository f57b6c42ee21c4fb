//! Toy policies of figure 1. For a given `x_k`, the output of policy 1 approaches a limit as K grows, and the output of
//! policy 2 grows.

use serde::{Deserialize, Serialize};

use crate::math::Input;
use crate::math::Moments;
use crate::math::over_others;

/// Permutation-equivariant toy policy with one input per user. The paper plots two in its figure 1 without formulas.
/// These formulas are AnyK's own, for exponential inputs with mean `E(x) = 1`:
///
/// | | `y_k` | `f(x_k, K)` for K → ∞ |
/// | --- | --- | --- |
/// | policy 1 | `x_k / (1 + (1/K)·Σ_{j≠k} x_j)` | `x_k / (1 + E(x))`: no K |
/// | policy 2 | `x_k · ln(1 + Σ_{j≠k} x_j)` | `x_k · ln(1 + K·E(x))` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToyPolicy {
    /// Input divided by a mean: asymptotically size-invariant.
    One,
    /// Input times the logarithm of a sum: grows with K.
    Two,
}

impl ToyPolicy {
    /// The two policies, in the order of the figure.
    pub const ALL: [Self; 2] = [Self::One, Self::Two];

    /// Returns `y_0`, the output of the first user.
    pub fn output(self, x: &[f64]) -> f64 {
        let Some((own, others)) = x.split_first() else { return 0.0 };
        let sum: f64 = others.iter().sum();
        match self {
            Self::One => own / (1.0 + sum / x.len() as f64),
            Self::Two => own * (1.0 + sum).ln(),
        }
    }

    /// Returns the outputs of all users.
    pub fn outputs(self, x: &[f64]) -> Vec<f64> {
        let mut order = x.to_vec();
        let mut output = |user: usize| {
            order.swap(0, user);
            let y = self.output(&order);
            order.swap(0, user);
            y
        };
        (0..x.len()).map(&mut output).collect()
    }

    /// Returns the asymptotic form of `f(x_k, K)` for `E(x) = 1`.
    pub fn asymptotic(self, own: f64, size: usize) -> f64 {
        match self {
            Self::One => own / 2.0,
            Self::Two => own * (1.0 + size as f64).ln(),
        }
    }
}

/// Output of a policy for a given input at one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ToyPoint {
    /// Policy.
    pub policy: ToyPolicy,
    /// Given input `x_k`.
    pub own: f64,
    /// Number of users K.
    pub k: usize,
    /// Output over random draws of the other users.
    pub output: Moments,
    /// Asymptotic form of `f(x_k, K)`.
    pub asymptotic: f64,
}

/// Evaluates both policies for each given input at each size, with `draws` random draws of the other users.
pub fn toy_policies(owns: &[f64], sizes: &[usize], draws: u64, seed: u64) -> Vec<ToyPoint> {
    let mut points = Vec::new();
    for policy in ToyPolicy::ALL {
        for &own in owns {
            points.extend(sizes.iter().map(|&k| {
                let input = |rng: &mut dyn rand::Rng| Input::Exponential.sample(rng);
                let [output] =
                    over_others((k, own), (draws, seed), input, || |x: &[f64]| [policy.output(x)]);
                ToyPoint { policy, own, k, output, asymptotic: policy.asymptotic(own, k) }
            }));
        }
    }
    points
}
