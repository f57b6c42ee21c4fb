//! Training of the price policy: a user's response to a price of power, learned without labels.
//!
//! At a price `ν` of power, each user at the optimum minimizes its bandwidth plus the cost of its power. As a function
//! of the excess `e = P/P_min − 1`, and in units of the bandwidth at the fold, `b_fold`, this sum is
//!
//! ```text
//! h(e) = b(e)/b_fold + q·e,     q = ν·P_min/b_fold,     t = ln q.
//! ```
//!
//! A training user has a random excess, which is the best response to the price `q = −b'(e)/b_fold`, the
//! bandwidth saved by a small additional amount of power. The loss is `(ψ(t) − ln e)²/2`. By weak duality, the
//! bandwidth of a cell exceeds the optimum by at most the sum over its users of `h(e^ψ(t)) − min h`, at the price
//! that uses up the budget. This holds for any number of users and any budget. Training therefore neither solves
//! cells nor searches for prices, and does not depend on `K`.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::config::System;
use crate::framework::batches::{Batches, Order};
use crate::framework::{
    Objective, Options, Plan, Schedule, Session, TrainError, check, check_price_response,
    training_cells,
};
use crate::invalid::Invalid;
use crate::math::realization_rng;
use crate::network::{
    CONTEXT, ClassResponse, ContextScaling, DenseTape, PriceResponse, ResponseGradient, SplitRule,
};
use crate::problems::urllc::{Urllc, WidenedBandwidth};
use crate::qos::{BandwidthFunction, BandwidthTable, KnownBandwidth, Qos, ServiceClass};

/// Settings of a training run. Equal settings give equal parameters, bit for bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceSettings {
    /// Numbers of users in the training samples. The users are independent, so only their total number matters.
    pub train_k: Vec<usize>,
    /// Number of samples of each size.
    pub samples: usize,
    /// Architecture of the network.
    pub network: PriceResponse,
    /// Number of samples in a step.
    pub batch: usize,
    /// Number of steps.
    pub steps: u64,
    /// Learning rate of Adam, as a function of the step.
    pub rate: Schedule,
    /// Seed of samples, initialization and order.
    pub seed: u64,
    /// Rule that turns responses into powers.
    #[serde(default)]
    pub output: SplitRule,
    /// Logarithm of the price at which a softmax evaluates the responses, ν in Hz/W.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_ln_price: Option<f64>,
    /// Description of the training cells; only in files of version 0.2.
    #[serde(default, skip_serializing)]
    pub ranges: IgnoredAny,
}

/// Range of the logarithm of the training users' excess, from a barely sufficient budget to a single user next to
/// the base station.
const LN_EXCESS: (f64, f64) = (-6.0, 18.0);
/// Elasticity below which rounding hides the slope of a learned bandwidth.
const LEAST_ELASTICITY: f64 = 1e-13;
/// Logarithm of a softmax's fixed price in files of version 0.2.
const FORMER_LN_PRICE: f64 = 9.0;
/// Number of random service classes in training; building their tables takes about a second.
const CLASSES: usize = 160;
/// Share of training users with the cell's own class and antennas.
const OWN: f64 = 0.5;
/// Ranges of the training classes: decades of ε, bits, packets per frame, antennas.
const LOG_EPSILON: (f64, f64) = (-7.0, -3.0);
const PACKET_BITS: (f64, f64) = (80.0, 1600.0);
const ARRIVAL_RATE: (f64, f64) = (0.01, 1.0);
const ANTENNAS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

impl PriceSettings {
    /// Returns AnyK's default settings; training takes seconds.
    pub fn preset(seed: u64) -> Self {
        Self {
            train_k: vec![10],
            samples: 2000,
            network: PriceResponse { hidden: 16 },
            batch: 16,
            steps: 8000,
            rate: Schedule::Cosine { rate: 1e-2, last: 1e-5 },
            seed,
            output: SplitRule::Kkt,
            fixed_ln_price: None,
            ranges: IgnoredAny,
        }
    }

