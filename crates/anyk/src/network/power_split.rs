//! Output layer that splits the power, by the multiplier of the KKT conditions or by a softmax.

use serde::{Deserialize, Serialize};

use crate::math::{PriceSearch, price_of_budget, vectorised};
use crate::network::ClassResponse;

/// Rule that turns responses into powers with the sum `P_max`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SplitRule {
    /// `P_k = P_k^min·(1 + e^ψ(ln ν + o_k))` with the price `ν` at which the powers sum to `P_max`. This rule has the
    /// size law of the KKT conditions. Every user gets more than its smallest power if the budget permits it.
    #[default]
    Kkt,
    /// `P_k ∝ P_k^min·e^ψ(ln ν + o_k)` with a fixed price: a softmax of `ln P_k^min + ψ`. Powers scale as 1/K, but the
    /// powers of a thousand users are distributed like those of ten. This rule is only for comparison.
    Softmax,
}
/// Relative distance to the budget at which the price search ends. A last step along the tangents of the responses
/// saves a pass. Its error, the square of this value, is removed by scaling. It changes a power by 1e-6 and the total
/// by the square of that.
const PRICE_TOLERANCE: f64 = 5e-3;
/// Largest `ψ` for which the exponential is computed.
const LARGEST: f64 = 600.0;

/// Users of one cell. Its buffers are reused for the next cell.
#[derive(Debug, Clone, Default)]
pub struct PowerSplit {
    class: Vec<usize>,
    least_w: Vec<f64>,
    /// `o_k = ln(P_k^min / b_fold)`.
    offset: Vec<f64>,
    /// `P_k/P_k^min − 1`.
    excess: Vec<f64>,
    /// `ψ'` at the price.
    slope: Vec<f64>,
    ln_price: f64,
}

impl PowerSplit {
    /// Removes all users.
    pub fn clear(&mut self) {
        self.class.clear();
        self.least_w.clear();
        self.offset.clear();
    }

    /// Adds a user: its class, its smallest power `P_k^min` in W, and `ln b_fold` of its class in Hz.
    #[inline]
    pub fn push(&mut self, class: usize, least_w: f64, ln_fold_hz: f64) {
        self.class.push(class);
        self.least_w.push(least_w);
        self.offset.push(least_w.ln() - ln_fold_hz);
    }

    /// Returns the smallest powers in W.
    pub fn least_w(&self) -> &[f64] {
        &self.least_w
    }

    /// Returns the classes of the users.
    pub fn classes(&self) -> &[usize] {
        &self.class
    }

    /// Returns `P_k/P_k^min − 1` after a split, which is positive under [`SplitRule::Kkt`].
    pub fn excess(&self) -> &[f64] {
        &self.excess
    }

    /// Returns `ψ'` of each user at the price.
    pub fn slopes(&self) -> &[f64] {
        &self.slope
    }

    /// Evaluates the responses at a price: computes `P_k/P_k^min − 1 = e^ψ` and the slopes.
    pub fn respond_to(&mut self, responses: &[ClassResponse], ln_price: f64) {
        self.excess.resize(self.least_w.len(), 0.0);
        self.slope.resize(self.least_w.len(), 0.0);
        self.ln_price = ln_price;
        dispatch_respond(self, responses);
    }

    /// Returns `P_k` after a split in W.
    pub fn power_w(&self, user: usize) -> f64 {
        self.least_w[user] * (1.0 + self.excess[user])
    }

    /// Returns the logarithm of the price of the last split.
    pub fn ln_price(&self) -> f64 {
        self.ln_price
    }

