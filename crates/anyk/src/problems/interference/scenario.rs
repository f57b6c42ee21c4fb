//! Random generators of interference networks.

use serde::{Deserialize, Serialize};

use crate::channel::{D2dField, rayleigh_gains};
use crate::invalid::Invalid;
use crate::limits::MOST_LINKS;
use crate::problems::interference::Interference;

/// Random interference networks with any number of links.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scenario {
    /// Rayleigh fading without geometry: every gain exponential with mean 1, `P_max = σ_0 = 1`.
    Dense,
    /// Rayleigh fading as in `Dense` with noise 0.1, as in other publications: interference is ten times stronger
    /// relative to noise.
    DensePublished,
    /// Pairs on a field of constant density.
    D2d(D2dField),
}

/// Distance beyond which paths on a field are summed up instead of counted individually, m.
const CUT_OFF_M: f64 = 300.0;

impl Scenario {
    /// Returns whether every link hears every other.
    pub fn is_dense(&self) -> bool {
        !matches!(self, Self::D2d(_))
    }

    /// Returns the name of the scenario in flags and files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::DensePublished => "dense-published",
            Self::D2d(field) if *field == D2dField::PUBLISHED => "d2d-published",
            Self::D2d(_) => "d2d",
        }
    }

    /// Draws one realization, which depends only on the three arguments.
    pub fn draw(&self, seed: u64, size: usize, index: u64) -> Result<Interference, Invalid> {
        if size > MOST_LINKS {
            let expected = format!("at most {MOST_LINKS} links");
            return Err(Invalid::value("K", size, expected));
        }
        match self {
            Self::Dense => Interference::new(rayleigh_gains(seed, size, index), 1.0, 1.0),
            Self::DensePublished => Interference::new(rayleigh_gains(seed, size, index), 1.0, 0.1),
            Self::D2d(field) => {
                let gains = field.gains(&field.layout(seed, size, index));
                Interference::new(gains, field.power_w(), field.noise_w())
            }
        }
    }

    /// Returns the gain, in units of the noise at full power, below which paths are summed up instead of counted
    /// individually ([`SparseInterference`](crate::problems::interference::SparseInterference)); 0 if every path
    /// counts.
    pub fn threshold(&self) -> f64 {
        match self {
            Self::Dense | Self::DensePublished => 0.0,
            Self::D2d(field) => {
                field.interference_gain(CUT_OFF_M) * field.power_w() / field.noise_w()
            }
        }
    }
}
