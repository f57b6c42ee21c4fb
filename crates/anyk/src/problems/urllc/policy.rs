//! Learned policies: networks that turn gains into powers and bandwidths for any number of users.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::{Config, System};
use crate::core::{Allocation, Instance, Outcome, Policy, Status};
use crate::exchange::Tensor;
use crate::framework::{Error, Guarantee, Method, ModelError, Stored, Tensors, network_tensors};
use crate::network::{
    Activation, BandwidthLaw, CompiledLaw, Dense, DenseTape, Gnn, LawShape, Output, Tape,
    scaled_gain,
};
use crate::problems::urllc::CellPolicy;
use crate::problems::urllc::fused::FusedPair;
use crate::problems::urllc::{Span, TrainSettings, fnn_input, fnn_network};
use crate::problems::urllc::{Urllc, UrllcAllocation};
use crate::qos::RequiredBandwidth;
use crate::units::Decibel;

/// Settings of a model, and its results on the validation set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRecord {
    /// Cell for which the model was trained.
    pub config: Config,
    /// Training settings.
    pub training: TrainSettings,
    /// Shape of the outer function; only for P-GNN.
    pub law: Option<LawShape>,
    /// Unit of the bandwidth outputs of M-GNN and FNN, Hz.
    pub unit_hz: f64,
    /// Results after training.
    pub metrics: ModelMetrics,
    /// Guarantee from the calibration, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guarantee: Option<Guarantee>,
}

/// Results after training, on a validation set with the training sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelMetrics {
    /// Share of users whose QoS is met.
    pub availability: f64,
    /// Extra bandwidth compared with the exact optimum, percent.
    pub gap_percent: f64,
}

/// Learned policy: P-GNN, M-GNN or FNN.
#[derive(Debug, Clone)]
pub struct LearnedPolicy {
    record: ModelRecord,
    system: System,
    networks: Networks,
    power: Vec<f64>,
    bandwidth: Vec<f64>,
    law: Option<BandwidthLaw>,
}

#[derive(Debug, Clone)]
enum Networks {
    Gnn { power: Gnn, bandwidth: Gnn },
    Fnn(Dense),
}

impl Networks {
    fn new(training: &TrainSettings) -> Self {
        match training.method {
            Method::Fnn => Self::Fnn(fnn_network(training)),
            Method::PGnn | Method::MGnn => {
                let widths = training.gnn_widths();
                let gnn =
                    |output| Gnn::new(&widths, training.aggregator, Activation::LeakyRelu, output);
                Self::Gnn { power: gnn(Output::Softmax), bandwidth: gnn(Output::Pretrained) }
            }
        }
    }

    /// Returns the parameter layouts of the power and the bandwidth network.
    fn layouts(&self) -> [Vec<(String, Vec<usize>)>; 2] {
        match self {
            Self::Gnn { power, bandwidth } => [power.layout(), bandwidth.layout()],
            Self::Fnn(network) => [network.layout(), network.layout()],
        }
    }
}

impl LearnedPolicy {
    /// Builds a policy from a record and parameters; an error says what does not fit.
    pub fn new(
        record: ModelRecord,
        power: Vec<f64>,
        bandwidth: Vec<f64>,
        law: Option<Vec<f64>>,
    ) -> Result<Self, ModelError> {
        let system = record.config.validate()?;
        let training = &record.training;
        training.validate().map_err(|error| ModelError::Content(error.to_string()))?;
        if let Some(guarantee) = &record.guarantee {
            guarantee.validate()?;
        }
        if !(record.unit_hz > 0.0 && record.unit_hz.is_finite()) {
            return Err(ModelError::Content(format!(
                "unit_hz is {}, expected a positive number",
                record.unit_hz
            )));
        }
        let law = match (training.method, &record.law, law) {
            (Method::PGnn, Some(shape), Some(parameters)) => {
                let law = shape.is_sound().then(|| BandwidthLaw::new(shape, parameters)).flatten();
                Some(law.ok_or_else(|| {
                    ModelError::Content(
                        "the parameters of the outer function do not fit its shape".into(),
                    )
                })?)
            }
            (Method::MGnn | Method::Fnn, None, None) => None,
            _ => {
                let message = "only p-gnn has an outer function";
                return Err(ModelError::Content(message.into()));
            }
        };
        let networks = Networks::new(training);
        let expected = match &networks {
            Networks::Gnn { power, .. } => power.parameter_count(),
            Networks::Fnn(network) => network.parameter_count(),
        };
        for (name, parameters) in [("power", &power), ("bandwidth", &bandwidth)] {
            if parameters.len() != expected {
                return Err(ModelError::Content(format!(
                    "the {name} network has {} parameters, expected {expected}",
                    parameters.len(),
                )));
            }
            if !parameters.iter().all(|parameter| parameter.is_finite()) {
                return Err(ModelError::Content(format!(
                    "a parameter of the {name} network is not finite"
                )));
            }
        }
        Ok(Self { record, system, networks, power, bandwidth, law })
    }

    /// Returns the parameters of the power network.
    pub fn power_parameters(&self) -> &[f64] {
        &self.power
    }

