//! Learned powers for interference networks with any number of links.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::core::{Allocation, Instance, Outcome, Policy, Status};
use crate::exchange::Tensor;
use crate::framework::{Error, ModelError, Stored, Tensors, network_tensors};
use crate::invalid::Invalid;
use crate::math::single;
use crate::network::{EdgeTape, LinkGraph};
use crate::problems::interference::Features;
use crate::problems::interference::Interference;
use crate::problems::interference::PowerTrainSettings;
use crate::problems::interference::SparseInterference;
use crate::problems::interference::admission::Admission;
use crate::problems::interference::sparse_kernel::SparseKernel;

/// Output layer that turns the network's outputs `o_k` into powers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PowerOutput {
    /// `P_k = P_max·σ(o_k)`.
    Sigmoid,
    /// Classifier: full power if `o_k > 0`, otherwise off.
    Classifier,
    /// Ranking: links are switched on in the order of the outputs if that raises the sum rate, and then every
    /// link is tried again. The objective determines how many links are on, so the policy has the size law of the
    /// problem, regardless of the network's size law.
    Ranked {
        /// Maximum number of passes that try every link again.
        passes: usize,
    },
    /// Powers `P_max·σ(o_k)`, followed by steps towards the powers that match the prices of their interference
    /// (the KKT conditions).
    Priced {
        /// Number of steps.
        steps: usize,
    },
}

impl PowerOutput {
    /// Returns the name of the output in flags and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sigmoid => "sigmoid",
            Self::Classifier => "classifier",
            Self::Ranked { .. } => "ranked",
            Self::Priced { .. } => "priced",
        }
    }

    /// Returns whether every power is 0 or `P_max`.
    pub fn is_schedule(self) -> bool {
        matches!(self, Self::Classifier | Self::Ranked { .. })
    }
}

/// Training settings of a model, and its result on the validation set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerModelRecord {
    /// Training settings.
    pub training: PowerTrainSettings,
    /// Conversion of gains into features.
    pub features: Features,
    /// Output layer.
    pub output: PowerOutput,
    /// Sum rate on the validation set as a percentage of that of WMMSE.
    pub sum_rate_percent: f64,
}

/// Learned policy for power control or link scheduling.
#[derive(Debug, Clone)]
pub struct PowerPolicy {
    record: PowerModelRecord,
    parameters: Vec<f32>,
}

impl PowerPolicy {
    /// Builds a policy from a record and parameters; an error says what does not fit.
    pub fn new(record: PowerModelRecord, parameters: Vec<f32>) -> Result<Self, ModelError> {
        let content = |message: String| Err(ModelError::Content(message));
        if let Err(error) = record.training.validate() {
            return content(error.to_string());
        }
        if record.features.weighted != record.training.network.weighted {
            return content(
                "the model's features and network disagree on whether links have weights".into(),
            );
        }
        if !record.features.is_sound() {
            return content("the scale of the model's features is not a positive number".into());
        }
        let (PowerOutput::Ranked { passes: count } | PowerOutput::Priced { steps: count }) =
            record.output
        else {
            return Self::with(record, parameters);
        };
        if count > 1000 {
            return content(format!(
                "the model's output takes {count} passes or steps, expected at most 1000"
            ));
        }
        Self::with(record, parameters)
    }

    fn with(record: PowerModelRecord, parameters: Vec<f32>) -> Result<Self, ModelError> {
        let expected = record.training.network.parameter_count();
        if parameters.len() != expected {
            return Err(ModelError::Content(format!(
                "the network has {} parameters, expected {expected}",
                parameters.len()
            )));
        }
        if !parameters.iter().all(|parameter| parameter.is_finite()) {
            return Err(ModelError::Content("a parameter of the network is not finite".into()));
        }
        Ok(Self { record, parameters })
    }

    /// Returns the parameters of the network.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// Returns the same network with another output layer.
    pub fn with_output(&self, output: PowerOutput) -> Self {
        let record = PowerModelRecord { output, ..self.record.clone() };
        Self { record, parameters: self.parameters.clone() }
    }

