//! What every problem shares, each once.

mod adam;
mod on_samples;
mod recipe;
pub(crate) mod supervised;

pub use adam::Adam;
pub use on_samples::{Cell, SampleNetwork, train_on_samples};
pub use recipe::{Recipe, Schedule, Update};
