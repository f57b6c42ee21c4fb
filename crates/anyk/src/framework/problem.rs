//! What a problem is: instances of any size, and the judge of any answer to them.

use thiserror::Error;

use crate::framework::ModelError;
use crate::invalid::Invalid;
use crate::tolerance;

/// One instance of a problem: K users or links, and what is asked for.
///
/// The judge shares no code with solvers and networks, so that "feasible" and "optimal" mean one thing for
/// all of them.
pub trait Problem: Sized {
    /// What is decided for each user: powers, bandwidths.
    type Answer: Default + Clone + Send;
    /// What the judge finds about an answer.
    type Verdict;

    /// Number of users or links, `K ≥ 1`.
    fn size(&self) -> usize;

    /// Judges any answer; an error if it is for another number of users.
    fn judge(&self, answer: &Self::Answer) -> Result<Self::Verdict, Invalid>;

    /// Refuses what is no answer at all, however bad: another number of users, an amount that is negative or no
    /// number, more than there is. Whether users are served is for the judge.
    fn check(&self, answer: &Self::Answer) -> Result<(), Invalid>;

    /// The same instance with its users in another order: user `order[i]` comes to place `i`.
    fn reordered(&self, order: &[usize]) -> Self;
}

/// Answers instances of a problem, of any size: a solver or a learned policy, with its buffers. It owns all that it
/// needs, and a clone of it answers the same in another thread.
pub trait Allocate<P: Problem>: Send + Sync {
    /// Writes an answer, and says what it is worth.
    fn allocate(&mut self, problem: &P, answer: &mut P::Answer) -> Outcome;

    /// Returns an error if it refuses every instance of so many users.
    fn check_size(&self, _size: usize) -> Result<(), ModelError> {
        Ok(())
    }
}

/// How an allocation ended. Not reaching the optimum is an outcome, not an error.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Optimal, with the proof.
    Optimal(Proof),
    /// Feasible, but the proof leaves a gap over [`tolerance::DUALITY_GAP`].
    Inaccurate(Proof),
    /// A stationary point, after so many iterations.
    Converged(usize),
    /// Stopped after so many iterations.
    IterationLimit(usize),
    /// A rule of thumb.
    Heuristic,
    /// A learned policy's answer.
    Learned,
    /// No answer: the budget cannot serve every user.
    Infeasible(Infeasibility),
    /// No answer: the policy is not for such an instance.
    Refused(Refusal),
}

/// How a solve ended. Not meeting the tolerance is a status, not an error.
#[derive(Debug, Clone, PartialEq)]
pub enum Status {
    /// Solved, with a relative duality gap of at most [`tolerance::DUALITY_GAP`].
    Optimal,
    /// A feasible answer whose gap is larger than that: the budget is so tight that rounding shows, or the law of
    /// fading leaves a problem that is not convex, and the gap is 1.
    Inaccurate,
    /// The budget cannot serve every user.
    Infeasible(Infeasibility),
}

/// What a dual solution proves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proof {
    /// Bound on `(objective − optimum) / objective`.
    pub duality_gap: f64,
    /// Dual variable of the budget.
    pub price: f64,
    /// Trial prices.
    pub iterations: u32,
}

/// Why a policy has no answer for an instance, in words.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{0}")]
pub struct Refusal(pub String);

impl Outcome {
    /// Whether there is an answer.
    pub fn is_served(&self) -> bool {
        !matches!(self, Self::Infeasible(_) | Self::Refused(_))
    }
}

/// Refuses amounts that are not one for each user, or are negative or no numbers, and a sum over the budget.
pub(crate) fn check_amounts(
    what: &'static str,
    amounts: &[f64],
    size: usize,
    budget: Option<f64>,
) -> Result<(), Invalid> {
    if amounts.len() != size {
        return Err(wrong_size(amounts.len(), size));
    }
    let unfit = |amount: &f64| !(*amount >= 0.0 && amount.is_finite());
    let expected = "a number that is not negative";
    if let Some(user) = amounts.iter().position(unfit) {
        return Err(Invalid::number(what, amounts[user], expected).of_user(user));
    }
    let total: f64 = amounts.iter().sum();
    match budget {
        Some(budget) if total > budget * (1.0 + tolerance::LEARNED_BUDGET) => {
            let field = format!("the {what} of all users");
            Err(Invalid::number(field, total, format!("at most the budget of {budget}")))
        }
        // The sum of numbers may be none.
        _ if !total.is_finite() => Err(Invalid::number(what, amounts[0], expected).of_user(0)),
        _ => Ok(()),
    }
}

/// An allocation for another number of users.
pub(crate) fn wrong_size(given: usize, expected: usize) -> Invalid {
    Invalid::value("the number of users in the allocation", given, expected.to_string())
}

/// An instance without users.
pub(crate) fn no_users() -> Invalid {
    Invalid::value("the number of users", 0, "at least 1")
}

/// Why a cell cannot be served, and what part of it can.
#[derive(Debug, Clone, PartialEq, Error)]
#[error(
    "serving everyone takes at least {required_power_w:.6} W, {shortfall_w:.6} W more than the budget"
)]
pub struct Infeasibility {
    /// Least power that could serve everyone, `Σ u_min/α_k`, W.
    pub required_power_w: f64,
    /// How much of it is missing, W.
    pub shortfall_w: f64,
    /// Positions of the users in the largest set that can be served, ascending: the most expensive
    /// ones (by least power) were dropped first.
    pub admissible: Vec<usize>,
    /// Positions of the users dropped, the most expensive first.
    pub dropped: Vec<usize>,
}

impl Infeasibility {
    /// Which users can be served, dropping those of the largest least power first. `needs` has the least
    /// power of each user, W, and its position.
    pub(crate) fn new(mut needs: Vec<(f64, usize)>, max_power_w: f64) -> Self {
        let required_power_w: f64 = needs.iter().map(|need| need.0).sum();
        needs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let budget_w = max_power_w * (1.0 - tolerance::POWER_SLACK);
        let mut used_w = 0.0;
        let admitted = needs
            .iter()
            .take_while(|(least_w, _)| {
                used_w += least_w;
                used_w < budget_w
            })
            .count();
        let mut admissible: Vec<usize> = needs[..admitted].iter().map(|row| row.1).collect();
        admissible.sort_unstable();
        Self {
            required_power_w,
            shortfall_w: (required_power_w - max_power_w).max(0.0),
            admissible,
            dropped: needs[admitted..].iter().rev().map(|row| row.1).collect(),
        }
    }
}

/// Refuses what is not a valid gain.
pub(crate) fn check_gain(index: usize, gain: f64) -> Result<(), Invalid> {
    if gain > 1e-60 && gain <= 1.0 {
        return Ok(());
    }
    let expected = "a power ratio above 1e-60 and at most 1";
    Err(Invalid::number("gain", gain, expected).of_user(index))
}

/// The gains of at least one user, each a power ratio.
pub(crate) fn checked_gains(gains: impl IntoIterator<Item = f64>) -> Result<Vec<f64>, Invalid> {
    let gains: Vec<f64> = gains.into_iter().collect();
    for (index, &gain) in gains.iter().enumerate() {
        check_gain(index, gain)?;
    }
    if gains.is_empty() { Err(no_users()) } else { Ok(gains) }
}
