//! Pool of idle policies, reused so that their tables of service classes are built only once.

use std::sync::{Arc, Mutex};

use anyk::core::{Allocation, Model, Policy, Problem};
use anyk::framework::{Error, Options};

/// Source of new policies.
pub(crate) enum Source {
    /// Problem and name of a policy that needs no training; without a name, the best one.
    Problem(Arc<dyn Problem>, Option<String>),
    /// Model and the options of its policy.
    Model(Arc<dyn Model>, Options),
}

/// Policy with a buffer for its allocation.
pub(crate) struct Worker {
    pub(crate) policy: Box<dyn Policy>,
    pub(crate) allocation: Allocation,
}

/// Idle policies from one source.
pub(crate) struct Pool {
    source: Source,
    idle: Mutex<Vec<Worker>>,
}

/// Maximum number of idle policies that are kept.
const MOST: usize = 64;

impl Pool {
    pub(crate) fn new(source: Source) -> Self {
        Self { source, idle: Mutex::default() }
    }

    /// Returns an idle policy, or a new one. It never waits for the lock: another thread may have held it when this
    /// process was forked.
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

    /// Keeps a policy for reuse, unless the pool is full or locked.
    pub(crate) fn put_back(&self, worker: Worker) {
        if let Ok(mut idle) = self.idle.try_lock()
            && idle.len() < MOST
        {
            idle.push(worker);
        }
    }
}
