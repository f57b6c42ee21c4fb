//! Algorithm 1 of the paper: powers, bandwidths and multipliers, trained jointly on the Lagrangian.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::config::System;
use crate::network::{Aggregator, BandwidthLaw};
use crate::problem::{Qos, ServiceClass, ServiceError};
use crate::training::dataset::{Pick, TrainingSet};
use crate::training::engine::Engine;
use crate::training::lagrangian::{BANDWIDTH, MULTIPLIER, POWER};
use crate::training::{Adam, Recipe, Schedule, Update};

/// What to train: the paper's two graph neural networks for (P1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GnnMethod {
    /// Power by softmax, bandwidth with the pre-trained outer function `B^v`.
    PGnn,
    /// Power by softmax, bandwidth by a network without it.
    MGnn,
}

/// A training, whole: the same settings and the same seed give the same parameters, bit for bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainSettings {
    /// The method.
    pub method: GnnMethod,
    /// Sizes of the training samples.
    pub train_k: Vec<usize>,
    /// Samples of each size.
    pub samples: usize,
    /// The stricter loss target `ε_D` that is trained for.
    pub epsilon_d: f64,
    /// How users see each other.
    pub aggregator: Aggregator,
    /// Hidden features of each user, layer by layer (paper: `[4]`).
    pub hidden: Vec<usize>,
    /// Optimizer, schedule and batch.
    pub recipe: Recipe,
    /// Seed of samples, initialization and order.
    pub seed: u64,
}

/// Why a training ended without a model.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum TrainError {
    /// A setting that cannot be trained with.
    #[error("{field} is {value}, expected {expected}")]
    Setting {
        /// The setting.
        field: &'static str,
        /// Its value.
        value: String,
        /// What is accepted.
        expected: &'static str,
    },
    /// The loss target is out of range.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// Every initialization diverged.
    #[error(
        "the loss or a multiplier left the numbers in each of {attempts} initializations (last at \
         step {step}); try a lower learning rate"
    )]
    Diverged {
        /// Initializations tried.
        attempts: u32,
        /// Step of the last divergence.
        step: u64,
    },
}

/// Everything that changes while training: what a checkpoint holds.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainState {
    /// Which initialization this is, from 0.
    pub attempt: u32,
    /// Steps done.
    pub step: u64,
    /// Parameters of the power, bandwidth and multiplier networks, one after the other.
    pub parameters: Vec<f32>,
    /// The optimizer's memory.
    pub adam: Adam<f32>,
}

/// A training in progress.
pub struct Trainer {
    settings: TrainSettings,
    sets: Vec<TrainingSet>,
    engine: Engine,
    state: TrainState,
    gradient: Vec<f32>,
    order: Vec<(u32, Vec<Pick>)>,
    epoch: Option<u64>,
}

/// Initializations tried before a training is given up.
const ATTEMPTS: u32 = 5;
/// A multiplier's mean above this (its optimum is of the order of 1) has diverged.
const LARGEST_LOSS: f32 = 1e6;

impl TrainSettings {
    /// Checks every value.
    pub fn validate(&self) -> Result<(), TrainError> {
        let fail =
            |field, value: String, expected| Err(TrainError::Setting { field, value, expected });
        if self.train_k.is_empty() || self.train_k.iter().any(|k| !(1..=10_000).contains(k)) {
            return fail("train_k", format!("{:?}", self.train_k), "sizes from 1 to 10000");
        }
        if !(1..=1_000_000).contains(&self.samples) {
            return fail("samples", self.samples.to_string(), "a number from 1 to 1000000");
        }
        if self.hidden.is_empty() || self.hidden.iter().any(|width| !(1..=1024).contains(width)) {
            return fail("hidden", format!("{:?}", self.hidden), "layers of 1 to 1024 features");
        }
        self.recipe.validate()
    }

    /// Steps of an epoch: each sample of each size once.
    fn steps_per_epoch(&self) -> u64 {
        (self.samples.div_ceil(self.recipe.batch) * self.train_k.len()) as u64
    }

    /// Steps of the whole training.
    pub fn steps(&self) -> u64 {
        self.recipe.steps.unwrap_or_else(|| self.recipe.epochs * self.steps_per_epoch())
    }
}

