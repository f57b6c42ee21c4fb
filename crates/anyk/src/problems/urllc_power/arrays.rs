//! Cells in a fixed band as arrays.

use crate::framework::{Amount, Arrays, NamedArray, UserOfCell, user_inputs};
use crate::problems::urllc::{Allocation, inputs, users_of, work, write_allocation};
use crate::problems::urllc_power::UrllcPower;

impl Arrays for UrllcPower {
    const AMOUNTS: &'static [Amount] = &[Amount::each("power_w"), Amount::each("bandwidth_hz")];

    fn write(&self, answer: &Allocation, columns: &mut [&mut [f64]]) {
        write_allocation(answer, columns);
    }

    fn inputs(&self) -> Vec<NamedArray> {
        let mut inputs = user_inputs(users(self).into_iter());
        inputs.push(NamedArray::one("max_bandwidth_hz", self.max_bandwidth_hz()));
        inputs.extend(self.max_power_w().map(|watts| NamedArray::one("max_power_w", watts)));
        inputs
    }

    fn features(&self) -> Vec<f64> {
        inputs(self.cell())
    }

    fn work(&self) -> usize {
        work(self.cell())
    }
}

pub(super) fn users(problem: &UrllcPower) -> Vec<UserOfCell> {
    users_of(problem.cell())
}
