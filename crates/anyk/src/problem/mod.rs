//! The allocation problems: objective, constraints, and the judge of any answer to them.
//!
//! Solvers, networks and tests share these checks, so that "feasible" and "optimal" mean one thing.

mod interference;
mod qos;
mod scenario;
mod service;
mod sparse_interference;
mod urllc;

pub(crate) use interference::is_binary;
pub use interference::{Interference, InterferenceError, PowerAssessment};
pub use qos::{Margin, MarginCurvature, Qos};
pub use scenario::Scenario;
pub use service::{ServiceClass, ServiceError};
pub use sparse_interference::SparseInterference;
pub use urllc::{Allocation, Assessment, ProblemError, Urllc, User};
