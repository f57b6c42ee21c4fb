//! Problem (P5): the minimum total power that gives every user its rate over a given bandwidth.

use crate::config::System;
use crate::framework::{checked_gains, wrong_size};
use crate::invalid::Invalid;
use crate::problems::closed_forms::RateTarget;
use crate::tolerance;

/// Power allocation with a rate for each user (paper, eq. (P5)):
///
/// ```text
/// min  Σ_k P_k     s.t.   B·log2(1 + P_k g_k/(N_0 B)) ≥ s_0  for each user k
///  P
/// ```
///
/// The users do not interact, so the policy is the same function of `g_k` at every K: the paper's example of a
/// size-invariant policy. There is a rate constraint, but not a power budget.
#[derive(Debug, Clone, PartialEq)]
pub struct QosPower {
    target: RateTarget,
    bandwidth_hz: f64,
    gains: Vec<f64>,
}

/// Assessment of an allocation for [`QosPower`] or [`EqualBandwidth`](super::EqualBandwidth).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateAssessment {
    /// Total power `Σ P_k`, W.
    pub total_power_w: f64,
    /// Total bandwidth `K·B`, Hz.
    pub total_bandwidth_hz: f64,
    /// Power above the budget, `(Σ P_k − P_max) / P_max`: positive if exceeded; 0 if the problem has no budget.
    pub power_excess: f64,
    /// Smallest ratio of a user's rate to `s_0`, minus 1; negative if a rate is missed.
    pub worst_margin: f64,
    /// Share of users whose rate is met, up to rounding.
    pub availability: f64,
    /// Largest relative violation of the KKT conditions.
    pub kkt_residual: f64,
}

impl RateAssessment {
    /// Returns whether every rate is met within the budget.
    pub fn is_feasible(&self) -> bool {
        self.power_excess <= tolerance::BUDGET && self.availability >= 1.0
    }

    /// Builds an assessment from the ratios of all rates to `s_0`. In both problems every rate constraint has a
    /// positive multiplier, so it must hold with equality.
    pub(super) fn new(
        ratios: impl Iterator<Item = f64>,
        total_power_w: f64,
        total_bandwidth_hz: f64,
        power_excess: f64,
    ) -> Self {
        let (mut size, mut met, mut worst_margin, mut loosest) =
            (0usize, 0usize, f64::INFINITY, 0.0f64);
        for ratio in ratios {
            size += 1;
            met += usize::from(ratio >= 1.0 - tolerance::BUDGET);
            worst_margin = worst_margin.min(ratio - 1.0);
            loosest = loosest.max((ratio - 1.0).abs());
        }
        Self {
            total_power_w,
            total_bandwidth_hz,
            power_excess,
            worst_margin,
            availability: met as f64 / size.max(1) as f64,
            kkt_residual: loosest.max(power_excess.abs()),
        }
    }
}

impl QosPower {
    /// Builds the problem for users with these gains, each with a bandwidth `B`, Hz, and a rate `s_0`, bit/s.
    pub fn new(
        system: &System,
        rate_bps: f64,
        bandwidth_hz: f64,
        gains: impl IntoIterator<Item = f64>,
    ) -> Result<Self, Invalid> {
        let target = RateTarget::new(system, rate_bps)?;
        target.check_bandwidth(bandwidth_hz)?;
        Ok(Self { target, bandwidth_hz, gains: checked_gains(gains)? })
    }

    /// Returns the rate constraint of every user.
    pub fn target(&self) -> &RateTarget {
        &self.target
    }

    /// Returns the bandwidth `B` of each user, Hz.
    pub fn bandwidth_hz(&self) -> f64 {
        self.bandwidth_hz
    }

    /// Returns the gains `g_k`.
    pub fn gains(&self) -> &[f64] {
        &self.gains
    }

    /// Returns the cell with only some of the users, given by index.
    pub(crate) fn subset(&self, indices: &[usize]) -> Self {
        let gains = indices.iter().filter_map(|&index| self.gains.get(index).copied()).collect();
        Self { gains, ..*self }
    }

    /// Returns the rate of each user, bit/s.
    pub fn rates_bps(&self, power_w: &[f64]) -> Result<Vec<f64>, Invalid> {
        rates_bps(&self.target, &self.gains, power_w, self.bandwidth_hz)
    }

    /// Judges given powers.
    ///
    /// KKT: with a multiplier `λ_k` on each rate, `1 = λ_k ∂R_k/∂P_k` always has a positive solution. Powers are
    /// therefore optimal if every rate is `s_0`. The residual is the largest `|R_k/s_0 − 1|`.
    pub fn assess(&self, power_w: &[f64]) -> Result<RateAssessment, Invalid> {
        let rates = self.rates_bps(power_w)?;
        let ratios = rates.iter().map(|rate| rate / self.target.rate_bps());
        let total_bandwidth_hz = self.bandwidth_hz * rates.len() as f64;
        Ok(RateAssessment::new(ratios, power_w.iter().sum(), total_bandwidth_hz, 0.0))
    }
}

/// Returns the rates of users, each with the same bandwidth, bit/s.
pub(super) fn rates_bps(
    target: &RateTarget,
    gains: &[f64],
    power_w: &[f64],
    bandwidth_hz: f64,
) -> Result<Vec<f64>, Invalid> {
    if power_w.len() != gains.len() {
        return Err(wrong_size(power_w.len(), gains.len()));
    }
    let users = gains.iter().zip(power_w);
    Ok(users.map(|(gain, power_w)| target.achieved_bps(gain * power_w, bandwidth_hz)).collect())
}
