//! Rate constraint of the two problems with closed forms, (P5) and (P6).

use std::f64::consts::LN_2;

use crate::config::System;
use crate::invalid::Invalid;

/// Rate that every user must get over a link with Gaussian noise (paper, eqs. (P5a) and (P6a)):
///
/// ```text
/// B·log2(1 + u/(N_0 B)) ≥ s_0,      u = g P
/// ```
///
/// | symbol | here | unit |
/// | --- | --- | --- |
/// | `s_0` | [`rate_bps`](Self::rate_bps) | bit/s |
/// | `N_0` | the system's | W/Hz |
/// | `u` | `received_w` | W |
/// | `F(B)` | [`received_w`](Self::received_w) | W |
///
/// ```
/// use anyk::Config;
/// use anyk::problems::closed_forms::RateTarget;
/// let system = Config::default().validate()?;
/// let target = RateTarget::new(&system, 1e6)?;
/// // At 1 bit/s/Hz the signal is as strong as the noise.
/// assert!((target.received_w(1e6) / (system.noise_w_hz() * 1e6) - 1.0).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateTarget {
    rate_bps: f64,
    noise_w_hz: f64,
}

/// Maximum spectral efficiency, bit/s/Hz: at `2^500`, powers of the weakest user of the largest cell are still
/// far from the limits of `f64`.
const MOST_EFFICIENCY: f64 = 500.0;

impl RateTarget {
    /// Builds the target of a rate `s_0`, bit/s, with the noise of a system.
    pub fn new(system: &System, rate_bps: f64) -> Result<Self, Invalid> {
        if !(1.0..=1e12).contains(&rate_bps) {
            let expected = "a number of bit/s from 1 to 1e12";
            return Err(Invalid::number("rate_bps", rate_bps, expected));
        }
        Ok(Self { rate_bps, noise_w_hz: system.noise_w_hz() })
    }

    /// Checks a bandwidth, Hz, that is an input rather than a result.
    pub(crate) fn check_bandwidth(&self, bandwidth_hz: f64) -> Result<(), Invalid> {
        let least = (self.rate_bps / MOST_EFFICIENCY).max(1.0);
        if (least..=1e12).contains(&bandwidth_hz) {
            return Ok(());
        }
        let expected = format!(
            "a number of Hz from {least} to 1e12 (at most {MOST_EFFICIENCY} bit/s/Hz at a rate of {} \
             bit/s)",
            self.rate_bps
        );
        Err(Invalid::number("bandwidth_hz", bandwidth_hz, expected))
    }

    /// Returns the required rate `s_0`, bit/s.
    pub fn rate_bps(&self) -> f64 {
        self.rate_bps
    }

    /// Returns the noise density `N_0`, W/Hz.
    pub fn noise_w_hz(&self) -> f64 {
        self.noise_w_hz
    }

    /// Returns the received power that meets the target over a bandwidth, W: `F(B) = N_0 B (2^(s_0/B) − 1)`, decreasing
    /// in `B`.
    pub fn received_w(&self, bandwidth_hz: f64) -> f64 {
        // Computes 2^x − 1 without cancellation for large bandwidths.
        self.noise_w_hz * bandwidth_hz * (LN_2 * self.rate_bps / bandwidth_hz).exp_m1()
    }

    /// Returns the received power below which no bandwidth meets the target, W: `F(∞) = N_0 s_0 ln 2`.
    pub fn least_received_w(&self) -> f64 {
        self.noise_w_hz * self.rate_bps * LN_2
    }

    /// Returns the rate at a received power over a bandwidth, bit/s; 0 if one of them is not positive.
    pub fn achieved_bps(&self, received_w: f64, bandwidth_hz: f64) -> f64 {
        if !(received_w > 0.0 && bandwidth_hz > 0.0) {
            return 0.0;
        }
        bandwidth_hz * (received_w / (self.noise_w_hz * bandwidth_hz)).ln_1p() / LN_2
    }
}
