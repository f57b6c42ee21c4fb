//! How a learned policy does at each size, beside the exact optimum on the same cells.

use std::sync::Arc;

use rand::RngExt;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::channel::FadingQuadrature;
use crate::config::System;
use crate::framework::ModelError;
use crate::framework::ProblemError;
use crate::math::realization_rng;
use crate::problems::urllc::{Allocation, Urllc};
use crate::problems::urllc::{CellAllocator, CellPolicy, equal_power};
use crate::problems::urllc::{Status, UrllcSolver};
use crate::qos::ServiceClass;

/// Availability and bandwidth of a policy at one size (paper, section V-C).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SizeResult {
    /// Number of users `K`.
    pub k: usize,
    /// `A_K`: share of users, over all cells, whose QoS is met, by quadrature.
    pub availability: f64,
    /// `W_K`: mean total bandwidth, MHz.
    pub total_bandwidth_mhz: f64,
    /// Mean exact optimum on the same cells, MHz.
    pub optimum_mhz: f64,
    /// `W_K` over the optimum, percent.
    pub gap_percent: f64,
}

/// A fixed set of random cells with their exact optima: made before any training, and the same for
/// every policy.
#[derive(Debug, Clone)]
pub struct TestSet {
    sizes: Vec<TestCells>,
    antennas: u32,
}

#[derive(Debug, Clone)]
struct TestCells {
    size: usize,
    problems: Vec<(Urllc, Vec<f64>)>,
    optimum_mhz: f64,
}

impl TestSet {
    /// Draws `samples` cells of each size. Cells that the power budget cannot serve are left out,
    /// since they have no optimum.
    pub fn draw(
        system: &System,
        sizes: &[usize],
        samples: u64,
        seed: u64,
    ) -> Result<Self, ProblemError> {
        Self::draw_all(system, &[system.service()], None, sizes, samples, seed)
    }

    /// The same with users of several service classes, each drawn for itself.
    pub fn draw_mixed(
        system: &System,
        services: &[ServiceClass],
        sizes: &[usize],
        samples: u64,
        seed: u64,
    ) -> Result<Self, ProblemError> {
        Self::draw_all(system, services, None, sizes, samples, seed)
    }

    /// The same cells under another fading than the system's own.
    pub fn draw_under(
        system: &System,
        fading: Option<&Arc<FadingQuadrature>>,
        sizes: &[usize],
        samples: u64,
        seed: u64,
    ) -> Result<Self, ProblemError> {
        Self::draw_all(system, &[system.service()], fading, sizes, samples, seed)
    }

    fn draw_all(
        system: &System,
        services: &[ServiceClass],
        fading: Option<&Arc<FadingQuadrature>>,
        sizes: &[usize],
        samples: u64,
        seed: u64,
    ) -> Result<Self, ProblemError> {
        let state = |users: Vec<(f64, ServiceClass)>| -> Result<Urllc, ProblemError> {
            let problem = Urllc::new(system, users)?;
            Ok(match fading {
                Some(fading) => problem.with_fading(fading),
                None => problem,
            })
        };
        let mut prepared = UrllcSolver::default();
        for qos in state(services.iter().map(|&service| (1e-10, service)).collect())?.classes() {
            prepared.table(qos);
        }
        let sizes = sizes
            .iter()
            .map(|&size| {
                let solved: Vec<Option<(Urllc, Vec<f64>, f64)>> = (0..samples)
                    .into_par_iter()
                    .map_init(
                        || prepared.clone(),
                        |solver, index| {
                            let mut rng = realization_rng(seed, size, index);
                            let mut gain = || {
                                system.path_loss().gain(system.road().sample_distance_m(&mut rng))
                            };
                            let gains: Vec<f64> = (0..size).map(|_| gain()).collect();
                            // After the gains, which so are the same for any classes.
                            let mut service = || match services {
                                [one] => *one,
                                many => many[rng.random_range(0..many.len())],
                            };
                            let users = gains.iter().map(|&gain| (gain, service())).collect();
                            let problem = state(users)?;
                            let solution = solver.solve(&problem);
                            if matches!(solution.status, Status::Infeasible(_)) {
                                return Ok(None);
                            }
                            let total = solution.allocation.total_bandwidth_hz() / 1e6;
                            Ok(Some((problem, gains, total)))
                        },
                    )
                    .collect::<Result<_, ProblemError>>()?;
                let served: Vec<_> = solved.into_iter().flatten().collect();
                let sum: f64 = served.iter().map(|cell| cell.2).sum();
                let optimum_mhz = sum / served.len().max(1) as f64;
                let problems = served.into_iter().map(|cell| (cell.0, cell.1)).collect();
                Ok(TestCells { size, problems, optimum_mhz })
            })
            .collect::<Result<_, ProblemError>>()?;
        Ok(Self { sizes, antennas: system.fading().antennas })
    }

    /// Cells of each size that the budget can serve.
    pub fn served(&self) -> Vec<usize> {
        self.sizes.iter().map(|cells| cells.problems.len()).collect()
    }

    /// Measures a policy on all cells, on all cores; the result does not depend on their number. A cell that
    /// it refuses has no user served.
    pub fn evaluate(&self, policy: &impl CellPolicy) -> Result<Vec<SizeResult>, ModelError> {
        self.measure(|size| policy.ready(size, self.antennas), CellAllocator::answer)
    }

    /// The same of equal power with exact bandwidths; a cell with a user that cannot be served so has none
    /// served.
    pub fn evaluate_equal_power(&self) -> Result<Vec<SizeResult>, ModelError> {
        self.measure(
            |_| Ok(UrllcSolver::default()),
            |solver, problem, _, allocation| match equal_power(problem, solver) {
                Ok(found) => {
                    *allocation = found;
                    true
                }
                Err(_) => false,
            },
        )
    }

    /// Measures what `allocate` makes of each cell, with what `make` made ready for its size; a cell that it
    /// refuses has no user served.
    fn measure<P: Clone + Send + Sync>(
        &self,
        make: impl Fn(usize) -> Result<P, ModelError>,
        allocate: impl Fn(&mut P, &Urllc, &[f64], &mut Allocation) -> bool + Sync,
    ) -> Result<Vec<SizeResult>, ModelError> {
        self.sizes
            .iter()
            .map(|cells| {
                let ready = make(cells.size)?;
                let results: Vec<(f64, f64)> = cells
                    .problems
                    .par_iter()
                    .map_init(
                        || (ready.clone(), Allocation::default()),
                        |(ready, allocation), (problem, gains)| {
                            if !allocate(ready, problem, gains, allocation) {
                                return Ok((0.0, 0.0));
                            }
                            let judged = problem.assess(allocation)?;
                            Ok((judged.availability, judged.total_bandwidth_hz / 1e6))
                        },
                    )
                    .collect::<Result<_, ProblemError>>()
                    .map_err(|error| ModelError::Content(error.to_string()))?;
                let count = results.len().max(1) as f64;
                let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / count;
                let availability = mean(&mut results.iter().map(|result| result.0));
                let total_bandwidth_mhz = mean(&mut results.iter().map(|result| result.1));
                Ok(SizeResult {
                    k: cells.size,
                    availability,
                    total_bandwidth_mhz,
                    optimum_mhz: cells.optimum_mhz,
                    gap_percent: 100.0 * (total_bandwidth_mhz / cells.optimum_mhz - 1.0),
                })
            })
            .collect()
    }
}
