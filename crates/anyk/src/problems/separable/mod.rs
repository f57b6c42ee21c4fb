//! Bring your own problem: one budget, and for each user a cost that falls and is convex in what the user gets.
//!
//! ```text
//! min  Σ_k c_k(α_k x_k)     s.t.   Σ_k x_k ≤ X,   x ≥ 0
//!  x
//! ```
//!
//! The cost is a function, or samples of one ([`Cost`]). It need not be the same for all users: each has a class,
//! and each class a cost.

mod answer;
mod any_gnn;
mod arrays;
mod assess;
mod built_in;
mod cost;
mod enclosure;
mod evaluation;
mod learned_split;
mod room;
mod samples;
mod solver;
mod statement;
mod tabulation;
mod training;

pub use answer::{SeparableAnswer, SeparableServed, SeparableUser};
pub use any_gnn::{
    AnySeparableAllocator, AnySeparablePolicy, AnySeparableRecord, CostRecord, SeparableCell,
    SeparableMetrics,
};
pub use arrays::separable_instance;
pub use built_in::BuiltInCost;
pub use cost::{Cost, CostError};
pub use evaluation::{SeparableResult, evaluate_separable, shortfall};
pub use learned_split::ResponseUnits;
pub use room::{SEPARABLE, SeparableRoom};
pub use solver::{EqualShares, SeparableSolution, SeparableSolver, SeparableStatus};
pub use statement::{Separable, SeparableAssessment};
pub use training::{AnySeparableSettings, train_any_separable};
