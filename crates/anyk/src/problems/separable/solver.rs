//! Exact optimum by dual decomposition on the single budget.
//!
//! At a price `ν` of the budget, each user solves its own problem, `−α_k c_k'(α_k x_k) = ν`, where `c_k` includes the
//! weight of the user. A user takes its minimum if even the first unit is worth less than the price, and its maximum if
//! the last unit is worth more. The total of all users falls with the price, so one root in one variable remains.
//!
//! # The certificate
//!
//! For any price, no amounts within the budget cost less than `Σ_k min_x h_k(x) − νX` (weak duality), where
//! `h_k(x) = c_k(α_k x) + νx`. If the whole budget is used, or the price is 0, the answer costs at most
//! `Σ [h_k(x_k) − min h_k]` more than the optimum. [`excess`] bounds each term from values only: the tables give a
//! lower and an upper bound on the cost at any point, and the cost is convex. The certificate therefore holds for
//! the costs themselves, although the tables are not exactly convex and their slopes have errors.

use std::iter::StepBy;
use std::ops::Range;

use crate::core::{Allocation, Instance, Outcome, Policy, Proof, Status};
use crate::framework::Error;
use crate::math::{Price, PriceSearch, price_between};
use crate::problems::separable::{Cost, Separable};
use crate::tolerance;

/// Solution of a [`Separable`] problem.
#[derive(Debug, Clone, PartialEq)]
pub struct SeparableSolution {
    /// Outcome of the solve: optimal if the relative duality gap is at most [`tolerance::COST_GAP`], otherwise
    /// inaccurate, since a table is less accurate.
    pub outcome: Outcome,
    /// Amounts `x_k`; empty if infeasible.
    pub amounts: Vec<f64>,
    /// Objective `Σ w_k c_k(α_k x_k)`.
    pub objective: f64,
    /// Dual variable of the budget: the saving from one more unit. It is 0 if the budget is not used up.
    pub price: f64,
    /// Bound on `(objective − optimum) / (|objective| + price·X)`; the objective itself may be 0.
    pub duality_gap: f64,
    /// Number of users at the end of their cost's range who would take more at this price. If the cost itself continues
    /// beyond its range, a longer range gives another answer.
    pub at_end: usize,
    /// Number of trial prices.
    pub iterations: u32,
}

/// Solver that keeps its buffers. Reuse it: after the first instance of a size, it does not allocate memory.
#[derive(Debug, Clone, Default)]
pub struct SeparableSolver {
    over: Vec<f64>,
    other: Vec<f64>,
}

/// Number of users from which the first guess of the price is computed.
const FEW: usize = 16;
/// Factor by which the search for the best amount widens.
const FURTHER: f64 = 2.0;
/// Multiple of the cost's uncertainty up to which a bound on the excess is not refined further.
const SMALL: f64 = 4.0;

impl SeparableSolver {
    /// Solves the problem.
    pub fn solve(&mut self, problem: &Separable) -> SeparableSolution {
        let mut solution = SeparableSolution::default();
        self.solve_into(problem, &mut solution);
        solution
    }

    /// Solves the problem into an existing solution, whose buffers are reused.
    pub fn solve_into(&mut self, problem: &Separable, solution: &mut SeparableSolution) {
        let respond = |user: usize, price: f64| problem.cost_of(user).respond(price);
        let Some(found) = self.split(problem, SEARCH, respond) else {
            let outcome = Outcome::Infeasible(problem.infeasibility());
            *solution = SeparableSolution { outcome, ..SeparableSolution::default() };
            return;
        };
        solution.iterations = found.iterations;
        self.finish(problem, found.price, solution);
    }

