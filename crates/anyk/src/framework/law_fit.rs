//! Pre-training of an outer function: a small network whose inputs are a gain and the number of users.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use crate::framework::batches::{Batches, Order};
use crate::framework::{
    Initialization, Objective, Plan, RatePer, Schedule, Session, TrainError, Update,
};
use crate::math::single;
use crate::network::{Activation, BandwidthLaw, Dense, DenseTape, LawShape};

/// Loss of the pre-training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PretrainLoss {
    /// Mean squared error against labels `b(α P_max/K)` (eq. (Loss-sup)).
    Supervised,
    /// Mean square of the KKT residual `θ(S^E − C^E)` at equal power (eq. (Loss-unsup)), which needs no labels.
    Unsupervised,
}

/// Sizes in the samples of an outer function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum LawSizes {
    /// All sizes from 1 to `most`.
    Every {
        /// Largest size.
        most: usize,
    },
    /// Sizes from 1 to `most` with evenly spaced logarithms.
    Geometric {
        /// Largest size.
        most: usize,
        /// Number of sizes; small sizes occur more than once.
        count: usize,
    },
}

impl LawSizes {
    /// Returns the sizes in ascending order.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn list(self) -> Vec<usize> {
        match self {
            Self::Every { most } => (1..=most).collect(),
            Self::Geometric { most, count } => {
                let exponent = |index: usize| index as f64 / (count.max(2) - 1) as f64;
                let size = |index| (most as f64).powf(exponent(index)).round() as usize;
                (0..count).map(size).collect()
            }
        }
    }

    /// Returns the largest size.
    pub fn most(self) -> usize {
        match self {
            Self::Every { most } | Self::Geometric { most, .. } => most,
        }
    }
}

/// Settings of the pre-training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PretrainSettings {
    /// Loss to minimize.
    pub loss: PretrainLoss,
    /// Shape of the network.
    pub shape: LawShape,
    /// Sizes in the samples.
    pub sizes: LawSizes,
    /// Number of gains drawn for each size.
    pub samples_per_size: usize,
    /// Number of samples per step.
    pub batch: usize,
    /// Number of passes over the samples.
    pub epochs: usize,
    /// Update rule of the parameters.
    pub update: Update,
    /// Schedule of the learning rate.
    pub rate: Schedule,
    /// Unit of t in the schedule.
    pub rate_per: RatePer,
    /// Initialization of the parameters.
    pub initialization: Initialization,
    /// Whether errors are relative to the label, and small cells get a larger weight if every size occurs once. The
    /// paper's absolute squares neglect two kinds of samples. The first are near users, whose bandwidths are small. The
    /// second are the smallest cells, which are few among 1, …, 200 and for which the outer function is steepest.
    pub balanced: bool,
}

impl Default for PretrainSettings {
    /// Returns settings with as many samples as in the paper (table I), but with a network and an optimizer that take a
    /// second instead of a minute and are more accurate. Every training run prints the error. The sizes reach further
    /// than those of the paper, since an outer function cannot be used beyond its sizes: bandwidths grow without bound
    /// as the gain approaches the weakest one that can be served.
    fn default() -> Self {
        Self {
            loss: PretrainLoss::Supervised,
            shape: LawShape::logarithmic(),
            sizes: LawSizes::Geometric { most: 1200, count: 200 },
            samples_per_size: 20,
            batch: 100,
            epochs: 400,
            update: Update::ADAM,
            rate: Schedule::Cosine { rate: 5e-3, last: 0.0 },
            rate_per: RatePer::Step,
            initialization: Initialization::Placed,
            balanced: true,
        }
    }
}

impl PretrainSettings {
    /// Returns the settings of the paper (table II): plain gradient steps, learning rate `0.01/(1 + 0.001t)`, 2500
    /// epochs, absolute squared errors.
    ///
    /// The paper does not state the unit of its bandwidths, on which plain gradient steps depend. In MHz they end far
    /// from the outer function; in 10 kHz they diverge. These settings use the unit with the smallest error on separate
    /// gains; `anyk reproduce ablation` prints this error.
    pub fn paper() -> Self {
        Self {
            shape: LawShape { unit_khz: 30, ..LawShape::default() },
            sizes: LawSizes::Every { most: 200 },
            epochs: 2500,
            update: Update::Sgd { scale: 1.0 },
            rate: Schedule::Inverse { rate: 0.01, decay: 0.001 },
            rate_per: RatePer::Epoch,
            initialization: Initialization::Normal,
            balanced: false,
            ..Self::default()
        }
    }

    /// Returns the plan of the training on `samples` samples.
    fn plan(&self, samples: usize) -> Plan {
        let per_epoch = samples.div_ceil(self.batch.max(1)) as u64;
        Plan {
            rate: self.rate,
            rate_every: self.rate_per.steps(per_epoch),
            update: self.update,
            ..Plan::cosine(self.epochs as u64 * per_epoch, 0.0)
        }
    }
}

