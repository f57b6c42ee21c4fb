//! any-gnn for a fixed band: powers by a learned response to one price, the price by the band, bandwidths by
//! `b(α_k P_k)`. Every answer within its ranges is certified.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::{Config, System};
use crate::core::{Allocation, Instance, Outcome, Policy, Status};
use crate::exchange::Tensor;
use crate::framework::{Error, ModelError, Stored, Tensors, network_tensors};
use crate::network::{ClassResponse, ContextScaling, DenseTape, PowerSplit};
use crate::problems::urllc::any_ranges::context;
use crate::problems::urllc::{Certifier, Span, UrllcAllocation};
use crate::problems::urllc_power::training::PriceOfBand;
use crate::problems::urllc_power::{AnyBandSettings, UrllcPower};
use crate::tolerance;
use crate::units::Decibel;

/// How a model came about: settings, what it has seen, and what was measured on its validation set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnyBandRecord {
    /// The cell that it was trained for.
    pub config: Config,
    /// Its training.
    pub training: AnyBandSettings,
    /// Of the network's context.
    pub scaling: ContextScaling,
    /// Large-scale gains that it has seen, dB.
    pub gain_db: Span,
    /// Bandwidths for each user that it has seen, Hz.
    pub bandwidth_per_user_hz: Span,
    /// Measured after training.
    pub metrics: BandMetrics,
}

/// What was measured after training, on a validation set of the training sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BandMetrics {
    /// Share of users whose QoS is met.
    pub availability: f64,
    /// Total power over the exact optimum, percent.
    pub gap_percent: f64,
}

/// A learned policy of [`UrllcPower`] for any number of users and any band.
#[derive(Debug, Clone)]
pub struct AnyBandPolicy {
    record: AnyBandRecord,
    system: System,
    parameters: Vec<f64>,
}

impl AnyBandPolicy {
    /// From a record and parameters; an error says what does not fit.
    pub fn new(record: AnyBandRecord, parameters: Vec<f64>) -> Result<Self, ModelError> {
        let content = |message: &str| ModelError::Content(message.to_owned());
        let system = record.config.validate()?;
        record.training.validate().map_err(|error| content(&error.to_string()))?;
        if !record.scaling.is_sound() {
            return Err(content("the scaling of its context is out of range"));
        }
        if !(record.gain_db.is_sound() && record.bandwidth_per_user_hz.is_sound()) {
            return Err(content("its trained ranges are not ranges"));
        }
        if parameters.len() != record.training.network.parameter_count()
            || !parameters.iter().all(|parameter| parameter.is_finite())
        {
            return Err(content("the parameters of its network do not fit, or are not finite"));
        }
        Ok(Self { record, system, parameters })
    }

    /// The cell that it was trained for.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// What answers instances of any size by it, with its buffers. Its clones share the parameters.
    pub fn allocator(&self) -> AnyBandAllocator {
        AnyBandAllocator {
            policy: Arc::new(self.clone()),
            certifier: Certifier::default(),
            responses: Vec::new(),
            price: PriceOfBand::default(),
        }
    }

    /// The same policy with what was measured of it.
    #[must_use]
    pub(crate) fn with_metrics(mut self, metrics: BandMetrics) -> Self {
        self.record.metrics = metrics;
        self
    }

    /// What of an instance is outside of what the policy was trained on, in words. Empty if nothing is.
    pub fn out_of_range(&self, problem: &UrllcPower) -> Vec<String> {
        let seen = &self.record;
        let users = problem.cell().users();
        let gains = users.iter().map(|user| Decibel::from_ratio(user.gain).0);
        let each_hz = problem.max_bandwidth_hz() / users.len() as f64;
        let found = [
            seen.gain_db.furthest("gain_db", gains),
            seen.bandwidth_per_user_hz.furthest("bandwidth_per_user_hz", [each_hz]),
        ];
        found.into_iter().flatten().collect()
    }

    fn responses(&self, problem: &UrllcPower) -> Vec<ClassResponse> {
        let AnyBandRecord { training, scaling, .. } = &self.record;
        let cell = problem.cell();
        let classes = cell.classes().iter();
        let contexts: Vec<f64> =
            classes.flat_map(|qos| scaling.standardised(context(qos, cell.antennas()))).collect();
        training.network.responses(&self.parameters, &contexts, &mut DenseTape::default())
    }
}

impl Stored for AnyBandPolicy {
    type Record = AnyBandRecord;
    const PROBLEMS: &'static [&'static str] = &["urllc-power"];

    fn method(&self) -> &'static str {
        "any-gnn"
    }

    fn record(&self) -> &AnyBandRecord {
        &self.record
    }

    fn tensors(&self) -> Vec<Tensor> {
        network_tensors("response", &self.record.training.network.layout(), &self.parameters)
    }

    fn from_parts(record: AnyBandRecord, tensors: &mut Tensors) -> Result<Self, ModelError> {
        record.training.validate().map_err(|error| ModelError::Content(error.to_string()))?;
        let parameters = tensors.take_network("response", &record.training.network.layout())?;
        Self::new(record, parameters)
    }
}

/// An [`AnyBandPolicy`] with the bandwidth functions and responses of the last cell's classes, and buffers.
#[derive(Debug, Clone)]
pub struct AnyBandAllocator {
    policy: Arc<AnyBandPolicy>,
    certifier: Certifier,
    responses: Vec<ClassResponse>,
    price: PriceOfBand,
}

/// Share of the band that is kept free, so that rounding cannot take more than there is.
const KEPT_FREE: f64 = 2e-12;

impl AnyBandAllocator {
    /// The policy that it allocates by.
    pub fn policy(&self) -> &AnyBandPolicy {
        &self.policy
    }
}

impl AnyBandAllocator {
    /// Writes powers and bandwidths; an error says why there are none.
    pub fn serve(
        &mut self,
        problem: &UrllcPower,
        answer: &mut UrllcAllocation,
    ) -> Result<(), &'static str> {
        let cell = problem.cell();
        if self.certifier.prepare(cell) {
            self.responses = self.policy.responses(problem);
        }
        let bandwidths = self.certifier.bandwidths();
        let users = cell.users().iter().map(|user| (user.class, user.gain));
        let target_hz = problem.max_bandwidth_hz() * (1.0 - KEPT_FREE);
        if !self.price.split(&self.responses, bandwidths, users, target_hz) {
            return Err("no power would do: the band is too narrow");
        }
        let split: &PowerSplit = self.price.split_of();
        answer.power_w.clear();
        answer.power_w.extend((0..cell.users().len()).map(|user| split.power_w(user)));
        answer.bandwidth_hz.clear();
        answer.bandwidth_hz.extend_from_slice(self.price.bandwidth_hz());
        let most_w = problem.max_power_w().unwrap_or(f64::INFINITY);
        if answer.total_power_w() > most_w * (1.0 + tolerance::BUDGET) {
            return Err("it takes more power than there is");
        }
        Ok(())
    }
}

impl Policy for AnyBandAllocator {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let problem = instance.formulation()?;
        Ok(match UrllcAllocation::within(into, |typed| self.serve(problem, typed)) {
            Ok(()) => Outcome::Served(Status::Learned),
            Err(why) => Outcome::Refused(why.to_owned()),
        })
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