    /// Returns an allocator for networks of any size, with its own buffers. Clones of it share the parameters.
    pub fn allocator(&self) -> PowerAllocator {
        PowerAllocator {
            policy: Arc::new(self.clone()),
            graph: LinkGraph::default(),
            tape: EdgeTape::default(),
            order: Vec::new(),
            kernel: SparseKernel::default(),
            admission: Admission::default(),
        }
    }
}

impl Stored for PowerPolicy {
    type Record = PowerModelRecord;
    const PROBLEMS: &'static [&'static str] = &["interference"];

    fn method(&self) -> &'static str {
        "edge-gnn"
    }

    fn record(&self) -> &PowerModelRecord {
        &self.record
    }

    fn tensors(&self) -> Vec<Tensor> {
        let parameters: Vec<f64> = self.parameters.iter().map(|&value| f64::from(value)).collect();
        network_tensors("network", &self.record.training.network.layout(), &parameters)
    }

    fn from_parts(record: PowerModelRecord, tensors: &mut Tensors) -> Result<Self, ModelError> {
        record.training.validate().map_err(|error| ModelError::Content(error.to_string()))?;
        let parameters = tensors.take_network("network", &record.training.network.layout())?;
        Self::new(record, parameters.into_iter().map(single).collect())
    }
}

/// Allocator that runs a [`PowerPolicy`].
#[derive(Debug, Clone)]
pub struct PowerAllocator {
    policy: Arc<PowerPolicy>,
    graph: LinkGraph<f32>,
    tape: EdgeTape<f32>,
    order: Vec<u32>,
    kernel: SparseKernel,
    admission: Admission,
}

impl PowerAllocator {
    /// Computes powers as shares of `P_max`. Returns an error if the network has weights and the model does not.
    fn serve(&mut self, problem: &Interference) -> Result<&[f64], Invalid> {
        if problem.weights().is_some() && !self.policy.record.features.weighted {
            let expected = "one trained with `random_weights`, since the links have weights";
            return Err(Invalid::value("the model", "trained without weights", expected));
        }
        let threshold = self.policy.record.training.scenario.threshold();
        Ok(self.shares(&SparseInterference::new(problem, threshold)))
    }

    /// Returns powers as shares of `P_max`. Allocates memory only in the first call for a number of links.
    pub fn shares(&mut self, problem: &SparseInterference) -> &[f64] {
        let PowerModelRecord { training, features, output, .. } = &self.policy.record;
        features.fill(problem, &mut self.graph);
        let outputs =
            training.network.forward(&self.policy.parameters, &self.graph, &mut self.tape);
        match *output {
            PowerOutput::Sigmoid => self.kernel.start(outputs.iter().map(|&o| sigmoid(o))),
            PowerOutput::Classifier => {
                let on = |output: &f32| if *output > 0.0 { 1.0 } else { 0.0 };
                self.kernel.start(outputs.iter().map(on));
            }
            PowerOutput::Priced { steps } => {
                self.kernel.start(outputs.iter().map(|&o| sigmoid(o)));
                for _ in 0..steps {
                    self.kernel.price(problem);
                }
            }
            PowerOutput::Ranked { passes } => {
                self.order.clear();
                #[allow(clippy::cast_possible_truncation)]
                self.order.extend(0..outputs.len() as u32);
                // Sort by output, and equal outputs by index.
                self.order.sort_unstable_by(|&a, &b| {
                    let by_output = outputs[b as usize].total_cmp(&outputs[a as usize]);
                    by_output.then(a.cmp(&b))
                });
                self.admission.start(problem);
                self.admission.admit(problem, &self.order);
                self.admission.improve(problem, &self.order, passes);
                return self.admission.shares();
            }
        }
        self.kernel.shares()
    }
}

impl Policy for PowerAllocator {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let problem: &Interference = instance.formulation()?;
        match self.serve(problem) {
            Ok(shares) => problem.write(shares, into),
            Err(unfit) => return Ok(Outcome::Refused(unfit.to_string())),
        }
        into.iterations = Some(1);
        Ok(Outcome::Served(Status::Learned))
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}

fn sigmoid(output: f32) -> f64 {
    let output = f64::from(output);
    // A NaN output (gains far outside the training range) counts as off.
    if output.is_nan() { 0.0 } else { 1.0 / (1.0 + (-output).exp()) }
}
