//! Policies: what turns the users of a cell into an allocation without searching for the optimum.

mod any_gnn;
mod cell_policy;
mod certificate;
mod closed_form;
mod equal_power;
mod fused;
mod guarantee;
mod learned;
mod power_control;

pub use any_gnn::{AnyAllocator, AnyPolicy, AnyRecord, Refusal, SampledRecord};
pub use cell_policy::{CellAllocator, CellPolicy};
pub use certificate::{Certificate, Certifier};
pub use closed_form::{ClosedFormMetrics, ClosedFormPolicy, ClosedFormRecord, SizedClosedForm};
pub use equal_power::equal_power;
pub use guarantee::{Guarantee, GuaranteeError};
pub use learned::{LearnedPolicy, ModelError, ModelMetrics, ModelRecord, SizedPolicy};
pub use power_control::{PowerController, PowerModelRecord, PowerOutput, PowerPolicy};
