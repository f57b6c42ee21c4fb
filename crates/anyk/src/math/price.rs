//! Price search for separable convex costs under one budget, which solvers and learned policies share.
//!
//! ```text
//! min  Σ_k c_k(x_k)     s.t.   Σ_k x_k ≤ X
//! ```
//!
//! At a price `ν` of the budget, each user chooses its amount independently, `−c_k'(x_k) = ν`. The sum of the amounts
//! decreases as the price increases. For any number of users, the problem therefore reduces to finding a root in one
//! variable.

/// Accuracy and step limit of the price search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriceSearch {
    /// Distance to the budget, as a logarithm, at which the search ends.
    pub tolerance: f64,
    /// Width of the bracket, relative to the logarithm of the price, at which the search also ends.
    pub bracket: f64,
    /// Longest step in the logarithm of the price before there is a bracket.
    pub stride: f64,
}

/// Result of a price search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Logarithm of the price.
    pub ln_price: f64,
    /// Sum of the users' amounts at this price.
    pub total: f64,
    /// Derivative of the sum with respect to the logarithm of the price.
    pub slope: f64,
    /// Number of prices tried.
    pub iterations: u32,
    /// Bracket of the price: the logarithms of the highest price tried with a sum above the budget, and of the lowest
    /// price tried with a sum at or below the budget. An end that was not found is infinite. If the sum jumps across
    /// the budget, the ends enclose the jump.
    pub between: (f64, f64),
}

/// Finds the price at which the users' amounts add up to the budget, starting from a guess of its logarithm. `total`
/// returns the sum of the amounts at a price, and its derivative with respect to the logarithm of the price, which is
/// negative.
///
/// The search applies Newton's method to both logarithms, since the sum is close to a power of the price. Steps stay
/// inside the bracket found so far.
///
/// ```
/// use anyk::math::{PriceSearch, price_of_budget};
/// // Users with the costs w/x choose x = √(w/ν).
/// let weights = [1.0f64, 4.0, 9.0];
/// let search = PriceSearch { tolerance: 1e-12, bracket: 1e-14, stride: 20.0 };
/// let found = price_of_budget(search, 12.0, 0.0, |ln_price| {
///     let total: f64 = weights.iter().map(|w| (w / ln_price.exp()).sqrt()).sum();
///     (total, -0.5 * total)
/// });
/// assert!((found.ln_price.exp() - 0.25).abs() < 1e-12);
/// ```
pub fn price_of_budget(
    search: PriceSearch,
    budget: f64,
    first_guess: f64,
    total: impl FnMut(f64) -> (f64, f64),
) -> Price {
    price_between(search, budget, first_guess, (f64::NEG_INFINITY, f64::INFINITY), total)
}

/// Finds the price as [`price_of_budget`] does, within a known bracket given as logarithms of prices. The sum may be
/// 0, constant or discontinuous: the search bisects if a Newton step leaves the bracket.
pub fn price_between(
    search: PriceSearch,
    budget: f64,
    first_guess: f64,
    (mut low, mut high): (f64, f64),
    mut total: impl FnMut(f64) -> (f64, f64),
) -> Price {
    let mut ln_price = first_guess;
    let mut iterations = 0;
    loop {
        let (sum, slope) = total(ln_price);
        iterations += 1;
        let miss = (sum / budget).ln();
        let close = miss.abs() < search.tolerance || high - low < search.bracket * ln_price.abs();
        if miss > 0.0 {
            low = ln_price;
        } else {
            high = ln_price;
        }
        if close || iterations >= MOST_ITERATIONS {
            return Price { ln_price, total: sum, slope, iterations, between: (low, high) };
        }
        let next = ln_price - miss * sum / slope;
        ln_price = if next > low && next < high {
            next
        } else if low.is_finite() && high.is_finite() {
            0.5 * (low + high)
        } else {
            ln_price + miss.clamp(-search.stride, search.stride)
        };
    }
}

const MOST_ITERATIONS: u32 = 100;
