//! The verdict on anyone's allocation of a cell.

use crate::exchange::{Allotted, UserRecord};
use crate::framework::{Error, Found, Goal, Miss, Verdict, amounts};
use crate::problems::urllc::{Allocation, Urllc};

/// The total bandwidth.
const GOAL: Goal = Goal { name: "total bandwidth", unit: "Hz", larger_is_better: false };

/// What users are given, as an allocation.
pub(crate) fn allocation(records: &[UserRecord], given: &[Allotted]) -> Result<Allocation, Error> {
    Ok(Allocation {
        power_w: amounts(records, given, "power_w", |given| given.power_w)?,
        bandwidth_hz: amounts(records, given, "bandwidth_hz", |given| given.bandwidth_hz)?,
    })
}

/// The users whose QoS does not hold, with the packets that they lose.
pub(crate) fn missed(
    problem: &Urllc,
    allocation: &Allocation,
    records: &[UserRecord],
) -> Vec<Miss> {
    let rows = allocation.power_w.iter().zip(&allocation.bandwidth_hz);
    let users = problem.users().iter().zip(records).zip(rows);
    users
        .filter_map(|((user, record), (&power_w, &bandwidth_hz))| {
            let qos = &problem.classes()[user.class];
            let received_w = user.gain * power_w;
            let holds = power_w > 0.0
                && bandwidth_hz > 0.0
                && qos.margin(received_w.ln(), bandwidth_hz.ln()).value >= 0.0;
            (!holds).then(|| Miss {
                id: record.id.clone(),
                what: "packet loss",
                value: qos.packet_loss(received_w, bandwidth_hz),
                target: qos.service().epsilon,
            })
        })
        .collect()
}

/// `ln α` of users.
pub(crate) fn inputs(problem: &Urllc) -> Vec<f64> {
    problem.users().iter().map(|user| user.gain.ln()).collect()
}

/// Judges what the users of a cell are given, beside the optimum.
pub(super) fn verdict(
    problem: &Urllc,
    records: &[UserRecord],
    given: &[Allotted],
    reference: Option<f64>,
) -> Result<Verdict, Error> {
    let allocation = allocation(records, given)?;
    let judged = problem.assess(&allocation)?;
    Ok(Verdict::new(Found {
        goal: GOAL,
        value: judged.total_bandwidth_hz,
        reference,
        missed: Some(missed(problem, &allocation, records)),
        budget_used: Some(1.0 + judged.power_excess),
        kkt_residual: judged.kkt_residual,
        pairs: (inputs(problem), allocation.power_w),
    }))
}
