//! Training of networks that control the powers of an interference network.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::framework::{Objective, Plan, Schedule, TrainError};
use crate::invalid::Invalid;
use crate::limits::{MOST_NUMBERS, MOST_TRAINING_SAMPLES};
use crate::math::single;
use crate::network::{Aggregator, EdgeGnn, EdgeTape, LinkGraph};
use crate::problems::interference::{Features, Standard};
use crate::problems::interference::{
    Interference, RandomLinks, Scenario, SparseInterference, WeightLaw,
};
use crate::problems::interference::{Wmmse, fplinq};

/// Training objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PowerLoss {
    /// Sum rate, without labels.
    SumRate,
    /// Cross-entropy with the powers of WMMSE (100 iterations from full power).
    Wmmse,
    /// Cross-entropy with the schedule of FPLinQ.
    Fplinq,
}

/// Settings of a training run. Equal settings give equal parameters, bit for bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerTrainSettings {
    /// Generator of the gains.
    pub scenario: Scenario,
    /// Distribution of the weights; if `None`, all weights are 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<WeightLaw>,
    /// Architecture of the network.
    pub network: EdgeGnn,
    /// Number of links in each training sample.
    pub train_k: usize,
    /// Number of training samples.
    pub samples: usize,
    /// Training objective.
    pub loss: PowerLoss,
    /// Number of samples in a step.
    pub batch: usize,
    /// Number of steps.
    pub steps: u64,
    /// Learning rate of Adam, as a function of the step.
    pub rate: Schedule,
    /// Seed of samples, initialization and order.
    pub seed: u64,
}

impl PowerTrainSettings {
    /// Returns the default settings for a scenario; training takes a few seconds. At a constant density of links, the
    /// interference from neighbours has the same distribution at every size, so links on a field sum their messages. If
    /// every link hears every other, messages are averaged.
    pub fn preset(scenario: Scenario, seed: u64) -> Self {
        let dense = scenario.is_dense();
        let network = EdgeGnn {
            hidden: if dense { 16 } else { 8 },
            rounds: 2,
            aggregator: if dense { Aggregator::Mean } else { Aggregator::Sum },
            weighted: false,
        };
        let rate = if dense { 1e-3 } else { 1e-2 };
        Self {
            scenario,
            weights: None,
            network,
            train_k: if dense { 10 } else { 50 },
            samples: if dense { 20_000 } else { 2000 },
            loss: PowerLoss::SumRate,
            batch: 16,
            steps: if dense { 20_000 } else { 10_000 },
            rate: Schedule::Cosine { rate, last: 0.01 * rate },
            seed,
        }
    }

    /// Returns settings for networks whose links have random weights.
    #[must_use]
    pub fn with_weights(self, law: WeightLaw) -> Self {
        let network = EdgeGnn { weighted: true, ..self.network };
        Self { weights: Some(law), network, ..self }
    }

    /// Returns the generator of the training networks.
    pub fn networks(&self) -> RandomLinks {
        RandomLinks { scenario: self.scenario, weights: self.weights }
    }

    /// Returns settings with another network. Wide or deep networks get a lower learning rate, since they fail to
    /// converge at the rate of small ones.
    pub fn with_network(self, network: EdgeGnn) -> Self {
        let large = network.hidden > 16 || network.rounds > 2;
        let rate = if large { Schedule::Cosine { rate: 1e-3, last: 1e-5 } } else { self.rate };
        Self { network, rate, ..self }
    }

    /// Checks every value.
    pub fn validate(&self) -> Result<(), Invalid> {
        let check = |field: &'static str, sound: bool, value: String, expected: &'static str| {
            if sound { Ok(()) } else { Err(Invalid::value(field, value, expected)) }
        };
        let Self { network, train_k, samples, batch, steps, .. } = self;
        check(
            "hidden",
            EdgeGnn::WIDTHS.contains(&network.hidden),
            network.hidden.to_string(),
            "8, 16 or 32 features",
        )?;
        check(
            "weights",
            network.weighted == self.weights.is_some(),
            self.weights.map_or("none", WeightLaw::name).to_owned(),
            "a distribution of weights if the network takes weights, otherwise none",
        )?;
        let rounds = network.rounds;
        check("rounds", (1..=16).contains(&rounds), rounds.to_string(), "1 to 16")?;
        check("train_k", (1..=1000).contains(train_k), train_k.to_string(), "1 to 1000 links")?;
        let gains = samples.saturating_mul(train_k * train_k);
        let room = (1..=MOST_TRAINING_SAMPLES).contains(samples) && gains <= MOST_NUMBERS;
        let expected = "1 to 1000000, and no more than 400000000 gains in all";
        check("samples", room, samples.to_string(), expected)?;
        check("batch", (1..=4096).contains(batch), batch.to_string(), "1 to 4096")?;
        check("steps", *steps <= 1 << 32, steps.to_string(), "at most 2^32")?;
        let rate = self.rate.at(0, *steps);
        check("rate", rate > 0.0 && rate <= 1.0, rate.to_string(), "a learning rate up to 1")
    }
}

