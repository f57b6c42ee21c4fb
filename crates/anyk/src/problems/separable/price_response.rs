//! Response of a user to a price, interpolated linearly between a few hundred prices.
//!
//! At a price `q` of its `u`, a user takes the `v = u − low` that minimizes `h(v) = c(low + v) + q·v`. The fit
//! computes the best `v` at some prices and interpolates linearly between them. Both the fitted response `v̂` and
//! the best one fall with the price. Between two neighbouring prices `q_a < q_b`, both therefore lie between
//! `v_b` and `v_a`, and convexity bounds the loss of the interpolation:
//!
//! ```text
//! h(v̂) − min h  ≤  q·(v_a − v_b)·(√q_b − √q_a)/(√q_b + √q_a).
//! ```
//!
//! The fit halves an interval until this is at most [`LOSS`] of `|c| + q·v`. By weak duality, at the price that
//! uses up a budget, the costs of all users exceed the optimum by at most the sum of their losses. The fit
//! therefore depends neither on `K` nor on the budget.

use crate::problems::separable::{Cost, CostError};

/// Maximum loss of a response, relative to `|c| + q·v`.
const LOSS: f64 = 2e-4;
/// Relative difference below which two prices count as equal; the response then jumps between them.
const NARROWEST: f64 = 1e-7;
/// Maximum number of prices of one response.
const MOST_PRICES: usize = 200_000;
/// Factor by which the fit lowers the price if the cost becomes constant at its end, where the price has no lower
/// limit.
const LOWER: f64 = 8.0;

/// Amount that a user takes, as a function of the price.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PriceResponse {
    /// Prices, ascending.
    prices: Vec<f64>,
    /// Amount `v` at each price, descending.
    amounts: Vec<f64>,
}

/// Price, the best `v` at this price, and `c(low + v)`.
#[derive(Clone, Copy)]
struct Knot {
    price: f64,
    amount: f64,
    cost: f64,
}

impl PriceResponse {
    /// Fits the response of a cost to a price.
    pub(super) fn fit(cost: &Cost) -> Result<Self, CostError> {
        let (first, last) = cost.over_range();
        let at = |price: f64, amount: f64| Knot { price, amount, cost: cost.at_over(amount).0 };
        let (highest, lowest) = cost.marginals();
        let mut found = vec![at(lowest, last)];
        // Intervals still to fit lie between neighbours on this stack, lowest prices on top.
        let mut waiting = vec![at(highest, first)];
        while let (Some(&low), Some(&high)) = (found.last(), waiting.last()) {
            let split = if low.price > 0.0 {
                low.price.sqrt() * high.price.sqrt()
            } else {
                high.price / LOWER
            };
            let apart = split > low.price && split < high.price;
            if apart && !is_close(low, high) {
                waiting.push(at(split, cost.respond(split).0.clamp(high.amount, low.amount)));
            } else {
                found.push(high);
                waiting.pop();
            }
            if found.len() + waiting.len() > MOST_PRICES {
                return Err(CostError::Rough { most: MOST_PRICES });
            }
        }
        let (prices, amounts) = found.into_iter().map(|knot| (knot.price, knot.amount)).unzip();
        Ok(Self { prices, amounts })
    }

    /// Returns the number of prices.
    pub(super) fn len(&self) -> usize {
        self.prices.len()
    }

    /// Returns `v` at a price and its derivative with respect to the price.
    #[inline]
    pub(super) fn at(&self, price: f64) -> (f64, f64) {
        let next = self.prices.partition_point(|known| *known <= price);
        let last = self.prices.len() - 1;
        if next == 0 {
            return (self.amounts[0], 0.0);
        }
        if next > last {
            return (self.amounts[last], 0.0);
        }
        let (from, to) = (self.prices[next - 1], self.prices[next]);
        let slope = (self.amounts[next] - self.amounts[next - 1]) / (to - from);
        (self.amounts[next - 1] + slope * (price - from), slope)
    }
}

/// Returns whether a line between two neighbours loses at most [`LOSS`].
fn is_close(low: Knot, high: Knot) -> bool {
    let fall = low.amount - high.amount;
    let (from, to) = (low.price.sqrt(), high.price.sqrt());
    // Lower bound on |c| between the two points; 0 if the sign changes.
    let least = if low.cost * high.cost > 0.0 { low.cost.abs().min(high.cost.abs()) } else { 0.0 };
    let lost = fall * (to - from) / (to + from);
    lost <= LOSS * (high.amount + least / high.price)
        || high.price - low.price <= NARROWEST * high.price
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the loss of a response at random prices, measured on the cost itself.
    #[test]
    fn a_fitted_response_loses_little_at_every_price() {
        let pieces =
            |u: f64| [4.0 - 4.0 * u, 2.0 - u, 1.2 - 0.2 * u, 0.5].into_iter().fold(0.0, f64::max);
        let costs: [(&str, Cost); 7] = [
            ("log1p", Cost::from_fn((0.0, 1e4), |u| -u.ln_1p()).unwrap()),
            ("1/u", Cost::from_fn((0.0, 1e4), |u| 1.0 / u).unwrap()),
            ("exp", Cost::from_fn((0.0, 1e3), |u| (-u).exp()).unwrap()),
            ("softplus", Cost::from_fn((0.0, 1e3), |u| (3.0 - u).exp().ln_1p()).unwrap()),
            ("pieces", Cost::from_fn((0.0, 10.0), pieces).unwrap()),
            ("flat end", Cost::from_fn((0.0, 3.0), |u| (1.0 - u).max(0.0).powi(4)).unwrap()),
            ("line", Cost::from_fn((0.0, 3.0), |u| (1.0 - u).max(0.0)).unwrap()),
        ];
        for (name, cost) in &costs {
            let response = PriceResponse::fit(cost).unwrap();
            let highest = cost.marginals().0;
            // Products of two such prices underflow to 0.
            let lowest = if matches!(*name, "exp" | "softplus") { 1e-250f64 } else { 1e-9 };
            for i in 0..2000 {
                let price = highest * lowest.powf(f64::from(i) / 1999.0);
                let lagrangian = |v: f64| cost.at_over(v).0 + price * v;
                let (best, found) = (cost.respond(price).0, response.at(price).0);
                let size = cost.at_over(best).0.abs() + price * best;
                let lost = (lagrangian(found) - lagrangian(best)) / size.max(1e-300);
                assert!(
                    lost < 1.1 * LOSS,
                    "{name} at {price:e}: {lost:e}, {} prices",
                    response.len()
                );
            }
        }
    }
}