    /// Splits `max_power_w` by the responses of the classes. `slack_w` is the positive remainder of the budget above
    /// the users' smallest powers. The powers sum to the budget up to rounding. If the logarithm of a fixed price is
    /// given, the rule is [`SplitRule::Softmax`].
    pub fn split(
        &mut self,
        fixed_ln_price: Option<f64>,
        responses: &[ClassResponse],
        max_power_w: f64,
        slack_w: f64,
    ) {
        self.excess.resize(self.least_w.len(), 0.0);
        self.slope.resize(self.least_w.len(), 0.0);
        match fixed_ln_price {
            None => {
                let sum = self.find_price(responses, slack_w);
                let scale = slack_w / sum;
                for excess in &mut self.excess {
                    *excess *= scale;
                }
            }
            Some(ln_price) => {
                self.ln_price = ln_price;
                let sum = dispatch_respond(self, responses).0;
                let scale = max_power_w / sum;
                for excess in &mut self.excess {
                    *excess = *excess * scale - 1.0;
                }
            }
        }
    }

    /// Finds the price at which the powers above the smallest sum to `slack_w`. Returns the sum at this price.
    fn find_price(&mut self, responses: &[ClassResponse], slack_w: f64) -> f64 {
        let first_guess = self.first_guess(responses, slack_w);
        let search = PriceSearch { tolerance: PRICE_TOLERANCE, bracket: 0.0, stride: 100.0 };
        let found = price_of_budget(search, slack_w, first_guess, |ln_price| {
            self.ln_price = ln_price;
            dispatch_respond(self, responses)
        });
        let miss = (found.total / slack_w).ln();
        if miss.abs() < PRICE_TOLERANCE {
            return self.last_step(-miss * found.total / found.slope);
        }
        found.total
    }

    /// Changes the price by a step for which the responses are almost linear. Returns the sum at the new price.
    fn last_step(&mut self, step: f64) -> f64 {
        self.ln_price += step;
        let mut sum = 0.0;
        let users = self.excess.iter_mut().zip(&self.slope).zip(&self.least_w);
        for ((excess, slope), least_w) in users {
            // e^(slope·step) up to second order.
            let rise = slope * step;
            *excess += *excess * rise * (1.0 + 0.5 * rise);
            sum += *least_w * *excess;
        }
        sum
    }

    /// Returns the logarithm of the price that satisfies the sum to second order in the spread of the offsets. Their
    /// mean and variance are weighted by the smallest powers, as in the sum.
    fn first_guess(&self, responses: &[ClassResponse], slack_w: f64) -> f64 {
        let (mut least_w, mut first, mut second) = (0.0, 0.0, 0.0);
        // The response of the user with the largest need represents all. This choice does not depend on the order of
        // the users.
        let (mut most, mut class) = (0.0, 0);
        for ((&least, offset), &own) in self.least_w.iter().zip(&self.offset).zip(&self.class) {
            least_w += least;
            first += least * offset;
            second += least * offset * offset;
            if least > most {
                (most, class) = (least, own);
            }
        }
        let target = (slack_w / least_w).ln();
        let mean = first / least_w;
        let variance = (second / least_w - mean * mean).max(0.0);
        let Some(response) = responses.get(class) else { return 0.0 };
        // Newton's method on a decreasing function; a few steps are accurate enough.
        let mut t = -target;
        for _ in 0..6 {
            let (value, slope) = response.at(t);
            t -= (value + 0.5 * slope * slope * variance - target) / slope;
        }
        t - mean
    }
}

vectorised!(
    /// Returns `Σ P_k^min·e^ψ` at the price and its derivative with respect to the logarithm of the price, and writes
    /// `e^ψ` to `excess`.
    fn dispatch_respond(split: &mut PowerSplit, responses: &[ClassResponse]) -> (f64, f64) = respond
);

#[inline(always)]
fn respond(split: &mut PowerSplit, responses: &[ClassResponse]) -> (f64, f64) {
    let PowerSplit { class, least_w, offset, excess, slope: slopes, ln_price, .. } = split;
    let (mut sum, mut by_price) = (0.0, 0.0);
    let users = class.iter().zip(least_w).zip(offset).zip(excess.iter_mut().zip(slopes));
    for (((&class, least_w), offset), (excess, slope)) in users {
        let (value, own) = responses[class].at(*ln_price + *offset);
        (*excess, *slope) = (value.min(LARGEST).exp(), own);
        let over_w = *least_w * *excess;
        sum += over_w;
        by_price += over_w * own;
    }
    (sum, by_price)
}
