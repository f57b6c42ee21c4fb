//! The output layer of any-gnn for separable costs: a learned response to the price of the budget, zeros included.
//!
//! At a price `ν` a user gets, over the least that serves,
//!
//! ```text
//! v_k = s·(e^ψ(t_k) − e^ψ(t_0)),     t_k = ln(ν/α_k),
//! ```
//!
//! nothing where `t_k ≥ t_0`, and no more than the cost's range has. `t_0` is the logarithm of what the first bit is
//! worth, `−c'(low)`: from there on the best is nothing, and so it is here by construction. `ψ` is what is learned, one
//! function of one variable for each class. `K` is not in it.

use serde::{Deserialize, Serialize};

use crate::math::PriceSearch;
use crate::network::{ClassResponse, RESPONSE_OUTPUTS, RESPONSE_PRICES, ResponseGradient};
use crate::problems::separable::solver::price_for_users;
use crate::problems::separable::{Cost, Separable};

/// Largest `ψ` whose exponential is taken.
const LARGEST: f64 = 600.0;
/// Widest and narrowest range of `ln q` that the kinks of a response are spread over at the start.
const WIDEST: f64 = 80.0;
const NARROWEST: f64 = 1.0;

/// What a class's response is measured in: `ln q`, and amounts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResponseUnits {
    /// Least and largest `ln q` of the training.
    pub ln_price: (f64, f64),
    /// `u` at the least of them.
    pub amount: f64,
    /// `ln(u_high/u_low)` between the two, less than nothing where nothing is known of it.
    pub fall: f64,
}

impl ResponseUnits {
    /// For amounts of a cost from one to another.
    pub(crate) fn new(cost: &Cost, (from, to): (f64, f64)) -> Self {
        let (first, last) = cost.over_range();
        let high = to.min(last - first);
        let low = from.min(0.1 * high);
        let ln_price = |v: f64| cost.at_over(first + v).1.max(1e-300).ln();
        // Not quite to the end, where a cost may become flat: its price has no end.
        let ends = (ln_price(0.99 * high), ln_price(low));
        let narrow = ends.1 - ends.0 < NARROWEST;
        let begin = if narrow { ends.1 - NARROWEST } else { ends.0.max(ends.1 - WIDEST) };
        Self { ln_price: (begin, ends.1), amount: high, fall: (high / low).ln() }
    }

    /// Whether responses come out as numbers.
    pub(crate) fn is_sound(&self) -> bool {
        let (low, high) = self.ln_price;
        low.is_finite()
            && high.is_finite()
            && (0.5 * NARROWEST..=2.0 * WIDEST).contains(&(high - low))
            && self.amount > 0.0
            && self.amount.is_finite()
            && self.fall.is_finite()
    }

    /// `ln q` as the response reads it.
    #[inline]
    fn read(&self, ln_price: f64) -> f64 {
        let (low, high) = self.ln_price;
        RESPONSE_PRICES.0 + (ln_price - low) * self.per_ln_price(high - low)
    }

    #[inline]
    fn per_ln_price(&self, width: f64) -> f64 {
        (RESPONSE_PRICES.1 - RESPONSE_PRICES.0) / width
    }

    /// Outputs to start from: a straight line through the amounts at both ends.
    pub(crate) fn initialize(&self, normal: &mut impl FnMut() -> f64) -> [f64; RESPONSE_OUTPUTS] {
        let slope = (self.fall / (RESPONSE_PRICES.1 - RESPONSE_PRICES.0)).clamp(0.01, 10.0);
        ClassResponse::initialize((slope * RESPONSE_PRICES.0, slope.ln()), normal)
    }
}

/// A class: its learned response, and what it is measured in.
#[derive(Debug, Clone)]
pub(crate) struct LearnedClass {
    response: ClassResponse,
    units: ResponseUnits,
    per_ln_price: f64,
    /// `ln(−c')` where the range begins, as the response reads it, and `e^ψ` there.
    zero: f64,
    at_zero: f64,
    /// `−c'` where the range begins, in logarithm.
    ln_most: f64,
    /// Most over the least.
    most: f64,
}

impl LearnedClass {
    pub(crate) fn new(outputs: &[f64], units: ResponseUnits, cost: &Cost) -> Self {
        let response = ClassResponse::new(outputs);
        let ln_most = cost.marginals().0.ln();
        let zero = units.read(ln_most);
        let at_zero = response.at(zero).0.min(LARGEST).exp();
        let (first, last) = cost.over_range();
        let per_ln_price = units.per_ln_price(units.ln_price.1 - units.ln_price.0);
        Self { response, units, per_ln_price, zero, at_zero, ln_most, most: last - first }
    }

    /// Amount over the least at a price, its derivative by the price's logarithm, and that by `ψ`.
    #[inline]
    fn at(&self, ln_price: f64) -> (f64, f64, f64) {
        if ln_price >= self.ln_most {
            return (0.0, 0.0, 0.0);
        }
        let place = RESPONSE_PRICES.0 + (ln_price - self.units.ln_price.0) * self.per_ln_price;
        let (value, slope) = self.response.at(place);
        let by_response = self.units.amount * value.min(LARGEST).exp();
        let amount = by_response - self.units.amount * self.at_zero;
        if amount >= self.most {
            (self.most, 0.0, 0.0)
        } else if amount > 0.0 {
            (amount, by_response * slope * self.per_ln_price, by_response)
        } else {
            (0.0, 0.0, 0.0)
        }
    }
}

