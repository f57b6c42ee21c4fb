//! any-gnn for separable costs: amounts by a learned response to one price, the price by the budget.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::core::{Allocation, Instance, Outcome, Policy, Status};
use crate::exchange::Tensor;
use crate::framework::{Error, ModelError, Stored, Tensors, network_tensors};
use crate::network::RESPONSE_OUTPUTS;
use crate::problems::separable::cost::COST;
use crate::problems::separable::learned_split::{LearnedClass, LearnedSplit, ResponseUnits};
use crate::problems::separable::solver::write_amounts;
use crate::problems::separable::training::classes_of;
use crate::problems::separable::{AnySeparableSettings, Cost, Separable};

/// How a model came about: settings, its costs, and what was measured on its validation set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnySeparableRecord {
    /// Its training.
    pub training: AnySeparableSettings,
    /// What the costs' places are measured from, and the number of pieces of each.
    pub costs: Vec<CostRecord>,
    /// What the responses are measured in.
    pub units: Vec<ResponseUnits>,
    /// The cell that its gains are of, where it was trained for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<SeparableCell>,
    /// Measured after training.
    pub metrics: SeparableMetrics,
}

/// A cell whose users' gains are those of a separable problem: `u` is the SNR `α_k x_k/(N_0 B)` of a power `x_k`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeparableCell {
    /// The cell.
    pub config: Config,
    /// Bandwidth `B` of each user, Hz.
    pub bandwidth_hz: f64,
    /// The cost, by name or file.
    pub cost: String,
}

/// A cost, beside its tensors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostRecord {
    /// What its places are measured from.
    pub low: f64,
    /// Its pieces.
    pub pieces: usize,
}

/// What was measured after training, on a validation set of the training sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeparableMetrics {
    /// Costs over the optimum, percent of `|optimum| + price·X`.
    pub gap_percent: f64,
    /// The same of equal shares.
    pub equal_gap_percent: f64,
}

impl AnySeparableRecord {
    pub(crate) fn new(
        settings: &AnySeparableSettings,
        costs: &[Arc<Cost>],
        metrics: SeparableMetrics,
    ) -> Self {
        let record = |cost: &Arc<Cost>| {
            let (low, _, coefficients, _) = cost.parts();
            CostRecord { low, pieces: coefficients.count() }
        };
        Self {
            training: settings.clone(),
            costs: costs.iter().map(record).collect(),
            units: settings.units(costs),
            cell: None,
            metrics,
        }
    }
}

/// A learned policy of [`Separable`] for any number of users and any budget, with its costs: it answers without the
/// functions that they were made from.
#[derive(Debug, Clone)]
pub struct AnySeparablePolicy {
    record: AnySeparableRecord,
    costs: Vec<Arc<Cost>>,
    parameters: Vec<f64>,
    classes: Vec<LearnedClass>,
}

impl AnySeparablePolicy {
    /// From a record, costs and parameters; an error says what does not fit.
    pub fn new(
        record: AnySeparableRecord,
        costs: Vec<Arc<Cost>>,
        parameters: Vec<f64>,
    ) -> Result<Self, ModelError> {
        let content = |message: &str| ModelError::Content(message.to_owned());
        record.training.validate().map_err(|error| content(&error.to_string()))?;
        if costs.is_empty()
            || record.costs.len() != costs.len()
            || record.units.len() != costs.len()
        {
            return Err(content("its costs and their units are not of one number"));
        }
        if !record.units.iter().all(ResponseUnits::is_sound) {
            return Err(content("the units of its responses are out of range"));
        }
        if let Some(cell) = &record.cell {
            cell.config.validate()?;
            if !(cell.bandwidth_hz > 0.0 && cell.bandwidth_hz.is_finite()) {
                return Err(content("the bandwidth of its cell is out of range"));
            }
        }
        if parameters.len() != RESPONSE_OUTPUTS * costs.len()
            || !parameters.iter().all(|parameter| parameter.is_finite())
        {
            return Err(content("the parameters of its responses do not fit, or are not finite"));
        }
        let classes = classes_of(&parameters, &record.units, &costs);
        Ok(Self { record, costs, parameters, classes })
    }

