//! Separable problems and their judge.

use std::sync::Arc;

use crate::framework::{Infeasibility, no_users, wrong_size};
use crate::invalid::Invalid;
use crate::problems::separable::Cost;
use crate::tolerance;

/// Division of one budget among users whose costs are decreasing and convex in their amounts:
///
/// ```text
/// min  Σ_k w_k c_k(α_k x_k)     s.t.   Σ_k x_k ≤ X,   x ≥ 0
///  x
/// ```
///
/// The weights `w_k` are 1 unless [`Separable::with_weights`] sets them. This example solves water-filling, with the
/// cost as a function:
///
/// ```
/// use std::sync::Arc;
/// use anyk::problems::separable::{Cost, Separable, SeparableSolver};
/// // Maximize the sum rate over channels with these gains, with a total power of 2.
/// let gains = [3.0, 1.0, 0.2];
/// let range = (0.0, Separable::reach(&gains, 2.0));
/// let cost = Arc::new(Cost::from_fn(range, |u| -u.ln_1p())?);
/// let problem = Separable::uniform(cost, gains, 2.0)?;
/// let solution = SeparableSolver::default().solve(&problem);
/// assert!(solution.outcome.is_optimal());
/// // The water level is 5/3; the weakest channel stays dry.
/// let expected = [4.0 / 3.0, 2.0 / 3.0, 0.0];
/// assert!(solution.amounts.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-9));
/// assert!(problem.assess(&solution.amounts)?.kkt_residual < 1e-7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Separable {
    costs: Vec<Arc<Cost>>,
    class: Vec<usize>,
    gains: Vec<f64>,
    weights: Vec<f64>,
    /// Inverse gains `1/α_k`.
    inverse: Vec<f64>,
    /// Price factors `1/(w_k α_k)`: at a price `ν` of the budget, the price of a user's `u` is `ν/(w_k α_k)`.
    price_factor: Vec<f64>,
    budget: f64,
}

/// Assessment of amounts, computed from the tables of the costs but not from their responses to a price.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeparableAssessment {
    /// Objective `Σ w_k c_k(α_k x_k)`; infinite if a user gets too little for a finite cost.
    pub objective: f64,
    /// Total amount `Σ x_k`.
    pub total: f64,
    /// Amount above the budget, `(Σ x_k − X) / X`: positive if exceeded.
    pub budget_excess: f64,
    /// Number of users who get less than their minimum.
    pub starved: usize,
    /// Largest relative violation of the KKT conditions. At an optimum, the marginal value of the budget is equal for
    /// all users whose amount is between minimum and maximum. It is at least this value for users at the maximum, and
    /// at most this value for users at the minimum. Unused budget has no value.
    pub kkt_residual: f64,
}

impl SeparableAssessment {
    /// Returns whether every user is served within the budget.
    pub fn is_feasible(&self) -> bool {
        self.budget_excess <= tolerance::BUDGET && self.starved == 0
    }
}

/// Accepted gains and budgets.
const GAINS: (f64, f64) = (1e-60, 1e60);
const BUDGETS: (f64, f64) = (1e-60, 1e60);
/// Accepted weights.
const WEIGHTS: (f64, f64) = (1e-12, 1e12);
/// Share by which the judge moves amounts to compute their marginal values, since costs may have kinks.
const NUDGE: f64 = 1e-9;

impl Separable {
    /// Builds the problem for users given by gain and class, the index of their cost.
    pub fn new(
        costs: Vec<Arc<Cost>>,
        users: impl IntoIterator<Item = (f64, usize)>,
        budget: f64,
    ) -> Result<Self, Invalid> {
        let (gains, class): (Vec<f64>, Vec<usize>) = users.into_iter().unzip();
        if gains.is_empty() {
            return Err(no_users());
        }
        for (index, (&gain, &class)) in gains.iter().zip(&class).enumerate() {
            if !(GAINS.0..=GAINS.1).contains(&gain) {
                return Err(Invalid::number("gain", gain, "1e-60 to 1e60").of_user(index));
            }
            if class >= costs.len() {
                let expected = format!("one of the {} costs, from 0", costs.len());
                return Err(Invalid::value("class", class, expected).of_user(index));
            }
        }
        if !(BUDGETS.0..=BUDGETS.1).contains(&budget) {
            return Err(Invalid::number("budget", budget, "1e-60 to 1e60"));
        }
        let inverse: Vec<f64> = gains.iter().map(|gain| gain.recip()).collect();
        let (weights, price_factor) = (vec![1.0; gains.len()], inverse.clone());
        Ok(Self { costs, class, gains, weights, inverse, price_factor, budget })
    }

