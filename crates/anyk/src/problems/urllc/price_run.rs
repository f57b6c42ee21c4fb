//! Training run of the price policy, from settings to a validated policy.

use std::sync::Arc;

use crate::channel::{FadingQuadrature, FadingSamples};
use crate::config::System;
use crate::framework::{Session, Silent, Stored as _, TrainError};
use crate::problems::urllc::run::{mean_metrics, validation_set};
use crate::problems::urllc::{
    CellPolicy, EqualPower, PricePolicy, PriceSettings, SampledRecord, SampledSettings, TestSet,
    learn_bandwidth, train_price, train_price_on,
};

/// Trains the price policy for the system's own fading distribution and measures it on a validation set with the
/// training sizes in the system's own cell.
pub fn train_price_policy(
    system: &System,
    settings: &PriceSettings,
    session: &mut Session<'_>,
) -> Result<PricePolicy, TrainError> {
    let trained = train_price(system, settings, session)?;
    measured(PricePolicy::from_training(system, settings, trained, None)?, None)
}

/// Trains the price policy if fading is known only through samples: first `b̂`, then the response to the price of
/// power with it. The allocations use `b̂` plus `deviations` standard errors. The metrics are under the empirical
/// distribution of the samples, since no other is known.
pub fn train_sampled_policy(
    system: &System,
    samples: &FadingSamples,
    learning: &SampledSettings,
    settings: &PriceSettings,
    deviations: f64,
    session: &mut Session<'_>,
) -> Result<PricePolicy, TrainError> {
    // Validate before the bandwidth is learned.
    settings.validate()?;
    let qos = system.qos(system.service())?;
    let bandwidth = learn_bandwidth(system, &qos, samples, learning, session)?;
    let trained = train_price_on(system, settings, &bandwidth.widened(0.0), session)?;
    let record = SampledRecord {
        training: learning.clone(),
        samples: samples.as_slice().len(),
        deviations,
        range_w: bandwidth.range_w,
    };
    let learned = Some((record, bandwidth));
    let policy = PricePolicy::from_training(system, settings, trained, learned)?;
    measured(policy, Some(&samples.compressed_rule()))
}

/// Returns the cells on which a policy is measured after training. They have the budget of the system's cell.
fn validation_set_of(
    policy: &PricePolicy,
    fading: Option<&Arc<FadingQuadrature>>,
) -> Result<TestSet, TrainError> {
    let PriceSettings { train_k, seed, .. } = &policy.record().training;
    validation_set(policy.system(), fading, train_k, *seed)
}

/// Returns the extra bandwidth of equal power with exact bandwidths, in percent, on the cells on which the policy was
/// measured.
pub(crate) fn equal_power_gap_percent(
    policy: &PricePolicy,
    fading: Option<&Arc<FadingQuadrature>>,
) -> Result<f64, TrainError> {
    let results = validation_set_of(policy, fading)?.evaluate(&EqualPower::default(), &Silent)?;
    Ok(mean_metrics(&results).gap_percent)
}

/// Returns the policy with its metrics, under the fading of its cell or another one.
fn measured(
    policy: PricePolicy,
    fading: Option<&Arc<FadingQuadrature>>,
) -> Result<PricePolicy, TrainError> {
    let set = validation_set_of(&policy, fading)?;
    let results = set.evaluate(&policy.allocator(), &Silent)?;
    let metrics = mean_metrics(&results);
    Ok(policy.with_metrics(metrics))
}
