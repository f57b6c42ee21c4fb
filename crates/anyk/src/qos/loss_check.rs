//! How far a rule for expectations over fading is off, for a class and a cell: in the packet loss that users
//! would truly have.

use crate::qos::{Qos, RequiredBandwidth};

/// Received powers that are tried, evenly spaced in `w = √ln(u/u_min)`, in which `b` is smooth.
const TRIED: u32 = 64;

/// True packet loss over the target, where it is furthest from 1, of users whose bandwidths come from `rule`,
/// at received powers from the least that it would serve up to `max_received_w`. `truth` is the same constraint
/// under an accurate rule.
pub(crate) fn worst_true_loss(rule: Qos, truth: &Qos, max_received_w: f64) -> f64 {
    let target = truth.service().epsilon;
    let required = RequiredBandwidth::new(rule);
    let least_w = required.min_received_w();
    let reach = (max_received_w / least_w).ln().max(0.0).sqrt();
    let loss = |i: u32| {
        let w = reach * f64::from(i) / f64::from(TRIED);
        let received_w = least_w * (w * w).exp();
        // Rounding may put the first one a hair below the least: it then has the bandwidth there.
        let bandwidth_hz = required
            .at(received_w)
            .map_or_else(|_| required.max_bandwidth_hz(), |point| point.bandwidth_hz);
        truth.packet_loss(received_w, bandwidth_hz) / target
    };
    // A NaN is as far from 1 as can be.
    let distance = |ratio: f64| if ratio.is_nan() { f64::INFINITY } else { ratio.ln().abs() };
    (0..=TRIED).map(loss).fold(
        1.0,
        |worst, ratio| {
            if distance(ratio) > distance(worst) { ratio } else { worst }
        },
    )
}
