//! Price policy for separable costs: each user responds to one price, which is chosen such that the budget is
//! used up.

use std::sync::Arc;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::core::{Allocation, Instance, Outcome, Policy, Status};
use crate::exchange::Tensor;
use crate::framework::{
    Error, ModelError, PRICE, Stored, Tensors, TrainError, check, check_samples, network_tensors,
};
use crate::invalid::Invalid;
use crate::math::{PriceSearch, realization_rng};
use crate::problems::separable::cost::COST;
use crate::problems::separable::evaluation::validated;
use crate::problems::separable::price_response::PriceResponse;
use crate::problems::separable::solver::write_amounts;
use crate::problems::separable::{Cost, Separable, SeparableSolver};
use crate::problems::urllc::add_outside;

/// Settings, costs and metrics of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeparableRecord {
    /// Random instances on which the policy was measured.
    pub training: SeparableSettings,
    /// Start and number of pieces of each cost.
    pub costs: Vec<CostRecord>,
    /// Cell that the gains belong to, if the policy was trained for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<SeparableCell>,
    /// Results of the measurement.
    pub metrics: SeparableMetrics,
    /// Units of the responses; only in files of version 0.2.
    #[serde(default, skip_serializing)]
    pub units: IgnoredAny,
}

/// Cell whose gains define a separable problem: `u` is the SNR `α_k x_k/(N_0 B)` of a power `x_k`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeparableCell {
    /// Configuration of the cell.
    pub config: Config,
    /// Bandwidth `B` of each user, Hz.
    pub bandwidth_hz: f64,
    /// Cost, by name or file.
    pub cost: String,
}

/// Shape of a cost; the values of the cost are in tensors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostRecord {
    /// Start of the range.
    pub low: f64,
    /// Number of pieces.
    pub pieces: usize,
}

/// Results on instances with the sizes of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeparableMetrics {
    /// Extra cost compared with the optimum, percent of `|optimum| + price·X`.
    pub gap_percent: f64,
    /// Extra cost of equal shares, in the same unit.
    pub equal_gap_percent: f64,
}

/// Random instances on which a policy is measured. The policy itself depends only on the costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeparableSettings {
    /// Numbers of users.
    pub train_k: Vec<usize>,
    /// Number of instances of each size.
    pub samples: usize,
    /// Seed of the instances.
    pub seed: u64,
    /// Smallest and largest gain of a user; gains are log-uniform between them.
    pub gain: (f64, f64),
    /// Budget of all users together, in excess of the minimum that serves them.
    pub budget: f64,
    /// Training setting that only files of version 0.2 contain.
    #[serde(default, skip_serializing)]
    pub batch: IgnoredAny,
    /// Training setting that only files of version 0.2 contain.
    #[serde(default, skip_serializing)]
    pub steps: IgnoredAny,
    /// Training setting that only files of version 0.2 contain.
    #[serde(default, skip_serializing)]
    pub rate: IgnoredAny,
}

/// Factor by which a range of nearly equal gains is widened on both sides.
const SPREAD: f64 = 2.0;
/// Extra cost, in percent, above which a policy is rejected.
const MOST_PERCENT: f64 = 0.1;

impl SeparableSettings {
    /// Returns settings for instances of ten users, with gains from the range `gain` and this budget.
    pub fn new(gain: (f64, f64), budget: f64, seed: u64) -> Self {
        let (batch, steps, rate) = (IgnoredAny, IgnoredAny, IgnoredAny);
        Self { train_k: vec![10], samples: 200, seed, gain, budget, batch, steps, rate }
    }

    /// Returns settings for instances similar to `problem`: they have the range of its gains, and its budget.
    pub fn like(problem: &Separable, seed: u64) -> Self {
        let of = |(low, high): (f64, f64), &gain: &f64| (low.min(gain), high.max(gain));
        let (low, high) = problem.gains().iter().fold((f64::INFINITY, 0.0), of);
        let spread = if high < SPREAD * low { SPREAD } else { 1.0 };
        let least: f64 = problem.least().sum();
        let left = problem.budget() - least;
        let budget = if left > 0.0 { left } else { problem.budget() };
        Self::new((low / spread, high * spread), budget, seed)
    }

