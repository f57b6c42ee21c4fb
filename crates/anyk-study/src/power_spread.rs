//! Figure 2(c): closed-form power `P_k* = P_max·(1/g_k)/Σ_j(1/g_j)` of a user with a given gain, over the gains of the
//! other users.

use serde::{Deserialize, Serialize};

use anyk::channel::{Fading, FadingQuadrature};
use anyk::math::Moments;
use anyk::math::in_blocks;
use anyk::math::realization_rng;

/// Open interval of the given gain (paper: `g'_k = 1`, `δ = 0.1`).
pub const WINDOW: (f64, f64) = (0.9, 1.1);
/// Number of points of the midpoint rule over the window. Its error is below 1e-4 of the deviation.
const WINDOW_POINTS: u32 = 20;

/// Power of users in the window, as a share of `P_max`, at one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PowerSpread {
    /// Number of users K.
    pub k: usize,
    /// Power of all users in the window in all realizations.
    pub power: Moments,
}

/// Draws `realizations` sets of K Rayleigh gains for each size, and takes every user whose gain is in the window.
/// `progress` is called after each size.
pub fn power_spread(
    sizes: &[usize],
    realizations: u64,
    seed: u64,
    progress: impl Fn(),
) -> Vec<PowerSpread> {
    let rayleigh = Fading { antennas: 1 };
    sizes
        .iter()
        .map(|&k| {
            let blocks = in_blocks(realizations, |block, realizations| {
                let mut rng = realization_rng(seed, k, block);
                let mut moments = Moments::default();
                let mut gains = vec![0.0; k];
                for _ in realizations {
                    // A gain of exactly 0 has no reciprocal.
                    gains.fill_with(|| rayleigh.sample(&mut rng).max(f64::MIN_POSITIVE));
                    let total: f64 = gains.iter().map(|gain| gain.recip()).sum();
                    for gain in gains.iter().filter(|&&gain| WINDOW.0 < gain && gain < WINDOW.1) {
                        moments.push(gain.recip() / total);
                    }
                }
                moments
            });
            progress();
            PowerSpread { k, power: blocks.into_iter().fold(Moments::default(), Moments::merge) }
        })
        .collect()
}

/// Mean and standard deviation of that power by integration, at any size up to about 1e12.
///
/// With `a = 1/g_k`, `S = Σ_{j≠k} 1/g_j` and `1/(a+S)^n = ∫ t^(n−1) e^(−t(a+S)) dt / Γ(n)`,
///
/// ```text
/// E[P_k/P_max]     = ∫ a  · e^(−ta) · L(t)^(K−1) dt
/// E[(P_k/P_max)²]  = ∫ a²·t·e^(−ta) · L(t)^(K−1) dt,      L(t) = E[e^(−t/g)]
/// ```
///
/// For Rayleigh fading `1 − L(t) ≈ t·ln(1/t)`, because `E(1/g)` is infinite. Therefore `K·g_k·P_k` decreases as
/// `1/ln K`, and its relative deviation as `1/√ln K`.
#[derive(Debug, Clone)]
pub struct ExactPower {
    /// Pairs of `ln t` and `ln L(t)`, evenly spaced in `ln t`.
    transform: Vec<(f64, f64)>,
}

/// Range and number of steps of `ln t`. The integrand decreases faster than exponentially above the range and like `t`
/// below it. It is analytic in a strip around the axis, so the trapezoidal rule is exact to 1e-12.
const LN_T: (f64, f64) = (-70.0, 8.0);
const LN_T_STEPS: u32 = 1560;

impl ExactPower {
    /// Builds the transform for Rayleigh fading over this many antennas: `g ~ Gamma(N_t, 1)`.
    pub fn new(antennas: u32) -> Self {
        let fading = FadingQuadrature::log_trapezoid(antennas, 0.0);
        let point = |index: u32| {
            let ln_t = LN_T.0 + f64::from(index) * step();
            // Computes 1 − L without cancellation, which matters for large K, where L is close to 1.
            let rest = fading.expectation(|gain| -(-ln_t.exp() / gain).exp_m1());
            let ln_l = if rest < 0.5 {
                (-rest).ln_1p()
            } else {
                let transform = fading.expectation(|gain| (-ln_t.exp() / gain).exp());
                transform.max(f64::MIN_POSITIVE).ln()
            };
            (ln_t, ln_l)
        };
        Self { transform: (0..=LN_T_STEPS).map(point).collect() }
    }

    /// Returns the mean and standard deviation of `P_k/P_max` for a user with this gain among `size` users.
    pub fn given(&self, size: f64, gain: f64) -> (f64, f64) {
        let [mean, square] = self.raw_moments(size, gain);
        (mean, (square - mean * mean).max(0.0).sqrt())
    }

    /// Returns the mean and standard deviation for Rayleigh gains in the [`WINDOW`], whose density is `e^(−g)`.
    pub fn in_window(&self, size: f64) -> (f64, f64) {
        let width = (WINDOW.1 - WINDOW.0) / f64::from(WINDOW_POINTS);
        let (mut mean, mut square, mut weights) = (0.0, 0.0, 0.0);
        for index in 0..WINDOW_POINTS {
            let gain = WINDOW.0 + (f64::from(index) + 0.5) * width;
            let weight = (-gain).exp();
            let moments = self.raw_moments(size, gain);
            mean += weight * moments[0];
            square += weight * moments[1];
            weights += weight;
        }
        (mean, square) = (mean / weights, square / weights);
        (mean, (square - mean * mean).max(0.0).sqrt())
    }

    fn raw_moments(&self, size: f64, gain: f64) -> [f64; 2] {
        let a = gain.recip();
        let mut sums = [0.0; 2];
        for &(ln_t, ln_l) in &self.transform {
            let at = a * ln_t.exp();
            // dt = t d ln t.
            let value = at * ((size - 1.0) * ln_l - at).exp();
            sums[0] += value;
            sums[1] += at * value;
        }
        sums.map(|sum| sum * step())
    }
}

fn step() -> f64 {
    (LN_T.1 - LN_T.0) / f64::from(LN_T_STEPS)
}
