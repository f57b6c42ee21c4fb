//! Cost of one user, `c(u)`, as a table: decreasing and convex, with its marginal value and the response to a
//! price.
//!
//! Every cost is stored as polynomials on pieces: of degree 7 for a function ([`tabulation`]), of degree 2 for
//! samples ([`samples`]). Solver, judge and files use only the pieces. A second table, computed from the first,
//! is the response to a price `q`: the `u` at which `−c'(u) = q`.

use thiserror::Error;

use crate::math::{Pieces, root};
use crate::problems::separable::{samples, tabulation};

/// Number of coefficients on a piece of the cost and of the response.
pub(crate) const COST: usize = 8;
const RESPONSE: usize = 6;
/// Relative error of the response up to which its pieces are halved. Its effect on the objective is of second
/// order.
const RESPONSE_GOAL: f64 = 1e-9;
const RESPONSE_HALVINGS: u32 = 8;

/// Decreasing, convex cost `c(u)` on `[low, high]`.
///
/// Every user gets at least `low` (0 for most costs), since a smaller amount does not serve a user. If `c(low)` is
/// infinite or NaN, the range begins slightly above it; see [`Cost::range`]. Beyond `high` the cost counts as constant,
/// and no user gets more. If the cost stops falling before `high`, the range ends there.
///
/// ```
/// use anyk::problems::separable::Cost;
/// // Rates in nat: the cost is the negative rate.
/// let cost = Cost::from_fn((0.0, 1e4), |u| -u.ln_1p())?;
/// assert!((cost.value(9.0) + 10f64.ln()).abs() < 1e-11);
/// assert!((cost.marginal(9.0) - 0.1).abs() < 1e-10);
/// assert!((cost.response(0.1) - 9.0).abs() < 1e-7);
/// // The first bit is worth 1: at a higher price, the best amount is 0.
/// assert_eq!(cost.response(1.001), 0.0);
/// // A cost that is not convex is rejected, and the message names the points.
/// let error = Cost::from_fn((0.0, 3.0), |u| u.cos()).unwrap_err();
/// assert!(error.to_string().contains("not convex"));
/// # Ok::<(), anyk::problems::separable::CostError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// Start of the range, from which the pieces measure their points.
    low: f64,
    /// Pieces of `c(low + v)`.
    pieces: Pieces<COST>,
    /// Bound on the error of each piece.
    errors: Vec<f64>,
    /// Clear distance of each piece, see [`Cost::clear_distance`].
    clear: Vec<f64>,
    /// Best `v` at a price; `None` if the cost is a straight line.
    response: Option<Pieces<RESPONSE>>,
    /// Marginal values `−c'` at the first and the last point.
    marginals: (f64, f64),
    between_samples: Option<f64>,
}

/// Reason why a function or samples are not a valid cost.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CostError {
    /// Invalid range.
    #[error("the range of the cost is {low} to {high}, expected ascending numbers from 0 to 1e100")]
    Range {
        /// Start of the range.
        low: f64,
        /// End of the range.
        high: f64,
    },
    /// Value that is NaN or infinite.
    #[error(
        "the cost at u = {u} is {value}, expected a finite number (infinite only if u is too small)"
    )]
    NotFinite {
        /// Point.
        u: f64,
        /// Value at the point.
        value: f64,
    },
    /// Cost that increases.
    #[error(
        "the cost is not decreasing: {} at u = {}, but {} at u = {}",
        .value[0], .u[0], .value[1], .u[1]
    )]
    NotDecreasing {
        /// Two points, ascending.
        u: [f64; 2],
        /// Values at the points.
        value: [f64; 2],
    },
    /// Cost that is not convex.
    #[error(
        "the cost is not convex: at u = {}, {} and {} it is {}, {} and {}, the second lies above the line through the \
         others",
        .u[0], .u[1], .u[2], .value[0], .value[1], .value[2]
    )]
    NotConvex {
        /// Three points, ascending.
        u: [f64; 3],
        /// Values at the points.
        value: [f64; 3],
    },
    /// Cost that is constant.
    #[error("the cost is {value} from u = {low} to u = {high}, expected a decreasing cost")]
    Constant {
        /// Start of the range.
        low: f64,
        /// End of the range.
        high: f64,
        /// Value everywhere.
        value: f64,
    },
    /// Number of samples that is less than two or too large.
    #[error("there are {0} samples of the cost, expected 2 to 1e6")]
    Count(usize),
    /// Two samples at one point.
    #[error("there are two samples of the cost at u = {u}, with values {} and {}", .value[0], .value[1])]
    Duplicate {
        /// Point.
        u: f64,
        /// Values.
        value: [f64; 2],
    },
    /// Function with too many bends for a table.
    #[error(
        "the cost needs more than {most} pieces for an accuracy of 1e-9, expected a smoother cost or a shorter range"
    )]
    Rough {
        /// Maximum number of pieces.
        most: usize,
    },
    /// Invalid pieces in a file.
    #[error("the pieces of the cost are invalid: {0}")]
    Pieces(&'static str),
}

