//! Figure 1: two toy policies, one whose output for a given `x_k` settles as K grows and one whose
//! output grows.

use serde::{Deserialize, Serialize};

use crate::math::Input;
use crate::math::Moments;
use crate::math::over_others;

/// A permutation-equivariant policy of one input for each user. The paper draws two in its figure 1 and
/// gives no formula; these are ours, for exponential inputs with mean `E(x) = 1`:
///
/// | | `y_k` | `f(x_k, K)` for K → ∞ |
/// | --- | --- | --- |
/// | policy 1 | `x_k / (1 + (1/K)·Σ_{j≠k} x_j)` | `x_k / (1 + E(x))`: no K |
/// | policy 2 | `x_k · ln(1 + Σ_{j≠k} x_j)` | `x_k · ln(1 + K·E(x))` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToyPolicy {
    /// A share of the mean: asymptotically size-invariant.
    One,
    /// A logarithm of the sum: grows with K.
    Two,
}

impl ToyPolicy {
    /// Both.
    pub const ALL: [Self; 2] = [Self::One, Self::Two];

    /// `y_0`, the output of the first user.
    pub fn output(self, x: &[f64]) -> f64 {
        let Some((own, others)) = x.split_first() else { return 0.0 };
        let sum: f64 = others.iter().sum();
        match self {
            Self::One => own / (1.0 + sum / x.len() as f64),
            Self::Two => own * (1.0 + sum).ln(),
        }
    }

    /// The outputs of all users.
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

    /// `f(x_k, K)`, with `E(x) = 1`.
    pub fn asymptotic(self, own: f64, size: usize) -> f64 {
        match self {
            Self::One => own / 2.0,
            Self::Two => own * (1.0 + size as f64).ln(),
        }
    }
}

/// A policy's output for a given input at one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ToyPoint {
    /// The policy.
    pub policy: ToyPolicy,
    /// The given input `x_k`.
    pub own: f64,
    /// Number of users K.
    pub k: usize,
    /// Output over the draws of the others.
    pub output: Moments,
    /// Its asymptotic form `f(x_k, K)`.
    pub asymptotic: f64,
}

/// Both policies for each given input at each size, the others drawn `draws` times.
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
