//! Problem (P1): power and bandwidth for URLLC, with the minimum total bandwidth that meets every user's QoS
//! within one power budget.

mod algorithm1;
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
mod price_policy;
mod price_run;
pub(crate) mod price_training;
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
pub use calibration::{Judge, Judged, calibrate, required_factors};
pub use cell_policy::CellPolicy;
pub use certificate::{Certificate, Certifier};
pub use equal_power::{EqualPower, equal_power};
pub(crate) use formulation::{
    check_range, details, features, missed, outside_lines, outside_rate_formula, power_shortfall,
    user_inputs, work,
};
pub(crate) use fully_connected::fnn_input;
pub(crate) use in_cells::add_outside;
pub use inputs::UserInputs;
pub use learn_bandwidth::{DEVIATIONS, SampledSettings, learn_bandwidth};
pub use optimum::{OptimumRow, optimum_over_sizes};
pub use policy::{LearnedAllocator, LearnedPolicy, ModelMetrics, ModelRecord};
pub use pretrain::{RelativeError, measure_law, pretrain_law};
pub use price_policy::{PriceAllocator, PricePolicy, PriceRecord, SampledRecord, Unserved};
pub use price_run::{train_price_policy, train_sampled_policy};
pub use price_training::{
    PriceSettings, Span, TrainedPrice, TrainedRanges, train_price, train_price_on,
};
pub use problem::{URLLC, UrllcProblem};
pub use recipe::{LossScale, Recipe};
pub use run::{finish, law_for, train_urllc};
pub use sampled_bandwidth::{ErrorPoint, SampledBandwidth, WidenedBandwidth};
pub use sampled_errors::{bandwidth_errors, draw_fading, true_bandwidth};
pub use solver::{Solution, UrllcSolver};
pub use statement::{Assessment, Urllc, UrllcAllocation, User};
pub use test_set::{NoneServed, SizeResult, TestSet};
