//! Extrapolation of a policy from small sizes to a larger one by its size law.

use rand::RngExt;

use super::advice::STILL_INNER_PERCENT;
use super::estimate::{Axis, between};
use super::law::Form;
use super::opinion::carried_on;
use super::selection::one_signed;
use super::{Diagnosis, Estimate, Point, Samples, SizeLaw};
use crate::math::Moments;
use crate::math::realization_rng;

/// Number of cells drawn to compute the mean share of a normalization.
const DRAWS: u64 = 1000;

/// Values of `ln f(x, K)` at `K_0` and at a larger size, with their uncertainty.
pub(super) struct Extrapolation {
    /// Scale of the inputs for interpolation.
    axis: Axis,
    /// Positions of the inputs on this scale, ascending.
    x: Vec<f64>,
    /// `ln f(x, K_0)`.
    at_train: Vec<f64>,
    /// `ln f(x, K)` at the larger size.
    at_test: Vec<f64>,
    /// Standard deviation of the value at the larger size, as a logarithm.
    unsure: Vec<f64>,
    /// Values of `ln w(x)` at `K_0` and at the larger size for a normalized policy, `y_k = c·w(x_k)/Σ_j w(x_j)`.
    weights: Option<[Vec<f64>; 2]>,
}

impl Extrapolation {
    /// Extrapolates the samples. Returns `None` if no form can be fitted to them.
    pub(super) fn new(
        small: &Samples,
        (train_k, test_k): (usize, usize),
        seed: u64,
    ) -> Option<Self> {
        let diagnosis = Diagnosis::of_samples(String::new(), small);
        let axis = Axis::of(small);
        let x: Vec<f64> = diagnosis.estimate.curves.iter().map(|curve| axis.at(curve.x)).collect();
        let still =
            diagnosis.inner_change_percent.is_some_and(|change| change <= STILL_INNER_PERCENT);
        if let (SizeLaw::Normalised { sum }, Some(inner), true) =
            (diagnosis.law, &diagnosis.inner, still)
        {
            return Self::of_normalised(small, inner, sum, (train_k, test_k), seed);
        }
        let curves = one_signed(&diagnosis.estimate.curves);
        if curves.len() != x.len() {
            return None;
        }
        let (mean, shapes) = apart(&curves)?;
        let (mean_then, mean_unsure) = mean_at(mean, test_k)?;
        let (shapes_then, shapes_unsure) = shapes_at(&shapes, test_k)?;
        let at_train = curves.iter().map(|points| {
            points.iter().find(|point| point.k == train_k).map(|point| point.value.ln())
        });
        let at_train: Vec<f64> = at_train.collect::<Option<_>>()?;
        let at_test: Vec<f64> = shapes_then.iter().map(|shape| mean_then + shape).collect();
        let unsure = shapes_unsure.iter().map(|unsure| unsure.hypot(mean_unsure)).collect();
        Some(Self { axis, x, at_train, at_test, unsure, weights: None })
    }

    /// Extrapolates a normalized policy `y_k = c·w(x_k)/Σ_j w(x_j)` with a known inner function. Cells of the larger
    /// size are composed of sampled inputs, and the sum is computed directly, because sums of heavy-tailed weights do
    /// not follow a power of K.
    fn of_normalised(
        small: &Samples,
        inner: &Estimate,
        sum: f64,
        (train_k, test_k): (usize, usize),
        seed: u64,
    ) -> Option<Self> {
        let axis = Axis::of(small);
        let x: Vec<f64> = inner.curves.iter().map(|curve| axis.at(curve.x)).collect();
        let now: Vec<f64> = inner
            .curves
            .iter()
            .map(|curve| curve.at(train_k).map(|point| point.value))
            .collect::<Option<_>>()?;
        let shapes: Vec<Vec<Point>> =
            inner.curves.iter().map(|curve| curve.points.clone()).collect();
        let (then, unsure) = shapes_at(&shapes, test_k)?;
        let inputs: Vec<f64> = small.users().map(|user| axis.at(user.0)).collect();
        let ln_shares = |weights: &[f64], k: usize| -> Vec<f64> {
            let mut shares = vec![Moments::default(); x.len()];
            for draw in 0..DRAWS {
                let mut rng = realization_rng(seed, k, draw);
                let mut other = || inputs[rng.random_range(0..inputs.len())];
                let others: f64 = (1..k).map(|_| between(&x, weights, other()).exp()).sum();
                for (share, weight) in shares.iter_mut().zip(weights) {
                    share.push(sum.abs().ln() + weight - (weight.exp() + others).ln());
                }
            }
            shares.iter().map(|share| share.mean).collect()
        };
        let (at_train, at_test) = (ln_shares(&now, train_k), ln_shares(&then, test_k));
        Some(Self { axis, x, at_train, at_test, unsure, weights: Some([now, then]) })
    }

    /// Returns `f(x, K_0)`.
    pub(super) fn at_train(&self, x: f64) -> f64 {
        between(&self.x, &self.at_train, self.axis.at(x)).exp()
    }

