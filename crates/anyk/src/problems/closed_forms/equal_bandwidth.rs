//! Problem (P6): the minimum bandwidth, equal for all users, that gives each user its rate within one power
//! budget.

use crate::config::System;
use crate::framework::checked_gains;
use crate::invalid::Invalid;
use crate::problems::closed_forms::qos_power::rates_bps;
use crate::problems::closed_forms::{RateAssessment, RateTarget};

/// Power allocation and bandwidth optimization (paper, eq. (P6)):
///
/// ```text
/// min  K·B     s.t.   B·log2(1 + P_k g_k/(N_0 B)) ≥ s_0  for each user k,     Σ_k P_k ≤ P_max
/// P,B
/// ```
///
/// Powers fall and the bandwidth grows with K: the paper's example of a policy that is not size-invariant.
#[derive(Debug, Clone, PartialEq)]
pub struct EqualBandwidth {
    target: RateTarget,
    max_power_w: f64,
    gains: Vec<f64>,
}

/// Powers, in the order of the users, and the common bandwidth.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CommonAllocation {
    /// Powers `P_k`, W.
    pub power_w: Vec<f64>,
    /// Bandwidth `B` of each user, Hz.
    pub bandwidth_hz: f64,
}

impl EqualBandwidth {
    /// Builds the problem for users with the given gains and a rate `s_0`, bit/s, and with the system's power budget.
    pub fn new(
        system: &System,
        rate_bps: f64,
        gains: impl IntoIterator<Item = f64>,
    ) -> Result<Self, Invalid> {
        let target = RateTarget::new(system, rate_bps)?;
        Ok(Self { target, max_power_w: system.max_power_w(), gains: checked_gains(gains)? })
    }

    /// Returns the rate constraint of every user.
    pub fn target(&self) -> &RateTarget {
        &self.target
    }

    /// Returns the power budget `P_max`, W.
    pub fn max_power_w(&self) -> f64 {
        self.max_power_w
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
    pub fn rates_bps(&self, allocation: &CommonAllocation) -> Result<Vec<f64>, Invalid> {
        rates_bps(&self.target, &self.gains, &allocation.power_w, allocation.bandwidth_hz)
    }

    /// Judges an allocation.
    ///
    /// KKT: with multipliers `λ_k` on the rates and `μ` on the budget, `μ = λ_k ∂R_k/∂P_k` and `K = Σ λ_k
    /// ∂R_k/∂B`. Rates increase in both variables, so positive multipliers always exist. An allocation is
    /// therefore optimal if every rate is `s_0` and the whole budget is used. The residual is the largest of
    /// `|R_k/s_0 − 1|` and `|Σ P_k/P_max − 1|`.
    pub fn assess(&self, allocation: &CommonAllocation) -> Result<RateAssessment, Invalid> {
        let rates = self.rates_bps(allocation)?;
        let ratios = rates.iter().map(|rate| rate / self.target.rate_bps());
        let total_power_w: f64 = allocation.power_w.iter().sum();
        let total_bandwidth_hz = allocation.bandwidth_hz * rates.len() as f64;
        let excess = total_power_w / self.max_power_w - 1.0;
        Ok(RateAssessment::new(ratios, total_power_w, total_bandwidth_hz, excess))
    }
}
