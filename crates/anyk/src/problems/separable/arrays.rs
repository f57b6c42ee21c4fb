//! Separable problems as arrays: users of a cell, and whatever a caller has stated.

use std::sync::Arc;

use crate::framework::{
    Amount, Arrays, CellReading, Error, Instance, Instances, NamedArray, UserOfCell, judge_users,
    user_instances,
};
use crate::problems::separable::Separable;
use crate::problems::separable::assess::{optimum, verdict};
use crate::problems::separable::room::Setting;
use crate::qos::ServiceClass;

impl Arrays for Separable {
    const AMOUNTS: &'static [Amount] = &[Amount::each("x")];

    fn write(&self, amounts: &Vec<f64>, columns: &mut [&mut [f64]]) {
        columns[0].copy_from_slice(amounts);
    }

    fn inputs(&self) -> Vec<NamedArray> {
        let classes = self.classes().iter().map(|&class| class as f64).collect();
        vec![
            NamedArray::each("gains", self.gains().to_vec()),
            NamedArray::each("classes", classes),
            NamedArray::one("budget", self.budget()),
        ]
    }

    fn features(&self) -> Vec<f64> {
        self.gains().iter().map(|gain| gain.ln()).collect()
    }
}

/// The users, as records of them have it: what they are called is all that the judge needs.
fn users(problem: &Separable) -> Vec<UserOfCell> {
    problem.gains().iter().map(|&gain| (gain, ServiceClass::default())).collect()
}

/// What makes cells of arrays.
pub(super) fn instances(setting: Setting, reading: CellReading) -> Box<dyn Instances> {
    user_instances(
        reading,
        move |system, users| {
            if let Some(user) = users.iter().position(|(_, own)| *own != system.service()) {
                return Err(Error::OwnClass {
                    user: user.to_string(),
                    expected: "none: all users have the same cost; urllc takes classes".to_owned(),
                });
            }
            setting.of_gains(system, users.iter().map(|(gain, _)| *gain))
        },
        judge_users(users, optimum, verdict),
    )
}

/// Any problem of this kind, as an instance with its judge.
///
/// ```
/// use std::sync::Arc;
/// use anyk::framework::Options;
/// use anyk::problems::room;
/// use anyk::problems::separable::{Cost, Separable, separable_instance};
/// let cost = Arc::new(Cost::from_fn((0.0, 100.0), |u| -u.ln_1p())?);
/// let instance = separable_instance(Separable::uniform(cost, [2.0, 1.0, 0.1], 1.0)?);
/// let mut solver = room("separable").ok_or("no room")?
///     .responder("optimum", &Options::default()).ok_or("no solver")??;
/// let mut x = [0.0; 3];
/// solver.respond(&*instance, &mut [&mut x])?;
/// assert!((x[0] - 0.75).abs() < 1e-6 && x[2] == 0.0);
/// assert!(instance.judge(&[&x])?.is_feasible());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn separable_instance(problem: Separable) -> Box<dyn Instance> {
    crate::framework::Stated::boxed(problem, &Arc::new(judge_users(users, optimum, verdict)))
}
