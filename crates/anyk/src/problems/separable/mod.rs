//! Bring your own problem: one budget, and for each user a cost that falls and is convex in what the user gets.
//!
//! ```text
//! min  Σ_k c_k(α_k x_k)     s.t.   Σ_k x_k ≤ X,   x ≥ 0
//!  x
//! ```
//!
//! The cost is a function, or samples of one ([`Cost`]). It need not be the same for all users: each has a class,
//! and each class a cost.

mod any_gnn;
mod built_in;
mod cost;
mod enclosure;
mod evaluation;
mod formulation;
mod learned_split;
mod models;
mod own;
mod problem;
mod samples;
mod solver;
mod statement;
mod tabulation;
mod training;

pub use any_gnn::{
    AnySeparableAllocator, AnySeparablePolicy, AnySeparableRecord, CostRecord, SeparableCell,
    SeparableMetrics,
};
pub use built_in::BuiltInCost;
pub use cost::{Cost, CostError};
pub use evaluation::{SeparableResult, evaluate_separable, shortfall};
pub use learned_split::ResponseUnits;
pub use own::{OWN_SEPARABLE, OwnSeparable, separable_instance};
pub use problem::SEPARABLE;
pub use solver::{EqualShares, SeparableSolution, SeparableSolver};
pub use statement::{Separable, SeparableAssessment};
pub use training::{AnySeparableSettings, train_any_separable};
