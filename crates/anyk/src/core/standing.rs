//! Summary of judged allocations at each size: shares of served users, mean objectives and gaps, with their
//! uncertainty.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::verdict::gap_percent;
use super::{Failed, Text, Verdict};
use crate::exchange::SampleRow;
use crate::framework::{Error, Unjudged};
use crate::math::{ExactMoments, median};

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

/// Sums over instances of one size, which can be merged in any order: the sums are exact.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Tally {
    size: usize,
    instances: usize,
    infeasible: usize,
    failed: usize,
    over_budget: usize,
    /// Share of users served in each instance; 0 for instances that failed.
    shares: ExactMoments,
    values: ExactMoments,
    references: ExactMoments,
    gaps: ExactMoments,
    worst_gap: Option<f64>,
    /// Smallest and largest reference.
    range: Option<(f64, f64)>,
    demands: bool,
    /// Objective with its unit, and whether larger values are better.
    goal: Option<(String, bool)>,
    /// Largest relative changes of the first few instances when the order of users changes, by number.
    reordered: BTreeMap<u64, Option<f64>>,
    /// First instance and number of instances that failed, for each reason.
    reasons: BTreeMap<String, (Numbered, usize)>,
    /// Inputs and outputs of a policy of the caller, with the numbers of the instances.
    rows: Vec<(u64, f64, f64)>,
    /// Times are not comparable between machines, so a part does not contain them.
    #[serde(skip)]
    seconds: Vec<f64>,
}

/// Number of an instance among those of its size, with its seed and its number among the instances of the seed: from 1
/// for random instances, and its position for given ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Numbered {
    pub(super) number: u64,
    pub(super) seed: u64,
    pub(super) index: u64,
}

/// Number of instances of each size that are also allocated with their users in another order.
pub(super) const REORDERED: usize = 3;
/// Maximum number of reasons that a tally keeps.
const MOST_REASONS: usize = 1000;
/// Maximum number of reasons that are reported for a policy at a size.
const MOST_TOLD: usize = 5;

impl Tally {
    pub(super) fn new(size: usize) -> Self {
        Self { size, ..Self::default() }
    }

    /// Counts an instance that no allocation serves.
    pub(super) fn infeasible(&mut self) {
        self.instances += 1;
        self.infeasible += 1;
    }

    /// Adds a feasible instance without an allocation that can be judged.
    pub(super) fn fail(&mut self) {
        self.instances += 1;
        self.failed += 1;
        self.shares.push(0.0);
    }

    /// Adds the reason why an instance failed.
    pub(super) fn explain(&mut self, why: &str, instance: Numbered) {
        if let Some((first, count)) = self.reasons.get_mut(why) {
            *first = instance.min(*first);
            *count += 1;
        } else if self.reasons.len() < MOST_REASONS {
            self.reasons.insert(why.to_owned(), (instance, 1));
        }
    }

    /// Adds the time of an allocation.
    pub(super) fn time(&mut self, seconds: f64) {
        self.seconds.push(seconds);
    }

    /// Adds the largest relative change of an instance when the order of its users changes.
    pub(super) fn reorder(&mut self, number: u64, change: Option<f64>) {
        self.reordered.insert(number, change);
    }

    /// Returns the number of instances that were also allocated in another order.
    pub(super) fn reordered(&self) -> usize {
        self.reordered.len()
    }

    /// Adds an input and an output of the policy.
    pub(super) fn sample(&mut self, number: u64, x: f64, y: f64) {
        self.rows.push((number, x, y));
    }

    /// Adds a verdict on a feasible instance.
    pub(super) fn add(&mut self, verdict: &Verdict) {
        let Some(value) = verdict.value else { return self.fail() };
        self.instances += 1;
        self.demands |= verdict.availability.is_some();
        if self.goal.is_none() {
            self.goal = Some((verdict.objective.to_string(), verdict.objective.larger_is_better));
        }
        let over_budget = verdict.status == "over-budget";
        self.over_budget += usize::from(over_budget);
        // An allocation that exceeds the budget serves no user.
        self.shares.push(if over_budget { 0.0 } else { verdict.availability.unwrap_or(1.0) });
        self.values.push(value);
        if let Some(reference) = verdict.reference {
            self.references.push(reference);
            self.range = merged(self.range, Some((reference, reference)), wider);
        }
        if let Some(gap) = verdict.gap_percent {
            self.gaps.push(gap);
            self.worst_gap = merged(self.worst_gap, Some(gap), f64::max);
        }
    }

    /// Adds other instances of the same size and the same policy.
    pub fn merge(&mut self, other: &Self) {
        self.instances += other.instances;
        self.infeasible += other.infeasible;
        self.failed += other.failed;
        self.over_budget += other.over_budget;
        self.shares.merge(&other.shares);
        self.values.merge(&other.values);
        self.references.merge(&other.references);
        self.gaps.merge(&other.gaps);
        self.worst_gap = merged(self.worst_gap, other.worst_gap, f64::max);
        self.range = merged(self.range, other.range, wider);
        self.demands |= other.demands;
        self.goal = self.goal.take().or_else(|| other.goal.clone());
        self.reordered.extend(&other.reordered);
        while self.reordered.len() > REORDERED {
            self.reordered.pop_last();
        }
        for (why, (first, count)) in &other.reasons {
            let own = self.reasons.entry(why.clone()).or_insert((*first, 0));
            *own = ((*first).min(own.0), own.1 + count);
        }
        self.rows.extend(&other.rows);
        self.seconds.extend(&other.seconds);
    }