    /// Returns the default settings with the sizes, samples and seed of options, after checking them.
    pub(crate) fn of_options(options: &Options) -> Result<Self, Invalid> {
        let (train_k, samples) = training_cells(options)?;
        let settings = Self { train_k, samples, ..Self::preset(options.seed("seed", 1)?) };
        settings.validate()?;
        Ok(settings)
    }

    /// Returns the logarithm of the fixed price if the output is a softmax; `None` for other outputs.
    pub(crate) fn fixed_price(&self) -> Option<f64> {
        let ln_price = self.fixed_ln_price.unwrap_or(FORMER_LN_PRICE);
        (self.output == SplitRule::Softmax).then_some(ln_price)
    }

    /// Checks every value.
    pub fn validate(&self) -> Result<(), Invalid> {
        let Self { train_k, samples, network, batch, steps, rate, fixed_ln_price, .. } = self;
        let sound = fixed_ln_price.is_none_or(|price| (-200.0..=200.0).contains(&price));
        check(
            "fixed_ln_price",
            sound,
            || fixed_ln_price.unwrap_or(f64::NAN).to_string(),
            "a number from -200 to 200",
        )?;
        check_price_response(train_k, *samples, network, (*batch, *steps, *rate))
    }
}

/// Range from the smallest to the largest value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Span(pub f64, pub f64);

impl Span {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let none = Self(f64::INFINITY, f64::NEG_INFINITY);
        values.fold(none, |Self(low, high), value| Self(low.min(value), high.max(value)))
    }

    /// Returns whether a value is inside, up to rounding.
    pub fn holds(&self, value: f64) -> bool {
        let slack = |end: f64| 1e-9 * end.abs();
        value >= self.0 - slack(self.0) && value <= self.1 + slack(self.1)
    }

    /// Describes, with its name, the value that is furthest outside; `None` if all are inside.
    pub(crate) fn furthest(
        &self,
        name: &str,
        values: impl IntoIterator<Item = f64>,
    ) -> Option<String> {
        let far = |value: f64| (self.0 - value).max(value - self.1);
        let outside = values.into_iter().filter(|&value| !self.holds(value));
        let value = outside.max_by(|&a, &b| far(a).total_cmp(&far(b)))?;
        let [value, low, high] = [value, self.0, self.1].map(shown);
        Some(format!("{name} {value}, trained {low} to {high}"))
    }
}

/// Formats a value with about four digits.
fn shown(value: f64) -> String {
    if (1e-2..1e5).contains(&value.abs()) { format!("{value:.2}") } else { format!("{value:.2e}") }
}

/// Ranges of the training samples. Values outside are also served, but reported.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainedRanges(pub BTreeMap<String, Span>);

impl TrainedRanges {
    /// Computes the ranges of the values of training classes. Several classes are drawn densely, so their ranges
    /// extend to the limits of the draw.
    fn of(classes: &[TrainingClass]) -> Self {
        let of = |(low, high): (f64, f64), value: fn(&TrainingClass) -> f64| {
            let drawn = (classes.len() > 1).then_some([low, high]);
            Span::of(classes.iter().map(value).chain(drawn.into_iter().flatten()))
        };
        let epsilon = (10f64.powf(LOG_EPSILON.0), 10f64.powf(LOG_EPSILON.1));
        let antennas = (f64::from(ANTENNAS[0]), f64::from(ANTENNAS[ANTENNAS.len() - 1]));
        let all = [
            ("excess", Span(LN_EXCESS.0.exp(), LN_EXCESS.1.exp())),
            ("epsilon", of(epsilon, |class| class.qos.service().epsilon)),
            ("packet_bits", of(PACKET_BITS, |class| class.qos.service().packet_bits)),
            ("arrival_rate", of(ARRIVAL_RATE, |class| class.qos.service().arrival_rate)),
            ("antennas", of(antennas, |class| f64::from(class.antennas))),
        ];
        Self(all.map(|(name, span)| (name.to_owned(), span)).into())
    }

