//! Price policy: each user responds to one price of power, which is chosen such that the budget is used up.
//! Bandwidths are `b(α_k P_k)`, either known or learned from samples of fading.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::{Config, System};
use crate::core::{Allocation, Instance, Outcome, Policy, Status};
use crate::exchange::Tensor;
use crate::framework::{
    Error, Guarantee, Infeasibility, ModelError, PRICE, Stored, Tensors, network_tensors,
};
use crate::invalid::Invalid;
use crate::network::ConvexLaw;
use crate::network::{ClassResponse, ContextScaling, DenseTape, PowerSplit, SplitRule};
use crate::problems::urllc::ErrorPoint;
use crate::problems::urllc::price_training::{Span, context};
use crate::problems::urllc::{CellPolicy, Certifier, ModelMetrics};
use crate::problems::urllc::{PriceSettings, SampledSettings, TrainedPrice, TrainedRanges};
use crate::problems::urllc::{SampledBandwidth, WidenedBandwidth};
use crate::problems::urllc::{Urllc, UrllcAllocation};
use crate::qos::BandwidthFunction;
use crate::qos::Qos;
use crate::qos::RequiredBandwidth;
use crate::tolerance;
use crate::units::Decibel;

/// Settings of a model, its training ranges, and its results on the validation set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceRecord {
    /// Cell for which the model was trained.
    pub config: Config,
    /// Training settings.
    pub training: PriceSettings,
    /// Scaling of the network's context features.
    pub scaling: ContextScaling,
    /// Ranges of the training samples.
    #[serde(default)]
    pub ranges: TrainedRanges,
    /// Results after training, under the cell's own fading distribution or under that of the samples.
    pub metrics: ModelMetrics,
    /// Settings for learning `b̂`, if the fading distribution is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<SampledRecord>,
    /// Guarantee from the calibration, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guarantee: Option<Guarantee>,
    /// Training range that only models of urllc-power from version 0.2 contain.
    #[serde(default, skip_serializing)]
    pub gain_db: Option<Span>,
    /// Training range that only models of urllc-power from version 0.2 contain.
    #[serde(default, skip_serializing)]
    pub bandwidth_per_user_hz: Option<Span>,
}

/// Settings and data of a `b̂` that was learned from samples of fading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampledRecord {
    /// Settings for learning `b̂`.
    pub training: SampledSettings,
    /// Number of fading samples.
    pub samples: usize,
    /// Number of standard errors added to `b̂`, in addition to the shortfall of its fit; 0 leaves `b̂` unchanged.
    pub deviations: f64,
    /// Range of received powers for which `b̂` was learned, W.
    pub range_w: (f64, f64),
}

/// Learned policy of (P1) for any number of users and any budget.
///
/// A policy with a known fading distribution also serves any service classes, and certifies every allocation. A
/// policy that was learned from samples serves only the class of its training. [`PriceAllocator::out_of_range`]
/// lists the values of a cell that are outside the training ranges.
#[derive(Debug, Clone)]
pub struct PricePolicy {
    record: PriceRecord,
    system: System,
    parameters: Vec<f64>,
    learned: Option<Learned>,
}

/// Bandwidth function that was learned for one class.
#[derive(Debug, Clone)]
struct Learned {
    bandwidth: SampledBandwidth,
    widened: WidenedBandwidth,
    qos: Qos,
}

/// Reason why a cell was not served.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Unserved {
    /// Budget that cannot serve every user.
    #[error(transparent)]
    Infeasible(Infeasibility),
    /// Cell whose service class or configuration differs from that of the bandwidth learned from samples.
    #[error(transparent)]
    Unfit(Invalid),
}

