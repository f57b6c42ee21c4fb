//! Training of any-gnn for a fixed band: a response to one price, learned without labels on the total power.
//!
//! The loss of a cell is `ln Σ_k P_k`, with the price such that the bandwidths fill the band. By the implicit
//! function theorem on `Σ_k b_k = B`, with `a_k = ∂L/∂ψ_k` at a fixed price, `c_k = ∂b_k/∂ψ_k` and `s_k = ψ'(t_k)`,
//!
//! ```text
//! dL/dψ_k = a_k − c_k·Σ_j a_j s_j / Σ_j c_j s_j.
//! ```

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use crate::config::System;
use crate::framework::batches::{Batches, Order};
use crate::framework::{Objective, Plan, Schedule, Session, TrainError, check_price_response};
use crate::invalid::Invalid;
use crate::math::{PriceSearch, price_of_budget, realization_rng};
use crate::network::{
    ClassResponse, ContextScaling, DenseTape, PowerSplit, PriceResponse, ResponseGradient,
};
use crate::problems::urllc::Span;
use crate::problems::urllc::any_ranges::context;
use crate::problems::urllc_power::evaluation::validated;
use crate::problems::urllc_power::{AnyBandPolicy, AnyBandRecord, BandMetrics};
use crate::qos::{BandwidthFunction, BandwidthTable, KnownBandwidth};
use crate::units::Decibel;

/// A training, whole: the same settings give the same parameters, bit for bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnyBandSettings {
    /// Sizes of the training cells.
    pub train_k: Vec<usize>,
    /// Cells of each size.
    pub samples: usize,
    /// The network.
    pub network: PriceResponse,
    /// Cells in a step.
    pub batch: usize,
    /// Steps.
    pub steps: u64,
    /// Learning rate of Adam over the steps.
    pub rate: Schedule,
    /// Seed of cells, initialization and order.
    pub seed: u64,
}

/// Received powers over the least, less 1, at which training bands are drawn, in their logarithm: everyone there
/// would just fill the band.
const LN_EXCESS: (f64, f64) = (-4.0, 14.0);

impl AnyBandSettings {
    /// Ours: a second or two of training at K = 10.
    pub fn preset(seed: u64) -> Self {
        Self {
            train_k: vec![10],
            samples: 2000,
            network: PriceResponse { hidden: 4 },
            batch: 16,
            steps: 3000,
            rate: Schedule::Cosine { rate: 1e-2, last: 1e-4 },
            seed,
        }
    }

    /// Checks every value.
    pub fn validate(&self) -> Result<(), Invalid> {
        let Self { train_k, samples, network, batch, steps, rate, .. } = self;
        check_price_response(train_k, *samples, network, (*batch, *steps, *rate))
    }
}

/// Users of one cell at the price that fills a band; buffers are kept from one to the next.
#[derive(Debug, Clone, Default)]
pub(crate) struct PriceOfBand {
    split: PowerSplit,
    bandwidth_hz: Vec<f64>,
    /// `∂b_k/∂ψ_k`, Hz: negative.
    of_response_hz: Vec<f64>,
}

impl PriceOfBand {
    pub(crate) fn split_of(&self) -> &PowerSplit {
        &self.split
    }

    pub(crate) fn bandwidth_hz(&self) -> &[f64] {
        &self.bandwidth_hz
    }

    /// Splits a band among users given by class and gain; `false` where no power would do.
    pub(crate) fn split<B: BandwidthFunction>(
        &mut self,
        responses: &[ClassResponse],
        bandwidths: &[B],
        users: impl Iterator<Item = (usize, f64)>,
        target_hz: f64,
    ) -> bool {
        self.split.clear();
        let mut fold_hz = 0.0;
        for (class, gain) in users {
            let bandwidth = &bandwidths[class];
            let most_hz = bandwidth.max_bandwidth_hz();
            fold_hz += most_hz;
            self.split.push(class, bandwidth.min_received_w() / gain, most_hz.ln());
        }
        // Where the band is wider than all could use, the price of power has no end: this one is as good.
        let wide_hz = (1.0 - 1e-7) * fold_hz;
        let target_hz = target_hz.min(wide_hz);
        let search = PriceSearch { tolerance: 1e-13, bracket: 1e-14, stride: 5.0 };
        let found = if target_hz > 0.5 * fold_hz {
            price_of_budget(search, fold_hz - target_hz, 0.0, |ln_price| {
                let (sum, slope) = self.respond(responses, bandwidths, ln_price);
                (fold_hz - sum, -slope)
            })
        } else {
            price_of_budget(search, target_hz, 0.0, |ln_inverse| {
                let (sum, slope) = self.respond(responses, bandwidths, -ln_inverse);
                (sum, -slope)
            })
        };
        let sum_hz: f64 = self.bandwidth_hz.iter().sum();
        found.total.is_finite() && (sum_hz / target_hz - 1.0).abs() < 1e-9
    }