    /// Returns whether all ranges are finite and in order.
    pub fn is_sound(&self) -> bool {
        self.0.values().all(|Span(low, high)| low.is_finite() && high.is_finite() && low <= high)
    }

    /// Describes the values of a cell (its classes, its antennas, its limit and the excess of its users) that are
    /// outside the ranges of a training run in `system`.
    pub(crate) fn outside_of_cell(
        &self,
        system: &System,
        cell: &Urllc,
        excess: &[f64],
    ) -> Vec<String> {
        let classes = || cell.classes().iter().map(Qos::service);
        // All classes have the limit of the cell, and training has one limit.
        let most = cell.classes().iter().find_map(Qos::max_spectral_efficiency);
        let trained = system.config().cell.max_spectral_efficiency;
        let shown = |most: Option<f64>| most.map_or("none".to_owned(), |most| most.to_string());
        let limit = (most != trained).then(|| {
            format!("max_spectral_efficiency {}, trained {}", shown(most), shown(trained))
        });
        let found = [
            limit,
            self.outside("excess", excess.iter().copied()),
            self.outside("epsilon", classes().map(|class| class.epsilon)),
            self.outside("packet_bits", classes().map(|class| class.packet_bits)),
            self.outside("arrival_rate", classes().map(|class| class.arrival_rate)),
            self.outside("antennas", [f64::from(cell.antennas())]),
        ];
        found.into_iter().flatten().collect()
    }

    /// Describes the value that is furthest outside the range with this name; `None` if there is no such range or
    /// value.
    pub fn outside(&self, name: &str, values: impl IntoIterator<Item = f64>) -> Option<String> {
        self.0.get(name)?.furthest(name, values)
    }
}

/// Result of a training run.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainedPrice {
    /// Parameters of the network.
    pub parameters: Vec<f64>,
    /// Scaling of the context.
    pub scaling: ContextScaling,
    /// Ranges of the training samples.
    pub ranges: TrainedRanges,
}

/// Class of the training set, and the number of antennas of its cells.
struct TrainingClass {
    qos: Qos,
    antennas: u32,
}

/// Returns the context of a class: logarithms of antennas `N_t`, `κ`, `Q_G⁻¹(ε/2)` and `θS^E`. The margin `M(z, v)`
/// depends only on these.
pub(crate) fn context(qos: &Qos, antennas: u32) -> [f64; CONTEXT] {
    [
        f64::from(antennas).ln(),
        qos.kappa().ln(),
        qos.service().decoding_quantile().ln(),
        (qos.theta() * qos.effective_bandwidth()).ln(),
    ]
}

/// Trains for a known fading distribution, on the cell's own service class and antennas and on random others.
pub fn train_price(
    system: &System,
    settings: &PriceSettings,
    session: &mut Session<'_>,
) -> Result<TrainedPrice, TrainError> {
    settings.validate()?;
    let mut classes = vec![own_class(system)?];
    let mut rng = ChaCha8Rng::seed_from_u64(settings.seed);
    rng.set_stream(u64::MAX - 1);
    for _ in 0..CLASSES {
        let service = ServiceClass {
            epsilon: 10f64.powf(rng.random_range(LOG_EPSILON.0..=LOG_EPSILON.1)),
            packet_bits: logarithmic(&mut rng, PACKET_BITS),
            arrival_rate: logarithmic(&mut rng, ARRIVAL_RATE),
        };
        let antennas = ANTENNAS[rng.random_range(0..ANTENNAS.len())];
        let mut config = system.config().clone();
        config.cell.antennas = antennas;
        // Skip classes that are not valid with this frame or noise.
        if let Ok(system) = config.validate()
            && let Ok(qos) = system.qos(service)
        {
            classes.push(TrainingClass { qos, antennas });
        }
    }
    let table = |class: &TrainingClass| BandwidthTable::new(class.qos.clone());
    let bandwidths: Vec<KnownBandwidth> =
        classes.iter().map(|class| KnownBandwidth::new(Arc::new(table(class)))).collect();
    train(settings, &classes, &bandwidths, session)
}

