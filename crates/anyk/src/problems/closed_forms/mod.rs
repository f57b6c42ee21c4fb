//! The two problems of the paper that have a closed form: (P5), the least power at a rate over a given
//! bandwidth, and (P6), the least bandwidth, the same for every user, at a rate within a power budget.

mod common_law;
mod equal_bandwidth;
mod evaluation;
mod formulation;
mod models;
mod policy;
mod problem;
mod qos_power;
mod rate;
mod solver;
mod training;

pub use common_law::common_pretraining;
pub(crate) use common_law::{common_unit_hz, pretrain_common_law};
pub use equal_bandwidth::{CommonAllocation, EqualBandwidth};
pub use evaluation::{ClosedFormResult, evaluate_closed_form, train_closed_form};
pub use policy::{ClosedFormAllocator, ClosedFormMetrics, ClosedFormPolicy, ClosedFormRecord};
pub use problem::{EQUAL_BANDWIDTH, QOS_POWER};
pub use qos_power::{QosPower, RateAssessment};
pub use rate::RateTarget;
pub use solver::{
    CommonSolution, equal_bandwidth_shares, required_bandwidth_hz, solve_equal_bandwidth,
    solve_qos_power,
};
pub use training::{ClosedForm, ClosedFormSettings, Scaling, TrainedNetworks, train_networks};
