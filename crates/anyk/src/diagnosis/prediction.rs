//! Prediction of the loss of a network trained at `K_0` users on larger instances, from samples of at most `K_0`
//! users, and the measurement that checks it.
//!
//! The errors of the trained network at `K_0` are measured on held-out cells, as `z_k = ln(ŷ_k/y_k)`. Each of these
//! cells is then enlarged with users drawn from the samples. The change of the network's outputs is computed. The
//! change of the policy's outputs is extrapolated by its size law. The difference of the two is the drift d(x). The
//! part of z that depends only on the user's own input stays. The part that other users cause decays with K, at the
//! rate measured up to `K_0`. For a normalized policy, the outputs of every enlarged cell can be computed directly,
//! so z is not split into parts.
//!
//! The loss is the factor by which outputs are wrong, as a geometric mean over users, minus 1: `e^(mean |z_k|) − 1`.
//! A small loss is close to the mean relative error. Unlike the mean relative error, the loss also exists for outputs
//! near 0. Training minimizes the mean of `z_k²`.

use rand::RngExt;
use serde::Serialize;

use super::candidates::Layer;
use super::extrapolation::Extrapolation;
use super::residual::{fade, left, smoothed, spread};
use super::{Estimate, Instance, Samples, SizeSamples};
use crate::framework::{Cell, Error, SamplePrice, TrainError, train_on_samples};
use crate::math::Moments;
use crate::math::realization_rng;
use crate::network::Output;

/// Output layer with an outer function.
const OUTER: Layer = Layer::Network(Output::Pretrained);
/// Smallest loss, in percent, that is distinguished from 0. Ratios replace smaller losses by this value.
pub const SMALL_PERCENT: f64 = 1.0;
/// Number of cells at `K_0` per cell that is held out of the training.
const HELD_OUT: usize = 5;
/// Smallest size, relative to `K_0`, that is used to measure how fast the influence of other users decays.
const FADE_FROM: f64 = 0.2;
/// Limit of `|z|`, which is infinite for an output of 0.
const MOST_OFF: f64 = 600.0;
/// Share of the measured losses, in percent, that the range is meant to contain. The study `diagnose` measures the
/// actual share.
pub const PROMISE_PERCENT: f64 = 90.0;
/// Half-width of the range, in standard deviations.
const DEVIATIONS: f64 = 2.0;
/// Number of steps in which the range is scanned.
const STEPS: u32 = 8;
/// Margin of the range for all other errors, as a share of the logarithm of the loss.
const FINITE: f64 = 0.1;

/// Predicted and measured loss of a network with one output layer. A loss is the factor `max(ŷ_k/y_k, y_k/ŷ_k)`, as a
/// geometric mean over users, minus 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// Output layer of the network. A GNN aggregates by the mean; a price layer does not aggregate.
    pub output: Layer,
    /// Name of the output layer.
    pub label: &'static str,
    /// Number of users in training, `K_0`.
    pub train_k: usize,
    /// Number of users in the test.
    pub test_k: usize,
    /// Loss at the test's size, in percent, of a network that is exact at `K_0`. Only the difference between the size
    /// laws causes this loss.
    pub drift_percent: f64,
    /// Loss of the trained network at `K_0`, in percent.
    pub train_loss_percent: f64,
    /// Predicted loss at the test's size, in percent.
    pub predicted_percent: f64,
    /// Lower end of the prediction's range, in percent. The range is meant to contain [`PROMISE_PERCENT`] of the
    /// measured losses. It allows for an error of two standard deviations in the size law, two standard errors over
    /// cells, and a tenth of the loss for all other errors. The influence of other users may decay fully or not at
    /// all.
    pub low_percent: f64,
    /// Upper end of the range, in percent.
    pub high_percent: f64,
    /// Measured loss at the test's size, in percent.
    pub measured_percent: f64,
    /// Standard error of the mean `|z_k|`, the logarithm of the measured loss, over the cells of the test.
    pub measured_error: f64,
    /// Loss at the test's size, in percent, if the outer function is known at this size, or if the response of a price
    /// layer is fitted to samples of all sizes of at least `K_0`. For the other output layers, this is the measured
    /// loss. The check of the recommendation uses this loss, because an outer function and a response can be fitted to
    /// samples of all sizes.
    pub with_law_percent: f64,
    /// Measured over predicted loss, with losses below 1 % counted as 1 %.
    pub ratio: f64,
}

