//! Algorithm 1 of the paper: powers, bandwidths and multipliers, trained jointly on the Lagrangian.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use crate::config::System;
use crate::framework::{
    ATTEMPTS, Initialization, Method, Objective, Plan, Schedule, TrainError, check_samples, joined,
};
use crate::invalid::Invalid;
use crate::math::single;
use crate::network::{Activation, Aggregator, BandwidthLaw, Dense, scaled_gain};
use crate::problems::urllc::dataset::{Outer, Pick, TrainingSet};
use crate::problems::urllc::engine::Engine;
use crate::problems::urllc::lagrangian::{BANDWIDTH, HIDDEN, LossUnits, MULTIPLIER, POWER};
use crate::problems::urllc::{LossScale, Recipe, UserInputs};
use crate::qos::{BandwidthTable, Qos, RequiredBandwidth, ServiceClass};

/// Settings of a training run. Equal settings, including the seed, give equal parameters, bit for bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainSettings {
    /// Method to train.
    pub method: Method,
    /// Numbers of users in the training samples.
    pub train_k: Vec<usize>,
    /// Number of samples of each size.
    pub samples: usize,
    /// Stricter loss target `ε_D` for the training.
    pub epsilon_d: f64,
    /// Aggregation over the other users.
    pub aggregator: Aggregator,
    /// Inputs of the networks for each user.
    #[serde(default, skip_serializing_if = "UserInputs::is_usual")]
    pub inputs: UserInputs,
    /// Widths of the hidden layers for each user (paper: `[4]`); for the FNN, the numbers of hidden neurons
    /// (paper: `[300]`).
    pub hidden: Vec<usize>,
    /// Optimizer, schedule and batch.
    pub recipe: Recipe,
    /// Seed of samples, initialization and order.
    pub seed: u64,
}

/// Objective of Algorithm 1 with its training sets. The parameters of the three networks (powers, bandwidths,
/// multipliers) are concatenated in this order.
pub struct Algorithm1 {
    settings: TrainSettings,
    sets: Vec<TrainingSet>,
    engine: Engine,
    order: Vec<(u32, Vec<Pick>)>,
    epoch: Option<u64>,
    unit_hz: f64,
    /// Difference between the smallest input and that of the paper's cell; at most 0.
    shift: f64,
}

/// Mean multiplier above which the training run counts as diverged; at the optimum it is of the order of 1.
const LARGEST_LOSS: f64 = 1e6;

impl TrainSettings {
    /// Returns the settings of the paper's P-GNN, with the fast recipe and seed 0.
    pub fn p_gnn(train_k: usize, samples: usize, epsilon_d: f64) -> Self {
        Self {
            method: Method::PGnn,
            train_k: vec![train_k],
            samples,
            epsilon_d,
            aggregator: Aggregator::Mean,
            inputs: UserInputs::Gain,
            hidden: vec![HIDDEN],
            recipe: Recipe::fast(train_k),
            seed: 0,
        }
    }

    /// Checks every value.
    pub fn validate(&self) -> Result<(), Invalid> {
        let fail = |field: &'static str, value: String, expected: &'static str| {
            Err(Invalid::value(field, value, expected))
        };
        check_samples(&self.train_k, self.samples)?;
        if self.hidden.is_empty() || self.hidden.iter().any(|width| !(1..=1024).contains(width)) {
            return fail("hidden", joined(&self.hidden), "layers of 1 to 1024 features");
        }
        if self.method == Method::Fnn && !self.inputs.is_usual() {
            return fail("inputs", "gain-and-size".to_owned(), "gain, for the fnn");
        }
        self.recipe.validate()
    }

    /// Returns the widths of the layers of a GNN for each user: inputs, hidden features, output.
    pub(crate) fn gnn_widths(&self) -> Vec<usize> {
        [&[self.inputs.count()], &self.hidden[..], &[1]].concat()
    }

    /// Returns whether a GNN has the paper's architecture, which the kernels require.
    pub(crate) fn is_of_kernel_shape(&self) -> bool {
        self.inputs == UserInputs::Gain && self.hidden[..] == [HIDDEN]
    }

    /// Returns the number of steps in an epoch, which uses each sample of each size once.
    fn steps_per_epoch(&self) -> u64 {
        (self.samples.div_ceil(self.recipe.batch) * self.train_k.len()) as u64
    }

