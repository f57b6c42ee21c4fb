//! Estimate of `f(x, K) = E(y_k | x_k = x)` from samples, with confidence intervals.

use serde::Serialize;

use super::{Samples, SizeSamples};
use crate::math::median;
use crate::math::{Exponent, Moments, student_95};

/// Inputs at which `f` is estimated, as quantiles of all inputs.
pub const QUANTILES: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];
/// Half-width of the window around each of these inputs, as a difference of quantiles.
const HALF_WINDOW: f64 = 0.05;
/// Relative spread below which an output counts as a function of the user's own input.
const SMALL_SPREAD: f64 = 0.1;

/// Estimate of `f` at one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// Number of users `K`.
    pub k: usize,
    /// Estimate of `f(x, K)`.
    pub value: f64,
    /// Standard error of the estimate over instances, since users of one instance depend on each other.
    pub standard_error: f64,
    /// Lower end of the 95 % confidence interval.
    pub low: f64,
    /// Upper end of the 95 % confidence interval.
    pub high: f64,
    /// Standard deviation of the outputs for the given input, relative to `f` if all outputs are positive.
    pub spread: f64,
    /// Number of samples.
    pub samples: usize,
}

/// Estimate of `f` over K for one input. It is the mean over a window of inputs, corrected to the window's centre. The
/// width of the window causes an error that is the same at every K.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// Input `x`.
    pub x: f64,
    /// Quantile of `x` among all inputs.
    pub quantile: f64,
    /// Estimates in ascending order of K.
    pub points: Vec<Point>,
}

impl Curve {
    /// Returns the estimate at size `k`.
    pub fn at(&self, k: usize) -> Option<&Point> {
        self.points.iter().find(|point| point.k == k)
    }
}

/// Estimate of `f(x, K)` at a few inputs and all sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    /// Curves, one for each input.
    pub curves: Vec<Curve>,
    /// Exponent in K of the spread, as the median over the inputs; `None` if it cannot be fitted, for example to a
    /// spread of 0.
    pub spread_exponent: Option<Exponent>,
    /// Spread at the largest size, as the median over the inputs; relative if all outputs are positive.
    pub last_spread: f64,
}

/// Model of the outputs near an input, used to correct them to that input.
#[derive(Clone, Copy, PartialEq)]
enum Scale {
    /// `y ≈ f·e^(b(x − x_c))`, for outputs that span decades.
    Relative,
    /// `y ≈ f + b(x − x_c)`.
    Absolute,
}

impl Estimate {
    /// Estimates `f` from the outputs of the samples.
    pub fn of(samples: &Samples) -> Self {
        let scale = if samples.positive() { Scale::Relative } else { Scale::Absolute };
        let outputs =
            |size: &SizeSamples| size.instances.iter().map(|instance| instance.y.clone()).collect();
        Self::with(samples, scale, outputs)
    }

    /// Estimates the inner function of a normalization, `ln w(x) − E(ln w)` in `y_k = c·w(x_k)/Σ_j w(x_j)`. Returns
    /// `None` if an output is not positive, if an instance lacks users, or if too few sizes above 1 remain.
    ///
    /// Within an instance the sum cancels: `ln y_k` minus its mean over the instance is `(1 − 1/K)(ln w(x_k) −
    /// mean_{j≠k} ln w(x_j))`. In `f`, a user's own weight is part of the sum. This estimate does not contain that
    /// effect, so it can show that `w` does not depend on K.
    ///
    /// A first estimate gives the weights of the other users. The second estimate subtracts these weights, which would
    /// only add noise, since `w` changes little with K.
    pub fn inner(samples: &Samples) -> Option<Self> {
        let possible = samples.positive() && samples.whole();
        let large = samples.sizes().iter().filter(|size| size.k > 1).cloned().collect::<Vec<_>>();
        let samples = possible.then(|| Samples::from_instances(large).ok()).flatten()?;
        let first = Self::with(&samples, Scale::Absolute, |size| inner_of(size, |_| 0.0));
        let known =
            first.curves.iter().filter_map(|curve| Some((curve.x, curve.points.last()?.value)));
        let axis = Axis::of(&samples);
        let (x, values): (Vec<f64>, Vec<f64>) = known.map(|(x, value)| (axis.at(x), value)).unzip();
        let weight = |at: f64| between(&x, &values, axis.at(at));
        let mean: Moments = samples.users().map(|user| weight(user.0)).collect();
        let centred = |at: f64| weight(at) - mean.mean;
        Some(Self::with(&samples, Scale::Absolute, |size| inner_of(size, centred)))
    }