impl Cost {
    /// Tabulates a function on a range. Evaluates the function once at each of 2,000 to 2 million points; if that takes
    /// too long, use [`Cost::from_samples`].
    pub fn from_fn(range: (f64, f64), f: impl Fn(f64) -> f64) -> Result<Self, CostError> {
        Self::from_batched(range, |places, values| {
            for (u, value) in places.iter().zip(values) {
                *value = f(*u);
            }
        })
    }

    /// Tabulates a function that evaluates many points in one call. Calls the function a few dozen times.
    pub fn from_batched(
        range: (f64, f64),
        f: impl FnMut(&[f64], &mut [f64]),
    ) -> Result<Self, CostError> {
        let found = tabulation::tabulate(range, f)?;
        Self::from_pieces(range.0, found.ends, &found.coefficients, found.errors)
    }

    /// Interpolates samples `(u_i, c_i)` in any order. The cost passes through all of them. Between two samples it
    /// consists of two parabolas, and its slope at a sample lies between the slopes of the lines to both neighbours.
    /// [`Cost::between_samples`] bounds the difference to other convex costs through the same samples.
    pub fn from_samples(samples: &[(f64, f64)]) -> Result<Self, CostError> {
        let found = samples::interpolate(samples)?;
        let mut cost = Self::from_pieces(found.low, found.ends, &found.coefficients, found.errors)?;
        cost.between_samples = Some(found.between);
        Ok(cost)
    }

    /// Builds a cost from pieces: their ends relative to `low`, coefficients and error bounds.
    pub(crate) fn from_pieces(
        low: f64,
        ends: Vec<f64>,
        coefficients: &[[f64; COST]],
        errors: Vec<f64>,
    ) -> Result<Self, CostError> {
        let last = ends.last().copied().unwrap_or(0.0);
        if !(low >= 0.0 && low + last <= MOST) {
            return Err(CostError::Range { low, high: low + last });
        }
        if errors.len() != coefficients.len() || !errors.iter().all(|e| *e >= 0.0 && e.is_finite())
        {
            return Err(CostError::Pieces("expected one error bound per piece"));
        }
        let pieces = Pieces::new(ends, coefficients)
            .ok_or(CostError::Pieces("expected finite numbers and ascending ends"))?;
        let marginals = marginals_at_ends(&pieces, &errors);
        let response = response(&pieces, &marginals);
        let marginals = (marginals[0], marginals[marginals.len() - 1]);
        if !(marginals.0 > 0.0 && marginals.0.is_finite()) {
            return Err(CostError::Pieces("expected a cost that decreases"));
        }
        let clear = clear_distances(&pieces, &errors);
        Ok(Self { low, pieces, errors, clear, response, marginals, between_samples: None })
    }