/// Seed of the validation networks, combined with the seed of the training run; test sets use other seeds.
pub(crate) const VALIDATION_SEED: u64 = 0x7a11_da7e;
/// Number of networks that monitor the progress of a training run.
const WATCHED: usize = 32;

struct Sample {
    problem: Interference,
    graph: LinkGraph<f32>,
    labels: Vec<f64>,
}

/// Objective of a training run, with its samples.
pub struct PowerObjective {
    settings: PowerTrainSettings,
    features: Features,
    samples: Vec<Sample>,
    order: Vec<u32>,
    epoch: Option<u64>,
    slots: Vec<Slot>,
    validation: Validation,
}

/// Networks that no step uses, and their sum rate at full power.
struct Validation {
    samples: Vec<Sample>,
    full_power: f64,
}

/// Buffers of one sample of a batch.
#[derive(Default)]
struct Slot {
    tape: EdgeTape<f32>,
    shares: Vec<f64>,
    slopes: Vec<f64>,
    of_outputs: Vec<f32>,
    gradient: Vec<f32>,
    loss: f64,
}

impl PowerObjective {
    /// Draws the samples and solves for their labels.
    pub fn new(settings: &PowerTrainSettings) -> Result<Self, TrainError> {
        settings.validate()?;
        let PowerTrainSettings { train_k, samples, .. } = *settings;
        let problems = draw(&settings.networks(), (train_k, samples), settings.seed)?;
        let all = || problems.iter().map(|problem| &problem.1);
        let features = Features {
            link: Standard::of(all().flat_map(|sparse| sparse.direct.iter().copied())),
            path: Standard::of(all().flat_map(|sparse| sparse.hears.iter().copied())),
            neighbours: mean_neighbours(all()),
            weighted: settings.weights.is_some(),
        };
        let samples: Vec<Sample> = problems
            .into_par_iter()
            .map_init(Wmmse::default, |wmmse, (problem, sparse)| {
                let labels = match settings.loss {
                    PowerLoss::SumRate => Vec::new(),
                    PowerLoss::Wmmse => wmmse.shares(&problem).to_vec(),
                    PowerLoss::Fplinq => fplinq(&problem, 100).shares,
                };
                let graph = features.graph(&sparse);
                Sample { problem, graph, labels }
            })
            .collect();
        let slots = (0..settings.batch).map(|_| Slot::default()).collect();
        let validation = Validation::draw(settings, &features)?;
        let settings = settings.clone();
        Ok(Self { settings, features, samples, order: Vec::new(), epoch: None, slots, validation })
    }

    /// Returns the plan of the optimizer.
    pub fn plan(&self) -> Plan {
        let PowerTrainSettings { steps, rate, .. } = self.settings;
        Plan { rate, ..Plan::cosine(steps, 0.0) }
    }

    /// Returns the conversion of gains into features.
    pub fn features(&self) -> Features {
        self.features
    }
}

/// Draws networks of a scenario and sums up their weak paths.
fn draw(
    networks: &RandomLinks,
    (size, count): (usize, usize),
    seed: u64,
) -> Result<Vec<(Interference, SparseInterference)>, TrainError> {
    (0..count as u64)
        .into_par_iter()
        .map(|index| {
            let problem = networks.draw(seed, size, index)?;
            let sparse = SparseInterference::new(&problem, networks.scenario.threshold());
            Ok((problem, sparse))
        })
        .collect::<Result<_, Invalid>>()
        .map_err(|error| Invalid::value("scenario", error, "a scenario with valid gains").into())
}

impl Validation {
    fn draw(settings: &PowerTrainSettings, features: &Features) -> Result<Self, TrainError> {
        let seed = VALIDATION_SEED ^ settings.seed;
        let drawn = draw(&settings.networks(), (settings.train_k, WATCHED), seed)?;
        let mut slopes = vec![0.0; settings.train_k];
        let (mut samples, mut full_power) = (Vec::with_capacity(WATCHED), 0.0);
        for (problem, sparse) in drawn {
            let ones = vec![1.0; settings.train_k];
            full_power += problem.value_and_gradient(&ones, &mut slopes);
            let graph = features.graph(&sparse);
            samples.push(Sample { problem, graph, labels: Vec::new() });
        }
        Ok(Self { samples, full_power })
    }
}

