//! Summary of judged allocations at each size: shares of served users, mean objectives and gaps, with their
//! uncertainty.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Goal, Text, Verdict};
use crate::framework::{Error, Unjudged};
use crate::math::{Moments, median};

/// Results of one policy at one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    /// Name of the policy.
    pub policy: String,
    /// Number of users.
    pub k: usize,
    /// Number of instances drawn.
    pub instances: usize,
    /// Number of instances that no allocation serves; they are excluded from all means.
    pub infeasible: usize,
    /// Number of feasible instances without an allocation that can be judged; their users count as not served.
    pub failed: usize,
    /// Number of allocations that exceed the budget.
    pub over_budget: usize,
    /// Share of users who are served; absent if users have no demands, or if no instance can be served.
    pub availability: Option<f64>,
    /// 95 % confidence interval of the availability (Wilson's). Users of one instance are correlated, so the
    /// interval uses an effective number of independent users.
    pub availability_interval: Option<(f64, f64)>,
    /// Mean objective; absent without an allocation.
    pub value: Option<f64>,
    /// Standard error of the mean objective; absent for a single instance.
    pub standard_error: Option<f64>,
    /// Mean objective of the reference on the same instances.
    pub reference: Option<f64>,
    /// Gap between the mean objective and that of the reference, percent; positive is worse. Absent if
    /// references have both signs. The next two fields, which use the gap of each instance, are also absent if
    /// a reference is 0.
    pub gap_percent: Option<f64>,
    /// Standard error of the gap over instances, percent.
    pub gap_standard_error: Option<f64>,
    /// Gap of the worst instance, percent.
    pub worst_gap_percent: Option<f64>,
    /// Largest relative change of a user's amounts when the order of users changes, over a few instances.
    pub reorder_change: Option<f64>,
    /// Median time of an allocation, microseconds. The time of a program includes the pipe and the JSON; for
    /// other policies, only the policy is measured.
    pub microseconds: Option<f64>,
}

/// Sums over the instances of a size.
#[derive(Debug, Default)]
pub(super) struct Tally {
    failed: usize,
    over_budget: usize,
    /// Share of users served in each instance; 0 for instances that failed.
    shares: Moments,
    values: Moments,
    references: Moments,
    gaps: Moments,
    worst_gap: Option<f64>,
    /// Smallest and largest reference.
    range: Option<(f64, f64)>,
    demands: bool,
    goal: Option<Goal>,
    seconds: Vec<f64>,
    size: usize,
}

impl Tally {
    pub(super) fn new(size: usize) -> Self {
        Self { size, ..Self::default() }
    }

    /// Adds an instance without an allocation that can be judged.
    pub(super) fn fail(&mut self) {
        self.failed += 1;
        self.shares.push(0.0);
    }

    /// Adds the time of an allocation.
    pub(super) fn time(&mut self, seconds: f64) {
        self.seconds.push(seconds);
    }

    /// Adds a verdict.
    pub(super) fn add(&mut self, verdict: &Verdict) {
        let Some(value) = verdict.value else { return self.fail() };
        self.demands |= verdict.availability.is_some();
        self.goal = Some(verdict.objective);
        let over_budget = verdict.status == "over-budget";
        self.over_budget += usize::from(over_budget);
        // An allocation that exceeds the budget serves no user.
        self.shares.push(if over_budget { 0.0 } else { verdict.availability.unwrap_or(1.0) });
        self.values.push(value);
        if let Some(reference) = verdict.reference {
            self.references.push(reference);
            let (low, high) = self.range.unwrap_or((reference, reference));
            self.range = Some((low.min(reference), high.max(reference)));
        }
        if let Some(gap) = verdict.gap_percent {
            self.gaps.push(gap);
            self.worst_gap = Some(self.worst_gap.map_or(gap, |worst| worst.max(gap)));
        }
    }

