//! Training of any-gnn: a response to the price of power, learned without labels on the total bandwidth.
//!
//! The loss of a cell is `ln Σ_k b(α_k P_k)`, with the powers of [`PowerSplit`] and the gradient through
//! the price by the implicit function theorem. No optimum is solved for.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use crate::config::System;
use crate::framework::batches::{Batches, Order};
use crate::framework::{Objective, Plan, Schedule, Session, TrainError, check_price_response};
use crate::invalid::Invalid;
use crate::network::{
    ClassResponse, ContextScaling, DenseTape, PowerSplit, PriceResponse, ResponseGradient,
    SplitRule,
};
use crate::problems::urllc::WidenedBandwidth;
use crate::problems::urllc::any_ranges::{TrainingCell, TrainingClass, draw_cells, draw_classes};
use crate::problems::urllc::{TrainRanges, TrainedRanges};
use crate::qos::BandwidthTable;
use crate::qos::{BandwidthFunction, KnownBandwidth};

/// A training, whole: the same settings give the same parameters, bit for bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnySettings {
    /// How the power is split.
    pub output: SplitRule,
    /// Where training cells come from.
    pub ranges: TrainRanges,
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

/// Excess under which a softmax's power is continued by a tangent: the user cannot be served, and the loss
/// must say so with a number.
const FLOOR: f64 = 1e-3;

impl AnySettings {
    /// Ours: a second or two of training at K = 10.
    pub fn preset(ranges: TrainRanges, output: SplitRule, seed: u64) -> Self {
        let wide = ranges == TrainRanges::Wide;
        Self {
            output,
            ranges,
            train_k: vec![10],
            samples: 2000,
            network: PriceResponse { hidden: if wide { 16 } else { 4 } },
            batch: 16,
            steps: if wide { 5000 } else { 3000 },
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

/// What a training leaves.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainedAny {
    /// Of the network.
    pub parameters: Vec<f64>,
    /// Of its context.
    pub scaling: ContextScaling,
    /// What it has seen.
    pub ranges: TrainedRanges,
}

/// Trains for a known law of fading.
pub fn train_any(
    system: &System,
    settings: &AnySettings,
    session: &mut Session<'_>,
) -> Result<TrainedAny, TrainError> {
    settings.validate()?;
    let classes = draw_classes(system, settings)?;
    let bandwidths: Vec<KnownBandwidth> = classes
        .iter()
        .map(|class| KnownBandwidth::new(Arc::new(BandwidthTable::new(class.qos.clone()))))
        .collect();
    train(system, settings, &classes, &bandwidths, session)
}

/// Trains for the system's own service class, with a bandwidth function that was learned.
pub fn train_any_on(
    system: &System,
    settings: &AnySettings,
    bandwidth: &WidenedBandwidth,
    session: &mut Session<'_>,
) -> Result<TrainedAny, TrainError> {
    settings.validate()?;
    if settings.ranges != TrainRanges::Paper {
        let expected = "paper: what is learned from samples of fading is one class's bandwidth";
        return Err(Invalid::value("ranges", "wide", expected).into());
    }
    let classes = draw_classes(system, settings)?;
    train(system, settings, &classes, std::slice::from_ref(bandwidth), session)
}

fn train<B: BandwidthFunction>(
    system: &System,
    settings: &AnySettings,
    classes: &[TrainingClass],
    bandwidths: &[B],
    session: &mut Session<'_>,
) -> Result<TrainedAny, TrainError> {
    let least: Vec<f64> = bandwidths.iter().map(BandwidthFunction::min_received_w).collect();
    let (cells, ranges) = draw_cells(system, settings, classes, &least);
    let scaling = ContextScaling::of(classes.iter().map(TrainingClass::context));
    let contexts: Vec<f64> =
        classes.iter().flat_map(|class| scaling.standardised(class.context())).collect();
    let mut objective = AnyObjective {
        settings,
        cells: &cells,
        bandwidths,
        contexts: &contexts,
        batches: Batches::new(ChaCha8Rng::seed_from_u64(0), 0, 1, Order::Fresh),
        tape: DenseTape::default(),
        loss: AnyLoss::new(settings.output),
    };
    let plan = Plan { rate: settings.rate, ..Plan::cosine(settings.steps, 0.0) };
    let parameters = session.train("training", &plan, &mut objective)?;
    Ok(TrainedAny { parameters, scaling, ranges })
}

/// The mean loss over a batch of cells.
struct AnyObjective<'a, B> {
    settings: &'a AnySettings,
    cells: &'a [TrainingCell],
    bandwidths: &'a [B],
    contexts: &'a [f64],
    batches: Batches,
    tape: DenseTape<f64>,
    loss: AnyLoss,
}

impl<B: BandwidthFunction> Objective<f64> for AnyObjective<'_, B> {
    fn start(&mut self, attempt: u32) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.settings.seed);
        rng.set_stream(u64::MAX - u64::from(attempt));
        let parameters = self.settings.network.initialize(&mut || rng.sample(StandardNormal));
        self.batches = Batches::new(rng, self.cells.len(), self.settings.batch, Order::Fresh);
        parameters
    }

    fn step(&mut self, step: u64, parameters: &[f64], gradient: &mut [f64]) -> f64 {
        let network = &self.settings.network;
        let responses = network.responses(parameters, self.contexts, &mut self.tape);
        self.loss.start(responses.len());
        let batch = self.batches.at(step);
        for &index in batch {
            self.loss.add(&self.cells[index], self.bandwidths, &responses);
        }
        gradient.fill(0.0);
        network.backward(parameters, &mut self.tape, &self.loss.of_responses, gradient);
        let scale = 1.0 / batch.len() as f64;
        for value in gradient {
            *value *= scale;
        }
        self.loss.total * scale
    }
}

