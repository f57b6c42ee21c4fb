//! Problem (P1): the minimum total bandwidth that meets every user's QoS within one power budget.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::channel::FadingQuadrature;
use crate::config::System;
use crate::framework::{check_gain, no_users, wrong_size};
use crate::invalid::Invalid;
use crate::qos::{Qos, ServiceClass};
use crate::tolerance;

/// One user of a [`Urllc`] problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct User {
    /// Large-scale gain `α`, a power ratio in (0, 1].
    pub gain: f64,
    /// Index into [`Urllc::classes`].
    pub class: usize,
}

/// Power and bandwidth allocation for URLLC (paper, eq. (P1)):
///
/// ```text
/// min  Σ_k B_k     s.t.   C^E_k(α_k P_k, B_k) ≥ S^E_k  for each user k,     Σ_k P_k ≤ P_max
/// P,B
/// ```
///
/// Each user may have its own service class.
#[derive(Debug, Clone)]
pub struct Urllc {
    max_power_w: f64,
    antennas: u32,
    classes: Vec<Qos>,
    users: Vec<User>,
}

/// Powers and bandwidths, in the order of the users.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UrllcAllocation {
    /// Powers `P_k`, W.
    pub power_w: Vec<f64>,
    /// Bandwidths `B_k`, Hz.
    pub bandwidth_hz: Vec<f64>,
}

impl UrllcAllocation {
    /// Returns the total power `Σ P_k`, W.
    pub fn total_power_w(&self) -> f64 {
        self.power_w.iter().sum()
    }

    /// Returns the total bandwidth `Σ B_k`, Hz.
    pub fn total_bandwidth_hz(&self) -> f64 {
        self.bandwidth_hz.iter().sum()
    }
}

/// Assessment of an allocation by exact quadrature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assessment {
    /// Total bandwidth `Σ B_k`, Hz.
    pub total_bandwidth_hz: f64,
    /// Total power `Σ P_k`, W.
    pub total_power_w: f64,
    /// Power above the budget, `(Σ P_k − P_max) / P_max`: positive if exceeded.
    pub power_excess: f64,
    /// Smallest `M_k = θ_k·(C^E_k − S^E_k)` of all users, nats.
    pub worst_margin: f64,
    /// Share of users whose QoS is met (paper, section V-C: `A_K` of one realization).
    pub availability: f64,
    /// Largest relative violation of the KKT conditions. There are three: the whole budget is used (`ΣP = P_max`),
    /// each QoS holds with equality (violated by `|M_k| / θS^E`), and the price of power is equal for all users
    /// (violated by `|ν_k/ν − 1|`, with `ν_k = −∂B_k/∂P_k` along the constraint).
    pub kkt_residual: f64,
}

impl Assessment {
    /// Returns whether every QoS is met within the budget.
    pub fn is_feasible(&self) -> bool {
        self.power_excess <= tolerance::BUDGET && self.availability >= 1.0
    }
}

impl Urllc {
    /// Builds the problem for users given by gain and service class, with the system's power budget.
    pub fn new(
        system: &System,
        users: impl IntoIterator<Item = (f64, ServiceClass)>,
    ) -> Result<Self, Invalid> {
        let mut index_of: HashMap<ServiceClass, usize> = HashMap::new();
        let mut classes: Vec<Qos> = Vec::new();
        let mut list = Vec::new();
        // Adjacent users mostly share their class, so look it up only when it changes.
        let mut last: Option<(ServiceClass, usize)> = None;
        for (index, (gain, service)) in users.into_iter().enumerate() {
            check_gain(index, gain)?;
            let class = match last {
                Some((known, class)) if known == service => class,
                _ => match index_of.get(&service) {
                    Some(&class) => class,
                    None => {
                        let qos = system.qos(service).map_err(|wrong| wrong.of_user(index))?;
                        classes.push(qos);
                        index_of.insert(service, classes.len() - 1);
                        classes.len() - 1
                    }
                },
            };
            last = Some((service, class));
            list.push(User { gain, class });
        }
        if list.is_empty() {
            return Err(no_users());
        }
        let antennas = system.fading().antennas;
        Ok(Self { max_power_w: system.max_power_w(), antennas, classes, users: list })
    }

    /// Builds the problem for users who all have the system's own service class.
    pub fn uniform(system: &System, gains: impl IntoIterator<Item = f64>) -> Result<Self, Invalid> {
        let service = system.service();
        Self::new(system, gains.into_iter().map(|gain| (gain, service)))
    }

