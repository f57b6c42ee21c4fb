//! Tidy table of a sweep: one row for each policy, combination of options, seed and number of users.

use super::Sweep;
use super::slices::{Slice, SliceResult, Work};
use super::spec::Cell;
use crate::core::{GapCurve, Standing, Tally, gap_chart};
use crate::framework::{Error, Head, Table, Value, field_of};

/// Columns of the results, each with the format of its numbers.
const RESULTS: [(&str, &str); 16] = [
    ("k", "{}"),
    ("instances", "{}"),
    ("infeasible", "{}"),
    ("failed", "{}"),
    ("over_budget", "{}"),
    ("availability", "{:.4}"),
    ("availability_low", "{:.4}"),
    ("availability_high", "{:.4}"),
    ("value", "{:.5e}"),
    ("standard_error", "{:.2e}"),
    ("reference", "{:.5e}"),
    ("gap_percent", "{:+.3}"),
    ("gap_standard_error", "{:.3}"),
    ("worst_gap_percent", "{:+.3}"),
    ("reorder_change", "{:.1e}"),
    ("status", "{}"),
];

impl Sweep {
    /// Returns the table of the results of all slices, in the order of the slices.
    pub fn table(&self, results: impl IntoIterator<Item = SliceResult>) -> Result<Table, Error> {
        let mut results = results.into_iter();
        let (mut rows, mut curves) = (Vec::new(), Vec::new());
        let mut merged: Option<SliceResult> = None;
        for slice in &self.slices {
            let Some(result) = results.next() else {
                return Err(Error::Other(
                    "results of slices are missing; run the sweep again".into(),
                ));
            };
            match slice.work {
                Work::Train { .. } => {
                    for (place, &size) in self.sizes.iter().enumerate() {
                        let result = (result.tallies.get(place), result.status.as_deref());
                        rows.push(self.row(slice, size, result, &mut curves));
                    }
                }
                Work::Evaluate { size, block } => {
                    let all = match merged.take() {
                        None => result,
                        Some(before) => before.and(&result),
                    };
                    if block + 1 == self.blocks(size) {
                        let result = (all.tallies.first(), all.status.as_deref());
                        rows.push(self.row(slice, size, result, &mut curves));
                    } else {
                        merged = Some(all);
                    }
                }
            }
        }
        let (problem, reference) = (self.about.name, self.reference());
        let Self { objective, samples, test_seed, .. } = self;
        let of_training = self.of_training.iter().map(|name| self.training_column(name));
        let named = ["problem".to_owned(), "policy".to_owned()].into_iter();
        let named = named.chain(self.of_cells.iter().map(|name| field_of(name))).chain(of_training);
        let named = named.chain(["seed".to_owned()]).map(Head::from);
        let table = Table {
            name: "sweep".to_owned(),
            title: format!(
                "{problem}: {objective}, compared with {reference}; {samples} instances for each K, seed {test_seed}"
            ),
            columns: named.chain(RESULTS.map(Head::from)).collect(),
            rows,
            chart: Some(gap_chart(problem, objective, reference, curves)),
            ..Table::default()
        };
        table.check()?;
        Ok(table)
    }

    /// Returns the name of the policy from which gaps are measured.
    fn reference(&self) -> &'static str {
        self.about.policies.first().map_or("optimum", |first| first.name)
    }

    /// Returns the name of the column for an option of `train`. If the instances sweep over the same option, it has a prefix.
    fn training_column(&self, name: &str) -> String {
        let field = field_of(name);
        if self.of_cells.contains(&name) { format!("train_{field}") } else { field }
    }

    /// Returns a row of the table, and adds its results to a curve.
    fn row(
        &self,
        slice: &Slice,
        size: usize,
        (tally, status): (Option<&Tally>, Option<&str>),
        curves: &mut Vec<GapCurve>,
    ) -> Vec<Value> {
        let policy = &self.policies[slice.policy];
        let Cell { combination, .. } = &self.cells[slice.cell];
        let (training, seed) = match slice.work {
            Work::Train { training, seed } => {
                (policy.trainings.as_ref().and_then(|all| all.get(training)), Value::Whole(seed))
            }
            Work::Evaluate { .. } => (None, Value::Empty),
        };
        let find = |swept: &[(&str, Value)], name: &str| {
            let found = swept.iter().find(|(known, _)| *known == name);
            found.map_or(Value::Empty, |(_, value)| value.clone())
        };
        let mut label = policy.name.clone();
        let mut row = vec![Value::from(self.about.name), Value::from(policy.name.as_str())];
        let of_cells =
            self.of_cells.iter().map(|name| (find(&combination.swept, name), field_of(name)));
        let trained = training.map_or(&[][..], |training| &training.swept);
        let of_training =
            self.of_training.iter().map(|name| (find(trained, name), self.training_column(name)));
        for (value, column) in of_cells.chain(of_training) {
            if !matches!(value, Value::Empty) {
                label.push_str(&format!(", {column} {}", value.text("{}")));
            }
            row.push(value);
        }
        row.push(seed);
        let whole = |count: usize| Value::Whole(count as u64);
        row.push(whole(size));
        match tally.map(|tally| tally.standing(&policy.name)) {
            None => row.extend(std::iter::repeat_n(Value::Empty, RESULTS.len() - 2)),
            Some(standing) => {
                let number = |value: Option<f64>| value.map_or(Value::Empty, Value::Number);
                let Standing { instances, infeasible, failed, over_budget, .. } = standing;
                row.extend([instances, infeasible, failed, over_budget].map(whole));
                let interval = standing.availability_interval;
                row.extend(
                    [
                        standing.availability,
                        interval.map(|interval| interval.0),
                        interval.map(|interval| interval.1),
                        standing.value,
                        standing.standard_error,
                        standing.reference,
                        standing.gap_percent,
                        standing.gap_standard_error,
                        standing.worst_gap_percent,
                        standing.reorder_change,
                    ]
                    .map(number),
                );
                match curves.iter_mut().rev().find(|curve| curve.label == label) {
                    Some(curve) => curve.standings.push(standing),
                    None => curves.push(GapCurve { label, standings: vec![standing] }),
                }
            }
        }
        row.push(Value::from(status.unwrap_or("ok")));
        row
    }
}

impl SliceResult {
    /// Returns the result of two blocks of the same instances. After a failure of one block, there are no sums.
    fn and(mut self, other: &Self) -> Self {
        for (all, one) in self.tallies.iter_mut().zip(&other.tallies) {
            all.merge(one);
        }
        if other.tallies.is_empty() {
            self.tallies.clear();
        }
        self.status = self.status.or_else(|| other.status.clone());
        self
    }
}