    /// `Σ b_k` at a price of power, and its derivative by the price's logarithm.
    fn respond<B: BandwidthFunction>(
        &mut self,
        responses: &[ClassResponse],
        bandwidths: &[B],
        ln_price: f64,
    ) -> (f64, f64) {
        self.split.respond_to(responses, ln_price);
        self.bandwidth_hz.clear();
        self.of_response_hz.clear();
        let (mut sum, mut by_price) = (0.0, 0.0);
        for (user, &excess) in self.split.excess().iter().enumerate() {
            let (own_hz, elasticity) = bandwidths[self.split.classes()[user]].at_excess(excess);
            let of_response_hz = -own_hz * elasticity * excess / (1.0 + excess);
            sum += own_hz;
            by_price += of_response_hz * self.split.slopes()[user];
            self.bandwidth_hz.push(own_hz);
            self.of_response_hz.push(of_response_hz);
        }
        (sum, by_price)
    }
}

/// A training cell: class and gain of each user, and the band.
struct TrainingCell {
    gains: Vec<f64>,
    max_bandwidth_hz: f64,
}

/// The mean of `ln Σ P_k` over a batch of cells.
struct BandObjective<'a> {
    settings: &'a AnyBandSettings,
    cells: &'a [TrainingCell],
    bandwidths: &'a [KnownBandwidth],
    contexts: &'a [f64],
    batches: Batches,
    tape: DenseTape<f64>,
    price: PriceOfBand,
    of_responses: Vec<ResponseGradient>,
}

impl BandObjective<'_> {
    /// Adds the loss of a cell and its gradient by what the network says of each class.
    fn add(&mut self, cell: usize, responses: &[ClassResponse]) -> f64 {
        let TrainingCell { gains, max_bandwidth_hz } = &self.cells[cell];
        let users = gains.iter().map(|&gain| (0, gain));
        self.price.split(responses, self.bandwidths, users, *max_bandwidth_hz);
        let split = &self.price.split;
        let total_w: f64 = (0..gains.len()).map(|user| split.power_w(user)).sum();
        // At a fixed price, ψ_k moves the power by what is over the least.
        let of_power = |user: usize| split.least_w()[user] * split.excess()[user] / total_w;
        let (mut above, mut below) = (0.0, 0.0);
        for (user, slope) in split.slopes().iter().enumerate() {
            above += of_power(user) * slope;
            below += self.price.of_response_hz[user] * slope;
        }
        for (user, &of_hz) in self.price.of_response_hz.iter().enumerate() {
            let upstream = of_power(user) - of_hz * above / below;
            let class = split.classes()[user];
            let t = split.price_of(user);
            responses[class].accumulate(t, upstream, &mut self.of_responses[class]);
        }
        total_w.ln()
    }
}

impl Objective<f64> for BandObjective<'_> {
    fn start(&mut self, attempt: u32) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.settings.seed);
        rng.set_stream(u64::MAX - u64::from(attempt));
        let parameters = self.settings.network.initialize(&mut || rng.sample(StandardNormal));
        self.batches = Batches::new(rng, self.cells.len(), self.settings.batch, Order::Whole);
        parameters
    }

    fn step(&mut self, step: u64, parameters: &[f64], gradient: &mut [f64]) -> f64 {
        let network = &self.settings.network;
        let responses = network.responses(parameters, self.contexts, &mut self.tape);
        self.of_responses.clear();
        self.of_responses.resize(responses.len(), ResponseGradient::default());
        let batch = self.batches.at(step).to_vec();
        let loss: f64 = batch.iter().map(|&cell| self.add(cell, &responses)).sum();
        gradient.fill(0.0);
        network.backward(parameters, &mut self.tape, &self.of_responses, gradient);
        let scale = 1.0 / batch.len() as f64;
        for value in gradient {
            *value *= scale;
        }
        loss * scale
    }
}

