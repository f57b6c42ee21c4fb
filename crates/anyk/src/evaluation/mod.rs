//! Measurements over many realizations.

mod learned;
mod optimum;
mod run;
mod statistics;

pub use learned::{SizeResult, TestSet};
pub use optimum::{OptimumRow, optimum_over_sizes};
pub use run::{RunError, finish, law_for};
pub use statistics::Mean;
