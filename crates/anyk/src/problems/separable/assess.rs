//! The verdict on anyone's powers of a cell.

use crate::exchange::{Allotted, UserRecord};
use crate::framework::{Error, Found, Goal, Miss, Problem as _, Verdict, amounts};
use crate::problems::separable::{Separable, SeparableSolver, SeparableStatus};

const GOAL: Goal =
    Goal { name: "sum of costs", unit: "units of the cost", larger_is_better: false };

/// The least sum of costs, if the budget serves everyone.
pub(super) fn optimum(solver: &mut SeparableSolver, problem: &Separable) -> Option<f64> {
    let optimum = solver.solve(problem);
    let served = !matches!(optimum.status, SeparableStatus::Infeasible(_));
    served.then_some(optimum.objective)
}

/// Judges what the users of a cell are given, beside the optimum.
pub(super) fn verdict(
    problem: &Separable,
    records: &[UserRecord],
    given: &[Allotted],
    reference: Option<f64>,
) -> Result<Verdict, Error> {
    let power_w = amounts(records, given, "power_w", |given| given.power_w)?;
    let judged = problem.judge(&power_w)?;
    let mut missed = Vec::new();
    let mut value = 0.0;
    for (user, (record, power_w)) in records.iter().zip(&power_w).enumerate() {
        let (snr, cost) = (problem.gains()[user] * power_w, problem.cost_of(user));
        let least = cost.range().0;
        // Who has too little costs what the least that serves does: as much as is known.
        value += cost.value(snr.max(least));
        if !cost.value(snr).is_finite() {
            missed.push(Miss { id: record.id.clone(), what: "SNR", value: snr, target: least });
        }
    }
    Ok(Verdict::new(Found {
        goal: GOAL,
        value,
        reference,
        missed: Some(missed),
        budget_used: Some(1.0 + judged.budget_excess),
        kkt_residual: judged.kkt_residual,
        pairs: (problem.gains().iter().map(|gain| gain.ln()).collect(), power_w),
    }))
}