    pub(super) fn standing(
        &self,
        policy: &str,
        (k, instances, infeasible): (usize, usize, usize),
        reorder_change: Option<f64>,
    ) -> Standing {
        let some = |moments: &Moments, value: f64| (moments.count > 0).then_some(value);
        let spread = |moments: &Moments| (moments.count > 1).then(|| moments.standard_error());
        let availability = (self.demands || self.failed > 0)
            .then_some(self.shares.mean)
            .filter(|_| self.shares.count > 0);
        // A mean over references of both signs may be close to 0, and a gap relative to a reference of 0 does not
        // exist.
        let one_sign = self.range.is_some_and(|(low, high)| low >= 0.0 || high <= 0.0);
        let no_zero = self.range.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
        let gap =
            self.goal.and_then(|goal| goal.gap_percent(self.values.mean, self.references.mean));
        let of_each = |gap: Option<f64>| gap.filter(|_| no_zero);
        let times = self.seconds.iter().map(|seconds| seconds * 1e6).collect();
        Standing {
            policy: policy.to_owned(),
            k,
            instances,
            infeasible,
            failed: self.failed,
            over_budget: self.over_budget,
            availability,
            availability_interval: availability.map(|share| self.interval(share)),
            value: some(&self.values, self.values.mean),
            standard_error: spread(&self.values),
            reference: some(&self.references, self.references.mean),
            gap_percent: gap.filter(|_| one_sign),
            gap_standard_error: of_each(spread(&self.gaps)),
            worst_gap_percent: of_each(self.worst_gap),
            reorder_change,
            microseconds: (!self.seconds.is_empty()).then(|| median(times)),
        }
    }

    /// Returns Wilson's interval. Users of one instance are correlated, so the interval uses an effective
    /// number of independent users: with this number, the variance of the share would equal the variance over
    /// instances.
    fn interval(&self, share: f64) -> (f64, f64) {
        const Z: f64 = 1.96;
        let users = (self.size as f64) * self.shares.count as f64;
        let alone = share * (1.0 - share) / users;
        let seen = self.shares.standard_error().powi(2);
        let count = if seen > alone && alone > 0.0 { users * alone / seen } else { users };
        let count = count.max(1.0);
        let spread = Z * (share * (1.0 - share) / count + Z * Z / (4.0 * count * count)).sqrt();
        let (centre, scale) = (share + Z * Z / (2.0 * count), 1.0 + Z * Z / count);
        (((centre - spread) / scale).max(0.0), ((centre + spread) / scale).min(1.0))
    }
}

/// Summary of verdicts by size, in the order of arrival.
#[derive(Debug, Default)]
pub struct Summary {
    /// Sums by size: number of verdicts, number of infeasible instances, and sums over the feasible ones.
    sizes: BTreeMap<usize, (usize, usize, Tally)>,
    objective: String,
    /// Number of instances whose size is unknown.
    unread: usize,
}

impl Summary {
    /// Counts an instance without a verdict. The error may contain its size and whether it is feasible.
    pub fn fail(&mut self, error: &Error) {
        let Some(Unjudged { k, feasible, .. }) = error.unjudged() else {
            self.unread += 1;
            return;
        };
        let (all, infeasible, tally) = self.sizes.entry(*k).or_default();
        *all += 1;
        tally.size = *k;
        if *feasible { tally.fail() } else { *infeasible += 1 }
    }

    /// Returns the number of instances that could not be read and are therefore in no row.
    pub fn unread(&self) -> usize {
        self.unread
    }

    /// Adds a verdict.
    pub fn add(&mut self, verdict: &Verdict) {
        if self.objective.is_empty() {
            self.objective = verdict.objective.to_string();
        }
        let (all, infeasible, tally) = self.sizes.entry(verdict.k).or_default();
        *all += 1;
        tally.size = verdict.k;
        if verdict.reference.is_none() {
            *infeasible += 1;
        } else {
            tally.add(verdict);
        }
    }

    /// Returns whether the summary is empty.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Returns the results at each size.
    pub fn rows(&self, policy: &str) -> Vec<Standing> {
        let row = |(&k, (all, infeasible, tally)): (&usize, &(usize, usize, Tally))| {
            tally.standing(policy, (k, *all, *infeasible), None)
        };
        self.sizes.iter().map(row).collect()
    }

