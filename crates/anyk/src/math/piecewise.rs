//! Functions of one variable as polynomials on equal pieces, evaluated by a lookup and Horner's scheme.

/// Polynomials with `N` coefficients (degree `N − 1`, `N` even) on equal pieces of an interval.
#[derive(Debug, Clone)]
pub(crate) struct Piecewise<const N: usize> {
    start: f64,
    pieces_per_unit: f64,
    /// Coefficients of ascending powers of the local variable `t ∈ [−1, 1]`.
    coefficients: Vec<[f64; N]>,
}

impl<const N: usize> Piecewise<N> {
    /// Interpolates `f` at the `N` Chebyshev points of each piece of `[start, end]`, from left to right, so that `f`
    /// can use its last result as the next initial guess.
    pub(crate) fn interpolate(
        (start, end): (f64, f64),
        pieces: usize,
        mut f: impl FnMut(f64) -> f64,
    ) -> Self {
        let width = (end - start) / pieces as f64;
        let coefficients = (0..pieces)
            .map(|piece| {
                let centre = start + (piece as f64 + 0.5) * width;
                let mut values = [0.0; N];
                for (i, value) in values.iter_mut().enumerate() {
                    *value = f(centre + 0.5 * width * Self::node(i));
                }
                Self::monomials(&values)
            })
            .collect();
        Self { start, pieces_per_unit: 1.0 / width, coefficients }
    }

    /// Returns the `i`-th Chebyshev point on `[−1, 1]`, in ascending order.
    pub(crate) fn node(i: usize) -> f64 {
        -(std::f64::consts::PI * (i as f64 + 0.5) / N as f64).cos()
    }

    /// Returns the coefficients of ascending powers for the values at the Chebyshev points.
    pub(crate) fn monomials(values: &[f64; N]) -> [f64; N] {
        let mut result = [0.0; N];
        // T_0, T_1, … as ascending powers: T_{n+1} = 2t·T_n − T_{n−1}, starting with T_0 = 1 and T_{−1} = t.
        let (mut before, mut current) = ([0.0; N], [0.0; N]);
        current[0] = 1.0;
        if N > 1 {
            before[1] = 1.0;
        }
        for degree in 0..N {
            let mut chebyshev = 0.0;
            for (i, value) in values.iter().enumerate() {
                // The points ascend, so their angles descend.
                let angle = std::f64::consts::PI * ((N - 1 - i) as f64 + 0.5) / N as f64;
                chebyshev += value * (degree as f64 * angle).cos();
            }
            chebyshev *= if degree == 0 { 1.0 } else { 2.0 } / N as f64;
            for (sum, power) in result.iter_mut().zip(&current) {
                *sum += chebyshev * power;
            }
            let mut next = [0.0; N];
            for power in 0..N {
                let shifted = if power == 0 { 0.0 } else { 2.0 * current[power - 1] };
                next[power] = shifted - before[power];
            }
            before = current;
            current = next;
        }
        result
    }

    /// Returns the piece that contains `x` (or the nearest one outside the interval) and the position in it.
    #[inline]
    fn locate(&self, x: f64) -> (&[f64; N], f64) {
        let position = (x - self.start) * self.pieces_per_unit;
        // `as` saturates, and maps NaN to 0.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let index = (position as usize).min(self.coefficients.len() - 1);
        (&self.coefficients[index], 2.0 * (position - index as f64) - 1.0)
    }

    /// Returns bounds on the values and the derivatives on one piece. They are computed from the coefficients, so
    /// they hold at every point of the piece.
    pub(crate) fn bounds(&self, piece: usize) -> [(f64, f64); 2] {
        let (mut values, mut slopes) = ((0.0, 0.0), (0.0, 0.0));
        for (power, &coefficient) in self.coefficients[piece].iter().enumerate() {
            // Since |t| ≤ 1, a power of t changes the sum by at most its coefficient.
            let (value, slope) = (coefficient.abs(), power as f64 * coefficient.abs());
            match power {
                0 => values = (coefficient, coefficient),
                1 => {
                    values = (values.0 - value, values.1 + value);
                    slopes = (coefficient, coefficient);
                }
                _ => {
                    values = (values.0 - value, values.1 + value);
                    slopes = (slopes.0 - slope, slopes.1 + slope);
                }
            }
        }
        let scale = 2.0 * self.pieces_per_unit;
        [values, (scale * slopes.0, scale * slopes.1)]
    }

    /// Returns the value at `x`.
    #[inline]
    pub(crate) fn value(&self, x: f64) -> f64 {
        let (coefficients, t) = self.locate(x);
        // Even and odd powers are summed separately, in two chains of half the length.
        let square = t * t;
        let (mut even, mut odd) = (0.0, 0.0);
        for pair in coefficients.as_chunks::<2>().0.iter().rev() {
            even = even * square + pair[0];
            odd = odd * square + pair[1];
        }
        even + t * odd
    }

    /// Returns the value and the derivative at `x`.
    #[inline]
    pub(crate) fn value_and_slope(&self, x: f64) -> (f64, f64) {
        let (coefficients, t) = self.locate(x);
        let square = t * t;
        // E and O are the even and odd parts as functions of s = t². The derivative of E(s) + t·O(s) is 2t·E' + O +
        // 2s·O'.
        let (mut even, mut odd, mut even_slope, mut odd_slope) = (0.0, 0.0, 0.0, 0.0);
        for pair in coefficients.as_chunks::<2>().0.iter().rev() {
            even_slope = even_slope * square + even;
            odd_slope = odd_slope * square + odd;
            even = even * square + pair[0];
            odd = odd * square + pair[1];
        }
        let slope = odd + 2.0 * (t * even_slope + square * odd_slope);
        (even + t * odd, 2.0 * self.pieces_per_unit * slope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reproduces_a_smooth_function_and_its_slope() {
        let table = Piecewise::<8>::interpolate((-1.0, 3.0), 16, f64::sin);
        for i in 0..=400 {
            let x = -1.0 + 0.01 * f64::from(i);
            assert!((table.value(x) - x.sin()).abs() < 1e-12);
            let (value, slope) = table.value_and_slope(x);
            assert!((value - table.value(x)).abs() < 1e-15);
            assert!((slope - x.cos()).abs() < 1e-10);
        }
    }

    #[test]
    fn bounds_hold_on_each_piece() {
        let table = Piecewise::<8>::interpolate((-1.0, 3.0), 16, f64::sin);
        for piece in 0..16u32 {
            let [values, slopes] = table.bounds(piece as usize);
            for i in 0..=20 {
                let x = -1.0 + 0.25 * (f64::from(piece) + 0.05 * f64::from(i));
                for ((low, high), inside) in [(values, x.sin()), (slopes, x.cos())] {
                    assert!(low - 1e-9 <= inside && inside <= high + 1e-9, "{x}");
                    // The bounds are not much wider than necessary: |sin'| and |sin''| are at most 1 over a quarter
                    // of a unit.
                    assert!(high - low <= 0.3, "{x}: {low} to {high}");
                }
            }
        }
    }

    #[test]
    fn is_exact_for_its_own_degree() {
        let cubic = |x: f64| 1.0 - 2.0 * x + 0.5 * x * x * x;
        let table = Piecewise::<4>::interpolate((0.0, 2.0), 3, cubic);
        for i in 0..=20 {
            let x = 0.1 * f64::from(i);
            assert!((table.value(x) - cubic(x)).abs() < 1e-14);
        }
    }
}