impl Prediction {
    /// Returns whether the measured loss lies in the range. Losses below [`SMALL_PERCENT`] count as that value.
    pub fn in_range(&self) -> bool {
        let measured = self.measured_percent.max(SMALL_PERCENT);
        (self.low_percent..=self.high_percent.max(SMALL_PERCENT)).contains(&measured)
    }
}

/// Function from the inputs of the users of a cell, and the outer function of each, to the outputs.
type Network = dyn Fn(&[f64], &[f64]) -> Vec<f64>;

impl Layer {
    /// Trains a network with this output layer on cells.
    fn train(self, cells: &[Cell], seed: u64) -> Result<Box<Network>, TrainError> {
        Ok(match self {
            Self::Price => {
                let network = SamplePrice::train(cells, seed)?;
                Box::new(move |x, _| network.outputs(x))
            }
            Self::Network(output) => {
                let network = train_on_samples(output, cells, seed)?;
                Box::new(move |x, outer| network.outputs(x, outer))
            }
        })
    }
}

/// Trains one network per output layer at `train_k` users, predicts its loss at `test_k` users from samples of at most
/// `train_k` users, and measures this loss. The price layer is included if the outputs of all instances have the same
/// sum. Returns an empty list if an output is not positive (the factor is then undefined), if an instance lacks users,
/// or if a size is missing.
pub fn predict(
    samples: &Samples,
    (train_k, test_k): (usize, usize),
    seed: u64,
) -> Result<Vec<Prediction>, Error> {
    let (Some(train), Some(test)) = (samples.at(train_k), samples.at(test_k)) else {
        return Ok(vec![]);
    };
    let small = samples.up_to(train_k);
    let (true, Ok(small)) = (samples.positive() && samples.whole(), small) else {
        return Ok(vec![]);
    };
    let all = Estimate::of(samples);
    let Some(known) = Extrapolation::new(&small, (train_k, test_k), seed) else {
        return Ok(vec![]);
    };
    Layer::all(samples.common_sum().is_some())
        .map(|output| {
            let seen = cells(train, output, |x| known.at_train(x));
            let (held, trained) = seen.split_at(seen.len() / HELD_OUT);
            let network = output.train(trained, seed)?;
            let sizes = (train_k, test_k, test.instances.len());
            let foreseen = foresee(&*network, output, &known, held, &small, sizes, seed);
            let unseen = misses(&*network, &cells(test, output, |x| known.at_test(x)));
            let train_loss = Loss::of(&misses(&*network, held));
            let measured = Loss::of(&unseen);
            let with_law = match output {
                Layer::Price => {
                    // Nothing in a price layer depends on K, but larger cells have higher prices.
                    let count = test.instances.len();
                    let large = samples.sizes().iter().filter(|size| size.k >= train_k);
                    let all = large.flat_map(|size| {
                        cells(size, output, |_| 1.0).into_iter().skip(count / HELD_OUT).take(count)
                    });
                    let network = output.train(&all.collect::<Vec<_>>(), seed)?;
                    let held = cells(test, output, |_| 1.0);
                    Loss::of(&misses(&*network, &held[..count / HELD_OUT])).percent()
                }
                OUTER => {
                    let cells = cells(test, output, |x| all.at(x, test_k));
                    Loss::of(&misses(&*network, &cells)).percent()
                }
                _ => measured.percent(),
            };
            let measured_percent = measured.percent();
            let predicted_percent = foreseen.loss.percent();
            Ok(Prediction {
                output,
                label: output.name(),
                train_k,
                test_k,
                drift_percent: foreseen.drift.percent(),
                train_loss_percent: train_loss.percent(),
                predicted_percent,
                low_percent: foreseen.low.percent(),
                high_percent: foreseen.high.percent(),
                measured_percent,
                measured_error: measured.error,
                with_law_percent: with_law,
                ratio: measured_percent.max(SMALL_PERCENT) / predicted_percent.max(SMALL_PERCENT),
            })
        })
        .collect()
}

