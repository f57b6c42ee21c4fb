//! Size laws: candidate forms of `f(x, K)` over K, fitted to its estimate.
//!
//! A size law has one or more forms, each linear in its coefficients: `s(f) = a + b·t(K) + …`, where `s` is the
//! identity, the logarithm or the reciprocal. The coefficients differ between inputs. Constants inside a term, such as
//! the exponent of `K^(−p)`, are the same for all inputs.

use serde::{Deserialize, Serialize};

use super::estimate::Point;

/// Relative error that is always allowed, since no size law is exact at finite K.
const FLOOR: f64 = 2e-3;
/// Smallest share of the last exponent that a drifting exponent must keep when it is extrapolated.
const LEAST_LEFT: f64 = 0.5;
/// Maximum number of coefficients of a form.
pub(super) const MOST: usize = 3;

/// Size law: `f(x, K)` as a function of K, with coefficients for each x.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// `a`.
    Constant,
    /// `a + b/K^p`: approaches a limit.
    Settling,
    /// `a·K/(K + b)` or `a + b·e^(−K/τ)`: reaches a limit at a certain size.
    Saturating,
    /// `a·K^r`.
    Power,
    /// `a + b ln K`.
    Logarithmic,
    /// `a·e^(bK)`.
    Exponential,
    /// `a·K^(r + c ln K)`: a power whose exponent drifts.
    DriftingPower,
}

impl Law {
    /// Returns the formula of the size law.
    pub fn formula(self) -> &'static str {
        match self {
            Self::Constant => "a",
            Self::Settling => "a + b/K^p",
            Self::Saturating => "a·K/(K + b) or a + b·e^(-K/τ)",
            Self::Power => "a·K^r",
            Self::Logarithmic => "a + b ln K",
            Self::Exponential => "a·e^(bK)",
            Self::DriftingPower => "a·K^(r + c ln K)",
        }
    }

    /// Returns whether the size law has a limit other than 0.
    pub fn is_still(self) -> bool {
        matches!(self, Self::Constant | Self::Settling | Self::Saturating)
    }
}

/// Transformation of `f` in which a form is linear.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scale {
    Plain,
    Logarithm,
    Reciprocal,
}

impl Scale {
    /// Transforms a fitted value back to `f`.
    fn back(self, value: f64) -> f64 {
        match self {
            Self::Plain => value,
            Self::Logarithm => value.exp(),
            Self::Reciprocal => value.recip(),
        }
    }
}

/// Term of a form: a function of K.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Term {
    /// `ln K`.
    Log,
    /// `(ln K)²`.
    LogSquared,
    /// `K^(−p)`.
    Inverse(f64),
    /// `e^(−K/τ)`.
    Decay(f64),
    /// `K`.
    Size,
}

impl Term {
    fn at(self, k: usize) -> f64 {
        let k = k as f64;
        match self {
            Self::Log => k.ln(),
            Self::LogSquared => k.ln().powi(2),
            Self::Inverse(power) => k.powf(-power),
            Self::Decay(length) => (-k / length).exp(),
            Self::Size => k,
        }
    }
}

/// Form of a size law that can be fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Form {
    pub(super) law: Law,
    pub(super) scale: Scale,
    pub(super) terms: &'static [Term],
}

const fn form(law: Law, scale: Scale, terms: &'static [Term]) -> Form {
    Form { law, scale, terms }
}

impl Form {
    pub(super) const CONSTANT: Self = form(Law::Constant, Scale::Logarithm, &[]);
    pub(super) const POWER: Self = form(Law::Power, Scale::Logarithm, &[Term::Log]);
    pub(super) const DRIFTING: Self =
        form(Law::DriftingPower, Scale::Logarithm, &[Term::Log, Term::LogSquared]);
    /// `a·e^(b/K)`.
    pub(super) const SETTLING: Self = form(Law::Settling, Scale::Logarithm, &[Term::Inverse(1.0)]);