/// Returns the first value of a cell that differs from the training of a bandwidth learned from samples.
fn unfit(problem: &Urllc, qos: &Qos, antennas: u32) -> Option<Invalid> {
    let because = "for which the bandwidth was learned from samples of fading";
    let known = qos.service();
    let other = |field: &'static str, found: f64, known: f64| {
        (found.to_bits() != known.to_bits())
            .then(|| Invalid::number(field, found, format!("{known}, {because}")))
    };
    let of_class = |class: &Qos| {
        let found = class.service();
        let frame = || {
            let expected = format!("the one {because}");
            Invalid::value("the noise or the frame of the cell", "different", expected)
        };
        other("epsilon", found.epsilon, known.epsilon)
            .or_else(|| other("packet_bits", found.packet_bits, known.packet_bits))
            .or_else(|| other("arrival_rate", found.arrival_rate, known.arrival_rate))
            .or_else(|| (!class.same_service(qos)).then(frame))
    };
    other("antennas", f64::from(problem.antennas()), f64::from(antennas))
        .or_else(|| problem.classes().iter().find_map(of_class))
}

impl PricePolicy {
    /// Builds a policy from a record and parameters, and from the learned bandwidth if there is one. An error
    /// says what does not fit.
    pub fn new(
        mut record: PriceRecord,
        parameters: Vec<f64>,
        bandwidth: Option<SampledBandwidth>,
    ) -> Result<Self, ModelError> {
        let former = [
            ("gain_db", record.gain_db.take()),
            ("bandwidth_per_user_hz", record.bandwidth_per_user_hz.take()),
        ];
        for (name, span) in former {
            record.ranges.0.extend(span.map(|span| (name.to_owned(), span)));
        }
        let content = |message: &str| ModelError::Content(message.to_owned());
        let system = record.config.validate()?;
        record.training.validate().map_err(|error| content(&error.to_string()))?;
        if !record.scaling.is_sound() {
            return Err(content("the scaling of the model's context is out of range"));
        }
        if !record.ranges.is_sound() {
            return Err(content("the model's training ranges are not finite or not in order"));
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
        if let Some(guarantee) = &record.guarantee {
            guarantee.validate()?;
        }
        let learned = match (&record.sampled, bandwidth) {
            (None, None) => None,
            (Some(sampled), Some(bandwidth)) => {
                let (low_w, high_w) = sampled.range_w;
                let same = [low_w, high_w].map(f64::to_bits)
                    == [bandwidth.range_w.0, bandwidth.range_w.1].map(f64::to_bits);
                if !(same && bandwidth.is_sound() && (0.0..=100.0).contains(&sampled.deviations)) {
                    return Err(content(
                        "the parts of the model's bandwidth function do not fit together",
                    ));
                }
                let widened = bandwidth.widened(sampled.deviations);
                Some(Learned { bandwidth, widened, qos: system.qos(system.service())? })
            }
            _ => {
                return Err(content(
                    "the model has a learned bandwidth without a record of it, or a record without the bandwidth",
                ));
            }
        };
        Ok(Self { record, system, parameters, learned })
    }

    /// Builds a policy after training, with the bandwidth learned from samples if there is one. Its metrics are
    /// still empty.
    pub fn from_training(
        system: &System,
        settings: &PriceSettings,
        trained: TrainedPrice,
        learned: Option<(SampledRecord, SampledBandwidth)>,
    ) -> Result<Self, ModelError> {
        let TrainedPrice { parameters, scaling, ranges } = trained;
        let (sampled, bandwidth) = learned.unzip();
        let record = PriceRecord {
            config: system.config().clone(),
            training: settings.clone(),
            scaling,
            ranges,
            metrics: ModelMetrics { availability: 0.0, gap_percent: 0.0 },
            sampled,
            guarantee: None,
            gain_db: None,
            bandwidth_per_user_hz: None,
        };
        Self::new(record, parameters, bandwidth)
    }

    /// Returns the policy with these metrics.
    #[must_use]
    pub fn with_metrics(mut self, metrics: ModelMetrics) -> Self {
        self.record.metrics = metrics;
        self
    }

    /// Returns the parameters of the network.
    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    /// Returns the bandwidth function that was learned from samples of fading; `None` if the distribution is known.
    pub fn bandwidth(&self) -> Option<&SampledBandwidth> {
        self.learned.as_ref().map(|learned| &learned.bandwidth)
    }

    /// Returns the policy with another number of standard errors added to `b̂`, if it has a `b̂`. The result is
    /// not calibrated, since a guarantee is valid only for one number.
    pub fn with_deviations(&self, deviations: f64) -> Result<Self, ModelError> {
        let mut record = PriceRecord { guarantee: None, ..self.record.clone() };
        if let Some(sampled) = &mut record.sampled {
            sampled.deviations = deviations;
        }
        Self::new(record, self.parameters.clone(), self.bandwidth().cloned())
    }

    /// Returns the policy with a softmax instead of the price search: at any number of users, the ratios of the
    /// powers are those at the price with this logarithm.
    pub fn with_fixed_price(&self, ln_price: f64) -> Result<Self, ModelError> {
        let mut record = self.record.clone();
        record.training.output = SplitRule::Softmax;
        record.training.fixed_ln_price = Some(ln_price);
        Self::new(record, self.parameters.clone(), self.bandwidth().cloned())
    }

    /// Returns the responses of a cell's classes, in the order of the classes.
    pub fn responses(&self, problem: &Urllc) -> Vec<ClassResponse> {
        let antennas = problem.antennas();
        let PriceRecord { training, scaling, .. } = &self.record;
        let contexts = problem.classes().iter();
        let contexts: Vec<f64> =
            contexts.flat_map(|qos| scaling.standardised(context(qos, antennas))).collect();
        training.network.responses(&self.parameters, &contexts, &mut DenseTape::default())
    }
}

impl Stored for PricePolicy {
    type Record = PriceRecord;
    const PROBLEMS: &'static [&'static str] = &["urllc"];

