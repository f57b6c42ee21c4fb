//! Measurements over many realizations.

mod optimum;
mod statistics;

pub use optimum::{OptimumRow, optimum_over_sizes};
pub use statistics::Mean;
