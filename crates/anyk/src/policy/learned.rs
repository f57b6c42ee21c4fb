//! Policies that were learned: networks that turn gains into powers and bandwidths at any size.

use serde::{Deserialize, Serialize};

use crate::config::{Config, ConfigError, System};
use crate::network::{
    Activation, Aggregator, BandwidthLaw, CompiledLaw, Gnn, LawShape, Output, Tape, scaled_gain,
};
use crate::problem::Allocation;
use crate::training::{GnnMethod, TrainSettings};

/// How a model came about: settings, and what was measured on its validation set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRecord {
    /// The cell that it was trained for.
    pub config: Config,
    /// Its training.
    pub training: TrainSettings,
    /// Shape of the outer function, for P-GNN.
    pub law: Option<LawShape>,
    /// Measured after training.
    pub metrics: ModelMetrics,
}

/// What was measured after training, on a validation set of the training sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelMetrics {
    /// Share of users whose QoS is met.
    pub availability: f64,
    /// Total bandwidth over the exact optimum, percent.
    pub gap_percent: f64,
}

/// A learned policy: P-GNN or M-GNN.
#[derive(Debug, Clone)]
pub struct LearnedPolicy {
    record: ModelRecord,
    system: System,
    power: (Gnn, Vec<f64>),
    bandwidth: (Gnn, Vec<f64>),
    law: Option<BandwidthLaw>,
    constant_hz: f64,
}

impl LearnedPolicy {
    /// From a record and parameters; an error says what does not fit.
    pub fn new(
        record: ModelRecord,
        power: Vec<f64>,
        bandwidth: Vec<f64>,
        law: Option<Vec<f64>>,
    ) -> Result<Self, ModelError> {
        let system = record.config.validate()?;
        record.training.validate().map_err(|error| ModelError::Content(error.to_string()))?;
        let law = match (record.training.method, &record.law, law) {
            (GnnMethod::PGnn, Some(shape), Some(parameters)) => {
                let sound = !shape.hidden.is_empty()
                    && shape.hidden.iter().all(|width| (1..=4096).contains(width));
                let law = sound.then(|| BandwidthLaw::new(shape, parameters)).flatten();
                Some(law.ok_or_else(|| {
                    ModelError::Content("the parameters of the law do not fit its shape".into())
                })?)
            }
            (GnnMethod::MGnn, None, None) => None,
            _ => {
                let message = "a law is part of p-gnn and of no other method";
                return Err(ModelError::Content(message.into()));
            }
        };
        let mut widths = vec![1];
        widths.extend(&record.training.hidden);
        widths.push(1);
        let gnn =
            |output| Gnn::new(&widths, record.training.aggregator, Activation::LeakyRelu, output);
        let (power_gnn, bandwidth_gnn) = (gnn(Output::Softmax), gnn(Output::Pretrained));
        for (name, gnn, parameters) in
            [("power", &power_gnn, &power), ("bandwidth", &bandwidth_gnn, &bandwidth)]
        {
            if parameters.len() != gnn.parameter_count() {
                return Err(ModelError::Content(format!(
                    "the {name} network has {} parameters, expected {}",
                    parameters.len(),
                    gnn.parameter_count()
                )));
            }
            if !parameters.iter().all(|parameter| parameter.is_finite()) {
                return Err(ModelError::Content(format!(
                    "a parameter of the {name} network is not finite"
                )));
            }
        }
        let constant_hz = crate::training::M_GNN_UNIT_HZ;
        let (power, bandwidth) = ((power_gnn, power), (bandwidth_gnn, bandwidth));
        Ok(Self { record, system, power, bandwidth, law, constant_hz })
    }

    /// How it came about.
    pub fn record(&self) -> &ModelRecord {
        &self.record
    }

    /// The cell that it was trained for.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Parameters of the power network.
    pub fn power_parameters(&self) -> &[f64] {
        &self.power.1
    }

    /// Parameters of the bandwidth network.
    pub fn bandwidth_parameters(&self) -> &[f64] {
        &self.bandwidth.1
    }

    /// The outer function, for P-GNN.
    pub fn law(&self) -> Option<&BandwidthLaw> {
        self.law.as_ref()
    }

    /// How users see each other.
    pub fn aggregator(&self) -> Aggregator {
        self.record.training.aggregator
    }

    /// The policy made ready for cells of one size.
    pub fn at_size(&self, size: usize) -> SizedPolicy<'_> {
        SizedPolicy {
            policy: self,
            size,
            law: self.law.as_ref().map(|law| law.at_size(size)),
            x: Vec::new(),
            outer: Vec::new(),
            power: Tape::default(),
            bandwidth: Tape::default(),
        }
    }
}

/// A [`LearnedPolicy`] at one size, its outer function compiled.
#[derive(Debug, Clone)]
pub struct SizedPolicy<'a> {
    policy: &'a LearnedPolicy,
    size: usize,
    law: Option<CompiledLaw>,
    x: Vec<f64>,
    outer: Vec<f64>,
    power: Tape,
    bandwidth: Tape,
}

impl SizedPolicy<'_> {
    /// Powers and bandwidths of users with these gains.
    ///
    /// # Panics
    ///
    /// If the number of gains is not the size that this was made for.
    pub fn allocate(&mut self, gains: &[f64], allocation: &mut Allocation) {
        assert_eq!(gains.len(), self.size, "users of a policy made for one size");
        let policy = self.policy;
        self.x.clear();
        self.x.extend(gains.iter().map(|&gain| scaled_gain(gain)));
        self.outer.clear();
        let constant = policy.constant_hz;
        self.outer.extend(
            self.x.iter().map(|&x| self.law.as_ref().map_or(constant, |law| law.at_scaled_gain(x))),
        );
        let max_power_w = policy.system.max_power_w();
        let (gnn, parameters) = &policy.power;
        let shares = gnn.forward(parameters, &self.x, &[], &mut self.power);
        allocation.power_w.clear();
        allocation.power_w.extend(shares.iter().map(|share| max_power_w * share));
        let (gnn, parameters) = &policy.bandwidth;
        let bandwidths = gnn.forward(parameters, &self.x, &self.outer, &mut self.bandwidth);
        allocation.bandwidth_hz.clear();
        allocation.bandwidth_hz.extend_from_slice(bandwidths);
    }
}

/// Why a model was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// The config in it is out of range.
    #[error("its config is refused: {0}")]
    Config(#[from] ConfigError),
    /// Its parts do not fit together.
    #[error("{0}")]
    Content(String),
    /// Not a model of ours, or damaged.
    #[error("not an AnyK model, or a damaged one: {0}")]
    Format(String),
    /// From a newer version.
    #[error("the model's format is version {found}, this program reads up to {known}; update it")]
    Newer {
        /// Version in the file.
        found: u64,
        /// Newest version that is known.
        known: u64,
    },
}
