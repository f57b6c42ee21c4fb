//! Slices of a sweep: what they are, and how one is computed.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Sweep;
use super::spec::{Cell, SweptPolicy};
use crate::core::{Instances, NamedPolicy, Tally, compare_instances};
use crate::framework::{CancelOnly, Error, ErrorKind, Observer, Options, Share, Table};

/// Largest number of instances in a block, and of their values, which are in memory together.
const BLOCK: (u64, u64) = (1000, 1_000_000);

/// Slice of a sweep.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slice {
    pub(super) policy: usize,
    pub(super) cell: usize,
    pub(super) work: Work,
}

/// Work of a slice.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    /// Training run, and the evaluation of its model at all sizes.
    Train { training: usize, seed: u64 },
    /// Block of instances of one size, for a policy that needs no training.
    Evaluate { size: usize, block: u64 },
}

/// Result of a slice: sums over instances, or the reason why there are none.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SliceResult {
    /// Sums at each size of the slice; empty after a failure.
    pub(super) tallies: Vec<Tally>,
    /// Reason for a failure, or warning of a training run.
    pub(super) status: Option<String>,
}

impl Sweep {
    /// Returns the number of slices.
    pub fn slices(&self) -> u64 {
        self.slices.len() as u64
    }

    /// Returns the numbers of consecutive slices that take a similar time: those of one policy and, without training,
    /// of one size.
    pub fn alike(&self) -> Vec<u64> {
        let kind = |slice: &Slice| match slice.work {
            Work::Train { training, .. } => (slice.policy, slice.cell, training, 0),
            Work::Evaluate { size, .. } => (slice.policy, slice.cell, 0, size),
        };
        self.slices
            .chunk_by(|one, other| kind(one) == kind(other))
            .map(|c| c.len() as u64)
            .collect()
    }

    /// Returns the number of instances in a block.
    fn block(&self, size: usize) -> u64 {
        let (most, values) = BLOCK;
        let each = if self.about.is_of_arrays() { size.saturating_mul(size) } else { size };
        (values / each.max(1) as u64).clamp(1, most)
    }

    /// Returns the number of blocks at a size.
    pub(super) fn blocks(&self, size: usize) -> u64 {
        self.samples.div_ceil(self.block(size))
    }

    /// Returns the number of slices, before there is a list of them.
    pub(super) fn count(&self) -> u64 {
        let blocks = self.sizes.iter().map(|&size| self.blocks(size)).sum();
        let of_policy = |policy: &SweptPolicy| match &policy.trainings {
            Some(all) => (all.len() as u64).saturating_mul(self.seeds.len() as u64),
            None => blocks,
        };
        let of_cell: u64 = self.policies.iter().map(of_policy).fold(0, u64::saturating_add);
        of_cell.saturating_mul(self.cells.len() as u64)
    }

    pub(super) fn all_slices(&self) -> Vec<Slice> {
        let mut all = Vec::new();
        for (policy, swept) in self.policies.iter().enumerate() {
            for cell in 0..self.cells.len() {
                match &swept.trainings {
                    Some(trainings) => {
                        for training in 0..trainings.len() {
                            let work =
                                self.seeds.iter().map(|&seed| Work::Train { training, seed });
                            all.extend(work.map(|work| Slice { policy, cell, work }));
                        }
                    }
                    None => {
                        for &size in &self.sizes {
                            let work =
                                (0..self.blocks(size)).map(|block| Work::Evaluate { size, block });
                            all.extend(work.map(|work| Slice { policy, cell, work }));
                        }
                    }
                }
            }
        }
        all
    }

    /// Computes a slice. A training run or a policy that fails is a result; an interruption and a fault of the machine
    /// are errors.
    pub fn run(&self, index: u64, observer: &dyn Observer) -> Result<SliceResult, Error> {
        let found = usize::try_from(index).ok().and_then(|index| self.slices.get(index));
        let Some(slice) = found else {
            return Err(Error::Other(format!("the sweep has no slice {index}").into()));
        };
        let (policy, cell) = (&self.policies[slice.policy], &self.cells[slice.cell]);
        let result = match slice.work {
            Work::Train { training, seed } => {
                self.train_and_evaluate((policy, training, seed), cell, observer)
            }
            Work::Evaluate { size, block } => self.evaluate(policy, cell, (size, block), observer),
        };
        match result {
            Err(error) if matches!(error.kind(), ErrorKind::Input | ErrorKind::Infeasible) => {
                let status = Some(format!("error: {error}"));
                Ok(SliceResult { tallies: Vec::new(), status })
            }
            result => result,
        }
    }

