//! Functions of one variable as polynomials on pieces of any width, evaluated by a guided search and Horner's scheme.

use crate::math::Piecewise;

/// Number of mantissa bits that the guide uses, which gives eight entries per octave.
const MANTISSA: u32 = 3;
/// Maximum length of the guide: more than 1,000 octaves.
const MOST_KEYS: u64 = 1 << 14;

/// Polynomials with `N` coefficients (`N` even) on adjacent pieces `[e_0, e_1], [e_1, e_2], …` with
/// `0 ≤ e_0 < e_1 < …`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pieces<const N: usize> {
    ends: Vec<f64>,
    pieces: Vec<Piece<N>>,
    /// Piece in which each eighth of an octave begins, starting at `first_key`.
    guide: Vec<u32>,
    first_key: u64,
}

/// Polynomial in `t ∈ [−1, 1]`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece<const N: usize> {
    centre: f64,
    per_half_width: f64,
    /// Coefficients of ascending powers of `t`.
    coefficients: [f64; N],
}

/// Returns the index of the eighth of an octave that contains a number; it increases with the number.
#[inline]
fn key(x: f64) -> u64 {
    x.to_bits() >> (52 - MANTISSA)
}

impl<const N: usize> Pieces<N> {
    /// Builds the pieces from their ends, of which there is one more than pieces, and the coefficients of ascending
    /// powers. Returns `None` if the ends do not increase, if a value is not finite, or if the lengths do not match.
    pub(crate) fn new(ends: Vec<f64>, coefficients: &[[f64; N]]) -> Option<Self> {
        let ascend = ends.windows(2).all(|pair| pair[0] < pair[1]);
        let sound = ends.iter().all(|end| *end >= 0.0 && end.is_finite())
            && coefficients.as_flattened().iter().all(|value| value.is_finite());
        if coefficients.is_empty() || ends.len() != coefficients.len() + 1 || !ascend || !sound {
            return None;
        }
        let pieces: Vec<Piece<N>> = coefficients
            .iter()
            .zip(ends.windows(2))
            .map(|(&coefficients, pair)| Piece {
                centre: 0.5 * (pair[0] + pair[1]),
                per_half_width: 2.0 / (pair[1] - pair[0]),
                coefficients,
            })
            .collect();
        if !pieces.iter().all(|piece| piece.per_half_width.is_finite()) {
            return None;
        }
        let last_key = key(ends[ends.len() - 1]);
        // The first entry of the guide covers everything below it.
        let first_key =
            key(ends[usize::from(ends[0] <= 0.0)]).max(last_key.saturating_sub(MOST_KEYS));
        let mut guide = Vec::new();
        let mut piece = 0u32;
        for place in 0..=(last_key - first_key + 1) {
            let begin = if place == 0 {
                0.0
            } else {
                f64::from_bits((first_key + place) << (52 - MANTISSA))
            };
            while (piece as usize) + 1 < pieces.len() && ends[piece as usize + 1] <= begin {
                piece += 1;
            }
            guide.push(piece);
        }
        Some(Self { ends, pieces, guide, first_key })
    }

    /// Returns the coefficients of ascending powers of the polynomial with these values at the Chebyshev points.
    pub(crate) fn interpolate(values: &[f64; N]) -> [f64; N] {
        Piecewise::<N>::monomials(values)
    }

    /// Returns the `i`-th Chebyshev point of an interval, in ascending order.
    pub(crate) fn node((low, high): (f64, f64), i: usize) -> f64 {
        0.5 * (low + high) + 0.5 * (high - low) * Piecewise::<N>::node(i)
    }

    /// Returns the ends of the pieces.
    pub(crate) fn ends(&self) -> &[f64] {
        &self.ends
    }

    /// Returns the number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Returns the coefficients of a piece.
    pub(crate) fn coefficients(&self, piece: usize) -> &[f64; N] {
        &self.pieces[piece].coefficients
    }

    /// Returns the ends of the whole range.
    #[inline]
    pub(crate) fn range(&self) -> (f64, f64) {
        (self.ends[0], self.ends[self.ends.len() - 1])
    }

    /// Returns the index of the piece that contains `x`, or of the nearest piece outside the range.
    #[inline]
    pub(crate) fn piece_of(&self, x: f64) -> usize {
        // Unlike `clamp`, this also works for NaN.
        let (low, high) = self.range();
        let x = x.max(low).min(high);
        #[allow(clippy::cast_possible_truncation)]
        let place = key(x).saturating_sub(self.first_key) as usize;
        let place = place.min(self.guide.len() - 2);
        let (mut first, mut last) = (self.guide[place] as usize, self.guide[place + 1] as usize);
        while first < last {
            let middle = (first + last).div_ceil(2);
            if self.ends[middle] <= x { first = middle } else { last = middle - 1 }
        }
        first
    }