    /// Returns the problem with a weight for the cost of each user.
    pub fn with_weights(mut self, weights: Vec<f64>) -> Result<Self, Invalid> {
        if weights.len() != self.size() {
            let expected = format!("one for each of the {} users", self.size());
            return Err(Invalid::value("weights", weights.len(), expected));
        }
        let sound = |weight: &f64| (WEIGHTS.0..=WEIGHTS.1).contains(weight);
        if let Some(user) = weights.iter().position(|weight| !sound(weight)) {
            return Err(Invalid::number("weight", weights[user], "1e-12 to 1e12").of_user(user));
        }
        let factors = self.inverse.iter().zip(&weights).map(|(inverse, weight)| inverse / weight);
        self.price_factor = factors.collect();
        self.weights = weights;
        Ok(self)
    }

    /// Builds the problem for users who all have the same cost.
    pub fn uniform(
        cost: Arc<Cost>,
        gains: impl IntoIterator<Item = f64>,
        budget: f64,
    ) -> Result<Self, Invalid> {
        Self::new(vec![cost], gains.into_iter().map(|gain| (gain, 0)), budget)
    }

    /// Returns the largest `u = αx` that any user can get. A cost must be known up to this value.
    pub fn reach(gains: &[f64], budget: f64) -> f64 {
        budget * gains.iter().fold(0.0, |most: f64, gain| most.max(*gain))
    }

    /// Returns the problem with only some of the users, given by index.
    #[must_use]
    pub fn subset(&self, indices: &[usize]) -> Self {
        let part = |values: &[f64]| indices.iter().map(|&user| values[user]).collect();
        Self {
            costs: self.costs.clone(),
            class: indices.iter().map(|&user| self.class[user]).collect(),
            gains: part(&self.gains),
            weights: part(&self.weights),
            inverse: part(&self.inverse),
            price_factor: part(&self.price_factor),
            budget: self.budget,
        }
    }

    /// Costs, one per class.
    pub fn costs(&self) -> &[Arc<Cost>] {
        &self.costs
    }

    /// Class of each user.
    pub fn classes(&self) -> &[usize] {
        &self.class
    }

    /// Returns the gain of each user.
    pub fn gains(&self) -> &[f64] {
        &self.gains
    }

    /// Returns the inverse gains `1/α_k`.
    pub(crate) fn inverse_gains(&self) -> &[f64] {
        &self.inverse
    }

    /// Returns the weight of each user's cost.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Returns the price factors `1/(w_k α_k)`.
    pub(crate) fn price_factors(&self) -> &[f64] {
        &self.price_factor
    }

    /// Returns the total budget `X`.
    pub fn budget(&self) -> f64 {
        self.budget
    }

    /// Returns the cost of a user.
    #[inline]
    pub fn cost_of(&self, user: usize) -> &Cost {
        &self.costs[self.class[user]]
    }

    /// Returns `w_k c_k(u)`.
    pub(crate) fn cost(&self, user: usize, u: f64) -> f64 {
        self.weights[user] * self.cost_of(user).value(u)
    }

    /// Returns the minimum amount that serves each user.
    pub(crate) fn least(&self) -> impl Iterator<Item = f64> {
        let rows = self.class.iter().zip(&self.inverse);
        rows.map(|(&class, inverse)| self.costs[class].range().0 * inverse)
    }

    /// Returns the number of users.
    pub fn size(&self) -> usize {
        self.gains.len()
    }

    /// Describes the shortfall of a budget that does not give every user the minimum.
    pub(crate) fn infeasibility(&self) -> Infeasibility {
        let needs = self.least().enumerate().map(|(user, least)| (least, user)).collect();
        Infeasibility::new(needs, self.budget)
    }

    /// Judges amounts `x_k`.
    pub fn assess(&self, amounts: &[f64]) -> Result<SeparableAssessment, Invalid> {
        if amounts.len() != self.size() {
            return Err(wrong_size(amounts.len(), self.size()));
        }
        let (mut objective, mut total, mut starved) = (0.0, 0.0, 0);
        // Largest marginal value of more, and smallest marginal value of less, over all users.
        let (mut most, mut least) = (0.0f64, f64::INFINITY);
        for (user, &amount) in amounts.iter().enumerate() {
            let (cost, gain) = (self.cost_of(user), self.gains[user]);
            let (weight, (low, high)) = (self.weights[user], cost.range());
            let u = gain * amount;
            total += amount;
            let value = cost.value(u);
            // Includes NaN amounts.
            if !value.is_finite() {
                starved += 1;
            }
            objective += weight * value;
            let step = NUDGE * u;
            if u + step < high {
                most = most.max(weight * gain * cost.marginal((u + step).max(low)));
            }
            if u - step > low {
                least = least.min(weight * gain * cost.marginal(u - step));
            }
        }
        let budget_excess = total / self.budget - 1.0;
        let spread = if most > least { 1.0 - least / most } else { 0.0 };
        let left_over = most * (self.budget - total).max(0.0);
        let worth = objective.abs() + most * self.budget;
        let left_over = if left_over > 0.0 { left_over / worth } else { 0.0 };
        let kkt_residual = if starved > 0 { f64::INFINITY } else { spread.max(left_over) };
        Ok(SeparableAssessment {
            objective,
            total,
            budget_excess,
            starved,
            kkt_residual: kkt_residual.max(budget_excess),
        })
    }
}