    fn with(
        samples: &Samples,
        scale: Scale,
        outputs: impl Fn(&SizeSamples) -> Vec<Vec<f64>>,
    ) -> Self {
        let mut inputs: Vec<f64> = samples.users().map(|user| user.0).collect();
        inputs.sort_by(f64::total_cmp);
        let outputs: Vec<Vec<Vec<f64>>> = samples.sizes().iter().map(outputs).collect();
        let mut curves: Vec<Curve> = Vec::new();
        for quantile in QUANTILES {
            let low = quantile_of(&inputs, quantile - HALF_WINDOW);
            let high = quantile_of(&inputs, quantile + HALF_WINDOW);
            let inside: Moments =
                inputs.iter().copied().filter(|x| (low..=high).contains(x)).collect();
            let points = samples.sizes().iter().zip(&outputs).filter_map(|(size, outputs)| {
                estimate(size, outputs, (low, high), inside.mean, scale)
            });
            let curve = Curve { x: inside.mean, quantile, points: points.collect() };
            // With few distinct inputs, two quantiles can have the same window.
            if curves.last().is_none_or(|last| curve.x > last.x) {
                curves.push(curve);
            }
        }
        let last = |curve: &Curve| curve.points.last().map(|point| point.spread);
        let last_spread = median(curves.iter().filter_map(last).collect());
        let spreads = samples.sizes().iter().map(|size| {
            let at = curves.iter().filter_map(|curve| curve.at(size.k));
            (size.k as f64, median(at.map(|point| point.spread).collect()))
        });
        let spread_exponent = Exponent::fit(&spreads.collect::<Vec<_>>());
        Self { curves, spread_exponent, last_spread }
    }

    /// Returns `f(x, K)` for positive outputs at a size that was sampled, by linear interpolation of the logarithms.
    pub(super) fn at(&self, x: f64, k: usize) -> f64 {
        let known = self.curves.iter().filter_map(|curve| Some((curve.x, curve.at(k)?.value.ln())));
        let (places, values): (Vec<f64>, Vec<f64>) = known.unzip();
        between(&places, &values, x).exp()
    }

    /// Returns whether the output becomes a function of the user's own input and K: its spread is small, or decreases
    /// significantly with K.
    pub fn spread_vanishes(&self) -> bool {
        let falls = |exponent: Exponent| exponent.value + exponent.half_width < 0.0;
        self.last_spread < SMALL_SPREAD || self.spread_exponent.is_some_and(falls)
    }
}

/// Returns `ln w(x_k) − mean_{j≠k}(ln w(x_j) − known(x_j))` for all users of each instance.
fn inner_of(size: &SizeSamples, known: impl Fn(f64) -> f64) -> Vec<Vec<f64>> {
    let others = size.k as f64 - 1.0;
    let instances = size.instances.iter().map(|instance| {
        let mean: Moments = instance.y.iter().map(|y| y.ln()).collect();
        let parts: Vec<f64> = instance.x.iter().map(|&x| known(x)).collect();
        let sum: f64 = parts.iter().sum();
        let users = instance.y.iter().zip(&parts);
        let value = |(y, part): (&f64, &f64)| {
            size.k as f64 / others * (y.ln() - mean.mean) + (sum - part) / others
        };
        users.map(value).collect()
    });
    instances.collect()
}

/// Scale of the inputs for interpolation. It is linear, or logarithmic in the distance from the median if some inputs
/// are very far from the median. Linear extrapolation would be meaningless in a tail with infinite variance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    centre: f64,
    /// Width of the middle four fifths of the inputs if the tails are heavy.
    heavy: Option<f64>,
}

/// Ratio of the largest distance from the median to the width of the middle four fifths, above which a tail counts as
/// heavy.
const FAR_OUT: f64 = 10.0;

