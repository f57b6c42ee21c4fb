//! Separable problems: one budget, and for each user a cost that is decreasing and convex in the user's amount.
//!
//! ```text
//! min  Σ_k w_k c_k(α_k x_k)     s.t.   Σ_k x_k ≤ X,   x ≥ 0
//!  x
//! ```
//!
//! The cost is a function or samples of one ([`Cost`]). Costs may differ between users: each user has a class,
//! and each class has a cost.

mod built_in;
mod cost;
mod enclosure;
mod evaluation;
mod formulation;
mod models;
mod own;
mod price_policy;
mod price_response;
mod problem;
mod samples;
mod solver;
mod statement;
mod tabulation;

pub use built_in::BuiltInCost;
pub use cost::{Cost, CostError};
pub use evaluation::{SeparableResult, evaluate_separable};
pub use own::{OWN_SEPARABLE, OwnSeparable, separable_instance};
pub use price_policy::{
    CostRecord, SeparableAllocator, SeparableCell, SeparableMetrics, SeparablePrice,
    SeparableRecord, SeparableSettings,
};
pub use problem::SEPARABLE;
pub use solver::{EqualShares, SeparableSolution, SeparableSolver};
pub use statement::{Separable, SeparableAssessment};
