//! One training of any-gnn, from settings to a validated policy.

use crate::config::System;
use crate::evaluation::run::{VALIDATION_SAMPLES, VALIDATION_SEED, mean_metrics};
use crate::evaluation::{RunError, TestSet};
use crate::policy::{AnyPolicy, ModelMetrics};
use crate::training::{AnySettings, train_any};

/// Trains any-gnn and measures it on a validation set of the training sizes in the system's own cell;
/// `progress` is called [`ANY_PROGRESS`](crate::training::ANY_PROGRESS) times.
pub fn train_any_policy(
    system: &System,
    settings: &AnySettings,
    progress: impl FnMut(),
) -> Result<AnyPolicy, RunError> {
    let trained = train_any(system, settings, progress)?;
    let make = |metrics| AnyPolicy::from_training(system, settings, trained.clone(), metrics);
    let unmeasured = make(ModelMetrics { availability: 0.0, gap_percent: 0.0 })?;
    let seed = VALIDATION_SEED ^ settings.seed;
    let set = TestSet::draw(system, &settings.train_k, VALIDATION_SAMPLES, seed)?;
    let results = set.evaluate_any(&unmeasured)?;
    Ok(make(mean_metrics(&results))?)
}
