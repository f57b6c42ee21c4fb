//! The cost of one user, `c(u)`, as a table: decreasing, convex, with what it brings at the margin and the answer
//! to a price.
//!
//! Whatever it was made from, a cost is polynomials on pieces: of degree 7 where it is a function
//! ([`tabulation`]), of degree 2 where it is samples
//! ([`samples`]). Solver, judge and files know the pieces alone. A second
//! table, made from the first, is the response to a price `q`: the `u` at which `−c'(u) = q`.

use thiserror::Error;

use crate::math::{Pieces, root};
use crate::problems::separable::{samples, tabulation};

/// Coefficients on a piece of the cost, and of the response.
pub(crate) const COST: usize = 8;
const RESPONSE: usize = 6;
/// Relative error of the response, which its pieces are halved for: what is lost by it is of the second order.
const RESPONSE_GOAL: f64 = 1e-9;
const RESPONSE_HALVINGS: u32 = 8;

/// A decreasing, convex cost `c(u)` on `[low, high]`.
///
/// Under `low` nothing serves: every user gets at least that (0 for most costs). Where `c(low)` is infinite, the
/// range begins a little over it (so it does where `c(low)` is no number); see [`Cost::range`]. Beyond `high` the cost
/// is taken as flat: nobody gets more. So is a cost that no longer falls: its range ends there.
///
/// ```
/// use anyk::problems::separable::Cost;
/// // Rates in nat: the cost is what is not transmitted.
/// let cost = Cost::from_fn((0.0, 1e4), |u| -u.ln_1p())?;
/// assert!((cost.value(9.0) + 10f64.ln()).abs() < 1e-11);
/// assert!((cost.marginal(9.0) - 0.1).abs() < 1e-10);
/// assert!((cost.response(0.1) - 9.0).abs() < 1e-7);
/// // The first bit is worth 1: at a price over that, nothing is the best.
/// assert_eq!(cost.response(1.001), 0.0);
/// // What is not convex is refused, and the message says where.
/// let error = Cost::from_fn((0.0, 3.0), |u| u.cos()).unwrap_err();
/// assert!(error.to_string().contains("not convex"));
/// # Ok::<(), anyk::problems::separable::CostError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// What the pieces' places are measured from.
    low: f64,
    /// `c(low + v)`.
    pieces: Pieces<COST>,
    /// Bound on the error of each piece.
    errors: Vec<f64>,
    /// See [`Cost::clear_distance`].
    clear: Vec<f64>,
    /// `v` at a price; none where the cost is a straight line.
    response: Option<Pieces<RESPONSE>>,
    /// `−c'` at the first place and at the last.
    marginals: (f64, f64),
    between_samples: Option<f64>,
}

/// Why something is no cost.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CostError {
    /// No range.
    #[error(
        "the range of the cost is {low} to {high}, expected 0 or more to a larger number up to 1e100"
    )]
    Range {
        /// Its begin.
        low: f64,
        /// Its end.
        high: f64,
    },
    /// A value that is no number.
    #[error(
        "the cost at u = {u} is {value}, expected a finite number (infinite only where u is too little)"
    )]
    NotFinite {
        /// Where.
        u: f64,
        /// What it is there.
        value: f64,
    },
    /// It grows.
    #[error(
        "the cost is not decreasing: {} at u = {}, but {} at u = {}",
        .value[0], .u[0], .value[1], .u[1]
    )]
    NotDecreasing {
        /// Two places, ascending.
        u: [f64; 2],
        /// The values there.
        value: [f64; 2],
    },
    /// It bends down.
    #[error(
        "the cost is not convex: at u = {}, {} and {} it is {}, {} and {}, the second over the line through the \
         others",
        .u[0], .u[1], .u[2], .value[0], .value[1], .value[2]
    )]
    NotConvex {
        /// Three places, ascending.
        u: [f64; 3],
        /// The values there.
        value: [f64; 3],
    },
    /// It is the same everywhere.
    #[error("the cost is {value} from u = {low} to u = {high}, expected one that decreases")]
    Constant {
        /// Its begin.
        low: f64,
        /// Its end.
        high: f64,
        /// The value.
        value: f64,
    },
    /// No more than one sample.
    #[error("there are {0} samples of the cost, expected 2 to 1e6")]
    Count(usize),
    /// Two samples at one place.
    #[error("there are two samples of the cost at u = {u}, with values {} and {}", .value[0], .value[1])]
    Duplicate {
        /// The place.
        u: f64,
        /// The values.
        value: [f64; 2],
    },
    /// A function that bends too often for a table.
    #[error(
        "the cost takes more than {most} pieces to be known to 1e-9, expected a smoother one or a shorter range"
    )]
    Rough {
        /// Most pieces.
        most: usize,
    },
    /// The pieces of a file.
    #[error("the pieces of the cost are none: {0}")]
    Pieces(&'static str),
}