/// Returns the mean number of neighbours of a link, at least 1.
fn mean_neighbours<'a>(problems: impl Iterator<Item = &'a SparseInterference>) -> f64 {
    let (paths, links) = problems.fold((0, 0), |(paths, links), problem| {
        (paths + problem.neighbours.len(), links + problem.direct.len())
    });
    (paths as f64 / links.max(1) as f64).max(1.0)
}

impl Objective<f32> for PowerObjective {
    fn start(&mut self, attempt: u32) -> Vec<f32> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.settings.seed);
        // The shuffles of the epochs use the streams from the top downwards, so later attempts use those from the
        // bottom.
        rng.set_stream(if attempt == 0 { u64::MAX } else { u64::from(attempt) });
        let network = &self.settings.network;
        let parameters = network.initialize(&mut || rng.sample(StandardNormal));
        parameters.into_iter().map(single).collect()
    }

    fn step(&mut self, step: u64, parameters: &[f32], gradient: &mut [f32]) -> f64 {
        let count = self.samples.len();
        let batch = self.settings.batch.min(count);
        let batches = (count / batch) as u64;
        let (epoch, place) = (step / batches, step % batches);
        if self.epoch != Some(epoch) {
            let mut rng = ChaCha8Rng::seed_from_u64(self.settings.seed);
            rng.set_stream(u64::MAX - 1 - epoch);
            #[allow(clippy::cast_possible_truncation)]
            {
                self.order = (0..count as u32).collect();
            }
            self.order.shuffle(&mut rng);
            self.epoch = Some(epoch);
        }
        #[allow(clippy::cast_possible_truncation)]
        let chosen = &self.order[place as usize * batch..][..batch];
        let samples = &self.samples;
        let PowerTrainSettings { network, loss, .. } = &self.settings;
        self.slots[..batch].par_iter_mut().zip(chosen).for_each(|(slot, &index)| {
            slot.run(network, *loss, &samples[index as usize], parameters);
        });
        // Summed in a fixed order, regardless of which thread finished first.
        let mut sum = 0.0;
        gradient.fill(0.0);
        for slot in &self.slots[..batch] {
            sum += slot.loss;
            for (total, value) in gradient.iter_mut().zip(&slot.gradient) {
                *total += value;
            }
        }
        let scale = 1.0 / batch as f32;
        for value in gradient {
            *value *= scale;
        }
        sum / batch as f64
    }

    /// Returns the sum rate relative to full power. A network that has collapsed gives all links the same power.
    /// The sum rate of equal powers increases with that power, so a collapsed network reaches at most the value
    /// of full power.
    fn gain(&mut self, parameters: &[f32]) -> Option<f64> {
        let Self { settings, validation, slots, .. } = self;
        let slot = slots.first_mut()?;
        let mut sum = 0.0;
        for sample in &validation.samples {
            let outputs = settings.network.forward(parameters, &sample.graph, &mut slot.tape);
            slot.shares.clear();
            slot.shares.extend(outputs.iter().map(|&output| sigmoid(f64::from(output))));
            slot.slopes.resize(slot.shares.len(), 0.0);
            sum += sample.problem.value_and_gradient(&slot.shares, &mut slot.slopes);
        }
        Some(sum / validation.full_power)
    }
}

impl Slot {
    fn run(&mut self, network: &EdgeGnn, loss: PowerLoss, sample: &Sample, parameters: &[f32]) {
        let size = sample.graph.size();
        let outputs = network.forward(parameters, &sample.graph, &mut self.tape);
        self.shares.clear();
        self.shares.extend(outputs.iter().map(|&output| sigmoid(f64::from(output))));
        self.slopes.resize(size, 0.0);
        self.of_outputs.clear();
        let each = 1.0 / size as f64;
        match loss {
            PowerLoss::SumRate => {
                self.loss =
                    -each * sample.problem.value_and_gradient(&self.shares, &mut self.slopes);
                self.of_outputs.extend(
                    self.shares
                        .iter()
                        .zip(&self.slopes)
                        .map(|(share, slope)| single(-each * slope * share * (1.0 - share))),
                );
            }
            PowerLoss::Wmmse | PowerLoss::Fplinq => {
                self.loss = 0.0;
                for ((&output, &share), &label) in
                    outputs.iter().zip(&self.shares).zip(&sample.labels)
                {
                    // −label·ln σ(o) − (1 − label)·ln(1 − σ(o)) = softplus(o) − label·o.
                    let output = f64::from(output);
                    let softplus = output.max(0.0) + (-output.abs()).exp().ln_1p();
                    self.loss += each * (softplus - label * output);
                    self.of_outputs.push(single(each * (share - label)));
                }
            }
        }
        self.gradient.clear();
        self.gradient.resize(parameters.len(), 0.0);
        network.backward(
            parameters,
            &sample.graph,
            &mut self.tape,
            &self.of_outputs,
            &mut self.gradient,
        );
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