/// Mean of `|z|` over users, and its standard error over cells.
#[derive(Clone, Copy)]
struct Loss {
    mean: f64,
    error: f64,
}

impl Loss {
    fn of(cells: &[Vec<f64>]) -> Self {
        let means = cells.iter().map(|z| z.iter().map(|z| z.abs()).collect::<Moments>().mean);
        let moments: Moments = means.collect();
        Self { mean: moments.mean, error: moments.standard_error() }
    }

    fn percent(self) -> f64 {
        100.0 * self.mean.exp_m1()
    }
}

/// Predicted loss of one network.
struct Foreseen {
    drift: Loss,
    loss: Loss,
    low: Loss,
    high: Loss,
}

fn foresee(
    network: &Network,
    output: Layer,
    known: &Extrapolation,
    held: &[Cell],
    small: &Samples,
    (train_k, test_k, test_cells): (usize, usize, usize),
    seed: u64,
) -> Foreseen {
    // Users outside the range of the training inputs are not drawn, since the network's output for one of them could
    // dominate the prediction.
    let trained = || small.at(train_k).into_iter().flat_map(SizeSamples::each).map(|user| user.0);
    let (least, most) = trained()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), x| (x.min(least), x.max(most)));
    let inputs: Vec<f64> =
        small.users().map(|user| user.0).filter(|x| (least..=most).contains(x)).collect();
    let (mut x, mut missed, mut drift) = (Vec::new(), Vec::new(), Vec::new());
    for (index, cell) in held.iter().enumerate() {
        let mut rng = realization_rng(seed, test_k, index as u64);
        let joining = (train_k..test_k).map(|_| inputs[rng.random_range(0..inputs.len())]);
        let joined: Vec<f64> = cell.x.iter().copied().chain(joining).collect();
        let outer = outer(&joined, output, |x| known.at_test(x));
        let before = network(&cell.x, &cell.outer);
        let after = network(&joined, &outer);
        let changes = known.changes(&cell.x, &joined);
        for (user, change) in changes.into_iter().enumerate() {
            x.push(cell.x[user]);
            missed.push(off(before[user], cell.y[user]));
            drift.push(off(after[user], before[user]) - change);
        }
    }
    let trend = smoothed(&x, &drift);
    let expected: Vec<f64> = if known.knows_cells() {
        missed.iter().zip(&drift).map(|(missed, drift)| missed + drift).collect()
    } else {
        let left = left(&x, &missed);
        let fade = fade(&spreads(network, output, known, small, spread(&left)), (train_k, test_k));
        let users = missed.iter().zip(&left).zip(&trend);
        users.map(|((missed, left), trend)| missed - left + fade * left + trend).collect()
    };
    // The decay of the other users' influence is also uncertain, so the range includes full decay and no decay.
    let fades: Vec<Vec<f64>> = if known.knows_cells() {
        vec![expected.clone()]
    } else {
        let left = left(&x, &missed);
        let users = || missed.iter().zip(&left).zip(&trend);
        let fully = (train_k as f64 / test_k as f64).min(1.0);
        [fully, 1.0]
            .map(|fade| {
                let of = |((missed, left), trend): ((&f64, &f64), &f64)| {
                    missed - left + fade * left + trend
                };
                users().map(of).collect()
            })
            .to_vec()
    };
    // The size law of a pre-trained activation is itself uncertain, with an error of unknown sign.
    let carried = output == OUTER;
    let shifted = |values: &[f64], deviations: f64| {
        let users = values.iter().zip(&x).map(|(value, &x)| {
            let unsure = deviations * known.unsure(x);
            let other = if carried { -unsure } else { unsure };
            0.5 * ((value + unsure).abs() + (value + other).abs())
        });
        let users: Vec<f64> = users.collect();
        Loss::of(&users.chunks(train_k).map(<[f64]>::to_vec).collect::<Vec<_>>())
    };
    let (middle, least) = if carried { (0.5, 0.0) } else { (0.0, -DEVIATIONS) };
    let loss = shifted(&expected, middle);
    // Scan the whole range, since the loss is smallest where the size law and the network agree, and this point may be
    // inside the range.
    let step = |part: u32| least + (DEVIATIONS - least) * f64::from(part) / f64::from(STEPS);
    let within = fades.iter().chain([&expected]).flat_map(|values| {
        let shifted = &shifted;
        (0..=STEPS).map(move |part| shifted(values, step(part)).mean)
    });
    let (low, high) =
        within.fold((loss.mean, loss.mean), |(low, high), mean| (mean.min(low), mean.max(high)));
    // The measured loss is also a mean over cells.
    let cells = (held.len() as f64 / test_cells.max(1) as f64).sqrt();
    let margin = DEVIATIONS * loss.error.hypot(loss.error * cells) + FINITE * loss.mean;
    let (low, high) = (low - margin, high + margin);
    Foreseen {
        drift: shifted(&trend, middle),
        loss,
        low: Loss { mean: low.max(0.0), ..loss },
        high: Loss { mean: high, ..loss },
    }
}

