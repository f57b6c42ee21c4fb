//! One training of any-gnn, from settings to a validated policy.

use std::sync::Arc;

use crate::channel::{FadingQuadrature, FadingSamples};
use crate::config::System;
use crate::framework::ModelError;
use crate::problems::urllc::run::{VALIDATION_SAMPLES, VALIDATION_SEED, mean_metrics};
use crate::problems::urllc::{AnyPolicy, SampledRecord};
use crate::problems::urllc::{
    AnySettings, SampledSettings, learn_bandwidth, train_any, train_any_on,
};
use crate::problems::urllc::{RunError, TestSet};

/// Trains any-gnn for the system's own law of fading and measures it on a validation set of the training
/// sizes in the system's own cell; `progress` is called
/// [`ANY_PROGRESS`](crate::problems::urllc::ANY_PROGRESS) times.
pub fn train_any_policy(
    system: &System,
    settings: &AnySettings,
    progress: impl FnMut(),
) -> Result<AnyPolicy, RunError> {
    let trained = train_any(system, settings, progress)?;
    measured(AnyPolicy::from_training(system, settings, trained, None)?, None)
}

/// Trains any-gnn where fading is known by samples alone: first `b̂`, then the response to the price of power
/// with it. `deviations` standard errors are added to `b̂` in the answers; its measures are under the
/// law of the samples themselves, which is all there is to know. `progress` is called
/// [`LEARN_PROGRESS`](crate::problems::urllc::LEARN_PROGRESS) + [`ANY_PROGRESS`](crate::problems::urllc::ANY_PROGRESS) times.
pub fn train_sampled_policy(
    system: &System,
    samples: &FadingSamples,
    learning: &SampledSettings,
    settings: &AnySettings,
    deviations: f64,
    mut progress: impl FnMut(),
) -> Result<AnyPolicy, RunError> {
    let qos = system.qos(system.service()).map_err(ModelError::from)?;
    let learned = learn_bandwidth(system, &qos, samples, learning, &mut progress);
    let bandwidth = learned.ok_or_else(|| {
        let message = "no bandwidth can be learned from these samples: the power budget does not reach the \
                       nearest user, or the training left the numbers";
        ModelError::Content(message.into())
    })?;
    let trained = train_any_on(system, settings, &bandwidth.widened(0.0), &mut progress)?;
    let record = SampledRecord {
        training: learning.clone(),
        samples: samples.as_slice().len(),
        deviations,
        range_w: bandwidth.range_w,
    };
    let learned = Some((record, bandwidth));
    let policy = AnyPolicy::from_training(system, settings, trained, learned)?;
    measured(policy, Some(&samples.compressed_rule()))
}

/// The policy with what is measured of it, under the fading of its cell or another.
fn measured(
    policy: AnyPolicy,
    fading: Option<&Arc<FadingQuadrature>>,
) -> Result<AnyPolicy, RunError> {
    let AnySettings { train_k, seed, .. } = &policy.record().training;
    let seed = VALIDATION_SEED ^ seed;
    let set = TestSet::draw_under(policy.system(), fading, train_k, VALIDATION_SAMPLES, seed)?;
    let metrics = mean_metrics(&set.evaluate(&policy)?);
    Ok(policy.with_metrics(metrics))
}