    /// Returns the arguments of [`Cost::from_pieces`].
    pub(crate) fn parts(&self) -> (f64, &[f64], impl Iterator<Item = &[f64; COST]>, &[f64]) {
        let coefficients = (0..self.pieces.len()).map(|piece| self.pieces.coefficients(piece));
        (self.low, self.pieces.ends(), coefficients, &self.errors)
    }

    /// Returns the table as one list of numbers, from which [`Cost::from_values`] builds the same cost.
    pub fn to_values(&self) -> Vec<f64> {
        let (low, ends, coefficients, errors) = self.parts();
        let mut all = vec![low, self.between_samples.unwrap_or(f64::NAN)];
        all.extend(ends);
        all.extend(coefficients.flatten());
        all.extend(errors);
        all
    }

    /// Builds a cost from the numbers of [`Cost::to_values`].
    pub fn from_values(values: &[f64]) -> Result<Self, CostError> {
        let wrong = CostError::Pieces("expected the numbers of a table");
        let [low, between, start, rest @ ..] = values else { return Err(wrong) };
        // A piece has an end, its coefficients and an error bound.
        let count = rest.len() / (COST + 2);
        if rest.len() != count * (COST + 2) {
            return Err(wrong);
        }
        let (ends, rest) = rest.split_at(count);
        let ends = [&[*start], ends].concat();
        let (coefficients, errors) = rest.split_at(count * COST);
        let (coefficients, _) = coefficients.as_chunks::<COST>();
        let mut cost = Self::from_pieces(*low, ends, coefficients, errors.to_vec())?;
        cost.between_samples = Some(*between).filter(|between| !between.is_nan());
        Ok(cost)
    }

    /// Returns the smallest and largest amount that a user gets: usually `low` and `high`. If `c(low)` is infinite, the
    /// range starts at the first point of a grid of powers of two (at least 30 decades below the width) at which the
    /// cost is at most 1e100. If the cost is constant at its end, the range ends where it becomes constant.
    pub fn range(&self) -> (f64, f64) {
        let (first, last) = self.pieces.range();
        (self.low + first, self.low + last)
    }

    /// Returns `c(u)`: infinite below the range, constant beyond it.
    pub fn value(&self, u: f64) -> f64 {
        if u < self.range().0 * (1.0 - 1e-12) {
            return f64::INFINITY;
        }
        self.at_over(u - self.low).0
    }

    /// Returns `−c'(u)`, the value of a small additional amount; 0 beyond the range.
    pub fn marginal(&self, u: f64) -> f64 {
        self.at_over(u - self.low).1
    }

    /// Returns the `u` that minimizes `c(u) + price·u`.
    pub fn response(&self, price: f64) -> f64 {
        self.low + self.respond(price).0
    }

    /// Returns a bound on the error of the value, relative to `|c| + |c(high)| − v·c'`. The cost of each piece is taken
    /// at half the distance `v = u − low` of its end, where a cost that ends at 0 is not yet 0.
    ///
    /// For a function, the bound holds for every convex function that has the same values, up to rounding, at the
    /// points at which this one was evaluated. For samples, it is the rounding error at the samples.
    pub fn error_bound(&self) -> f64 {
        let last = self.at_over(self.pieces.range().1).0.abs();
        let of_piece = |(pair, error): (&[f64], &f64)| {
            let half = (0.5 * pair[1]).max(self.pieces.range().0);
            let (value, marginal) = self.at_over(half);
            error / (value.abs() + last + half * marginal + NOTHING)
        };
        self.pieces.ends().windows(2).zip(&self.errors).map(of_piece).fold(0.0, f64::max)
    }

    /// Returns a bound on the error of the value at `u`.
    pub fn error_at(&self, u: f64) -> f64 {
        self.error_over(u - self.low)
    }

    /// Returns the maximum difference to any other convex, decreasing cost through the same samples, relative to the
    /// range of the values; only for a cost from samples.
    pub fn between_samples(&self) -> Option<f64> {
        self.between_samples
    }