/// Trains for the system's own service class, with a bandwidth function that was learned from samples of fading.
/// Antennas and fading distribution are those of the samples.
pub fn train_price_on(
    system: &System,
    settings: &PriceSettings,
    bandwidth: &WidenedBandwidth,
    session: &mut Session<'_>,
) -> Result<TrainedPrice, TrainError> {
    settings.validate()?;
    let own = [own_class(system)?];
    let mut trained = train(settings, &own, std::slice::from_ref(bandwidth), session)?;
    // Antennas matter only through the fading, which the samples describe completely.
    trained.ranges.0.remove("antennas");
    Ok(trained)
}

fn own_class(system: &System) -> Result<TrainingClass, TrainError> {
    let antennas = system.config().cell.antennas;
    Ok(TrainingClass { qos: system.qos(system.service())?, antennas })
}

fn logarithmic(rng: &mut ChaCha8Rng, (low, high): (f64, f64)) -> f64 {
    rng.random_range(low.ln()..=high.ln()).exp()
}

fn train<B: BandwidthFunction>(
    settings: &PriceSettings,
    classes: &[TrainingClass],
    bandwidths: &[B],
    session: &mut Session<'_>,
) -> Result<TrainedPrice, TrainError> {
    let contexts = || classes.iter().map(|class| context(&class.qos, class.antennas));
    let scaling = ContextScaling::of(contexts());
    let contexts: Vec<f64> = contexts().flat_map(|one| scaling.standardised(one)).collect();
    let samples = draw_samples(settings, bandwidths);
    let mut objective = PriceObjective {
        settings,
        samples: &samples,
        contexts: &contexts,
        batches: Batches::new(ChaCha8Rng::seed_from_u64(0), 0, 1, Order::Fresh),
        tape: DenseTape::default(),
        of_responses: Vec::new(),
    };
    let plan = Plan { rate: settings.rate, ..Plan::cosine(settings.steps, 0.0) };
    let parameters = session.train("training", &plan, &mut objective)?;
    Ok(TrainedPrice { parameters, scaling, ranges: TrainedRanges::of(classes) })
}

/// Training user at a price.
struct TrainingUser {
    class: usize,
    /// Logarithm of the price, `ln q`.
    t: f64,
    /// Logarithm of the best response, `ln e`.
    ln_excess: f64,
}

impl TrainingUser {
    /// Returns a user whose best response is this excess; the price is the marginal saving of bandwidth.
    fn new(class: usize, bandwidth: &impl BandwidthFunction, ln_excess: f64) -> Self {
        let excess = ln_excess.exp();
        let (hz, elasticity) = bandwidth.at_excess(excess);
        let elasticity = elasticity.max(LEAST_ELASTICITY);
        let marginal = hz / bandwidth.max_bandwidth_hz() * elasticity / (1.0 + excess);
        Self { class, t: marginal.ln(), ln_excess }
    }
}

fn draw_samples<B: BandwidthFunction>(
    settings: &PriceSettings,
    bandwidths: &[B],
) -> Vec<Vec<TrainingUser>> {
    let mut samples = Vec::with_capacity(settings.samples * settings.train_k.len());
    for &size in &settings.train_k {
        for index in 0..settings.samples as u64 {
            let mut rng = realization_rng(settings.seed, size, index);
            let mut user = || {
                let ln_excess = rng.random_range(LN_EXCESS.0..=LN_EXCESS.1);
                let others = bandwidths.len() > 1 && rng.random::<f64>() >= OWN;
                let class = if others { rng.random_range(1..bandwidths.len()) } else { 0 };
                let ln_excess = below_end(ln_excess, bandwidths[class].max_excess().ln());
                TrainingUser::new(class, &bandwidths[class], ln_excess)
            };
            samples.push((0..size).map(|_| user()).collect());
        }
    }
    samples
}

/// Maps an excess to the part of the range in which more power saves bandwidth; beyond its end the price is 0.
fn below_end(ln_excess: f64, end: f64) -> f64 {
    let (low, high) = LN_EXCESS;
    if end >= high {
        return ln_excess;
    }
    low + (ln_excess - low) * (end - low) / (high - low)
}

