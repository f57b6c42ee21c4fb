//! URLLC with a fixed band: the minimum total power that meets every user's QoS within one bandwidth budget.
//!
//! This is the mirror image of [`urllc`](crate::problems::urllc). With `b_k` the bandwidth that a received power
//! needs, users respond to a price in the same way in both problems, `−α_k b_k'(α_k P_k) = ν`. In `urllc`, the
//! powers use up the budget at the optimal price; in this problem, the bandwidths do.

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
