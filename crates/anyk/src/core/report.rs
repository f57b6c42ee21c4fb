//! Reports on allocations.

use super::{Allocation, Column, Fact, Facts, Goal, Reference, Status, Text};
use crate::exchange::NotFinite;
use crate::framework::Error;

/// Report on an allocation.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Numbers for each user: the amounts and the quantities that follow from them.
    pub details: Vec<Detail>,
    /// Facts about the whole instance.
    pub facts: Facts,
    /// Text below the table of users.
    pub text: Text,
    /// Headings and cells of the instance's row in a table of many instances.
    pub row: Vec<(&'static str, String)>,
}

/// One number for each user of a report.
#[derive(Debug, Clone)]
pub struct Detail {
    /// Name in JSON; empty for a column that only the table shows.
    pub name: &'static str,
    /// Heading in a table.
    pub head: &'static str,
    /// Values for each user; empty if they are unknown.
    pub values: Vec<f64>,
    /// Sum in the last row of the table, if there is one.
    pub total: Option<f64>,
    /// Formats a value for a table.
    pub show: fn(f64) -> String,
}

/// Context of a report.
pub struct Reporting<'a> {
    /// Columns that are allocated.
    pub amounts: &'static [Column],
    /// Status of the allocation.
    pub status: Status,
    /// Whether to compute slow results, such as losses by quadrature and the distance to the optimum.
    pub checks: bool,
    /// Whether the allocation can be judged.
    pub judges: bool,
    /// Solves the instance on demand; `None` if the budget cannot serve every user.
    pub reference: &'a mut dyn FnMut() -> Result<Option<Reference>, Error>,
}

impl Reporting<'_> {
    /// Returns a report with the amounts and the objective, compared with the best known allocation.
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
    /// Returns an error if a number is not finite, so that none leaves the library.
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
