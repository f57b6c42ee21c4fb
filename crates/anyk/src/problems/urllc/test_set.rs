//! How a learned policy does at each size, beside the exact optimum on the same cells.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::channel::FadingQuadrature;
use crate::config::System;
use crate::core::{Allocation, Instance, Policy};
use crate::framework::{Error, Observer, Rows, Silent, over_instances};
use crate::invalid::Invalid;
use crate::math::realization_rng;
use crate::problems::urllc::{Urllc, UrllcAllocation, UrllcProblem, UrllcSolver};

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
    instances: Vec<Arc<Instance>>,
    optimum_mhz: f64,
    /// Of the cells that were left out, the power that the least demanding one takes, W.
    least_required_w: f64,
    max_power_w: f64,
}

/// A size of which the budget serves no cell: there is nothing to measure.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[error(
    "it serves none of the cells of {size} users: the least demanding takes {required_w:.6} W, the budget is \
     {max_power_w:.6} W"
)]
pub struct NoneServed {
    /// Number of users.
    pub size: usize,
    /// What the least demanding cell takes, W.
    pub required_w: f64,
    /// The budget, W.
    pub max_power_w: f64,
}

impl TestSet {
    /// Draws `samples` cells of each size. Cells that the power budget cannot serve are left out,
    /// since they have no optimum.
    pub fn draw(
        system: &System,
        sizes: &[usize],
        samples: u64,
        seed: u64,
    ) -> Result<Self, Invalid> {
        Self::draw_under(system, None, sizes, samples, seed, &Silent)
    }

    /// The same cells under another fading than the system's own. The observer counts cells.
    pub fn draw_under(
        system: &System,
        fading: Option<&Arc<FadingQuadrature>>,
        sizes: &[usize],
        samples: u64,
        seed: u64,
        observer: &dyn Observer,
    ) -> Result<Self, Invalid> {
        let state = |gains: &[f64]| -> Result<Urllc, Invalid> {
            let problem = Urllc::uniform(system, gains.iter().copied())?;
            Ok(match fading {
                Some(fading) => problem.with_fading(fading),
                None => problem,
            })
        };
        let of_cells = UrllcProblem::in_cell(system);
        let mut prepared = UrllcSolver::default();
        for qos in state(&[1e-10])?.classes() {
            prepared.table(qos);
        }
        let drawn = over_instances(
            sizes,
            samples,
            |_| Ok::<_, Invalid>(prepared.clone()),
            |solver, size, index| {
                let mut rng = realization_rng(seed, size, index);
                let mut gain =
                    || system.path_loss().gain(system.road().sample_distance_m(&mut rng));
                let gains: Vec<f64> = (0..size).map(|_| gain()).collect();
                let problem = state(&gains)?;
                let solution = solver.solve(&problem);
                if let Some(why) = solution.outcome.infeasible() {
                    return Ok(Some(Err(why.required_power_w.unwrap_or(f64::INFINITY))));
                }
                let optimum_mhz = solution.allocation.total_bandwidth_hz() / 1e6;
                let instance = Instance::of(&of_cells, size, problem);
                Ok(Some(Ok((Arc::new(instance), optimum_mhz))))
            },
            observer,
        )?;
        let cells = |found: Rows<Result<(Arc<Instance>, f64), f64>>| {
            let required = found.rows.iter().filter_map(|row| row.as_ref().err());
            let least_required_w = required.fold(f64::INFINITY, |least, &w| least.min(w));
            let rows = found.rows.into_iter().filter_map(Result::ok).collect();
            let served = Rows { k: found.k, rows, infeasible: 0 };
            TestCells {
                size: found.k,
                optimum_mhz: served.mean(|cell| cell.1),
                instances: served.rows.into_iter().map(|cell| cell.0).collect(),
                least_required_w,
                max_power_w: system.max_power_w(),
            }
        };
        Ok(Self { sizes: drawn.into_iter().map(cells).collect() })
    }

    /// Cells of each size that the budget can serve.
    pub fn served(&self) -> Vec<usize> {
        self.sizes.iter().map(|cells| cells.instances.len()).collect()
    }

    /// The same set without the sizes of which the budget serves no cell.
    #[must_use]
    pub fn without_unserved(mut self) -> Self {
        self.sizes.retain(|cells| !cells.instances.is_empty());
        self
    }

    /// Refuses a set with a size of which the budget serves no cell.
    pub fn check_served(&self) -> Result<(), NoneServed> {
        match self.sizes.iter().find(|cells| cells.instances.is_empty()) {
            None => Ok(()),
            Some(&TestCells { size, least_required_w: required_w, max_power_w, .. }) => {
                Err(NoneServed { size, required_w, max_power_w })
            }
        }
    }

    /// Measures a policy on all cells, on all cores; the result does not depend on their number. A cell that
    /// it refuses has no user served. The observer counts cells.
    pub fn evaluate(
        &self,
        policy: &dyn Policy,
        observer: &dyn Observer,
    ) -> Result<Vec<SizeResult>, Error> {
        let at_size = |cells: &TestCells| {
            let measured = over_instances(
                &[cells.size],
                cells.instances.len() as u64,
                |_| -> Result<_, Error> {
                    Ok((policy.fork().ok_or(Error::OtherProblem)?, Allocation::default()))
                },
                |(policy, allocation), _, index| {
                    #[allow(clippy::cast_possible_truncation)]
                    let instance = &cells.instances[index as usize];
                    allocation.reset(instance.about().amounts, instance.size());
                    if !policy.allocate(instance, allocation)?.is_served() {
                        return Ok(Some((0.0, 0.0)));
                    }
                    let problem: &Urllc = instance.formulation()?;
                    let judged = problem.assess(&UrllcAllocation::of(allocation))?;
                    Ok(Some((judged.availability, judged.total_bandwidth_hz / 1e6)))
                },
                observer,
            )?;
            let results = measured.into_iter().next();
            let results = results.unwrap_or(Rows { k: cells.size, rows: vec![], infeasible: 0 });
            let total_bandwidth_mhz = results.mean(|result| result.1);
            Ok(SizeResult {
                k: cells.size,
                availability: results.mean(|result| result.0),
                total_bandwidth_mhz,
                optimum_mhz: cells.optimum_mhz,
                gap_percent: 100.0 * (total_bandwidth_mhz / cells.optimum_mhz - 1.0),
            })
        };
        self.sizes.iter().map(at_size).collect()
    }
}
