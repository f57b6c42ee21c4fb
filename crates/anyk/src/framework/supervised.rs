//! Supervised training of one network with losses relative to the labels.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::framework::batches::{Batches, Order};
use crate::framework::{Objective, Plan, Session, TrainError};
use crate::network::{Gnn, Output, Tape};

/// Loss of a network that is trained on labels. All losses are relative, since powers and bandwidths span decades.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// `mean_k (y_k − l_k)²` with `l_k = ln P_k`, P_k in the unit of power.
    Power,
    /// `mean_k (ln y_k − l_k)²`, where `l_k` is the logarithm of a share.
    Share,
    /// `(ln mean_k y_k − l)²` with `l = ln B`, B in the unit of bandwidth.
    Bandwidth,
}

/// Features, outer function and labels of one cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Example {
    pub(crate) x: Vec<f64>,
    pub(crate) outer: Vec<f64>,
    pub(crate) labels: Vec<f64>,
}

impl Loss {
    /// Returns the loss of the outputs and writes its derivatives to `slopes`.
    fn value(self, outputs: &[f64], labels: &[f64], slopes: &mut Vec<f64>) -> f64 {
        let size = outputs.len() as f64;
        slopes.clear();
        let rows = outputs.iter().zip(labels);
        match self {
            Self::Power => {
                slopes.extend(rows.clone().map(|(y, label)| 2.0 * (y - label) / size));
                rows.map(|(y, label)| (y - label).powi(2)).sum::<f64>() / size
            }
            Self::Share => {
                slopes.extend(rows.clone().map(|(y, label)| 2.0 * (y.ln() - label) / (y * size)));
                rows.map(|(y, label)| (y.ln() - label).powi(2)).sum::<f64>() / size
            }
            Self::Bandwidth => {
                let mean = outputs.iter().sum::<f64>() / size;
                let off = mean.ln() - labels.first().copied().unwrap_or(0.0);
                slopes.extend(outputs.iter().map(|_| 2.0 * off / (mean * size)));
                off * off
            }
        }
    }
}

/// Returns the mean loss over examples plus `penalty·Σ V²`, and overwrites `gradient`.
pub(crate) fn loss_and_gradient<'a>(
    (network, loss, penalty): (&Gnn, Loss, f64),
    parameters: &[f64],
    examples: impl ExactSizeIterator<Item = &'a Example>,
    tape: &mut Tape,
    gradient: &mut [f64],
) -> f64 {
    gradient.fill(0.0);
    let count = examples.len() as f64;
    let mut slopes = Vec::new();
    let mut total = 0.0;
    for example in examples {
        let outputs = network.forward(parameters, &example.x, &example.outer, tape);
        total += loss.value(outputs, &example.labels, &mut slopes) / count;
        for slope in &mut slopes {
            *slope /= count;
        }
        network.backward(parameters, tape, &slopes, gradient);
    }
    if penalty > 0.0 {
        for index in network.others().flatten() {
            total += penalty * parameters[index] * parameters[index];
            gradient[index] += 2.0 * penalty * parameters[index];
        }
    }
    total
}

/// Initial position of the kinks of the hidden features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// Far below the inputs, so that all features are linear.
    Linear,
    /// Spread over the range of the inputs.
    Bent,
    /// Alternating between linear and spread, for unknown functions.
    Mixed,
}

/// Training settings of one network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fit {
    /// Number of examples per step.
    pub(crate) batch: usize,
    /// Number of steps.
    pub(crate) steps: u64,
    /// Initial learning rate; it decays to 0 along a half cosine.
    pub(crate) rate: f64,
    /// Weight of the penalty `Σ V²`.
    pub(crate) penalty: f64,
    /// Initial position of the kinks.
    pub(crate) start: Start,
    /// Seed of the initialization and of the order of the examples.
    pub(crate) seed: u64,
}

/// Objective of one network on its examples.
struct Supervised<'a> {
    settings: Fit,
    network: &'a Gnn,
    loss: Loss,
    examples: &'a [Example],
    batches: Batches,
    tape: Tape,
}

impl Objective<f64> for Supervised<'_> {
    fn start(&mut self, attempt: u32) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.settings.seed);
        rng.set_stream(u64::MAX - 8 * u64::from(attempt) - self.loss as u64);
        let parameters = initialize(self.network, self.settings.start, &mut rng);
        self.batches = Batches::new(rng, self.examples.len(), self.settings.batch, Order::Whole);
        parameters
    }

    fn step(&mut self, step: u64, parameters: &[f64], gradient: &mut [f64]) -> f64 {
        let batch = self.batches.at(step).iter().map(|&index| &self.examples[index]);
        let what = (self.network, self.loss, self.settings.penalty);
        loss_and_gradient(what, parameters, batch, &mut self.tape, gradient)
    }
}