    /// Checks every value.
    pub fn validate(&self) -> Result<(), Invalid> {
        let Self { train_k, samples, gain, budget, .. } = self;
        check_samples(train_k, *samples)?;
        let sound = gain.0 >= 1e-50 && gain.0 <= gain.1 && gain.1 <= 1e50;
        let expected = "minimum and maximum, from 1e-50 to 1e50";
        check("gain", sound, || format!("{} to {}", gain.0, gain.1), expected)?;
        let sound = (1e-50..=1e50).contains(budget);
        check("budget", sound, || budget.to_string(), "a number from 1e-50 to 1e50")
    }

    /// Draws a random instance of any size with the budget of the settings.
    pub fn draw(
        &self,
        costs: &[Arc<Cost>],
        seed: u64,
        size: usize,
        index: u64,
    ) -> Result<Separable, Invalid> {
        let mut rng = realization_rng(seed, size, index);
        let (low, high) = (self.gain.0.ln(), self.gain.1.ln());
        let user = |rng: &mut ChaCha8Rng| {
            let gain = rng.random_range(low..=high).exp();
            (gain, rng.random_range(0..costs.len()))
        };
        let users: Vec<(f64, usize)> = (0..size).map(|_| user(&mut rng)).collect();
        let least: f64 = users.iter().map(|&(gain, class)| costs[class].range().0 / gain).sum();
        Separable::new(costs.to_vec(), users, least + self.budget)
    }
}

/// Price policy of [`Separable`] for any number of users and any budget. It contains its costs, so it does not
/// need the functions from which they were built.
#[derive(Debug, Clone)]
pub struct SeparablePrice {
    record: SeparableRecord,
    costs: Vec<Arc<Cost>>,
    responses: Vec<PriceResponse>,
}

impl SeparablePrice {
    /// Builds a policy from a record and costs; an error says what does not fit.
    pub fn new(record: SeparableRecord, costs: Vec<Arc<Cost>>) -> Result<Self, ModelError> {
        let content = |message: &str| ModelError::Content(message.to_owned());
        record.training.validate().map_err(|error| content(&error.to_string()))?;
        if costs.is_empty() || record.costs.len() != costs.len() {
            return Err(content(
                "the number of the model's costs differs from the number in its record",
            ));
        }
        if let Some(cell) = &record.cell {
            cell.config.validate()?;
            if !(cell.bandwidth_hz > 0.0 && cell.bandwidth_hz.is_finite()) {
                return Err(content("the bandwidth of the model's cell is out of range"));
            }
        }
        let responses = costs.iter().map(|cost| PriceResponse::fit(cost));
        let responses = responses.collect::<Result<_, _>>();
        let responses = responses.map_err(|error| content(&error.to_string()))?;
        Ok(Self { record, costs, responses })
    }

    /// Fits the responses of users with these costs to a price, and measures the policy. Rejects a policy whose
    /// extra cost exceeds 0.1 %.
    pub fn train(
        costs: &[Arc<Cost>],
        settings: &SeparableSettings,
        cell: Option<SeparableCell>,
    ) -> Result<Self, TrainError> {
        settings.validate()?;
        let record = |cost: &Arc<Cost>| {
            let (low, _, _, errors) = cost.parts();
            CostRecord { low, pieces: errors.len() }
        };
        let record = SeparableRecord {
            training: settings.clone(),
            costs: costs.iter().map(record).collect(),
            cell,
            metrics: SeparableMetrics { gap_percent: 0.0, equal_gap_percent: 0.0 },
            units: IgnoredAny,
        };
        let mut policy = Self::new(record, costs.to_vec())?;
        let metrics = validated(&policy)?;
        if metrics.gap_percent > MOST_PERCENT {
            let value = format!("{:.3} % above the optimum", metrics.gap_percent);
            let expected = format!("at most {MOST_PERCENT} %; use the exact solver for this cost");
            return Err(Invalid::value("price policy", value, expected).into());
        }
        policy.record.metrics = metrics;
        Ok(policy)
    }

    /// Costs, one per class.
    pub fn costs(&self) -> &[Arc<Cost>] {
        &self.costs
    }

    /// Returns the total number of prices in the responses of all costs.
    pub fn prices(&self) -> usize {
        self.responses.iter().map(PriceResponse::len).sum()
    }

