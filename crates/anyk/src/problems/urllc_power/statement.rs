//! Statement of URLLC in a fixed band, and its judge.

use crate::config::System;
use crate::framework::wrong_size;
use crate::invalid::Invalid;
use crate::problems::urllc::{Urllc, UrllcAllocation};
use crate::qos::ServiceClass;
use crate::tolerance;

/// Power and bandwidth for URLLC with a given band:
///
/// ```text
/// min  Σ_k P_k     s.t.   C^E_k(α_k P_k, B_k) ≥ S^E_k  for each user k,     Σ_k B_k ≤ B_max
/// P,B
/// ```
///
/// If there is also a power budget, `Σ_k P_k ≤ P_max` must hold as well: the cell is infeasible if the minimum power
/// exceeds the budget.
#[derive(Debug, Clone)]
pub struct UrllcPower {
    cell: Urllc,
    max_bandwidth_hz: f64,
    max_power_w: Option<f64>,
}

/// Assessment of an allocation by exact quadrature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BandAssessment {
    /// Total power `Σ P_k`, W.
    pub total_power_w: f64,
    /// Total bandwidth `Σ B_k`, Hz.
    pub total_bandwidth_hz: f64,
    /// Bandwidth above the band, `(Σ B_k − B_max) / B_max`: positive if exceeded.
    pub bandwidth_excess: f64,
    /// Share of users whose QoS is met.
    pub availability: f64,
    /// Largest relative violation of the KKT conditions. The whole band must be used unless more bandwidth would not
    /// help. Each QoS must hold with equality, and one more Hz must save every user the same power.
    pub kkt_residual: f64,
}

impl BandAssessment {
    /// Returns whether every QoS is met within the band.
    pub fn is_feasible(&self) -> bool {
        self.bandwidth_excess <= tolerance::BUDGET && self.availability >= 1.0
    }
}

/// Accepted bandwidths, Hz.
const BANDWIDTHS_HZ: (f64, f64) = (1.0, 1e15);

impl UrllcPower {
    /// Builds the problem for users given by gain and service class, in a band of `max_bandwidth_hz`.
    pub fn new(
        system: &System,
        users: impl IntoIterator<Item = (f64, ServiceClass)>,
        max_bandwidth_hz: f64,
    ) -> Result<Self, Invalid> {
        Self::check_band(max_bandwidth_hz)?;
        Ok(Self { cell: Urllc::new(system, users)?, max_bandwidth_hz, max_power_w: None })
    }

    /// Checks the width of a band.
    pub(super) fn check_band(max_bandwidth_hz: f64) -> Result<f64, Invalid> {
        let (low, high) = BANDWIDTHS_HZ;
        if (low..=high).contains(&max_bandwidth_hz) {
            return Ok(max_bandwidth_hz);
        }
        let expected = "a number of Hz from 1 to 1e15";
        Err(Invalid::number("max_bandwidth_hz", max_bandwidth_hz, expected))
    }

    /// Builds the problem for users who all have the system's own service class.
    pub fn uniform(
        system: &System,
        gains: impl IntoIterator<Item = f64>,
        max_bandwidth_hz: f64,
    ) -> Result<Self, Invalid> {
        let service = system.service();
        Self::new(system, gains.into_iter().map(|gain| (gain, service)), max_bandwidth_hz)
    }

    /// Returns the problem with a power budget, W.
    pub fn with_max_power_w(mut self, max_power_w: f64) -> Result<Self, Invalid> {
        if !(max_power_w > 0.0 && max_power_w.is_finite()) {
            return Err(Invalid::number("max_power_w", max_power_w, "a positive number"));
        }
        self.max_power_w = Some(max_power_w);
        Ok(self)
    }

    /// Returns the problem with only some of the users, given by index.
    pub fn subset(&self, indices: &[usize]) -> Self {
        Self { cell: self.cell.subset(indices), ..*self }
    }

    /// Returns the users of the cell with their service classes.
    pub fn cell(&self) -> &Urllc {
        &self.cell
    }

    /// Returns the bandwidth budget `B_max`, Hz.
    pub fn max_bandwidth_hz(&self) -> f64 {
        self.max_bandwidth_hz
    }

    /// Returns the power budget, W, if there is one.
    pub fn max_power_w(&self) -> Option<f64> {
        self.max_power_w
    }
}

impl UrllcPower {
    /// Returns the number of users, `K ≥ 1`.
    pub fn size(&self) -> usize {
        self.cell.users().len()
    }

    /// Judges an allocation by exact quadrature.
    pub fn assess(&self, allocation: &UrllcAllocation) -> Result<BandAssessment, Invalid> {
        let expected = self.size();
        for given in [allocation.power_w.len(), allocation.bandwidth_hz.len()] {
            if given != expected {
                return Err(wrong_size(given, expected));
            }
        }
        let total_bandwidth_hz = allocation.total_bandwidth_hz();
        let bandwidth_excess = total_bandwidth_hz / self.max_bandwidth_hz - 1.0;
        let (mut met, mut loosest) = (0usize, 0.0f64);
        // Power saved by a small additional bandwidth, −dP/dB along the QoS.
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        let rows = allocation.power_w.iter().zip(&allocation.bandwidth_hz);
        for (user, (&power_w, &bandwidth_hz)) in self.cell.users().iter().zip(rows) {
            if !(power_w > 0.0 && bandwidth_hz > 0.0) {
                (loosest, least) = (f64::INFINITY, f64::NEG_INFINITY);
                continue;
            }
            let qos = &self.cell.classes()[user.class];
            let margin = qos.margin((user.gain * power_w).ln(), bandwidth_hz.ln());
            met += usize::from(margin.value >= 0.0);
            loosest = loosest.max(margin.value.abs() / (qos.theta() * qos.effective_bandwidth()));
            let saved = power_w / bandwidth_hz * margin.by_bandwidth / margin.by_received;
            (least, most) = (least.min(saved), most.max(saved));
        }
        // If bandwidth is left over, more must be worth nothing; the unit is the mean power per Hz.
        let worth = most * self.max_bandwidth_hz / allocation.total_power_w();
        let spread = if least > 0.0 { most / least - 1.0 } else { f64::INFINITY };
        let (used, spare) = (bandwidth_excess.abs().max(spread), worth.abs());
        Ok(BandAssessment {
            total_power_w: allocation.total_power_w(),
            total_bandwidth_hz,
            bandwidth_excess,
            availability: met as f64 / expected as f64,
            kkt_residual: loosest.max(used.min(spare)),
        })
    }
}