    /// Its costs, by class.
    pub fn costs(&self) -> &[Arc<Cost>] {
        &self.costs
    }

    /// The same policy for the users of a cell.
    #[must_use]
    pub(crate) fn of_cell(mut self, cell: SeparableCell) -> Self {
        self.record.cell = Some(cell);
        self
    }

    pub(crate) fn set_metrics(&mut self, metrics: SeparableMetrics) {
        self.record.metrics = metrics;
    }

    /// What answers instances by it, with its buffers. Their costs are to be the policy's own.
    pub fn allocator(&self) -> AnySeparableAllocator {
        AnySeparableAllocator { policy: Arc::new(self.clone()), split: LearnedSplit::default() }
    }

    /// What of an instance is outside of what the policy was trained on, in words. Empty if nothing is.
    pub fn out_of_range(&self, problem: &Separable) -> Vec<String> {
        let (low, high) = self.record.training.gain;
        let mut found = Vec::new();
        let outside =
            |gain: &&f64| !(**gain >= low * (1.0 - 1e-9) && **gain <= high * (1.0 + 1e-9));
        if let Some(gain) = problem.gains().iter().find(outside) {
            found.push(format!("gain {gain:.3e}, trained {low:.3e} to {high:.3e}"));
        }
        found
    }
}

/// Names and shapes of a cost's tensors.
fn layout(pieces: usize) -> Vec<(String, Vec<usize>)> {
    vec![
        ("ends".to_owned(), vec![pieces.saturating_add(1)]),
        ("coefficients".to_owned(), vec![pieces, COST]),
        ("errors".to_owned(), vec![pieces]),
    ]
}

impl Stored for AnySeparablePolicy {
    type Record = AnySeparableRecord;
    const PROBLEMS: &'static [&'static str] = &["separable"];

    fn method(&self) -> &'static str {
        "any-gnn"
    }

    fn record(&self) -> &AnySeparableRecord {
        &self.record
    }

    fn tensors(&self) -> Vec<Tensor> {
        let shape = vec![self.costs.len(), RESPONSE_OUTPUTS];
        let mut tensors =
            network_tensors("response", &[("outputs".into(), shape)], &self.parameters);
        for (index, cost) in self.costs.iter().enumerate() {
            let (_, ends, coefficients, errors) = cost.parts();
            let mut values = ends.to_vec();
            values.extend(coefficients.flatten());
            values.extend(errors);
            tensors.extend(network_tensors(
                &format!("cost.{index}"),
                &layout(errors.len()),
                &values,
            ));
        }
        tensors
    }

    fn from_parts(record: AnySeparableRecord, tensors: &mut Tensors) -> Result<Self, ModelError> {
        let shape = vec![record.costs.len(), RESPONSE_OUTPUTS];
        let parameters = tensors.take_network("response", &[("outputs".into(), shape)])?;
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
        Self::new(record, costs, parameters)
    }
}

/// An [`AnySeparablePolicy`] with its buffers.
#[derive(Debug, Clone)]
pub struct AnySeparableAllocator {
    policy: Arc<AnySeparablePolicy>,
    split: LearnedSplit,
}

impl AnySeparableAllocator {
    /// The policy that it allocates by.
    pub fn policy(&self) -> &AnySeparablePolicy {
        &self.policy
    }

    /// Writes the amounts of an instance.
    pub fn serve(&mut self, problem: &Separable, amounts: &mut Vec<f64>) -> Outcome {
        let classes = &self.policy.classes;
        if problem.costs().len() != classes.len() {
            let (given, known) = (problem.costs().len(), classes.len());
            let why = format!("the instance has {given} costs, the policy is for {known}");
            return Outcome::Refused(why);
        }
        amounts.clear();
        if !self.split.split(problem, classes, false) {
            return Outcome::Infeasible(problem.infeasibility());
        }
        let over = problem.least().zip(self.split.over()).zip(problem.inverse_gains());
        amounts.extend(over.map(|((least, over), inverse)| least + over * inverse));
        Outcome::Served(Status::Learned)
    }
}

impl Policy for AnySeparableAllocator {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let problem = instance.formulation()?;
        Ok(write_amounts(into, |amounts| self.serve(problem, amounts)))
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
