//! Mean and spread of a stream of values.

use serde::{Deserialize, Serialize};

/// Count, mean and spread of a stream of values (Welford), computed in parts that can be merged.
///
/// ```
/// use anyk::math::Moments;
/// let of = |values: &[f64]| values.iter().copied().collect::<Moments>();
/// let whole = of(&[1.0, 2.0, 3.0, 4.0]);
/// let parts = of(&[1.0]).merge(of(&[2.0, 3.0, 4.0]));
/// assert!((whole.mean - 2.5).abs() < 1e-15 && (parts.mean - 2.5).abs() < 1e-15);
/// assert!((whole.deviation() - parts.deviation()).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Moments {
    /// Number of values.
    pub count: u64,
    /// Mean of the values, or 0 if there are none.
    pub mean: f64,
    /// Sum of the squared distances from the mean.
    pub squares: f64,
}

impl Moments {
    /// Adds a value.
    pub fn push(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// Combines the moments of two streams.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        if self.count == 0 || other.count == 0 {
            return if self.count == 0 { other } else { self };
        }
        let (count, apart) = (self.count + other.count, other.mean - self.mean);
        let share = other.count as f64 / count as f64;
        Self {
            count,
            mean: self.mean + apart * share,
            squares: self.squares + other.squares + apart * apart * self.count as f64 * share,
        }
    }

    /// Returns the standard deviation of the values, or 0 for fewer than two.
    pub fn deviation(&self) -> f64 {
        (self.squares / self.count.saturating_sub(1).max(1) as f64).sqrt()
    }

    /// Returns the standard error of the mean of independent values.
    pub fn standard_error(&self) -> f64 {
        self.deviation() / (self.count.max(1) as f64).sqrt()
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut moments = Self::default();
        for value in values {
            moments.push(value);
        }
        moments
    }
}
