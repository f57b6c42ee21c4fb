//! Size laws: fitted to `f(x, K)` over K, chosen by what they say about sizes that they have not seen.

use serde::{Deserialize, Serialize};

use super::estimate::{Curve, Point};

/// Relative error that is always allowed for: no law is exact at finite K.
const FLOOR: f64 = 2e-3;
/// Laws are asymptotic: sizes under this share of the largest are not fitted, if enough others remain.
const FIT_FROM: f64 = 1.0 / 50.0;
/// A law that misses the sizes that it has not seen by more, relative, is none.
const MOST_MISS: f64 = 0.1;
/// A simpler law is taken if it misses by no more than this beyond the best one's miss.
const SIMPLER: f64 = 0.02;

/// What must be left of a drifting exponent where it is carried to.
const LEAST_LEFT: f64 = 0.5;

/// A law of `f(x, K)` over K, for each x alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// `a`.
    Constant,
    /// `a·K^r`.
    Power,
    /// `a + b ln K`.
    Logarithmic,
    /// `a·K^(r + c ln K)`: a power whose exponent itself drifts.
    DriftingPower,
    /// `a·e^(b/K)`: a constant that small sizes are still on their way to.
    Settling,
}

impl Law {
    /// What a policy can be said to follow as K grows, the simplest first.
    pub const ASYMPTOTIC: [Self; 4] =
        [Self::Constant, Self::Power, Self::Logarithmic, Self::DriftingPower];
    /// All: from small sizes to large ones, the way to a constant counts as well.
    pub const ALL: [Self; 5] =
        [Self::Constant, Self::Settling, Self::Power, Self::Logarithmic, Self::DriftingPower];

    /// As a formula.
    pub fn formula(self) -> &'static str {
        match self {
            Self::Constant => "a",
            Self::Power => "a·K^r",
            Self::Logarithmic => "a + b ln K",
            Self::DriftingPower => "a·K^(r + c ln K)",
            Self::Settling => "a·e^(b/K)",
        }
    }

    /// What its terms are powers of.
    pub(super) fn variable(self) -> fn(usize) -> f64 {
        match self {
            Self::Settling => |k| (k as f64).recip(),
            _ => |k| (k as f64).ln(),
        }
    }

    /// How many terms it has.
    pub(super) fn terms(self) -> usize {
        match self {
            Self::Constant => 1,
            Self::Power | Self::Logarithmic | Self::Settling => 2,
            Self::DriftingPower => 3,
        }
    }

    /// Fitted to points, what it gives at a size; none with too few points, or where there is no logarithm.
    pub fn extrapolate(self, points: &[Point], k: usize) -> Option<f64> {
        let points = match self {
            // The newest size alone: what smaller ones still move is not part of the law.
            Self::Constant => &points[points.len().saturating_sub(1)..],
            _ => points,
        };
        let logarithms = !matches!(self, Self::Logarithmic);
        let rows = points.iter().map(|point| {
            let error = point.standard_error.max(FLOOR * point.value.abs());
            let weight = (point.value / error).powi(2);
            let t = self.variable()(point.k);
            if logarithms {
                (t, point.value.ln(), weight)
            } else {
                (t, point.value, weight / point.value.powi(2))
            }
        });
        let rows: Vec<(f64, f64, f64)> = rows.collect();
        if rows.len() < self.terms() || rows.iter().any(|row| !(row.1.is_finite() && row.2 > 0.0)) {
            return None;
        }
        let [value, slope] = polynomial(&rows, self.terms(), self.variable()(k))?;
        if self == Self::DriftingPower {
            // A parabola that turns, or is about to, says more about itself than about the policy.
            let last = rows.last().map_or(0.0, |row| row.0);
            let [_, before] = polynomial(&rows, self.terms(), last)?;
            if slope * before < LEAST_LEFT * before.powi(2) {
                return None;
            }
        }
        let value = if logarithms { value.exp() } else { value };
        value.is_finite().then_some(value)
    }
}

