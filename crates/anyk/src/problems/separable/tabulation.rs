//! A function of one variable as polynomials of degree 7 on pieces, from its values alone.
//!
//! Places are measured from where the range begins, `v = u − low`. The range is cut into octaves of `v`, so that a
//! cost may be singular at `low` (a square root, a pole), and each piece is halved until the function between its
//! Chebyshev points is as the polynomial says; around a kink that ends where numbers do. The function is asked for
//! all pieces of one depth at once.
//!
//! Values are rounded, and a cost is not always as exact as its own size: in `1 − ln(1 + u)` it is the 1 that is
//! rounded. So differences are held against `|c(u)| + |c(high)| − v·c'(u)`, see [`Asked::size`].

use crate::math::Pieces;
use crate::problems::separable::CostError;
use crate::problems::separable::cost::{COST, MOST};

/// Octaves under the range's width that are looked at, and halvings of it at most.
const OCTAVES: i32 = 400;
const HALVINGS: i32 = 500;
/// Octaves that are kept where the cost is infinite at `low`: 30 decades.
const FROM_POLE: usize = 100;
/// Smallest width of a piece, in shares of the place.
const FINEST: f64 = 256.0 * f64::EPSILON;
/// From `low` to the end of its first piece, the cost falls by this share of its size at least: its slope there is then
/// more than rounding.
const FIRST_FALL: f64 = 1e-3;
/// Goal of the error, in units of `|c| − v·c'`; and what a function may be off by itself, in units of its size.
const GOAL: f64 = 1e-12;
const ROUNDING: f64 = 2e-15;
/// Below this, where halving a piece helps neither half, the function itself is no more exact: around a kink it
/// helps one of them.
const NOISE: f64 = 1e-9;
/// Convex and decreasing up to this share of its size.
const SHAPE: f64 = 1e-11;
/// Roundings of a place that a function may not see.
const PLACE: f64 = 64.0 * f64::EPSILON;
/// Values beyond this are as good as infinite, and such below it as good as 0.
const LARGEST: f64 = 1e100;
const SMALLEST: f64 = 1e-250;
/// Most pieces.
const MOST_PIECES: usize = 20_000;
/// Where `|T_8|` is largest between its zeros, and so is the error: cos(π/8), cos(π/4), cos(3π/8), 0.
const CHECKS: [f64; 7] = [
    -0.923_879_532_511_286_7,
    -std::f64::consts::FRAC_1_SQRT_2,
    -0.382_683_432_365_089_8,
    0.0,
    0.382_683_432_365_089_8,
    std::f64::consts::FRAC_1_SQRT_2,
    0.923_879_532_511_286_7,
];

/// A table to be.
pub(crate) struct Found {
    pub(crate) ends: Vec<f64>,
    pub(crate) coefficients: Vec<[f64; COST]>,
    pub(crate) errors: Vec<f64>,
}

/// A piece that is to be tried.
struct Trial {
    low: f64,
    high: f64,
    /// Error of the piece that it is a half of, relative.
    before: f64,
}

/// A piece that is good.
struct Piece {
    low: f64,
    high: f64,
    coefficients: [f64; COST],
    error: f64,
}

/// The function, with every value that it gave.
struct Asked<F> {
    f: F,
    low: f64,
    high: f64,
    /// `|c(high)|`.
    last: f64,
    points: Vec<(f64, f64)>,
}

impl<F: FnMut(&[f64], &mut [f64])> Asked<F> {
    /// Values at places over the range's begin; all must be finite.
    fn values(&mut self, over: &[f64]) -> Result<Vec<f64>, CostError> {
        let values = self.any_values(over);
        for (v, &value) in over.iter().zip(&values) {
            if !(-LARGEST..=LARGEST).contains(&value) {
                return Err(CostError::NotFinite { u: self.low + v, value });
            }
            self.points.push((self.low + v, value));
        }
        Ok(values)
    }

    /// What differences of values around `v` are held against, given a value and `−c'` there.
    fn size(&self, v: f64, value: f64, marginal: f64) -> f64 {
        value.abs() + self.last + v * marginal
    }

    fn any_values(&mut self, over: &[f64]) -> Vec<f64> {
        let places: Vec<f64> = over.iter().map(|v| (self.low + v).min(self.high)).collect();
        let mut values = vec![f64::NAN; places.len()];
        (self.f)(&places, &mut values);
        values
    }
}

