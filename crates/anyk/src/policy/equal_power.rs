//! Equal power, each user's bandwidth exact: the baseline that shows what allocating power is worth.

use std::sync::Arc;

use crate::problem::{Allocation, Urllc};
use crate::solver::{BandwidthTable, TooWeak, UrllcSolver};

/// `P_k = P_max/K` and `B_k = b(α_k P_k)`, from the solver's tables; an error where some user cannot
/// be served so.
pub fn equal_power(problem: &Urllc, solver: &mut UrllcSolver) -> Result<Allocation, TooWeak> {
    let power_w = problem.max_power_w() / problem.size() as f64;
    let tables: Vec<Arc<BandwidthTable>> =
        problem.classes().iter().map(|qos| solver.table(qos)).collect();
    let bandwidth_hz = problem
        .users()
        .iter()
        .map(|user| Ok(tables[user.class].at(user.gain * power_w)?.bandwidth_hz))
        .collect::<Result<_, TooWeak>>()?;
    Ok(Allocation { power_w: vec![power_w; problem.size()], bandwidth_hz })
}
