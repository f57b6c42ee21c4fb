//! Cells of URLLC as arrays, and what answers them.

use crate::config::System;
use crate::framework::{
    Allocate, Amount, Arrays, CellReading, Instances, NamedArray, Outcome, UserOfCell, judge_users,
    user_inputs, user_instances,
};
use crate::problems::urllc::assess::{inputs, verdict};
use crate::problems::urllc::desk::optimum_hz;
use crate::problems::urllc::{Allocation, AnyAllocator, Urllc};

impl Arrays for Urllc {
    const AMOUNTS: &'static [Amount] = &[Amount::each("power_w"), Amount::each("bandwidth_hz")];

    fn write(&self, answer: &Allocation, columns: &mut [&mut [f64]]) {
        write_allocation(answer, columns);
    }

    fn inputs(&self) -> Vec<NamedArray> {
        let mut inputs = user_inputs(users_of(self).into_iter());
        inputs.push(NamedArray::one("max_power_w", self.max_power_w()));
        inputs
    }

    fn features(&self) -> Vec<f64> {
        inputs(self)
    }

    fn work(&self) -> usize {
        work(self)
    }
}

/// A table of each class takes as long as thousands of users.
pub(crate) fn work(problem: &Urllc) -> usize {
    problem.users().len() + 5_000 * problem.classes().len()
}

/// Powers and bandwidths, as columns.
pub(crate) fn write_allocation(answer: &Allocation, columns: &mut [&mut [f64]]) {
    for (column, values) in columns.iter_mut().zip([&answer.power_w, &answer.bandwidth_hz]) {
        column.copy_from_slice(values);
    }
}

/// The users of a cell, with their classes.
pub(crate) fn users_of(problem: &Urllc) -> Vec<UserOfCell> {
    let classes = problem.classes();
    problem.users().iter().map(|user| (user.gain, classes[user.class].service())).collect()
}

/// What makes cells of arrays.
pub(super) fn instances(reading: CellReading) -> Box<dyn Instances> {
    user_instances(
        reading,
        |system: &System, users| Ok(Urllc::new(system, users.iter().copied())?),
        judge_users(users_of, optimum_hz, verdict),
    )
}

/// Raises bandwidths to what is certified.
pub(super) struct Certifying(pub(super) AnyAllocator);

impl Allocate<Urllc> for Certifying {
    fn allocate(&mut self, problem: &Urllc, answer: &mut Allocation) -> Outcome {
        let outcome = self.0.allocate(problem, answer);
        if outcome.is_served() {
            self.0.certifier().certify(problem, answer);
        }
        outcome
    }
}