    /// Returns the inputs and outputs of the policy, in the order of the instances.
    pub(super) fn rows(&self) -> Vec<SampleRow> {
        let mut rows = self.rows.clone();
        // The users of an instance keep their order.
        rows.sort_by_key(|row| row.0);
        let row = |(number, x, y)| SampleRow { k: self.size, x, y, instance: Some(number) };
        rows.into_iter().map(row).collect()
    }

    /// Returns the reasons why instances failed, by their first instance.
    pub(super) fn failures(&self, policy: &str) -> Vec<Failed> {
        let mut all: Vec<_> = self.reasons.iter().collect();
        all.sort_by_key(|(_, (first, _))| *first);
        let failed = |(why, &(first, count)): (&String, &(Numbered, usize))| {
            let Numbered { seed, index, .. } = first;
            let (policy, why) = (policy.to_owned(), why.clone());
            Failed { policy, k: self.size, seed, instance: index, why, count }
        };
        all.into_iter().take(MOST_TOLD).map(failed).collect()
    }

    /// Returns the objective with its unit; `None` if no allocation was judged.
    pub(super) fn objective(&self) -> Option<&str> {
        self.goal.as_ref().map(|(name, _)| name.as_str())
    }

    /// Returns the results of the policy with this name.
    pub fn standing(&self, policy: &str) -> Standing {
        let some = |moments: &ExactMoments| (moments.count() > 0).then(|| moments.mean());
        let spread =
            |moments: &ExactMoments| (moments.count() > 1).then(|| moments.standard_error());
        let availability = some(&self.shares).filter(|_| self.demands || self.failed > 0);
        // A mean over references of both signs may be close to 0, and a gap relative to a reference of 0 does not
        // exist.
        let one_sign = self.range.is_some_and(|(low, high)| low >= 0.0 || high <= 0.0);
        let no_zero = self.range.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
        let gap = self.goal.as_ref().and_then(|(_, larger_is_better)| {
            gap_percent(*larger_is_better, self.values.mean(), self.references.mean())
        });
        let of_each = |gap: Option<f64>| gap.filter(|_| no_zero);
        let times = self.seconds.iter().map(|seconds| seconds * 1e6).collect();
        let changes = self.reordered.values().copied();
        Standing {
            policy: policy.to_owned(),
            k: self.size,
            instances: self.instances,
            infeasible: self.infeasible,
            failed: self.failed,
            over_budget: self.over_budget,
            availability,
            availability_interval: availability.map(|share| self.interval(share)),
            value: some(&self.values),
            standard_error: spread(&self.values),
            reference: some(&self.references),
            gap_percent: gap.filter(|_| one_sign),
            gap_standard_error: of_each(spread(&self.gaps)),
            worst_gap_percent: of_each(self.worst_gap),
            reorder_change: changes.fold(None, |most, change| merged(most, change, f64::max)),
            microseconds: (!self.seconds.is_empty()).then(|| median(times)),
        }
    }

    /// Returns Wilson's interval. Users of one instance are correlated, so the interval uses an effective
    /// number of independent users: with this number, the variance of the share would equal the variance over
    /// instances.
    fn interval(&self, share: f64) -> (f64, f64) {
        const Z: f64 = 1.96;
        let users = (self.size as f64) * self.shares.count() as f64;
        let alone = share * (1.0 - share) / users;
        let seen = self.shares.standard_error().powi(2);
        let count = if seen > alone && alone > 0.0 { users * alone / seen } else { users };
        let count = count.max(1.0);
        let spread = Z * (share * (1.0 - share) / count + Z * Z / (4.0 * count * count)).sqrt();
        let (centre, scale) = (share + Z * Z / (2.0 * count), 1.0 + Z * Z / count);
        (((centre - spread) / scale).max(0.0), ((centre + spread) / scale).min(1.0))
    }
}

/// Combines two values, either of which may be absent.
fn merged<T>(one: Option<T>, other: Option<T>, both: impl FnOnce(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(both(one, other)),
        (one, other) => one.or(other),
    }
}

/// Returns the smallest interval that contains both.
fn wider(one: (f64, f64), other: (f64, f64)) -> (f64, f64) {
    (one.0.min(other.0), one.1.max(other.1))
}

/// Summary of verdicts by size, in the order of arrival.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Summary {
    sizes: BTreeMap<usize, Tally>,
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
        let tally = self.at(*k);
        if *feasible { tally.fail() } else { tally.infeasible() }
    }

    /// Adds the verdicts of another summary.
    pub fn merge(&mut self, other: &Self) {
        if self.objective.is_empty() {
            self.objective.clone_from(&other.objective);
        }
        self.unread += other.unread;
        for (&size, tally) in &other.sizes {
            self.at(size).merge(tally);
        }
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
        let tally = self.at(verdict.k);
        if verdict.reference.is_none() {
            tally.infeasible();
        } else {
            tally.add(verdict);
        }
    }

    fn at(&mut self, size: usize) -> &mut Tally {
        self.sizes.entry(size).or_insert_with(|| Tally::new(size))
    }

    /// Returns whether the summary is empty.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Returns the results at each size.
    pub fn rows(&self, policy: &str) -> Vec<Standing> {
        self.sizes.values().map(|tally| tally.standing(policy)).collect()
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
    use super::super::Goal;
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
            let row = tally.standing("a policy");
            (row.gap_percent, row.gap_standard_error.is_some(), row.worst_gap_percent)
        };
        assert_eq!(gap([4.0, 4.0]), (Some(25.0), true, Some(25.0)));
        assert_eq!(gap([-0.5, 4.0]), (None, false, None));
        assert_eq!(gap([0.0, 4.0]), (Some(50.0), false, None));
    }
}