    /// Returns the parameters of the bandwidth network.
    pub fn bandwidth_parameters(&self) -> &[f64] {
        &self.bandwidth
    }

    /// Returns the outer function; only for P-GNN.
    pub fn law(&self) -> Option<&BandwidthLaw> {
        self.law.as_ref()
    }

    /// Describes the gains of a cell that are outside the range of the training road. Returns an empty list if there
    /// are none.
    pub fn out_of_range(&self, problem: &Urllc) -> Vec<String> {
        let (road, path_loss) = (self.system.road(), self.system.path_loss());
        let ends = [road.cell_radius_m, road.min_distance_m].map(|d| path_loss.gain(d));
        let [low, high] = ends.map(|gain| Decibel::from_ratio(gain).0);
        let gains = problem.users().iter().map(|user| Decibel::from_ratio(user.gain).0);
        Span(low, high).furthest("gain_db", gains).into_iter().collect()
    }
}

impl Stored for LearnedPolicy {
    type Record = ModelRecord;
    const PROBLEMS: &'static [&'static str] = &["urllc"];

    fn method(&self) -> &'static str {
        self.record.training.method.name()
    }

    fn record(&self) -> &ModelRecord {
        &self.record
    }

    fn tensors(&self) -> Vec<Tensor> {
        let [power, bandwidth] = self.networks.layouts();
        let mut tensors = network_tensors("power", &power, &self.power);
        tensors.extend(network_tensors("bandwidth", &bandwidth, &self.bandwidth));
        if let (Some(law), Some(shape)) = (&self.law, &self.record.law) {
            tensors.extend(network_tensors("law", &shape.network().layout(), law.parameters()));
        }
        tensors
    }

    fn from_parts(record: ModelRecord, tensors: &mut Tensors) -> Result<Self, ModelError> {
        let training = &record.training;
        training.validate().map_err(|error| ModelError::Content(error.to_string()))?;
        let [power, bandwidth] = Networks::new(training).layouts();
        let power = tensors.take_network("power", &power)?;
        let bandwidth = tensors.take_network("bandwidth", &bandwidth)?;
        let law = match &record.law {
            Some(shape) if shape.is_sound() => {
                Some(tensors.take_network("law", &shape.network().layout())?)
            }
            _ => None,
        };
        Self::new(record, power, bandwidth, law)
    }
}

impl CellPolicy for LearnedPolicy {
    type Allocator = LearnedAllocator;

    fn allocator(&self) -> LearnedAllocator {
        LearnedAllocator {
            policy: Arc::new(self.clone()),
            size: 0,
            law: None,
            engine: Engine::Plain(Box::default()),
            margin: None,
            gains: Vec::new(),
        }
    }

    fn system(&self) -> &System {
        &self.system
    }

    fn knows_fading(&self) -> bool {
        true
    }

    fn most_hz(&self) -> Result<f64, ModelError> {
        let qos = self.system.qos(self.system.service())?;
        Ok(RequiredBandwidth::new(qos).max_bandwidth_hz())
    }

    fn guarantee(&self) -> Option<&Guarantee> {
        self.record.guarantee.as_ref()
    }

    fn set_guarantee(&mut self, guarantee: Option<Guarantee>) {
        self.record.guarantee = guarantee;
    }
}

/// Allocator that runs a [`LearnedPolicy`]. It keeps the data that depend on the number of users until that
/// number changes.
#[derive(Debug, Clone)]
pub struct LearnedAllocator {
    policy: Arc<LearnedPolicy>,
    /// Number of users of the last cell; 0 before the first cell.
    size: usize,
    law: Option<CompiledLaw>,
    engine: Engine,
    margin: Option<Widening>,
    gains: Vec<f64>,
}

/// Factor on the bandwidths of a calibrated policy. It widens a bandwidth at most to the value beyond which more would
/// harm. Up to this limit, every bandwidth above one threshold meets the QoS, as the guarantee requires.
#[derive(Debug, Clone, Copy)]
struct Widening {
    factor: f64,
    most_hz: f64,
}

impl Widening {
    fn apply(self, allocation: &mut UrllcAllocation) {
        for bandwidth_hz in &mut allocation.bandwidth_hz {
            *bandwidth_hz = (*bandwidth_hz * self.factor).min(self.most_hz);
        }
    }
}

#[derive(Debug, Clone)]
enum Engine {
    /// The paper's networks, vectorized over users.
    Fused(Box<FusedPair>),
    /// Any network, in `f64`.
    Plain(Box<PlainBuffers>),
}

#[derive(Debug, Clone, Default)]
struct PlainBuffers {
    x: Vec<f64>,
    inputs: Vec<f64>,
    outer: Vec<f64>,
    power: Tape,
    bandwidth: Tape,
    dense: DenseTape<f64>,
}

impl LearnedAllocator {
    /// Returns the policy that this allocator runs.
    pub fn policy(&self) -> &LearnedPolicy {
        &self.policy
    }