/// Sample `(α, K)` with the received power at equal power for that K.
pub(crate) struct LawSample {
    pub(crate) gain: f64,
    pub(crate) size: usize,
    pub(crate) received_w: f64,
}

/// Loss of the sample at an index, and its derivative with respect to the network's output.
type LossOf<'a> = &'a dyn Fn(usize, f32) -> (f32, f32);

struct LawObjective<'a> {
    settings: &'a PretrainSettings,
    network: Dense,
    samples: &'a [LawSample],
    loss_of: LossOf<'a>,
    seed: u64,
    batches: Batches,
    tape: DenseTape<f32>,
    inputs: Vec<f32>,
    upstream: Vec<f32>,
}

impl Objective<f32> for LawObjective<'_> {
    fn start(&mut self, attempt: u32) -> Vec<f32> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ 0x5ca1_ab1e);
        rng.set_stream(u64::from(attempt));
        let widths = &self.network.widths;
        let mut parameters: Vec<f32> = Vec::with_capacity(self.network.parameter_count());
        let last = widths.len() - 2;
        for (layer, pair) in widths.windows(2).enumerate() {
            // He's initialization. The last layer starts small around a bandwidth of 2·10^5 Hz, so that no first step
            // can push the softplus into its flat region.
            let scale = (2.0 / pair[0] as f64).sqrt() * if layer == last { 0.1 } else { 1.0 };
            let rule = self.settings.initialization;
            if rule.is_blind() {
                let weight = |_| single(rule.weight((pair[0], pair[1]), &mut rng));
                parameters.extend((0..pair[0] * pair[1]).map(weight));
                parameters.extend((0..pair[1]).map(|_| single(rule.bias(pair[0], &mut rng))));
                continue;
            }
            let bias = |rng: &mut ChaCha8Rng| if layer == last { 1.854 } else { 0.3 * normal(rng) };
            parameters.extend((0..pair[0] * pair[1]).map(|_| single(scale * normal(&mut rng))));
            parameters.extend((0..pair[1]).map(|_| single(bias(&mut rng))));
        }
        self.batches = Batches::new(rng, self.samples.len(), self.settings.batch, Order::All);
        parameters
    }

    fn step(&mut self, step: u64, parameters: &[f32], gradient: &mut [f32]) -> f64 {
        let batch = self.batches.at(step);
        self.inputs.clear();
        for &index in batch {
            let LawSample { gain, size, .. } = self.samples[index];
            self.inputs.extend(self.settings.shape.inputs(gain, size).map(single));
        }
        let outputs = self.network.forward(parameters, &self.inputs, &mut self.tape);
        self.upstream.clear();
        let mut loss = 0.0f32;
        for (&index, &output) in batch.iter().zip(outputs) {
            let (value, slope) = (self.loss_of)(index, output);
            loss += value;
            let weight = match self.settings.sizes {
                LawSizes::Every { .. } if self.settings.balanced => {
                    1.0 + 20.0 / self.samples[index].size as f32
                }
                _ => 1.0,
            };
            self.upstream.push(weight * slope / batch.len() as f32);
        }
        gradient.fill(0.0);
        self.network.backward(parameters, &mut self.tape, &self.upstream, gradient);
        f64::from(loss)
    }
}

/// Trains an outer function on samples.
pub(crate) fn fit_law(
    session: &mut Session<'_>,
    settings: &PretrainSettings,
    samples: &[LawSample],
    loss_of: LossOf<'_>,
    seed: u64,
) -> Result<BandwidthLaw, TrainError> {
    let plan = settings.plan(samples.len());
    let mut objective = LawObjective {
        settings,
        network: settings.shape.network(),
        samples,
        loss_of,
        seed,
        batches: Batches::new(ChaCha8Rng::seed_from_u64(0), 0, 1, Order::All),
        tape: DenseTape::default(),
        inputs: Vec::new(),
        upstream: Vec::new(),
    };
    let stage = "pre-training";
    let parameters = session.train(stage, &plan, &mut objective)?;
    let parameters = parameters.into_iter().map(f64::from).collect();
    let diverged = || TrainError::Diverged { stage: stage.into(), attempts: 1, step: plan.steps };
    BandwidthLaw::new(&settings.shape, parameters).ok_or_else(diverged)
}

/// Returns `((ŷ − y)/unit)²` with `ŷ = softplus(output)`, and its derivative with respect to the output. With the
/// label as the unit, it is the square of the relative error.
pub(crate) fn square(output: f32, label: f32, unit: f32) -> (f32, f32) {
    let output = f64::from(output);
    let (label, unit) = (f64::from(label), f64::from(unit));
    let off = Activation::Softplus.value(output) / unit - label / unit;
    (single(off * off), single(2.0 * off * Activation::Softplus.slope(output) / unit))
}

/// Draws a standard normal number.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}
