//! How the mean received power falls with distance.

use std::f64::consts::PI;

use crate::channel::{PathLossModel, Sight, Tr38901};
use crate::invalid::Invalid;
use crate::units::Decibel;

/// Path loss, in dB, and the large-scale gain `α = 10^(−PL/10)` that it leaves, a power ratio below 1.
///
/// ```text
/// log-distance   PL(d) = intercept + slope·log10(d / 1 m)          (paper, section V-A: 35.3 + 37.6·log10(d))
/// free space     PL(d) = 20·log10(4π d f_c/c)
/// TR 38.901      table 7.4.1-1, see Tr38901
/// ```
///
/// Distances are in metres; those of TR 38.901 are horizontal, and it adds the heights itself.
///
/// ```
/// use anyk::channel::PathLoss;
/// let path_loss = PathLoss::LogDistance { intercept_db: 35.3, slope_db: 37.6 };
/// assert!((path_loss.gain_db(100.0).0 + 110.5).abs() < 1e-12);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PathLoss {
    /// A straight line over the logarithm of the distance.
    LogDistance {
        /// Loss at one metre, dB.
        intercept_db: f64,
        /// Loss for each decade of distance, dB.
        slope_db: f64,
    },
    /// Nothing in the way and nothing around.
    FreeSpace {
        /// Carrier frequency, GHz.
        carrier_ghz: f64,
    },
    /// A scenario of 3GPP TR 38.901.
    Tr38901 {
        /// The scenario and its place.
        site: Tr38901,
        /// Whether users see the base station; `None` where it is drawn for each user.
        sight: Option<Sight>,
    },
}

const LIGHT_M_S: f64 = 299_792_458.0;

impl PathLoss {
    /// Large-scale gain in decibels, `10·log10(α)`: negative. Without a given line of sight, the mean loss in dB by
    /// the probability of it.
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

    /// Large-scale gain `α` as a power ratio.
    pub fn gain(&self, distance_m: f64) -> f64 {
        self.gain_db(distance_m).to_ratio()
    }

    /// The gain of a user that is known by its distance: refused where the path loss is not given for it, or where it
    /// is no function of the distance.
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

    /// What a user's distance must be, in words.
    pub fn distance_expected(&self) -> String {
        let name = self.model().name();
        if self.is_random() {
            return format!(
                "gain_db instead: users at one distance differ with the path loss {name}"
            );
        }
        format!("a number of metres {}", self.range_in_words())
    }

    /// Distances for which it is given, in words.
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

    /// Distances for which it is given, m.
    pub fn distances_m(&self) -> (f64, f64) {
        match self {
            Self::LogDistance { .. } | Self::FreeSpace { .. } => (1.0, 1e5),
            Self::Tr38901 { site, sight } => site.distances_m(sight.unwrap_or(Sight::Nlos)),
        }
    }

    /// Whether users at one distance may have different losses, before any shadowing.
    pub fn is_random(&self) -> bool {
        matches!(self, Self::Tr38901 { site, sight } if sight.is_none() || site.draws_environment())
    }

    /// Its name.
    pub fn model(&self) -> PathLossModel {
        match self {
            Self::LogDistance { .. } => PathLossModel::LogDistance,
            Self::FreeSpace { .. } => PathLossModel::FreeSpace,
            Self::Tr38901 { site, sight } => PathLossModel::Tr38901(site.scenario, *sight),
        }
    }
}