    /// Computes the powers and bandwidths of the users with the given gains. For the paper's networks, this allocates
    /// no memory if the number of users is that of the last cell and `allocation` has sufficient capacity.
    pub fn serve(
        &mut self,
        gains: &[f64],
        allocation: &mut UrllcAllocation,
    ) -> Result<(), ModelError> {
        self.prepare(gains.len())?;
        let Self { policy, law, engine, margin, .. } = self;
        match engine {
            Engine::Fused(fused) => {
                let (unit_hz, max_power_w) = (policy.record.unit_hz, policy.system.max_power_w());
                fused.allocate(gains, law.as_ref(), unit_hz, max_power_w, allocation);
            }
            Engine::Plain(buffers) => buffers.allocate(policy, law.as_ref(), gains, allocation),
        }
        if let Some(margin) = margin {
            margin.apply(allocation);
        }
        Ok(())
    }

    /// Evaluates the networks in plain `f64`, to check the fused evaluation.
    pub fn serve_plainly(
        &mut self,
        gains: &[f64],
        allocation: &mut UrllcAllocation,
    ) -> Result<(), ModelError> {
        self.prepare(gains.len())?;
        PlainBuffers::default().allocate(&self.policy, self.law.as_ref(), gains, allocation);
        if let Some(margin) = self.margin {
            margin.apply(allocation);
        }
        Ok(())
    }

    /// Compiles the outer function and allocates buffers for a number of users, unless it is that of the last
    /// cell.
    fn prepare(&mut self, size: usize) -> Result<(), ModelError> {
        if size == self.size {
            return Ok(());
        }
        self.check_size(size)?;
        let LearnedPolicy { record, power, bandwidth, law, .. } = &*self.policy;
        if let (Some(guarantee), None) = (&record.guarantee, self.margin) {
            let most_hz = self.policy.most_hz()?;
            self.margin = Some(Widening { factor: guarantee.margin, most_hz });
        }
        self.law = law.as_ref().map(|law| law.at_size(size));
        self.engine = match FusedPair::new(&record.training, power, bandwidth, size) {
            Some(fused) => Engine::Fused(Box::new(fused)),
            None => Engine::Plain(Box::default()),
        };
        self.size = size;
        Ok(())
    }
}

impl Policy for LearnedAllocator {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let problem: &Urllc = instance.formulation()?;
        let mut gains = std::mem::take(&mut self.gains);
        gains.clear();
        gains.extend(problem.users().iter().map(|user| user.gain));
        let served = UrllcAllocation::within(into, |typed| self.serve(&gains, typed));
        self.gains = gains;
        served?;
        Ok(Outcome::Served(Status::Learned))
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}

impl LearnedAllocator {
    /// Checks the number of users: a fully connected network has a limited number of inputs.
    fn check_size(&self, size: usize) -> Result<(), ModelError> {
        match &self.policy.networks {
            Networks::Fnn(network) if size > network.widths[0] => {
                Err(ModelError::TooLarge { size, most: network.widths[0] })
            }
            _ => Ok(()),
        }
    }
}

impl PlainBuffers {
    fn allocate(
        &mut self,
        policy: &LearnedPolicy,
        law: Option<&CompiledLaw>,
        gains: &[f64],
        allocation: &mut UrllcAllocation,
    ) {
        self.x.clear();
        self.x.extend(gains.iter().map(|&gain| scaled_gain(gain)));
        let unit_hz = policy.record.unit_hz;
        let outer = self.x.iter().map(|&x| law.map_or(unit_hz, |law| law.at_scaled_gain(x)));
        self.outer.clear();
        self.outer.extend(outer);
        let max_power_w = policy.system.max_power_w();
        allocation.power_w.clear();
        allocation.bandwidth_hz.clear();
        match &policy.networks {
            Networks::Gnn { power, bandwidth } => {
                self.inputs.clear();
                policy.record.training.inputs.of_users(&self.x, &mut self.inputs);
                let inputs = &self.inputs[..];
                let shares = power.forward(&policy.power, inputs, &[], &mut self.power);
                allocation.power_w.extend(shares.iter().map(|share| max_power_w * share));
                let bandwidths =
                    bandwidth.forward(&policy.bandwidth, inputs, &self.outer, &mut self.bandwidth);
                allocation.bandwidth_hz.extend_from_slice(bandwidths);
            }
            Networks::Fnn(network) => {
                let rule = policy.record.training.recipe.initialization;
                let mut inputs: Vec<f64> = self.x.iter().map(|&x| fnn_input(rule, x)).collect();
                inputs.resize(network.widths[0], 0.0);
                let outputs = network.forward(&policy.power, &inputs, &mut self.dense);
                allocation.power_w.extend_from_slice(&outputs[..gains.len()]);
                Output::Softmax.forward(&mut allocation.power_w, &[]);
                for power_w in &mut allocation.power_w {
                    *power_w *= max_power_w;
                }
                let outputs = network.forward(&policy.bandwidth, &inputs, &mut self.dense);
                allocation.bandwidth_hz.extend_from_slice(&outputs[..gains.len()]);
                Output::Pretrained.forward(&mut allocation.bandwidth_hz, &self.outer);
            }
        }
    }
}
