//! How a learned policy does at each size, beside the exact optimum on the same cells.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::channel::{FadingQuadrature, sample_distances_m};
use crate::config::System;
use crate::policy::{LearnedPolicy, ModelError, SampledPolicy, SizedPolicy};
use crate::problem::{Allocation, ProblemError, Urllc};
use crate::solver::{Status, UrllcSolver};

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
        Self::draw_under(system, None, sizes, samples, seed)
    }

    /// The same cells under another fading than the system's own.
    pub fn draw_under(
        system: &System,
        fading: Option<&Arc<FadingQuadrature>>,
        sizes: &[usize],
        samples: u64,
        seed: u64,
    ) -> Result<Self, ProblemError> {
        let state = |gains: &[f64]| -> Result<Urllc, ProblemError> {
            let problem = Urllc::uniform(system, gains.iter().copied())?;
            Ok(match fading {
                Some(fading) => problem.with_fading(fading),
                None => problem,
            })
        };
        let mut prepared = UrllcSolver::default();
        for qos in state(&[1e-10])?.classes() {
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
                            let distances = sample_distances_m(&system.road(), seed, size, index);
                            let gains: Vec<f64> =
                                distances.iter().map(|&d| system.path_loss().gain(d)).collect();
                            let problem = state(&gains)?;
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
        Ok(Self { sizes })
    }

    /// Measures a policy on all cells, on all cores; the result does not depend on their number.
    pub fn evaluate(&self, policy: &LearnedPolicy) -> Result<Vec<SizeResult>, ModelError> {
        let sizes = self.sizes.iter();
        sizes
            .map(|cells| {
                let sized = policy.at_size(cells.size)?;
                cells.measure(&sized, SizedPolicy::allocate)
            })
            .collect()
    }

    /// The same for a policy that was learned from samples of fading.
    pub fn evaluate_sampled(&self, policy: &SampledPolicy) -> Result<Vec<SizeResult>, ModelError> {
        let sizes = self.sizes.iter();
        sizes
            .map(|cells| {
                cells.measure(&(), |(), gains, allocation| policy.allocate(gains, allocation))
            })
            .collect()
    }
}

impl TestCells {
    /// Measures what `allocate` gives on all cells; each thread works with a copy of its `state`.
    fn measure<S: Clone + Sync>(
        &self,
        state: &S,
        allocate: impl Fn(&mut S, &[f64], &mut Allocation) + Sync,
    ) -> Result<SizeResult, ModelError> {
        let results: Vec<(f64, f64)> = self
            .problems
            .par_iter()
            .map_init(
                || (state.clone(), Allocation::default()),
                |(state, allocation), (problem, gains)| {
                    allocate(state, gains, allocation);
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
            k: self.size,
            availability,
            total_bandwidth_mhz,
            optimum_mhz: self.optimum_mhz,
            gap_percent: 100.0 * (total_bandwidth_mhz / self.optimum_mhz - 1.0),
        })
    }
}
