//! A policy as it is known from small sizes, with what its laws say about a larger one.

use rand::RngExt;

use super::estimate::between;
use super::law::{self, Law, MOST_MISS, polynomial};
use super::{Curve, Diagnosis, Estimate, Point, Samples, SizeLaw};
use crate::channel::realization_rng;
use crate::evaluation::Moments;
use crate::network::Output;

/// Cells that are drawn to know the sum of a normalisation.
const DRAWS: u64 = 200;

/// `ln f(x, K)` at two sizes, and how networks and policy drift apart between them.
pub(super) struct Extrapolation {
    /// Inputs, ascending.
    x: Vec<f64>,
    /// `ln f(x, K_0)`.
    at_train: Vec<f64>,
    /// `ln f(x, K)` at the larger size.
    at_test: Vec<f64>,
    /// How far that may be off, as a logarithm.
    unsure: Vec<f64>,
    /// `ln(ŷ/y)` at the larger size for a normalised output that is exact at `K_0`.
    normalised: Vec<f64>,
    /// Deviation of `ln y` for a given input at the larger size, over that at `K_0`: 1 if not known.
    shrink: f64,
}

impl Extrapolation {
    /// None where the samples have no law.
    pub(super) fn new(
        small: &Samples,
        (train_k, test_k): (usize, usize),
        seed: u64,
    ) -> Option<Self> {
        let diagnosis = Diagnosis::of_samples(String::new(), small);
        let x: Vec<f64> = diagnosis.estimate.curves.iter().map(|curve| curve.x).collect();
        if let (SizeLaw::Normalised { sum }, Some(inner)) = (diagnosis.law, &diagnosis.inner) {
            return Self::of_normalised(small, inner, sum, (train_k, test_k), seed);
        }
        let curves = law::fitted(&diagnosis.estimate.curves);
        if curves.len() != x.len() {
            return None;
        }
        let mut order = diagnosis.scores.clone();
        order.sort_by(|a, b| a.miss.total_cmp(&b.miss));
        let chosen = diagnosis.law.law().or(order.first().map(|score| score.law))?;
        // What the samples rule out is no opinion.
        let other = order.iter().find(|score| score.law != chosen && score.miss <= MOST_MISS);
        let other = other.map_or(chosen, |score| score.law);
        let ln_at = |law: Law| -> Option<Vec<f64>> {
            let values = curves.iter().map(|points| law.extrapolate(points, test_k));
            values.map(|value| value.filter(|value| *value > 0.0).map(f64::ln)).collect()
        };
        let at_train = curves.iter().map(|points| {
            points.iter().find(|point| point.k == train_k).map(|point| point.value.ln())
        });
        let at_train: Vec<f64> = at_train.collect::<Option<_>>()?;
        let (at_test, otherwise) = (ln_at(chosen)?, ln_at(other)?);
        // Two laws that fit are two opinions: half their distance is their deviation.
        let unsure = at_test.iter().zip(&otherwise).map(|(a, b)| 0.5 * (a - b).abs()).collect();
        let fall = (train_k as f64 / test_k as f64).ln();
        let changes = at_train.iter().zip(&at_test).map(|(train, test)| train - test);
        let normalised = changes.map(|change| fall + change).collect();
        Some(Self { x, at_train, at_test, unsure, normalised, shrink: 1.0 })
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
        let x: Vec<f64> = inner.curves.iter().map(|curve| curve.x).collect();
        let now: Vec<f64> = inner
            .curves
            .iter()
            .map(|curve| curve.at(train_k).map(|point| point.value))
            .collect::<Option<_>>()?;
        let (then, unsure) = inner_at(inner, test_k)?;
        let inputs: Vec<f64> = small.users().map(|user| user.0).collect();
        let ln_shares = |weights: &[f64], k: usize| -> Vec<Moments> {
            let mut shares = vec![Moments::default(); x.len()];
            for draw in 0..DRAWS {
                let mut rng = realization_rng(seed, k, draw);
                let mut other = || inputs[rng.random_range(0..inputs.len())];
                let others: f64 = (1..k).map(|_| between(&x, weights, other()).exp()).sum();
                for (share, weight) in shares.iter_mut().zip(weights) {
                    share.push(sum.abs().ln() + weight - (weight.exp() + others).ln());
                }
            }
            shares
        };
        let means = |shares: &[Moments]| -> Vec<f64> { shares.iter().map(|m| m.mean).collect() };
        let deviation = |shares: &[Moments]| shares.iter().map(Moments::deviation).sum::<f64>();
        let (train, test) = (ln_shares(&now, train_k), ln_shares(&then, test_k));
        let shrink = deviation(&test) / deviation(&train).max(f64::MIN_POSITIVE);
        let (at_train, at_test) = (means(&train), means(&test));
        // The network's shares at the larger size have the weights of now.
        let learned = means(&ln_shares(&now, test_k));
        let normalised = learned.iter().zip(&at_test).map(|(learned, y)| learned - y).collect();
        Some(Self { x, at_train, at_test, unsure, normalised, shrink: shrink.min(1.0) })
    }

