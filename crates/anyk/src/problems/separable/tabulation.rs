//! Tabulation of a function of one variable as polynomials of degree 7 on pieces, from its values only.
//!
//! Points are measured from the start of the range, `v = u − low`. The range is divided into octaves of `v`, so a
//! cost may be singular at `low` (a square root, a pole). First the function is enclosed ([`enclosure`]). Then
//! each piece is halved until the polynomial through its Chebyshev points agrees with all other values. Around a
//! kink, the pieces become as narrow as floating-point numbers allow. All pieces of one depth are evaluated in
//! one call.
//!
//! The error of a piece is a bound, not an estimate. Between two neighbouring points of width `h`, with `p` the
//! polynomial and `f` the function,
//!
//! ```text
//! |p − f| ≤ max(|p − f| at both points) + max|p''|·h²/8 + height of the triangle that encloses f.
//! ```
//!
//! Values are rounded, and the rounding error of a cost can exceed that of its value: in `1 − ln(1 + u)`, the 1
//! is rounded. Differences are therefore compared with `|c(u)| + |c(high)| − v·c'(u)`, see [`Function::size`].

use crate::math::Pieces;
use crate::problems::separable::CostError;
use crate::problems::separable::cost::{COST, MOST};
use crate::problems::separable::enclosure::{self, Point, ROUNDING, SMALLEST, dent, height};

/// Number of octaves below the width of the range that are examined, and maximum number of halvings of the width.
const OCTAVES: i32 = 400;
const HALVINGS: i32 = 500;
/// Number of octaves that are kept if the cost is infinite at `low`: 30 decades.
const FROM_POLE: usize = 100;
/// Minimum width of a piece, relative to its point.
const FINEST: f64 = 256.0 * f64::EPSILON;
/// Minimum fall of the cost from `low` to the end of its first piece, as a share of its size. A smaller fall
/// would leave a slope made of rounding errors.
const FIRST_FALL: f64 = 1e-3;
/// Goal for the difference between polynomial and values, in units of `|c| − v·c'`.
const GOAL: f64 = 1e-12;
/// Difference below which a piece counts as limited by the function's own accuracy if halving improves neither half.
/// Around a kink, halving improves one half.
const NOISE: f64 = 1e-9;
/// Maximum violation of convexity or monotonicity, as a share of the cost's size.
const SHAPE: f64 = 1e-11;
/// Rounding error of a point that a function may ignore.
const PLACE: f64 = 64.0 * f64::EPSILON;
/// Magnitude beyond which values count as infinite.
const LARGEST: f64 = 1e100;
/// Maximum number of pieces.
const MOST_PIECES: usize = 20_000;
/// Points between its zeros where `|T_8|`, and thus the error, is largest: cos(π/8), cos(π/4), cos(3π/8), 0.
const CHECKS: [f64; 7] = [
    -0.923_879_532_511_286_7,
    -std::f64::consts::FRAC_1_SQRT_2,
    -0.382_683_432_365_089_8,
    0.0,
    0.382_683_432_365_089_8,
    std::f64::consts::FRAC_1_SQRT_2,
    0.923_879_532_511_286_7,
];

/// Data of a table.
pub(crate) struct Found {
    pub(crate) ends: Vec<f64>,
    pub(crate) coefficients: Vec<[f64; COST]>,
    pub(crate) errors: Vec<f64>,
}

/// Candidate for a piece.
struct Trial {
    low: f64,
    high: f64,
    /// Relative error of the piece that was halved.
    before: f64,
}

/// Piece that is accurate enough.
struct Piece {
    low: f64,
    high: f64,
    coefficients: [f64; COST],
}

/// Function that is tabulated.
pub(crate) struct Function<F> {
    f: F,
    /// Start of the range.
    pub(crate) low: f64,
    high: f64,
    /// `|c(high)|`.
    pub(crate) last: f64,
}

impl<F> Function<F> {
    /// Returns the scale for differences of values around `v`, given the value and `−c'` at `v`.
    fn size(&self, v: f64, value: f64, marginal: f64) -> f64 {
        value.abs() + self.last + v * marginal
    }