    /// Splits the budget at the price at which the users' amounts add up to it. `respond` returns a user's amount at
    /// the user's own price and the derivative with respect to that price. Returns `None` if the budget does not cover
    /// every user's minimum.
    pub(super) fn split(
        &mut self,
        problem: &Separable,
        search: PriceSearch,
        respond: impl Fn(usize, f64) -> (f64, f64),
    ) -> Option<Found> {
        let (budget, inverse) = (problem.budget(), problem.inverse_gains());
        let size = inverse.len();
        let (mut least, mut most) = (0.0, 0.0);
        // Range of prices at which users take less than everything and more than nothing.
        let (mut lowest, mut highest) = (f64::INFINITY, 0.0f64);
        for (user, inverse) in inverse.iter().enumerate() {
            let cost = problem.cost_of(user);
            let (first, last) = cost.over_range();
            least += (cost.low() + first) * inverse;
            most += (last - first) * inverse;
            let own_price = problem.price_factors()[user];
            lowest = lowest.min(cost.lowest_price() / own_price);
            highest = highest.max(cost.marginals().0 / own_price);
        }
        let slack = budget - least;
        if least > 0.0 && slack < tolerance::POWER_SLACK * budget {
            return None;
        }
        self.over.resize(size, 0.0);
        if most <= slack {
            for (user, over) in self.over.iter_mut().enumerate() {
                *over = problem.cost_of(user).over_range().1;
            }
            return Some(Found { price: 0.0, iterations: 0 });
        }
        let between = (lowest.ln() - 1.0, highest.ln() + 1.0);
        let over = &mut self.over;
        let guess = 0.5 * (between.0 + between.1);
        let found = price_for_users(search, (size, slack), guess, between, |ln_price, users| {
            total(problem, ln_price.exp(), users, &respond, &mut |user, v| over[user] = v)
        });
        if (found.total / slack).ln().abs() < search.tolerance.max(1e-9) {
            let scale = slack / found.total;
            for (user, over) in self.over.iter_mut().enumerate() {
                let first = problem.cost_of(user).over_range().0;
                *over = first + (*over - first) * scale;
            }
        } else {
            // The total jumps at this price; for each user, any mixture of both sides is equally good.
            self.mix(problem, &respond, found.between, slack);
        }
        Some(Found { price: found.ln_price.exp(), iterations: found.iterations })
    }

    /// Returns the amounts of the last split.
    pub(super) fn amounts(&self, problem: &Separable) -> impl Iterator<Item = f64> {
        let users = self.over.iter().zip(problem.inverse_gains()).enumerate();
        users.map(|(user, (over, inverse))| (problem.cost_of(user).low() + over) * inverse)
    }

    /// Mixes the responses to two prices, one above and one within the budget, so that the mixture uses it up.
    fn mix(
        &mut self,
        problem: &Separable,
        respond: &impl Fn(usize, f64) -> (f64, f64),
        (low, high): (f64, f64),
        slack: f64,
    ) {
        let size = self.over.len();
        self.other.resize(size, 0.0);
        let (over, other) = (&mut self.over, &mut self.other);
        let more = total(problem, low.exp(), 0..size, respond, &mut |user, v| over[user] = v).0;
        let less = total(problem, high.exp(), 0..size, respond, &mut |user, v| other[user] = v).0;
        let share =
            if more > less { ((slack - less) / (more - less)).clamp(0.0, 1.0) } else { 0.0 };
        for (over, other) in over.iter_mut().zip(other) {
            *over = *other + (*over - *other) * share;
        }
    }

    /// Computes amounts, objective and certificate from the amounts above the minimum.
    fn finish(&self, problem: &Separable, price: f64, solution: &mut SeparableSolution) {
        let (mut objective, mut gap, mut at_end, mut total) = (0.0, 0.0, 0, 0.0);
        solution.amounts.clear();
        for (user, (&over, inverse)) in self.over.iter().zip(problem.inverse_gains()).enumerate() {
            let cost = problem.cost_of(user);
            let (own_price, weight) =
                (price * problem.price_factors()[user], problem.weights()[user]);
            // Rounding may have moved an amount above its maximum.
            let known = over.min(cost.over_range().1);
            let value = cost.at_over(known).0;
            let amount = (cost.low() + over) * inverse;
            total += amount;
            objective += weight * value;
            // The reported objective may itself be wrong by the error.
            gap += weight * (excess(cost, known, own_price) + cost.error_over(known));
            at_end += usize::from(over >= cost.over_range().1 && own_price < cost.marginals().1);
            solution.amounts.push(amount);
        }
        // The unused budget would be worth the price, unless the price is 0.
        gap += price * (problem.budget() - total).max(0.0);
        solution.objective = objective;
        solution.price = price;
        solution.at_end = at_end;
        // At a price of 0 every user has the minimum cost. Nothing is left to prove, and the denominator of the
        // gap may be 0.
        let relative = gap / (objective.abs() + price * problem.budget());
        let unproved = if relative <= 1.0 { relative } else { 1.0 };
        solution.duality_gap = if price > 0.0 { unproved } else { 0.0 };
        solution.outcome = Outcome::by_gap(solution.duality_gap, tolerance::COST_GAP);
    }
}