/// The weighted least-squares polynomial in `t` through rows of (t, value, weight): value and slope at a
/// place.
pub(super) fn polynomial(rows: &[(f64, f64, f64)], terms: usize, at: f64) -> Option<[f64; 2]> {
    // Around the place itself, the value there is the constant term, and the numbers stay small.
    let mut system = [[0.0f64; 4]; 3];
    for &(t, value, weight) in rows {
        let powers = [1.0, t - at, (t - at).powi(2)];
        for row in 0..terms {
            for column in 0..terms {
                system[row][column] += weight * powers[row] * powers[column];
            }
            system[row][3] += weight * powers[row] * value;
        }
    }
    for pivot in 0..terms {
        let best = (pivot..terms)
            .max_by(|&a, &b| system[a][pivot].abs().total_cmp(&system[b][pivot].abs()))?;
        system.swap(pivot, best);
        if system[pivot][pivot].abs() <= 1e-12 * system[0][0].abs() {
            return None;
        }
        let top = system[pivot];
        for (_, row) in system.iter_mut().take(terms).enumerate().filter(|row| row.0 != pivot) {
            let factor = row[pivot] / top[pivot];
            for (value, above) in row.iter_mut().zip(&top).skip(pivot) {
                *value -= factor * above;
            }
        }
    }
    let value = system[0][3] / system[0][0];
    let slope = if terms > 1 { system[1][3] / system[1][1] } else { 0.0 };
    (value.is_finite() && slope.is_finite()).then_some([value, slope])
}

/// How well a law says what it has not seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LawScore {
    /// The law.
    pub law: Law,
    /// Root mean square of `ln(predicted/measured)` over inputs and the sizes held out.
    pub miss: f64,
}

/// The curves that a law can be fitted to: positive at every size, or negative at every size and turned
/// around; small sizes left out.
pub(super) fn fitted(curves: &[Curve]) -> Vec<Vec<Point>> {
    let signed = |curve: &Curve| {
        let sign = curve.points.last().map_or(1.0, |point| point.value.signum());
        let turned = curve.points.iter().map(|point| Point {
            value: sign * point.value,
            low: (sign * point.low).min(sign * point.high),
            high: (sign * point.low).max(sign * point.high),
            ..*point
        });
        turned.collect::<Vec<_>>()
    };
    let all = curves.iter().map(signed);
    all.filter(|points| points.len() >= 2 && points.iter().all(|point| point.value > 0.0))
        .map(|points| {
            let largest = points.last().map_or(1, |point| point.k) as f64;
            let large: Vec<Point> = points
                .iter()
                .copied()
                .filter(|point| point.k as f64 >= FIT_FROM * largest)
                .collect();
            if large.len() >= 4 { large } else { points }
        })
        .collect()
}

/// Laws, fitted without the largest sizes and asked about them.
pub(super) fn scores(laws: &[Law], curves: &[Vec<Point>]) -> Vec<LawScore> {
    let score = |&law: &Law| {
        let (mut squares, mut count) = (0.0, 0.0);
        for points in curves {
            let held = (points.len() / 3).max(1);
            let (seen, unseen) = points.split_at(points.len() - held);
            for point in unseen {
                let predicted = law.extrapolate(seen, point.k).filter(|value| *value > 0.0)?;
                squares += (predicted / point.value).ln().powi(2);
                count += 1.0;
            }
        }
        (count > 0.0).then(|| LawScore { law, miss: f64::sqrt(squares / count) })
    };
    laws.iter().filter_map(score).collect()
}

/// The simplest law that says about as much as the best, none if the best does not say it either.
pub(super) fn choose(scores: &[LawScore]) -> Option<LawScore> {
    let best = scores.iter().map(|score| score.miss).fold(f64::INFINITY, f64::min);
    let chosen = scores.iter().find(|score| score.miss <= best + SIMPLER)?;
    (chosen.miss <= MOST_MISS).then_some(*chosen)
}
