//! Sweeps: training and evaluation of policies over sizes, options and seeds.
//!
//! A [`Sweep`] is read from a specification in TOML. It consists of slices: units of work that any process can compute
//! in any order. A slice is a training run with its evaluation, or a block of instances for a policy that needs no
//! training. All randomness depends only on seeds, sizes and indices, and blocks merge exactly, so the table does not
//! depend on who computed which slice.

mod settings;
mod slices;
mod spec;
mod table;

pub use slices::SliceResult;
pub use spec::Sweep;
