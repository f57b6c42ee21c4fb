//! The one harness: many random instances of each size, on all cores, in a fixed order.

use rayon::prelude::*;

use crate::framework::{Observer, Trials};
use crate::invalid::Invalid;
use crate::limits::MOST_DRAWN;

/// What was found on the instances of one size.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows<R> {
    /// The size.
    pub k: usize,
    /// What was found, in the order of the instances.
    pub rows: Vec<R>,
    /// Instances without an answer, which are in no row.
    pub infeasible: usize,
}

/// Runs `measure` on instances `0..samples` of each size. `prepare` makes what a thread needs for a size; an
/// instance without an answer gives `None` and is counted. The result does not depend on the number of threads;
/// the observer counts instances.
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
                        // Prepared again for its error, which cannot be copied.
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

/// Refuses a count of instances that have more users in all than [`MOST_DRAWN`].
pub(crate) fn check_count(name: &'static str, count: u64, size: usize) -> Result<(), Invalid> {
    let most = MOST_DRAWN / size.max(1);
    if count <= most as u64 {
        return Ok(());
    }
    let expected = format!("at most {most} with K = {size} ({MOST_DRAWN} users in all)");
    Err(Invalid::value(name, count, expected))
}

/// Seed of validation sets, its own stream for each training; test sets use other seeds.
const VALIDATION_SEED: u64 = 0x7a11_da7e;
/// Instances of each training size in a validation set (paper, table I).
const VALIDATION_SAMPLES: u64 = 200;

impl Trials {
    /// The instances that a policy is measured on after its training, given the sizes and the seed of that.
    pub(crate) fn validation(train_k: &[usize], seed: u64) -> Self {
        let (samples, seed) = (VALIDATION_SAMPLES, VALIDATION_SEED ^ seed);
        Self { sizes: train_k.to_vec(), samples, seed }
    }

    /// Refuses more instances of a size than one command draws.
    pub fn check(&self) -> Result<(), Invalid> {
        self.sizes.iter().try_for_each(|&size| check_count("samples", self.samples, size))
    }
}

impl<R> Rows<R> {
    /// The mean of a column; 0 of no rows.
    pub fn mean(&self, column: impl Fn(&R) -> f64) -> f64 {
        self.rows.iter().map(column).sum::<f64>() / self.rows.len().max(1) as f64
    }
}
