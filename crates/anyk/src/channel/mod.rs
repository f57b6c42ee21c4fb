//! From places on a road to channel gains: geometry, path loss and small-scale fading.

mod fading;
mod path_loss;
mod road;
mod sample;

pub use fading::{Fading, FadingQuadrature, QuadratureRule};
pub use path_loss::PathLoss;
pub use road::Road;
pub use sample::{realization_rng, sample_distances_m, sample_faded_gains};
