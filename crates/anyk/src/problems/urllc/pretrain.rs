//! Pre-training of the outer function `B^v(α, K)` for URLLC (paper, section IV-B1 and eqs. (Loss-sup),
//! (Loss-unsup)).

use serde::Serialize;

use crate::config::System;
use crate::framework::{
    LawSample, PretrainLoss, PretrainSettings, Session, TrainError, fit_law, square,
};
use crate::math::{realization_rng, single};
use crate::network::{Activation, BandwidthLaw};
use crate::qos::{BandwidthTable, Qos, ServiceClass};

/// Relative error of an outer function on users that were not in its training.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RelativeError {
    /// Mean error.
    pub mean: f64,
    /// 99th percentile.
    pub percentile_99: f64,
    /// Largest error.
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
    let unit_hz = settings.shape.unit_hz();
    let Labelled { samples, bandwidths_hz, left_out } = draw(system, &qos, settings, seed)?;
    if left_out > 0 {
        let all = samples.len() + left_out;
        session.observer().tell(&format!(
            "pre-training: {left_out} of {all} users and sizes are left out, since no bandwidth serves them at equal \
             power; the outer function only extrapolates to them"
        ));
    }
    let labels: Vec<f32> = bandwidths_hz.iter().map(|hz| single(hz / unit_hz)).collect();
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

/// Measures the relative error of `law` compared with `b(α P_max/K)` on new gains, `samples_per_size` for each
/// size.
pub fn measure_law(
    system: &System,
    epsilon: f64,
    law: &BandwidthLaw,
    settings: &PretrainSettings,
    seed: u64,
) -> Result<RelativeError, TrainError> {
    let qos = system.qos(ServiceClass { epsilon, ..system.service() })?;
    let Labelled { samples, bandwidths_hz, .. } = draw(system, &qos, settings, seed)?;
    let error = |(sample, expected): (&LawSample, f64)| {
        let found = law.bandwidths_hz(&[sample.gain], sample.size)[0];
        (found / expected - 1.0).abs()
    };
    let mut errors: Vec<f64> = samples.iter().zip(bandwidths_hz).map(error).collect();
    errors.sort_by(f64::total_cmp);
    Ok(RelativeError {
        mean: errors.iter().sum::<f64>() / errors.len() as f64,
        percentile_99: errors[(errors.len() * 99).div_ceil(100) - 1],
        max: errors.last().copied().unwrap_or(0.0),
    })
}

/// Random gains for each size, with the bandwidths that they require at equal power.
struct Labelled {
    samples: Vec<LawSample>,
    bandwidths_hz: Vec<f64>,
    /// Number of gains that no bandwidth serves at equal power.
    left_out: usize,
}

/// Draws gains with labels. Returns an error if most gains cannot be served at equal power, since an outer
/// function for the rest would say little about a cell.
fn draw(
    system: &System,
    qos: &Qos,
    settings: &PretrainSettings,
    seed: u64,
) -> Result<Labelled, TrainError> {
    let table = BandwidthTable::new(qos.clone());
    let mut drawn = Labelled { samples: Vec::new(), bandwidths_hz: Vec::new(), left_out: 0 };
    let mut too_weak = None;
    for sample in draw_gains(system, settings, seed) {
        match table.at(sample.received_w) {
            Ok(point) => {
                drawn.bandwidths_hz.push(point.bandwidth_hz);
                drawn.samples.push(sample);
            }
            Err(weak) => {
                drawn.left_out += 1;
                too_weak = Some(weak);
            }
        }
    }
    match too_weak {
        Some(weak) if drawn.left_out > drawn.samples.len() => Err(TrainError::EqualPower(weak)),
        _ => Ok(drawn),
    }
}

fn draw_gains(system: &System, settings: &PretrainSettings, seed: u64) -> Vec<LawSample> {
    let sizes = settings.sizes.list();
    let mut samples = Vec::with_capacity(sizes.len() * settings.samples_per_size);
    let mut of_size = 0;
    for (index, &size) in sizes.iter().enumerate() {
        // A size that occurs again gets separate gains.
        of_size = if index > 0 && sizes[index - 1] == size { of_size + 1 } else { 0 };
        let mut rng = realization_rng(seed, size, of_size);
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

/// Returns `(M/unit)²` for the margin `M = θ(S^E − C^E)` at the network's bandwidth, and its derivative with
/// respect to the output.
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
