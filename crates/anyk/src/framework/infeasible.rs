//! Infeasible cells, and checks of amounts and gains that all problems share.

use std::fmt;

use crate::invalid::Invalid;
use crate::tolerance;

/// Reason why the budget cannot serve every user of a cell, and the users that it can serve.
#[derive(Debug, Clone, PartialEq)]
pub struct Infeasibility {
    /// Smallest power that could serve every user, in W; `None` if no power could.
    pub required_power_w: Option<f64>,
    /// Missing power, in W.
    pub shortfall_w: Option<f64>,
    /// Indices of the users in the largest set that was found to fit the budget, ascending.
    pub admissible: Vec<usize>,
    /// Indices of the dropped users, the most expensive first.
    pub dropped: Vec<usize>,
    /// Upper bound on the number of users in a set that fits, if it differs from the number of admitted users.
    pub at_most: Option<usize>,
    /// Whether no allocation can serve every user. If false, only this policy cannot serve them.
    pub is_exact: bool,
}

impl std::error::Error for Infeasibility {}

impl fmt::Display for Infeasibility {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.required_power_w, self.shortfall_w) {
            (Some(required_w), Some(shortfall_w)) => write!(
                out,
                "serving every user takes at least {required_w:.6} W, {shortfall_w:.6} W more than the budget"
            ),
            _ => out.write_str("no power serves every user"),
        }
    }
}

impl Infeasibility {
    /// Determines which users can be served if those that need the most power are dropped first. `needs` contains the
    /// smallest power of each user, in W, and its index.
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
            required_power_w: Some(required_power_w),
            shortfall_w: Some((required_power_w - max_power_w).max(0.0)),
            admissible,
            dropped: needs[admitted..].iter().rev().map(|row| row.1).collect(),
            at_most: None,
            is_exact: true,
        }
    }

    /// Marks the cell as infeasible for this policy only; another policy may serve the cell.
    #[must_use]
    pub(crate) fn of_policy(mut self) -> Self {
        self.is_exact = false;
        self
    }
}

/// Returns an error if there is not one amount per user, if an amount is negative or not finite, or if their sum
/// exceeds the budget.
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
    let expected = "a non-negative number";
    if let Some(user) = amounts.iter().position(unfit) {
        return Err(Invalid::number(what, amounts[user], expected).of_user(user));
    }
    let total: f64 = amounts.iter().sum();
    match budget {
        Some(budget) if total > budget * (1.0 + tolerance::LEARNED_BUDGET) => {
            let field = format!("the {what} of all users");
            Err(Invalid::number(field, total, format!("at most the budget of {budget}")))
        }
        // The sum of finite numbers may overflow.
        _ if !total.is_finite() => Err(Invalid::number(what, amounts[0], expected).of_user(0)),
        _ => Ok(()),
    }
}

/// Returns the error for an allocation with the wrong number of users.
pub(crate) fn wrong_size(given: usize, expected: usize) -> Invalid {
    Invalid::value("the number of users in the allocation", given, expected.to_string())
}

/// Returns the error for an instance without users.
pub(crate) fn no_users() -> Invalid {
    Invalid::value("the number of users", 0, "at least 1")
}

/// Returns an error if the gain is out of range.
pub(crate) fn check_gain(index: usize, gain: f64) -> Result<(), Invalid> {
    if gain > 1e-60 && gain <= 1.0 {
        return Ok(());
    }
    let expected = "a power ratio above 1e-60 and at most 1";
    Err(Invalid::number("gain", gain, expected).of_user(index))
}

/// Checks that there is at least one gain and that each is in range.
pub(crate) fn checked_gains(gains: impl IntoIterator<Item = f64>) -> Result<Vec<f64>, Invalid> {
    let gains: Vec<f64> = gains.into_iter().collect();
    for (index, &gain) in gains.iter().enumerate() {
        check_gain(index, gain)?;
    }
    if gains.is_empty() { Err(no_users()) } else { Ok(gains) }
}