    /// Returns a bound on the rounding error of a value, given `−c'` at its point.
    fn rounding(&self, (u, value): Point, marginal: f64) -> f64 {
        ROUNDING * self.size(u - self.low, value, marginal) + f64::EPSILON * u * marginal
    }

    /// Returns the minimum width of an interval or a piece that ends at `u`.
    pub(crate) fn finest(&self, u: f64) -> f64 {
        (FINEST * u).max((self.high - self.low) * 0.5f64.powi(HALVINGS))
    }
}

impl<F: FnMut(&[f64], &mut [f64])> Function<F> {
    /// Evaluates the function at `places`; returns an error if a value is not finite.
    pub(crate) fn points(&mut self, places: Vec<f64>) -> Result<Vec<Point>, CostError> {
        let values = self.values(&places);
        for (&u, &value) in places.iter().zip(&values) {
            if !(-LARGEST..=LARGEST).contains(&value) {
                return Err(CostError::NotFinite { u, value });
            }
        }
        Ok(places.into_iter().zip(values).collect())
    }

    fn values(&mut self, places: &[f64]) -> Vec<f64> {
        let mut values = vec![f64::NAN; places.len()];
        (self.f)(places, &mut values);
        values
    }

    /// Returns the point at `v` above the start of the range.
    fn place(&self, v: f64) -> f64 {
        (self.low + v).min(self.high)
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
    let mut function = Function { f, low, high, last: 0.0 };
    let ends = octaves(&mut function)?;
    let places = ends.iter().map(|v| function.place(*v)).collect();
    let mut points = enclosure::refine(&mut function, places)?;
    let mut trials: Vec<Trial> = Vec::new();
    for pair in ends.windows(2) {
        let middle = 0.5 * (pair[0] + pair[1]);
        trials.push(Trial { low: pair[0], high: middle, before: f64::INFINITY });
        trials.push(Trial { low: middle, high: pair[1], before: f64::INFINITY });
    }
    let (mut good, mut more) = (Vec::new(), Vec::new());
    while !trials.is_empty() {
        trials = halve(&mut function, &points, &trials, &mut good, &mut more)?;
        if good.len() + trials.len() > MOST_PIECES {
            points.append(&mut more);
            enclosure::sort(&mut points);
            check_shape(&points, low)?;
            return Err(CostError::Rough { most: MOST_PIECES });
        }
    }
    good.sort_by(|a, b| a.low.total_cmp(&b.low));
    points.append(&mut more);
    points.extend(function.points(good.iter().map(|piece| function.place(piece.high)).collect())?);
    enclosure::sort(&mut points);
    check_shape(&points, low)?;
    let beyond = cut_flat_end(&points, low, &mut good);
    let mut errors: Vec<f64> =
        good.iter().map(|piece| error_of(&function, &points, piece)).collect();
    if let Some(last) = errors.last_mut() {
        *last += beyond;
    }
    let mut ends = vec![good.first().map_or(0.0, |piece| piece.low)];
    ends.extend(good.iter().map(|piece| piece.high));
    Ok(Found { ends, coefficients: good.iter().map(|piece| piece.coefficients).collect(), errors })
}

/// Returns a bound on the difference between a piece's polynomial and the function; see the module header.
fn error_of<F>(function: &Function<F>, points: &[Point], piece: &Piece) -> f64 {
    let polynomial = Polynomial::new(piece);
    let curvature = polynomial.most_curvature();
    let range = within(points, function.low + piece.low, function.low + piece.high);
    let marginal = |index: usize| {
        let [from, to] = [points[index], points[index + 1]];
        ((from.1 - to.1) / (to.0 - from.0)).max(0.0)
    };
    let mut noise = 0.0f64;
    for index in range.clone() {
        // Points that are not convex show the error of the function's values.
        let steepest = marginal(index.min(points.len() - 2)).max(marginal(index.max(1) - 1));
        noise = noise.max(function.rounding(points[index], steepest) + dent(points, index));
    }
    let off = |(u, value): Point| (polynomial.at(u - function.low) - value).abs();
    let mut error = 0.0f64;
    for index in range.start..range.end.saturating_sub(1) {
        let [from, to] = [points[index], points[index + 1]];
        let bend = curvature * (to.0 - from.0).powi(2) / 8.0;
        error = error.max(off(from).max(off(to)) + bend + height(points, index, noise));
    }
    error
}

/// Returns the indices of the points of an interval.
fn within(points: &[Point], from: f64, to: f64) -> std::ops::Range<usize> {
    points.partition_point(|point| point.0 < from)..points.partition_point(|point| point.0 <= to)
}

/// Returns the ends of octaves of `v`. They start at 0 if the function is finite at 0, otherwise at the first octave
/// from which the function is finite up to the end.
fn octaves<F: FnMut(&[f64], &mut [f64])>(
    function: &mut Function<F>,
) -> Result<Vec<f64>, CostError> {
    let width = function.high - function.low;
    let least = (4.0 * FINEST * function.low).max(MOST.recip());
    let mut over: Vec<f64> =
        (0..=OCTAVES).rev().map(|octave| width * 0.5f64.powi(octave)).collect();
    over.retain(|v| *v > least);
    over.insert(0, 0.0);
    let places: Vec<f64> = over.iter().map(|v| function.place(*v)).collect();
    let mut values = function.values(&places);
    // Many formulas return NaN exactly where they should be infinite.
    if values[0].is_nan() {
        values[0] = f64::INFINITY;
    }
    for (&u, &value) in places.iter().zip(&values) {
        if value.is_nan() || value < -LARGEST {
            return Err(CostError::NotFinite { u, value });
        }
    }
    let first = values.iter().rposition(|value| *value > LARGEST).map_or(0, |last| last + 1);
    if first + 1 >= over.len() {
        let value = values[values.len() - 1];
        return Err(CostError::NotFinite { u: function.high, value });
    }
    // Next to a pole, the number of octaves must be limited.
    let first = if first > 0 { first.max(over.len().saturating_sub(FROM_POLE)) } else { 0 };
    let (mut over, values) = (over.split_off(first), values.split_off(first));
    function.last = values[values.len() - 1].abs();
    if over[0] <= 0.0 {
        let size = function.size(0.0, values[0], 0.0);
        let falls = values.iter().skip(1).position(|value| values[0] - value > FIRST_FALL * size);
        // If the function falls nowhere, the check of its shape reports why.
        over.drain(1..=falls.unwrap_or(0).min(over.len() - 2));
    }
    Ok(over)
}

/// Tries pieces, keeps the accurate ones, and returns the halves of the others. `points` are the points of
/// the enclosure; `more` collects the points of the pieces.
fn halve<F: FnMut(&[f64], &mut [f64])>(
    function: &mut Function<F>,
    points: &[Point],
    trials: &[Trial],
    good: &mut Vec<Piece>,
    more: &mut Vec<Point>,
) -> Result<Vec<Trial>, CostError> {
    const EACH: usize = COST + CHECKS.len();
    let mut places = Vec::with_capacity(EACH * trials.len());
    for Trial { low, high, .. } in trials {
        let nodes = (0..COST).map(|i| Pieces::<COST>::node((*low, *high), i));
        let checks = CHECKS.iter().map(|t| 0.5 * (low + high) + 0.5 * (high - low) * t);
        places.extend(nodes.chain(checks).map(|v| function.place(v)));
    }
    let new = function.points(places)?;
    let tried: Vec<Tried> = trials
        .iter()
        .zip(new.as_chunks::<EACH>().0)
        .map(|(trial, own)| Tried::new(function, trial, own, points))
        .collect();
    more.extend(new);
    let mut rest = Vec::new();
    // The two halves of a piece are adjacent.
    for (pair, trials) in tried.as_chunks::<2>().0.iter().zip(trials.as_chunks::<2>().0) {
        let noise = pair.iter().zip(trials).all(|(tried, trial)| tried.is_noise(trial.before));
        for (tried, &Trial { low, high, .. }) in pair.iter().zip(trials) {
            if tried.enough || noise {
                good.push(Piece { low, high, coefficients: tried.coefficients });
            } else {
                let middle = 0.5 * (low + high);
                rest.push(Trial { low, high: middle, before: tried.relative });
                rest.push(Trial { low: middle, high, before: tried.relative });
            }
        }
    }
    Ok(rest)
}

/// Polynomial on a piece.
struct Polynomial<'a> {
    centre: f64,
    per_half_width: f64,
    coefficients: &'a [f64; COST],
}

