//! Service class of a user, and the QoS exponent that follows from it.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use statrs::function::erf::erfc_inv;

use crate::invalid::Invalid;

/// Service class of a user: packet loss, packet size and arrival rate (paper, section V-A).
///
/// | symbol | field | unit | paper |
/// | --- | --- | --- | --- |
/// | `ε_max` | [`epsilon`](Self::epsilon) | probability | 1e-5 |
/// | `μ` | [`packet_bits`](Self::packet_bits) | bit | 160 |
/// | `a` | [`arrival_rate`](Self::arrival_rate) | packets / frame | 0.2 |
///
/// Decoding errors and delay violations each get half of the loss: `ε_c = ε_q = ε_max / 2`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceClass {
    /// Maximum overall packet loss probability, `ε_max`.
    pub epsilon: f64,
    /// Packet size `μ`, bit.
    pub packet_bits: f64,
    /// Mean of the Poisson arrivals `a`, packets per frame.
    pub arrival_rate: f64,
}

impl Default for ServiceClass {
    fn default() -> Self {
        Self { epsilon: 1e-5, packet_bits: 160.0, arrival_rate: 0.2 }
    }
}

impl ServiceClass {
    /// Accepted range of [`epsilon`](Self::epsilon), for error messages.
    pub const EPSILON_EXPECTED: &'static str = "a probability from 1e-15 to 0.1";
    /// Accepted range of [`packet_bits`](Self::packet_bits), for error messages.
    pub const PACKET_BITS_EXPECTED: &'static str = "a number of bits from 1 to 1000000";
    /// Accepted range of [`arrival_rate`](Self::arrival_rate), for error messages.
    pub const ARRIVAL_RATE_EXPECTED: &'static str =
        "a number of packets per frame from 1e-4 to 100";

    /// Checks the ranges; NaN is outside of all of them.
    pub fn validate(&self) -> Result<(), Invalid> {
        let checks = [
            ("epsilon", self.epsilon, 1e-15..=0.1, Self::EPSILON_EXPECTED),
            ("packet_bits", self.packet_bits, 1.0..=1e6, Self::PACKET_BITS_EXPECTED),
            ("arrival_rate", self.arrival_rate, 1e-4..=100.0, Self::ARRIVAL_RATE_EXPECTED),
        ];
        for (field, value, range, expected) in checks {
            if !range.contains(&value) {
                return Err(Invalid::number(field, value, expected));
            }
        }
        Ok(())
    }

    /// Computes the QoS exponent `θ(ε) = ln[1 − ln(ε/2) / (a·D/T_f)]`, 1/packet (paper, section V-A), where `D/T_f`
    /// is the bound on the queueing delay in frames.
    pub fn qos_exponent(&self, delay_frames: f64) -> f64 {
        (-(self.epsilon / 2.0).ln() / (self.arrival_rate * delay_frames)).ln_1p()
    }

    /// Computes the effective bandwidth of the Poisson arrivals, `S^E(θ) = a/θ·(e^θ − 1)`, packets/frame (paper,
    /// section V-A).
    pub fn effective_bandwidth(&self, theta: f64) -> f64 {
        self.arrival_rate / theta * theta.exp_m1()
    }

    /// Computes `Q_G⁻¹(ε_c)` with `ε_c = ε/2`: the back-off of the finite-blocklength rate, in standard deviations.
    pub fn decoding_quantile(&self) -> f64 {
        // Q⁻¹(p) = √2·erfc⁻¹(2p), and 2·ε/2 = ε.
        std::f64::consts::SQRT_2 * erfc_inv(self.epsilon)
    }

    /// Estimates how far `E_g[e^(−θ s)]` falls below 1 at the bandwidths that serve this class, nats: `θS^E` plus the
    /// finite-blocklength back-off `κq√z` for `κz` equal to four times the diversity `N_t`.
    pub(crate) fn expectation_depth(&self, delay_frames: f64, antennas: u32) -> f64 {
        let theta = self.qos_exponent(delay_frames);
        let kappa = theta / (self.packet_bits * std::f64::consts::LN_2);
        let back_off = 2.0 * self.decoding_quantile() * (f64::from(antennas) * kappa).sqrt();
        theta * self.effective_bandwidth(theta) + back_off
    }

    fn bits(&self) -> [u64; 3] {
        [self.epsilon, self.packet_bits, self.arrival_rate].map(f64::to_bits)
    }
}

/// Lets a class be a key of a table: a validated class contains neither NaN nor −0.
impl Eq for ServiceClass {}

impl Hash for ServiceClass {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    /// Compares θ, S^E and Q⁻¹(ε/2) with an independent computation (shared reference, f64).
    #[test]
    fn golden_exponents() {
        for (epsilon, theta, effective_bandwidth, quantile) in [
            (1e-5, 2.155_104_912_9, 0.707_974_387_5, 4.417_173_413_5),
            (8e-6, 2.171_138_397_1, 0.715_593_269_7, 4.465_183_915_6),
            (6e-6, 2.191_436_907_5, 0.725_374_423_6, 4.526_389_321_4),
            (5e-6, 2.204_091_213_6, 0.731_549_796_3, 4.564_787_730_3),
        ] {
            let class = ServiceClass { epsilon, ..ServiceClass::default() };
            let measured = class.qos_exponent(8.0);
            assert_relative_eq!(measured, theta, max_relative = 1e-10);
            assert_relative_eq!(
                class.effective_bandwidth(measured),
                effective_bandwidth,
                max_relative = 1e-10
            );
            assert_relative_eq!(class.decoding_quantile(), quantile, max_relative = 1e-10);
        }
    }

    #[test]
    fn ranges() {
        assert_eq!(ServiceClass::default().validate(), Ok(()));
        for epsilon in [f64::NAN, 0.0, -1e-5, 0.2, f64::INFINITY] {
            let class = ServiceClass { epsilon, ..ServiceClass::default() };
            let error = class.validate().unwrap_err();
            assert_eq!(error.field, "epsilon");
        }
    }
}
