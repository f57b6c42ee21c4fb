//! Exponent of a power law, fitted as the slope of a line in log-log scale.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::math::Moments;

/// Exponent `r` in `y ∝ K^r`, with the half-width of its 95 % confidence interval.
///
/// ```
/// use anyk::math::Exponent;
/// let exponent = Exponent::fit(&[(4.0, 0.5), (16.0, 0.25), (64.0, 0.125)]).unwrap();
/// assert!((exponent.value + 0.5).abs() < 1e-12 && exponent.half_width < 1e-6);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Exponent {
    /// Exponent.
    pub value: f64,
    /// Half-width of the confidence interval `value ± half_width`.
    pub half_width: f64,
}

impl Exponent {
    /// Fits `ln y = a + r ln K` to points `(K, y)` by least squares. Points without a logarithm are omitted. Returns
    /// `None` if fewer than three points remain or all of them have the same K.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let logs: Vec<(f64, f64)> = points
            .iter()
            .map(|&(x, y)| (x.ln(), y.ln()))
            .filter(|(x, y)| x.is_finite() && y.is_finite())
            .collect();
        let x: Moments = logs.iter().map(|point| point.0).collect();
        let y: Moments = logs.iter().map(|point| point.1).collect();
        if logs.len() < 3 || x.squares <= 0.0 {
            return None;
        }
        let products: f64 = logs.iter().map(|point| (point.0 - x.mean) * (point.1 - y.mean)).sum();
        let slope = products / x.squares;
        let residuals = (y.squares - slope * products).max(0.0);
        let freedom = (logs.len() - 2) as f64;
        let error = (residuals / freedom / x.squares).sqrt();
        Some(Self { value: slope, half_width: student_95(freedom) * error })
    }
}

/// Returns the 97.5 % quantile of Student's t-distribution, or that of the normal distribution if there are no
/// degrees of freedom.
pub(crate) fn student_95(freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(1.96, |student| student.inverse_cdf(0.975))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_covers_the_truth_and_bad_points_are_left_out() {
        let noisy = [1.1, 0.9, 1.05, 0.95, 1.02];
        let points: Vec<(f64, f64)> =
            (1..=5).zip(noisy).map(|(i, n)| (2f64.powi(i), n * 2f64.powi(-2 * i))).collect();
        let exponent = Exponent::fit(&points).unwrap();
        assert!((exponent.value + 2.0).abs() < exponent.half_width && exponent.half_width < 0.2);
        let with_zero = [points.clone(), vec![(64.0, 0.0), (128.0, -1.0)]].concat();
        assert_eq!(Exponent::fit(&with_zero), Some(exponent));
        assert_eq!(Exponent::fit(&points[..2]), None);
        assert_eq!(Exponent::fit(&[(2.0, 1.0); 5]), None);
    }
}
