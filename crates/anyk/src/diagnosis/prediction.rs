//! How will a network trained at `K_0` users do at more of them? Predicted from samples of at most `K_0`
//! users, and checked by training one.

use serde::Serialize;

use super::candidates::output_name;
use super::law::{self, Law, polynomial};
use super::{Curve, Diagnosis, DiagnosisError, Estimate, Point, Samples, SizeLaw};
use crate::network::Output;
use crate::training::{Cell, train_on_samples};

/// Losses under this, percent, are too small to tell apart: a ratio is that of at least so much.
pub const SMALL_PERCENT: f64 = 1.0;
/// Of the samples at `K_0`, the share that the loss there is measured on.
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
    /// Both together, as the root of their squares, percent: the prediction.
    pub predicted_percent: f64,
    /// What the trained network misses at the test's size, percent.
    pub measured_percent: f64,
    /// Measured over predicted, both at least 1 %.
    pub ratio: f64,
}

/// A policy as it is known from small sizes, with what its laws say about a larger one.
struct Extrapolated {
    /// Inputs, ascending.
    x: Vec<f64>,
    /// `ln f(x, K_0)`.
    at_train: Vec<f64>,
    /// `ln f(x, K)` at the larger size.
    at_test: Vec<f64>,
    /// The same by the next best law: what is not known about the law.
    otherwise: Vec<f64>,
    /// By how much the inner function of a normalisation falls from `K_0` to K.
    inner_drop: Option<Vec<f64>>,
}

impl Extrapolated {
    /// None where the samples have no law: outputs that are not positive, or no size but one.
    fn new(small: &Samples, train_k: usize, test_k: usize) -> Option<Self> {
        let diagnosis = Diagnosis::of_samples(String::new(), small);
        let curves = law::fitted(&diagnosis.estimate.curves);
        let mut order = diagnosis.scores.clone();
        order.sort_by(|a, b| a.miss.total_cmp(&b.miss));
        let chosen = diagnosis.law.law().or_else(|| law::choose(&diagnosis.scores).map(|s| s.law));
        let chosen = chosen.or_else(|| order.first().map(|score| score.law))?;
        let other = order.iter().map(|score| score.law).find(|&law| law != chosen)?;
        if curves.len() != diagnosis.estimate.curves.len() {
            return None;
        }
        let ln_at = |law: Law| -> Option<Vec<f64>> {
            let values = curves.iter().map(|points| law.extrapolate(points, test_k));
            values.map(|value| value.filter(|value| *value > 0.0).map(f64::ln)).collect()
        };
        let at_train = curves.iter().map(|points| {
            points.iter().find(|point| point.k == train_k).map(|point| point.value.ln())
        });
        let inner_drop = match diagnosis.law {
            SizeLaw::Normalised { .. } => {
                let inner = diagnosis.inner.as_ref()?;
                let same = inner.curves.len() == curves.len();
                same.then(|| drops(inner, train_k, test_k)).flatten()
            }
            _ => None,
        };
        Some(Self {
            x: diagnosis.estimate.curves.iter().map(|curve| curve.x).collect(),
            at_train: at_train.collect::<Option<_>>()?,
            at_test: ln_at(chosen)?,
            otherwise: ln_at(other)?,
            inner_drop,
        })
    }

    /// `f(x, K_0)` or `f(x, K)`: straight lines in ln f between the inputs, and beyond them.
    fn outer(&self, values: &[f64], x: f64) -> f64 {
        let last = self.x.len().saturating_sub(2);
        let left = self.x.iter().filter(|&&at| at <= x).count().saturating_sub(1).min(last);
        let right = (left + 1).min(self.x.len() - 1);
        let width = self.x[right] - self.x[left];
        let share = if width > 0.0 { (x - self.x[left]) / width } else { 0.0 };
        (values[left] + share * (values[right] - values[left])).clamp(-600.0, 600.0).exp()
    }