    /// Returns the number of steps of the whole training run.
    pub fn steps(&self) -> u64 {
        self.recipe.steps.unwrap_or_else(|| self.recipe.epochs * self.steps_per_epoch())
    }
}

impl Algorithm1 {
    /// Draws the training sets. P-GNN requires `law`, the outer function `B^v` at the same `ε_D`.
    pub fn new(
        system: &System,
        settings: &TrainSettings,
        law: Option<&BandwidthLaw>,
    ) -> Result<Self, TrainError> {
        settings.validate()?;
        let outer = match (settings.method, law) {
            (Method::PGnn, None) => {
                let expected = "m-gnn or fnn: no pre-trained outer function was given";
                return Err(Invalid::value("method", "p-gnn", expected).into());
            }
            (Method::PGnn, law) => law.map(Outer::Pretrained),
            (Method::MGnn | Method::Fnn, _) => None,
        };
        Self::with_outer(system, settings, outer)
    }

    /// Draws the training sets for a P-GNN whose outer function is the exact `b` at `ε_D` instead of a
    /// pre-trained one.
    pub fn with_exact_law(system: &System, settings: &TrainSettings) -> Result<Self, TrainError> {
        settings.validate()?;
        let table = BandwidthTable::new(qos_of(system, settings)?);
        Self::with_outer(system, settings, Some(Outer::Exact(&table)))
    }

    /// Draws the training sets with an outer function, or with a constant if there is none.
    fn with_outer(
        system: &System,
        settings: &TrainSettings,
        outer: Option<Outer<'_>>,
    ) -> Result<Self, TrainError> {
        let qos = qos_of(system, settings)?;
        let unit_hz = match settings.recipe.loss {
            LossScale::Relative => unit_hz(system, &qos, &settings.train_k)?,
            LossScale::Raw => LossUnits::raw(&qos).bandwidth_hz,
        };
        let sets: Vec<TrainingSet> = settings
            .train_k
            .iter()
            .map(|&size| {
                let shape = (size, settings.samples, settings.recipe.stored_draws);
                let outer = outer.unwrap_or(Outer::Constant(unit_hz));
                TrainingSet::draw(system, &qos, shape, outer, settings.seed)
            })
            .collect::<Result<_, _>>()
            .map_err(TrainError::EqualPower)?;
        let mean_uses = sets.iter().map(TrainingSet::mean_uses).sum::<f64>() / sets.len() as f64;
        let units = match settings.recipe.loss {
            LossScale::Relative => LossUnits::relative(mean_uses / qos.ln_uses_scale().exp()),
            LossScale::Raw => LossUnits::raw(&qos),
        };
        let engine = Engine::new(&qos, units, settings);
        Ok(Self {
            settings: settings.clone(),
            sets,
            engine,
            order: Vec::new(),
            epoch: None,
            unit_hz,
            shift: shift(system),
        })
    }

    /// Returns the settings of the training run.
    pub fn settings(&self) -> &TrainSettings {
        &self.settings
    }

    /// Returns the plan of the optimizer.
    pub fn plan(&self) -> Plan {
        let recipe = &self.settings.recipe;
        Plan {
            steps: self.settings.steps(),
            rate: recipe.rate,
            rate_every: recipe.rate_per.steps(self.settings.steps_per_epoch()),
            update: recipe.update,
            attempts: ATTEMPTS,
            largest_loss: LARGEST_LOSS,
        }
    }

    /// Returns the unit of the bandwidth outputs of M-GNN and FNN, Hz.
    pub fn unit_hz(&self) -> f64 {
        self.unit_hz
    }

    /// Shuffles the samples of an epoch. The order depends only on the seed and the number of the epoch.
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

impl Objective<f32> for Algorithm1 {
    fn start(&mut self, attempt: u32) -> Vec<f32> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.settings.seed);
        rng.set_stream(u64::MAX - u64::from(attempt));
        self.epoch = None;
        [POWER, BANDWIDTH, MULTIPLIER]
            .into_iter()
            .flat_map(|network| initialize(&self.settings, (network, self.shift), &mut rng))
            .collect()
    }

    fn step(&mut self, step: u64, parameters: &[f32], gradient: &mut [f32]) -> f64 {
        let per_epoch = self.settings.steps_per_epoch();
        let epoch = step / per_epoch;
        if self.epoch != Some(epoch) {
            self.shuffle(epoch);
        }
        #[allow(clippy::cast_possible_truncation)]
        let (set, picks) = &self.order[(step % per_epoch) as usize];
        let (set, draws) = (&self.sets[*set as usize], self.settings.recipe.draws);
        f64::from(self.engine.gradient(parameters, set, picks, draws, gradient))
    }
}