    fn method(&self) -> &'static str {
        PRICE
    }

    fn record(&self) -> &PriceRecord {
        &self.record
    }

    fn tensors(&self) -> Vec<Tensor> {
        let layout = self.record.training.network.layout();
        let mut tensors = network_tensors("response", &layout, &self.parameters);
        if let Some(SampledBandwidth { law, errors, .. }) = self.bandwidth() {
            let column = |name: &str, value: fn(&ErrorPoint) -> f64| {
                Tensor::flat(format!("bandwidth.{name}"), errors.iter().map(value).collect())
            };
            tensors.extend([
                Tensor::flat("bandwidth.law", law.parameters().to_vec()),
                column("places", |point| point.place),
                column("shortfalls", |point| point.shortfall),
                column("standard_errors", |point| point.standard_error),
            ]);
        }
        tensors
    }

    fn from_parts(record: PriceRecord, tensors: &mut Tensors) -> Result<Self, ModelError> {
        record.training.validate().map_err(|error| ModelError::Content(error.to_string()))?;
        let parameters = tensors.take_network("response", &record.training.network.layout())?;
        let Some(sampled) = &record.sampled else {
            return Self::new(record, parameters, None);
        };
        let mut take = |name: &str| tensors.take(&format!("bandwidth.{name}"));
        let (law, places) = (take("law")?, take("places")?);
        let (shortfalls, standard_errors) = (take("shortfalls")?, take("standard_errors")?);
        if places.len() != shortfalls.len() || places.len() != standard_errors.len() {
            return Err(ModelError::Content("the error arrays of b̂ have different lengths".into()));
        }
        let range_w = sampled.range_w;
        let law = ConvexLaw::new(range_w.0, law)
            .filter(|law| law.parameters().len() / 3 == sampled.training.units)
            .ok_or_else(|| ModelError::Content("the number of parameters of b̂ is wrong".into()))?;
        let rows = places.into_iter().zip(shortfalls).zip(standard_errors);
        let errors = rows
            .map(|((place, shortfall), standard_error)| ErrorPoint {
                place,
                standard_error,
                shortfall,
            })
            .collect();
        Self::new(record, parameters, Some(SampledBandwidth { law, range_w, errors }))
    }
}

