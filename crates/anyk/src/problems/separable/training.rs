//! Training of any-gnn for separable costs: a response to one price, learned without labels on the costs themselves.
//!
//! Instances are drawn with gains and budgets from ranges, at one size. Their loss is `Σ_k c_k(α_k x_k)` in units of
//! `Σ_k |c_k| − v_k c_k'`, which are held fixed in the gradient: of a cost that is positive it is that of the logarithm.
//! So instances of small and of large costs weigh alike, whatever the sign of the cost is.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use crate::framework::batches::{Batches, Order};
use crate::framework::{Objective, Plan, Schedule, Session, TrainError, check, check_training};
use crate::invalid::Invalid;
use crate::math::realization_rng;
use crate::network::{RESPONSE_OUTPUTS, ResponseGradient};
use crate::problems::separable::evaluation::validated;
use crate::problems::separable::learned_split::{LearnedClass, LearnedSplit, ResponseUnits};
use crate::problems::separable::{
    AnySeparablePolicy, AnySeparableRecord, Cost, Separable, SeparableMetrics,
};

/// A training, whole: the same settings and costs give the same parameters, bit for bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnySeparableSettings {
    /// Sizes of the training instances.
    pub train_k: Vec<usize>,
    /// Instances of each size.
    pub samples: usize,
    /// Instances in a step.
    pub batch: usize,
    /// Steps.
    pub steps: u64,
    /// Learning rate of Adam over the steps.
    pub rate: Schedule,
    /// Seed of instances, initialization and order.
    pub seed: u64,
    /// Least and largest gain of a user: they are drawn evenly in their logarithm.
    pub gain: (f64, f64),
    /// The budget of all users together, beyond the least that serves them, for which the policy is to be good at 1 to
    /// 1,000 users.
    pub budget: f64,
}

/// Shares of the budget, for each user, that training instances have: from half of that of a thousand users to twice
/// that of one.
const SHARES: (f64, f64) = (5e-4, 2.0);
/// Gains that are all alike are spread by this factor to both sides.
const SPREAD: f64 = 2.0;

impl AnySeparableSettings {
    /// Ours, for gains from a range and a budget: about a second of training at K = 10.
    pub fn preset(gain: (f64, f64), budget: f64, seed: u64) -> Self {
        Self {
            train_k: vec![10],
            samples: 2000,
            batch: 16,
            steps: 10_000,
            rate: Schedule::Cosine { rate: 2e-2, last: 1e-4 },
            seed,
            gain,
            budget,
        }
    }

    /// Ours, for instances like this one: gains between its least and its largest, and its budget.
    pub fn like(problem: &Separable, seed: u64) -> Self {
        let of = |(low, high): (f64, f64), &gain: &f64| (low.min(gain), high.max(gain));
        let (low, high) = problem.gains().iter().fold((f64::INFINITY, 0.0), of);
        let spread = if high < SPREAD * low { SPREAD } else { 1.0 };
        let least: f64 = problem.least().sum();
        let left = problem.budget() - least;
        let budget = if left > 0.0 { left } else { problem.budget() };
        Self::preset((low / spread, high * spread), budget, seed)
    }

    /// Checks every value.
    pub fn validate(&self) -> Result<(), Invalid> {
        let Self { train_k, samples, batch, steps, rate, gain, budget, .. } = self;
        check_training(train_k, *samples, (*batch, *steps, *rate))?;
        let sound = gain.0 >= 1e-50 && gain.0 <= gain.1 && gain.1 <= 1e50;
        let expected = "least and largest, from 1e-50 to 1e50";
        check("gain", sound, || format!("{} to {}", gain.0, gain.1), expected)?;
        let sound = (1e-50..=1e50).contains(budget);
        check("budget", sound, || budget.to_string(), "a number from 1e-50 to 1e50")
    }

    /// What classes are measured in.
    pub(crate) fn units(&self, costs: &[Arc<Cost>]) -> Vec<ResponseUnits> {
        let range = (self.gain.0 * self.budget * SHARES.0, self.gain.1 * self.budget * SHARES.1);
        costs.iter().map(|cost| ResponseUnits::new(cost, range)).collect()
    }

    /// Users with gains from a range, of one class or of any.
    fn users(
        &self,
        (low, high): (f64, f64),
        (size, one): (usize, Option<usize>),
        classes: usize,
        rng: &mut ChaCha8Rng,
    ) -> Vec<(f64, usize)> {
        let (low, high) = (low.ln(), high.ln());
        let mut user = || {
            let gain = rng.random_range(low..=high).exp();
            (gain, one.unwrap_or_else(|| rng.random_range(0..classes)))
        };
        (0..size).map(|_| user()).collect()
    }