/// Returns the QoS constraint at `ε_D`.
fn qos_of(system: &System, settings: &TrainSettings) -> Result<Qos, Invalid> {
    system.qos(ServiceClass { epsilon: settings.epsilon_d, ..system.service() })
}

/// Returns the typical bandwidth of a user, Hz, which is the unit of outputs without a size law. A user in the middle
/// of the road needs this bandwidth at equal power, on average over the training sizes.
fn unit_hz(system: &System, qos: &Qos, sizes: &[usize]) -> Result<f64, TrainError> {
    let required = RequiredBandwidth::new(qos.clone());
    let road = system.road();
    let gain = system.path_loss().gain(road.distance_m(0.6 * road.half_length_m()));
    let mut sum = 0.0;
    for &size in sizes {
        let received_w = gain * system.max_power_w() / size as f64;
        let point = required.at(received_w).map_err(|weak| {
            TrainError::Infeasible(format!(
                "a user in the middle of the road, at K = {size}: {weak}"
            ))
        })?;
        sum += point.bandwidth_hz;
    }
    Ok(sum / sizes.len() as f64)
}

/// Input of a user at the edge of the paper's cell, rounded down.
const EDGE: f64 = 1.1;

/// Returns the difference between the smallest input of a cell and that of the paper's cell; at most 0. Larger cells
/// have weaker users, and features that must be linear for every input start lower by this amount.
fn shift(system: &System) -> f64 {
    let edge = system.path_loss().gain(system.road().cell_radius_m);
    (scaled_gain(edge) - EDGE).min(0.0)
}

/// Returns random parameters of one network such that the outputs start near equal power, `B' = 1` and `λ = 1.25`
/// (about its value at the optimum).
fn initialize(
    settings: &TrainSettings,
    (network, shift): (usize, f64),
    rng: &mut ChaCha8Rng,
) -> Vec<f32> {
    let rule = settings.recipe.initialization;
    let parameters = match settings.method {
        _ if rule.is_blind() => initialize_blindly(settings, rule, rng),
        Method::Fnn => initialize_dense(settings, network, rng),
        Method::PGnn | Method::MGnn => initialize_gnn(settings, (network, shift), rng),
    };
    parameters.into_iter().map(single).collect()
}

/// Draws all weights from one distribution and all biases from another.
fn initialize_blindly(
    settings: &TrainSettings,
    rule: Initialization,
    rng: &mut ChaCha8Rng,
) -> Vec<f64> {
    // A layer of a GNN has one matrix for the user itself and one for the other users.
    let (widths, matrices) = match settings.method {
        Method::Fnn => (fnn_network(settings).widths, 1),
        Method::PGnn | Method::MGnn => (settings.gnn_widths(), 2),
    };
    let mut parameters = Vec::new();
    for pair in widths.windows(2) {
        let (inputs, outputs) = (pair[0], pair[1]);
        let weight = |_| rule.weight((inputs, outputs), rng);
        parameters.extend((0..matrices * inputs * outputs).map(weight));
        parameters.extend((0..outputs).map(|_| rule.bias(inputs, rng)));
    }
    parameters
}

/// Returns the bias of the last layer that gives the output its intended initial value.
fn start(network: usize) -> f64 {
    match network {
        POWER => 0.0,
        BANDWIDTH => 1f64.exp_m1().ln(),
        _ => 1.25f64.exp_m1().ln(),
    }
}

