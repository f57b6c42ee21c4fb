//! Policy wrapper that restricts a model to the cell of its training.

use std::sync::{Arc, Weak};

use super::{Allocation, Instance, Outcome, Policy, Problem};
use crate::framework::{Error, Options, field_of};
use crate::invalid::Invalid;

/// Policy for instances with the options of its training. It rejects other instances, since its allocation would
/// be for another cell.
pub struct FixedCell {
    policy: Box<dyn Policy>,
    home: Options,
    /// Alternative to suggest in messages.
    instead: &'static str,
    /// Last problem that was found to fit.
    known: Option<Weak<dyn Problem>>,
}

impl FixedCell {
    /// Wraps a policy with the options of its cell and the alternative for other cells.
    pub fn new(policy: Box<dyn Policy>, home: Options, instead: &'static str) -> Self {
        Self { policy, home, instead, known: None }
    }
}

/// Describes the expected value of an option for a model of one cell, and what to do in another cell.
pub(crate) fn other_cell(
    (name, instead): (&str, &str),
    problem: &str,
    (field, here, own): (&str, &str, &str),
) -> String {
    format!(
        "{own}, which {name} was trained for; {instead} accepts any value, and `anyk train {problem}` with {field} \
         {here} makes a model for this one"
    )
}

impl Options {
    /// First option that differs from that of the model's cell.
    pub(crate) fn other_than(&self, home: &Self) -> Option<(String, String, String)> {
        home.names().find_map(|name| {
            let (own, here) = (home.text(name)?, self.text(name)?);
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
            if let Some((field, here, own)) = instance.problem.options().other_than(&self.home) {
                let who = ("the model", self.instead);
                let expected = other_cell(who, instance.about().name, (&field, &here, &own));
                return Ok(Outcome::Refused(Invalid::value(field, here, expected).to_string()));
            }
            self.known = Some(here);
        }
        self.policy.allocate(instance, into)
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        let policy = self.policy.fork()?;
        Some(Box::new(Self { policy, home: self.home.clone(), known: self.known.clone(), ..*self }))
    }
}
