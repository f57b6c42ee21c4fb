//! The one harness: many random instances of each size, on all cores, in a fixed order.

use rayon::prelude::*;

use crate::framework::{Observer, Problem, Trials};
use crate::memory::{MemoryBudget, TooMuchMemory, product};

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

/// Asks for the memory of `samples` instances of each size: one of them on each thread, and `kept` bytes of each of
/// them to the end.
pub(crate) fn allow_instances(
    sizes: &[usize],
    samples: u64,
    instance: impl Fn(usize) -> u128,
    kept: impl Fn(usize) -> usize,
) -> Result<(), TooMuchMemory> {
    let all = usize::try_from(samples).unwrap_or(usize::MAX);
    let threads = rayon::current_num_threads().min(all);
    let mut held = 0u128;
    for &size in sizes {
        held = held.saturating_add(product(&[all, kept(size)]));
        let at_once = instance(size).saturating_mul(threads as u128);
        let what = format_args!("{samples} instances of K = {size}");
        MemoryBudget::current().allow(what, held.saturating_add(at_once))?;
    }
    Ok(())
}

impl Trials {
    /// Asks for the memory of all instances of a problem before the first is drawn; `kept` bytes of each are kept to
    /// the end.
    pub fn allow<P: Problem>(&self, kept: impl Fn(usize) -> usize) -> Result<(), TooMuchMemory> {
        allow_instances(&self.sizes, self.samples, P::memory_bytes, kept)
    }
}

impl<R> Rows<R> {
    /// The mean of a column; 0 of no rows.
    pub fn mean(&self, column: impl Fn(&R) -> f64) -> f64 {
        self.rows.iter().map(column).sum::<f64>() / self.rows.len().max(1) as f64
    }
}
