//! Path loss: the decrease of the mean received power with distance.

use std::f64::consts::PI;

use crate::channel::{PathLossModel, Sight, Tr38901};
use crate::invalid::Invalid;
use crate::units::Decibel;

/// Path loss in dB, and the resulting large-scale gain `α = 10^(−PL/10)`, a power ratio below 1.
///
/// ```text
/// log-distance   PL(d) = intercept + slope·log10(d / 1 m)          (paper, section V-A: 35.3 + 37.6·log10(d))
/// free space     PL(d) = 20·log10(4π d f_c/c)
/// TR 38.901      table 7.4.1-1, see Tr38901
/// ```
///
/// Distances are in metres. Those of TR 38.901 are horizontal; the model takes the antenna heights into account.
///
/// ```
/// use anyk::channel::PathLoss;
/// let path_loss = PathLoss::LogDistance { intercept_db: 35.3, slope_db: 37.6 };
/// assert!((path_loss.gain_db(100.0).0 + 110.5).abs() < 1e-12);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PathLoss {
    /// Linear function of the logarithm of the distance.
    LogDistance {
        /// Loss at one metre, in dB.
        intercept_db: f64,
        /// Loss per decade of distance, in dB.
        slope_db: f64,
    },
    /// Free space without obstacles and reflections.
    FreeSpace {
        /// Carrier frequency, in GHz.
        carrier_ghz: f64,
    },
    /// Scenario of 3GPP TR 38.901.
    Tr38901 {
        /// Scenario with its heights and dimensions.
        site: Tr38901,
        /// Line of sight of the users, or `None` if it is drawn for each user.
        sight: Option<Sight>,
    },
}

const LIGHT_M_S: f64 = 299_792_458.0;

impl PathLoss {
    /// Returns the large-scale gain in decibels, `10·log10(α)`, which is negative. If the line of sight is random,
    /// the loss in dB is averaged over it.
    pub fn gain_db(&self, distance_m: f64) -> Decibel {
        match self {
            Self::LogDistance { intercept_db, slope_db } => {
                Decibel(-(intercept_db + slope_db * distance_m.log10()))
            }
            Self::FreeSpace { carrier_ghz } => {
                Decibel(-20.0 * (4.0 * PI * distance_m * carrier_ghz * 1e9 / LIGHT_M_S).log10())
            }
            Self::Tr38901 { site, sight: Some(sight) } => {
                Decibel(-site.loss_db(*sight, distance_m))
            }
            Self::Tr38901 { site, sight: None } => {
                let [los_db, nlos_db] =
                    [Sight::Los, Sight::Nlos].map(|sight| site.loss_db(sight, distance_m));
                Decibel(-(nlos_db + site.los_probability(distance_m) * (los_db - nlos_db)))
            }
        }
    }

    /// Returns the large-scale gain `α` as a power ratio.
    pub fn gain(&self, distance_m: f64) -> f64 {
        self.gain_db(distance_m).to_ratio()
    }

    /// Returns the gain of a user at a distance. Returns an error if the path loss is not defined for this distance,
    /// or does not depend only on the distance.
    ///
    /// ```
    /// use anyk::channel::{PathLoss, Scenario, Sight, Tr38901};
    /// let site = Tr38901::standard(Scenario::Umi, 28.0);
    /// let path_loss = PathLoss::Tr38901 { site, sight: Some(Sight::Los) };
    /// assert_eq!(
    ///     path_loss.checked_gain(5.0).unwrap_err().to_string(),
    ///     "distance_m is 5, expected a number of metres from 10 to 5000 along the ground, the range of umi-los"
    /// );
    /// ```
    pub fn checked_gain(&self, distance_m: f64) -> Result<f64, Invalid> {
        let (low, high) = self.distances_m();
        if self.is_random() || !(low..=high).contains(&distance_m) {
            return Err(Invalid::number("distance_m", distance_m, self.distance_expected()));
        }
        Ok(self.gain(distance_m))
    }

    /// Returns a description of the accepted distances, for errors.
    pub fn distance_expected(&self) -> String {
        let name = self.model().name();
        if self.is_random() {
            return format!(
                "gain_db instead: with the path loss {name}, users at the same distance have different gains"
            );
        }
        format!("a number of metres {}", self.range_in_words())
    }

    /// Returns a description of the distances for which the path loss is defined.
    pub fn range_in_words(&self) -> String {
        let name = self.model().name();
        let (low, high) = self.distances_m();
        match self {
            Self::LogDistance { .. } | Self::FreeSpace { .. } => format!("from {low} to {high}"),
            Self::Tr38901 { site, .. } if site.scenario.is_factory() => {
                format!("along the ground, from 1 to 600 between the antennas, the range of {name}")
            }
            Self::Tr38901 { .. } => {
                format!("from {low} to {high} along the ground, the range of {name}")
            }
        }
    }

    /// Returns the distances for which the path loss is defined, in m.
    pub fn distances_m(&self) -> (f64, f64) {
        match self {
            Self::LogDistance { .. } | Self::FreeSpace { .. } => (1.0, 1e5),
            Self::Tr38901 { site, sight } => site.distances_m(sight.unwrap_or(Sight::Nlos)),
        }
    }

    /// Returns whether users at the same distance can have different losses, even without shadowing.
    pub fn is_random(&self) -> bool {
        matches!(self, Self::Tr38901 { site, sight } if sight.is_none() || site.draws_environment())
    }

    /// Returns the model of this path loss.
    pub fn model(&self) -> PathLossModel {
        match self {
            Self::LogDistance { .. } => PathLossModel::LogDistance,
            Self::FreeSpace { .. } => PathLossModel::FreeSpace,
            Self::Tr38901 { site, sight } => PathLossModel::Tr38901(site.scenario, *sight),
        }
    }
}
