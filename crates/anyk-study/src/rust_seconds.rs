//! Times of the Rust library without Python, with which `bench/python.py` compares the Python package.

use std::time::Instant;

use anyk::Config;
use anyk::framework::{Error, ModelFile};
use anyk::problems::urllc::{
    CellPolicy as _, PricePolicy, Solution, Urllc, UrllcAllocation, UrllcSolver,
};
use rayon::prelude::*;

/// Measures the seconds of the solver, or of the price policy if the bytes of its model are given. Returns the mean of
/// `calls` calls for the first cell, and the fastest of five rounds for all cells on the threads of the caller's pool.
pub fn rust_seconds(
    gains: &[Vec<f64>],
    model: Option<&[u8]>,
    calls: u32,
) -> Result<(f64, f64), Error> {
    let system = Config::default().validate()?;
    let problems = gains
        .iter()
        .map(|gains| Urllc::uniform(&system, gains.iter().copied()))
        .collect::<Result<Vec<_>, _>>()?;
    let Some(first) = problems.first() else { return Ok((0.0, 0.0)) };
    match model {
        None => {
            let mut solver = UrllcSolver::default();
            let mut solution = Solution::default();
            let one = timed(calls, || solver.solve_into(first, &mut solution));
            let all = rounds(|| {
                problems.par_chunks(64).for_each_init(
                    || (solver.clone(), Solution::default()),
                    |(solver, solution), part| {
                        part.iter().for_each(|problem| solver.solve_into(problem, solution));
                    },
                );
            });
            Ok((one, all))
        }
        Some(bytes) => {
            let policy: PricePolicy = ModelFile::read(bytes)?.into_model()?;
            let (mut allocator, mut allocation) = (policy.allocator(), UrllcAllocation::default());
            let one = timed(calls, || {
                let _ = allocator.serve(first, &mut allocation);
            });
            let all = rounds(|| {
                problems.par_chunks(64).for_each_init(
                    || (allocator.clone(), UrllcAllocation::default()),
                    |(allocator, allocation), part| {
                        part.iter().for_each(|problem| {
                            let _ = allocator.serve(problem, allocation);
                        });
                    },
                );
            });
            Ok((one, all))
        }
    }
}

fn timed(calls: u32, mut call: impl FnMut()) -> f64 {
    call();
    let started = Instant::now();
    (0..calls).for_each(|_| call());
    started.elapsed().as_secs_f64() / f64::from(calls.max(1))
}

fn rounds(work: impl Fn()) -> f64 {
    let one = || {
        let started = Instant::now();
        work();
        started.elapsed().as_secs_f64()
    };
    (0..5).map(|_| one()).fold(f64::INFINITY, f64::min)
}
