//! Numerical methods that are not specific to wireless: roots, tables of functions, statistics, random streams, vector
//! code.

mod exact;
mod exponent;
pub(crate) mod lanes;
mod moments;
mod others;
mod pieces;
mod piecewise;
mod price;
mod random;
pub(crate) mod root;
mod simd;
mod statistics;

pub use exact::{ExactMoments, ExactSum};
pub use exponent::Exponent;
pub(crate) use exponent::student_95;
pub use moments::Moments;
pub use others::{Input, in_blocks, over_others};
pub(crate) use pieces::Pieces;
pub(crate) use piecewise::Piecewise;
pub use price::{Price, PriceSearch, price_between, price_of_budget};
pub use random::realization_rng;
pub(crate) use simd::vectorised;
pub use simd::{Cpu, UnknownCpu};
pub use statistics::{Mean, median, second_worst, worst_but};

/// Rounds to single precision, in which the networks are trained.
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn single(value: f64) -> f32 {
    value as f32
}
