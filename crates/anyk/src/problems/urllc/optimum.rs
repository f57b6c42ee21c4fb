//! Exact optimum over random cells of many sizes, with which every policy is compared.

use serde::Serialize;

use crate::channel::sample_distances_m;
use crate::config::System;
use crate::framework::{Observer, Rows, over_instances};
use crate::invalid::Invalid;
use crate::math::Mean;
use crate::problems::urllc::Urllc;
use crate::problems::urllc::UrllcSolver;
use crate::problems::urllc::equal_power;

/// Mean total bandwidths at one number of users.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OptimumRow {
    /// Number of users `K`.
    pub k: usize,
    /// Number of realizations that could be served; the means include only these.
    pub served: usize,
    /// Number of realizations that the power budget could not serve.
    pub infeasible: usize,
    /// Exact optimum `W*`, MHz; absent if no realization could be served.
    pub optimum_mhz: Option<Mean>,
    /// Total bandwidth with equal power and exact bandwidths on the same realizations, MHz; absent if it fails on
    /// one of them.
    pub equal_power_mhz: Option<Mean>,
    /// Largest relative duality gap.
    pub worst_gap: f64,
}

/// Solves `samples` random cells of each size, on all cores. The result does not depend on their number. The
/// observer counts cells.
pub fn optimum_over_sizes(
    system: &System,
    sizes: &[usize],
    samples: u64,
    seed: u64,
    observer: &dyn Observer,
) -> Result<Vec<OptimumRow>, Invalid> {
    let mut prepared = UrllcSolver::default();
    prepared.table(&system.qos(system.service())?);
    let solved = over_instances(
        sizes,
        samples,
        |_| Ok::<_, Invalid>(prepared.clone()),
        |solver, k, index| {
            let distances = sample_distances_m(&system.road(), seed, k, index);
            let gains = distances.into_iter().map(|d| system.path_loss().gain(d));
            let problem = Urllc::uniform(system, gains)?;
            let solution = solver.solve(&problem);
            if solution.outcome.infeasible().is_some() {
                return Ok(None);
            }
            let equal = equal_power(&problem, solver).ok();
            Ok(Some((
                solution.allocation.total_bandwidth_hz() / 1e6,
                equal.map(|allocation| allocation.total_bandwidth_hz() / 1e6),
                solution.duality_gap,
            )))
        },
        observer,
    )?;
    let row = |found: &Rows<(f64, Option<f64>, f64)>| {
        let optima: Vec<f64> = found.rows.iter().map(|row| row.0).collect();
        let equal: Option<Vec<f64>> = found.rows.iter().map(|row| row.1).collect();
        OptimumRow {
            k: found.k,
            served: found.rows.len(),
            infeasible: found.infeasible,
            optimum_mhz: Mean::of(&optima),
            equal_power_mhz: equal.and_then(|equal| Mean::of(&equal)),
            worst_gap: found.rows.iter().fold(0.0, |worst, row| worst.max(row.2)),
        }
    };
    Ok(solved.iter().map(row).collect())
}