    /// Returns `f(x, K)` at the larger size.
    pub(super) fn at_test(&self, x: f64) -> f64 {
        between(&self.x, &self.at_test, self.axis.at(x)).exp()
    }

    /// Returns the standard deviation of `ln f(x, K)` at the larger size.
    pub(super) fn unsure(&self, x: f64) -> f64 {
        between(&self.x, &self.unsure, self.within(x))
    }

    /// Returns whether the outputs of a cell can be computed, including the influence of its other users, and not
    /// only their mean.
    pub(super) fn knows_cells(&self) -> bool {
        self.weights.is_some()
    }

    /// Returns the change of `ln y_k` for each user of a cell of `K_0` users when other users join it.
    pub(super) fn changes(&self, cell: &[f64], joined: &[f64]) -> Vec<f64> {
        let change = |x: f64, [now, then]: [&[f64]; 2]| -> f64 {
            let x = self.within(x);
            between(&self.x, then, x) - between(&self.x, now, x)
        };
        let Some([now, then]) = &self.weights else {
            return cell.iter().map(|&x| change(x, [&self.at_train, &self.at_test])).collect();
        };
        let weight = |x: f64| between(&self.x, now, self.axis.at(x));
        let before: f64 = cell.iter().map(|&x| weight(x).exp()).sum();
        let after: f64 = joined.iter().map(|&x| (weight(x) + change(x, [now, then])).exp()).sum();
        let fall = (before / after).ln();
        cell.iter().map(|&x| change(x, [now, then]) + fall).collect()
    }

    /// Returns the position of `x`, clamped to the range of known inputs. Changes are small differences, so
    /// extrapolating the changes into the tails would amplify their errors.
    fn within(&self, x: f64) -> f64 {
        self.axis.at(x).clamp(self.x[0], self.x[self.x.len() - 1])
    }
}

/// Splits the logarithms of the curves into their mean over the inputs and the differences from it. The mean is the
/// most accurate part and follows the size law; the differences may follow another law.
fn apart(curves: &[Vec<Point>]) -> Option<(Vec<Point>, Vec<Vec<Point>>)> {
    let count = curves.len() as f64;
    let mut mean = Vec::new();
    let mut shapes = vec![Vec::new(); curves.len()];
    for k in curves.first()?.iter().map(|point| point.k) {
        let logarithm = |points: &Vec<Point>| {
            let point = points.iter().find(|point| point.k == k)?;
            let standard_error = point.standard_error / point.value;
            Some(Point { value: point.value.ln(), standard_error, ..*point })
        };
        let points: Vec<Point> = curves.iter().map(logarithm).collect::<Option<_>>()?;
        let value = points.iter().map(|point| point.value).sum::<f64>() / count;
        // Errors of users in one cell are correlated, so they do not average out.
        let standard_error = points.iter().map(|point| point.standard_error).sum::<f64>() / count;
        mean.push(Point { value, standard_error, ..points[0] });
        for (shape, point) in shapes.iter_mut().zip(&points) {
            shape.push(Point { value: point.value - value, ..*point });
        }
    }
    Some((mean, shapes))
}

/// Extrapolates the mean logarithm to size `k` by the size laws, and returns it with its standard deviation.
fn mean_at(mean: Vec<Point>, k: usize) -> Option<(f64, f64)> {
    let ways = Form::WAYS.map(|form| {
        move |points: &[Point], k: usize| {
            let plain = |point: &Point| {
                let value = point.value.exp();
                Point { value, standard_error: point.standard_error * value, ..*point }
            };
            let points: Vec<Point> = points.iter().map(plain).collect();
            form.extrapolate(&points, k).filter(|value| *value > 0.0).map(f64::ln)
        }
    });
    let (value, unsure) = carried_on(&[mean], &ways, k)?;
    Some((value[0], unsure[0]))
}

/// Extrapolates the differences between inputs in `ln f` or `ln w` to size `k`, and returns them with their standard
/// deviations. The forms are constant, proportional to `1/K`, and linear and quadratic in `ln K`.
fn shapes_at(shapes: &[Vec<Point>], k: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let ways = [Form::CONSTANT, Form::SETTLING, Form::POWER, Form::DRIFTING]
        .map(|form| move |points: &[Point], k: usize| fitted(points, &form, k));
    carried_on(shapes, &ways, k)
}

/// Fits the terms of a form to values that are already logarithms, and returns the value at size `k`.
fn fitted(points: &[Point], form: &Form, k: usize) -> Option<f64> {
    // The constant form uses only the largest size, since it cannot describe the changes at smaller sizes.
    let from = if form.terms.is_empty() { points.len().saturating_sub(1) } else { 0 };
    let row = |point: &Point| {
        let error = point.standard_error.max(f64::MIN_POSITIVE.sqrt());
        (point.k, point.value, error.powi(-2))
    };
    let rows: Vec<(usize, f64, f64)> = points[from..].iter().map(row).collect();
    Some(form.value(&form.fit(&rows)?.coefficients, k))
}
