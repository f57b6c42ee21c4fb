//! any-gnn: powers by a learned response to one price of power, bandwidths by `b(α_k P_k)`.

use serde::{Deserialize, Serialize};

use crate::config::{Config, System};
use crate::network::{BandwidthFunction, ClassResponse, ContextScaling, DenseTape, PowerSplit};
use crate::policy::{Certifier, ModelError, ModelMetrics};
use crate::problem::{Allocation, Qos, Urllc};
use crate::solver::Infeasibility;
use crate::tolerance;
use crate::training::{AnySettings, TrainedAny, TrainedRanges};
use crate::units::Decibel;

/// How a model came about: settings, what it has seen, and what was measured on its validation set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnyRecord {
    /// The cell that it was trained for.
    pub config: Config,
    /// Its training.
    pub training: AnySettings,
    /// Of the network's context.
    pub scaling: ContextScaling,
    /// What it has seen.
    pub ranges: TrainedRanges,
    /// Measured after training.
    pub metrics: ModelMetrics,
}

/// A learned policy of (P1) that knows the law of fading: for any number of users, any budget and any
/// service classes; how good it is outside of what it was trained on, [`out_of_range`](Self::out_of_range)
/// tells.
#[derive(Debug, Clone)]
pub struct AnyPolicy {
    record: AnyRecord,
    system: System,
    parameters: Vec<f64>,
}

impl AnyPolicy {
    /// From a record and parameters; an error says what does not fit.
    pub fn new(record: AnyRecord, parameters: Vec<f64>) -> Result<Self, ModelError> {
        let content = |message: &str| ModelError::Content(message.to_owned());
        let system = record.config.validate()?;
        record.training.validate().map_err(|error| content(&error.to_string()))?;
        if !record.scaling.is_sound() {
            return Err(content("the scaling of its context is out of range"));
        }
        if !record.ranges.is_sound() {
            return Err(content("its trained ranges are no ranges"));
        }
        let expected = record.training.network.parameter_count();
        if parameters.len() != expected {
            return Err(ModelError::Content(format!(
                "the network has {} parameters, expected {expected}",
                parameters.len(),
            )));
        }
        if !parameters.iter().all(|parameter| parameter.is_finite()) {
            return Err(content("a parameter of the network is not finite"));
        }
        Ok(Self { record, system, parameters })
    }

    /// From a training.
    pub fn from_training(
        system: &System,
        settings: &AnySettings,
        trained: TrainedAny,
        metrics: ModelMetrics,
    ) -> Result<Self, ModelError> {
        let TrainedAny { parameters, scaling, ranges } = trained;
        let (config, training) = (system.config().clone(), settings.clone());
        Self::new(AnyRecord { config, training, scaling, ranges, metrics }, parameters)
    }

    /// How it came about.
    pub fn record(&self) -> &AnyRecord {
        &self.record
    }

    /// The cell that it was trained for.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Parameters of the network.
    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    /// The policy made ready for the cells of a base station with so many antennas.
    pub fn allocator(&self, antennas: u32) -> AnyAllocator<'_> {
        AnyAllocator {
            policy: self,
            antennas,
            certifier: Certifier::default(),
            responses: Vec::new(),
            split: PowerSplit::default(),
        }
    }

    /// What of a cell is outside of what the policy was trained on, in words; `antennas` are those of its
    /// base station. Empty if nothing is.
    pub fn out_of_range(&self, problem: &Urllc, antennas: u32, least_power_w: f64) -> Vec<String> {
        let seen = &self.record.ranges;
        let gains = problem.users().iter().map(|user| Decibel::from_ratio(user.gain).0);
        let classes = || problem.classes().iter().map(Qos::service);
        let budget_w = problem.max_power_w();
        [
            seen.gain_db.furthest("gain_db", gains),
            seen.power_per_user_w.furthest("power_per_user_w", [budget_w / problem.size() as f64]),
            seen.load.furthest("load", [least_power_w / budget_w]),
            seen.epsilon.furthest("epsilon", classes().map(|class| class.epsilon)),
            seen.packet_bits.furthest("packet_bits", classes().map(|class| class.packet_bits)),
            seen.arrival_rate.furthest("arrival_rate", classes().map(|class| class.arrival_rate)),
            seen.antennas.furthest("antennas", [f64::from(antennas)]),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// An [`AnyPolicy`] with the bandwidth functions and responses of the last cell's classes, and buffers.
#[derive(Debug, Clone)]
pub struct AnyAllocator<'a> {
    policy: &'a AnyPolicy,
    antennas: u32,
    certifier: Certifier,
    /// Of the classes of the cell at hand, in its order.
    responses: Vec<ClassResponse>,
    split: PowerSplit,
}

impl AnyAllocator<'_> {
    /// Powers and bandwidths of the users of a cell. Under [`SplitRule::Kkt`](crate::network::SplitRule::Kkt) every user's QoS holds, by the
    /// same certified table that the solver uses; a softmax may leave a user less power than any
    /// bandwidth can make up for. For the classes of the last cell, and its size, nothing is allocated.
    pub fn allocate(
        &mut self,
        problem: &Urllc,
        allocation: &mut Allocation,
    ) -> Result<(), Infeasibility> {
        if self.certifier.prepare(problem) {
            let AnyRecord { training, scaling, .. } = &self.policy.record;
            let contexts = problem.classes().iter();
            let contexts: Vec<f64> =
                contexts.flat_map(|qos| scaling.context(qos, self.antennas)).collect();
            let (network, tape) = (&training.network, &mut DenseTape::default());
            self.responses = network.responses(&self.policy.parameters, &contexts, tape);
        }
        let bandwidths = self.certifier.bandwidths();
        self.split.clear();
        // Mostly one class: its numbers are looked up when it changes.
        let mut last = (usize::MAX, 0.0, 0.0);
        for user in problem.users() {
            if user.class != last.0 {
                let bandwidth = &bandwidths[user.class];
                last = (user.class, bandwidth.min_received_w(), bandwidth.max_bandwidth_hz().ln());
            }
            self.split.push(user.class, last.1 / user.gain, last.2);
        }
        let least_w: f64 = self.split.least_w().iter().sum();
        let max_power_w = problem.max_power_w();
        let slack_w = max_power_w - least_w;
        if !(slack_w >= tolerance::POWER_SLACK * max_power_w) {
            let needs = self.split.least_w().iter().copied().zip(0..).collect();
            return Err(Infeasibility::new(needs, max_power_w));
        }
        let rule = self.policy.record.training.output;
        self.split.split(rule, &self.responses, max_power_w, slack_w);
        allocation.power_w.clear();
        allocation.bandwidth_hz.clear();
        for (user, &excess) in self.split.excess().iter().enumerate() {
            let bandwidth = &bandwidths[self.split.classes()[user]];
            let bandwidth_hz = if excess >= 0.0 {
                bandwidth.at_excess(excess).0
            } else {
                // Too weak for any: what comes closest.
                bandwidth.max_bandwidth_hz()
            };
            allocation.power_w.push(self.split.power_w(user));
            allocation.bandwidth_hz.push(bandwidth_hz);
        }
        Ok(())
    }

    /// Raises bandwidths to what is certified; see [`Certifier`].
    pub fn certifier(&mut self) -> &mut Certifier {
        &mut self.certifier
    }

    /// Least power that could serve the users of the last cell, W.
    pub fn least_power_w(&self) -> f64 {
        self.split.least_w().iter().sum()
    }
}
