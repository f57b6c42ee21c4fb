//! Certified allocations: a bandwidth that violates the QoS is set to the amount that the user's power needs.

use crate::problems::urllc::{Urllc, UrllcAllocation};
use crate::qos::{BandwidthFunction, Curves, KnownBandwidth, Qos, ServiceClass};
use crate::tolerance;

/// Changes that certification made to an allocation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Certificate {
    /// Number of users with less bandwidth than their power needs.
    pub raised_users: usize,
    /// Number of users with so much bandwidth that the loss from the finite blocklength outweighs the benefit of more
    /// bandwidth.
    pub lowered_users: usize,
    /// Total bandwidth added minus total bandwidth removed, Hz.
    pub added_bandwidth_hz: f64,
    /// Indices of users whose power is too low for any bandwidth; they are not certified.
    pub too_weak: Vec<usize>,
}

impl Certificate {
    /// Returns whether every user's QoS holds.
    pub fn is_complete(&self) -> bool {
        self.too_weak.is_empty()
    }
}

/// Returns the largest bandwidth, Hz, up to which every bandwidth of at least `b(u)` meets the QoS. Returns 0 under a
/// largest spectral efficiency: `M` may then have several maxima, so `b(u)` proves nothing about larger bandwidths.
fn sufficient_up_to_hz(bandwidth: &KnownBandwidth) -> f64 {
    match bandwidth.qos().max_spectral_efficiency() {
        None => bandwidth.max_bandwidth_hz(),
        Some(_) => 0.0,
    }
}

/// Certifies allocations for a known fading distribution.
///
/// Between `b(u)` and the bandwidth at the fold, the QoS holds: `M(z, v)` has one maximum over `z`, which
/// increases with `v`, and the fold's `z` lies between its two roots for every `v` above that of the fold. In
/// this range, a look-up in the certified table of `b`, rounded up by its error bound, is therefore sufficient.
/// Beyond it, and under a largest spectral efficiency, the margin is evaluated by quadrature.
#[derive(Debug, Clone, Default)]
pub struct Certifier {
    curves: Curves,
    classes: Vec<ServiceClass>,
    bandwidths: Vec<KnownBandwidth>,
}

impl Certifier {
    /// Prepares the bandwidth functions of a cell's classes. Returns `false` if the last cell had the same classes, so
    /// nothing changed.
    pub fn prepare(&mut self, problem: &Urllc) -> bool {
        let classes = problem.classes();
        let same = |(known, (service, qos)): (&KnownBandwidth, (&ServiceClass, &Qos))| {
            *service == qos.service() && known.qos().same_cell(qos)
        };
        let met = self.classes.len() == classes.len()
            && self.bandwidths.iter().zip(self.classes.iter().zip(classes)).all(same);
        if met {
            return false;
        }
        self.classes = classes.iter().map(Qos::service).collect();
        let mut counts = vec![0; classes.len()];
        for user in problem.users() {
            counts[user.class] += 1;
        }
        self.bandwidths.clear();
        let bandwidths = &mut self.bandwidths;
        self.curves.of_classes(
            classes,
            |class| counts[class],
            |curve| {
                bandwidths.push(KnownBandwidth::of(curve));
            },
        );
        true
    }

    /// Returns the functions `b(u)` of the classes of the last prepared cell, in the order of the classes.
    pub fn bandwidths(&self) -> &[KnownBandwidth] {
        &self.bandwidths
    }

    /// Returns the minimum total power that could serve every user, W.
    pub fn least_power_w(&mut self, problem: &Urllc) -> f64 {
        self.prepare(problem);
        let least = |class: usize| self.bandwidths[class].min_received_w();
        problem.users().iter().map(|user| least(user.class) / user.gain).sum()
    }

    /// Sets each bandwidth that violates the QoS to the amount that the user's power needs.
    pub fn certify(&mut self, problem: &Urllc, allocation: &mut UrllcAllocation) -> Certificate {
        self.prepare(problem);
        let mut certificate = Certificate::default();
        let rows = problem.users().iter().zip(&allocation.power_w);
        for (index, ((user, &power_w), given_hz)) in
            rows.zip(&mut allocation.bandwidth_hz).enumerate()
        {
            let bandwidth = &self.bandwidths[user.class];
            let received_w = user.gain * power_w;
            let Some(excess) = bandwidth.excess(received_w) else {
                certificate.too_weak.push(index);
                continue;
            };
            let needed_hz = bandwidth.bandwidth_hz(excess);
            // NaN does not count as enough.
            let enough = *given_hz >= needed_hz;
            let holds = enough
                && (*given_hz <= sufficient_up_to_hz(bandwidth)
                    || bandwidth.qos().margin(received_w.ln(), given_hz.ln()).value >= 0.0);
            if !holds {
                // A difference due to rounding is corrected, but not counted.
                let counts = *given_hz < needed_hz * (1.0 - tolerance::EXACT_BANDWIDTH);
                certificate.raised_users += usize::from(counts);
                certificate.lowered_users += usize::from(enough);
                certificate.added_bandwidth_hz += needed_hz - *given_hz;
                *given_hz = needed_hz;
            }
        }
        certificate
    }
}