    /// Returns an allocator with its own buffers. It serves only instances with the policy's own costs.
    pub fn allocator(&self) -> SeparableAllocator {
        let (policy, solver) = (Arc::new(self.clone()), SeparableSolver::default());
        SeparableAllocator { policy, solver, explains: false }
    }
}

/// Returns the names and shapes of a cost's tensors.
fn layout(pieces: usize) -> Vec<(String, Vec<usize>)> {
    vec![
        ("ends".to_owned(), vec![pieces.saturating_add(1)]),
        ("coefficients".to_owned(), vec![pieces, COST]),
        ("errors".to_owned(), vec![pieces]),
    ]
}

impl Stored for SeparablePrice {
    type Record = SeparableRecord;
    const PROBLEMS: &'static [&'static str] = &["separable"];

    fn method(&self) -> &'static str {
        PRICE
    }

    fn record(&self) -> &SeparableRecord {
        &self.record
    }

    fn tensors(&self) -> Vec<Tensor> {
        let of_cost = |(index, cost): (usize, &Arc<Cost>)| {
            let (_, ends, coefficients, errors) = cost.parts();
            let mut values = ends.to_vec();
            values.extend(coefficients.flatten());
            values.extend(errors);
            network_tensors(&format!("cost.{index}"), &layout(errors.len()), &values)
        };
        self.costs.iter().enumerate().flat_map(of_cost).collect()
    }

    fn from_parts(record: SeparableRecord, tensors: &mut Tensors) -> Result<Self, ModelError> {
        // Files of version 0.2 contain learned responses. AnyK ignores them and computes the responses from the costs.
        tensors.discard("response.outputs");
        let mut costs = Vec::new();
        for (index, &CostRecord { low, pieces }) in record.costs.iter().enumerate() {
            let values = tensors.take_network(&format!("cost.{index}"), &layout(pieces))?;
            let (ends, rest) = values.split_at(pieces + 1);
            let (coefficients, errors) = rest.split_at(COST * pieces);
            let coefficients = coefficients.as_chunks::<COST>().0;
            let cost = Cost::from_pieces(low, ends.to_vec(), coefficients, errors.to_vec())
                .map_err(|error| ModelError::Content(error.to_string()))?;
            costs.push(Arc::new(cost));
        }
        Self::new(record, costs)
    }
}

/// Allocator that runs a [`SeparablePrice`]. As a [`Policy`], it passes instances whose budget cannot serve every
/// user to the solver.
#[derive(Debug, Clone)]
pub struct SeparableAllocator {
    policy: Arc<SeparablePrice>,
    solver: SeparableSolver,
    /// Whether answers list values outside the training range.
    explains: bool,
}

/// Search for the price; it ends when this share of the budget is left, and the amounts are then scaled.
const SEARCH: PriceSearch = PriceSearch { tolerance: 1e-6, bracket: 1e-15, stride: 20.0 };

impl SeparableAllocator {
    /// Sets whether answers list values outside the training range.
    pub(super) fn explaining(self, explains: bool) -> Self {
        Self { explains, ..self }
    }

    /// Writes the amounts of an instance.
    pub fn serve(&mut self, problem: &Separable, amounts: &mut Vec<f64>) -> Outcome {
        let responses = &self.policy.responses;
        if problem.costs().len() != responses.len() {
            let (given, known) = (problem.costs().len(), responses.len());
            let why = format!("the instance has {given} costs, the policy is for {known}");
            return Outcome::Refused(why);
        }
        amounts.clear();
        let respond = |user: usize, price: f64| responses[problem.classes()[user]].at(price);
        if self.solver.split(problem, SEARCH, respond).is_none() {
            return Outcome::Infeasible(problem.infeasibility());
        }
        amounts.extend(self.solver.amounts(problem));
        Outcome::Served(Status::Learned)
    }
}

impl Policy for SeparableAllocator {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let problem = instance.formulation()?;
        match write_amounts(into, |amounts| self.serve(problem, amounts)) {
            Outcome::Infeasible(_) => self.solver.allocate(instance, into),
            outcome => {
                if self.explains {
                    // No value can be outside: the responses hold for any gains and budget.
                    add_outside(Vec::new(), &mut into.facts);
                }
                Ok(outcome)
            }
        }
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
