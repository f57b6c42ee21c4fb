//! Equal power, each user's bandwidth exact: the baseline that shows what allocating power is worth.

use std::sync::Arc;

use crate::framework::{Allocate, Outcome, Refusal};
use crate::problems::urllc::UrllcSolver;
use crate::problems::urllc::{Allocation, Urllc};
use crate::qos::{BandwidthTable, TooWeak};
use crate::tolerance;

/// `P_k = P_max/K` and `B_k = b(α_k P_k)`, from the solver's tables; an error where some user cannot
/// be served so. As in the solver, bandwidths are rounded up by the tables' certified error, so that every
/// QoS holds.
pub fn equal_power(problem: &Urllc, solver: &mut UrllcSolver) -> Result<Allocation, TooWeak> {
    let power_w = problem.max_power_w() / problem.size() as f64;
    let tables: Vec<Arc<BandwidthTable>> =
        problem.classes().iter().map(|qos| solver.table(qos)).collect();
    let bandwidth_hz = problem
        .users()
        .iter()
        .map(|user| {
            let table = &tables[user.class];
            let received_w = user.gain * power_w * (1.0 - tolerance::ROUNDING);
            Ok(table.at(received_w)?.bandwidth_hz * (1.0 + table.error_bound()))
        })
        .collect::<Result<_, TooWeak>>()?;
    Ok(Allocation { power_w: vec![power_w; problem.size()], bandwidth_hz })
}

/// Equal power as a policy.
#[derive(Debug, Clone, Default)]
pub struct EqualPower {
    solver: UrllcSolver,
}

impl Allocate<Urllc> for EqualPower {
    fn allocate(&mut self, problem: &Urllc, allocation: &mut Allocation) -> Outcome {
        match equal_power(problem, &mut self.solver) {
            Ok(found) => {
                *allocation = found;
                Outcome::Heuristic
            }
            Err(weak) => Outcome::Refused(Refusal(weak.to_string())),
        }
    }
}
