//! Exact solvers of the problems in [`crate::problem`], each with a status.

mod bandwidth_table;
mod dual;
mod piecewise;
mod required_bandwidth;
mod root;

pub use bandwidth_table::BandwidthTable;
pub use dual::{Infeasibility, Solution, Status, UrllcSolver};
pub use required_bandwidth::{BandwidthPoint, RequiredBandwidth, TooWeak};
