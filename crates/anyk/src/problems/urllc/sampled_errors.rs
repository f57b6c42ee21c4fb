//! Errors of a function that was learned from samples of fading, compared with the truth.

use crate::channel::FadingLaw;
use crate::config::System;
use crate::invalid::Invalid;
use crate::math::realization_rng;
use crate::problems::urllc::SampledBandwidth;
use crate::qos::BandwidthTable;

/// Draws samples of a distribution; equal arguments give equal samples.
pub fn draw_fading(system: &System, law: &FadingLaw, count: usize, seed: u64) -> Vec<f64> {
    let mut rng = realization_rng(seed, 1, 0);
    let antennas = system.config().cell.antennas;
    (0..count).map(|_| law.sample(antennas, &mut rng)).collect()
}

/// Returns the relative errors `b̂/b − 1` under the true distribution, at those received powers (W) that can be served.
pub fn bandwidth_errors(
    learned: &SampledBandwidth,
    truth: &BandwidthTable,
    received_w: &[f64],
) -> Vec<f64> {
    received_w
        .iter()
        .filter_map(|&u| Some(learned.law.at(u).0 / truth.at(u).ok()?.bandwidth_hz - 1.0))
        .collect()
}

/// Returns the exact `b(u)` of the system's own class under a distribution.
pub fn true_bandwidth(system: &System, law: &FadingLaw) -> Result<BandwidthTable, Invalid> {
    let qos = system.qos(system.service())?;
    Ok(BandwidthTable::new(qos.with_fading(system.fading_rule(law))))
}
