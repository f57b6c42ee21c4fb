//! Statistical guarantee of a calibrated policy, and the factor on its bandwidths.
//!
//! For a random user, let `r` be the smallest factor on its bandwidth that meets its QoS. The calibration draws `n`
//! independent users and discards the `v` largest values of `r`. The largest remaining value is the factor. Here `v`
//! is the largest number with `P(Bin(n, β) ≤ v) ≤ δ` (Wilks 1941; equivalent to an exact Clopper–Pearson bound). With
//! probability at least `1 − δ` over the draw of the `n` users, at most a share `β` of all users then misses its QoS.
//! The proof is in `docs/guarantees.md`.

use serde::{Deserialize, Serialize};

use crate::framework::ModelError;
use crate::invalid::Invalid;

/// Maximum number of cells of each size. This limit bounds the sum over possible misses even if a file is malicious.
pub const MOST_CELLS: usize = 10_000_000;

/// Statistical guarantee of a calibrated policy: the factor on its bandwidths, and the conditions under which the
/// guarantee holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guarantee {
    /// Factor on every bandwidth.
    pub margin: f64,
    /// Largest share of users that miss their QoS, `β`.
    pub beta: f64,
    /// Probability `δ` over the calibration draw that more users miss their QoS, for all sizes together.
    pub delta: f64,
    /// Sizes of the calibration, at which the guarantee holds.
    pub k: Vec<usize>,
    /// Number `n` of independent cells of each size, with one user checked in each.
    pub cells: usize,
    /// Number `v` of checked users of each size that may miss their QoS.
    pub missed: usize,
    /// Seed of the cells.
    pub seed: u64,
    /// Fading distribution for which the guarantee holds, if it is not that of the model's config.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fading: Option<String>,
}

impl Guarantee {
    /// Returns how many of `cells` independent users may miss their QoS at each of `sizes` sizes: the largest `v` with
    /// `P(Bin(cells, β) ≤ v) ≤ δ/sizes`. Returns an error if there is no such number or if an argument is out of range.
    ///
    /// ```
    /// use anyk::framework::Guarantee;
    /// assert_eq!(Guarantee::missed_allowed(2995, 1e-3, 0.05, 1), Ok(0));
    /// let error = Guarantee::missed_allowed(2994, 1e-3, 0.05, 1).unwrap_err();
    /// assert!(error.to_string().starts_with("cells is 2994, expected at least 2995"));
    /// ```
    pub fn missed_allowed(
        cells: usize,
        beta: f64,
        delta: f64,
        sizes: usize,
    ) -> Result<usize, Invalid> {
        for (name, value) in [("beta", beta), ("delta", delta)] {
            if !(1e-6..=0.5).contains(&value) {
                return Err(Invalid::number(name, value, "a number from 1e-6 to 0.5"));
            }
        }
        if !(1..=100).contains(&sizes) {
            return Err(Invalid::value("the number of sizes", sizes, "1 to 100"));
        }
        if cells > MOST_CELLS {
            return Err(Invalid::value("cells", cells, format!("at most {MOST_CELLS}")));
        }
        binomial_count(cells, beta, delta / sizes as f64).ok_or_else(|| {
            let expected = format!(
                "at least {}: fewer cannot show that at most a share {beta} of users miss their QoS, at a confidence \
                 of 1 − {}",
                Self::least_cells(beta, delta, sizes),
                delta / sizes as f64
            );
            Invalid::value("cells", cells, expected)
        })
    }

