//! Units at the interface of the library: logarithmic units for people and linear units for computation. Inside the
//! library, values are plain `f64` with the unit in the name (`power_w`, `bandwidth_hz`).

use serde::{Deserialize, Serialize};

/// Power in watts.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Watt(pub f64);

/// Power in decibels relative to one milliwatt: `10·log10(P / 1 mW)`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Dbm(pub f64);

/// Power ratio in decibels: `10·log10(ratio)`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Decibel(pub f64);

impl From<Dbm> for Watt {
    fn from(Dbm(dbm): Dbm) -> Self {
        Watt(10f64.powf((dbm - 30.0) / 10.0))
    }
}

impl From<Watt> for Dbm {
    fn from(Watt(watt): Watt) -> Self {
        Dbm(10.0 * watt.log10() + 30.0)
    }
}

impl Decibel {
    /// Returns the linear ratio, `10^(dB/10)`.
    pub fn to_ratio(self) -> f64 {
        10f64.powf(self.0 / 10.0)
    }

    /// Returns the decibels of a linear ratio.
    pub fn from_ratio(ratio: f64) -> Self {
        Decibel(10.0 * ratio.log10())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn paper_constants() {
        // P_max = 43 dBm and N_0 = −173 dBm/Hz, converted independently.
        assert_relative_eq!(Watt::from(Dbm(43.0)).0, 19.9526, max_relative = 1e-5);
        assert_relative_eq!(Watt::from(Dbm(-173.0)).0, 5.0119e-21, max_relative = 1e-5);
    }

    #[test]
    fn round_trips() {
        for value in [-170.0, -30.0, 0.0, 12.5, 43.0] {
            assert_relative_eq!(Dbm::from(Watt::from(Dbm(value))).0, value, epsilon = 1e-12);
            assert_relative_eq!(
                Decibel::from_ratio(Decibel(value).to_ratio()).0,
                value,
                epsilon = 1e-12
            );
        }
    }
}