impl Trainer {
    /// Draws the training set and initializes the networks. `law` is `B^v` at the same `ε_D`, for
    /// P-GNN.
    pub fn new(
        system: &System,
        settings: &TrainSettings,
        law: Option<&BandwidthLaw>,
    ) -> Result<Self, TrainError> {
        settings.validate()?;
        let service = ServiceClass { epsilon: settings.epsilon_d, ..system.service() };
        let qos: Qos = system.qos(service)?;
        let law = match (settings.method, law) {
            (GnnMethod::PGnn, None) => {
                return Err(TrainError::Setting {
                    field: "method",
                    value: "p-gnn".into(),
                    expected: "a pre-trained law with it",
                });
            }
            (GnnMethod::PGnn, law) => law,
            (GnnMethod::MGnn, _) => None,
        };
        let sets: Vec<TrainingSet> = settings
            .train_k
            .iter()
            .map(|&size| {
                let shape = (size, settings.samples, settings.recipe.stored_draws);
                TrainingSet::draw(system, &qos, shape, law, M_GNN_UNIT_HZ, settings.seed)
            })
            .collect();
        let mean_uses = sets.iter().map(TrainingSet::mean_uses).sum::<f64>() / sets.len() as f64;
        let unit_hz = mean_uses / qos.ln_uses_scale().exp();
        let engine = Engine::new(&qos, unit_hz, &settings.hidden, settings.aggregator);
        let count = 3 * engine.parameter_count();
        let mut trainer = Self {
            settings: settings.clone(),
            sets,
            engine,
            state: TrainState {
                attempt: 0,
                step: 0,
                parameters: Vec::new(),
                adam: Adam::new(count, settings.recipe.betas()),
            },
            gradient: vec![0.0; count],
            order: Vec::new(),
            epoch: None,
        };
        trainer.restart(0);
        Ok(trainer)
    }

    fn restart(&mut self, attempt: u32) {
        let mut rng = ChaCha8Rng::seed_from_u64(self.settings.seed);
        rng.set_stream(u64::MAX - u64::from(attempt));
        let mut parameters = Vec::new();
        for network in [POWER, BANDWIDTH, MULTIPLIER] {
            parameters.extend(initialize(&self.settings.hidden, network, &mut rng));
        }
        let adam = Adam::new(parameters.len(), self.settings.recipe.betas());
        self.state = TrainState { attempt, step: 0, parameters, adam };
        self.epoch = None;
    }

    /// The settings.
    pub fn settings(&self) -> &TrainSettings {
        &self.settings
    }

    /// The state, to save.
    pub fn state(&self) -> &TrainState {
        &self.state
    }

    /// Continues from a saved state; `false` if it is not one of this training.
    pub fn resume(&mut self, state: TrainState) -> bool {
        let sound = state.parameters.len() == self.gradient.len()
            && state.adam.len() == self.gradient.len()
            && state.attempt < ATTEMPTS
            && state.step <= self.settings.steps()
            && state.parameters.iter().all(|parameter| parameter.is_finite());
        if sound {
            self.state = state;
            self.epoch = None;
        }
        sound
    }

    /// Whether all steps are done.
    pub fn is_done(&self) -> bool {
        self.state.step >= self.settings.steps()
    }

    /// Does up to `steps` steps; starts over from another initialization if the loss diverges.
    pub fn advance(&mut self, steps: u64) -> Result<(), TrainError> {
        for _ in 0..steps {
            if self.is_done() {
                break;
            }
            let loss = self.step();
            if !(loss.abs() < LARGEST_LOSS) {
                let (attempt, step) = (self.state.attempt + 1, self.state.step);
                if attempt >= ATTEMPTS {
                    return Err(TrainError::Diverged { attempts: ATTEMPTS, step });
                }
                self.restart(attempt);
            }
        }
        Ok(())
    }

    /// One step of Algorithm 1; returns the mean loss of its batch.
    pub fn step(&mut self) -> f32 {
        let per_epoch = self.settings.steps_per_epoch();
        let epoch = self.state.step / per_epoch;
        if self.epoch != Some(epoch) {
            self.shuffle(epoch);
        }
        #[allow(clippy::cast_possible_truncation)]
        let (set, picks) = &self.order[(self.state.step % per_epoch) as usize];
        let set = &self.sets[*set as usize];
        let draws = self.settings.recipe.draws;
        let loss =
            self.engine.gradient(&self.state.parameters, set, picks, draws, &mut self.gradient);
        let recipe = &self.settings.recipe;
        let rate = recipe.rate.at(self.state.step, self.settings.steps());
        match recipe.update {
            Update::Adam { .. } => {
                self.state.adam.descend(&mut self.state.parameters, &self.gradient, rate);
            }
            Update::Sgd => {
                #[allow(clippy::cast_possible_truncation)]
                let rate = rate as f32;
                for (parameter, gradient) in self.state.parameters.iter_mut().zip(&self.gradient) {
                    *parameter -= rate * gradient;
                }
            }
        }
        self.state.step += 1;
        loss
    }

