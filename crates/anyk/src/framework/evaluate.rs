//! Evaluation on random instances of each size, in parallel and with results in a fixed order.

use rayon::prelude::*;

use crate::framework::{Observer, Trials};
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
        let found: Vec<Option<R>> = (0..samples)
            .into_par_iter()
            .map_init(
                || prepare(k),
                |state, index| {
                    let found = match state {
                        Ok(state) => measure(state, k, index)?,
                        // Calls `prepare` again, because the error cannot be cloned.
                        Err(_) => return prepare(k).map(|_| None),
                    };
                    observer.done(1);
                    Ok(found)
                },
            )
            .collect::<Result<_, E>>()?;
        let all = found.len();
        let rows: Vec<R> = found.into_iter().flatten().collect();
        Ok(Rows { k, infeasible: all - rows.len(), rows })
    };
    sizes.iter().map(at_size).collect()
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
        Self { sizes: train_k.to_vec(), samples, seed }
    }

    /// Returns an error if the instances exceed the number that one command may draw.
    pub fn check(&self) -> Result<(), Invalid> {
        self.sizes.iter().try_for_each(|&size| check_count("samples", self.samples, size))
    }
}

impl<R> Rows<R> {
    /// Returns the mean of a column, or 0 if there are no rows.
    pub fn mean(&self, column: impl Fn(&R) -> f64) -> f64 {
        self.rows.iter().map(column).sum::<f64>() / self.rows.len().max(1) as f64
    }
}
