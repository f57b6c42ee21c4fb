//! Learned response to the price of power: a function of one variable that gives the optimal powers for any number of
//! users.
//!
//! In (P1) the power of every user solves `−α_k b'(α_k P_k) = ν` (the KKT conditions). So the relative excess over
//! the smallest power, `e = u/u_min − 1`, depends on the price of power `ν` and the user's gain only through one
//! number:
//!
//! ```text
//! ln e_k = ψ(t_k),     t_k = ln ν + ln(P_k^min / b_fold),     P_k^min = u_min/α_k.
//! ```
//!
//! `K` does not appear. `t` is the price in units of `b_fold/u_min` at the fold, in which the classes are almost
//! alike. The remaining dependence on the class is an input of the network, the context.

use serde::{Deserialize, Serialize};

use crate::network::{Activation, Dense, DenseTape};

/// Number of kinks of the response.
const UNITS: usize = 8;
/// Number of network outputs per kink; two more outputs do not belong to a kink.
const OF_UNIT: usize = 3;
const OUTPUTS: usize = 2 + OF_UNIT * UNITS;
/// Range of `t` over which the kinks are spread initially.
const PRICES: (f64, f64) = (-18.0, 3.0);
/// Number of values that describe a class.
pub const CONTEXT: usize = 4;
/// Scale of `t` relative to the network's output, chosen so that a step of the optimizer moves kinks and heights
/// about equally.
const SPREAD: f64 = 4.0;

/// Function `ψ` for any class:
///
/// ```text
/// ψ(t) = c − s·t − Σ_j h_j·√((t − m_j)² + d_j²),     s = e^σ + Σ_j |h_j|
/// ```
///
/// A fully connected network computes `c, σ, h_j, m_j, ln d_j` from the context. `ψ` decreases strictly by
/// construction and is asymptotically linear on both sides, like the true response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceResponse {
    /// Number of hidden neurons of the network.
    pub hidden: usize,
}

/// Mean and deviation for standardizing the context of a class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextScaling {
    /// Means over the training classes.
    pub mean: [f64; CONTEXT],
    /// Standard deviations; 0 for a value that is equal in all classes, from which nothing can be learned.
    pub deviation: [f64; CONTEXT],
}

impl ContextScaling {
    /// Computes the scaling from the contexts of the training classes.
    pub fn of(classes: impl Iterator<Item = [f64; CONTEXT]> + Clone) -> Self {
        let count = classes.clone().count().max(1) as f64;
        let (mut mean, mut deviation) = ([0.0; CONTEXT], [0.0; CONTEXT]);
        for context in classes.clone() {
            for (mean, value) in mean.iter_mut().zip(context) {
                *mean += value / count;
            }
        }
        for context in classes {
            for (i, value) in context.into_iter().enumerate() {
                deviation[i] += (value - mean[i]).powi(2) / count;
            }
        }
        let deviation = deviation.map(|square| if square > 1e-12 { square.sqrt() } else { 0.0 });
        Self { mean, deviation }
    }

    /// Returns whether all standardized contexts are finite.
    pub fn is_sound(&self) -> bool {
        self.mean.iter().all(|mean| mean.is_finite())
            && self.deviation.iter().all(|&deviation| deviation >= 0.0 && deviation.is_finite())
    }

    /// Returns the standardized context of a class, clamped to ten deviations. A class far from all training classes
    /// thus gets a finite response.
    pub fn standardised(&self, context: [f64; CONTEXT]) -> [f64; CONTEXT] {
        let mut values = context;
        for (i, value) in values.iter_mut().enumerate() {
            *value = if self.deviation[i] > 1e-7 {
                ((*value - self.mean[i]) / self.deviation[i]).clamp(-10.0, 10.0)
            } else {
                0.0
            };
        }
        values
    }
}

impl PriceResponse {
    fn network(&self) -> Dense {
        let widths = [CONTEXT, self.hidden, OUTPUTS];
        Dense::new(&widths, Activation::Tanh, Activation::Identity)
    }

    /// Returns the names and shapes of the parts of the parameters, in their order.
    pub fn layout(&self) -> Vec<(String, Vec<usize>)> {
        self.network().layout()
    }

    /// Returns the number of parameters.
    pub fn parameter_count(&self) -> usize {
        self.network().parameter_count()
    }

    /// Draws initial parameters. The response is nearly linear and typical of all classes at twice the smallest
    /// power.
    pub fn initialize(&self, normal: &mut impl FnMut() -> f64) -> Vec<f64> {
        let mut parameters = Vec::with_capacity(self.parameter_count());
        let spread = 1.0 / (CONTEXT as f64).sqrt();
        parameters.extend((0..CONTEXT * self.hidden).map(|_| spread * normal()));
        parameters.extend(std::iter::repeat_n(0.0, self.hidden));
        let small = 0.1 / (self.hidden as f64).sqrt();
        parameters.extend((0..self.hidden * OUTPUTS).map(|_| small * normal()));
        // c = −2 and a slope of −0.7, to which the kinks add.
        parameters.extend(ClassResponse::initialize((-2.0, -0.35), normal));
        parameters
    }