/// Initializes the first layer such that its features are in their linear range for every input of any size. The
/// input `x = ln α + 30` runs from 1 to 7, and the mean over the other users from 0 (for a single user) to 7. The
/// learned influence of the other users then extrapolates linearly to other sizes. This is a design choice: at a
/// single training size, nothing else determines how the outputs change with the size.
///
/// Exceptions make the networks nonlinear. One feature of P-GNN's bandwidth and multiplier networks has its kink
/// in the middle of the range. M-GNN's networks have two such features, since its bandwidth must follow the whole
/// curve rather than only a correction.
fn initialize_gnn(
    settings: &TrainSettings,
    (network, shift): (usize, f64),
    rng: &mut ChaCha8Rng,
) -> Vec<f64> {
    let hidden = &settings.hidden;
    let mut parameters: Vec<f64> = Vec::new();
    let mut inputs = settings.inputs.count();
    for (layer, &width) in hidden.iter().enumerate() {
        let mut slopes = Vec::new();
        let mut biases = Vec::new();
        for feature in 0..width {
            let from_last = width - 1 - feature;
            let (low, high, sign) = match (layer, network, settings.method, from_last) {
                (0, BANDWIDTH | MULTIPLIER, Method::MGnn, 0) => (3.25, 5.0, -1.0),
                (0, BANDWIDTH | MULTIPLIER, Method::MGnn, 1) => (1.5, 3.25, 1.0),
                (0, BANDWIDTH, Method::PGnn, 0) => (2.5, 4.0, 1.0),
                (0, MULTIPLIER, Method::PGnn, 0) => (3.0, 4.5, 1.0),
                _ => (0.6, 1.1, 1.0),
            };
            let place: f64 = shift + rng.random_range(low..high);
            let slope: f64 = sign * rng.random_range(0.25..0.5);
            if layer == 0 {
                // The kink lies within the range of gains; the effect of the size is learned from zero.
                slopes.push(slope);
                slopes.extend(std::iter::repeat_n(0.0, inputs - 1));
            } else {
                slopes.extend(std::iter::repeat_n(slope / inputs as f64, inputs));
            }
            biases.push(if layer == 0 { -slope * place } else { 0.0 });
        }
        parameters.extend(slopes);
        parameters.extend(std::iter::repeat_n(0.0, width * inputs));
        parameters.extend(biases);
        inputs = width;
    }
    parameters.extend((0..2 * inputs).map(|_| rng.random_range(-0.005..0.005)));
    parameters.push(start(network));
    parameters
}

/// Draws initial parameters by He's rule, with a small last layer.
fn initialize_dense(settings: &TrainSettings, network: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let dense = fnn_network(settings);
    let mut parameters: Vec<f64> = Vec::new();
    let last = dense.widths.len() - 2;
    for (layer, pair) in dense.widths.windows(2).enumerate() {
        let scale = if layer == last { 0.003 } else { (2.0 / pair[0] as f64).sqrt() };
        let mut normal = || -> f64 { rng.sample(StandardNormal) };
        parameters.extend((0..pair[0] * pair[1]).map(|_| scale * normal()));
        let bias = if layer == last { start(network) } else { 0.0 };
        parameters.extend(std::iter::repeat_n(bias, pair[1]));
    }
    parameters
}

/// Returns the fully connected network of the FNN method, with one input and one output per user of the largest cell.
/// The output is taken before softmax or softplus.
pub(crate) fn fnn_network(settings: &TrainSettings) -> Dense {
    let users = settings.train_k.iter().copied().max().unwrap_or(1);
    let mut widths = vec![users];
    widths.extend(&settings.hidden);
    widths.push(users);
    Dense::new(&widths, Activation::LeakyRelu, Activation::Identity)
}

impl Recipe {
    fn validate(&self) -> Result<(), Invalid> {
        let fail = |field: &'static str, value: String, expected: &'static str| {
            Err(Invalid::value(field, value, expected))
        };
        if !(1..=100_000).contains(&self.batch) {
            return fail("batch", self.batch.to_string(), "a number from 1 to 100000");
        }
        if !(1..=4096).contains(&self.stored_draws)
            || !(1..=self.stored_draws).contains(&self.draws)
        {
            return fail(
                "draws",
                self.draws.to_string(),
                "at least 1 and at most the stored draws",
            );
        }
        let (Schedule::Inverse { rate, .. } | Schedule::Cosine { rate, .. }) = self.rate;
        if !(rate > 0.0 && rate.is_finite()) {
            return fail("rate", rate.to_string(), "a positive number");
        }
        Ok(())
    }
}
