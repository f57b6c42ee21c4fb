//! The output layer that splits the power: by the one multiplier of the KKT conditions, or by softmax.

use serde::{Deserialize, Serialize};

use crate::math::{PriceSearch, price_of_budget, vectorised};
use crate::network::ClassResponse;

/// How responses become powers that sum to `P_max`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SplitRule {
    /// `P_k = P_k^min·(1 + e^ψ(ln ν + o_k))` with the price `ν` such that the powers sum to `P_max`: the
    /// size law of the KKT conditions. Every user has more than its least power whenever the budget
    /// allows it at all.
    #[default]
    Kkt,
    /// `P_k ∝ P_k^min·e^ψ(ln ν + o_k)` with a fixed price: a softmax of `ln P_k^min + ψ`. It carries the 1/K, but the
    /// powers of a thousand users have the shape of those of ten. It is there for comparison.
    Softmax,
}
/// Relative distance to the budget at which the search for the price ends. The last step is taken along the
/// tangents of the responses, which saves a pass; its square is left, and is scaled away. It moves a power by
/// 1e-6 and the total by the square of that.
const PRICE_TOLERANCE: f64 = 5e-3;
/// Largest `ψ` whose exponential is taken.
const LARGEST: f64 = 600.0;

/// The users of one cell; buffers are kept from one to the next.
#[derive(Debug, Clone, Default)]
pub struct PowerSplit {
    class: Vec<usize>,
    least_w: Vec<f64>,
    /// `o_k = ln(P_k^min / b_fold)`.
    offset: Vec<f64>,
    /// `P_k/P_k^min − 1`.
    excess: Vec<f64>,
    /// `ψ'` at the price found.
    slope: Vec<f64>,
    ln_price: f64,
}

impl PowerSplit {
    /// Starts a cell of no users.
    pub fn clear(&mut self) {
        self.class.clear();
        self.least_w.clear();
        self.offset.clear();
    }

    /// Adds a user: its class, its least power `P_k^min` in W, and `ln b_fold` of its class, Hz.
    #[inline]
    pub fn push(&mut self, class: usize, least_w: f64, ln_fold_hz: f64) {
        self.class.push(class);
        self.least_w.push(least_w);
        self.offset.push(least_w.ln() - ln_fold_hz);
    }

    /// Least powers, W.
    pub fn least_w(&self) -> &[f64] {
        &self.least_w
    }

    /// Classes.
    pub fn classes(&self) -> &[usize] {
        &self.class
    }

    /// `P_k/P_k^min − 1` after a split: positive under [`SplitRule::Kkt`].
    pub fn excess(&self) -> &[f64] {
        &self.excess
    }

    /// `ψ'` of each user at the price found.
    pub fn slopes(&self) -> &[f64] {
        &self.slope
    }

    /// Reads the responses at a price: leaves `P_k/P_k^min − 1 = e^ψ` and the slopes.
    pub fn respond_to(&mut self, responses: &[ClassResponse], ln_price: f64) {
        self.excess.resize(self.least_w.len(), 0.0);
        self.slope.resize(self.least_w.len(), 0.0);
        self.ln_price = ln_price;
        dispatch_respond(self, responses);
    }

    /// `P_k` after a split, W.
    pub fn power_w(&self, user: usize) -> f64 {
        self.least_w[user] * (1.0 + self.excess[user])
    }

    /// The price of the last split, in its logarithm.
    pub fn ln_price(&self) -> f64 {
        self.ln_price
    }

    /// Splits `max_power_w` by the responses of the classes; `slack_w` is what of it is left over the
    /// users' least powers, and positive. The powers sum to the budget up to rounding. With a fixed price, in its
    /// logarithm, it is that of [`SplitRule::Softmax`].
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

    /// The price at which the powers over the least sum to `slack_w`; returns the sum there.
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

    /// Moves the price by a step so small that the responses are straight; returns the sum there.
    fn last_step(&mut self, step: f64) -> f64 {
        self.ln_price += step;
        let mut sum = 0.0;
        let users = self.excess.iter_mut().zip(&self.slope).zip(&self.least_w);
        for ((excess, slope), least_w) in users {
            // e^(slope·step), to second order.
            let rise = slope * step;
            *excess += *excess * rise * (1.0 + 0.5 * rise);
            sum += *least_w * *excess;
        }
        sum
    }

    /// The price at which the sum is met to second order in the spread of the offsets, whose mean and
    /// variance are weighted by the least powers as the users are in that sum.
    fn first_guess(&self, responses: &[ClassResponse], slack_w: f64) -> f64 {
        let (mut least_w, mut first, mut second) = (0.0, 0.0, 0.0);
        // The response of the user who needs most stands for all: who that is does not depend on their order.
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
        // Newton on a function that falls everywhere; a few steps are close enough.
        let mut t = -target;
        for _ in 0..6 {
            let (value, slope) = response.at(t);
            t -= (value + 0.5 * slope * slope * variance - target) / slope;
        }
        t - mean
    }
}

vectorised!(
    /// `Σ P_k^min·e^ψ` at the price, and its derivative by the price's logarithm; leaves `e^ψ` in
    /// `excess`.
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
