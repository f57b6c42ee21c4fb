//! The verdict on anyone's allocation of a cell in a fixed band.

use crate::exchange::{Allotted, UserRecord};
use crate::framework::{Error, Found, Goal, Problem as _, Verdict};
use crate::problems::urllc::{allocation, inputs, missed};
use crate::problems::urllc_power::{BandSolver, BandStatus, UrllcPower};

/// The total power.
const GOAL: Goal = Goal { name: "total power", unit: "W", larger_is_better: false };

/// The optimum, W, if the budgets serve everyone.
pub(super) fn optimum_w(solver: &mut BandSolver, problem: &UrllcPower) -> Option<f64> {
    let optimum = solver.solve(problem);
    let served = !matches!(optimum.status, BandStatus::Infeasible(_));
    served.then(|| optimum.allocation.total_power_w())
}

/// Judges what the users of a cell are given, beside the optimum.
pub(super) fn verdict(
    problem: &UrllcPower,
    records: &[UserRecord],
    given: &[Allotted],
    reference: Option<f64>,
) -> Result<Verdict, Error> {
    let allocation = allocation(records, given)?;
    let judged = problem.judge(&allocation)?;
    // Of two budgets, the one that is used more.
    let band = 1.0 + judged.bandwidth_excess;
    let power = problem.max_power_w().map_or(0.0, |most| judged.total_power_w / most);
    Ok(Verdict::new(Found {
        goal: GOAL,
        value: judged.total_power_w,
        reference,
        missed: Some(missed(problem.cell(), &allocation, records)),
        budget_used: Some(band.max(power)),
        kkt_residual: judged.kkt_residual,
        pairs: (inputs(problem.cell()), allocation.power_w),
    }))
}
