//! Verdicts on anyone's allocations for (P5) and (P6).

use crate::exchange::{Allotted, UserRecord};
use crate::framework::{Error, Found, Goal, Miss, Status, Verdict, amounts};
use crate::problems::closed_forms::{
    CommonAllocation, EqualBandwidth, QosPower, RateTarget, solve_equal_bandwidth, solve_qos_power,
};
use crate::tolerance;

const POWER: Goal = Goal { name: "total power", unit: "W", larger_is_better: false };
const BANDWIDTH: Goal =
    Goal { name: "bandwidth of each user", unit: "Hz", larger_is_better: false };

/// Users whose rate is not met, but for rounding.
fn missed(target: &RateTarget, rates_bps: &[f64], records: &[UserRecord]) -> Vec<Miss> {
    let target = target.rate_bps();
    let users = records.iter().zip(rates_bps);
    let short = users.filter(|(_, rate)| **rate < target * (1.0 - tolerance::BUDGET));
    let miss = |(record, &value): (&UserRecord, &f64)| Miss {
        id: record.id.clone(),
        what: "rate, bit/s",
        value,
        target,
    };
    short.map(miss).collect()
}

pub(super) fn logarithms(gains: &[f64]) -> Vec<f64> {
    gains.iter().map(|gain| gain.ln()).collect()
}

/// The least power for (P5), W.
pub(super) fn optimum_w(_: &mut (), problem: &QosPower) -> Option<f64> {
    Some(solve_qos_power(problem).iter().sum())
}

/// The least bandwidth for (P6), Hz, if the budget serves everyone.
pub(super) fn optimum_hz(_: &mut (), problem: &EqualBandwidth) -> Option<f64> {
    let optimum = solve_equal_bandwidth(problem);
    (optimum.status == Status::Optimal).then_some(optimum.allocation.bandwidth_hz)
}

/// Judges powers for (P5).
pub(super) fn of_qos_power(
    problem: &QosPower,
    records: &[UserRecord],
    given: &[Allotted],
    reference: Option<f64>,
) -> Result<Verdict, Error> {
    let power_w = amounts(records, given, "power_w", |given| given.power_w)?;
    let judged = problem.assess(&power_w)?;
    Ok(Verdict::new(Found {
        goal: POWER,
        value: judged.total_power_w,
        reference,
        missed: Some(missed(problem.target(), &problem.rates_bps(&power_w)?, records)),
        budget_used: None,
        kkt_residual: judged.kkt_residual,
        pairs: (logarithms(problem.gains()), power_w),
    }))
}

/// Judges an allocation for (P6), whose users have the same bandwidth.
pub(super) fn of_equal_bandwidth(
    problem: &EqualBandwidth,
    records: &[UserRecord],
    given: &[Allotted],
    reference: Option<f64>,
) -> Result<Verdict, Error> {
    let power_w = amounts(records, given, "power_w", |given| given.power_w)?;
    let bandwidths = amounts(records, given, "bandwidth_hz", |given| given.bandwidth_hz)?;
    let bandwidth_hz = bandwidths.first().copied().unwrap_or(0.0);
    let differs = |other: &&f64| (**other - bandwidth_hz).abs() > tolerance::BUDGET * bandwidth_hz;
    if let Some(other) = bandwidths.iter().find(differs) {
        return Err(Error::Allocation(format!(
            "bandwidths of {bandwidth_hz} and of {other} Hz, expected the same for all users"
        )));
    }
    let allocation = CommonAllocation { power_w, bandwidth_hz };
    let judged = problem.assess(&allocation)?;
    Ok(Verdict::new(Found {
        goal: BANDWIDTH,
        value: bandwidth_hz,
        reference,
        missed: Some(missed(problem.target(), &problem.rates_bps(&allocation)?, records)),
        budget_used: Some(1.0 + judged.power_excess),
        kkt_residual: judged.kkt_residual,
        pairs: (logarithms(problem.gains()), allocation.power_w),
    }))
}
