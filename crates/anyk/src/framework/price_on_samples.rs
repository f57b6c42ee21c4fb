//! Supervised training of a price layer on samples of any policy with positive outputs that share one budget.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::framework::batches::{Batches, Order};
use crate::framework::{Cell, Objective, Plan, Session, Silent, TrainError};
use crate::math::Moments;
use crate::network::{ClassResponse, PowerSplit, ResponseGradient};

/// Number of cells per step, number of steps, and initial learning rate.
const BATCH: usize = 10;
const STEPS: u64 = 3000;
const RATE: f64 = 1e-2;
/// Number of parameters before those of the response: `a` and `b`.
const WEIGHTS: usize = 2;
/// Initial level and logarithm of the initial slope of the response.
const START: (f64, f64) = (-5.5, -0.7);
/// Limit of the logarithm of a unit, so that an input far outside the training range does not overflow.
const LARGEST: f64 = 50.0;

/// Trained price layer with the scales of its inputs and outputs:
///
/// ```text
/// ln(y_k/c) = a·z_k + ψ(λ + b·z_k),     Σ_k y_k = c.
/// ```
///
/// `z_k` is the standardized input, and λ is the logarithm of the price that spends the budget. With `a = b`, the
/// outputs are optimal for the cost of a user if its amount is measured in its own unit, `e^(a·z_k)`. With `a = 0`,
/// they are optimal for a cost with the weight `e^(−b·z_k)`.
#[derive(Debug, Clone)]
pub struct SamplePrice {
    parameters: Vec<f64>,
    mean: f64,
    deviation: f64,
    sum: f64,
}

impl SamplePrice {
    /// Trains a price layer with relative errors on cells whose outputs have the same sum.
    pub fn train(cells: &[Cell], seed: u64) -> Result<Self, TrainError> {
        let x: Moments = cells.iter().flat_map(|cell| cell.x.iter().copied()).collect();
        // Equal inputs have a deviation of 0.
        let deviation = x.deviation().max(1e-9 * x.mean.abs()).max(f64::MIN_POSITIVE);
        let sums: Moments = cells.iter().map(|cell| cell.y.iter().sum::<f64>()).collect();
        let (mean, sum) = (x.mean, sums.mean);
        let scaled = |cell: &Cell| Cell {
            x: cell.x.iter().map(|x| (x - mean) / deviation).collect(),
            y: cell.y.iter().map(|y| (y / sum).ln()).collect(),
            outer: Vec::new(),
        };
        let cells: Vec<Cell> = cells.iter().map(scaled).collect();
        let batches = Batches::new(ChaCha8Rng::seed_from_u64(0), 0, 1, Order::Whole);
        let mut objective = OnSamples { cells, seed, batches, split: PowerSplit::default() };
        let plan = Plan::cosine(STEPS, RATE);
        let parameters = Session::new(&Silent).train("training", &plan, &mut objective)?;
        Ok(Self { parameters, mean, deviation, sum })
    }

    /// Draws an untrained price layer for standardized inputs. Its outputs sum to 1.
    pub(crate) fn random(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let weight = rng.sample(StandardNormal);
        Self { parameters: start(weight, &mut rng), mean: 0.0, deviation: 1.0, sum: 1.0 }
    }

    /// Returns the outputs for users with the inputs `x`.
    pub fn outputs(&self, x: &[f64]) -> Vec<f64> {
        let z: Vec<f64> = x.iter().map(|x| (x - self.mean) / self.deviation).collect();
        let mut split = PowerSplit::default();
        respond(&self.parameters, &z, &mut split);
        shares(&split).map(|share| self.sum * share).collect()
    }
}

/// Returns initial parameters whose outputs change with the input as `e^(weight·z)`.
fn start(weight: f64, rng: &mut ChaCha8Rng) -> Vec<f64> {
    // The slope of the response takes away half of the exponent.
    let mut parameters = vec![2.0 * weight; WEIGHTS];
    parameters.extend(ClassResponse::initialize(START, &mut || rng.sample(StandardNormal)));
    parameters
}

/// Splits a budget of 1, and returns the response.
fn respond(parameters: &[f64], z: &[f64], split: &mut PowerSplit) -> ClassResponse {
    let response = ClassResponse::new(&parameters[WEIGHTS..]);
    split.clear();
    for z in z {
        let ln_unit = (parameters[0] * z).clamp(-LARGEST, LARGEST);
        let offset = (parameters[1] * z).clamp(-LARGEST, LARGEST);
        split.push(0, ln_unit.exp(), ln_unit - offset);
    }
    split.split(None, std::slice::from_ref(&response), 1.0, 1.0);
    response
}

/// Returns the shares of the budget after a split.
fn shares(split: &PowerSplit) -> impl Iterator<Item = f64> {
    split.least_w().iter().zip(split.excess()).map(|(unit, excess)| unit * excess)
}

/// Mean squared error of the logarithms, per user.
struct OnSamples {
    /// Standardized inputs, and logarithms of the shares.
    cells: Vec<Cell>,
    seed: u64,
    batches: Batches,
    split: PowerSplit,
}