/// Trains one network with Adam and a half-cosine learning rate.
pub(crate) fn train(
    session: &mut Session<'_>,
    stage: &str,
    settings: &Fit,
    (network, loss): (&Gnn, Loss),
    examples: &[Example],
) -> Result<Vec<f64>, TrainError> {
    let plan = Plan::cosine(settings.steps, settings.rate);
    let batches = Batches::new(ChaCha8Rng::seed_from_u64(0), 0, 1, Order::Whole);
    let (settings, tape) = (*settings, Tape::default());
    let mut objective = Supervised { settings, network, loss, examples, batches, tape };
    session.train(stage, &plan, &mut objective)
}

/// Returns initial parameters. The weights of the other users start at 0, so that the network starts as a policy that
/// does not depend on them.
///
/// The features of the power networks start in their linear range, because both inner functions of the paper are
/// linear in `ln g`. Standardized `ln g` is below −10 only once in 10^9 users, and the weakest user of a cell gets
/// the most power. The features of the bandwidth network have kinks spread over the range of the inputs.
fn initialize(network: &Gnn, start: Start, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut parameters = Vec::with_capacity(network.parameter_count());
    let last = network.widths.len() - 2;
    for (layer, pair) in network.widths.windows(2).enumerate() {
        let (inputs, outputs) = (pair[0], pair[1]);
        let mut biases = Vec::with_capacity(outputs);
        for feature in 0..outputs {
            let size = rng.random_range(0.3..0.7) / (inputs as f64).sqrt();
            let bent = match start {
                Start::Linear => false,
                Start::Bent => true,
                Start::Mixed => feature % 2 == 1,
            };
            let bends = bent && layer < last;
            for _ in 0..inputs {
                let positive = layer == 0 && !bends;
                let sign = if positive || rng.random::<bool>() { 1.0 } else { -1.0 };
                parameters.push(sign * size);
            }
            let kink =
                if bends { rng.random_range(-3.0..2.0) } else { rng.random_range(-13.0..-11.0) };
            biases.push(match network.output {
                _ if layer == 0 => -kink * parameters[parameters.len() - 1],
                Output::Pretrained if layer == last => 1f64.exp_m1().ln(),
                // Softplus is close to an exponential here, like the inner function 1/g.
                Output::SumNormalisation if layer == last => -5.0,
                _ => 0.0,
            });
        }
        parameters.extend(std::iter::repeat_n(0.0, inputs * outputs));
        parameters.extend(biases);
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Activation, Aggregator};

    /// Tests every loss, aggregator and output with the penalty at random parameters.
    #[test]
    fn gradients_match_finite_differences() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for (loss, output) in [
            (Loss::Power, Output::Elementwise(Activation::Identity)),
            (Loss::Share, Output::Softmax),
            (Loss::Share, Output::SumNormalisation),
            (Loss::Bandwidth, Output::Pretrained),
        ] {
            for aggregator in Aggregator::ALL {
                // A smooth activation, so that finite differences cross no kink.
                let network = Gnn::new(&[1, 3, 2, 1], aggregator, Activation::Tanh, output);
                let mut draw = |count: usize, low: f64| -> Vec<f64> {
                    (0..count).map(|_| rng.random_range(low..1.0)).collect()
                };
                let parameters = draw(network.parameter_count(), -1.0);
                let examples: Vec<Example> = [1, 4, 7]
                    .map(|size| Example {
                        x: draw(size, -1.0),
                        outer: draw(size, 0.2),
                        labels: draw(size, -1.0),
                    })
                    .to_vec();
                let at = |parameters: &[f64], gradient: &mut [f64]| {
                    let what = (&network, loss, 0.01);
                    loss_and_gradient(
                        what,
                        parameters,
                        examples.iter(),
                        &mut Tape::default(),
                        gradient,
                    )
                };
                let mut gradient = vec![0.0; parameters.len()];
                at(&parameters, &mut gradient);
                for (index, analytic) in gradient.iter().enumerate() {
                    let shifted = |step: f64| {
                        let mut parameters = parameters.clone();
                        parameters[index] += step;
                        at(&parameters, &mut vec![0.0; parameters.len()])
                    };
                    let numeric = (shifted(1e-6) - shifted(-1e-6)) / 2e-6;
                    let off = (analytic - numeric).abs();
                    assert!(off < 1e-7 * (1.0 + analytic.abs()), "{loss:?} {index}: {off}");
                }
            }
        }
    }
}
