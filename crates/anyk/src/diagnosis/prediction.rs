//! How will a network trained at `K_0` users do at more of them? Predicted from samples of at most `K_0`
//! users, and checked by training one.
//!
//! A network that is good at `K_0` then follows its own size law, and the policy follows its own: their
//! outputs drift apart by a factor `e^d(x)`. What the trained network already misses at `K_0`, as ratios
//! `r_k = ŷ_k/y_k` on cells held out, becomes `r_k^s·e^d(x_k)` at the larger size, where s is by how much
//! less the other users do to an output there (1 if that is not known); the predicted loss is the mean of
//! `|r_k^s·e^d(x_k) − 1|`.

use serde::Serialize;

use super::candidates::output_name;
use super::extrapolation::Extrapolation;
use super::{DiagnosisError, Instance, Samples, SizeSamples};
use crate::network::Output;
use crate::training::{Cell, SampleNetwork, train_on_samples};

/// Losses under this, percent, are too small to tell apart: a ratio is that of at least so much.
pub const SMALL_PERCENT: f64 = 1.0;
/// One of so many samples at `K_0` is held out of the training.
const HELD_OUT: usize = 5;

/// Predicted and measured loss of one output. The loss is the mean of `|ŷ_k/y_k − 1|` over users.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// The output; the aggregator is the mean.
    pub output: Output,
    /// What it is called.
    pub label: &'static str,
    /// Size `K_0` of the training.
    pub train_k: usize,
    /// Size of the test.
    pub test_k: usize,
    /// What the size laws alone cost at the test's size, percent: of a network that is exact at `K_0`.
    pub drift_percent: f64,
    /// What a trained network misses at `K_0`, percent.
    pub train_loss_percent: f64,
    /// What it will miss at the test's size, percent: the prediction.
    pub predicted_percent: f64,
    /// What it does miss there, percent.
    pub measured_percent: f64,
    /// Measured over predicted, both at least 1 %.
    pub ratio: f64,
}

/// Predicts the loss at a larger size of networks trained at `train_k`, one for each output, from samples
/// of at most `train_k` users; then trains them there and measures it. Empty where outputs are not positive
/// (a relative error would not exist), instances are not whole, or a size is missing.
pub fn predict(
    samples: &Samples,
    (train_k, test_k): (usize, usize),
    seed: u64,
) -> Result<Vec<Prediction>, DiagnosisError> {
    let (Some(train), Some(test)) = (samples.at(train_k), samples.at(test_k)) else {
        return Ok(vec![]);
    };
    let small = samples.up_to(train_k);
    let (true, Ok(small)) = (samples.positive() && samples.whole(), small) else {
        return Ok(vec![]);
    };
    let Some(known) = Extrapolation::new(&small, (train_k, test_k), seed) else {
        return Ok(vec![]);
    };
    Output::ALL
        .into_iter()
        .map(|output| {
            let seen = cells(train, output, |x| known.at_train(x));
            let (held, trained) = seen.split_at(seen.len() / HELD_OUT);
            let network = train_on_samples(output, trained, seed)?;
            let missed = ratios(&network, held);
            let unseen = ratios(&network, &cells(test, output, |x| known.at_test(x)));
            let drift = |x: f64| known.drift(output, x);
            let shrink = known.shrink(output);
            // The sign of what is not known is not known either.
            let signs: &[f64] = if output == Output::Pretrained { &[1.0, -1.0] } else { &[1.0] };
            let predicted = missed.iter().flat_map(|&(x, ratio)| {
                let kept = ratio.powf(shrink);
                signs.iter().map(move |sign| (kept * (sign * drift(x)).exp() - 1.0).abs())
            });
            let drifts = known.inputs().map(|x| drift(x).exp_m1().abs());
            let predicted_percent = 100.0 * mean(predicted);
            let loss = |ratios: &[(f64, f64)]| {
                100.0 * mean(ratios.iter().map(|(_, ratio)| (ratio - 1.0).abs()))
            };
            let measured_percent = loss(&unseen);
            Ok(Prediction {
                output,
                label: output_name(output),
                train_k,
                test_k,
                drift_percent: 100.0 * mean(drifts),
                train_loss_percent: loss(&missed),
                predicted_percent,
                measured_percent,
                ratio: measured_percent.max(SMALL_PERCENT) / predicted_percent.max(SMALL_PERCENT),
            })
        })
        .collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / f64::max(count, 1.0)
}

/// The samples of a size for a network with this output.
fn cells(size: &SizeSamples, output: Output, outer: impl Fn(f64) -> f64) -> Vec<Cell> {
    let cell = |instance: &Instance| Cell {
        outer: match output {
            Output::Pretrained => instance.x.iter().map(|&x| outer(x)).collect(),
            _ => vec![],
        },
        x: instance.x.clone(),
        y: instance.y.clone(),
    };
    size.instances.iter().map(cell).collect()
}

/// `(x_k, ŷ_k/y_k)` of all users.
fn ratios(network: &SampleNetwork, cells: &[Cell]) -> Vec<(f64, f64)> {
    let of_cell = |cell: &Cell| {
        let learned = network.outputs(&cell.x, &cell.outer);
        let users = learned.iter().zip(&cell.y).zip(&cell.x);
        users.map(|((learned, y), &x)| (x, learned / y)).collect::<Vec<_>>()
    };
    cells.iter().flat_map(of_cell).collect()
}
