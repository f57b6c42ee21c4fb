//! The paper's two problems with a closed form. (P5) minimizes power under a rate and a given bandwidth; (P6)
//! minimizes the bandwidth, equal for all users, under a rate and a power budget.

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
