//! Supervised training on samples of any policy with positive outputs: a small network of the mean
//! aggregator with a given output, for use at any K.

use crate::framework::supervised::{Example, Fit, Loss, Start, train};
use crate::framework::{Session, Silent, TrainError};
use crate::network::{Activation, Aggregator, Gnn, Output, Tape};

/// Features of the hidden layer.
const HIDDEN: usize = 8;
/// How it is trained: as the networks of (P5) and (P6).
const FIT: Fit =
    Fit { batch: 20, steps: 4000, rate: 1e-2, penalty: 1.0, start: Start::Mixed, seed: 0 };

/// The users of one realization.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cell {
    /// Inputs `x_k`.
    pub x: Vec<f64>,
    /// Outputs `y_k`, positive.
    pub y: Vec<f64>,
    /// Outer function `f(x_k, K)`, for [`Output::Pretrained`] alone.
    pub outer: Vec<f64>,
}

/// A trained network with its scales.
#[derive(Debug, Clone)]
pub struct SampleNetwork {
    network: Gnn,
    parameters: Vec<f64>,
    mean: f64,
    deviation: f64,
    unit: f64,
    logarithmic: bool,
}

/// Trains a network on cells, in relative errors.
///
/// An elementwise output is an exponential here, `y = e^o`: it does not depend on K either, and outputs
/// that span decades are then near-linear in `o`.
pub fn train_on_samples(
    output: Output,
    cells: &[Cell],
    seed: u64,
) -> Result<SampleNetwork, TrainError> {
    let logarithmic = matches!(output, Output::Elementwise(_));
    let output = if logarithmic { Output::Elementwise(Activation::Identity) } else { output };
    let inputs = || cells.iter().flat_map(|cell| cell.x.iter().copied());
    let count = inputs().count().max(1) as f64;
    let mean = inputs().sum::<f64>() / count;
    let variance = inputs().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
    // All inputs on one spot have no deviation.
    let deviation = variance.sqrt().max(1e-9 * mean.abs()).max(f64::MIN_POSITIVE);
    let unit = match output {
        Output::Softmax | Output::SumNormalisation => {
            cells.iter().flat_map(|cell| &cell.y).sum::<f64>() / cells.len().max(1) as f64
        }
        Output::Pretrained => 1.0,
        Output::Elementwise(_) => {
            (cells.iter().flat_map(|cell| &cell.y).map(|y| y.ln()).sum::<f64>() / count).exp()
        }
    };
    let network = Gnn::new(&[1, HIDDEN, 1], Aggregator::Mean, Activation::LeakyRelu, output);
    let examples: Vec<Example> = cells
        .iter()
        .map(|cell| Example {
            x: cell.x.iter().map(|x| (x - mean) / deviation).collect(),
            outer: cell.outer.clone(),
            labels: cell.y.iter().map(|y| (y / unit).ln()).collect(),
        })
        .collect();
    let loss = if logarithmic { Loss::Power } else { Loss::Share };
    let fit = Fit { seed, ..FIT };
    let parameters =
        train(&mut Session::new(&Silent), "training", &fit, (&network, loss), &examples)?;
    Ok(SampleNetwork { network, parameters, mean, deviation, unit, logarithmic })
}

impl SampleNetwork {
    /// Outputs for users with these inputs; `outer` as in training.
    pub fn outputs(&self, x: &[f64], outer: &[f64]) -> Vec<f64> {
        let x: Vec<f64> = x.iter().map(|x| (x - self.mean) / self.deviation).collect();
        let mut tape = Tape::default();
        let outputs = self.network.forward(&self.parameters, &x, outer, &mut tape);
        let scale = |&output: &f64| {
            // An input far from all that was trained on must not leave the numbers.
            let value = if self.logarithmic { output.clamp(-300.0, 300.0).exp() } else { output };
            self.unit * value
        };
        outputs.iter().map(scale).collect()
    }
}