/// Trains any-gnn for the system's own law of fading and service class, and measures it on a validation set of
/// the training sizes.
pub fn train_any_band(
    system: &System,
    settings: &AnyBandSettings,
    session: &mut Session<'_>,
) -> Result<AnyBandPolicy, TrainError> {
    settings.validate()?;
    let qos = system.qos(system.service())?;
    let own = context(&qos, system.fading().antennas);
    let scaling = ContextScaling::of([own].into_iter());
    let bandwidth = KnownBandwidth::new(Arc::new(BandwidthTable::new(qos)));
    let (cells, gain_db, bandwidth_per_user_hz) = draw_cells(system, settings, &bandwidth);
    let mut objective = BandObjective {
        settings,
        cells: &cells,
        bandwidths: std::slice::from_ref(&bandwidth),
        contexts: &scaling.standardised(own),
        batches: Batches::new(ChaCha8Rng::seed_from_u64(0), 0, 1, Order::Whole),
        tape: DenseTape::default(),
        price: PriceOfBand::default(),
        of_responses: Vec::new(),
    };
    let plan = Plan { rate: settings.rate, ..Plan::cosine(settings.steps, 0.0) };
    let parameters = session.train("training", &plan, &mut objective)?;
    let record = AnyBandRecord {
        config: system.config().clone(),
        training: settings.clone(),
        scaling,
        gain_db,
        bandwidth_per_user_hz,
        metrics: BandMetrics { availability: 0.0, gap_percent: 0.0 },
    };
    let policy = AnyBandPolicy::new(record, parameters)?;
    let (metrics, _) = validated(&policy)?;
    Ok(policy.with_metrics(metrics))
}

/// Cells along the system's road, each with a band that everyone at some received power would fill; and what of
/// gains and bandwidths they hold.
fn draw_cells(
    system: &System,
    settings: &AnyBandSettings,
    bandwidth: &KnownBandwidth,
) -> (Vec<TrainingCell>, Span, Span) {
    let (mut gain_db, mut each_hz) = (Span::NONE, Span::NONE);
    let mut cells = Vec::new();
    for &size in &settings.train_k {
        for index in 0..settings.samples as u64 {
            let mut rng = realization_rng(settings.seed, size, index);
            let mut gain = || system.path_loss().gain(system.road().sample_distance_m(&mut rng));
            let gains: Vec<f64> = (0..size).map(|_| gain()).collect();
            let ln_excess: f64 = rng.random_range(LN_EXCESS.0..LN_EXCESS.1);
            let own_hz = bandwidth.bandwidth_hz(ln_excess.exp());
            each_hz.add(own_hz);
            for &gain in &gains {
                gain_db.add(Decibel::from_ratio(gain).0);
            }
            cells.push(TrainingCell { max_bandwidth_hz: own_hz * size as f64, gains });
        }
    }
    (cells, gain_db, each_hz)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    /// The whole chain (context, response, price of the band, power) at random parameters, against central
    /// differences.
    #[test]
    fn gradient_matches_finite_differences() {
        let system = Config::default().validate().unwrap();
        for seed in 1..4 {
            let mut settings = AnyBandSettings::preset(seed);
            (settings.samples, settings.batch, settings.network.hidden) = (6, 6, 3);
            let qos = system.qos(system.service()).unwrap();
            let bandwidth = KnownBandwidth::new(Arc::new(BandwidthTable::new(qos)));
            let (cells, _, _) = draw_cells(&system, &settings, &bandwidth);
            let contexts = [0.3, -0.2, 0.5, 0.1];
            let mut objective = BandObjective {
                settings: &settings,
                cells: &cells,
                bandwidths: std::slice::from_ref(&bandwidth),
                contexts: &contexts,
                batches: Batches::new(ChaCha8Rng::seed_from_u64(0), 0, 1, Order::Whole),
                tape: DenseTape::default(),
                price: PriceOfBand::default(),
                of_responses: Vec::new(),
            };
            let mut parameters = objective.start(0);
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            for parameter in &mut parameters {
                let noise: f64 = rng.sample(StandardNormal);
                *parameter += 0.1 * noise;
            }
            let mut gradient = vec![0.0; parameters.len()];
            objective.step(0, &parameters, &mut gradient);
            let size = gradient.iter().fold(0.0f64, |most, value| most.max(value.abs()));
            assert!(size > 1e-4);
            for index in 0..parameters.len() {
                let mut shifted = |step: f64| {
                    let mut moved = parameters.clone();
                    moved[index] += step;
                    objective.step(0, &moved, &mut vec![0.0; parameters.len()])
                };
                let numeric = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
                let off = (gradient[index] - numeric).abs();
                assert!(off < 1e-6 * size.max(1e-2), "{index}: {} {numeric}", gradient[index]);
            }
        }
    }
}