impl<'a> Polynomial<'a> {
    fn new(piece: &'a Piece) -> Self {
        Self {
            centre: 0.5 * (piece.low + piece.high),
            per_half_width: 2.0 / (piece.high - piece.low),
            coefficients: &piece.coefficients,
        }
    }

    fn at(&self, v: f64) -> f64 {
        let t = (v - self.centre) * self.per_half_width;
        self.coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * t + coefficient)
    }

    /// Returns a bound on the second derivative on the piece, since `|t| ≤ 1`.
    fn most_curvature(&self) -> f64 {
        let terms = self.coefficients.iter().enumerate();
        let sum: f64 =
            terms.map(|(power, c)| (power * power.max(1) - power) as f64 * c.abs()).sum();
        sum * self.per_half_width * self.per_half_width
    }
}

/// Result of trying a piece.
struct Tried {
    coefficients: [f64; COST],
    /// Difference from the values, relative to the cost.
    relative: f64,
    enough: bool,
}

impl Tried {
    fn new<F>(
        function: &Function<F>,
        &Trial { low, high, .. }: &Trial,
        own: &[Point; COST + CHECKS.len()],
        points: &[Point],
    ) -> Self {
        let mut nodes = [0.0; COST];
        for (node, point) in nodes.iter_mut().zip(own) {
            *node = point.1;
        }
        let piece = Piece { low, high, coefficients: Pieces::interpolate(&nodes) };
        let polynomial = Polynomial::new(&piece);
        let off = |(u, value): &Point| (polynomial.at(u - function.low) - value).abs();
        let marginal = (nodes[0] - nodes[COST - 1]).max(0.0) / (high - low);
        let scale = nodes[0].abs().min(nodes[COST - 1].abs()) + high * marginal;
        let goal = GOAL * scale + function.rounding((function.low + high, nodes[0]), marginal);
        let mut error = own[COST..].iter().map(off).fold(0.0, f64::max);
        if error <= goal {
            let inside = within(points, function.low + low, function.low + high);
            error = points[inside].iter().map(off).fold(error, f64::max);
        }
        let enough = error <= goal || high - low <= 2.0 * function.finest(function.low + high);
        let relative = error / scale.max(f64::MIN_POSITIVE);
        Self { coefficients: piece.coefficients, relative, enough }
    }

    /// Returns whether a half is no more accurate than its parent, whose relative error is `before`, and accurate
    /// enough.
    fn is_noise(&self, before: f64) -> bool {
        self.relative <= NOISE && self.relative > 0.5 * before
    }
}

/// Rejects points, in ascending order, whose values increase or are not convex, beyond rounding.
pub(crate) fn check_shape(points: &[Point], low: f64) -> Result<(), CostError> {
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

/// Rejects a point above the line through points around it: its neighbours, and more distant ones, since
/// neighbours may differ only by rounding.
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

/// Drops the pieces on which the cost no longer falls, as far as its values show. Returns by how much the cost may
/// still fall after the last piece.
fn cut_flat_end(points: &[Point], low: f64, good: &mut Vec<Piece>) -> f64 {
    let Some(&(_, least)) = points.last() else { return 0.0 };
    let flat = |value: f64| value - least <= 2.0 * f64::EPSILON * least.abs() + SMALLEST;
    let first_flat = points.iter().rposition(|point| !flat(point.1)).map_or(0, |last| last + 1);
    let Some(&(u, value)) = points.get(first_flat) else { return 0.0 };
    good.retain(|piece| low + piece.low < u);
    value - least
}