impl CellPolicy for PricePolicy {
    type Allocator = PriceAllocator;

    fn allocator(&self) -> PriceAllocator {
        PriceAllocator {
            policy: Arc::new(self.clone()),
            certifier: Certifier::default(),
            responses: Vec::new(),
            split: PowerSplit::default(),
        }
    }

    fn system(&self) -> &System {
        &self.system
    }

    fn knows_fading(&self) -> bool {
        self.learned.is_none()
    }

    fn most_hz(&self) -> Result<f64, ModelError> {
        Ok(match &self.learned {
            Some(learned) => learned.widened.max_bandwidth_hz(),
            None => {
                let qos = self.system.qos(self.system.service())?;
                RequiredBandwidth::new(qos).max_bandwidth_hz()
            }
        })
    }

    fn guarantee(&self) -> Option<&Guarantee> {
        self.record.guarantee.as_ref()
    }

    fn set_guarantee(&mut self, guarantee: Option<Guarantee>) {
        self.record.guarantee = guarantee;
    }
}

impl Policy for PriceAllocator {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let problem = instance.formulation()?;
        let is_exact = self.policy.knows_fading();
        Ok(match UrllcAllocation::within(into, |typed| self.serve(problem, typed)) {
            Ok(()) => Outcome::Served(Status::Learned),
            Err(Unserved::Infeasible(why)) if is_exact => Outcome::Infeasible(why),
            Err(Unserved::Infeasible(why)) => Outcome::Infeasible(why.of_policy()),
            Err(unfit) => Outcome::Refused(unfit.to_string()),
        })
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}

/// Allocator that runs a [`PricePolicy`], with the bandwidth functions and responses of the last cell's classes.
#[derive(Debug, Clone)]
pub struct PriceAllocator {
    policy: Arc<PricePolicy>,
    certifier: Certifier,
    /// Responses of the classes of the current cell, in the order of the classes.
    responses: Vec<ClassResponse>,
    split: PowerSplit,
}

impl PriceAllocator {
    /// Returns the policy that this allocator runs.
    pub fn policy(&self) -> &PricePolicy {
        &self.policy
    }

    /// Computes powers and bandwidths of the users of a cell. Under [`SplitRule::Kkt`] every user's QoS holds if
    /// the fading distribution is known, by the same certified table as in the solver. A softmax may leave a user
    /// with too little power for any bandwidth. If classes and number of users are those of the last cell, no
    /// memory is allocated.
    pub fn serve(
        &mut self,
        problem: &Urllc,
        allocation: &mut UrllcAllocation,
    ) -> Result<(), Unserved> {
        let record = &self.policy.record;
        let fixed_ln_price = record.training.fixed_price();
        let margin = record.guarantee.as_ref().map_or(1.0, |guarantee| guarantee.margin);
        let Self { policy, certifier, responses, split } = self;
        if let Some(Learned { widened, qos, .. }) = &policy.learned {
            let antennas = policy.system.config().cell.antennas;
            if let Some(unfit) = unfit(problem, qos, antennas) {
                return Err(Unserved::Unfit(unfit));
            }
            if responses.is_empty() {
                *responses = policy.responses(problem);
            }
            let bandwidths = std::slice::from_ref(widened);
            allocate_by(fixed_ln_price, responses, bandwidths, problem, split, allocation)
                .map_err(Unserved::Infeasible)?;
            widen(margin, bandwidths, problem, allocation);
            return Ok(());
        }
        if certifier.prepare(problem) {
            *responses = policy.responses(problem);
        }
        let bandwidths = certifier.bandwidths();
        allocate_by(fixed_ln_price, responses, bandwidths, problem, split, allocation)
            .map_err(Unserved::Infeasible)?;
        widen(margin, bandwidths, problem, allocation);
        Ok(())
    }

