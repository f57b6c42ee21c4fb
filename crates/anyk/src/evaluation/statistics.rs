//! Means with their standard errors.

use serde::Serialize;

/// A mean over independent realizations, and how far it may be off.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mean {
    /// The sample mean.
    pub mean: f64,
    /// Standard error of the mean (0 for a single value).
    pub standard_error: f64,
}

impl Mean {
    /// Mean and standard error of values in a fixed order; `None` for no values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let variance = if values.len() > 1 { squares / (count - 1.0) } else { 0.0 };
        (!values.is_empty()).then(|| Self { mean, standard_error: (variance / count).sqrt() })
    }
}

#[cfg(test)]
mod tests {
    use super::Mean;

    #[test]
    fn known_values() {
        let Mean { mean, standard_error } = Mean::of(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!((mean - 2.5).abs() < 1e-15);
        assert!((standard_error - (5.0f64 / 3.0 / 4.0).sqrt()).abs() < 1e-15);
        assert!(Mean::of(&[7.0]).unwrap().standard_error.abs() < 1e-300);
        assert_eq!(Mean::of(&[]), None);
    }
}
