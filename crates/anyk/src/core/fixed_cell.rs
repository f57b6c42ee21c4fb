//! Policy wrapper that restricts a model to the cell of its training.

use std::sync::{Arc, Weak};

use super::{Allocation, Instance, Outcome, Policy, Problem};
use crate::framework::{Error, Options, field_of};
use crate::invalid::Invalid;

/// Policy that accepts only instances with the options of its training. It rejects other instances, since its
/// allocations would be for another cell.
pub struct FixedCell {
    policy: Box<dyn Policy>,
    trained: Options,
    /// Alternative to suggest in messages.
    instead: &'static str,
    /// Last problem that was found to fit.
    known: Option<Weak<dyn Problem>>,
}

impl FixedCell {
    /// Wraps a policy with the options of its cell and the alternative for other cells.
    pub fn new(policy: Box<dyn Policy>, trained: Options, instead: &'static str) -> Self {
        Self { policy, trained, instead, known: None }
    }
}

/// Describes the expected value of an option for a model of one cell, and what to do in another cell.
pub(crate) fn other_cell(
    (name, instead): (&str, &str),
    (field, here, own): (&str, &str, &str),
) -> String {
    format!(
        "{own}, which {name} was trained for; {instead} accepts any value; otherwise, train a model with {field} {here}"
    )
}

impl Options {
    /// Returns the first option whose value differs from the value in the model's cell.
    pub(crate) fn other_than(&self, trained: &Self) -> Option<(String, String, String)> {
        trained.names().find_map(|name| {
            let (own, here) = (trained.text(name)?, self.text(name)?);
            let differs = match (own.parse::<f64>(), here.parse::<f64>()) {
                (Ok(own), Ok(here)) => (own - here).abs() > 0.0,
                _ => own != here,
            };
            differs.then(|| (field_of(name), here.to_owned(), own.to_owned()))
        })
    }
}

impl Policy for FixedCell {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let here = Arc::downgrade(&instance.problem);
        if !self.known.as_ref().is_some_and(|known| known.ptr_eq(&here)) {
            if let Some((field, here, own)) = instance.problem.options().other_than(&self.trained) {
                let expected = other_cell(("the model", self.instead), (&field, &here, &own));
                return Ok(Outcome::Refused(Invalid::value(field, here, expected).to_string()));
            }
            self.known = Some(here);
        }
        self.policy.allocate(instance, into)
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        let policy = self.policy.fork()?;
        Some(Box::new(Self {
            policy,
            trained: self.trained.clone(),
            known: self.known.clone(),
            ..*self
        }))
    }
}