    /// All forms that can describe a policy. Most size laws also have a form with a term in 1/K, since no size law is
    /// exact at small sizes.
    pub(super) const ALL: [Self; 27] = {
        use Scale::{Logarithm, Plain, Reciprocal};
        use Term::{Decay, Inverse, Log, Size};
        const ONE: Term = Inverse(1.0);
        [
            Self::CONSTANT,
            form(Law::Settling, Plain, &[Inverse(0.5)]),
            form(Law::Settling, Plain, &[ONE]),
            form(Law::Settling, Plain, &[Inverse(2.0)]),
            form(Law::Settling, Plain, &[Inverse(0.5), ONE]),
            form(Law::Settling, Plain, &[ONE, Inverse(2.0)]),
            form(Law::Saturating, Reciprocal, &[ONE]),
            form(Law::Saturating, Reciprocal, &[ONE, Inverse(2.0)]),
            form(Law::Saturating, Plain, &[Decay(5.0)]),
            form(Law::Saturating, Plain, &[Decay(10.0)]),
            form(Law::Saturating, Plain, &[Decay(20.0)]),
            form(Law::Saturating, Plain, &[Decay(35.0)]),
            form(Law::Saturating, Plain, &[Decay(50.0)]),
            form(Law::Saturating, Plain, &[Decay(80.0)]),
            form(Law::Saturating, Plain, &[Decay(5.0), ONE]),
            form(Law::Saturating, Plain, &[Decay(10.0), ONE]),
            form(Law::Saturating, Plain, &[Decay(20.0), ONE]),
            form(Law::Saturating, Plain, &[Decay(35.0), ONE]),
            form(Law::Saturating, Plain, &[Decay(50.0), ONE]),
            form(Law::Saturating, Plain, &[Decay(80.0), ONE]),
            Self::POWER,
            form(Law::Power, Logarithm, &[Log, ONE]),
            form(Law::Logarithmic, Plain, &[Log]),
            form(Law::Logarithmic, Plain, &[Log, ONE]),
            form(Law::Exponential, Logarithm, &[Size]),
            form(Law::Exponential, Logarithm, &[Size, ONE]),
            Self::DRIFTING,
        ]
    };

    /// Forms that extrapolate from a few small sizes to larger ones.
    pub(super) const WAYS: [Self; 8] = [
        Self::CONSTANT,
        Self::SETTLING,
        form(Law::Settling, Scale::Plain, &[Term::Inverse(0.5)]),
        form(Law::Saturating, Scale::Reciprocal, &[Term::Inverse(1.0)]),
        form(Law::Exponential, Scale::Logarithm, &[Term::Size]),
        Self::POWER,
        form(Law::Logarithmic, Scale::Plain, &[Term::Log]),
        Self::DRIFTING,
    ];

    /// Returns whether the form is especially flexible. This is so if its first term is one of many that differ only in
    /// a constant, or if it is a drifting power, which can approximate any size law.
    pub(super) fn bends(&self) -> bool {
        matches!(self.terms.first(), Some(Term::Decay(_))) || self.law == Law::DriftingPower
    }

    /// Returns the number of coefficients for one curve.
    pub(super) fn count(&self) -> usize {
        1 + self.terms.len()
    }

    /// Returns the terms `1, t(K), …`.
    fn row(&self, k: usize) -> [f64; MOST] {
        let mut row = [1.0, 0.0, 0.0];
        for (value, term) in row[1..].iter_mut().zip(self.terms) {
            *value = term.at(k);
        }
        row
    }

    /// Returns the transformed value of a point and its weight, or `None` if the transformation is undefined for it.
    pub(super) fn transformed(&self, point: &Point) -> Option<(f64, f64)> {
        let error = point.standard_error.max(FLOOR * point.value.abs());
        let (value, slope) = match self.scale {
            Scale::Plain => (point.value, 1.0),
            Scale::Logarithm => (point.value.ln(), point.value.recip()),
            Scale::Reciprocal => (point.value.recip(), point.value.powi(-2)),
        };
        let weight = (slope * error).powi(-2);
        (value.is_finite() && weight.is_finite() && weight > 0.0).then_some((value, weight))
    }

    /// Returns the transformed value at a size for given coefficients.
    pub(super) fn value(&self, coefficients: &[f64; MOST], k: usize) -> f64 {
        self.row(k).iter().zip(coefficients).map(|(term, coefficient)| term * coefficient).sum()
    }

    /// Returns `f` at a size for given coefficients.
    pub(super) fn back(&self, coefficients: &[f64; MOST], k: usize) -> f64 {
        self.scale.back(self.value(coefficients, k))
    }

    /// Returns the limit of `f` for a size law that has a limit.
    pub(super) fn limit(&self, coefficients: &[f64; MOST]) -> f64 {
        self.scale.back(coefficients[0])
    }

    /// Fits the form to points (size, value, weight).
    pub(super) fn fit(&self, points: &[(usize, f64, f64)]) -> Option<LeastSquares> {
        let rows: Vec<([f64; MOST], f64, f64)> =
            points.iter().map(|&(k, value, weight)| (self.row(k), value, weight)).collect();
        (rows.len() >= self.count()).then(|| least_squares(&rows, self.count())).flatten()
    }

