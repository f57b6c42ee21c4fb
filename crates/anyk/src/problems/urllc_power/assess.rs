//! The verdict on anyone's allocation of a cell in a fixed band.

use crate::exchange::{Allotted, UserRecord};
use crate::framework::{Error, Found, Goal, Problem as _, Verdict};
use crate::problems::urllc::{allocation, inputs, missed};
use crate::problems::urllc_power::{BandSolver, BandStatus, UrllcPower};

/// The total power.
const GOAL: Goal = Goal { name: "total power", unit: "W", larger_is_better: false };

/// Judges what the users of a cell are given.
pub(super) fn verdict(
    solver: &mut BandSolver,
    problem: &UrllcPower,
    records: &[UserRecord],
    given: &[Allotted],
) -> Result<Verdict, Error> {
    let allocation = allocation(records, given)?;
    let judged = problem.judge(&allocation)?;
    let optimum = solver.solve(problem);
    let served = !matches!(optimum.status, BandStatus::Infeasible(_));
    // Of two budgets, the one that is used more.
    let band = 1.0 + judged.bandwidth_excess;
    let power = problem.max_power_w().map_or(0.0, |most| judged.total_power_w / most);
    Ok(Verdict::new(Found {
        goal: GOAL,
        value: judged.total_power_w,
        reference: served.then(|| optimum.allocation.total_power_w()),
        missed: Some(missed(problem.cell(), &allocation, records)),
        budget_used: Some(band.max(power)),
        kkt_residual: judged.kkt_residual,
        pairs: (inputs(problem.cell()), allocation.power_w),
    }))
}
