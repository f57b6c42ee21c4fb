//! Pre-training of the outer function `B^v(α, K)` (paper, section IV-B1 and eqs. (Loss-sup),
//! (Loss-unsup)).

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::config::System;
use crate::framework::Adam;
use crate::math::realization_rng;
use crate::math::single;
use crate::network::{Activation, BandwidthLaw, DenseTape, LawShape, UNIT_HZ};
use crate::qos::{BandwidthTable, TooWeak};
use crate::qos::{Qos, ServiceClass, ServiceError};

/// Which loss to pre-train with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PretrainLoss {
    /// Mean square of the relative error against labels `b(α P_max/K)` (eq. (Loss-sup), but
    /// relative: the paper's absolute square neglects the near users, whose bandwidths are small).
    Supervised,
    /// Mean square of the KKT residual `θ(S^E − C^E)` at equal power (eq. (Loss-unsup)): no labels.
    Unsupervised,
}

/// How to pre-train.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PretrainSettings {
    /// The loss.
    pub loss: PretrainLoss,
    /// Shape of the network.
    pub shape: LawShape,
    /// Sizes 1, …, `max_size` are trained.
    pub max_size: usize,
    /// Gains drawn for each size.
    pub samples_per_size: usize,
    /// Samples in a step.
    pub batch: usize,
    /// Passes over the samples.
    pub epochs: usize,
    /// Learning rate at the start; it falls to 0 along a half cosine.
    pub rate: f64,
}

impl Default for PretrainSettings {
    /// The paper's samples and network (tables I and II) with an optimizer that needs a fraction of
    /// its epochs.
    fn default() -> Self {
        Self {
            loss: PretrainLoss::Supervised,
            shape: LawShape::default(),
            max_size: 200,
            samples_per_size: 20,
            batch: 100,
            epochs: 400,
            rate: 3e-3,
        }
    }
}

/// Why pre-training failed.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PretrainError {
    /// The service class is out of range.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// A label does not exist: equal power cannot serve a user.
    #[error("equal power cannot serve a user of the training set: {0}")]
    TooWeak(#[from] TooWeak),
    /// The loss left the numbers.
    #[error("the loss is no longer a number after {0} steps; try a lower learning rate")]
    Diverged(usize),
}

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

/// Pre-trains `B^v` for a loss target `ε`; `progress` is called after each epoch.
pub fn pretrain_law(
    system: &System,
    epsilon: f64,
    settings: &PretrainSettings,
    seed: u64,
    progress: impl FnMut(),
) -> Result<BandwidthLaw, PretrainError> {
    let qos = system.qos(ServiceClass { epsilon, ..system.service() })?;
    let table = BandwidthTable::new(qos.clone());
    let samples = draw(system, settings, seed);
    let labels: Vec<f32> = samples
        .iter()
        .map(|sample| Ok(single(sample.bandwidth_hz(&table)? / UNIT_HZ)))
        .collect::<Result<_, TooWeak>>()?;
    let loss_of = |index: usize, output: f32| match settings.loss {
        PretrainLoss::Supervised => relative_square(output, labels[index]),
        PretrainLoss::Unsupervised => residual_square(&qos, &samples[index], output),
    };
    fit_law(settings, &samples, loss_of, seed, progress)
}