/// Tabulates a function on a range.
pub(crate) fn tabulate(
    (low, high): (f64, f64),
    f: impl FnMut(&[f64], &mut [f64]),
) -> Result<Found, CostError> {
    if !(low >= 0.0 && low < high && high <= MOST && high - low > 1e-12 * high) {
        return Err(CostError::Range { low, high });
    }
    let mut asked = Asked { f, low, high, last: 0.0, points: Vec::new() };
    let ends = octaves(&mut asked)?;
    let mut good = Vec::new();
    let mut trials: Vec<Trial> = Vec::new();
    for pair in ends.windows(2) {
        let middle = 0.5 * (pair[0] + pair[1]);
        trials.push(Trial { low: pair[0], high: middle, before: f64::INFINITY });
        trials.push(Trial { low: middle, high: pair[1], before: f64::INFINITY });
    }
    while !trials.is_empty() {
        trials = halve(&mut asked, &trials, &mut good)?;
        if good.len() + trials.len() > MOST_PIECES {
            check_shape(&mut asked.points, low)?;
            return Err(CostError::Rough { most: MOST_PIECES });
        }
    }
    check_shape(&mut asked.points, low)?;
    good.sort_by(|a, b| a.low.total_cmp(&b.low));
    cut_flat_end(&asked.points, low, &mut good);
    let mut ends = vec![good.first().map_or(0.0, |piece| piece.low)];
    ends.extend(good.iter().map(|piece| piece.high));
    Ok(Found {
        ends,
        coefficients: good.iter().map(|piece| piece.coefficients).collect(),
        errors: good.iter().map(|piece| piece.error).collect(),
    })
}

/// Ends of octaves of `v`: from 0 where the function is finite there, else from the first of them from which on it
/// is.
fn octaves<F: FnMut(&[f64], &mut [f64])>(asked: &mut Asked<F>) -> Result<Vec<f64>, CostError> {
    let width = asked.high - asked.low;
    let least = (4.0 * FINEST * asked.low).max(MOST.recip());
    let mut over: Vec<f64> =
        (0..=OCTAVES).rev().map(|octave| width * 0.5f64.powi(octave)).collect();
    over.retain(|v| *v > least);
    over.insert(0, 0.0);
    let mut values = asked.any_values(&over);
    // Many formulas are no number exactly where they should be infinite.
    if values[0].is_nan() {
        values[0] = f64::INFINITY;
    }
    for (v, &value) in over.iter().zip(&values) {
        if value.is_nan() || value < -LARGEST {
            return Err(CostError::NotFinite { u: asked.low + v, value });
        }
    }
    let first = values.iter().rposition(|value| *value > LARGEST).map_or(0, |last| last + 1);
    if first + 1 >= over.len() {
        let value = values[values.len() - 1];
        return Err(CostError::NotFinite { u: asked.high, value });
    }
    // Next to a pole there is no end of octaves.
    let first = if first > 0 { first.max(over.len().saturating_sub(FROM_POLE)) } else { 0 };
    let (mut over, values) = (over.split_off(first), values.split_off(first));
    asked.points.extend(over.iter().zip(&values).map(|(v, &value)| (asked.low + v, value)));
    asked.last = values[values.len() - 1].abs();
    if over[0] <= 0.0 {
        let size = asked.size(0.0, values[0], 0.0);
        let falls = values.iter().skip(1).position(|value| values[0] - value > FIRST_FALL * size);
        // Nowhere: then its shape says why.
        over.drain(1..=falls.unwrap_or(0).min(over.len() - 2));
    }
    Ok(over)
}

/// Tries pieces: the good ones are kept, of the others the halves come back.
fn halve<F: FnMut(&[f64], &mut [f64])>(
    asked: &mut Asked<F>,
    trials: &[Trial],
    good: &mut Vec<Piece>,
) -> Result<Vec<Trial>, CostError> {
    const EACH: usize = COST + CHECKS.len();
    let mut over = Vec::with_capacity(EACH * trials.len());
    for Trial { low, high, .. } in trials {
        over.extend((0..COST).map(|i| Pieces::<COST>::node((*low, *high), i)));
        over.extend(CHECKS.iter().map(|t| 0.5 * (low + high) + 0.5 * (high - low) * t));
    }
    let values = asked.values(&over)?;
    let mut tried = Vec::with_capacity(trials.len());
    let rows = over.as_chunks::<EACH>().0.iter().zip(values.as_chunks::<EACH>().0);
    for (trial, (over, values)) in trials.iter().zip(rows) {
        tried.push(Tried::new(asked, trial, over, values)?);
    }
    let mut rest = Vec::new();
    // Two halves of one piece follow each other.
    for (pair, trials) in tried.as_chunks::<2>().0.iter().zip(trials.as_chunks::<2>().0) {
        let noise = pair.iter().zip(trials).all(|(tried, trial)| tried.is_noise(trial.before));
        for (tried, &Trial { low, high, .. }) in pair.iter().zip(trials) {
            if tried.enough || noise {
                let Tried { coefficients, error, floor, .. } = *tried;
                good.push(Piece { low, high, coefficients, error: 2.0 * error + floor });
            } else {
                let middle = 0.5 * (low + high);
                rest.push(Trial { low, high: middle, before: tried.relative });
                rest.push(Trial { low: middle, high, before: tried.relative });
            }
        }
    }
    Ok(rest)
}