/// Price that a split found, and the number of trial prices.
pub(super) struct Found {
    pub(super) price: f64,
    pub(super) iterations: u32,
}

const SEARCH: PriceSearch =
    PriceSearch { tolerance: 1e-12, bracket: tolerance::ROOT, stride: 20.0 };

/// Runs [`price_between`] on a few users before it uses all of them. `total` returns the amount that some users
/// take together, and its derivative with respect to the logarithm of the price.
fn price_for_users(
    search: PriceSearch,
    (size, slack): (usize, f64),
    mut guess: f64,
    between: (f64, f64),
    mut total: impl FnMut(f64, StepBy<Range<usize>>) -> (f64, f64),
) -> Price {
    if size > 4 * FEW {
        // Evenly spaced users, as a sample of all.
        let users = || (0..size).step_by(size / FEW);
        let part = slack * users().count() as f64 / size as f64;
        let few = PriceSearch { tolerance: 0.05, ..search };
        guess = price_between(few, part, guess, between, |price| total(price, users())).ln_price;
    }
    price_between(search, slack, guess, between, |price| total(price, (0..size).step_by(1)))
}

/// Sums the users' amounts above the minimum at a price, and the derivative with respect to the price's
/// logarithm. Calls `keep` with each amount.
#[inline]
fn total(
    problem: &Separable,
    price: f64,
    users: impl Iterator<Item = usize>,
    respond: &impl Fn(usize, f64) -> (f64, f64),
    keep: &mut impl FnMut(usize, f64),
) -> (f64, f64) {
    let (inverse, factors) = (problem.inverse_gains(), problem.price_factors());
    let (mut sum, mut slope) = (0.0, 0.0);
    for user in users {
        let cost = problem.cost_of(user);
        let own_price = price * factors[user];
        let (over, by_price) = respond(user, own_price);
        sum += (over - cost.over_range().0) * inverse[user];
        slope += by_price * own_price * inverse[user];
        keep(user, over);
    }
    (sum, slope)
}

/// Returns a bound on `h(v) − min h`, where `h(v) = c(low + v) + price·v`.
fn excess(cost: &Cost, v: f64, price: f64) -> f64 {
    let own = Bracket::around(cost, v, price);
    // At an end of the range, and next to a kink, the slope is known more accurately in the middle of the
    // bracket.
    if own.excess <= SMALL * (own.at.1 - own.at.0) {
        return own.excess;
    }
    let middle = Bracket::around(cost, 0.5 * (own.from + own.to), price);
    own.excess.min((own.at.1 - middle.at.0 + middle.excess).max(0.0))
}

/// Interval that contains the minimum of `h`, and how far `h(v)` can exceed it.
struct Bracket {
    /// Bounds on `h(v)`.
    at: (f64, f64),
    /// Interval that contains the minimum.
    from: f64,
    to: f64,
    /// Bound on `h(v) − min h`; infinite if `v` is an end of the range.
    excess: f64,
}

