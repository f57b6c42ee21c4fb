//! Learned policies of the two problems with closed forms, (P5) and (P6).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::{Config, System};
use crate::core::{Allocation, Instance, Outcome, Policy, Status};
use crate::exchange::Tensor;
use crate::framework::{Error, Method, ModelError, Stored, Tensors, network_tensors};
use crate::network::{BandwidthLaw, CompiledLaw, Gnn, LawShape, Tape, UNIT_HZ};
use crate::problems::closed_forms::{
    ClosedForm, ClosedFormSettings, CommonAllocation, EqualBandwidth, QosPower, Scaling,
    TrainedNetworks, common_unit_hz,
};

/// Settings of a model, and its results on the validation set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosedFormRecord {
    /// Cell for which the model was trained.
    pub config: Config,
    /// Training settings, with the problem.
    pub training: ClosedFormSettings,
    /// Scaling of the features.
    pub scaling: Scaling,
    /// Shape of the outer function; only for P-GNN.
    pub law: Option<LawShape>,
    /// Results after training.
    pub metrics: ClosedFormMetrics,
}

/// Results after training, on a validation set with the training sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosedFormMetrics {
    /// Mean relative error of the powers for (P5), total variation distance of the power shares for (P6);
    /// percent.
    pub power_error_percent: f64,
    /// Mean relative error of the bandwidth of (P6), percent.
    pub bandwidth_error_percent: Option<f64>,
}

/// Learned policy of (P5) or (P6).
#[derive(Debug, Clone)]
pub struct ClosedFormPolicy {
    record: ClosedFormRecord,
    system: System,
    power: (Gnn, Vec<f64>),
    bandwidth: Option<(Gnn, Vec<f64>)>,
    law: Option<BandwidthLaw>,
}

impl ClosedFormPolicy {
    /// Builds a policy from a record and parameters; an error says what does not fit.
    pub fn new(
        record: ClosedFormRecord,
        power: Vec<f64>,
        bandwidth: Option<Vec<f64>>,
        law: Option<Vec<f64>>,
    ) -> Result<Self, ModelError> {
        let content = |message: &str| ModelError::Content(message.to_owned());
        let system = record.config.validate()?;
        let training = &record.training;
        training.validate(&system).map_err(|error| content(&error.to_string()))?;
        let Scaling { mean_ln_gain, deviation_ln_gain, unit_w } = record.scaling;
        let positive = |value: f64| value > 0.0 && value.is_finite();
        if !(mean_ln_gain.is_finite() && positive(deviation_ln_gain) && positive(unit_w)) {
            return Err(content("the scaling of the model's features is out of range"));
        }
        let law = match (training.method, &record.law, law) {
            (Method::PGnn, Some(shape), Some(parameters)) => {
                let law = shape.is_sound().then(|| BandwidthLaw::new(shape, parameters)).flatten();
                let message = "the parameters of the outer function do not fit its shape";
                Some(law.ok_or_else(|| content(message))?)
            }
            (Method::MGnn, None, None) => None,
            _ => return Err(content("only p-gnn has an outer function")),
        };
        let checked = |name: &str, network: Gnn, parameters: Vec<f64>| {
            let expected = network.parameter_count();
            if parameters.len() != expected {
                return Err(ModelError::Content(format!(
                    "the {name} network has {} parameters, expected {expected}",
                    parameters.len(),
                )));
            }
            if !parameters.iter().all(|parameter| parameter.is_finite()) {
                let message = format!("a parameter of the {name} network is not finite");
                return Err(ModelError::Content(message));
            }
            Ok((network, parameters))
        };
        let power = checked("power", training.power_network(), power)?;
        let bandwidth = match (training.problem, bandwidth) {
            (ClosedForm::QosPower { .. }, None) => None,
            (ClosedForm::EqualBandwidth { .. }, Some(parameters)) => {
                Some(checked("bandwidth", training.bandwidth_network(), parameters)?)
            }
            _ => {
                let message = "only equal-bandwidth has a bandwidth network";
                return Err(content(message));
            }
        };
        Ok(Self { record, system, power, bandwidth, law })
    }

    /// Builds a policy from trained networks and the outer function that their training used.
    pub fn from_training(
        system: &System,
        settings: &ClosedFormSettings,
        networks: TrainedNetworks,
        law: Option<(&LawShape, &BandwidthLaw)>,
        metrics: ClosedFormMetrics,
    ) -> Result<Self, ModelError> {
        let record = ClosedFormRecord {
            config: system.config().clone(),
            training: settings.clone(),
            scaling: networks.scaling,
            law: law.map(|(shape, _)| shape.clone()),
            metrics,
        };
        let law = law.map(|(_, law)| law.parameters().to_vec());
        Self::new(record, networks.power, networks.bandwidth, law)
    }

    /// Returns the cell for which the policy was trained.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Returns the parameters of the power network.
    pub fn power_parameters(&self) -> &[f64] {
        &self.power.1
    }

    /// Returns the parameters of the bandwidth network, for (P6).
    pub fn bandwidth_parameters(&self) -> Option<&[f64]> {
        self.bandwidth.as_ref().map(|(_, parameters)| parameters.as_slice())
    }

