//! URLLC in a band that is fixed: the least total power that meets every user's QoS within one bandwidth budget.
//!
//! It is the mirror of [`urllc`](crate::problems::urllc): with `b_k` the bandwidth that a received power needs,
//! both problems have the same answer to a price, `−α_k b_k'(α_k P_k) = ν`. There the price is that at which the
//! powers add up to the budget, here the one at which the bandwidths do.

mod admission;
mod evaluation;
mod formulation;
mod models;
mod price_of_band;
mod price_policy;
mod problem;
mod solver;
mod statement;

pub use evaluation::{BandResult, evaluate_band};
pub use price_policy::{BandPriceAllocator, BandPricePolicy};
pub use problem::{BandProblem, URLLC_POWER};
pub use solver::{BandSolution, BandSolver, EqualBand};
pub use statement::{BandAssessment, UrllcPower};
