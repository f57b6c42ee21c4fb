//! Proposition 1: does the output of a permutation-equivariant policy become a function of only `x_k` and K?

use rand::Rng;
use serde::{Deserialize, Serialize};

use anyk::channel::Fading;
use anyk::diagnosis::ToyPolicy;
use anyk::math::Input;
use anyk::math::over_others;
use anyk::math::{Exponent, Moments};

/// Permutation-equivariant policy with the distribution of its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EquivariantPolicy {
    /// Closed-form power of problem (P6), `(1/g_k)/Σ_j(1/g_j)`, with gains over this many antennas.
    Power {
        /// Number of antennas, `N_t`; `E(1/g) = 1/(N_t − 1)`, infinite for one antenna.
        antennas: u32,
    },
    /// Policy of figure 1 with exponential inputs.
    Toy(ToyPolicy),
    /// `x_k + max_{j≠k} x_j` with exponential inputs.
    Largest,
    /// `x_k / (1 + (Σ_{j≠k} (x_j − E(x)))²/K)` with exponential inputs. It tends to `x_k/(1 + Z²)` with `Z` standard
    /// normal, for every K.
    Fluctuation,
}

impl EquivariantPolicy {
    /// Policies that are measured.
    pub const ALL: [Self; 7] = [
        Self::Power { antennas: 8 },
        Self::Power { antennas: 2 },
        Self::Power { antennas: 1 },
        Self::Toy(ToyPolicy::One),
        Self::Toy(ToyPolicy::Two),
        Self::Largest,
        Self::Fluctuation,
    ];

    /// Label in tables.
    pub fn label(self) -> String {
        match self {
            Self::Power { antennas: 1 } => "P_k of (P6), Rayleigh".to_owned(),
            Self::Power { antennas } => format!("P_k of (P6), g ~ Gamma({antennas}, 1)"),
            Self::Toy(ToyPolicy::One) => "policy 1 of fig. 1".to_owned(),
            Self::Toy(ToyPolicy::Two) => "policy 2 of fig. 1".to_owned(),
            Self::Largest => "x_k + max of the others".to_owned(),
            Self::Fluctuation => "x_k/(1 + (Σ(x_j − E(x)))²/K)".to_owned(),
        }
    }

    /// Given input of the first user: the mean of the distribution.
    fn own(self) -> f64 {
        match self {
            Self::Power { antennas } => f64::from(antennas),
            Self::Toy(_) | Self::Largest | Self::Fluctuation => 1.0,
        }
    }

    fn input(self, rng: &mut dyn Rng) -> f64 {
        match self {
            // A gain of exactly 0 has no reciprocal.
            Self::Power { antennas } => Fading { antennas }.sample(rng).max(f64::MIN_POSITIVE),
            Self::Toy(_) | Self::Largest | Self::Fluctuation => Input::Exponential.sample(rng),
        }
    }

    /// Returns `y_0`, the output of the first user.
    fn output(self, x: &[f64]) -> f64 {
        let Some((own, others)) = x.split_first() else { return 0.0 };
        match self {
            Self::Power { .. } => own.recip() / x.iter().map(|gain| gain.recip()).sum::<f64>(),
            Self::Toy(policy) => policy.output(x),
            Self::Largest => own + others.iter().copied().fold(0.0, f64::max),
            Self::Fluctuation => {
                let excess: f64 = others.iter().map(|x| x - 1.0).sum();
                own / (1.0 + excess * excess / x.len() as f64)
            }
        }
    }
}

/// Decay of the dependence of a policy's output on the other users, for a given input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decoupling {
    /// Policy that was measured.
    pub policy: EquivariantPolicy,
    /// Sizes, and outputs over the draws of the other users.
    pub points: Vec<(usize, Moments)>,
    /// Exponent in K of the relative spread, the deviation over the mean.
    pub relative_exponent: Option<Exponent>,
    /// Exponent in K of the deviation.
    pub exponent: Option<Exponent>,
}

/// Measures a policy at each size with `draws` draws of the other users.
pub fn decoupling(policy: EquivariantPolicy, sizes: &[usize], draws: u64, seed: u64) -> Decoupling {
    let points = sizes.iter().map(|&k| {
        let input = |rng: &mut dyn Rng| policy.input(rng);
        let output = || |x: &[f64]| [policy.output(x)];
        let [moments] = over_others((k, policy.own()), (draws, seed), input, output);
        (k, moments)
    });
    let points: Vec<(usize, Moments)> = points.collect();
    let exponent = |value: fn(&Moments) -> f64| {
        Exponent::fit(&points.iter().map(|(k, m)| (*k as f64, value(m))).collect::<Vec<_>>())
    };
    let relative_exponent = exponent(|moments| moments.deviation() / moments.mean.abs());
    let exponent = exponent(Moments::deviation);
    Decoupling { policy, points, relative_exponent, exponent }
}
