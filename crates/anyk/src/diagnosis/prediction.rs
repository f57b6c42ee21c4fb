//! How will a network trained at `K_0` users do at more of them? Predicted from samples of at most `K_0`
//! users, and checked by measuring.
//!
//! What the trained network misses at `K_0` is seen on cells held out, as `z_k = ln(ŷ_k/y_k)`. Each of these
//! cells is then made larger by users like those seen. What the network gives in it is computed, what the
//! policy would give is extrapolated by its size law: the difference is the drift d(x). The part of z that
//! goes with the user's own input stays; the part that comes from the others fades, as fast as it is seen
//! to fade up to `K_0`. For a normalised policy the outputs of the larger cell are known one by one, and
//! nothing need be taken apart.
//!
//! A loss is the factor by which outputs are off, in the geometric mean over users, less 1:
//! `e^(mean |z_k|) − 1`. It is what training minimises (its square), it is the relative error where that is
//! small, and it has a mean for outputs that come near 0, where the relative error has none.

use rand::RngExt;
use serde::Serialize;

use super::candidates::output_name;
use super::extrapolation::Extrapolation;
use super::residual::{fade, left, smoothed, spread};
use super::{Estimate, Instance, Samples, SizeSamples};
use crate::framework::{Cell, Error, SampleNetwork, train_on_samples};
use crate::math::Moments;
use crate::math::realization_rng;
use crate::network::Output;

/// Losses under this, percent, are too small to tell apart: a ratio is that of at least so much.
pub const SMALL_PERCENT: f64 = 1.0;
/// One of so many samples at `K_0` is held out of the training.
const HELD_OUT: usize = 5;
/// Sizes from this share of `K_0` on say how fast the others' part fades.
const FADE_FROM: f64 = 0.2;
/// An output of 0 is off by no more than this, as a logarithm.
const MOST_OFF: f64 = 600.0;
/// What a range promises: so many of a hundred losses lie in it. The study `diagnose` counts how many do.
pub const PROMISE_PERCENT: f64 = 90.0;
/// Deviations to each side of a range.
const DEVIATIONS: f64 = 2.0;
/// Steps in which a range is gone through.
const STEPS: u32 = 8;
/// What a range allows for in any case, relative to the loss as a logarithm.
const FINITE: f64 = 0.1;

/// Predicted and measured loss of one output. A loss is the factor `max(ŷ_k/y_k, y_k/ŷ_k)` in the
/// geometric mean over users, less 1.
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
    /// Lower end of the range of the prediction: the policy's law off by up to two deviations either way, what the
    /// others do fading fully or not at all, two standard errors over cells, and a tenth for all else. It is to hold
    /// [`PROMISE_PERCENT`] of what is measured.
    pub low_percent: f64,
    /// Upper end.
    pub high_percent: f64,
    /// What it does miss there, percent.
    pub measured_percent: f64,
    /// Standard error of its logarithm, `mean |z_k|`, over the cells of the test.
    pub measured_error: f64,
    /// What it would miss if its outer function were known there, percent: of a pre-trained activation, whose outer
    /// function is otherwise carried on from the small sizes. The recommendation is checked by this: what is fitted
    /// to all sizes is known at the largest.
    pub with_law_percent: f64,
    /// Measured over predicted, both at least 1 %.
    pub ratio: f64,
}

impl Prediction {
    /// Whether what is measured lies in the range; losses that are too small count as one.
    pub fn in_range(&self) -> bool {
        let measured = self.measured_percent.max(SMALL_PERCENT);
        (self.low_percent..=self.high_percent.max(SMALL_PERCENT)).contains(&measured)
    }
}