impl Bracket {
    /// Widens a bracket around `v` until `h` is larger at its ends than inside, for any cost within its bounds.
    /// Since `h` is convex, its slope at `v` lies between those of its chords to both sides. Up to the end of the
    /// bracket, its minimum is not below a line with that slope.
    fn around(cost: &Cost, v: f64, price: f64) -> Self {
        let piece = cost.piece_of(v);
        let bounds = |v: f64| {
            let (least, most) = cost.enclosed(piece, v);
            (least + price * v, most + price * v)
        };
        let (first, last) = cost.over_range();
        let at = bounds(v);
        let start = cost.clear_distance(piece).max(f64::EPSILON * (cost.low() + v));
        // On one side: the steepest possible fall of `h` towards the other side, and the possible distance of the
        // minimum.
        let side = |end: f64| -> (f64, f64) {
            let room = (end - v).abs();
            let (mut fall, mut reach, mut lowest) = (f64::INFINITY, 0.0, at.1);
            while reach < room {
                reach = if reach > 0.0 { FURTHER * reach } else { start }.min(room);
                let (least, most) = bounds(v + reach.copysign(end - v));
                fall = fall.min((most - at.0) / reach);
                if least >= lowest {
                    break;
                }
                lowest = lowest.min(most);
            }
            // The first step may have crossed a kink, in front of which `h` is flatter.
            let mut step = start.min(room);
            while fall * reach > SMALL * (at.1 - at.0) && step > f64::EPSILON * v {
                step /= FURTHER;
                let (least, most) = bounds(v + step.copysign(end - v));
                let flatter = (most - at.0) / step;
                if flatter >= fall {
                    break;
                }
                fall = flatter;
                if least >= at.1 {
                    reach = step;
                }
            }
            (fall, reach)
        };
        let ((to_right, left), (to_left, right)) = (side(first), side(last));
        let lost =
            |fall: f64, distance: f64| if distance > 0.0 { fall.max(0.0) * distance } else { 0.0 };
        let excess = lost(to_right, right).max(lost(to_left, left));
        Self { at, from: v - left, to: v + right, excess }
    }
}

impl Default for SeparableSolution {
    /// Returns an empty solution for [`SeparableSolver::solve_into`].
    fn default() -> Self {
        Self {
            outcome: Outcome::Served(Status::Inaccurate),
            amounts: Vec::new(),
            objective: 0.0,
            price: 0.0,
            duality_gap: 1.0,
            at_end: 0,
            iterations: 0,
        }
    }
}

/// Lets a function write the amounts of an allocation into its buffer.
pub(super) fn write_amounts<R>(into: &mut Allocation, write: impl FnOnce(&mut Vec<f64>) -> R) -> R {
    let mut amounts = into.amounts.pop().unwrap_or_default();
    let found = write(&mut amounts);
    into.amounts.clear();
    into.amounts.push(amounts);
    found
}

impl Policy for SeparableSolver {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let problem = instance.formulation()?;
        let solution = write_amounts(into, |amounts| {
            let own = std::mem::take(amounts);
            let mut solution = SeparableSolution { amounts: own, ..SeparableSolution::default() };
            self.solve_into(problem, &mut solution);
            *amounts = std::mem::take(&mut solution.amounts);
            solution
        });
        let SeparableSolution { outcome, objective, price, duality_gap, iterations, .. } = solution;
        into.proof = Some(Proof { duality_gap, price });
        into.iterations = Some(iterations as usize);
        into.objective = Some(objective);
        Ok(outcome)
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}

/// Baseline that gives every user the minimum that serves it, plus an equal share of the rest.
#[derive(Debug, Clone, Copy, Default)]
pub struct EqualShares;

impl EqualShares {
    /// Writes the amounts of an instance.
    pub fn serve(self, problem: &Separable, amounts: &mut Vec<f64>) -> Outcome {
        amounts.clear();
        amounts.extend(problem.least());
        let least: f64 = amounts.iter().sum();
        if least > problem.budget() {
            return Outcome::Infeasible(problem.infeasibility());
        }
        let share = (problem.budget() - least) / amounts.len() as f64;
        amounts.iter_mut().for_each(|amount| *amount += share);
        Outcome::Served(Status::Heuristic)
    }
}

impl Policy for EqualShares {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let problem = instance.formulation()?;
        Ok(write_amounts(into, |amounts| self.serve(problem, amounts)))
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(*self))
    }
}
