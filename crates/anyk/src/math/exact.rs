//! Sums without rounding, so that their parts can be added in any order.

use serde::{Deserialize, Serialize};

/// Exact sum of numbers, stored as numbers that do not overlap (Shewchuk's expansions). Only the result is rounded, so it
/// depends neither on the order of the terms nor on how they are split into parts.
///
/// ```
/// use anyk::math::ExactSum;
/// let mut sum = ExactSum::default();
/// [1e100, 1.0, -1e100].into_iter().for_each(|term| sum.add(term));
/// assert_eq!(sum.value(), 1.0);
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ExactSum(Vec<f64>);

/// Returns `a + b` rounded, and its rounding error.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// Returns `a·b` rounded, and its rounding error.
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

impl ExactSum {
    /// Adds a term. After an overflow, the sum is infinite or NaN.
    pub fn add(&mut self, term: f64) {
        let (mut high, mut kept) = (term, 0);
        for at in 0..self.0.len() {
            let (sum, rest) = two_sum(high, self.0[at]);
            if !sum.is_finite() {
                self.0 = vec![sum];
                return;
            }
            if rest.abs() > 0.0 {
                self.0[kept] = rest;
                kept += 1;
            }
            high = sum;
        }
        self.0.truncate(kept);
        if high.abs() > 0.0 {
            self.0.push(high);
        }
    }

    /// Adds the product `a·b` without rounding it.
    fn add_product(&mut self, a: f64, b: f64) {
        let (product, rest) = two_product(a, b);
        self.add(product);
        if product.is_finite() {
            self.add(rest);
        }
    }

    /// Adds all terms of another sum.
    pub fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|&term| self.add(term));
    }

    /// Returns the sum, rounded once.
    pub fn value(&self) -> f64 {
        let mut terms = self.0.iter().rev().copied();
        let Some(mut high) = terms.next() else { return 0.0 };
        let mut low = 0.0;
        for term in terms.by_ref() {
            (high, low) = two_sum(high, term);
            if low.abs() > 0.0 {
                break;
            }
        }
        // If the rest is exactly half of the last digit, the next term decides the direction of the rounding.
        if let Some(next) = terms.next().filter(|_| low.abs() > 0.0)
            && (low < 0.0) == (next < 0.0)
        {
            let (up, rest) = two_sum(high, 2.0 * low);
            if rest.abs() <= 0.0 {
                high = up;
            }
        }
        high
    }
}

/// Count, mean and spread of values, from exact sums: they do not depend on the order of the values, or on how the values
/// are split into parts.
///
/// ```
/// use anyk::math::ExactMoments;
/// let of = |values: &[f64]| values.iter().copied().collect::<ExactMoments>();
/// let mut parts = of(&[0.3, 0.1]);
/// parts.merge(&of(&[0.2]));
/// assert_eq!(parts.mean(), of(&[0.1, 0.2, 0.3]).mean());
/// assert_eq!(parts.standard_error(), of(&[0.1, 0.2, 0.3]).standard_error());
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ExactMoments {
    count: u64,
    sum: ExactSum,
    squares: ExactSum,
}

impl ExactMoments {
    /// Adds a value.
    pub fn push(&mut self, value: f64) {
        self.count += 1;
        self.sum.add(value);
        self.squares.add_product(value, value);
    }

    /// Adds the values of another part.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum.merge(&other.sum);
        self.squares.merge(&other.squares);
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean, or 0 if there are no values.
    pub fn mean(&self) -> f64 {
        self.sum.value() / self.count.max(1) as f64
    }

    /// Returns the standard error of the mean of independent values, or 0 for fewer than two.
    pub fn standard_error(&self) -> f64 {
        let (count, mean) = (self.count as f64, self.mean());
        // Σ (x − m)² = Σ x² − 2m Σ x + n m², in which large terms cancel, so each is added without rounding.
        let mut squares = self.squares.clone();
        self.sum.0.iter().for_each(|&part| squares.add_product(-2.0 * mean, part));
        let (high, low) = two_product(mean, mean);
        squares.add_product(count, high);
        squares.add_product(count, low);
        let variance = squares.value().max(0.0) / (count - 1.0).max(1.0);
        (variance / count.max(1.0)).sqrt()
    }
}

impl FromIterator<f64> for ExactMoments {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut moments = Self::default();
        values.into_iter().for_each(|value| moments.push(value));
        moments
    }
}

// The sums are exact, so their results are compared bit for bit.
#[allow(clippy::float_cmp)]
#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_order_and_the_parts_do_not_matter(
            values in prop::collection::vec((-1e3f64..1e3, -200i32..200), 0..40),
            cut in 0usize..40,
        ) {
            let values: Vec<f64> = values.into_iter().map(|(x, power)| x * 2f64.powi(power)).collect();
            let forward: ExactMoments = values.iter().copied().collect();
            let mut parts: ExactMoments = values.iter().skip(cut).rev().copied().collect();
            parts.merge(&values.iter().take(cut).copied().collect());
            prop_assert_eq!(forward.mean().to_bits(), parts.mean().to_bits());
            prop_assert_eq!(forward.standard_error().to_bits(), parts.standard_error().to_bits());
            let text = serde_json::to_string(&parts).unwrap();
            prop_assert_eq!(serde_json::from_str::<ExactMoments>(&text).unwrap(), parts);
        }

        #[test]
        fn moments_are_those_of_integers(values in prop::collection::vec(-1_000_000i64..1_000_000, 2..50)) {
            let moments: ExactMoments = values.iter().map(|&x| x as f64).collect();
            let (n, sum) = (values.len() as i64, values.iter().sum::<i64>());
            prop_assert_eq!(moments.mean(), sum as f64 / n as f64);
            let squares = n * values.iter().map(|x| x * x).sum::<i64>() - sum * sum;
            let error = (squares as f64 / (n * (n - 1)) as f64 / n as f64).sqrt();
            prop_assert!((moments.standard_error() - error).abs() <= 1e-14 * error.max(1e-300));
        }
    }

    #[test]
    fn the_result_is_rounded_once() {
        let sum = |terms: &[f64]| {
            let mut sum = ExactSum::default();
            terms.iter().for_each(|&term| sum.add(term));
            sum.value()
        };
        assert_eq!(sum(&[0.1; 10]), 1.0);
        // Half of the last digit of 1, and a little more or less.
        let half = f64::EPSILON / 2.0;
        assert_eq!(sum(&[1.0, half]), 1.0);
        assert_eq!(sum(&[1e-40, half, 1.0]), 1.0 + f64::EPSILON);
        assert_eq!(sum(&[-1e-40, half, 1.0 + f64::EPSILON]), 1.0 + f64::EPSILON);
        assert_eq!(sum(&[]), 0.0);
        assert!(sum(&[f64::MAX, f64::MAX]).is_infinite());
    }
}
