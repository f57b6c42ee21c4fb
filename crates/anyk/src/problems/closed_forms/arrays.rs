//! Cells of (P5) and (P6) as arrays.

use crate::config::System;
use crate::framework::{
    Amount, Arrays, CellReading, Error, Instances, NamedArray, UserOfCell, judge_users,
    user_instances,
};
use crate::problems::closed_forms::assess::{
    logarithms, of_equal_bandwidth, of_qos_power, optimum_hz, optimum_w,
};
use crate::problems::closed_forms::{ClosedForm, CommonAllocation, EqualBandwidth, QosPower};

impl Arrays for QosPower {
    const AMOUNTS: &'static [Amount] = &[Amount::each("power_w")];

    fn write(&self, answer: &Vec<f64>, columns: &mut [&mut [f64]]) {
        columns[0].copy_from_slice(answer);
    }

    fn inputs(&self) -> Vec<NamedArray> {
        vec![
            NamedArray::each("gains", self.gains().to_vec()),
            NamedArray::one("rate_bps", self.target().rate_bps()),
            NamedArray::one("bandwidth_hz", self.bandwidth_hz()),
        ]
    }

    fn features(&self) -> Vec<f64> {
        logarithms(self.gains())
    }
}

impl Arrays for EqualBandwidth {
    const AMOUNTS: &'static [Amount] =
        &[Amount::each("power_w"), Amount { name: "bandwidth_hz", common: true }];

    fn write(&self, answer: &CommonAllocation, columns: &mut [&mut [f64]]) {
        columns[0].copy_from_slice(&answer.power_w);
        columns[1][0] = answer.bandwidth_hz;
    }

    fn inputs(&self) -> Vec<NamedArray> {
        vec![
            NamedArray::each("gains", self.gains().to_vec()),
            NamedArray::one("rate_bps", self.target().rate_bps()),
            NamedArray::one("max_power_w", self.max_power_w()),
        ]
    }

    fn features(&self) -> Vec<f64> {
        logarithms(self.gains())
    }
}

/// The gains of users without a class of their own.
fn plain(system: &System, users: &[UserOfCell]) -> Result<Vec<f64>, Error> {
    match users.iter().position(|(_, service)| *service != system.service()) {
        None => Ok(users.iter().map(|(gain, _)| *gain).collect()),
        Some(user) => Err(Error::OwnClass {
            user: user.to_string(),
            expected: "none: all users get the same rate; urllc takes classes".to_owned(),
        }),
    }
}

/// What makes cells of arrays.
pub(super) fn instances(form: ClosedForm, reading: CellReading) -> Box<dyn Instances> {
    let service = reading.system.service();
    let users = move |gains: &[f64]| gains.iter().map(|&gain| (gain, service)).collect();
    match form {
        ClosedForm::QosPower { rate_bps, bandwidth_hz } => user_instances(
            reading,
            move |system, users| {
                Ok(QosPower::new(system, rate_bps, bandwidth_hz, plain(system, users)?)?)
            },
            judge_users(move |problem: &QosPower| users(problem.gains()), optimum_w, of_qos_power),
        ),
        ClosedForm::EqualBandwidth { rate_bps } => user_instances(
            reading,
            move |system, users| Ok(EqualBandwidth::new(system, rate_bps, plain(system, users)?)?),
            judge_users(
                move |problem: &EqualBandwidth| users(problem.gains()),
                optimum_hz,
                of_equal_bandwidth,
            ),
        ),
    }
}
