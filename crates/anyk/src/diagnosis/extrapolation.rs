//! A policy as it is known from small sizes, with what its laws say about a larger one.

use rand::RngExt;

use super::advice::STILL_INNER_PERCENT;
use super::estimate::{Axis, between};
use super::law::Form;
use super::opinion::carried_on;
use super::selection::one_signed;
use super::{Diagnosis, Estimate, Point, Samples, SizeLaw};
use crate::math::Moments;
use crate::math::realization_rng;

/// Cells that are drawn to know the mean share of a normalisation.
const DRAWS: u64 = 1000;

/// `ln f(x, K)` at two sizes, `K_0` and a larger one, and what is not known about it.
pub(super) struct Extrapolation {
    /// How inputs become places.
    axis: Axis,
    /// Places of inputs, ascending.
    x: Vec<f64>,
    /// `ln f(x, K_0)`.
    at_train: Vec<f64>,
    /// `ln f(x, K)` at the larger size.
    at_test: Vec<f64>,
    /// How far that may be off, as a logarithm.
    unsure: Vec<f64>,
    /// `ln w(x)` at `K_0` and at the larger size, of `y_k = c·w(x_k)/Σ_j w(x_j)`.
    weights: Option<[Vec<f64>; 2]>,
}

impl Extrapolation {
    /// None where the samples have no law.
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

    /// Of `y_k = c·w(x_k)/Σ_j w(x_j)`, whose inner function is known: cells of the larger size are put
    /// together of the inputs seen, and the sum taken as it is. Weights of heavy tails have sums that
    /// follow no power of K.
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

    /// `f(x, K_0)`.
    pub(super) fn at_train(&self, x: f64) -> f64 {
        between(&self.x, &self.at_train, self.axis.at(x)).exp()
    }

    /// `f(x, K)` at the larger size.
    pub(super) fn at_test(&self, x: f64) -> f64 {
        between(&self.x, &self.at_test, self.axis.at(x)).exp()
    }

    /// How far `ln f(x, K)` at the larger size may be off.
    pub(super) fn unsure(&self, x: f64) -> f64 {
        between(&self.x, &self.unsure, self.within(x))
    }

    /// Whether what the other users do to an output is known too, not just its mean.
    pub(super) fn knows_cells(&self) -> bool {
        self.weights.is_some()
    }

    /// By how much `ln y_k` changes for each user of a cell of `K_0` users when others join it.
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

    /// Changes are constant beyond the inputs: they are small differences, and tails would lever them.
    fn within(&self, x: f64) -> f64 {
        self.axis.at(x).clamp(self.x[0], self.x[self.x.len() - 1])
    }
}

/// The logarithm of curves, as a mean over the inputs and what differs from input to input: the mean is known
/// best and has the law, and its neighbours need not have the same.
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
        // Users of one cell are off together: errors do not average out.
        let standard_error = points.iter().map(|point| point.standard_error).sum::<f64>() / count;
        mean.push(Point { value, standard_error, ..points[0] });
        for (shape, point) in shapes.iter_mut().zip(&points) {
            shape.push(Point { value: point.value - value, ..*point });
        }
    }
    Some((mean, shapes))
}

/// The mean logarithm at a larger size by the size laws, and how far that may be off.
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

/// What differs from input to input in `ln f`, or `ln w`, at a larger size: constant, or going with `1/K`, or
/// straight or bent in `ln K`; and how far that may be off.
fn shapes_at(shapes: &[Vec<Point>], k: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let ways = [Form::CONSTANT, Form::SETTLING, Form::POWER, Form::DRIFTING]
        .map(|form| move |points: &[Point], k: usize| fitted(points, &form, k));
    carried_on(shapes, &ways, k)
}

/// The terms of a form, fitted to values that are logarithms already, at a larger size.
fn fitted(points: &[Point], form: &Form, k: usize) -> Option<f64> {
    // What smaller sizes still move is not part of a constant.
    let from = if form.terms.is_empty() { points.len().saturating_sub(1) } else { 0 };
    let row = |point: &Point| {
        let error = point.standard_error.max(f64::MIN_POSITIVE.sqrt());
        (point.k, point.value, error.powi(-2))
    };
    let rows: Vec<(usize, f64, f64)> = points[from..].iter().map(row).collect();
    Some(form.value(&form.fit(&rows)?.coefficients, k))
}
