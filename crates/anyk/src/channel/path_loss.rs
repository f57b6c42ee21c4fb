//! How the mean received power falls with distance.

use crate::units::Decibel;

/// Log-distance path loss (paper, section V-A: `35.3 + 37.6·log10(d)`).
///
/// ```text
/// PL(d) = intercept + slope·log10(d / 1 m)   [dB],      α = 10^(−PL/10)
/// ```
///
/// Input: a distance in metres. Output: the large-scale gain `α`, a power ratio below 1.
///
/// ```
/// use anyk::channel::PathLoss;
/// let path_loss = PathLoss { intercept_db: 35.3, slope_db: 37.6 };
/// assert!((path_loss.gain_db(100.0).0 + 110.5).abs() < 1e-12);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathLoss {
    /// Loss at one metre, dB.
    pub intercept_db: f64,
    /// Loss for each decade of distance, dB.
    pub slope_db: f64,
}

impl PathLoss {
    /// Large-scale gain in decibels, `10·log10(α)`: negative.
    pub fn gain_db(&self, distance_m: f64) -> Decibel {
        Decibel(-(self.intercept_db + self.slope_db * distance_m.log10()))
    }

    /// Large-scale gain `α` as a power ratio.
    pub fn gain(&self, distance_m: f64) -> f64 {
        self.gain_db(distance_m).to_ratio()
    }
}