    /// A random instance of any size with the budget of the settings.
    pub fn draw(
        &self,
        costs: &[Arc<Cost>],
        (seed, size, index): (u64, usize, u64),
    ) -> Result<Separable, Invalid> {
        let mut rng = realization_rng(seed, size, index);
        let users = self.users(self.gain, (size, None), costs.len(), &mut rng);
        with_slack(costs, users, self.budget)
    }
}

/// Users with so much beyond the least that serves them.
fn with_slack(
    costs: &[Arc<Cost>],
    users: Vec<(f64, usize)>,
    slack: f64,
) -> Result<Separable, Invalid> {
    let least: f64 = users.iter().map(|&(gain, class)| costs[class].range().0 / gain).sum();
    Separable::new(costs.to_vec(), users, least + slack)
}

/// Draws the instances of a training.
fn draw_instances(
    settings: &AnySeparableSettings,
    costs: &[Arc<Cost>],
) -> Result<Vec<Separable>, Invalid> {
    let mut instances = Vec::new();
    for &size in &settings.train_k {
        for index in 0..settings.samples as u64 {
            let mut rng = realization_rng(settings.seed, size, index);
            // In small instances users may be alike by chance, all strong or all weak, and all of one class: of every
            // two training instances one has gains from a part of the range, and of every four two have one class.
            let mut gain = settings.gain;
            if index % 2 == 1 {
                let mut end = || rng.random_range(gain.0.ln()..=gain.1.ln()).exp();
                let (one, other) = (end(), end());
                gain = (one.min(other), one.max(other));
            }
            let one = (index % 4 > 1).then(|| rng.random_range(0..costs.len()));
            let users = settings.users(gain, (size, one), costs.len(), &mut rng);
            let share: f64 = rng.random_range(SHARES.0.ln()..SHARES.1.ln()).exp();
            instances.push(with_slack(costs, users, settings.budget * share * size as f64)?);
        }
    }
    Ok(instances)
}

/// The mean loss over a batch of instances.
struct SeparableObjective<'a> {
    settings: &'a AnySeparableSettings,
    costs: &'a [Arc<Cost>],
    units: Vec<ResponseUnits>,
    instances: &'a [Separable],
    batches: Batches,
    split: LearnedSplit,
    by_over: Vec<f64>,
    gradients: Vec<ResponseGradient>,
}

impl<'a> SeparableObjective<'a> {
    fn new(
        settings: &'a AnySeparableSettings,
        costs: &'a [Arc<Cost>],
        instances: &'a [Separable],
    ) -> Self {
        Self {
            settings,
            costs,
            units: settings.units(costs),
            instances,
            batches: Batches::new(ChaCha8Rng::seed_from_u64(0), 0, 1, Order::Whole),
            split: LearnedSplit::default(),
            by_over: Vec::new(),
            gradients: Vec::new(),
        }
    }

    /// Adds the gradient of an instance, in its unit or in a given one; returns its loss and the unit.
    fn add(&mut self, instance: usize, classes: &[LearnedClass], unit: Option<f64>) -> (f64, f64) {
        let problem = &self.instances[instance];
        self.split.split(problem, classes, true);
        self.by_over.clear();
        let (mut loss, mut size) = (0.0, 0.0);
        for (user, over) in self.split.over().iter().enumerate() {
            let cost = problem.cost_of(user);
            let (value, marginal) = cost.at_over(cost.over_range().0 + over);
            loss += value;
            size += value.abs() + over * marginal;
            self.by_over.push(-marginal);
        }
        let unit = unit.unwrap_or(size);
        // Where everyone has all that is of use, nothing is to be learned.
        if unit < f64::MIN_POSITIVE {
            return (0.0, unit);
        }
        for by_over in &mut self.by_over {
            *by_over /= unit;
        }
        self.split.backward(problem, classes, &self.by_over, &mut self.gradients);
        (loss / unit, unit)
    }

    /// Loss and gradient of a batch; the units of its instances are found, or given.
    fn batch(
        &mut self,
        batch: &[usize],
        parameters: &[f64],
        units: &mut Vec<f64>,
        gradient: &mut [f64],
    ) -> f64 {
        let classes = classes_of(parameters, &self.units, self.costs);
        self.gradients.clear();
        self.gradients.resize(classes.len(), ResponseGradient::default());
        let mut sum = 0.0;
        for (place, &instance) in batch.iter().enumerate() {
            let (loss, unit) = self.add(instance, &classes, units.get(place).copied());
            sum += loss;
            if units.len() <= place {
                units.push(unit);
            }
        }
        let scale = 1.0 / batch.len() as f64;
        let all = self.gradients.iter().flat_map(ResponseGradient::by_outputs);
        for (value, by_output) in gradient.iter_mut().zip(all) {
            *value = scale * by_output;
        }
        sum * scale
    }
}

