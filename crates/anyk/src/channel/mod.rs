//! Channel gains: geometry, path loss and small-scale fading, for the users of one cell and for the links of an
//! interference network.

mod d2d;
mod fading;
mod fading_law;
mod fading_panels;
mod fading_samples;
mod gain_matrix;
mod line_of_sight;
mod path_loss;
mod path_loss_model;
mod rayleigh;
mod road;
mod sample;
mod shadowing;
mod tr38901;

pub use d2d::{AntennaGain, D2dField, D2dLayout, ShortRange};
pub use fading::{Fading, FadingQuadrature};
pub use fading_law::FadingLaw;
pub(crate) use fading_panels::FadingPanels;
pub use fading_samples::FadingSamples;
pub use gain_matrix::GainMatrix;
pub use path_loss::PathLoss;
pub use path_loss_model::{Accepted, PathLossModel, PathLossParameter};
pub use rayleigh::rayleigh_gains;
pub use road::Road;
pub use sample::{sample_distances_m, sample_faded_gains, sample_gains_db};
pub use shadowing::Shadowing;
pub use tr38901::{Scenario, Sight, Tr38901};
