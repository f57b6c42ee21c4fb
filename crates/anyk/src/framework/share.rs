//! Share of a run: which units of work this process computes, and where the results of all units are kept.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::exchange::{Origin, Part, PartError, Parts};
use crate::framework::Error;

/// Share of a run. By default, a process computes all units and keeps none. A shard computes every n-th unit and keeps
/// the results in a part file. A merged run computes nothing: it reads the results from the parts of all shards.
///
/// Units are numbered in the order of [`begin`](Self::begin), which must be the same in each shard.
#[derive(Debug, Clone, Default)]
pub struct Share(Option<Arc<Kept>>);

#[derive(Debug)]
struct Kept {
    shard: u64,
    of: u64,
    next: AtomicU64,
    results: Mutex<Results>,
}

#[derive(Debug)]
enum Results {
    Part(Part),
    Parts(Parts),
}

/// Units of one piece of work that this process computes: every `step`-th from `first`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// First unit.
    pub first: u64,
    /// Distance between units.
    pub step: u64,
}

impl Slice {
    /// Slice of all units.
    pub const ALL: Self = Self { first: 0, step: 1 };

    /// Returns the units below `count`.
    pub fn units(self, count: u64) -> impl Iterator<Item = u64> + Clone {
        (self.first..count).step_by(usize::try_from(self.step).unwrap_or(usize::MAX))
    }

    /// Returns the number of units below `count`.
    pub fn count(self, count: u64) -> u64 {
        count.saturating_sub(self.first).div_ceil(self.step)
    }
}

impl Share {
    /// Opens the part of a shard in a folder, with the results of an earlier run that was interrupted. Returns `None` if
    /// the part is complete.
    pub fn part(folder: &Path, origin: &Origin) -> Result<Option<Self>, Error> {
        let part = Part::open(folder, origin)?;
        Ok(part.map(|part| Self::of(origin, Results::Part(part))))
    }

    /// Opens the parts of all shards in a folder, and returns them with their origin.
    pub fn parts(folder: &Path) -> Result<(Self, Origin), Error> {
        let parts = Parts::open(folder)?;
        let origin = parts.origin().clone();
        Ok((Self::of(&origin, Results::Parts(parts)), origin))
    }

    fn of(origin: &Origin, results: Results) -> Self {
        let (next, results) = (AtomicU64::new(0), Mutex::new(results));
        let Origin { shard, of, .. } = *origin;
        Self(Some(Arc::new(Kept { shard, of, next, results })))
    }

    /// Returns whether results come from parts, so that nothing is computed.
    pub fn is_merged(&self) -> bool {
        self.0.as_ref().is_some_and(|kept| matches!(*kept.results(), Results::Parts(_)))
    }

    /// Returns whether this process computes a part of the run.
    pub fn is_part(&self) -> bool {
        self.0.is_some() && !self.is_merged()
    }

    /// Returns the units of a piece of work that this process computes.
    pub fn slice(&self) -> Slice {
        match &self.0 {
            Some(kept) => Slice { first: kept.shard - 1, step: kept.of },
            None => Slice::ALL,
        }
    }

    /// Reserves numbers for `count` units and returns the first.
    pub fn begin(&self, count: u64) -> u64 {
        self.0.as_ref().map_or(0, |kept| kept.next.fetch_add(count, Ordering::Relaxed))
    }

    /// Returns whether this process computes a unit, if its result is not known.
    pub fn is_mine(&self, unit: u64) -> bool {
        match &self.0 {
            Some(kept) => unit % kept.of == kept.shard - 1 && self.is_part(),
            None => true,
        }
    }

    /// Returns the result of a unit, if it is kept.
    pub fn known<T: DeserializeOwned>(&self, unit: u64) -> Result<Option<T>, Error> {
        let Some(kept) = &self.0 else { return Ok(None) };
        Ok(match &mut *kept.results() {
            Results::Part(part) => part.find(unit)?,
            Results::Parts(parts) => parts.find(unit)?,
        })
    }

    /// Returns whether this process must compute a unit: it belongs to the shard, and its result is not known.
    pub fn is_missing(&self, unit: u64) -> bool {
        let is_known = |kept: &Arc<Kept>| match &mut *kept.results() {
            Results::Part(part) => part.has(unit),
            Results::Parts(_) => true,
        };
        self.is_mine(unit) && !self.0.as_ref().is_some_and(is_known)
    }

    /// Keeps the result of a unit.
    pub fn keep<T: Serialize>(&self, unit: u64, result: &T) -> Result<(), Error> {
        if let Some(kept) = &self.0
            && let Results::Part(part) = &mut *kept.results()
        {
            part.keep(unit, result)?;
        }
        Ok(())
    }

    /// Splits a piece of work among the shards and returns the results of all slices. In a shard, the list is empty, and
    /// the result is only kept; call [`complete`](Self::complete) before you use the list.
    pub fn split<T: Serialize + DeserializeOwned>(
        &self,
        compute: impl FnOnce(Slice) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let slice = self.slice();
        let first = self.begin(slice.step);
        if self.0.is_none() {
            return Ok(vec![compute(slice)?]);
        }
        if self.is_missing(first + slice.first) {
            self.keep(first + slice.first, &compute(slice)?)?;
        }
        let all = (first..first + slice.step).map(|unit| self.known(unit));
        let all = all.collect::<Result<Option<Vec<T>>, Error>>()?;
        match all {
            None if self.is_merged() => Err(Error::Other(DIFFERENT.into())),
            all => Ok(all.unwrap_or_default()),
        }
    }

    /// Completes the part of a shard. Returns [`Error::PartOfRun`] if the run has other shards, since only
    /// `anyk merge` has all results. Does nothing in other runs.
    pub fn complete(&self) -> Result<(), Error> {
        let Some(kept) = &self.0 else { return Ok(()) };
        let Results::Part(part) = &mut *kept.results() else { return Ok(()) };
        part.finish()?;
        if kept.of == 1 {
            return Ok(());
        }
        let (shard, of) = (kept.shard, kept.of);
        Err(Error::PartOfRun { shard, of, path: part.path().to_owned() })
    }
}

/// Message if the parts lack a unit of the merged run although each of them is complete.
const DIFFERENT: &str = "the parts do not contain all results of this run; compute them again";

impl Kept {
    fn results(&self) -> MutexGuard<'_, Results> {
        // Each call leaves the results consistent, also if it fails.
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<PartError> for Error {
    fn from(error: PartError) -> Self {
        match error {
            PartError::Write { path, source } => Self::Write { path, source },
            PartError::Read { path, source } => Self::Read { path, source },
            PartError::Wrong(why) => Self::Other(why.into()),
        }
    }
}