/// Responses of all classes.
pub(crate) fn classes_of(
    parameters: &[f64],
    units: &[ResponseUnits],
    costs: &[Arc<Cost>],
) -> Vec<LearnedClass> {
    let rows = parameters.chunks_exact(RESPONSE_OUTPUTS).zip(units).zip(costs);
    rows.map(|((outputs, units), cost)| LearnedClass::new(outputs, *units, cost)).collect()
}

impl Objective<f64> for SeparableObjective<'_> {
    fn start(&mut self, attempt: u32) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.settings.seed);
        rng.set_stream(u64::MAX - u64::from(attempt));
        let parameters = self
            .units
            .iter()
            .flat_map(|units| units.initialize(&mut || rng.sample(StandardNormal)))
            .collect();
        let count = self.instances.len();
        self.batches = Batches::new(rng, count, self.settings.batch, Order::Whole);
        parameters
    }

    fn step(&mut self, step: u64, parameters: &[f64], gradient: &mut [f64]) -> f64 {
        let batch = self.batches.at(step).to_vec();
        self.batch(&batch, parameters, &mut Vec::new(), gradient)
    }
}

/// Trains any-gnn for these costs, and measures it on a validation set of the training sizes.
pub fn train_any_separable(
    costs: &[Arc<Cost>],
    settings: &AnySeparableSettings,
    session: &mut Session<'_>,
) -> Result<AnySeparablePolicy, TrainError> {
    settings.validate()?;
    let instances = draw_instances(settings, costs)?;
    let mut objective = SeparableObjective::new(settings, costs, &instances);
    let plan = Plan { rate: settings.rate, ..Plan::cosine(settings.steps, 0.0) };
    let parameters = session.train("training", &plan, &mut objective)?;
    let metrics = SeparableMetrics { gap_percent: 0.0, equal_gap_percent: 0.0 };
    let record = AnySeparableRecord::new(settings, costs, metrics);
    let mut policy = AnySeparablePolicy::new(record, costs.to_vec(), parameters)?;
    policy.set_metrics(validated(&policy)?);
    Ok(policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole chain (response, price, zeros, cost) at random parameters, against central differences: costs with
    /// and without a finite worth of the first bit, alone and side by side.
    #[test]
    fn gradient_matches_finite_differences() {
        let rate = Arc::new(Cost::from_fn((0.0, 1e3), |u| -u.ln_1p()).unwrap());
        let delay = Arc::new(Cost::from_fn((0.0, 1e3), |u| 1.0 / u).unwrap());
        let (mut zeros, mut positive) = (0, 0);
        for (seed, costs) in
            [(1, vec![rate.clone()]), (2, vec![delay.clone()]), (3, vec![rate, delay])]
        {
            let mut settings = AnySeparableSettings::preset((0.1, 10.0), 3.0, seed);
            (settings.samples, settings.batch) = (6, 6);
            let instances = draw_instances(&settings, &costs).unwrap();
            let mut objective = SeparableObjective::new(&settings, &costs, &instances);
            let mut parameters = objective.start(0);
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            for parameter in &mut parameters {
                let noise: f64 = rng.sample(StandardNormal);
                *parameter += 0.1 * noise;
            }
            let mut gradient = vec![0.0; parameters.len()];
            let (batch, mut units) = ([0, 1, 2, 3, 4, 5], Vec::new());
            objective.batch(&batch, &parameters, &mut units, &mut gradient);
            assert_eq!(units.len(), 6);
            let classes = classes_of(&parameters, &objective.units, &costs);
            for instance in &instances {
                objective.split.split(instance, &classes, true);
                let none = objective.split.over().iter().filter(|over| **over <= 0.0).count();
                (zeros, positive) = (zeros + none, positive + 10 - none);
            }
            let size = gradient.iter().fold(0.0f64, |most, value| most.max(value.abs()));
            assert!(size > 1e-4);
            for index in 0..parameters.len() {
                let mut shifted = |step: f64| {
                    let mut moved = parameters.clone();
                    moved[index] += step;
                    objective.batch(&batch, &moved, &mut units, &mut vec![0.0; moved.len()])
                };
                let numeric = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
                let off = (gradient[index] - numeric).abs();
                assert!(off < 1e-6 * size.max(1e-2), "{index}: {} {numeric}", gradient[index]);
            }
        }
        assert!(zeros > 10 && positive > 50, "{zeros} {positive}");
    }
}
