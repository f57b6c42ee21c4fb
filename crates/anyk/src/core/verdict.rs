//! Verdict on an allocation from any source, in one form for all problems.

use std::fmt;

use serde::Serialize;

use super::{Instance, Proof, Text, Verdict};
use crate::exchange::Extra;
use crate::tolerance;

/// Objective of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Goal {
    /// Name of the objective.
    pub name: &'static str,
    /// Unit of the objective.
    pub unit: &'static str,
    /// Whether larger values are better.
    pub larger_is_better: bool,
}

/// Judgement of an allocation by its formulation, without a reference.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judged {
    /// Objective value.
    pub value: f64,
    /// Users whose demand is not met; `None` if users have no demands.
    pub missed: Option<Vec<Missed>>,
    /// Share of the budget that is used; `None` without a budget.
    pub budget_used: Option<f64>,
    /// Largest relative violation of the optimality conditions.
    pub kkt_residual: f64,
}

/// User whose demand is not met.
#[derive(Debug, Clone, PartialEq)]
pub struct Missed {
    /// Index of the user.
    pub user: usize,
    /// Quantity that the user demands.
    pub what: &'static str,
    /// Value that the user gets.
    pub value: f64,
    /// Value that the user demands.
    pub target: f64,
}

/// Objective value of the best known allocation, with its proof.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reference {
    /// Objective value.
    pub value: f64,
    /// Proof of the solver, if it has one.
    pub proof: Option<Proof>,
}

/// User who is not served, with its name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Miss {
    /// Index of the user.
    #[serde(skip)]
    pub user: usize,
    /// Name of the user.
    pub id: String,
    /// Quantity that the user demands.
    pub what: &'static str,
    /// Value that the user gets.
    pub value: f64,
    /// Value that the user demands.
    pub target: f64,
}

impl fmt::Display for Goal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.name, self.unit)
    }
}

impl Goal {
    /// Returns the gap between a value and the reference, percent; positive is worse.
    pub fn gap_percent(&self, value: f64, reference: f64) -> Option<f64> {
        gap_percent(self.larger_is_better, value, reference)
    }
}

/// Returns the gap between a value and the reference, percent; positive is worse.
pub(super) fn gap_percent(larger_is_better: bool, value: f64, reference: f64) -> Option<f64> {
    // The objective may be negative; divide by its magnitude.
    if reference < 0.0 {
        let gap = (value - reference) / -reference;
        let gap = if larger_is_better { -gap } else { gap };
        return gap.is_finite().then_some(100.0 * gap);
    }
    let gap = if larger_is_better { 1.0 - value / reference } else { value / reference - 1.0 };
    gap.is_finite().then_some(100.0 * gap)
}

impl Miss {
    /// Returns the factor by which the value is too large or too small.
    fn factor(&self) -> f64 {
        let ratio = self.value / self.target;
        if ratio >= 1.0 { ratio } else { 1.0 / ratio }
    }
}

impl Verdict {
    /// Builds the verdict from a formulation's judgement, compared with the objective of the best known
    /// allocation.
    pub(super) fn new(instance: &Instance, judged: Judged, reference: Option<f64>) -> Self {
        let Judged { value, missed, budget_used, kkt_residual } = judged;
        let (k, goal) = (instance.size().users, instance.goal());
        let availability = missed.as_ref().map(|missed| 1.0 - missed.len() as f64 / k as f64);
        let named = |missed: Missed| {
            let Missed { user, what, value, target } = missed;
            Miss { user, id: instance.record.id(user), what, value, target }
        };
        let missed: Vec<Miss> = missed.unwrap_or_default().into_iter().map(named).collect();
        let status = match reference {
            None => "infeasible",
            _ if budget_used.is_some_and(|used| used > 1.0 + tolerance::BUDGET) => "over-budget",
            _ if missed.is_empty() => "feasible",
            _ => "misses",
        };
        Self {
            status,
            k,
            availability,
            objective: goal,
            value: Some(value),
            reference,
            gap_percent: reference.and_then(|reference| goal.gap_percent(value, reference)),
            budget_used,
            kkt_residual: Some(kkt_residual).filter(|residual| residual.is_finite()),
            reason: None,
            warning: None,
            missed,
            extra: Extra::default(),
        }
    }

    /// Builds the verdict on a missing allocation, with the reason that the file gives.
    pub(super) fn absent(instance: &Instance, reference: Option<f64>, reason: String) -> Self {
        let nothing = Judged::default();
        Self {
            status: "no-allocation",
            availability: instance.demands().then_some(0.0),
            value: None,
            gap_percent: None,
            kkt_residual: None,
            reason: Some(reason),
            ..Self::new(instance, nothing, reference)
        }
    }

    /// Names of the verdict's own fields; in the answer, fields of the file with one of these names get a
    /// prefix.
    pub(super) const FIELDS: [&'static str; 7] =
        ["k", "value", "reference", "budget_used", "reason", "warning", "policy"];

    /// Returns whether every demand is met within the budget.
    pub fn is_feasible(&self) -> bool {
        self.status == "feasible"
    }

    /// Returns the number of users whose demand is met, or the number of all users if there are no demands.
    pub fn met(&self) -> usize {
        if self.value.is_some() { self.k - self.missed.len() } else { 0 }
    }
}

impl Verdict {
    /// Returns the verdict as text.
    pub fn text(&self) -> Text {
        const SHOWN: usize = 20;
        let mut line = format!("{}: K = {}", self.status, self.k);
        if let Some(availability) = self.availability {
            line.push_str(&format!(
                ", {} of {} users served ({:.2} %)",
                self.met(),
                self.k,
                100.0 * availability
            ));
        }
        let Goal { name, unit, .. } = self.objective;
        if let Some(value) = self.value {
            line.push_str(&format!("; {name} {value:.6e} {unit}"));
        }
        if let Some(reason) = &self.reason {
            line.push_str(&format!("; reason: {reason}"));
        }
        match (self.reference, self.gap_percent) {
            (Some(reference), None) if self.value.is_none() => {
                line.push_str(&format!("; the reference has {reference:.6e} {unit}"));
            }
            (Some(reference), Some(gap)) => {
                let over = self.objective.larger_is_better != (gap >= 0.0);
                let word = if over { "above" } else { "below" };
                let gap = gap.abs();
                line.push_str(&format!(", {gap:.4} % {word} the reference of {reference:.6e}"));
            }
            _ if self.value.is_none() => line.push_str("; no allocation serves every user"),
            _ => line.push_str(", no allocation serves every user"),
        }
        if let Some(used) = self.budget_used {
            line.push_str(&format!("; {:.4} % of the budget used", 100.0 * used));
        }
        if let Some(residual) = self.kkt_residual {
            line.push_str(&format!("; KKT residual {residual:.1e}"));
        }
        let mut text = Text::line(line);
        for miss in self.missed.iter().take(SHOWN) {
            let Miss { id, what, value, target, .. } = miss;
            text.push(format!(
                "  user {id}: {what} {value:.6e}, expected {target:.6e} (off by a factor of {:.6})",
                miss.factor().min(1e99)
            ));
        }
        if self.missed.len() > SHOWN {
            text.push(format!("  and {} more", self.missed.len() - SHOWN));
        }
        text
    }
}
