//! Solvers and models at rest, to be used again: what they have built (tables of service classes) is kept.

use std::sync::{Arc, Mutex};

use anyk::core::{Allocation, Model, Policy, Problem};
use anyk::framework::{Error, Options};

/// Where policies come from.
pub(crate) enum Source {
    /// A policy of a problem that needs no training; without a name, the best that is known.
    Problem(Arc<dyn Problem>, Option<String>),
    Model(Arc<dyn Model>, Options),
}

/// A policy, and room for what it allocates.
pub(crate) struct Worker {
    pub(crate) policy: Box<dyn Policy>,
    pub(crate) allocation: Allocation,
}

/// Policies at rest.
pub(crate) struct Pool {
    source: Source,
    idle: Mutex<Vec<Worker>>,
}

/// Policies that are kept.
const MOST: usize = 64;

impl Pool {
    pub(crate) fn new(source: Source) -> Self {
        Self { source, idle: Mutex::default() }
    }

    /// A policy. Another thread may hold the lock, or may have held it when this process was forked: then a new one is
    /// made.
    pub(crate) fn take(&self) -> Result<Worker, Error> {
        let known = self.idle.try_lock().ok().and_then(|mut idle| idle.pop());
        if let Some(known) = known {
            return Ok(known);
        }
        let policy = match &self.source {
            Source::Problem(problem, None) => problem.best()?,
            Source::Problem(problem, name) => problem.policy(name.as_deref())?,
            Source::Model(model, options) => model.policy(options)?,
        };
        Ok(Worker { policy, allocation: Allocation::default() })
    }

    pub(crate) fn put_back(&self, worker: Worker) {
        if let Ok(mut idle) = self.idle.try_lock()
            && idle.len() < MOST
        {
            idle.push(worker);
        }
    }
}