/// Predicts the loss at a larger size of networks trained at `train_k`, one for each output, from samples
/// of at most `train_k` users; then measures it. Empty where outputs are not positive (there would be no
/// factor), instances are not whole, or a size is missing.
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
    Output::ALL
        .into_iter()
        .map(|output| {
            let seen = cells(train, output, |x| known.at_train(x));
            let (held, trained) = seen.split_at(seen.len() / HELD_OUT);
            let network = train_on_samples(output, trained, seed)?;
            let sizes = (train_k, test_k, test.instances.len());
            let foreseen = foresee(&network, output, &known, held, &small, sizes, seed);
            let unseen = misses(&network, &cells(test, output, |x| known.at_test(x)));
            let train_loss = Loss::of(&misses(&network, held));
            let measured = Loss::of(&unseen);
            let with_law = match output {
                Output::Pretrained => {
                    let cells = cells(test, output, |x| all.at(x, test_k));
                    Loss::of(&misses(&network, &cells)).percent()
                }
                _ => measured.percent(),
            };
            let measured_percent = measured.percent();
            let predicted_percent = foreseen.loss.percent();
            Ok(Prediction {
                output,
                label: output_name(output),
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

/// Mean of `|z|` over users, with its standard error over cells.
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

/// What is said about a network before it is measured.
struct Foreseen {
    drift: Loss,
    loss: Loss,
    low: Loss,
    high: Loss,
}

fn foresee(
    network: &SampleNetwork,
    output: Output,
    known: &Extrapolation,
    held: &[Cell],
    small: &Samples,
    (train_k, test_k, test_cells): (usize, usize, usize),
    seed: u64,
) -> Foreseen {
    // Nobody unlike all of the training joins: what a network makes of one such user could be all of a
    // prediction.
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
        let before = network.outputs(&cell.x, &cell.outer);
        let after = network.outputs(&joined, &outer);
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
    // How much of the others' part fades is not quite known either: all of it, or nothing.
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
    // A pre-trained activation follows a law that is not quite known, and what is not known has no sign.
    let carried = output == Output::Pretrained;
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
    // Within the range of laws, not only at its ends: a loss is least where the law and the network meet.
    let step = |part: u32| least + (DEVIATIONS - least) * f64::from(part) / f64::from(STEPS);
    let within = fades.iter().chain([&expected]).flat_map(|values| {
        let shifted = &shifted;
        (0..=STEPS).map(move |part| shifted(values, step(part)).mean)
    });
    let (low, high) =
        within.fold((loss.mean, loss.mean), |(low, high), mean| (mean.min(low), mean.max(high)));
    // What is measured is a mean over cells as well.
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

/// The others' part of what a network misses, at `K_0` and the sizes next to it.
fn spreads(
    network: &SampleNetwork,
    output: Output,
    known: &Extrapolation,
    small: &Samples,
    at_train: f64,
) -> Vec<(usize, f64)> {
    let Some((last, before)) = small.sizes().split_last() else { return vec![] };
    let near = before.iter().filter(|size| size.k as f64 >= FADE_FROM * last.k as f64);
    let mut spreads: Vec<(usize, f64)> = near
        .map(|size| {
            // What the outer function is at this size goes with the own input, and is taken out.
            let cells = cells(size, output, |x| known.at_train(x));
            let x: Vec<f64> = cells.iter().flat_map(|cell| cell.x.iter().copied()).collect();
            (size.k, spread(&left(&x, &misses(network, &cells).concat())))
        })
        .collect();
    spreads.push((last.k, at_train));
    spreads
}

/// `ln(ŷ/y)`.
fn off(learned: f64, y: f64) -> f64 {
    (learned / y).ln().clamp(-MOST_OFF, MOST_OFF)
}

/// The outer function of all users, for a network that has one.
fn outer(x: &[f64], output: Output, outer: impl Fn(f64) -> f64) -> Vec<f64> {
    match output {
        Output::Pretrained => x.iter().map(|&x| outer(x)).collect(),
        _ => vec![],
    }
}

/// The samples of a size for a network with this output.
fn cells(size: &SizeSamples, output: Output, at_size: impl Fn(f64) -> f64) -> Vec<Cell> {
    let cell = |instance: &Instance| Cell {
        outer: outer(&instance.x, output, &at_size),
        x: instance.x.clone(),
        y: instance.y.clone(),
    };
    size.instances.iter().map(cell).collect()
}

/// `z_k` of all users, cell by cell.
fn misses(network: &SampleNetwork, cells: &[Cell]) -> Vec<Vec<f64>> {
    let of_cell = |cell: &Cell| {
        let learned = network.outputs(&cell.x, &cell.outer);
        learned.iter().zip(&cell.y).map(|(learned, y)| off(*learned, *y)).collect()
    };
    cells.iter().map(of_cell).collect()
}