    /// Returns the summary as text.
    pub fn text(&self, policy: &str) -> Text {
        let mut text = Text::default();
        let rows = self.rows(policy);
        table(&mut text, &rows, &self.objective, "the reference");
        for Standing { k, instances, infeasible, failed, .. } in rows {
            if infeasible + failed == 0 {
                continue;
            }
            let judged = instances - infeasible;
            let mut line =
                format!("K = {k}: availability covers {judged} of {instances} instances");
            if infeasible > 0 {
                line.push_str(&format!("; no allocation serves the other {infeasible}"));
            }
            if failed > 0 {
                line.push_str(&format!(
                    "; {failed} of the {judged} have no allocation that can be checked; their users count as not served"
                ));
            }
            text.push(line);
        }
        if self.unread > 0 {
            text.push(format!(
                "{} instances could not be read and are not in the table",
                self.unread
            ));
        }
        text
    }
}

/// Adds the table of all policies at all sizes.
pub(super) fn table(text: &mut Text, rows: &[Standing], objective: &str, reference: &str) {
    let number =
        |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.5e}"));
    let percent = |value: Option<f64>, digits: usize| {
        value.map_or("–".to_owned(), |value| format!("{value:+.digits$}"))
    };
    let row = |row: &Standing| {
        let availability = match (row.availability, row.availability_interval) {
            (Some(share), Some((low, high))) => format!("{share:.4} [{low:.4}, {high:.4}]"),
            _ => "–".to_owned(),
        };
        vec![
            row.policy.clone(),
            row.k.to_string(),
            availability,
            number(row.value),
            number(row.standard_error),
            percent(row.gap_percent, 3),
            row.gap_standard_error.map_or("–".to_owned(), |error| format!("{error:.3}")),
            percent(row.worst_gap_percent, 3),
            row.infeasible.to_string(),
            row.failed.to_string(),
            row.over_budget.to_string(),
            row.microseconds.map_or("–".to_owned(), |time| format!("{time:.0}")),
        ]
    };
    let gap = format!("from {reference} (%)");
    let objective = if objective.is_empty() { "objective" } else { objective };
    let header = [
        "policy",
        "K",
        "availability [95 %]",
        objective,
        "± s.e.",
        &gap,
        "± s.e.",
        "worst (%)",
        "infeasible",
        "failed",
        "over budget",
        "µs",
    ];
    text.table(&header, rows.iter().map(row));
    if rows.iter().any(|row| row.reference.is_some() && row.gap_percent.is_none()) {
        text.push(format!(
            "– from {reference} (%): the reference values have both signs or are 0, so a percentage is undefined"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_widen_where_instances_differ() {
        let tally =
            |shares: &[f64]| Tally { shares: shares.iter().copied().collect(), ..Tally::new(100) };
        let (low, high) = tally(&[1.0; 10]).interval(1.0);
        assert!(low > 0.995 && high > 0.9999, "{low} {high}");
        // Half of the users in each cell, or all users in half of the cells: equal shares, but different
        // uncertainty.
        let (low, high) = tally(&[0.5; 10]).interval(0.5);
        assert!(high - low < 0.07);
        let half: Vec<f64> = (0..10).map(|i| f64::from(i % 2)).collect();
        let (low, high) = tally(&half).interval(0.5);
        assert!(high - low > 0.4);
    }

    #[test]
    fn a_reference_that_changes_its_sign_has_no_relative_gap() {
        let gap = |references: [f64; 2]| {
            let mut tally = Tally::new(10);
            for reference in references {
                let goal = Goal { name: "cost", unit: "1", larger_is_better: false };
                let value = reference + 1.0;
                tally.add(&Verdict {
                    status: "feasible",
                    k: 10,
                    availability: None,
                    objective: goal,
                    value: Some(value),
                    reference: Some(reference),
                    gap_percent: goal.gap_percent(value, reference),
                    budget_used: None,
                    kkt_residual: None,
                    reason: None,
                    warning: None,
                    missed: Vec::new(),
                    extra: crate::exchange::Extra::default(),
                });
            }
            let row = tally.standing("a policy", (10, 2, 0), None);
            (row.gap_percent, row.gap_standard_error.is_some(), row.worst_gap_percent)
        };
        assert_eq!(gap([4.0, 4.0]), (Some(25.0), true, Some(25.0)));
        assert_eq!(gap([-0.5, 4.0]), (None, false, None));
        assert_eq!(gap([0.0, 4.0]), (Some(50.0), false, None));
    }
}
