//! Measurements over many realizations.

mod any_gnn;
mod binary_gap;
mod calibration;
mod closed_form;
mod exponent;
mod learned;
mod moments;
mod optimum;
mod power_control;
mod run;
mod sampled;
mod statistics;

pub use any_gnn::{train_any_policy, train_sampled_policy};
pub use binary_gap::{BinaryGap, binary_gap};
pub use calibration::{
    CalibrationError, CalibrationSettings, Judge, Judged, calibrate, required_factors,
};
pub use closed_form::{ClosedFormResult, evaluate_closed_form, train_closed_form};
pub use exponent::Exponent;
pub(crate) use exponent::student_95;
pub use learned::{SizeResult, TestSet};
pub use moments::Moments;
pub use optimum::{OptimumRow, optimum_over_sizes};
pub use power_control::{
    PASSES, PowerPolicyResult, PowerSizeResult, finish_power, power_over_sizes,
};
pub use run::{RunError, finish, law_for};
pub use sampled::{bandwidth_errors, draw_fading, true_bandwidth};
pub use statistics::Mean;
