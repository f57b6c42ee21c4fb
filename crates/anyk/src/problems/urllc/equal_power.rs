//! Baseline with equal powers and exact bandwidths; it shows the benefit of power allocation.

use std::sync::Arc;

use crate::core::{Allocation, Instance, Outcome, Policy, Status};
use crate::framework::Error;
use crate::problems::urllc::UrllcSolver;
use crate::problems::urllc::{Urllc, UrllcAllocation};
use crate::qos::{BandwidthTable, TooWeak};
use crate::tolerance;

/// Returns `P_k = P_max/K` and `B_k = b(α_k P_k)` from the solver's tables, or an error if equal power cannot
/// serve some user. As in the solver, bandwidths are rounded up by the certified error of the tables, so every
/// QoS holds.
pub fn equal_power(problem: &Urllc, solver: &mut UrllcSolver) -> Result<UrllcAllocation, TooWeak> {
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
    Ok(UrllcAllocation { power_w: vec![power_w; problem.size()], bandwidth_hz })
}

/// Baseline policy with equal powers.
#[derive(Debug, Clone, Default)]
pub struct EqualPower {
    solver: UrllcSolver,
}

impl Policy for EqualPower {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        Ok(match equal_power(instance.formulation()?, &mut self.solver) {
            Ok(found) => {
                into.amounts = vec![found.power_w, found.bandwidth_hz];
                Outcome::Served(Status::Heuristic)
            }
            Err(weak) => Outcome::Refused(weak.to_string()),
        })
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