    /// The order of one epoch, from the seed and the epoch's number alone: nothing to save.
    fn shuffle(&mut self, epoch: u64) {
        let mut rng = ChaCha8Rng::seed_from_u64(self.settings.seed);
        rng.set_stream((1 << 63) | epoch);
        let stored = u32::try_from(self.settings.recipe.stored_draws).unwrap_or(1);
        self.order.clear();
        for (set, samples) in (0u32..).zip(&self.sets) {
            let mut indices: Vec<u32> = (0..u32::try_from(samples.samples).unwrap_or(0)).collect();
            indices.shuffle(&mut rng);
            for batch in indices.chunks(self.settings.recipe.batch) {
                let pick = |&index| Pick { index, first: rng.random_range(0..stored) };
                self.order.push((set, batch.iter().map(pick).collect()));
            }
        }
        if self.sets.len() > 1 {
            self.order.shuffle(&mut rng);
        }
        self.epoch = Some(epoch);
    }
}

/// Bandwidth that M-GNN's output is in units of, Hz.
pub(crate) const M_GNN_UNIT_HZ: f64 = 1e5;

/// Random parameters such that the outputs start near equal power, `B' = 1` and `λ = 1.25` (its value
/// at the optimum), and such that all but one feature are in their linear range for every input that
/// any size can bring: `x = ln α + 30` runs from 1 to 7, and the others' mean from 0 (alone) to 7.
/// The dependence on the others then extrapolates linearly to sizes never seen. One feature of the
/// bandwidth's and one of the multiplier's first layer has its kink inside the range.
fn initialize(hidden: &[usize], network: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
    let mut parameters: Vec<f64> = Vec::new();
    let mut inputs = 1;
    for (layer, &width) in hidden.iter().enumerate() {
        let slopes: Vec<f64> =
            (0..width * inputs).map(|_| rng.random_range(0.25..0.5) / inputs as f64).collect();
        let mut biases = Vec::new();
        for feature in 0..width {
            let kink = layer == 0 && feature + 1 == width && network != POWER;
            let (low, high) = match (kink, network) {
                (true, BANDWIDTH) => (1.5, 3.0),
                (true, _) => (3.0, 4.5),
                (false, _) => (0.6, 1.1),
            };
            let place: f64 = rng.random_range(low..high);
            let slope: f64 = slopes[feature * inputs..(feature + 1) * inputs].iter().sum();
            biases.push(if layer == 0 { -slope * place } else { 0.0 });
        }
        parameters.extend(slopes);
        parameters.extend(std::iter::repeat_n(0.0, width * inputs));
        parameters.extend(biases);
        inputs = width;
    }
    parameters.extend((0..2 * inputs).map(|_| rng.random_range(-0.005..0.005)));
    let start: f64 = match network {
        POWER => 0.0,
        BANDWIDTH => 1.0,
        _ => 1.25,
    };
    parameters.push(if network == POWER { 0.0 } else { start.exp_m1().ln() });
    #[allow(clippy::cast_possible_truncation)]
    parameters.into_iter().map(|parameter| parameter as f32).collect()
}

impl Recipe {
    fn validate(&self) -> Result<(), TrainError> {
        let fail =
            |field, value: String, expected| Err(TrainError::Setting { field, value, expected });
        if !(1..=100_000).contains(&self.batch) {
            return fail("batch", self.batch.to_string(), "a number from 1 to 100000");
        }
        if !(1..=4096).contains(&self.stored_draws)
            || !(1..=self.stored_draws).contains(&self.draws)
        {
            return fail("draws", self.draws.to_string(), "at least 1, and at most those stored");
        }
        let (Schedule::Inverse { rate, .. } | Schedule::Cosine { rate, .. }) = self.rate;
        if !(rate > 0.0 && rate.is_finite()) {
            return fail("rate", rate.to_string(), "a positive number");
        }
        Ok(())
    }
}