/// Mean loss of the users of a batch.
struct PriceObjective<'a> {
    settings: &'a PriceSettings,
    samples: &'a [Vec<TrainingUser>],
    contexts: &'a [f64],
    batches: Batches,
    tape: DenseTape<f64>,
    of_responses: Vec<ResponseGradient>,
}

/// Returns the loss of a user and its derivative with respect to `ψ`.
fn lost(user: &TrainingUser, response: &ClassResponse) -> (f64, f64) {
    let miss = response.at(user.t).0 - user.ln_excess;
    (0.5 * miss * miss, miss)
}

impl Objective<f64> for PriceObjective<'_> {
    fn start(&mut self, attempt: u32) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.settings.seed);
        rng.set_stream(u64::MAX - u64::from(attempt));
        let parameters = self.settings.network.initialize(&mut || rng.sample(StandardNormal));
        self.batches = Batches::new(rng, self.samples.len(), self.settings.batch, Order::Fresh);
        parameters
    }

    fn step(&mut self, step: u64, parameters: &[f64], gradient: &mut [f64]) -> f64 {
        let network = &self.settings.network;
        let responses = network.responses(parameters, self.contexts, &mut self.tape);
        self.of_responses.clear();
        self.of_responses.resize(responses.len(), ResponseGradient::default());
        let (mut total, mut count) = (0.0, 0.0);
        for &sample in self.batches.at(step) {
            for user in &self.samples[sample] {
                let response = &responses[user.class];
                let (loss, upstream) = lost(user, response);
                response.accumulate(user.t, upstream, &mut self.of_responses[user.class]);
                total += loss;
                count += 1.0;
            }
        }
        gradient.fill(0.0);
        network.backward(parameters, &mut self.tape, &self.of_responses, gradient);
        let scale = 1.0 / count;
        for value in gradient {
            *value *= scale;
        }
        total * scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    /// Compares the gradient of the whole chain (context, response, bandwidth) with central differences at random
    /// parameters.
    #[test]
    fn gradient_matches_finite_differences() {
        let system = Config::default().validate().unwrap();
        for seed in 1..4 {
            let mut settings = PriceSettings::preset(seed);
            (settings.samples, settings.batch, settings.network.hidden) = (6, 6, 3);
            let own = own_class(&system).unwrap();
            let other = ServiceClass { epsilon: 1e-3, packet_bits: 800.0, ..own.qos.service() };
            let qos = [own.qos.clone(), system.qos(other).unwrap()];
            let bandwidths = qos.map(|qos| KnownBandwidth::new(Arc::new(BandwidthTable::new(qos))));
            let samples = draw_samples(&settings, &bandwidths);
            let mut objective = PriceObjective {
                settings: &settings,
                samples: &samples,
                contexts: &[0.3, -0.2, 0.5, 0.1, -0.7, 0.4, 0.2, 1.0],
                batches: Batches::new(ChaCha8Rng::seed_from_u64(0), 0, 1, Order::Fresh),
                tape: DenseTape::default(),
                of_responses: Vec::new(),
            };
            let mut parameters = objective.start(0);
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            for parameter in &mut parameters {
                let noise: f64 = rng.sample(StandardNormal);
                *parameter += 0.1 * noise;
            }
            let mut gradient = vec![0.0; parameters.len()];
            objective.step(0, &parameters, &mut gradient);
            let size = gradient.iter().fold(0.0f64, |most, value| most.max(value.abs()));
            assert!(size > 1e-4);
            for index in 0..parameters.len() {
                let mut shifted = |step: f64| {
                    let mut moved = parameters.clone();
                    moved[index] += step;
                    objective.step(0, &moved, &mut vec![0.0; parameters.len()])
                };
                let numeric = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
                let off = (gradient[index] - numeric).abs();
                assert!(off < 1e-5 * size.max(1e-2), "{index}: {} {numeric}", gradient[index]);
            }
        }
    }
}