    /// Returns the outer function, for P-GNN.
    pub fn law(&self) -> Option<&BandwidthLaw> {
        self.law.as_ref()
    }

    /// Returns an allocator for cells of any size, with its own buffers. Clones of it share the parameters.
    pub fn allocator(&self) -> ClosedFormAllocator {
        let policy = Arc::new(self.clone());
        ClosedFormAllocator { policy, size: 0, law: None, tape: Tape::default() }
    }
}

impl Stored for ClosedFormPolicy {
    type Record = ClosedFormRecord;
    const PROBLEMS: &'static [&'static str] = &["qos-power", "equal-bandwidth"];

    fn problem(&self) -> &'static str {
        self.record.training.problem.name()
    }

    fn method(&self) -> &'static str {
        self.record.training.method.name()
    }

    fn record(&self) -> &ClosedFormRecord {
        &self.record
    }

    fn tensors(&self) -> Vec<Tensor> {
        let (network, parameters) = &self.power;
        let mut tensors = network_tensors("power", &network.layout(), parameters);
        if let Some((network, parameters)) = &self.bandwidth {
            tensors.extend(network_tensors("bandwidth", &network.layout(), parameters));
        }
        if let (Some(law), Some(shape)) = (&self.law, &self.record.law) {
            tensors.extend(network_tensors("law", &shape.network().layout(), law.parameters()));
        }
        tensors
    }

    fn from_parts(record: ClosedFormRecord, tensors: &mut Tensors) -> Result<Self, ModelError> {
        let training = &record.training;
        let system = record.config.validate()?;
        training.validate(&system).map_err(|error| ModelError::Content(error.to_string()))?;
        let power = tensors.take_network("power", &training.power_network().layout())?;
        let bandwidth = match training.problem {
            ClosedForm::QosPower { .. } => None,
            ClosedForm::EqualBandwidth { .. } => {
                Some(tensors.take_network("bandwidth", &training.bandwidth_network().layout())?)
            }
        };
        let law = match &record.law {
            Some(shape) if shape.is_sound() => {
                Some(tensors.take_network("law", &shape.network().layout())?)
            }
            _ => None,
        };
        Self::new(record, power, bandwidth, law)
    }
}

/// Allocator that runs a [`ClosedFormPolicy`].
#[derive(Debug, Clone)]
pub struct ClosedFormAllocator {
    policy: Arc<ClosedFormPolicy>,
    /// Number of users of the last cell; 0 before the first cell.
    size: usize,
    /// Outer function at this number of users.
    law: Option<CompiledLaw>,
    tape: Tape,
}

impl ClosedFormAllocator {
    /// Returns the policy that this allocator runs.
    pub fn policy(&self) -> &ClosedFormPolicy {
        &self.policy
    }

    /// Computes the powers and the bandwidth of the users with the given gains.
    pub fn serve(&mut self, gains: &[f64]) -> CommonAllocation {
        let policy = &*self.policy;
        if self.size != gains.len() {
            self.size = gains.len();
            self.law = policy.law.as_ref().map(|law| law.at_size(self.size));
        }
        let scaling = &policy.record.scaling;
        let x: Vec<f64> = gains.iter().map(|&gain| scaling.x(gain)).collect();
        let (network, parameters) = &policy.power;
        let outputs = network.forward(parameters, &x, &[], &mut self.tape);
        match policy.record.training.problem {
            ClosedForm::QosPower { bandwidth_hz, .. } => {
                // A gain far outside the training range must not lead to overflow.
                let power = |&output: &f64| scaling.unit_w * output.clamp(-300.0, 300.0).exp();
                CommonAllocation { power_w: outputs.iter().map(power).collect(), bandwidth_hz }
            }
            ClosedForm::EqualBandwidth { rate_bps } => {
                let max_power_w = policy.system.max_power_w();
                let power_w = outputs.iter().map(|share| share * max_power_w).collect();
                let outer: Vec<f64> = gains
                    .iter()
                    .map(|&gain| {
                        self.law.as_ref().map_or(1.0, |law| law.bandwidth_hz(gain) / UNIT_HZ)
                    })
                    .collect();
                let mean = policy.bandwidth.as_ref().map_or(0.0, |(network, parameters)| {
                    let outputs = network.forward(parameters, &x, &outer, &mut self.tape);
                    outputs.iter().sum::<f64>() / outputs.len().max(1) as f64
                });
                CommonAllocation { power_w, bandwidth_hz: mean * common_unit_hz(rate_bps) }
            }
        }
    }
}

impl Policy for ClosedFormAllocator {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        into.amounts = match self.policy.record.training.problem {
            ClosedForm::QosPower { .. } => {
                vec![self.serve(instance.formulation::<QosPower>()?.gains()).power_w]
            }
            ClosedForm::EqualBandwidth { .. } => {
                let found = self.serve(instance.formulation::<EqualBandwidth>()?.gains());
                vec![found.power_w, vec![found.bandwidth_hz]]
            }
        };
        Ok(Outcome::Served(Status::Learned))
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