    /// Returns the problem with another power budget, W.
    pub fn with_max_power_w(mut self, max_power_w: f64) -> Result<Self, Invalid> {
        if !(max_power_w > 0.0 && max_power_w.is_finite()) {
            return Err(Invalid::number("max_power_w", max_power_w, "a positive number"));
        }
        self.max_power_w = max_power_w;
        Ok(self)
    }

    /// Returns the problem under another fading distribution.
    pub fn with_fading(mut self, fading: &Arc<FadingQuadrature>) -> Self {
        for qos in &mut self.classes {
            *qos = qos.with_fading(Arc::clone(fading));
        }
        self
    }

    /// Returns the cell with only some of the users, given by index.
    pub fn subset(&self, indices: &[usize]) -> Self {
        Self {
            max_power_w: self.max_power_w,
            antennas: self.antennas,
            classes: self.classes.clone(),
            users: indices.iter().filter_map(|&index| self.users.get(index).copied()).collect(),
        }
    }

    /// Returns the power budget `P_max`, W.
    pub fn max_power_w(&self) -> f64 {
        self.max_power_w
    }

    /// Returns the number of antennas `N_t` of the base station.
    pub fn antennas(&self) -> u32 {
        self.antennas
    }

    /// Returns the service classes that occur.
    pub fn classes(&self) -> &[Qos] {
        &self.classes
    }

    /// Returns the users of the cell.
    pub fn users(&self) -> &[User] {
        &self.users
    }

    /// Returns the number of users, `K ≥ 1`.
    pub fn size(&self) -> usize {
        self.users.len()
    }

    fn check_size(&self, allocation: &UrllcAllocation) -> Result<(), Invalid> {
        for given in [allocation.power_w.len(), allocation.bandwidth_hz.len()] {
            if given != self.size() {
                return Err(wrong_size(given, self.size()));
            }
        }
        Ok(())
    }

    /// Computes the packet loss `ε_k` of every user, on all cores.
    pub fn packet_losses(&self, allocation: &UrllcAllocation) -> Result<Vec<f64>, Invalid> {
        self.check_size(allocation)?;
        let rows = self.users.par_iter().zip(&allocation.power_w).zip(&allocation.bandwidth_hz);
        Ok(rows
            .with_min_len(64)
            .map(|((user, &power_w), &bandwidth_hz)| {
                self.classes[user.class].packet_loss(user.gain * power_w, bandwidth_hz)
            })
            .collect())
    }

    /// Judges an allocation: feasibility, availability and optimality.
    pub fn assess(&self, allocation: &UrllcAllocation) -> Result<Assessment, Invalid> {
        self.check_size(allocation)?;
        let rows: Vec<(f64, f64, f64)> = self
            .users
            .par_iter()
            .zip(&allocation.power_w)
            .zip(&allocation.bandwidth_hz)
            .with_min_len(64)
            .map(|((user, &power_w), &bandwidth_hz)| {
                let qos = &self.classes[user.class];
                if !(power_w > 0.0 && bandwidth_hz > 0.0) {
                    return (f64::NEG_INFINITY, 1.0, 0.0);
                }
                let margin = qos.margin((user.gain * power_w).ln(), bandwidth_hz.ln());
                let tightness = margin.value.abs() / (qos.theta() * qos.effective_bandwidth());
                let price = bandwidth_hz / power_w * margin.by_received / margin.by_bandwidth;
                (margin.value, tightness, price)
            })
            .collect();
        let total_power_w = allocation.total_power_w();
        let power_excess = total_power_w / self.max_power_w - 1.0;
        let met = rows.iter().filter(|row| row.0 >= 0.0).count();
        let least = rows.iter().fold(f64::INFINITY, |least, row| least.min(row.2));
        let most = rows.iter().fold(f64::NEG_INFINITY, |most, row| most.max(row.2));
        let tightness = rows.iter().fold(0.0f64, |worst, row| worst.max(row.1));
        let spread = if least > 0.0 { most / least - 1.0 } else { f64::INFINITY };
        Ok(Assessment {
            total_bandwidth_hz: allocation.total_bandwidth_hz(),
            total_power_w,
            power_excess,
            worst_margin: rows.iter().fold(f64::INFINITY, |worst, row| worst.min(row.0)),
            availability: met as f64 / rows.len() as f64,
            kkt_residual: power_excess.abs().max(tightness).max(spread),
        })
    }
}
