//! Policies: what turns the users of a cell into an allocation without searching for the optimum.

mod closed_form;
mod equal_power;
mod fused;
mod learned;

pub use closed_form::{ClosedFormMetrics, ClosedFormPolicy, ClosedFormRecord, SizedClosedForm};
pub use equal_power::equal_power;
pub use learned::{LearnedPolicy, ModelError, ModelMetrics, ModelRecord, SizedPolicy};
