//! Supervised training of a small network on samples of any policy with positive outputs. The network aggregates by the
//! mean, has a given output layer, and works for any K.

use crate::framework::supervised::{Example, Fit, Loss, Start, train};
use crate::framework::{Session, Silent, TrainError};
use crate::network::{Activation, Aggregator, Gnn, Output, Tape};

/// Number of hidden features.
const HIDDEN: usize = 8;
/// Training settings, as for the networks of (P5) and (P6).
const FIT: Fit =
    Fit { batch: 20, steps: 4000, rate: 1e-2, penalty: 1.0, start: Start::Mixed, seed: 0 };

/// Users of one realization.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cell {
    /// Inputs `x_k`.
    pub x: Vec<f64>,
    /// Outputs `y_k`, which must be positive.
    pub y: Vec<f64>,
    /// Outer function `f(x_k, K)`, only for [`Output::Pretrained`].
    pub outer: Vec<f64>,
}

/// Trained network with the scales of its inputs and outputs.
#[derive(Debug, Clone)]
pub struct SampleNetwork {
    network: Gnn,
    parameters: Vec<f64>,
    mean: f64,
    deviation: f64,
    unit: f64,
    logarithmic: bool,
}

/// Trains a network on cells with relative errors.
///
/// An elementwise output is replaced by an exponential, `y = e^o`. It does not depend on K either, and `o` is then
/// almost linear for outputs that span decades.
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
    // Equal inputs have a deviation of 0.
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
    /// Returns the outputs for users with the inputs `x`. `outer` is the outer function, as in training.
    pub fn outputs(&self, x: &[f64], outer: &[f64]) -> Vec<f64> {
        let x: Vec<f64> = x.iter().map(|x| (x - self.mean) / self.deviation).collect();
        let mut tape = Tape::default();
        let outputs = self.network.forward(&self.parameters, &x, outer, &mut tape);
        let scale = |&output: &f64| {
            // An input far outside the training range must not overflow.
            let value = if self.logarithmic { output.clamp(-300.0, 300.0).exp() } else { output };
            self.unit * value
        };
        outputs.iter().map(scale).collect()
    }
}