/// Fits a law to samples. `loss` gives the value and the slope, by the network's output, of the loss of
/// the sample at a position; `progress` is called after each epoch.
pub(crate) fn fit_law(
    settings: &PretrainSettings,
    samples: &[Sample],
    loss_of: impl Fn(usize, f32) -> (f32, f32),
    seed: u64,
    mut progress: impl FnMut(),
) -> Result<BandwidthLaw, PretrainError> {
    let network = settings.shape.network();
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x5ca1_ab1e);
    let mut parameters: Vec<f32> = Vec::with_capacity(network.parameter_count());
    let last = network.widths.len() - 2;
    for (layer, pair) in network.widths.windows(2).enumerate() {
        // He's initialization; the last layer starts small around a bandwidth of 2·10^5 Hz, so that
        // no first step can push the softplus to its flat end.
        let scale = (2.0 / pair[0] as f64).sqrt() * if layer == last { 0.1 } else { 1.0 };
        let bias = |rng: &mut ChaCha8Rng| if layer == last { 1.854 } else { 0.3 * normal(rng) };
        parameters.extend((0..pair[0] * pair[1]).map(|_| single(scale * normal(&mut rng))));
        parameters.extend((0..pair[1]).map(|_| single(bias(&mut rng))));
    }
    let mut adam = Adam::new(parameters.len(), (0.9, 0.999));
    let mut tape = DenseTape::default();
    let mut gradient = vec![0.0f32; parameters.len()];
    let mut order: Vec<usize> = (0..samples.len()).collect();
    let (mut inputs, mut upstream) = (Vec::new(), Vec::new());
    let steps_per_epoch = samples.len().div_ceil(settings.batch);
    let steps = (settings.epochs * steps_per_epoch) as f64;
    let mut step = 0;
    for _ in 0..settings.epochs {
        order.shuffle(&mut rng);
        for batch in order.chunks(settings.batch) {
            inputs.clear();
            for &index in batch {
                let Sample { gain, size, .. } = samples[index];
                inputs.extend(settings.shape.inputs(gain, size).map(single));
            }
            let outputs = network.forward(&parameters, &inputs, &mut tape);
            upstream.clear();
            let mut loss = 0.0;
            for (&index, &output) in batch.iter().zip(outputs) {
                let (value, slope) = loss_of(index, output);
                loss += value;
                // The law is steepest in K for the smallest cells, which are few among 1, …, 200.
                let weight = 1.0 + 20.0 / samples[index].size as f32;
                upstream.push(weight * slope / batch.len() as f32);
            }
            if !loss.is_finite() {
                return Err(PretrainError::Diverged(step));
            }
            network.backward(&parameters, &mut tape, &upstream, &mut gradient);
            let phase = std::f64::consts::PI * step as f64 / steps;
            adam.descend(&mut parameters, &gradient, settings.rate * 0.5 * (1.0 + phase.cos()));
            step += 1;
        }
        progress();
    }
    let parameters = parameters.iter().map(|&parameter| f64::from(parameter)).collect();
    BandwidthLaw::new(&settings.shape, parameters).ok_or(PretrainError::Diverged(step))
}

/// Relative error of `law` against `b(α P_max/K)` on fresh gains, `samples_per_size` for each size.
pub fn measure_law(
    system: &System,
    epsilon: f64,
    law: &BandwidthLaw,
    settings: &PretrainSettings,
    seed: u64,
) -> Result<RelativeError, PretrainError> {
    let table = BandwidthTable::new(system.qos(ServiceClass { epsilon, ..system.service() })?);
    let samples = draw(system, settings, seed);
    let mut errors = Vec::with_capacity(samples.len());
    for sample in &samples {
        let expected = sample.bandwidth_hz(&table)?;
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

/// One `(α, K)`, with the equal power of that K.
pub(crate) struct Sample {
    pub(crate) gain: f64,
    pub(crate) size: usize,
    pub(crate) received_w: f64,
}

impl Sample {
    fn bandwidth_hz(&self, table: &BandwidthTable) -> Result<f64, TooWeak> {
        Ok(table.at(self.received_w)?.bandwidth_hz)
    }
}

fn draw(system: &System, settings: &PretrainSettings, seed: u64) -> Vec<Sample> {
    let mut samples = Vec::with_capacity(settings.max_size * settings.samples_per_size);
    for size in 1..=settings.max_size {
        let mut rng = realization_rng(seed, size, 0);
        for _ in 0..settings.samples_per_size {
            let gain = system.path_loss().gain(system.road().sample_distance_m(&mut rng));
            samples.push(Sample {
                gain,
                size,
                received_w: gain * system.max_power_w() / size as f64,
            });
        }
    }
    samples
}

/// `(ŷ/y − 1)²` with `ŷ = softplus(output)`, and its slope by the output.
pub(crate) fn relative_square(output: f32, label: f32) -> (f32, f32) {
    let output = f64::from(output);
    let label = f64::from(label);
    let off = Activation::Softplus.value(output) / label - 1.0;
    (single(off * off), single(2.0 * off * Activation::Softplus.slope(output) / label))
}

/// `M²` at the bandwidth that the network gives, and its slope by the output.
fn residual_square(qos: &Qos, sample: &Sample, output: f32) -> (f32, f32) {
    let output = f64::from(output);
    let value = Activation::Softplus.value(output).max(1e-6);
    let ln_bandwidth = (value * UNIT_HZ).ln();
    let margin = qos.margin(sample.received_w.ln(), ln_bandwidth);
    let slope = margin.by_bandwidth * Activation::Softplus.slope(output) / value;
    (single(margin.value * margin.value), single(2.0 * margin.value * slope))
}

/// A standard normal number.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    use rand_distr::{Distribution, StandardNormal};
    StandardNormal.sample(rng)
}
