//! Evaluation on random instances of each size, in parallel and with results in a fixed order.

use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::framework::{Error, Observer, Share, Slice, Trials};
use crate::invalid::Invalid;
use crate::limits::MOST_DRAWN;

/// Results on the instances of one size.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows<R> {
    /// Number of users.
    pub k: usize,
    /// Results of `measure`, in the order of the instances.
    pub rows: Vec<R>,
    /// Number of instances without a result, which therefore have no row.
    pub infeasible: usize,
}

/// Runs `measure` on instances `0..samples` of each size in parallel. `prepare` creates the state of a thread for a
/// size. If `measure` returns `None`, the instance has no allocation and is only counted. The result does not depend on
/// the number of threads. The observer counts instances.
pub fn over_instances<S, R: Send, E: Send>(
    sizes: &[usize],
    samples: u64,
    prepare: impl Fn(usize) -> Result<S, E> + Sync,
    measure: impl Fn(&mut S, usize, u64) -> Result<Option<R>, E> + Sync,
    observer: &dyn Observer,
) -> Result<Vec<Rows<R>>, E> {
    let at_size = |&k: &usize| {
        let all = (k, samples, Slice::ALL);
        Ok(Rows::of(k, over_slice(all, &prepare, &measure, observer)?))
    };
    sizes.iter().map(at_size).collect()
}

/// Runs `measure` on a slice of the instances of one size; see [`over_instances`].
pub(crate) fn over_slice<S, R: Send, E: Send>(
    (k, samples, slice): (usize, u64, Slice),
    prepare: impl Fn(usize) -> Result<S, E> + Sync,
    measure: impl Fn(&mut S, usize, u64) -> Result<Option<R>, E> + Sync,
    observer: &dyn Observer,
) -> Result<Vec<Option<R>>, E> {
    let one = |state: &mut Result<S, E>, place: u64| {
        let found = match state {
            Ok(state) => measure(state, k, slice.first + slice.step * place)?,
            // Calls `prepare` again, because the error cannot be cloned.
            Err(_) => return prepare(k).map(|_| None),
        };
        observer.done(1);
        Ok(found)
    };
    let places = (0..slice.count(samples)).into_par_iter();
    places.map_init(|| prepare(k), one).collect()
}

/// Returns an error if the instances have more than [`MOST_DRAWN`] users in total.
pub(crate) fn check_count(name: &'static str, count: u64, size: usize) -> Result<(), Invalid> {
    let most = MOST_DRAWN / size.max(1);
    if count <= most as u64 {
        return Ok(());
    }
    let expected = format!("at most {most} with K = {size} ({MOST_DRAWN} users in all)");
    Err(Invalid::value(name, count, expected))
}

/// Seed of validation sets, which is combined with the seed of the run; test sets use other seeds.
const VALIDATION_SEED: u64 = 0x7a11_da7e;
/// Number of instances of each training size in a validation set (paper, table I).
const VALIDATION_SAMPLES: u64 = 200;

impl Trials {
    /// Returns the validation instances of a policy, given the sizes and the seed of its training run.
    pub(crate) fn validation(train_k: &[usize], seed: u64) -> Self {
        let (samples, seed) = (VALIDATION_SAMPLES, VALIDATION_SEED ^ seed);
        Self::new(train_k.to_vec(), samples, seed)
    }

    /// Creates trials without shards: this process measures all instances.
    pub fn new(sizes: Vec<usize>, samples: u64, seed: u64) -> Self {
        Self { sizes, samples, seed, share: Share::default() }
    }

    /// Returns the number of instances that this process measures, for progress.
    pub(crate) fn count(&self) -> u64 {
        self.share.slice().count(self.samples) * self.sizes.len() as u64
    }

    /// Runs `measure` on the instances of all sizes, as [`over_instances`] does. A shard measures only its instances,
    /// keeps their results and returns [`Error::PartOfRun`].
    pub(crate) fn measure<S, R: Send + Serialize + DeserializeOwned>(
        &self,
        prepare: impl Fn(usize) -> Result<S, Error> + Sync,
        measure: impl Fn(&mut S, usize, u64) -> Result<Option<R>, Error> + Sync,
        observer: &dyn Observer,
    ) -> Result<Vec<Rows<R>>, Error> {
        let at_size = |&k: &usize| {
            let part = |slice| over_slice((k, self.samples, slice), &prepare, &measure, observer);
            Ok((k, self.share.split(part)?))
        };
        let parts = self.sizes.iter().map(at_size).collect::<Result<Vec<_>, Error>>()?;
        self.share.complete()?;
        Ok(parts.into_iter().map(|(k, parts)| Rows::of(k, alternating(parts))).collect())
    }

    /// Returns an error if the instances exceed the number that one command may draw.
    pub fn check(&self) -> Result<(), Invalid> {
        self.sizes.iter().try_for_each(|&size| check_count("samples", self.samples, size))
    }
}

/// Merges the lists of all slices into the list of all units.
pub(crate) fn alternating<R>(parts: Vec<Vec<R>>) -> Vec<R> {
    let mut parts: Vec<_> = parts.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.extend(parts.iter_mut().filter_map(Iterator::next));
        if all.len() == before {
            return all;
        }
    }
}

impl<R> Rows<R> {
    fn of(k: usize, found: Vec<Option<R>>) -> Self {
        let all = found.len();
        let rows: Vec<R> = found.into_iter().flatten().collect();
        Self { k, infeasible: all - rows.len(), rows }
    }

    /// Returns the mean of a column, or 0 if there are no rows.
    pub fn mean(&self, column: impl Fn(&R) -> f64) -> f64 {
        self.rows.iter().map(column).sum::<f64>() / self.rows.len().max(1) as f64
    }
}