    /// Returns the value and the derivative at `x`. Outside the range, the polynomial of the nearest piece is used.
    #[inline]
    pub(crate) fn value_and_slope(&self, x: f64) -> (f64, f64) {
        self.on_piece(self.piece_of(x), x)
    }

    /// Returns the value and the derivative at `x` of the polynomial of one piece.
    #[inline]
    pub(crate) fn on_piece(&self, piece: usize, x: f64) -> (f64, f64) {
        let Piece { centre, per_half_width, coefficients } = &self.pieces[piece];
        let t = (x - centre) * per_half_width;
        let (value, slope) = polynomial(coefficients, t);
        (value, slope * per_half_width)
    }

    /// Returns the second derivative at `x` of the polynomial of one piece.
    pub(crate) fn curvature_on_piece(&self, piece: usize, x: f64) -> f64 {
        let Piece { centre, per_half_width, coefficients } = &self.pieces[piece];
        let t = (x - centre) * per_half_width;
        let powers = coefficients.iter().enumerate().skip(2).rev();
        let sum = powers.fold(0.0, |sum, (power, c)| sum * t + (power * (power - 1)) as f64 * c);
        sum * per_half_width * per_half_width
    }
}

/// Returns the value and the derivative of a polynomial. Even and odd powers are summed separately, in two chains of
/// half the length.
#[inline]
fn polynomial<const N: usize>(coefficients: &[f64; N], t: f64) -> (f64, f64) {
    let square = t * t;
    let (mut even, mut odd, mut even_slope, mut odd_slope) = (0.0, 0.0, 0.0, 0.0);
    for pair in coefficients.as_chunks::<2>().0.iter().rev() {
        even_slope = even_slope * square + even;
        odd_slope = odd_slope * square + odd;
        even = even * square + pair[0];
        odd = odd * square + pair[1];
    }
    (even + t * odd, odd + 2.0 * (t * even_slope + square * odd_slope))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests pieces of very different widths: each point must be assigned to its piece and its polynomial.
    #[test]
    fn finds_the_piece_and_its_polynomial() {
        for ends in [
            vec![0.0, 1e-12, 1e-3, 0.9, 0.9 + 1e-9, 1.0, 3.0, 1e6],
            vec![2.0, 2.5, 2.500_001, 17.0],
            (0..2000).map(|i| 5.0 + 1e-3 * f64::from(i)).collect(),
        ] {
            let cubic = |x: f64| 1.0 - 2.0 * x + 0.25 * x * x * x;
            let coefficients: Vec<[f64; 4]> = ends
                .windows(2)
                .map(|pair| {
                    let nodes = [0, 1, 2, 3].map(|i| Pieces::<4>::node((pair[0], pair[1]), i));
                    Pieces::interpolate(&nodes.map(cubic))
                })
                .collect();
            let pieces = Pieces::new(ends.clone(), &coefficients).unwrap();
            for (index, pair) in ends.windows(2).enumerate() {
                for share in [0.0, 0.3, 0.999] {
                    let x = pair[0] + share * (pair[1] - pair[0]);
                    assert_eq!(pieces.piece_of(x), index, "{x}");
                    let (value, slope) = pieces.value_and_slope(x);
                    let size = 1.0 + pair[1].powi(3);
                    assert!((value - cubic(x)).abs() < 1e-13 * size, "{x}");
                    let width = pair[1] - pair[0];
                    let exact = -2.0 + 0.75 * x * x;
                    assert!((slope - exact).abs() < 1e-13 * size * (1.0 + 1.0 / width), "{x}");
                    let curvature = pieces.curvature_on_piece(index, x);
                    let most = 1e-12 * size * (1.0 + width.powi(-2));
                    assert!((curvature - 1.5 * x).abs() < most, "{x}");
                }
            }
            assert_eq!(pieces.piece_of(-1.0), 0);
            assert_eq!(pieces.piece_of(1e300), pieces.len() - 1);
            assert_eq!(pieces.piece_of(f64::NAN), 0);
        }
    }

    #[test]
    fn what_are_no_pieces_is_refused() {
        for ends in
            [vec![0.0], vec![0.0, 0.0], vec![1.0, 0.0], vec![-1.0, 0.0], vec![0.0, f64::NAN]]
        {
            assert!(Pieces::new(ends, &[[0.0; 4]]).is_none());
        }
        assert!(Pieces::new(vec![0.0, 1.0], &[[f64::NAN; 4]]).is_none());
        assert!(Pieces::new(vec![0.0, 1e-320], &[[1.0; 4]]).is_none());
    }
}