impl Cost {
    /// Tabulates a function on a range. It evaluates the function at 10,000 to a million points, once; for a function
    /// that is too slow for that, use [`Cost::from_samples`].
    pub fn from_fn(range: (f64, f64), f: impl Fn(f64) -> f64) -> Result<Self, CostError> {
        Self::from_batched(range, |places, values| {
            for (u, value) in places.iter().zip(values) {
                *value = f(*u);
            }
        })
    }

    /// Tabulates a function that evaluates many points in one call. It is called a few dozen times.
    pub fn from_batched(
        range: (f64, f64),
        f: impl FnMut(&[f64], &mut [f64]),
    ) -> Result<Self, CostError> {
        let found = tabulation::tabulate(range, f)?;
        Self::from_pieces(range.0, found.ends, &found.coefficients, found.errors)
    }

    /// Of samples `(u_i, c_i)` in any order: the cost goes through all of them and, between them, bends in two
    /// parabolas, with slopes at the samples that are between those of the lines to both neighbours. See
    /// [`Cost::between_samples`] for how far another convex cost through the same samples may be.
    pub fn from_samples(samples: &[(f64, f64)]) -> Result<Self, CostError> {
        let found = samples::interpolate(samples)?;
        let mut cost = Self::from_pieces(found.low, found.ends, &found.coefficients, found.errors)?;
        cost.between_samples = Some(found.between);
        Ok(cost)
    }

    /// Of pieces: ends over `low`, coefficients and bounds on the error.
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
            return Err(CostError::Pieces("expected an error for each"));
        }
        let pieces = Pieces::new(ends, coefficients)
            .ok_or(CostError::Pieces("expected finite numbers and ends that ascend"))?;
        let marginals = marginals_at_ends(&pieces, &errors);
        let response = response(&pieces, &marginals);
        let marginals = (marginals[0], marginals[marginals.len() - 1]);
        if !(marginals.0 > 0.0 && marginals.0.is_finite()) {
            return Err(CostError::Pieces("expected a cost that decreases"));
        }
        let clear = clear_distances(&pieces, &errors);
        Ok(Self { low, pieces, errors, clear, response, marginals, between_samples: None })
    }

    /// The parts that [`Cost::from_pieces`] takes.
    pub(crate) fn parts(&self) -> (f64, &[f64], impl Iterator<Item = &[f64; COST]>, &[f64]) {
        let coefficients = (0..self.pieces.len()).map(|piece| self.pieces.coefficients(piece));
        (self.low, self.pieces.ends(), coefficients, &self.errors)
    }

    /// The least and the most that a user gets: `low` and `high`, but where `c(low)` is infinite the first place of
    /// a grid of powers of two, 30 decades under the width at the least, at which it is at most 1e100, and where the cost is flat at its end the place from
    /// which it is.
    pub fn range(&self) -> (f64, f64) {
        let (first, last) = self.pieces.range();
        (self.low + first, self.low + last)
    }

    /// `c(u)`: infinite under the range, flat beyond it.
    pub fn value(&self, u: f64) -> f64 {
        if u < self.range().0 * (1.0 - 1e-12) {
            return f64::INFINITY;
        }
        self.at_over(u - self.low).0
    }

    /// `−c'(u)`, what a little more is worth: 0 beyond the range.
    pub fn marginal(&self, u: f64) -> f64 {
        self.at_over(u - self.low).1
    }

    /// The best `u` at a price for each unit of it: it minimises `c(u) + price·u`.
    pub fn response(&self, price: f64) -> f64 {
        self.low + self.respond(price).0
    }

    /// Bound on the error of the value, relative to `|c| + |c(high)| − v·c'` at half the distance `v = u − low`, where a
    /// cost that ends at 0 is not 0 yet.
    ///
    /// For a function it holds for every convex function that has the same values, up to rounding, at the points at
    /// which this one was evaluated. For samples, it is the rounding error at them.
    pub fn error_bound(&self) -> f64 {
        let last = self.at_over(self.pieces.range().1).0.abs();
        let of_piece = |(pair, error): (&[f64], &f64)| {
            let half = (0.5 * pair[1]).max(self.pieces.range().0);
            let (value, marginal) = self.at_over(half);
            error / (value.abs() + last + half * marginal + NOTHING)
        };
        self.pieces.ends().windows(2).zip(&self.errors).map(of_piece).fold(0.0, f64::max)
    }

    /// Bound on the error of the value at `u`.
    pub fn error_at(&self, u: f64) -> f64 {
        self.error_over(u - self.low)
    }

    /// For a cost of samples: the most by which another convex, decreasing cost through the same samples could
    /// differ, relative to the values' range.
    pub fn between_samples(&self) -> Option<f64> {
        self.between_samples
    }

    /// What every place is measured from.
    pub(crate) fn low(&self) -> f64 {
        self.low
    }

    /// Bound on the error of the value at `low + v`.
    #[inline]
    pub(crate) fn error_over(&self, v: f64) -> f64 {
        self.errors[self.pieces.piece_of(v)]
    }

    /// The piece that holds `low + v`.
    #[inline]
    pub(crate) fn piece_of(&self, v: f64) -> usize {
        self.pieces.piece_of(v)
    }

    /// Lower and upper bound on the value at `low + v`, given a piece that may hold it.
    #[inline]
    pub(crate) fn enclosed(&self, near: usize, v: f64) -> (f64, f64) {
        let ends = self.pieces.ends();
        let inside = ends[near] <= v && v <= ends[near + 1];
        let piece = if inside { near } else { self.pieces.piece_of(v) };
        let value = self.pieces.on_piece(piece, v).0;
        (value - self.errors[piece], value + self.errors[piece])
    }

    /// A distance on a piece at which the value clearly differs from a tangent: `c''·d²` is a few times the error. No
    /// more than the width of the piece.
    #[inline]
    pub(crate) fn clear_distance(&self, piece: usize) -> f64 {
        self.clear[piece]
    }

    /// Least and largest `v = u − low`.
    #[inline]
    pub(crate) fn over_range(&self) -> (f64, f64) {
        self.pieces.range()
    }

    /// `−c'` where the range begins, and where it ends.
    pub(crate) fn marginals(&self) -> (f64, f64) {
        self.marginals
    }

    /// `c` and `−c'` at `low + v`.
    #[inline]
    pub(crate) fn at_over(&self, v: f64) -> (f64, f64) {
        let last = self.pieces.range().1;
        let (value, slope) = self.pieces.value_and_slope(v.min(last));
        (value, if v > last { 0.0 } else { (-slope).max(0.0) })
    }

    /// `v` at a price, and its derivative by the price.
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

    /// The lowest price at which less than the whole range is the best, and positive.
    pub(crate) fn lowest_price(&self) -> f64 {
        let lowest = self.response.as_ref().map_or(self.marginals.1, |response| {
            let ends = response.ends();
            if ends[0] > 0.0 { ends[0] } else { 1e-30 * ends[1] }
        });
        if lowest > 0.0 { lowest } else { self.marginals.0 }
    }
}