    /// Returns the responses of classes, given their standardized contexts, concatenated.
    pub fn responses(
        &self,
        parameters: &[f64],
        contexts: &[f64],
        tape: &mut DenseTape<f64>,
    ) -> Vec<ClassResponse> {
        let outputs = self.network().forward(parameters, contexts, tape);
        outputs.chunks_exact(OUTPUTS).map(ClassResponse::new).collect()
    }

    /// Adds the derivative with respect to the parameters to `gradient`, given the accumulated derivatives of each
    /// class.
    pub fn backward(
        &self,
        parameters: &[f64],
        tape: &mut DenseTape<f64>,
        of_outputs: &[ResponseGradient],
        gradient: &mut [f64],
    ) {
        let upstream: Vec<f64> = of_outputs.iter().flat_map(|class| class.0).collect();
        self.network().backward(parameters, tape, &upstream, gradient);
    }
}

/// Function `ψ` of one class.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassResponse {
    level: f64,
    least_slope: f64,
    slope: f64,
    height: [f64; UNITS],
    place: [f64; UNITS],
    square_width: [f64; UNITS],
}

/// Derivative of a loss with respect to the network's outputs for one class.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponseGradient([f64; OUTPUTS]);

impl Default for ResponseGradient {
    fn default() -> Self {
        Self([0.0; OUTPUTS])
    }
}

impl ResponseGradient {
    /// Returns the derivatives, in the order of the network's outputs.
    pub(crate) fn values(&self) -> &[f64] {
        &self.0
    }
}

impl ClassResponse {
    /// Draws initial outputs: a level, the logarithm of a slope, and very small kinks spread over all prices.
    pub(crate) fn initialize(
        (level, ln_slope): (f64, f64),
        normal: &mut impl FnMut() -> f64,
    ) -> [f64; OUTPUTS] {
        let mut outputs = [0.0; OUTPUTS];
        (outputs[0], outputs[1]) = (level, ln_slope);
        for (unit, values) in outputs[2..].as_chunks_mut::<OF_UNIT>().0.iter_mut().enumerate() {
            let place = PRICES.0 + (PRICES.1 - PRICES.0) * (unit as f64 + 0.5) / UNITS as f64;
            *values = [0.03 * normal(), place / SPREAD, 0.5];
        }
        outputs
    }

    /// Returns the response that the outputs of a network describe.
    pub(crate) fn new(outputs: &[f64]) -> Self {
        // Parameters from a file may have any finite value. Clamping keeps the response finite and decreasing.
        let mut response = Self {
            level: outputs[0].clamp(-50.0, 50.0),
            least_slope: outputs[1].clamp(-7.0, 3.0).exp(),
            slope: 0.0,
            height: [0.0; UNITS],
            place: [0.0; UNITS],
            square_width: [0.0; UNITS],
        };
        for (unit, values) in outputs[2..].as_chunks::<OF_UNIT>().0.iter().enumerate() {
            response.height[unit] = values[0].clamp(-5.0, 5.0);
            response.place[unit] = (SPREAD * values[1]).clamp(-200.0, 200.0);
            response.square_width[unit] = (2.0 * values[2].clamp(-5.0, 5.0)).exp();
        }
        response.slope =
            response.least_slope + response.height.iter().map(|height| height.abs()).sum::<f64>();
        response
    }

    /// Returns `ψ(t)` and its derivative, which is negative.
    #[inline(always)]
    pub fn at(&self, t: f64) -> (f64, f64) {
        let (mut value, mut slope) = ([0.0; UNITS], [0.0; UNITS]);
        for unit in 0..UNITS {
            let y = t - self.place[unit];
            let q = (y * y + self.square_width[unit]).sqrt();
            value[unit] = self.height[unit] * q;
            slope[unit] = self.height[unit] * (y / q);
        }
        // Sums pairwise in a fixed order, so that vector instructions give the same bits.
        let mut half = UNITS / 2;
        while half > 0 {
            for unit in 0..half {
                value[unit] += value[unit + half];
                slope[unit] += slope[unit + half];
            }
            half /= 2;
        }
        (self.level - self.slope * t - value[0], -self.slope - slope[0])
    }

    /// Adds the derivative of `upstream·ψ(t)` with respect to the network's outputs.
    pub fn accumulate(&self, t: f64, upstream: f64, gradient: &mut ResponseGradient) {
        let gradient = &mut gradient.0;
        gradient[0] += upstream;
        gradient[1] -= upstream * t * self.least_slope;
        for (unit, gradient) in gradient[2..].as_chunks_mut::<OF_UNIT>().0.iter_mut().enumerate() {
            let (height, square) = (self.height[unit], self.square_width[unit]);
            let y = t - self.place[unit];
            let q = (y * y + square).sqrt();
            gradient[0] -= upstream * (q + height.signum() * t);
            gradient[1] += upstream * height * (y / q) * SPREAD;
            gradient[2] -= upstream * height * square / q;
        }
    }
}
