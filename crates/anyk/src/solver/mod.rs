//! Exact solvers of the problems in [`crate::problem`], each with a status.

mod bandwidth_table;
mod closed_form;
mod dual;
mod piecewise;
mod required_bandwidth;
mod root;

pub use bandwidth_table::BandwidthTable;
pub use closed_form::{
    CommonSolution, equal_bandwidth_shares, required_bandwidth_hz, solve_equal_bandwidth,
    solve_qos_power,
};
pub use dual::{Infeasibility, Solution, Status, UrllcSolver};
pub use required_bandwidth::{BandwidthPoint, RequiredBandwidth, TooWeak};
