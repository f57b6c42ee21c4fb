//! Separable convex costs under one budget: the price search that solvers and learned policies share.
//!
//! ```text
//! min  Σ_k c_k(x_k)     s.t.   Σ_k x_k ≤ X
//! ```
//!
//! At a price `ν` of the budget each user answers alone, `−c_k'(x_k) = ν`; the sum of the answers falls with the
//! price. One root in one variable is left, whatever the number of users.

/// How close the search comes to the budget, and how far it may stride.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriceSearch {
    /// Distance to the budget, in its logarithm, at which the search ends.
    pub tolerance: f64,
    /// Width of the bracket, relative to the logarithm of the price, at which it ends, too.
    pub bracket: f64,
    /// Longest stride in the logarithm of the price before there is a bracket.
    pub stride: f64,
}

/// Where a search ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Logarithm of the price.
    pub ln_price: f64,
    /// What the users take there.
    pub total: f64,
    /// Its derivative by the logarithm of the price.
    pub slope: f64,
    /// Prices tried.
    pub iterations: u32,
    /// Logarithms of the highest price tried at which users take more than the budget, and of the lowest at which
    /// they do not; infinite where none was. Where what users take jumps over the budget, both are next to it.
    pub between: (f64, f64),
}

/// The price at which what users take adds up to the budget, from a first guess of its logarithm. `total` is
/// what they take at a price, and its derivative by the logarithm of the price, which is negative.
///
/// Newton's method on both logarithms, since the sum is close to a power of the price, kept inside the bracket
/// found so far.
///
/// ```
/// use anyk::math::{PriceSearch, price_of_budget};
/// // Users whose costs are w/x answer x = √(w/ν).
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

/// [`price_of_budget`] with prices known, by their logarithms, between which it is. What users take may be 0, stay
/// where it is or jump: the search halves what it knows wherever the tangent does not lead on.
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