    fn train_and_evaluate(
        &self,
        (policy, training, seed): (&SweptPolicy, usize, u64),
        cell: &Cell,
        observer: &dyn Observer,
    ) -> Result<SliceResult, Error> {
        let Some(training) = policy.trainings.as_ref().and_then(|all| all.get(training)) else {
            return Err(Error::NothingToTrain(self.about.name));
        };
        let options: Options = self.training_options(policy, training, cell, seed);
        let trained = self.train(&options, &CancelOnly(observer))?;
        let named = NamedPolicy::model(&policy.name, &*trained.model, &*cell.problem)?;
        let mut named = [named];
        let mut tallies = Vec::new();
        for &size in &self.sizes {
            let mut all: Option<Tally> = None;
            for block in 0..self.blocks(size) {
                let tally = self.tally(&mut named, cell, (size, block), observer)?;
                match &mut all {
                    Some(all) => all.merge(&tally),
                    None => all = Some(tally),
                }
            }
            tallies.extend(all);
        }
        let status = trained.warning.map(|warning| format!("warning: {warning}"));
        Ok(SliceResult { tallies, status })
    }

    fn evaluate(
        &self,
        policy: &SweptPolicy,
        cell: &Cell,
        block: (usize, u64),
        observer: &dyn Observer,
    ) -> Result<SliceResult, Error> {
        let made = NamedPolicy::built_in(&policy.name, &*cell.problem, &policy.name);
        let mut named = [made.ok_or(Error::OtherProblem)??];
        let tallies = vec![self.tally(&mut named, cell, block, observer)?];
        Ok(SliceResult { tallies, status: None })
    }

    /// Evaluates a policy on a block of instances.
    fn tally(
        &self,
        named: &mut [NamedPolicy; 1],
        cell: &Cell,
        (size, block): (usize, u64),
        observer: &dyn Observer,
    ) -> Result<Tally, Error> {
        let first = block * self.block(size);
        let count = self.block(size).min(self.samples - first);
        let instances = Instances { size, seed: self.test_seed, first, count };
        let mut tallies =
            compare_instances(&cell.problem, &instances, named, &CancelOnly(observer))?;
        tallies.pop().ok_or(Error::OtherProblem)
    }

    /// Compares the settings with those of the kept results. They contain the content of files that the specification
    /// names, which may have changed.
    fn same_settings(&self, share: &Share) -> Result<(), Error> {
        let slice = share.slice();
        let first = share.begin(slice.step);
        for shard in 0..slice.step {
            let known: Option<String> = share.known(first + shard)?;
            if known.is_some_and(|known| known != self.settings()) {
                let why = "a file that the specification names has changed since the kept results were computed; \
                           choose another folder, or restore the file";
                return Err(Error::Other(why.into()));
            }
        }
        if share.is_part() && share.known::<String>(first + slice.first)?.is_none() {
            share.keep(first + slice.first, &self.settings())?;
        }
        Ok(())
    }

    /// Computes the slices of a share whose results are not known, on all cores, and returns the table. Checks all
    /// settings first. The observer counts slices.
    pub fn run_all(&self, share: &Share, observer: &dyn Observer) -> Result<Table, Error> {
        let first = share.begin(self.slices());
        self.same_settings(share)?;
        if (0..self.slices()).any(|slice| share.is_missing(first + slice)) {
            self.check()?;
        }
        let mine = (0..self.slices()).filter(|slice| share.is_mine(first + slice)).count();
        observer.begin("slices", mine as u64);
        let stopped = AtomicBool::new(false);
        let one = |slice: u64| -> Result<Option<SliceResult>, Error> {
            let unit = first + slice;
            let result = match share.known(unit)? {
                Some(known) => known,
                None if share.is_merged() => {
                    let why = "the parts lack results of this sweep; compute them again";
                    return Err(Error::Other(why.into()));
                }
                None if !share.is_mine(unit) => return Ok(None),
                None => {
                    if stopped.load(Ordering::Relaxed) || observer.stop() {
                        return Err(Error::Interrupted);
                    }
                    let result = self.run(slice, observer)?;
                    share.keep(unit, &result)?;
                    result
                }
            };
            if share.is_mine(unit) {
                observer.done(1);
            }
            Ok(Some(result))
        };
        let all = (0..self.slices.len())
            .into_par_iter()
            .with_max_len(1)
            .map(|slice| one(slice as u64).inspect_err(|_| stopped.store(true, Ordering::Relaxed)));
        let all = all.collect::<Result<Vec<_>, Error>>();
        observer.end();
        let all = all?;
        share.complete()?;
        self.table(all.into_iter().flatten())
    }
}
