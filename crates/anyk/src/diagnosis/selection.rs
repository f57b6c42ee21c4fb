//! Selection of the size law. Every form is fitted to the curves and tested, and the best form after a penalty for each
//! coefficient is selected.

use serde::Serialize;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::estimate::{Curve, Point};
use super::law::{Form, Law, MOST};
use crate::math::median;

/// Smallest size that is fitted, as a share of the largest, if enough other sizes remain. Size laws are asymptotic.
const FIT_FROM: f64 = 1.0 / 50.0;
/// Number of standard errors by which a curve must differ from 0 at every size to be used for the fit.
const SEEN: f64 = 3.0;
/// Penalty for each coefficient and curve, in units of χ². The curves of one policy vary together, so the penalty
/// corresponds to a test at a level of about 1.5 %.
const PENALTY: f64 = 6.0;
/// Difference of the criterion per curve below which two forms count as equally good.
const TIE: f64 = 6.0;
/// Probability of χ² below which a form is rejected if its error also exceeds [`MOST_MISS`].
const LEAST_LIKELY: f64 = 1e-3;
/// Smallest relative error that can reject a form. With many samples, the χ² test alone would reject every size law,
/// since none is exact.
const MOST_MISS: f64 = 0.1;
/// Change of `ln f` over the last decade of K below which, of two laws that fit about equally well, the law with a
/// limit is selected.
const HARDLY: f64 = 0.08;
/// Change of `ln f` over the last decade of K above which, of two laws that fit about equally well, the law without a
/// limit is selected.
const CLEARLY: f64 = 0.3;
/// Largest factor between the value at the largest size and the limit of a size law that has one.
const NEAR_LIMIT: f64 = 3.0;
/// Standard errors above which an exponent counts as a trend, regardless of the noise.
const TREND: f64 = 4.0;
/// Half-width of a 95 % confidence interval in standard errors.
const INTERVAL: f64 = 2.0;

/// Measures of how well a size law fits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LawScore {
    /// Size law, represented by its best form.
    pub law: Law,
    /// χ² divided by the degrees of freedom; about 1 for a law that holds.
    pub misfit: f64,
    /// Probability of a χ² at least as large if the law holds.
    pub likelihood: f64,
    /// Root mean square of `ln(fitted/estimated)`.
    pub miss: f64,
    /// Criterion of the selection: χ², divided by the misfit of the best form if that exceeds 1, plus a penalty for
    /// each coefficient.
    pub criterion: f64,
}

/// Form with its fitted coefficients for each curve.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fitted {
    form: Form,
    coefficients: Vec<[f64; MOST]>,
    chi_square: f64,
    freedom: f64,
    miss: f64,
}

impl Fitted {
    fn new(form: Form, curves: &[Vec<Point>]) -> Option<Self> {
        let mut made =
            Self { form, coefficients: Vec::new(), chi_square: 0.0, freedom: 0.0, miss: 0.0 };
        let (mut squares, mut count, mut limits) = (0.0, 0.0, Vec::new());
        for points in curves {
            let row = |point: &Point| form.transformed(point).map(|(value, w)| (point.k, value, w));
            let rows: Vec<(usize, f64, f64)> = points.iter().map(row).collect::<Option<_>>()?;
            let coefficients = form.fit(&rows)?.coefficients;
            for (&(k, value, weight), point) in rows.iter().zip(points) {
                let fitted = form.back(&coefficients, k);
                let off = (fitted / point.value).ln();
                // Reject a fit that reaches 0 or changes the sign.
                if !off.is_finite() {
                    return None;
                }
                made.chi_square += weight * (form.value(&coefficients, k) - value).powi(2);
                squares += off * off;
                count += 1.0;
            }
            made.freedom += (rows.len() - form.count()) as f64;
            let last = points.last()?;
            limits.push(form.limit(&coefficients) / form.back(&coefficients, last.k));
            made.coefficients.push(coefficients);
        }
        made.miss = f64::sqrt(squares / f64::max(count, 1.0));
        let near = (NEAR_LIMIT.recip()..=NEAR_LIMIT).contains(&median(limits));
        (count > 0.0 && (near || !form.law.is_still())).then_some(made)
    }

    pub(super) fn law(&self) -> Law {
        self.form.law
    }

    /// Returns the change of `ln f` between two sizes for each curve.
    pub(super) fn changes(&self, from: usize, to: usize) -> Vec<f64> {
        let change = |coefficients: &[f64; MOST]| {
            (self.form.back(coefficients, to) / self.form.back(coefficients, from)).ln()
        };
        self.coefficients.iter().map(change).collect()
    }

