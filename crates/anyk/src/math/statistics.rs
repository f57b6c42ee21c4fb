//! Means with standard errors, and order statistics.

use serde::Serialize;

/// Mean over independent realizations with its standard error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mean {
    /// Sample mean.
    pub mean: f64,
    /// Standard error of the mean, or 0 for a single value.
    pub standard_error: f64,
}

impl Mean {
    /// Returns the mean and the standard error of values in a fixed order, or `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let variance = if values.len() > 1 { squares / (count - 1.0) } else { 0.0 };
        (!values.is_empty()).then(|| Self { mean, standard_error: (variance / count).sqrt() })
    }
}

/// Returns the second largest of ten or more values, or the largest of fewer. For a confidence of 90 %, the paper takes
/// the second worst of ten training runs.
pub fn second_worst(values: Vec<f64>) -> Option<f64> {
    let skipped = usize::from(values.len() >= 10);
    worst_but(values, skipped)
}

/// Returns the largest value after omitting `skipped` larger ones.
pub fn worst_but(mut values: Vec<f64>, skipped: usize) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let index = values.len().checked_sub(1 + skipped)?;
    values.get(index).copied()
}

/// Returns the median: the middle value, or the mean of the two in the middle; 0 if there are no values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = |index: usize| values.get(index).copied().unwrap_or(0.0);
    0.5 * (middle(values.len() / 2) + middle(values.len().saturating_sub(1) / 2))
}

#[cfg(test)]
mod tests {
    use super::{Mean, second_worst};

    #[test]
    fn known_values() {
        let Mean { mean, standard_error } = Mean::of(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!((mean - 2.5).abs() < 1e-15);
        assert!((standard_error - (5.0f64 / 3.0 / 4.0).sqrt()).abs() < 1e-15);
        assert!(Mean::of(&[7.0]).unwrap().standard_error.abs() < 1e-300);
        assert_eq!(Mean::of(&[]), None);
    }

    #[test]
    fn second_worst_of_ten_and_worst_of_fewer() {
        assert_eq!(second_worst((0..10).map(f64::from).collect()), Some(8.0));
        assert_eq!(second_worst(vec![3.0, 1.0, 2.0]), Some(3.0));
        assert_eq!(second_worst(vec![]), None);
    }
}
