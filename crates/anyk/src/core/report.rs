//! What is shown of an allocation.

use super::{Allocation, Column, Fact, Facts, Goal, Reference, Status, Text};
use crate::exchange::NotFinite;
use crate::framework::Error;

/// What is shown of an allocation.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Numbers of each user: the amounts, and what they lead to.
    pub details: Vec<Detail>,
    /// What holds for the whole instance.
    pub facts: Facts,
    /// What people read after the table of users.
    pub text: Text,
    /// Heads and cells of its row in a table of many instances.
    pub row: Vec<(&'static str, String)>,
}

/// One number for each user of a report.
#[derive(Debug, Clone)]
pub struct Detail {
    /// Its name in JSON; empty for a column of the table alone.
    pub name: &'static str,
    /// Its head in a table.
    pub head: &'static str,
    /// One for each user; empty if it is not known.
    pub values: Vec<f64>,
    /// The sum that the table ends with, if any.
    pub total: Option<f64>,
    /// How a table shows a value.
    pub show: fn(f64) -> String,
}

/// What a report is made for.
pub struct Reporting<'a> {
    /// What is allocated.
    pub amounts: &'static [Column],
    /// How the allocation was found.
    pub status: Status,
    /// Whether to compute what takes time: losses by quadrature, the distance to the optimum.
    pub checks: bool,
    /// Whether the allocation can be judged at all.
    pub judges: bool,
    /// Solves the instance, if it is asked to; `None` if the budget cannot serve everyone.
    pub reference: &'a mut dyn FnMut() -> Result<Option<Reference>, Error>,
}

impl Reporting<'_> {
    /// The amounts and the objective, with the distance to the best that is known.
    pub fn plain_report(
        &mut self,
        goal: Goal,
        value: f64,
        given: &Allocation,
    ) -> Result<Report, Error> {
        let mut facts = Facts::default().with("value", value);
        let gap = match given.proof {
            Some(proof) => Some(100.0 * proof.duality_gap),
            None if self.checks && self.judges => {
                (self.reference)()?.and_then(|best| goal.gap_percent(value, best.value))
            }
            None => None,
        };
        if let Some(gap) = gap {
            facts.push("gap_percent", gap);
        }
        facts.extend(&given.facts);
        let columns = self.amounts.iter().zip(&given.amounts);
        let details = columns.map(|(column, values)| Detail {
            name: column.name,
            head: column.name,
            total: column.is_each().then(|| values.iter().sum()),
            values: values.clone(),
            show: |value| format!("{value:.6}"),
        });
        let gap = gap.map_or_else(String::new, |gap| format!(", {gap:.4} % from the best known"));
        let line = format!("{}: {goal} is {value:.6}{gap}", self.status);
        Ok(Report { details: details.collect(), facts, text: Text::line(line), row: Vec::new() })
    }
}

impl Report {
    /// Rejects numbers that are not finite: none leaves the library.
    pub(super) fn check(&self) -> Result<(), Error> {
        let unfit = |detail: &&Detail| detail.values.iter().any(|value| !value.is_finite());
        let of_users = self.details.iter().find(unfit).map(|detail| detail.name);
        match of_users.or(self.facts.not_finite()) {
            Some(name) => Err(Error::NotFinite(NotFinite::of(name))),
            // Names of users may look like numbers that are not finite.
            None if self.facts.iter().any(|(_, fact)| matches!(fact, Fact::Texts(_))) => Ok(()),
            None => Ok(self.text.check()?),
        }
    }
}