    /// Returns the mean absolute change of `ln f` over the last decade of K.
    fn decade(&self, curves: &[Vec<Point>]) -> f64 {
        let largest = curves.iter().filter_map(|points| points.last()).map(|point| point.k).max();
        let to = largest.unwrap_or(1);
        let changes = self.changes((to / 10).max(1), to);
        changes.iter().map(|change| change.abs()).sum::<f64>() / changes.len().max(1) as f64
    }

    /// Returns the penalty for the coefficients of all curves.
    fn penalty(&self) -> f64 {
        let count = self.form.count() + usize::from(self.form.bends());
        PENALTY * (count * self.coefficients.len()) as f64
    }

    fn likelihood(&self) -> f64 {
        // Errors of users in one cell are correlated, so all curves together count as one.
        let curves = self.coefficients.len().max(1) as f64;
        let law = ChiSquared::new((self.freedom / curves).max(1.0));
        law.map_or(1.0, |law| law.sf(self.chi_square / curves))
    }

    fn holds(&self) -> bool {
        self.likelihood() >= LEAST_LIKELY || self.miss <= MOST_MISS
    }
}

/// Selected form and the data behind the selection.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Selection {
    /// Curves that can be used for a fit, with the sign changed where they are negative.
    pub(super) curves: Vec<Vec<Point>>,
    /// Goodness of fit of the best form of each law.
    pub(super) scores: Vec<LawScore>,
    /// Selected form, or `None` if no form fits or there is no curve.
    pub(super) chosen: Option<Fitted>,
    /// Exponent of a power law as the mean over the curves, with its standard error. It bounds the change with K that
    /// the samples permit.
    pub(super) exponent: Option<(f64, f64)>,
}

impl Selection {
    pub(super) fn of(curves: &[Curve]) -> Self {
        let curves = seen(curves);
        let fitted: Vec<Fitted> =
            Form::ALL.iter().filter_map(|form| Fitted::new(*form, &curves)).collect();
        // If no form fits well, all misfits are scaled down.
        let misfits = fitted.iter().filter(|one| one.freedom > 0.0);
        let least = misfits.map(|one| one.chi_square / one.freedom).fold(f64::INFINITY, f64::min);
        let unit = if least.is_finite() { least.max(1.0) } else { 1.0 };
        let criterion = |one: &Fitted| one.chi_square / unit + one.penalty();
        let best = |forms: &mut dyn Iterator<Item = &Fitted>| {
            forms.min_by(|a, b| criterion(a).total_cmp(&criterion(b))).cloned()
        };
        let mut scores: Vec<LawScore> = Vec::new();
        for law in fitted.iter().map(Fitted::law) {
            let known = scores.iter().any(|score| score.law == law);
            let form = best(&mut fitted.iter().filter(|one| one.law() == law));
            if let (false, Some(form)) = (known, form) {
                scores.push(LawScore {
                    law,
                    misfit: form.chi_square / form.freedom.max(1.0),
                    likelihood: form.likelihood(),
                    miss: form.miss,
                    criterion: criterion(&form),
                });
            }
        }
        let chosen = best(&mut fitted.iter()).filter(Fitted::holds).map(|chosen| {
            let change = chosen.decade(&curves);
            let still =
                if change < HARDLY { Some(true) } else { (change > CLEARLY).then_some(false) };
            let kind = |one: &&Fitted| still.is_none_or(|still| one.law().is_still() == still);
            let as_well = best(&mut fitted.iter().filter(kind)).filter(|other| {
                other.holds() && criterion(other) <= criterion(&chosen) + TIE * curves.len() as f64
            });
            as_well.unwrap_or(chosen)
        });
        let exponent = exponent(&curves);
        Self { curves, scores, chosen, exponent }
    }

    /// Returns whether noise hides this change of `ln f` over a decade of K, so that the change is neither detected nor
    /// excluded.
    pub(super) fn hides(&self, change: f64) -> bool {
        let (value, error) = self.exponent.unwrap_or((0.0, 0.0));
        INTERVAL * error * 10f64.ln() > change && value.abs() < TREND * error
    }

    /// Returns the largest change of `ln f` between two sizes that the samples permit for a policy that seems
    /// constant.
    pub(super) fn most_change(&self, from: usize, to: usize) -> f64 {
        let (value, error) = self.exponent.unwrap_or((0.0, 0.0));
        (value.abs() + INTERVAL * error) * (to as f64 / from as f64).ln()
    }
}

