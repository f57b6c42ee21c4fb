//! How far what was learned from samples of fading is from the truth.

use crate::channel::{FadingLaw, FadingSamples, realization_rng};
use crate::config::System;
use crate::evaluation::RunError;
use crate::policy::{ModelError, SampledPolicy, SampledRecord};
use crate::problem::ServiceError;
use crate::solver::BandwidthTable;
use crate::training::{SampledBandwidth, SampledSettings, learn_bandwidth};

/// Samples of a law, the same for the same numbers.
pub fn draw_fading(system: &System, law: &FadingLaw, count: usize, seed: u64) -> Vec<f64> {
    let mut rng = realization_rng(seed, 1, 0);
    let antennas = system.config().cell.antennas;
    (0..count).map(|_| law.sample(antennas, &mut rng)).collect()
}

/// Learns a policy from samples of fading; `progress` is called a hundred times.
pub fn train_sampled(
    system: &System,
    samples: &FadingSamples,
    training: &SampledSettings,
    deviations: f64,
    progress: impl FnMut(),
) -> Result<SampledPolicy, RunError> {
    let qos = system.qos(system.service()).map_err(ModelError::from)?;
    let bandwidth = learn_bandwidth(system, &qos, samples, training, progress).ok_or_else(|| {
        let message = "no bandwidth can be learned from these samples: the power budget does not reach the \
                       nearest user, or the training left the numbers";
        ModelError::Content(message.into())
    })?;
    let record = SampledRecord {
        config: system.config().clone(),
        training: training.clone(),
        samples: samples.as_slice().len(),
        deviations,
        range_w: bandwidth.range_w,
    };
    Ok(SampledPolicy::new(record, bandwidth)?)
}

/// Relative errors `b̂/b − 1` under the true law at received powers in W, absent where it serves none.
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

/// The exact `b(u)` of the system's own class under a law.
pub fn true_bandwidth(system: &System, law: &FadingLaw) -> Result<BandwidthTable, ServiceError> {
    let qos = system.qos(system.service())?;
    Ok(BandwidthTable::new(qos.with_fading(system.fading_rule(law))))
}