    /// Returns the certifier, which raises bandwidths to certified values; see [`Certifier`].
    pub fn certifier(&mut self) -> &mut Certifier {
        &mut self.certifier
    }

    /// Returns the logarithm of the price of power in the last cell.
    pub fn ln_price(&self) -> f64 {
        self.split.ln_price()
    }

    /// Describes the values of the last cell that are outside the training ranges. Returns an empty list if there are
    /// none.
    pub fn out_of_range(&self, problem: &Urllc) -> Vec<String> {
        let seen = &self.policy.record.ranges;
        let gains = problem.users().iter().map(|user| Decibel::from_ratio(user.gain).0);
        let budget_w = problem.max_power_w();
        let least_w: f64 = self.split.least_w().iter().sum();
        let mut found = seen.outside_of_cell(&self.policy.system, problem, self.split.excess());
        // Only models of version 0.2 have these three ranges.
        found.extend(seen.outside("gain_db", gains));
        found.extend(seen.outside("power_per_user_w", [budget_w / problem.size() as f64]));
        found.extend(seen.outside("load", [least_w / budget_w]));
        found
    }
}

/// Applies the factor of a guarantee, up to the largest bandwidth of each class; beyond it, more would harm.
fn widen<B: BandwidthFunction>(
    margin: f64,
    bandwidths: &[B],
    problem: &Urllc,
    allocation: &mut UrllcAllocation,
) {
    // The factor is exactly 1 without a guarantee.
    if (margin - 1.0).abs() < f64::EPSILON {
        return;
    }
    for (user, bandwidth_hz) in problem.users().iter().zip(&mut allocation.bandwidth_hz) {
        let most_hz = bandwidths[user.class].max_bandwidth_hz();
        *bandwidth_hz = (*bandwidth_hz * margin).min(most_hz);
    }
}

/// Computes powers from the responses of a cell's classes, and bandwidths from their known or learned functions,
/// both in the order of the problem's classes. Returns an error if the budget is below the minimum of these
/// functions.
fn allocate_by<B: BandwidthFunction>(
    fixed_ln_price: Option<f64>,
    responses: &[ClassResponse],
    bandwidths: &[B],
    problem: &Urllc,
    split: &mut PowerSplit,
    allocation: &mut UrllcAllocation,
) -> Result<(), Infeasibility> {
    split.clear();
    // Most cells have one class, so look up its numbers only when the class changes.
    let mut last = (usize::MAX, 0.0, 0.0);
    for user in problem.users() {
        if user.class != last.0 {
            let bandwidth = &bandwidths[user.class];
            last = (user.class, bandwidth.min_received_w(), bandwidth.max_bandwidth_hz().ln());
        }
        split.push(user.class, last.1 / user.gain, last.2);
    }
    let least_w: f64 = split.least_w().iter().sum();
    let max_power_w = problem.max_power_w();
    let slack_w = max_power_w - least_w;
    if slack_w < tolerance::POWER_SLACK * max_power_w {
        let needs = split.least_w().iter().copied().zip(0..).collect();
        return Err(Infeasibility::new(needs, max_power_w));
    }
    split.split(fixed_ln_price, responses, max_power_w, slack_w);
    allocation.power_w.clear();
    allocation.bandwidth_hz.clear();
    for (user, &excess) in split.excess().iter().enumerate() {
        let bandwidth = &bandwidths[split.classes()[user]];
        // Too weak for any bandwidth (possible with a softmax): use the one that comes closest.
        let bandwidth_hz = if excess >= 0.0 {
            bandwidth.bandwidth_hz(excess)
        } else {
            bandwidth.max_bandwidth_hz()
        };
        allocation.power_w.push(split.power_w(user));
        allocation.bandwidth_hz.push(bandwidth_hz);
    }
    Ok(())
}