/// The users of one instance at the price found; buffers are kept from one to the next.
#[derive(Debug, Clone, Default)]
pub(crate) struct LearnedSplit {
    /// `−ln α_k`.
    ln_inverse: Vec<f64>,
    /// Over the least, before the gain.
    over: Vec<f64>,
    by_price: Vec<f64>,
    by_response: Vec<f64>,
    ln_price: f64,
}

/// Relative distance to the budget at which the search ends; what is left is scaled away.
const TOLERANCE: f64 = 1e-6;
/// The same in training, where gradients are those of an exact price.
pub(crate) const TRAINING: f64 = 1e-13;

impl LearnedSplit {
    /// Splits a budget; what is over the least is in `over`. `false` where there is less than that.
    pub(crate) fn split(
        &mut self,
        problem: &Separable,
        classes: &[LearnedClass],
        training: bool,
    ) -> bool {
        let inverse = problem.inverse_gains();
        let size = inverse.len();
        self.ln_inverse.clear();
        self.ln_inverse.extend(inverse.iter().map(|inverse| inverse.ln()));
        for buffer in [&mut self.over, &mut self.by_price, &mut self.by_response] {
            buffer.clear();
            buffer.resize(size, 0.0);
        }
        let least: f64 = problem.least().sum();
        let slack = problem.budget() - least;
        let class = |user: usize| &classes[problem.classes()[user]];
        let most: f64 =
            inverse.iter().enumerate().map(|(user, inverse)| class(user).most * inverse).sum();
        if slack <= 0.0 {
            return false;
        }
        if most <= slack {
            for (user, over) in self.over.iter_mut().enumerate() {
                *over = class(user).most;
            }
            return true;
        }
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (user, ln_inverse) in self.ln_inverse.iter().enumerate() {
            let units = &class(user).units;
            low = low.min(units.ln_price.0 - ln_inverse);
            high = high.max(units.ln_price.1 - ln_inverse);
        }
        let tolerance = if training { TRAINING } else { TOLERANCE };
        let search = PriceSearch { tolerance, bracket: 1e-15, stride: 20.0 };
        // The response goes on beyond all that was trained on, and falls there, too.
        let between = (low - BEYOND, high + BEYOND);
        let found = price_for_users(
            search,
            (size, slack),
            0.5 * (low + high),
            between,
            |ln_price, users| {
                self.ln_price = ln_price;
                let (mut sum, mut slope) = (0.0, 0.0);
                for user in users {
                    let (over, by_price, by_response) =
                        class(user).at(ln_price + self.ln_inverse[user]);
                    sum += over * inverse[user];
                    slope += by_price * inverse[user];
                    (self.over[user], self.by_price[user], self.by_response[user]) =
                        (over, by_price, by_response);
                }
                (sum, slope)
            },
        );
        let ratio = slack / found.total;
        if ratio < 1.0 + CLOSE {
            for over in &mut self.over {
                *over *= ratio;
            }
        } else {
            // A response that ends short of the budget, far from what it was trained on: everyone the same part of
            // what is missing to the most.
            let share = (slack - found.total) / (most - found.total);
            for (user, over) in self.over.iter_mut().enumerate() {
                *over += share * (class(user).most - *over);
            }
        }
        true
    }

    /// Over the least, before the gain.
    pub(crate) fn over(&self) -> &[f64] {
        &self.over
    }

    /// Adds the gradient of a loss by the responses' outputs, given that by what users have over the least: through
    /// the price, by the implicit function theorem on `Σ v_k/α_k = slack`,
    ///
    /// ```text
    /// dL/dv_k = A_k − (1/α_k)·Σ_j A_j v_j' / Σ_j v_j'/α_j,      A = ∂L/∂v,   v' = ∂v/∂ln ν.
    /// ```
    ///
    /// Users with nothing, or with all there is, have no part in it.
    pub(crate) fn backward(
        &self,
        problem: &Separable,
        classes: &[LearnedClass],
        by_over: &[f64],
        gradients: &mut [ResponseGradient],
    ) {
        let inverse = problem.inverse_gains();
        let (mut above, mut below) = (0.0, 0.0);
        for (user, inverse) in inverse.iter().enumerate() {
            above += by_over[user] * self.by_price[user];
            below += inverse * self.by_price[user];
        }
        // Nobody moves with the price.
        if below >= 0.0 {
            return;
        }
        let mean = above / below;
        for (user, inverse) in inverse.iter().enumerate() {
            let class = problem.classes()[user];
            let LearnedClass { response, units, zero, at_zero, .. } = &classes[class];
            let by_response = self.by_response[user];
            if by_response > 0.0 {
                let upstream = by_over[user] - inverse * mean;
                let place = units.read(self.ln_price + self.ln_inverse[user]);
                let gradient = &mut gradients[class];
                response.accumulate(place, upstream * by_response, gradient);
                response.accumulate(*zero, -upstream * units.amount * at_zero, gradient);
            }
        }
    }
}

/// How much of the budget may be left when the search ends, so that amounts are scaled to it.
const CLOSE: f64 = 1e-3;
/// Beyond the prices of the training, in their logarithm, what is looked at.
const BEYOND: f64 = 500.0;