    /// Returns the start of the range, from which points are measured.
    pub(crate) fn low(&self) -> f64 {
        self.low
    }

    /// Returns a bound on the error of the value at `low + v`.
    #[inline]
    pub(crate) fn error_over(&self, v: f64) -> f64 {
        self.errors[self.pieces.piece_of(v)]
    }

    /// Returns the index of the piece that contains `low + v`.
    #[inline]
    pub(crate) fn piece_of(&self, v: f64) -> usize {
        self.pieces.piece_of(v)
    }

    /// Returns a lower and an upper bound on the value at `low + v`, given a piece that may contain it.
    #[inline]
    pub(crate) fn enclosed(&self, near: usize, v: f64) -> (f64, f64) {
        let ends = self.pieces.ends();
        let inside = ends[near] <= v && v <= ends[near + 1];
        let piece = if inside { near } else { self.pieces.piece_of(v) };
        let value = self.pieces.on_piece(piece, v).0;
        (value - self.errors[piece], value + self.errors[piece])
    }

    /// Returns the distance at which the value clearly differs from a tangent: `c''·d²` is a few times the error. The
    /// distance is at most the width of the piece.
    #[inline]
    pub(crate) fn clear_distance(&self, piece: usize) -> f64 {
        self.clear[piece]
    }

    /// Returns the smallest and largest `v = u − low`.
    #[inline]
    pub(crate) fn over_range(&self) -> (f64, f64) {
        self.pieces.range()
    }

    /// Returns the marginal values `−c'` at the start and the end of the range.
    pub(crate) fn marginals(&self) -> (f64, f64) {
        self.marginals
    }

    /// Returns `c` and `−c'` at `low + v`.
    #[inline]
    pub(crate) fn at_over(&self, v: f64) -> (f64, f64) {
        let last = self.pieces.range().1;
        let (value, slope) = self.pieces.value_and_slope(v.min(last));
        (value, if v > last { 0.0 } else { (-slope).max(0.0) })
    }

    /// Returns `v` at a price and its derivative with respect to the price.
    #[inline]
    pub(crate) fn respond(&self, price: f64) -> (f64, f64) {
        let (first, last) = self.pieces.range();
        if price >= self.marginals.0 {
            return (first, 0.0);
        }
        match &self.response {
            Some(response) if price > response.range().0 => {
                let (v, slope) = response.value_and_slope(price);
                (v.min(last).max(first), slope.min(0.0))
            }
            _ => (last, 0.0),
        }
    }

    /// Returns the lowest positive price at which the best amount is less than the whole range.
    pub(crate) fn lowest_price(&self) -> f64 {
        let lowest = self.response.as_ref().map_or(self.marginals.1, |response| {
            let ends = response.ends();
            if ends[0] > 0.0 { ends[0] } else { 1e-30 * ends[1] }
        });
        if lowest > 0.0 { lowest } else { self.marginals.0 }
    }
}

/// Magnitude below which values count as 0 when errors are compared with them.
const NOTHING: f64 = 1e-200;
/// Largest point.
pub(crate) const MOST: f64 = 1e100;

/// Computes `−c'` at the ends of the pieces as a sequence that never increases.
///
/// The slope of a piece is as accurate as its values divided by its width, so each end uses the more accurate of
/// its two pieces. If rounding still leaves slopes that increase, for example around a kink, their weighted mean
/// replaces them. The weights follow the accuracy, so the result is the nearest sequence that does not increase.
fn marginals_at_ends(pieces: &Pieces<COST>, errors: &[f64]) -> Vec<f64> {
    let ends = pieces.ends();
    let noise = |piece: usize| errors[piece] / (ends[piece + 1] - ends[piece]);
    // Mean, weight and number of ends that share it.
    let mut blocks: Vec<(f64, f64, usize)> = Vec::with_capacity(ends.len());
    for (index, &end) in ends.iter().enumerate() {
        let (left, right) = (index.max(1) - 1, index.min(pieces.len() - 1));
        let piece = if noise(left) < noise(right) { left } else { right };
        // If the error is 0, assume a rounding error.
        let own = noise(piece).max(f64::MIN_POSITIVE.sqrt());
        let mut block = (-pieces.on_piece(piece, end).1, own.powi(-2).min(1e200), 1);
        while let Some(before) = blocks.pop_if(|before| before.0 < block.0) {
            let weight = before.1 + block.1;
            let mean = before.0 + (block.0 - before.0) * (block.1 / weight);
            block = (mean, weight, before.2 + block.2);
        }
        blocks.push(block);
    }
    let each = |(mean, _, count): (f64, f64, usize)| std::iter::repeat_n(mean.max(0.0), count);
    blocks.into_iter().flat_map(each).collect()
}