impl Axis {
    pub(super) fn of(samples: &Samples) -> Self {
        let mut inputs: Vec<f64> = samples.users().map(|user| user.0).collect();
        inputs.sort_by(f64::total_cmp);
        let centre = quantile_of(&inputs, 0.5);
        let width = quantile_of(&inputs, 0.9) - quantile_of(&inputs, 0.1);
        let ends = [inputs.first(), inputs.last()].into_iter().flatten();
        let furthest = ends.map(|end| (end - centre).abs()).fold(0.0, f64::max);
        let heavy = (width > 0.0 && furthest > FAR_OUT * width).then_some(width);
        Self { centre, heavy }
    }

    pub(super) fn at(self, x: f64) -> f64 {
        let Some(width) = self.heavy else { return x };
        let out = (x - self.centre) / width;
        out.signum() * out.abs().ln_1p()
    }
}

/// Interpolates linearly between values at ascending positions, and extrapolates beyond the positions. The result is
/// clamped so that its exponential is finite.
pub(super) fn between(places: &[f64], values: &[f64], x: f64) -> f64 {
    let Some(end) = places.len().checked_sub(1) else { return 0.0 };
    let below = places.iter().filter(|&&place| place <= x).count();
    let left = below.saturating_sub(1).min(end.saturating_sub(1));
    let right = (left + 1).min(end);
    let width = places[right] - places[left];
    let share = if width > 0.0 { (x - places[left]) / width } else { 0.0 };
    (values[left] + share * (values[right] - values[left])).clamp(-600.0, 600.0)
}

/// Returns the estimate for inputs in a window around `centre`, as a ratio of sums over instances.
fn estimate(
    size: &SizeSamples,
    outputs: &[Vec<f64>],
    (low, high): (f64, f64),
    centre: f64,
    scale: Scale,
) -> Option<Point> {
    let inside: Vec<Vec<(f64, f64)>> = size
        .instances
        .iter()
        .zip(outputs)
        .map(|(instance, y)| {
            let users = instance.x.iter().copied().zip(y.iter().copied());
            users.filter(|(x, _)| (low..=high).contains(x)).map(|(x, y)| (x - centre, y)).collect()
        })
        .filter(|users: &Vec<_>| !users.is_empty())
        .collect();
    let transformed = |y: f64| if scale == Scale::Relative { y.ln() } else { y };
    let all = || inside.iter().flatten();
    let samples = all().count();
    let (x, z): (Moments, Moments) =
        (all().map(|user| user.0).collect(), all().map(|user| transformed(user.1)).collect());
    let products: f64 = all().map(|user| (user.0 - x.mean) * (transformed(user.1) - z.mean)).sum();
    let slope = if x.squares > 0.0 { products / x.squares } else { 0.0 };
    // For each user, the output corrected to the centre, and a weight. The ratio of their sums is f.
    let moved = |&(x, y): &(f64, f64)| match scale {
        Scale::Relative => (y, (slope * x).exp()),
        Scale::Absolute => (y - slope * x, 1.0),
    };
    let (top, bottom) = all().map(moved).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
    let value = top / bottom;
    if !value.is_finite() {
        return None;
    }
    // Linearized variance of a ratio of sums over independent instances.
    let off = inside.iter().map(|users| {
        users.iter().map(moved).map(|(y, weight)| y - value * weight).sum::<f64>().powi(2)
    });
    let count = inside.len() as f64;
    let standard_error = (off.sum::<f64>() * count / (count - 1.0).max(1.0)).sqrt() / bottom;
    let spread: Moments = all()
        .map(moved)
        .map(|(y, weight)| if scale == Scale::Relative { y / (weight * value) } else { y })
        .collect();
    let half_width = student_95((count - 1.0).max(1.0)) * standard_error;
    let (low, high) = (value - half_width, value + half_width);
    let spread = spread.deviation();
    Some(Point { k: size.k, value, standard_error, low, high, spread, samples })
}

/// Returns a quantile of ascending values.
fn quantile_of(ascending: &[f64], quantile: f64) -> f64 {
    // The conversion truncates and saturates for negative and large values.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let index = (quantile * ascending.len() as f64) as usize;
    ascending.get(index.min(ascending.len().saturating_sub(1))).copied().unwrap_or(0.0)
}