/// Values below this count as nothing when errors are held against them.
const NOTHING: f64 = 1e-200;
/// Largest place.
pub(crate) const MOST: f64 = 1e100;

/// `−c'` at the ends of the pieces, never growing.
///
/// The slope of a piece is as exact as its values are for its width: between two pieces the better one is asked. Where
/// rounding still leaves slopes that grow, as around a kink, they become their mean, weighted by how exact they are:
/// the nearest sequence that does not grow.
fn marginals_at_ends(pieces: &Pieces<COST>, errors: &[f64]) -> Vec<f64> {
    let ends = pieces.ends();
    let noise = |piece: usize| errors[piece] / (ends[piece + 1] - ends[piece]);
    // Mean, weight and number of ends that share it.
    let mut blocks: Vec<(f64, f64, usize)> = Vec::with_capacity(ends.len());
    for (index, &end) in ends.iter().enumerate() {
        let (left, right) = (index.max(1) - 1, index.min(pieces.len() - 1));
        let piece = if noise(left) < noise(right) { left } else { right };
        // Without an error, a rounding.
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

/// The inverse of `−c'`, from the last piece to the first; a piece that is straight is a jump between two others.
fn response(pieces: &Pieces<COST>, marginals: &[f64]) -> Option<Pieces<RESPONSE>> {
    let (mut ends, mut coefficients) = (Vec::new(), Vec::new());
    for piece in (0..pieces.len()).rev() {
        // The last piece's end, and not this one's: a jump between them leaves a little, and prices have no gap.
        let (low, high) = (ends.last().copied().unwrap_or(marginals[piece + 1]), marginals[piece]);
        // Not so clearly apart as to be more than rounding.
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

/// Adds the response on prices of one piece, in as many parts as it takes.
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
        // Where |T_6| = 1 between its zeros.
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