    /// Mean of `|ŷ/y − 1|` over the inputs for a network that is exact at `K_0` and then follows its own
    /// law.
    fn drift(&self, output: Output, train_k: usize, test_k: usize) -> f64 {
        let count = self.x.len() as f64;
        let mean = |ln_ratio: &dyn Fn(usize) -> f64| {
            (0..self.x.len()).map(|i| ln_ratio(i).exp_m1().abs()).sum::<f64>() / count
        };
        let change = |i: usize| self.at_train[i] - self.at_test[i];
        match (output, &self.inner_drop) {
            (Output::Elementwise(_), _) => mean(&change),
            (Output::Pretrained, _) => mean(&|i| self.otherwise[i] - self.at_test[i]),
            (Output::Softmax | Output::SumNormalisation, Some(drop)) => {
                let weights = self.at_test.iter().map(|value| value.exp());
                let whole: f64 = weights.clone().sum();
                let sum: f64 = weights.zip(drop).map(|(weight, drop)| weight * drop.exp()).sum();
                mean(&|i| drop[i] - (sum / whole).ln())
            }
            (Output::Softmax | Output::SumNormalisation, None) => {
                let fall = (train_k as f64 / test_k as f64).ln();
                mean(&|i| fall + change(i))
            }
        }
    }
}

/// By how much each curve of an inner function falls from `K_0` to a larger size: along the polynomial in
/// `ln K` (constant, straight or bent) that best says the last size from those before it.
fn drops(inner: &Estimate, train_k: usize, test_k: usize) -> Option<Vec<f64>> {
    let rows = |points: &[Point], terms: usize| -> Vec<(f64, f64, f64)> {
        let from = if terms == 1 { points.len().saturating_sub(1) } else { 0 };
        points[from..].iter().map(|point| ((point.k as f64).ln(), point.value, 1.0)).collect()
    };
    let at = |points: &[Point], terms: usize, k: usize| {
        let rows = rows(points, terms);
        (rows.len() >= terms).then(|| polynomial(&rows, terms, (k as f64).ln())).flatten()
    };
    let miss = |terms: usize| -> Option<f64> {
        let squares = inner.curves.iter().map(|curve: &Curve| {
            let (last, before) = curve.points.split_last()?;
            Some((at(before, terms, last.k)? - last.value).powi(2))
        });
        squares.sum()
    };
    let scored = (1..=3).filter_map(|terms| miss(terms).map(|miss| (terms, miss)));
    let (terms, _) = scored.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let drop = |curve: &Curve| {
        let now = curve.at(train_k)?.value;
        Some(now - at(&curve.points, terms, test_k)?)
    };
    inner.curves.iter().map(drop).collect()
}

/// Predicts the loss at a larger size of networks trained at `train_k`, one for each output, from samples
/// of at most `train_k` users; then trains them there and measures it. Empty where outputs are not positive:
/// a relative error would not exist.
pub fn predict(
    samples: &Samples,
    (train_k, test_k): (usize, usize),
    seed: u64,
) -> Result<Vec<Prediction>, DiagnosisError> {
    let (Some(train), Some(test)) = (samples.at(train_k), samples.at(test_k)) else {
        return Ok(vec![]);
    };
    if !(samples.positive() && samples.whole()) {
        return Ok(vec![]);
    }
    let small = samples.up_to(train_k)?;
    let Some(known) = Extrapolated::new(&small, train_k, test_k) else { return Ok(vec![]) };
    let cells = |size: &super::SizeSamples, values: &[f64], output: Output| -> Vec<Cell> {
        let cell = |instance: &super::Instance| Cell {
            outer: match output {
                Output::Pretrained => instance.x.iter().map(|&x| known.outer(values, x)).collect(),
                _ => vec![],
            },
            x: instance.x.clone(),
            y: instance.y.clone(),
        };
        size.instances.iter().map(cell).collect()
    };
    Output::ALL
        .into_iter()
        .map(|output| {
            let seen = cells(train, &known.at_train, output);
            let (held, trained) = seen.split_at(seen.len() / HELD_OUT);
            let network = train_on_samples(output, trained, seed)?;
            let loss = |cells: &[Cell]| {
                let (mut sum, mut count) = (0.0, 0.0);
                for cell in cells {
                    for (learned, y) in network.outputs(&cell.x, &cell.outer).iter().zip(&cell.y) {
                        sum += (learned / y - 1.0).abs();
                        count += 1.0;
                    }
                }
                100.0 * sum / f64::max(count, 1.0)
            };
            let drift_percent = 100.0 * known.drift(output, train_k, test_k);
            let train_loss_percent = loss(held);
            let predicted_percent = drift_percent.hypot(train_loss_percent);
            let measured_percent = loss(&cells(test, &known.at_test, output));
            let ratio = measured_percent.max(SMALL_PERCENT) / predicted_percent.max(SMALL_PERCENT);
            Ok(Prediction {
                output,
                label: output_name(output),
                train_k,
                test_k,
                drift_percent,
                train_loss_percent,
                predicted_percent,
                measured_percent,
                ratio,
            })
        })
        .collect()
}
