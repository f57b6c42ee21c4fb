//! Certified answers: whatever a network says, each user's bandwidth is raised to what its power needs, and
//! no further.

use crate::problems::urllc::{Urllc, UrllcAllocation};
use crate::qos::{BandwidthFunction, Curves, KnownBandwidth, Qos, ServiceClass};
use crate::tolerance;

/// What certifying an allocation did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Certificate {
    /// Users who had less bandwidth than their power needs.
    pub raised_users: usize,
    /// Users who had so much that the finite blocklength costs more than it brings.
    pub lowered_users: usize,
    /// What was added to all of them, less what was taken away, Hz.
    pub added_bandwidth_hz: f64,
    /// Positions of users with less power than any bandwidth can make up for: these are not certified.
    pub too_weak: Vec<usize>,
}

impl Certificate {
    /// Whether every user's QoS holds.
    pub fn is_complete(&self) -> bool {
        self.too_weak.is_empty()
    }
}

/// Certifies allocations for a known law of fading.
///
/// Between `b(u)` and the bandwidth at the fold the QoS holds: `M(z, v)` has one maximum over `z`, which
/// grows with `v`, and the fold's `z` is between its two roots for every `v` over the fold's. So a look-up in
/// the certified table of `b`, rounded up by its error bound, decides for all bandwidths up to there; beyond,
/// the margin is evaluated by quadrature.
#[derive(Debug, Clone, Default)]
pub struct Certifier {
    curves: Curves,
    classes: Vec<ServiceClass>,
    bandwidths: Vec<KnownBandwidth>,
}

impl Certifier {
    /// Makes the bandwidth functions of a cell's classes ready; `false` if they are those of the last cell,
    /// and there was nothing to do.
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

    /// `b(u)` of the classes of the cell that was made ready last, in its order.
    pub fn bandwidths(&self) -> &[KnownBandwidth] {
        &self.bandwidths
    }

    /// Least power that could serve everyone, W.
    pub fn least_power_w(&mut self, problem: &Urllc) -> f64 {
        self.prepare(problem);
        let least = |class: usize| self.bandwidths[class].min_received_w();
        problem.users().iter().map(|user| least(user.class) / user.gain).sum()
    }

    /// Raises each bandwidth to what the user's power needs.
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
            // What is no number is not enough.
            let enough = *given_hz >= needed_hz;
            let holds = enough
                && (*given_hz <= bandwidth.max_bandwidth_hz()
                    || bandwidth.qos().margin(received_w.ln(), given_hz.ln()).value >= 0.0);
            if !holds {
                // What is only rounding is raised, too, but not worth a word.
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