    /// Returns the smallest number of cells that each of `sizes` sizes needs to support the guarantee.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn least_cells(beta: f64, delta: f64, sizes: usize) -> usize {
        ((delta / sizes as f64).ln() / (-beta).ln_1p()).ceil() as usize
    }

    /// Checks that the parameters support the guarantee.
    pub fn validate(&self) -> Result<(), ModelError> {
        let inconsistent = |why: String| {
            let why = format!("the guarantee does not follow from its parameters: {why}");
            Err(ModelError::Content(why))
        };
        match Self::missed_allowed(self.cells, self.beta, self.delta, self.k.len()) {
            Err(wrong) => return inconsistent(wrong.to_string()),
            Ok(missed) if self.missed > missed => {
                return inconsistent("missed is larger than the parameters allow".to_owned());
            }
            Ok(_) => {}
        }
        // A calibration yields a margin around 1, never one outside this range.
        if !(1e-6..=1e6).contains(&self.margin) {
            return inconsistent("margin is not between 1e-6 and 1e6".to_owned());
        }
        Ok(())
    }

    /// Returns the largest value after discarding `missed` larger ones. With this value as the factor, `missed` users
    /// miss their QoS.
    pub fn order_statistic(mut factors: Vec<f64>, missed: usize) -> Option<f64> {
        let place = factors.len().checked_sub(1 + missed)?;
        Some(*factors.select_nth_unstable_by(place, f64::total_cmp).1)
    }

    /// Returns the guarantee as a sentence.
    pub fn sentence(&self) -> String {
        let Self { margin, beta, delta, k, cells, fading, .. } = self;
        let under = fading.as_ref().map_or(String::new(), |fading| format!(" under {fading}"));
        let sizes: Vec<String> = k.iter().map(usize::to_string).collect();
        format!(
            "guarantee: at K = {}{under}, at most {} % of users miss their QoS, at a confidence of {} % over the \
             {cells} calibration cells; bandwidths times {margin:.6}",
            sizes.join(", "),
            percent(*beta),
            percent(1.0 - delta)
        )
    }
}

/// Returns a share in percent without trailing zeros.
fn percent(share: f64) -> String {
    let digits = format!("{:.4}", 100.0 * share);
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns the largest `v` with `P(Bin(n, p) ≤ v) ≤ level`, or `None` if even 0 exceeds the level.
fn binomial_count(count: usize, probability: f64, level: f64) -> Option<usize> {
    // Uses logarithms of the terms, since (1 − p)^n may underflow.
    let odds = (probability / (1.0 - probability)).ln();
    let mut ln_term = count as f64 * (-probability).ln_1p();
    let mut sum = 0.0;
    for successes in 0..=count {
        sum += ln_term.exp();
        if sum > level {
            return successes.checked_sub(1);
        }
        ln_term += ((count - successes) as f64 / (successes + 1) as f64).ln() + odds;
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wilks's sample sizes for 95 % content at 95 % confidence (59, 93, 124, …, 181), and sums computed by hand.
    #[test]
    fn known_values_of_the_binomial_bound() {
        // 0.95^n ≤ 0.05 from n = 59 on; one miss from 93, two from 124, four from 181.
        for (cells, missed) in [(58, None), (59, Some(0)), (92, Some(0)), (93, Some(1))] {
            assert_eq!(binomial_count(cells, 0.05, 0.05), missed, "{cells}");
        }
        for (cells, missed) in [(123, Some(1)), (124, Some(2)), (180, Some(3)), (181, Some(4))] {
            assert_eq!(binomial_count(cells, 0.05, 0.05), missed, "{cells}");
        }
        // 0.5^5 = 1/32, 6/32.
        assert_eq!(binomial_count(5, 0.5, 1.0 / 32.0), Some(0));
        assert_eq!(binomial_count(5, 0.5, 6.01 / 32.0), Some(1));
        // A count for which (1 − p)^n underflows: mean 5000, one-sided 5 % at 5000 − 1.645·√2500.
        let many = binomial_count(10_000, 0.5, 0.05).unwrap();
        assert!((4915..=4919).contains(&many), "{many}");
    }

    #[test]
    fn nonsense_is_refused() {
        for (beta, delta) in [(0.0, 0.05), (1e-3, f64::NAN), (0.9, 0.05), (1e-3, -1.0)] {
            let refused = Guarantee::missed_allowed(10_000, beta, delta, 1).unwrap_err();
            assert!(refused.field == "beta" || refused.field == "delta", "{refused}");
        }
        let refused = Guarantee::missed_allowed(10, 0.1, 0.1, 0).unwrap_err();
        assert_eq!(refused.field, "the number of sizes");
        for cells in [MOST_CELLS + 1, 1_000_000_000_000, usize::MAX] {
            let refused = Guarantee::missed_allowed(cells, 0.5, 0.5, 1).unwrap_err();
            let says = format!("cells is {cells}, expected at most {MOST_CELLS}");
            assert_eq!(refused.to_string(), says);
        }
        assert!(Guarantee::missed_allowed(MOST_CELLS, 0.5, 0.5, 1).is_ok());
    }
}