    /// Fits the form to points and returns `f` at size `k`. Returns `None` if there are too few points or the
    /// transformation is undefined.
    pub(super) fn extrapolate(&self, points: &[Point], k: usize) -> Option<f64> {
        let points = match self.law {
            // Use only the largest size, since a constant cannot describe the changes at smaller sizes.
            Law::Constant => &points[points.len().saturating_sub(1)..],
            _ => points,
        };
        let row = |point: &Point| self.transformed(point).map(|(value, w)| (point.k, value, w));
        let rows: Vec<_> = points.iter().map(row).collect::<Option<_>>()?;
        let fitted = self.fit(&rows)?;
        if self.law == Law::DriftingPower {
            // Reject a parabola that turns, or is about to turn, since its shape does not describe the policy.
            let slope =
                |k: usize| fitted.coefficients[1] + 2.0 * fitted.coefficients[2] * (k as f64).ln();
            let (slope, before) = (slope(k), slope(rows.last()?.0));
            if slope * before < LEAST_LEFT * before.powi(2) {
                return None;
            }
        }
        let value = self.back(&fitted.coefficients, k);
        value.is_finite().then_some(value)
    }
}

/// Result of a weighted least-squares fit.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeastSquares {
    pub(super) coefficients: [f64; MOST],
    /// Variances of the coefficients if each weight is the inverse variance of its value.
    pub(super) variances: [f64; MOST],
}

/// Fits rows of (terms, value, weight) by weighted least squares, using the first `count` terms of each.
fn least_squares(rows: &[([f64; MOST], f64, f64)], count: usize) -> Option<LeastSquares> {
    // Scale the columns to length 1, since terms such as K and 1/K differ by orders of magnitude.
    let mut lengths = [1.0f64; MOST];
    for (column, length) in lengths.iter_mut().enumerate().take(count) {
        *length = rows.iter().map(|row| row.2 * row.0[column].powi(2)).sum::<f64>().sqrt();
        if !(*length > 0.0 && length.is_finite()) {
            return None;
        }
    }
    // Normal equations, right-hand side, and the identity that becomes the inverse.
    let mut system = [[0.0f64; 2 * MOST + 1]; MOST];
    for &(terms, value, weight) in rows {
        for row in 0..count {
            let scaled = weight * terms[row] / lengths[row];
            for column in 0..count {
                system[row][column] += scaled * terms[column] / lengths[column];
            }
            system[row][MOST] += scaled * value;
        }
    }
    for (row, equations) in system.iter_mut().enumerate() {
        equations[MOST + 1 + row] = 1.0;
    }
    for pivot in 0..count {
        let best = (pivot..count)
            .max_by(|&a, &b| system[a][pivot].abs().total_cmp(&system[b][pivot].abs()))?;
        system.swap(pivot, best);
        if system[pivot][pivot].abs() <= 1e-12 {
            return None;
        }
        let top = system[pivot].map(|value| value / system[pivot][pivot]);
        system[pivot] = top;
        for (_, row) in system.iter_mut().take(count).enumerate().filter(|row| row.0 != pivot) {
            let factor = row[pivot];
            for (value, above) in row.iter_mut().zip(&top) {
                *value -= factor * above;
            }
        }
    }
    let (mut coefficients, mut variances) = ([0.0; MOST], [0.0; MOST]);
    for row in 0..count {
        coefficients[row] = system[row][MOST] / lengths[row];
        variances[row] = system[row][MOST + 1 + row] / lengths[row].powi(2);
    }
    coefficients
        .iter()
        .all(|value| value.is_finite())
        .then_some(LeastSquares { coefficients, variances })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_form_finds_its_own_coefficients_and_their_errors() {
        let power = Form::ALL.iter().find(|form| form.law == Law::Power).unwrap();
        let rows: Vec<(usize, f64, f64)> =
            [5, 10, 50, 200].iter().map(|&k| (k, 1.0 - 0.5 * (k as f64).ln(), 1e4)).collect();
        let found = power.fit(&rows).unwrap();
        assert!((found.coefficients[0] - 1.0).abs() < 1e-12);
        assert!((found.coefficients[1] + 0.5).abs() < 1e-12);
        // Errors of 0.01, divided by Σ(ln K − mean)².
        let logs: Vec<f64> = rows.iter().map(|row| (row.0 as f64).ln()).collect();
        let mean = logs.iter().sum::<f64>() / 4.0;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        assert!((found.variances[1] - 1e-4 / squares).abs() < 1e-12);
        assert!(power.fit(&rows[..1]).is_none());
        assert!(power.fit(&[rows[0], rows[0]]).is_none());
    }
}
