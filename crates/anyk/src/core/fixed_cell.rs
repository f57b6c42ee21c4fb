//! A model that knows one cell, kept to that cell.

use std::sync::{Arc, Weak};

use super::{Allocation, Instance, Outcome, Policy, Problem};
use crate::framework::{Error, Options, field_of};
use crate::invalid::Invalid;

/// A policy for instances whose options are those that it was trained for; it refuses others, since what it allocates
/// would be for another cell.
pub struct FixedCell {
    policy: Box<dyn Policy>,
    home: Options,
    /// What to use instead, for messages.
    instead: &'static str,
    /// The problem that was found to fit last.
    known: Option<Weak<dyn Problem>>,
}

impl FixedCell {
    /// A policy, the options of its cell, and what takes any cell.
    pub fn new(policy: Box<dyn Policy>, home: Options, instead: &'static str) -> Self {
        Self { policy, home, instead, known: None }
    }
}

impl Options {
    /// The first option that is another than at home.
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
                let expected =
                    format!("{own}, which the model was trained for; {} takes any", self.instead);
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
