//! Small-scale fading: the random part of the gain, and expectations over it.

use rand::Rng;
use rand_distr::{Distribution, Gamma};

use crate::channel::FadingLaw;

/// Rayleigh fading over `N_t` antennas: `g = ‖h‖²`, where `h` is a vector of `N_t` standard complex Gaussians. So
/// `g ~ Gamma(N_t, 1)` with `E[g] = N_t` (paper, section V-A).
///
/// ```
/// use anyk::channel::Fading;
/// use rand::SeedableRng;
/// let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(7);
/// let fading = Fading { antennas: 8 };
/// let mean = (0..10_000).map(|_| fading.sample(&mut rng)).sum::<f64>() / 1e4;
/// assert!((mean - 8.0).abs() < 0.15);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fading {
    /// Number of antennas at the base station, `N_t ≥ 1`.
    pub antennas: u32,
}

impl Fading {
    /// Draws a small-scale gain `g` (no unit).
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        // `Gamma::new` fails only for shapes that are not positive; the config checks N_t ≥ 1.
        Gamma::new(f64::from(self.antennas.max(1)), 1.0).map_or(f64::NAN, |gamma| gamma.sample(rng))
    }
}

/// Nodes `g_i` and weights `w_i` (with sum 1) such that `E_g[f(g)] ≈ Σ w_i f(g_i)`: for `g ~ Gamma(N_t, 1)`, for any
/// [`FadingLaw`], or for the empirical distribution of
/// [`FadingSamples`](crate::channel::FadingSamples).
///
/// ```
/// use anyk::channel::FadingQuadrature;
/// let quadrature = FadingQuadrature::log_trapezoid(8, 0.0);
/// let second_moment = quadrature.expectation(|g| g * g);
/// assert!((second_moment / 72.0 - 1.0).abs() < 1e-12); // N_t (N_t + 1)
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct FadingQuadrature {
    nodes: Vec<f64>,
    weights: Vec<f64>,
    source: Option<FadingSource>,
}

/// Distribution behind a rule, from which other rules for it can be built.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FadingSource {
    pub(crate) law: FadingLaw,
    pub(crate) antennas: u32,
    pub(crate) depth: f64,
}

impl FadingQuadrature {
    /// Builds the trapezoidal rule in `t = ln g`: `E[f] = ∫ f(e^t) exp(N_t t − e^t) / Γ(N_t) dt`.
    ///
    /// The integrand is analytic in a strip around the real axis and vanishes at both ends. So the rule converges
    /// geometrically at any signal-to-noise ratio and number of antennas: to 1e-15 with 60 points at `N_t = 8`.
    ///
    /// Tails of the density below `e^(−46 − depth)` are cut off. So expectations as small as `e^(−depth)`, to which
    /// only deep fades contribute, keep the full accuracy.
    pub fn log_trapezoid(antennas: u32, depth: f64) -> Self {
        FadingLaw::Rayleigh.quadrature(antennas, depth)
    }

    /// Builds the trapezoidal rule with the given step for a density over `t = ln g`, given by its logarithm. All
    /// peaks of the density must be between the two centres. Tails below `e^(−46 − depth)` are cut off.
    pub(crate) fn of_ln_density(
        source: FadingSource,
        centres: (f64, f64),
        step: f64,
        ln_density: &dyn Fn(f64) -> f64,
    ) -> Self {
        let (start, steps) = support(centres, step, source.depth, ln_density);
        let (nodes, weights): (Vec<f64>, Vec<f64>) = (0..=steps)
            .map(|i| {
                let t = start + i as f64 * step;
                (t.exp(), ln_density(t).exp())
            })
            .unzip();
        Self { source: Some(source), ..Self::normalised(nodes, weights) }
    }

    /// Builds a rule from ascending nodes, with the weights scaled to the sum 1.
    pub(super) fn normalised(nodes: Vec<f64>, mut weights: Vec<f64>) -> Self {
        let sum: f64 = weights.iter().sum();
        for weight in &mut weights {
            *weight /= sum;
        }
        Self { nodes, weights, source: None }
    }

    /// Returns the nodes in ascending order.
    pub fn nodes(&self) -> &[f64] {
        &self.nodes
    }

    /// Returns the weights, in the order of the nodes.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Returns the distribution behind the rule; `None` for samples.
    pub(crate) fn source(&self) -> Option<FadingSource> {
        self.source
    }

    /// Returns `E_g[f(g)]`.
    pub fn expectation(&self, f: impl Fn(f64) -> f64) -> f64 {
        self.nodes.iter().zip(&self.weights).map(|(&g, &w)| w * f(g)).sum()
    }
}

/// Returns the smallest `t = ln g` of a rule, and the number of its steps: tails below `e^(−46 − depth)` are cut off.
pub(super) fn support(
    (lowest, highest): (f64, f64),
    step: f64,
    depth: f64,
    ln_density: &dyn Fn(f64) -> f64,
) -> (f64, usize) {
    // e^(−46) = 1e-20 is below the resolution of f64.
    let cut = -46.0 - depth.clamp(0.0, 600.0);
    let count = |from: f64, step: f64| {
        (1..).take_while(|&i| ln_density(from + f64::from(i) * step) > cut).count()
    };
    let below = count(lowest, -step);
    let start = lowest - below as f64 * step;
    let last = highest + count(highest, step) as f64 * step;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let steps = ((last - start) / step).round() as usize;
    (start, steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn moments_are_those_of_the_gamma_law() {
        for antennas in [1, 2, 3, 8, 16, 64, 256] {
            let quadrature = FadingQuadrature::log_trapezoid(antennas, 20.0);
            let shape = f64::from(antennas);
            assert_relative_eq!(quadrature.expectation(|g| g), shape, max_relative = 1e-13);
            assert_relative_eq!(
                quadrature.expectation(|g| g * g),
                shape * (shape + 1.0),
                max_relative = 1e-13
            );
            // Laplace transform E[e^(−s g)] = (1 + s)^(−N_t).
            let expected = (1.0f64 + 0.3).powf(-shape);
            assert_relative_eq!(
                quadrature.expectation(|g| (-0.3 * g).exp()),
                expected,
                max_relative = 1e-11
            );
        }
    }

    /// Compares `E[(1 + x g)^(−c)]` with 30-digit adaptive quadrature (mpmath 1.3, mp.quad in ln g).
    #[test]
    fn branch_point_integrand_to_machine_precision() {
        let golden = [
            (1, 150.0, 0.2, GOLDEN[0]),
            (2, 150_000.0, 0.124, GOLDEN[1]),
            (8, 3.0, 0.65, GOLDEN[2]),
            (8, 150_000.0, 0.124, GOLDEN[3]),
            (64, 0.2, 3.0, GOLDEN[4]),
        ];
        for (antennas, x, c, expected) in golden {
            let quadrature = FadingQuadrature::log_trapezoid(antennas, 20.0);
            let value = quadrature.expectation(|g| (1.0 + x * g).powf(-c));
            assert_relative_eq!(value, expected, max_relative = 4e-15);
        }
    }

    const GOLDEN: [f64; 5] = [
        0.421_880_621_875_921_6,
        0.217_574_301_598_262_78,
        0.131_557_955_400_386_92,
        0.177_854_253_255_488_85,
        0.000_412_877_097_559_624,
    ];
}