/// The loss of cells, summed, and its gradient by what the network says of each class.
struct AnyLoss {
    output: SplitRule,
    split: PowerSplit,
    of_power: Vec<f64>,
    of_response: Vec<f64>,
    of_responses: Vec<ResponseGradient>,
    total: f64,
}

impl AnyLoss {
    fn new(output: SplitRule) -> Self {
        Self {
            output,
            split: PowerSplit::for_training(),
            of_power: Vec::new(),
            of_response: Vec::new(),
            of_responses: Vec::new(),
            total: 0.0,
        }
    }

    fn start(&mut self, classes: usize) {
        self.total = 0.0;
        self.of_responses.clear();
        self.of_responses.resize(classes, ResponseGradient::default());
    }

    /// Adds `ln Σ b(α_k P_k)` of a cell.
    fn add<B: BandwidthFunction>(
        &mut self,
        cell: &TrainingCell,
        bandwidths: &[B],
        responses: &[ClassResponse],
    ) {
        self.split.clear();
        for &(class, least_w) in &cell.users {
            self.split.push(class, least_w, bandwidths[class].max_bandwidth_hz().ln());
        }
        let least_w: f64 = self.split.least_w().iter().sum();
        let max_power_w = cell.max_power_w;
        self.split.split(self.output, responses, max_power_w, max_power_w - least_w);
        let mut total_hz = 0.0;
        self.of_power.clear();
        for (user, &(class, least_w)) in cell.users.iter().enumerate() {
            let excess = self.split.excess()[user];
            let served = if self.output == SplitRule::Softmax { excess.max(FLOOR) } else { excess };
            let (bandwidth_hz, elasticity) = bandwidths[class].at_excess(served);
            let slope = -bandwidth_hz * elasticity / (least_w * (1.0 + served));
            total_hz += bandwidth_hz + slope * least_w * (excess - served);
            self.of_power.push(slope);
        }
        for slope in &mut self.of_power {
            *slope /= total_hz;
        }
        self.total += total_hz.ln();
        self.split.backward(self.output, &self.of_power, &mut self.of_response);
        for (user, &upstream) in self.of_response.iter().enumerate() {
            let class = self.split.classes()[user];
            let t = self.split.price_of(user);
            responses[class].accumulate(t, upstream, &mut self.of_responses[class]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    /// The whole chain (context, response, price, bandwidth) at random parameters: against central
    /// differences, for both outputs and mixed classes.
    #[test]
    fn gradient_matches_finite_differences() {
        let system = Config::default().validate().unwrap();
        for (output, seed) in [(SplitRule::Kkt, 1), (SplitRule::Kkt, 2), (SplitRule::Softmax, 3)] {
            let mut settings = AnySettings::preset(TrainRanges::Wide, output, seed);
            settings.samples = 3;
            settings.network.hidden = 3;
            let classes: Vec<TrainingClass> =
                draw_classes(&system, &settings).unwrap().into_iter().take(4).collect();
            let bandwidths: Vec<KnownBandwidth> = classes
                .iter()
                .map(|class| KnownBandwidth::new(Arc::new(BandwidthTable::new(class.qos.clone()))))
                .collect();
            let least: Vec<f64> =
                bandwidths.iter().map(BandwidthFunction::min_received_w).collect();
            let (mut cells, _) = draw_cells(&system, &settings, &classes, &least);
            for cell in &mut cells {
                // A softmax has its kink at the floor: stay away from it.
                let need: f64 = cell.users.iter().map(|user| user.1).sum();
                cell.max_power_w = cell.max_power_w.max(50.0 * need);
            }
            let scaling = ContextScaling::of(classes.iter().map(TrainingClass::context));
            let contexts: Vec<f64> =
                classes.iter().flat_map(|c| scaling.standardised(c.context())).collect();
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let network = &settings.network;
            let mut parameters = network.initialize(&mut || rng.sample(StandardNormal));
            for parameter in &mut parameters {
                let noise: f64 = rng.sample(StandardNormal);
                *parameter += 0.1 * noise;
            }
            let run = |parameters: &[f64], tape: &mut DenseTape<f64>| {
                let mut loss = AnyLoss::new(output);
                let responses = network.responses(parameters, &contexts, tape);
                loss.start(responses.len());
                for cell in &cells {
                    loss.add(cell, &bandwidths, &responses);
                }
                loss
            };
            let mut tape = DenseTape::default();
            let loss = run(&parameters, &mut tape);
            let mut gradient = vec![0.0; parameters.len()];
            network.backward(&parameters, &mut tape, &loss.of_responses, &mut gradient);
            let size = gradient.iter().fold(0.0f64, |most, value| most.max(value.abs()));
            assert!(size > 1e-4);
            for index in 0..parameters.len() {
                let h = 1e-5;
                let mut moved = parameters.clone();
                moved[index] += h;
                let above = run(&moved, &mut DenseTape::default()).total;
                moved[index] -= 2.0 * h;
                let below = run(&moved, &mut DenseTape::default()).total;
                let numeric = (above - below) / (2.0 * h);
                let off = (gradient[index] - numeric).abs();
                assert!(off < 1e-6 * size.max(1e-2), "{index}: {} {numeric}", gradient[index]);
            }
        }
    }
}
