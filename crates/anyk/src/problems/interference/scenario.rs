//! Where the gains of an interference network come from.

use serde::{Deserialize, Serialize};

use crate::channel::{D2dField, rayleigh_gains};
use crate::invalid::Invalid;
use crate::limits::MOST_LINKS;
use crate::problems::interference::Interference;

/// Random interference networks of any size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scenario {
    /// Rayleigh fading without geometry: every gain exponential with mean 1, `P_max = σ_0 = 1`.
    Dense,
    /// The same with a noise of 0.1: another published set-up, ten times as much ruled by interference.
    DensePublished,
    /// Pairs on a field of constant density.
    D2d(D2dField),
}

/// Distance beyond which a path on a field is not counted by itself, m.
const CUT_OFF_M: f64 = 300.0;

impl Scenario {
    /// Whether every link hears every other.
    pub fn is_dense(&self) -> bool {
        !matches!(self, Self::D2d(_))
    }

    /// The name, as in flags and files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::DensePublished => "dense-published",
            Self::D2d(field) if *field == D2dField::PUBLISHED => "d2d-published",
            Self::D2d(_) => "d2d",
        }
    }

    /// One realization, the same for the same three numbers.
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

    /// Gain, in units of the noise at full power, under which a path is not counted by itself
    /// ([`SparseInterference`](crate::problems::interference::SparseInterference)); 0 where all matter.
    pub fn threshold(&self) -> f64 {
        match self {
            Self::Dense | Self::DensePublished => 0.0,
            Self::D2d(field) => {
                field.interference_gain(CUT_OFF_M) * field.power_w() / field.noise_w()
            }
        }
    }
}
