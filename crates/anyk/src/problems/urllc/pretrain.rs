//! Pre-training of the outer function `B^v(α, K)` of URLLC (paper, section IV-B1 and eqs. (Loss-sup),
//! (Loss-unsup)).

use serde::Serialize;

use crate::config::System;
use crate::framework::{
    LawSample, PretrainLoss, PretrainSettings, Session, TrainError, fit_law, square,
};
use crate::math::{realization_rng, single};
use crate::network::{Activation, BandwidthLaw};
use crate::qos::{BandwidthTable, Qos, ServiceClass};

/// Relative error of a law on users it was not trained on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RelativeError {
    /// Mean.
    pub mean: f64,
    /// 99th percentile.
    pub percentile_99: f64,
    /// Largest.
    pub max: f64,
}

/// Pre-trains `B^v` for a loss target `ε`.
pub fn pretrain_law(
    system: &System,
    epsilon: f64,
    settings: &PretrainSettings,
    seed: u64,
    session: &mut Session<'_>,
) -> Result<BandwidthLaw, TrainError> {
    let qos = system.qos(ServiceClass { epsilon, ..system.service() })?;
    let table = BandwidthTable::new(qos.clone());
    let unit_hz = settings.shape.unit_hz();
    let samples = draw(system, settings, seed);
    let labels: Vec<f32> = samples
        .iter()
        .map(|sample| Ok(single(bandwidth_hz(sample, &table)? / unit_hz)))
        .collect::<Result<_, TrainError>>()?;
    let loss_of = |index: usize, output: f32| match settings.loss {
        PretrainLoss::Supervised if settings.balanced => {
            square(output, labels[index], labels[index])
        }
        PretrainLoss::Supervised => square(output, labels[index], 1.0),
        PretrainLoss::Unsupervised => {
            // The paper's residual is S^E − C^E itself.
            let unit = if settings.balanced { 1.0 } else { qos.theta() };
            residual_square(&qos, &samples[index], output, (unit_hz, unit))
        }
    };
    fit_law(session, settings, &samples, &loss_of, seed)
}

/// Relative error of `law` against `b(α P_max/K)` on fresh gains, `samples_per_size` for each size.
pub fn measure_law(
    system: &System,
    epsilon: f64,
    law: &BandwidthLaw,
    settings: &PretrainSettings,
    seed: u64,
) -> Result<RelativeError, TrainError> {
    let table = BandwidthTable::new(system.qos(ServiceClass { epsilon, ..system.service() })?);
    let samples = draw(system, settings, seed);
    let mut errors = Vec::with_capacity(samples.len());
    for sample in &samples {
        let expected = bandwidth_hz(sample, &table)?;
        let found = law.bandwidths_hz(&[sample.gain], sample.size)[0];
        errors.push((found / expected - 1.0).abs());
    }
    errors.sort_by(f64::total_cmp);
    Ok(RelativeError {
        mean: errors.iter().sum::<f64>() / errors.len() as f64,
        percentile_99: errors[(errors.len() * 99).div_ceil(100) - 1],
        max: errors.last().copied().unwrap_or(0.0),
    })
}

/// The label of a sample.
fn bandwidth_hz(sample: &LawSample, table: &BandwidthTable) -> Result<f64, TrainError> {
    Ok(table.at(sample.received_w).map_err(TrainError::EqualPower)?.bandwidth_hz)
}

fn draw(system: &System, settings: &PretrainSettings, seed: u64) -> Vec<LawSample> {
    let mut samples = Vec::with_capacity(settings.max_size * settings.samples_per_size);
    for size in 1..=settings.max_size {
        let mut rng = realization_rng(seed, size, 0);
        for _ in 0..settings.samples_per_size {
            let gain = system.path_loss().gain(system.road().sample_distance_m(&mut rng));
            samples.push(LawSample {
                gain,
                size,
                received_w: gain * system.max_power_w() / size as f64,
            });
        }
    }
    samples
}

/// `(M/unit)²` of the margin `M = θ(S^E − C^E)` at the bandwidth that the network gives, and its slope by the
/// output.
fn residual_square(
    qos: &Qos,
    sample: &LawSample,
    output: f32,
    (unit_hz, unit): (f64, f64),
) -> (f32, f32) {
    let output = f64::from(output);
    let value = Activation::Softplus.value(output).max(1e-6);
    let ln_bandwidth = (value * unit_hz).ln();
    let margin = qos.margin(sample.received_w.ln(), ln_bandwidth);
    let slope = margin.by_bandwidth * Activation::Softplus.slope(output) / value;
    let value = margin.value / unit;
    (single(value * value), single(2.0 * value * slope / unit))
}