/// What was found about a piece.
struct Tried {
    coefficients: [f64; COST],
    error: f64,
    /// What rounding alone may leave.
    floor: f64,
    /// The error relative to the cost.
    relative: f64,
    enough: bool,
}

impl Tried {
    fn new<F: FnMut(&[f64], &mut [f64])>(
        asked: &Asked<F>,
        &Trial { low, high, .. }: &Trial,
        over: &[f64],
        values: &[f64],
    ) -> Result<Self, CostError> {
        let mut nodes = [0.0; COST];
        nodes.copy_from_slice(&values[..COST]);
        let coefficients = Pieces::interpolate(&nodes);
        let Some(alone) = Pieces::new(vec![low, high], &[coefficients]) else {
            return Err(CostError::NotFinite { u: asked.low + low, value: nodes[0] });
        };
        let mut error = 0.0f64;
        for (v, value) in over[COST..].iter().zip(&values[COST..]) {
            // Where the place itself was rounded, the function was asked at another.
            let asked_at = (asked.low + v).min(asked.high) - asked.low;
            error = error.max((alone.value_and_slope(asked_at).0 - value).abs());
        }
        let marginal = (nodes[0] - nodes[COST - 1]).max(0.0) / (high - low);
        let scale = nodes[0].abs().min(nodes[COST - 1].abs()) + high * marginal;
        let floor = ROUNDING * asked.size(high, nodes[0], marginal)
            + f64::EPSILON * (asked.low + high) * marginal;
        let least = (asked.high - asked.low) * 0.5f64.powi(HALVINGS);
        let finest = (FINEST * (asked.low + high)).max(least);
        let enough = error <= GOAL * scale + floor || high - low <= 2.0 * finest;
        let relative = error / scale.max(f64::MIN_POSITIVE);
        Ok(Self { coefficients, error, floor, relative, enough })
    }

    /// No better than the piece that it is a half of was, by this error, and as good as it must be.
    fn is_noise(&self, before: f64) -> bool {
        self.relative <= NOISE && self.relative > 0.5 * before
    }
}

/// Refuses values that grow or bend down, beyond rounding.
pub(crate) fn check_shape(points: &mut Vec<(f64, f64)>, low: f64) -> Result<(), CostError> {
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|a, b| a.0 <= b.0);
    let (Some(&first), Some(&last)) = (points.first(), points.last()) else {
        return Err(CostError::Count(0));
    };
    for pair in points.windows(2) {
        let [(a, at_a), (b, at_b)] = [pair[0], pair[1]];
        if at_b - at_a > SHAPE * (at_a.abs() + last.1.abs()) {
            return Err(CostError::NotDecreasing { u: [a, b], value: [at_a, at_b] });
        }
    }
    if first.1 - last.1 <= SHAPE * first.1.abs().max(last.1.abs()) + SMALLEST {
        return Err(CostError::Constant { low: first.0, high: last.0, value: first.1 });
    }
    check_convex(points, low)
}

/// Refuses a point over the line through those around it: its neighbours, and further ones, since what is next to
/// each other may differ by no more than rounding.
fn check_convex(points: &[(f64, f64)], low: f64) -> Result<(), CostError> {
    let last = points.last().map_or(0.0, |point| point.1.abs());
    for reach in [1, 4, 16, 64] {
        for middle in reach..points.len().saturating_sub(reach) {
            let [(a, at_a), (b, at_b), (c, at_c)] =
                [points[middle - reach], points[middle], points[middle + reach]];
            let slope = (at_a - at_c) / (c - a);
            let on_line = at_a - slope * (b - a);
            let size = at_a.abs() + last + (b - low) * slope.abs();
            if at_b - on_line > SHAPE * size + PLACE * b * slope.abs() + SMALLEST {
                return Err(CostError::NotConvex { u: [a, b, c], value: [at_a, at_b, at_c] });
            }
        }
    }
    Ok(())
}

/// Drops the pieces on which the cost no longer falls, as far as its numbers tell.
fn cut_flat_end(points: &[(f64, f64)], low: f64, good: &mut Vec<Piece>) {
    let Some(&(_, least)) = points.last() else { return };
    let flat = |value: f64| value - least <= 2.0 * f64::EPSILON * least.abs() + SMALLEST;
    let first_flat = points.iter().rposition(|point| !flat(point.1)).map_or(0, |last| last + 1);
    if let Some(&(u, value)) = points.get(first_flat) {
        good.retain(|piece| low + piece.low < u);
        // From there on the last value stands for all after it.
        if let Some(last) = good.last_mut() {
            last.error += value - least;
        }
    }
}
