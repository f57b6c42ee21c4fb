//! Interference networks: powers or a schedule that maximize the sum rate of links that share a band (paper, section
//! III-B).

pub(crate) mod admission;
mod binary_gap;
mod binary_optimum;
mod evaluation;
mod features;
mod formulation;
mod fplinq;
mod greedy;
mod link_solver;
mod links_input;
mod models;
mod policy;
mod problem;
mod read;
mod scenario;
mod sparse;
pub(crate) mod sparse_kernel;
mod sparse_wmmse;
mod statement;
mod train;
mod training;
mod weight_law;
mod wmmse;
mod wmmse_kernel;

pub use binary_gap::{BinaryGap, binary_gap};
pub use binary_optimum::{MOST_LINKS, binary_optimum};
pub use evaluation::{
    PASSES, PowerPolicyResult, PowerSizeResult, finish_power, power_over_sizes, train_power,
};
pub use features::{Features, Standard};
pub use fplinq::fplinq;
pub(crate) use fplinq::scheduled;
pub use greedy::greedy;
pub use link_solver::{LinkMethod, LinkSolver};
pub use policy::{PowerAllocator, PowerModelRecord, PowerOutput, PowerPolicy};
pub use problem::{INTERFERENCE, LINK_SCHEDULING, LinkProblem};
pub use read::{
    LinkField, LinkValues, NetworkRecord, gains_to_npy, read_link_values, read_networks,
};
pub use scenario::Scenario;
pub use sparse::SparseInterference;
pub use sparse_wmmse::SparseWmmse;
pub(crate) use statement::is_binary;
pub use statement::{Interference, PowerAssessment};
pub use training::{PowerLoss, PowerObjective, PowerTrainSettings};
pub use weight_law::{RandomLinks, WeightLaw};
pub use wmmse::{PowerSolution, Wmmse, WmmseSettings};
