//! Problem (P5): the least total power that gives every user its rate over a given bandwidth.

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
/// The users do not meet anywhere in it, so the policy is the same function of `g_k` at every K: the
/// paper's example of a size-invariant policy. It has no power budget.
#[derive(Debug, Clone, PartialEq)]
pub struct QosPower {
    target: RateTarget,
    bandwidth_hz: f64,
    gains: Vec<f64>,
}

/// What the judge finds about an answer to [`QosPower`] or [`EqualBandwidth`](super::EqualBandwidth).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateAssessment {
    /// `Σ P_k`, W.
    pub total_power_w: f64,
    /// `K·B`, Hz.
    pub total_bandwidth_hz: f64,
    /// `(Σ P_k − P_max) / P_max`: over the budget when positive; 0 where there is none.
    pub power_excess: f64,
    /// Smallest rate of all users over `s_0`, less 1: short of it when negative.
    pub worst_margin: f64,
    /// Share of users whose rate is met, but for rounding.
    pub availability: f64,
    /// Largest violation of the KKT conditions, relative.
    pub kkt_residual: f64,
}

impl RateAssessment {
    /// Every rate met, within the budget.
    pub fn is_feasible(&self) -> bool {
        self.power_excess <= tolerance::BUDGET && self.availability >= 1.0
    }

    /// From the rates of all users over `s_0`. In both problems each rate has a positive multiplier:
    /// its constraint must hold with equality.
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
    /// The problem of users with these gains, each over a bandwidth `B`, Hz, at a rate `s_0`, bit/s.
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

    /// The rate constraint.
    pub fn target(&self) -> &RateTarget {
        &self.target
    }

    /// `B`, Hz.
    pub fn bandwidth_hz(&self) -> f64 {
        self.bandwidth_hz
    }

    /// Gains `g_k`.
    pub fn gains(&self) -> &[f64] {
        &self.gains
    }

    /// The same cell with some of the users, given by position.
    pub(crate) fn subset(&self, indices: &[usize]) -> Self {
        let gains = indices.iter().filter_map(|&index| self.gains.get(index).copied()).collect();
        Self { gains, ..*self }
    }

    /// Rate of each user, bit/s.
    pub fn rates_bps(&self, power_w: &[f64]) -> Result<Vec<f64>, Invalid> {
        rates_bps(&self.target, &self.gains, power_w, self.bandwidth_hz)
    }

    /// Judges any powers.
    ///
    /// KKT: with a multiplier `λ_k` on each rate, `1 = λ_k ∂R_k/∂P_k` always has a positive solution,
    /// so an answer is optimal where every rate is `s_0`. The residual is the largest
    /// `|R_k/s_0 − 1|`.
    pub fn assess(&self, power_w: &[f64]) -> Result<RateAssessment, Invalid> {
        let rates = self.rates_bps(power_w)?;
        let ratios = rates.iter().map(|rate| rate / self.target.rate_bps());
        let total_bandwidth_hz = self.bandwidth_hz * rates.len() as f64;
        Ok(RateAssessment::new(ratios, power_w.iter().sum(), total_bandwidth_hz, 0.0))
    }
}

/// Rates of users over one bandwidth each, bit/s.
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
