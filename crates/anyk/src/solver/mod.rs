//! Solvers of the problems in [`crate::problem`], exact and iterative, each with a status.

pub(crate) mod admission;
mod bandwidth_table;
mod binary_optimum;
mod closed_form;
mod dual;
mod fplinq;
mod greedy;
mod piecewise;
mod required_bandwidth;
mod root;
pub(crate) mod sparse_kernel;
mod sparse_wmmse;
mod wmmse;
mod wmmse_kernel;

pub use bandwidth_table::BandwidthTable;
pub use binary_optimum::{MOST_LINKS, binary_optimum};
pub use closed_form::{
    CommonSolution, equal_bandwidth_shares, required_bandwidth_hz, solve_equal_bandwidth,
    solve_qos_power,
};
pub use dual::{Infeasibility, Solution, Status, UrllcSolver};
pub(crate) use dual::{MANY_CLASSES, TABLE_USERS};
pub use fplinq::fplinq;
pub(crate) use fplinq::scheduled;
pub use greedy::greedy;
pub(crate) use piecewise::Piecewise;
pub use required_bandwidth::{BandwidthPoint, RequiredBandwidth, TooWeak};
pub use sparse_wmmse::SparseWmmse;
pub use wmmse::{PowerSolution, PowerStatus, Wmmse, WmmseSettings};
