//! Problem (P1): power and bandwidth for URLLC, the least total bandwidth that meets every user's QoS within
//! one power budget.

mod algorithm1;
mod any_gnn;
pub(crate) mod any_ranges;
mod any_run;
mod any_training;
mod calibration;
pub(crate) mod cell;
mod cell_policy;
mod certificate;
mod dataset;
mod engine;
mod equal_power;
mod formulation;
mod fully_connected;
mod fused;
mod in_cells;
mod inputs;
mod lagrangian;
mod learn_bandwidth;
mod models;
mod optimum;
mod policy;
mod pretrain;
pub(crate) mod problem;
mod recipe;
mod reference;
mod reports;
mod run;
mod sampled_bandwidth;
mod sampled_errors;
mod solver;
mod statement;
mod test_set;
mod train;

pub(crate) use algorithm1::fnn_network;
pub use algorithm1::{Algorithm1, TrainSettings};
pub use any_gnn::{AnyAllocator, AnyPolicy, AnyRecord, SampledRecord, Unserved};
pub use any_ranges::{Span, TrainRanges, TrainedRanges};
pub use any_run::{train_any_policy, train_sampled_policy};
pub use any_training::{AnySettings, TrainedAny, train_any, train_any_on};
pub use calibration::{Judge, Judged, calibrate, required_factors};
pub use cell_policy::CellPolicy;
pub use certificate::{Certificate, Certifier};
pub use equal_power::{EqualPower, equal_power};
pub(crate) use formulation::{
    check_range, details, features, missed, outside_lines, power_shortfall, user_inputs, work,
};
pub(crate) use fully_connected::fnn_input;
pub(crate) use in_cells::add_outside;
pub use inputs::UserInputs;
pub use learn_bandwidth::{DEVIATIONS, SampledSettings, learn_bandwidth};
pub use optimum::{OptimumRow, optimum_over_sizes};
pub use policy::{LearnedAllocator, LearnedPolicy, ModelMetrics, ModelRecord};
pub use pretrain::{RelativeError, measure_law, pretrain_law};
pub use problem::{URLLC, UrllcProblem};
pub use recipe::{LossScale, Recipe};
pub use run::{finish, law_for, train_urllc, validation_set};
pub use sampled_bandwidth::{ErrorPoint, SampledBandwidth, WidenedBandwidth};
pub use sampled_errors::{bandwidth_errors, draw_fading, true_bandwidth};
pub use solver::{Solution, UrllcSolver};
pub use statement::{Assessment, Urllc, UrllcAllocation, User};
pub use test_set::{NoneServed, SizeResult, TestSet};
