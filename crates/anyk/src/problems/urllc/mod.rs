//! Problem (P1): power and bandwidth for URLLC, the least total bandwidth that meets every user's QoS within
//! one power budget.

pub(crate) mod algorithm1;
mod answer;
mod any_gnn;
mod any_model_file;
mod any_ranges;
mod any_run;
mod any_training;
mod calibration;
mod cell_policy;
mod certificate;
mod checkpoint;
mod dataset;
mod engine;
mod equal_power;
mod export;
mod fully_connected;
mod fused;
mod lagrangian;
mod learn_bandwidth;
pub(crate) mod model_file;
mod optimum;
mod policy;
pub(crate) mod pretrain;
mod reference;
mod run;
mod sampled_bandwidth;
mod sampled_errors;
mod solver;
pub(crate) mod statement;
mod test_set;

pub(crate) use algorithm1::fnn_network;
pub use algorithm1::{Method, TrainSettings, TrainState, Trainer};
pub use answer::{Answer, Certified, Denied, Served, ServedUser};
pub use any_gnn::{AnyAllocator, AnyPolicy, AnyRecord, Refusal, SampledRecord};
pub use any_model_file::{any_from_bytes, any_to_bytes};
pub use any_ranges::{Span, TrainRanges, TrainedRanges, wide_services};
pub use any_run::{train_any_policy, train_sampled_policy};
pub use any_training::{ANY_PROGRESS, AnySettings, TrainedAny, train_any, train_any_on};
pub use calibration::{
    CalibrationError, CalibrationSettings, Judge, Judged, calibrate, required_factors,
};
pub use cell_policy::{CellAllocator, CellPolicy};
pub use certificate::{Certificate, Certifier};
pub use checkpoint::{checkpoint_from_bytes, checkpoint_to_bytes};
pub use equal_power::equal_power;
pub use export::StepRecord;
pub(crate) use fully_connected::fnn_input;
pub use learn_bandwidth::{DEVIATIONS, LEARN_PROGRESS, SampledSettings, learn_bandwidth};
pub use model_file::{Model, model_from_bytes, model_to_bytes};
pub use optimum::{OptimumRow, optimum_over_sizes};
pub use policy::{LearnedPolicy, ModelMetrics, ModelRecord, SizedPolicy};
pub use pretrain::{
    PretrainError, PretrainLoss, PretrainSettings, RelativeError, measure_law, pretrain_law,
};
pub use run::{RunError, finish, law_for};
pub use sampled_bandwidth::{ErrorPoint, SampledBandwidth, WidenedBandwidth};
pub use sampled_errors::{bandwidth_errors, draw_fading, true_bandwidth};
pub(crate) use solver::{MANY_CLASSES, TABLE_USERS};
pub use solver::{Solution, Status, UrllcSolver};
pub use statement::{Allocation, Assessment, Urllc, User};
pub use test_set::{SizeResult, TestSet};