    /// By how much what other users do to an output, as a logarithm, is less at the larger size. A
    /// normalisation follows it, other outputs do not.
    pub(super) fn shrink(&self, output: Output) -> f64 {
        match output {
            Output::Softmax | Output::SumNormalisation => 1.0,
            Output::Elementwise(_) | Output::Pretrained => self.shrink,
        }
    }

    /// The inputs at which `f` is known.
    pub(super) fn inputs(&self) -> impl Iterator<Item = f64> + '_ {
        self.x.iter().copied()
    }

    /// `f(x, K_0)`.
    pub(super) fn at_train(&self, x: f64) -> f64 {
        between(&self.x, &self.at_train, x).exp()
    }

    /// `f(x, K)` at the larger size.
    pub(super) fn at_test(&self, x: f64) -> f64 {
        between(&self.x, &self.at_test, x).exp()
    }

    /// `ln(ŷ/y)` at the larger size for a network with the mean aggregator and this output that is exact
    /// at `K_0`; for a pre-trained activation, whose outer function is `f(x, K)` as it is known here, how
    /// far that may be off.
    pub(super) fn drift(&self, output: Output, x: f64) -> f64 {
        // Constant beyond the inputs: drifts are small differences, and tails would lever them.
        let x = x.clamp(self.x[0], self.x[self.x.len() - 1]);
        match output {
            Output::Elementwise(_) => {
                between(&self.x, &self.at_train, x) - between(&self.x, &self.at_test, x)
            }
            Output::Softmax | Output::SumNormalisation => between(&self.x, &self.normalised, x),
            Output::Pretrained => between(&self.x, &self.unsure, x),
        }
    }
}

/// An inner function at a larger size, along the polynomial in `ln K` (constant, straight or bent) that
/// best says the last size from those before it; and half its distance to the next best.
fn inner_at(inner: &Estimate, k: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let at = |points: &[Point], terms: usize, k: usize| {
        let from = if terms == 1 { points.len().saturating_sub(1) } else { 0 };
        let rows = points[from..].iter().map(|point| {
            let error = point.standard_error.max(f64::MIN_POSITIVE.sqrt());
            ((point.k as f64).ln(), point.value, error.powi(-2))
        });
        let rows: Vec<(f64, f64, f64)> = rows.collect();
        (rows.len() >= terms).then(|| polynomial(&rows, terms, (k as f64).ln())).flatten()
    };
    let miss = |terms: usize| -> Option<f64> {
        let squares = inner.curves.iter().map(|curve: &Curve| {
            let (last, before) = curve.points.split_last()?;
            Some((at(before, terms, last.k)? - last.value).powi(2))
        });
        squares.sum()
    };
    let mut scored: Vec<(usize, f64)> =
        (1..=3).filter_map(|terms| miss(terms).map(|miss| (terms, miss))).collect();
    scored.sort_by(|a, b| a.1.total_cmp(&b.1));
    let all = |terms: usize| -> Option<Vec<f64>> {
        inner.curves.iter().map(|curve| at(&curve.points, terms, k)).collect()
    };
    let best = all(scored.first()?.0)?;
    let next = scored.get(1).and_then(|next| all(next.0)).unwrap_or_else(|| best.clone());
    let unsure = best.iter().zip(&next).map(|(a, b)| 0.5 * (a - b).abs()).collect();
    Some((best, unsure))
}