/// Returns the mean exponent of a power law over the curves and its standard error. Errors of users in one cell are
/// correlated, so they do not average out.
fn exponent(curves: &[Vec<Point>]) -> Option<(f64, f64)> {
    let form = Form::POWER;
    let (mut values, mut errors, mut weights) = (0.0, 0.0, 0.0);
    for points in curves {
        let row = |point: &Point| form.transformed(point).map(|(value, w)| (point.k, value, w));
        let rows: Vec<(usize, f64, f64)> = points.iter().map(row).collect::<Option<_>>()?;
        let fitted = form.fit(&rows)?;
        let error = fitted.variances[1].sqrt();
        let weight = error.powi(-2);
        values += weight * fitted.coefficients[1];
        errors += weight * error;
        weights += weight;
    }
    (weights > 0.0).then(|| (values / weights, errors / weights))
}

/// Returns the curves that differ clearly from 0, or all curves of one sign if none does.
fn seen(curves: &[Curve]) -> Vec<Vec<Point>> {
    let positive = one_signed(curves);
    let clear =
        |points: &&Vec<Point>| points.iter().all(|point| point.value > SEEN * point.standard_error);
    let clearly: Vec<Vec<Point>> = positive.iter().filter(clear).cloned().collect();
    if clearly.is_empty() { positive } else { clearly }
}

/// Returns the curves to which a size law can be fitted: those that are positive at every size, and those that are
/// negative at every size, multiplied by −1. Omits small sizes.
pub(super) fn one_signed(curves: &[Curve]) -> Vec<Vec<Point>> {
    let signed = |curve: &Curve| {
        let sign = curve.points.last().map_or(1.0, |point| point.value.signum());
        let turned = curve.points.iter().map(|point| Point {
            value: sign * point.value,
            low: (sign * point.low).min(sign * point.high),
            high: (sign * point.low).max(sign * point.high),
            ..*point
        });
        let points: Vec<Point> = turned.collect();
        let largest = points.last().map_or(1, |point| point.k) as f64;
        let large: Vec<Point> =
            points.iter().copied().filter(|point| point.k as f64 >= FIT_FROM * largest).collect();
        if large.len() >= 4 { large } else { points }
    };
    curves
        .iter()
        .map(signed)
        .filter(|points| points.len() >= 2 && points.iter().all(|point| point.value > 0.0))
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Returns the law selected for three curves without noise that claim a relative standard error of `error`.
    fn law(f: impl Fn(f64) -> f64, error: f64) -> Option<Law> {
        let curve = |scale: f64| {
            let point = |&k: &usize| {
                let value = scale * f(k as f64);
                let standard_error = error * value.abs();
                Point { k, value, standard_error, low: value, high: value, spread: 0.0, samples: 1 }
            };
            let points = [2, 3, 5, 10, 20, 50, 100, 200].iter().map(point).collect();
            Curve { x: scale, quantile: 0.5, points }
        };
        Selection::of(&[curve(1.0), curve(2.0), curve(-3.0)]).chosen.map(|chosen| chosen.law())
    }

    #[test]
    fn each_law_is_told_from_the_others() {
        assert_eq!(law(|_| 1.0, 0.003), Some(Law::Constant));
        assert_eq!(law(|k| 1.0 + 3.0 / k, 0.003), Some(Law::Settling));
        assert_eq!(law(|k| 1.0 + 5.0 / k.sqrt(), 0.003), Some(Law::Settling));
        assert_eq!(law(|k| k / (k + 30.0), 0.003), Some(Law::Saturating));
        assert_eq!(law(|k| 0.2 + (-k / 20.0).exp(), 0.003), Some(Law::Saturating));
        assert_eq!(law(|k| k.powf(0.05), 0.003), Some(Law::Power));
        assert_eq!(law(|k| k.powf(-0.5) * (1.0 + 0.5 / k), 0.003), Some(Law::Power));
        assert_eq!(law(|k| 1.0 + k.ln(), 0.003), Some(Law::Logarithmic));
        assert_eq!(law(|k| (-k / 50.0).exp(), 0.003), Some(Law::Exponential));
        assert_eq!(law(|k| k.powf(0.1 + 0.1 * k.ln()), 0.003), Some(Law::DriftingPower));
        // No law fits a zigzag, but standard errors of the same magnitude hide it.
        let zigzag = |k: f64| if (k / 10.0).round() % 2.0 < 0.5 { 1.0 } else { 3.0 };
        assert_eq!(law(zigzag, 0.003), None);
        assert_eq!(law(zigzag, 1.0), Some(Law::Constant));
        // Large errors hide a change that small errors reveal.
        assert_eq!(law(|k| k.powf(0.05), 0.2), Some(Law::Constant));
        assert!(Selection::of(&[]).chosen.is_none());
    }
}