impl Objective<f64> for OnSamples {
    fn start(&mut self, attempt: u32) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(u64::MAX - u64::from(attempt));
        let users = || self.cells.iter().flat_map(|cell| cell.x.iter().zip(&cell.y));
        // The inputs have the mean 0 and the variance 1.
        let products: Moments = users().map(|(z, label)| z * label).collect();
        let parameters = start(products.mean, &mut rng);
        self.batches = Batches::new(rng, self.cells.len(), BATCH, Order::Fresh);
        parameters
    }

    fn step(&mut self, step: u64, parameters: &[f64], gradient: &mut [f64]) -> f64 {
        let batch = self.batches.at(step);
        let (mut loss, mut weights) = (0.0, [0.0; WEIGHTS]);
        let mut of_response = ResponseGradient::default();
        for cell in batch.iter().map(|&index| &self.cells[index]) {
            let response = respond(parameters, &cell.x, &mut self.split);
            let scale = 1.0 / (batch.len() * cell.x.len()) as f64;
            let missed = shares(&self.split).zip(&cell.y).map(|(share, label)| share.ln() - label);
            let missed: Vec<f64> = missed.collect();
            loss += scale * missed.iter().map(|missed| missed * missed).sum::<f64>();
            // All outputs react to the price, which changes such that the sum of the outputs stays the same.
            let slopes = self.split.slopes();
            let by_price: f64 =
                missed.iter().zip(slopes).map(|(missed, slope)| missed * slope).sum();
            let sum: f64 =
                shares(&self.split).zip(slopes).map(|(share, slope)| share * slope).sum();
            let users = cell.x.iter().zip(slopes).zip(missed.iter().zip(shares(&self.split)));
            for ((z, slope), (missed, share)) in users {
                let upstream = 2.0 * scale * (missed - share * by_price / sum);
                weights[0] += upstream * z;
                weights[1] += upstream * slope * z;
                let t = self.split.ln_price() + parameters[1] * z;
                response.accumulate(t, upstream, &mut of_response);
            }
        }
        gradient[..WEIGHTS].copy_from_slice(&weights);
        gradient[WEIGHTS..].copy_from_slice(of_response.values());
        loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the gradient, through the price, with central differences.
    #[test]
    fn gradients_match_finite_differences() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut draw = |count| (0..count).map(|_| rng.sample(StandardNormal)).collect();
        let cells = [1, 4, 7].map(|size| Cell { x: draw(size), y: draw(size), outer: vec![] });
        let batches = Batches::new(ChaCha8Rng::seed_from_u64(0), 0, 1, Order::Fresh);
        let split = PowerSplit::default();
        let mut objective = OnSamples { cells: cells.to_vec(), seed: 1, batches, split };
        let noise: Vec<f64> = draw(objective.start(0).len());
        let start = objective.start(0).into_iter().zip(noise);
        let parameters: Vec<f64> = start.map(|(start, noise)| start + 0.1 * noise).collect();
        let mut gradient = vec![0.0; parameters.len()];
        objective.step(0, &parameters, &mut gradient);
        for (index, analytic) in gradient.iter().enumerate() {
            let mut shifted = |step: f64| {
                let mut parameters = parameters.clone();
                parameters[index] += step;
                objective.step(0, &parameters, &mut vec![0.0; parameters.len()])
            };
            let numeric = (shifted(1e-4) - shifted(-1e-4)) / 2e-4;
            // The price is accurate to its square tolerance.
            assert!(
                (analytic - numeric).abs() < 2e-3 * (1.0 + analytic.abs()),
                "{index}: {analytic} {numeric}"
            );
        }
    }

    /// The price layer finds the response of the costs `c(g·y)` with `c(u) = 1/(u − 1)`, for small and large cells.
    #[test]
    fn one_response_is_learned_for_small_and_large_cells() {
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        let mut cell = |size: usize| {
            let x: Vec<f64> = (0..size).map(|_| rng.sample(StandardNormal)).collect();
            let power = |ln_price: f64, x: f64| ((0.5 * (x - ln_price)).exp() + 1.0) / x.exp();
            let (mut low, mut high) = (-60.0, 60.0);
            for _ in 0..100 {
                let middle = 0.5 * (low + high);
                let sum: f64 = x.iter().map(|&x| power(middle, x)).sum();
                (low, high) = if sum > 1e3 { (middle, high) } else { (low, middle) };
            }
            let y = x.iter().map(|&x| power(low, x)).collect();
            Cell { x, y, outer: vec![] }
        };
        let train: Vec<Cell> = (0..200).map(|index| cell([20, 100][index % 2])).collect();
        let test: Vec<Cell> = (0..20).map(|index| cell([20, 100][index % 2])).collect();
        let policy = SamplePrice::train(&train, 1);
        let Ok(policy) = policy else { unreachable!("{policy:?}") };
        let mut off = Moments::default();
        for cell in &test {
            let outputs = policy.outputs(&cell.x);
            assert!((outputs.iter().sum::<f64>() / 1e3 - 1.0).abs() < 1e-9);
            let pairs = outputs.iter().zip(&cell.y);
            pairs.for_each(|(output, label)| off.push((output / label).ln().abs()));
        }
        assert!(off.mean < 0.01, "{}", off.mean);
    }
}