fn clear_distances(pieces: &Pieces<COST>, errors: &[f64]) -> Vec<f64> {
    let of_piece = |(piece, (pair, error)): (usize, (&[f64], &f64))| {
        let curvature = pieces.curvature_on_piece(piece, 0.5 * (pair[0] + pair[1]));
        (2.1 * (error / curvature.max(f64::MIN_POSITIVE)).sqrt()).min(pair[1] - pair[0])
    };
    pieces.ends().windows(2).zip(errors).enumerate().map(of_piece).collect()
}

/// Inverts `−c'`, from the last piece to the first. A straight piece becomes a jump between its neighbours.
fn response(pieces: &Pieces<COST>, marginals: &[f64]) -> Option<Pieces<RESPONSE>> {
    let (mut ends, mut coefficients) = (Vec::new(), Vec::new());
    for piece in (0..pieces.len()).rev() {
        // Start at the end of the previous piece, since prices must not have a gap where the slope jumps
        // slightly.
        let (low, high) = (ends.last().copied().unwrap_or(marginals[piece + 1]), marginals[piece]);
        // Skip a piece whose slopes differ only by rounding.
        if high - low <= 1e-14 * high {
            continue;
        }
        if ends.is_empty() {
            ends.push(low);
        }
        halve(pieces, piece, (low, high), RESPONSE_HALVINGS, &mut ends, &mut coefficients);
    }
    Pieces::new(ends, &coefficients)
}

/// Adds the response on the prices of one piece, halved until it is accurate.
fn halve(
    pieces: &Pieces<COST>,
    piece: usize,
    (low, high): (f64, f64),
    halvings: u32,
    ends: &mut Vec<f64>,
    coefficients: &mut Vec<[f64; RESPONSE]>,
) {
    let (first, last) = (pieces.ends()[piece], pieces.ends()[piece + 1]);
    let mut near = last;
    let mut inverse = |price: f64| {
        near = root::increasing((first, last), near, 1e-14 * last, |v| {
            (price + pieces.on_piece(piece, v).1, pieces.curvature_on_piece(piece, v))
        });
        near
    };
    let mut values = [0.0; RESPONSE];
    for (i, value) in values.iter_mut().enumerate() {
        *value = inverse(Pieces::<RESPONSE>::node((low, high), i));
    }
    let own = Pieces::interpolate(&values);
    let middle = 0.5 * (low + high);
    if halvings > 0 && middle > low && middle < high {
        let alone = Pieces::new(vec![low, high], &[own]);
        // Points between its zeros at which |T_6| = 1.
        let off =
            [-0.866_025_403_784_438_6, -0.5, 0.0, 0.5, 0.866_025_403_784_438_6].iter().any(|t| {
                let price = middle + 0.5 * (high - low) * t;
                alone.as_ref().is_none_or(|alone| {
                    (alone.value_and_slope(price).0 - inverse(price)).abs() > RESPONSE_GOAL * last
                })
            });
        if off {
            halve(pieces, piece, (low, middle), halvings - 1, ends, coefficients);
            halve(pieces, piece, (middle, high), halvings - 1, ends, coefficients);
            return;
        }
    }
    ends.push(high);
    coefficients.push(own);
}