/// Returns the part of the network's errors that other users cause, at `K_0` and the sizes next to it.
fn spreads(
    network: &Network,
    output: Layer,
    known: &Extrapolation,
    small: &Samples,
    at_train: f64,
) -> Vec<(usize, f64)> {
    let Some((last, before)) = small.sizes().split_last() else { return vec![] };
    let near = before.iter().filter(|size| size.k as f64 >= FADE_FROM * last.k as f64);
    let mut spreads: Vec<(usize, f64)> = near
        .map(|size| {
            // The outer function at this size depends only on the user's own input, so `left` removes its effect.
            let cells = cells(size, output, |x| known.at_train(x));
            let x: Vec<f64> = cells.iter().flat_map(|cell| cell.x.iter().copied()).collect();
            (size.k, spread(&left(&x, &misses(network, &cells).concat())))
        })
        .collect();
    spreads.push((last.k, at_train));
    spreads
}

/// Returns `ln(ŷ/y)`.
fn off(learned: f64, y: f64) -> f64 {
    (learned / y).ln().clamp(-MOST_OFF, MOST_OFF)
}

/// Returns the outer function of all users if the output layer has one.
fn outer(x: &[f64], output: Layer, outer: impl Fn(f64) -> f64) -> Vec<f64> {
    match output {
        OUTER => x.iter().map(|&x| outer(x)).collect(),
        _ => vec![],
    }
}

/// Returns the samples of a size as cells for a network with this output layer.
fn cells(size: &SizeSamples, output: Layer, at_size: impl Fn(f64) -> f64) -> Vec<Cell> {
    let cell = |instance: &Instance| Cell {
        outer: outer(&instance.x, output, &at_size),
        x: instance.x.clone(),
        y: instance.y.clone(),
    };
    size.instances.iter().map(cell).collect()
}

/// Returns `z_k` of all users, cell by cell.
fn misses(network: &Network, cells: &[Cell]) -> Vec<Vec<f64>> {
    let of_cell = |cell: &Cell| {
        let learned = network(&cell.x, &cell.outer);
        learned.iter().zip(&cell.y).map(|(learned, y)| off(*learned, *y)).collect()
    };
    cells.iter().map(of_cell).collect()
}
