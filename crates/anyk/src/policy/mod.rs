//! Policies: what turns the users of a cell into an allocation without searching for the optimum.

mod equal_power;

pub use equal_power::equal_power;
