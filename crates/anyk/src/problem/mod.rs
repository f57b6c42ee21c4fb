//! The allocation problems: objective, constraints, and the judge of any answer to them.
//!
//! Solvers, networks and tests share these checks, so that "feasible" and "optimal" mean one thing.

mod equal_bandwidth;
mod interference;
mod qos;
mod qos_power;
mod rate;
mod scenario;
mod service;
mod sparse_interference;
mod urllc;

pub use equal_bandwidth::{CommonAllocation, EqualBandwidth};
pub(crate) use interference::is_binary;
pub use interference::{Interference, InterferenceError, PowerAssessment};
pub use qos::{Margin, MarginCurvature, Qos};
pub use qos_power::{QosPower, RateAssessment};
pub use rate::{RateError, RateTarget};
pub use scenario::Scenario;
pub use service::{ServiceClass, ServiceError};
pub use sparse_interference::SparseInterference;
pub use urllc::{Allocation, Assessment, ProblemError, Urllc, User};
