//! Training run of Algorithm 1, from settings to a validated policy.

use std::sync::Arc;

use crate::channel::FadingQuadrature;
use crate::config::System;
use crate::framework::{Method, PretrainSettings, Session, Silent, TrainError, Trials};
use crate::network::BandwidthLaw;
use crate::problems::urllc::{
    Algorithm1, CellPolicy as _, LearnedPolicy, ModelMetrics, ModelRecord, SizeResult, TestSet,
    TrainSettings, pretrain_law,
};

/// Pre-trains the outer function that a training run needs; `None` for M-GNN and FNN.
pub fn law_for(
    system: &System,
    settings: &TrainSettings,
    pretraining: &PretrainSettings,
    session: &mut Session<'_>,
) -> Result<Option<BandwidthLaw>, TrainError> {
    // Report errors in the settings before the pre-training rather than after it.
    settings.validate()?;
    validation_set(system, None, &settings.train_k, settings.seed)?;
    match settings.method {
        Method::MGnn | Method::Fnn => Ok(None),
        Method::PGnn => {
            let law =
                pretrain_law(system, settings.epsilon_d, pretraining, settings.seed, session)?;
            Ok(Some(law))
        }
    }
}

/// Trains P-GNN, M-GNN or FNN with an existing outer function, and measures the policy on its validation set.
pub fn train_urllc(
    system: &System,
    settings: &TrainSettings,
    (pretraining, law): (&PretrainSettings, Option<&BandwidthLaw>),
    session: &mut Session<'_>,
) -> Result<LearnedPolicy, TrainError> {
    let mut objective = Algorithm1::new(system, settings, law)?;
    let plan = objective.plan();
    let parameters = session.train("training", &plan, &mut objective)?;
    finish(system, &objective, &parameters, (pretraining, law))
}

/// Builds a policy from parameters and measures it on the validation set.
pub fn finish(
    system: &System,
    objective: &Algorithm1,
    parameters: &[f32],
    (pretraining, law): (&PretrainSettings, Option<&BandwidthLaw>),
) -> Result<LearnedPolicy, TrainError> {
    let settings = objective.settings();
    let parameters: Vec<f64> = parameters.iter().copied().map(f64::from).collect();
    let count = parameters.len() / 3;
    let make = |metrics: ModelMetrics| {
        let record = ModelRecord {
            config: system.config().clone(),
            training: settings.clone(),
            law: law.map(|_| pretraining.shape.clone()),
            unit_hz: objective.unit_hz(),
            metrics,
            guarantee: None,
        };
        LearnedPolicy::new(
            record,
            parameters[..count].to_vec(),
            parameters[count..2 * count].to_vec(),
            law.map(|law| law.parameters().to_vec()),
        )
    };
    let unmeasured = make(ModelMetrics { availability: 0.0, gap_percent: 0.0 })?;
    let set = validation_set(system, None, &settings.train_k, settings.seed)?;
    let results = set.evaluate(&unmeasured.allocator(), &Silent)?;
    Ok(make(mean_metrics(&results))?)
}

/// Returns the cells on which a policy is measured after training, or an error if none can be served. Call it before a
/// training run to find this error early.
pub(crate) fn validation_set(
    system: &System,
    fading: Option<&Arc<FadingQuadrature>>,
    train_k: &[usize],
    seed: u64,
) -> Result<TestSet, TrainError> {
    let Trials { sizes, samples, seed, .. } = Trials::validation(train_k, seed);
    let set = TestSet::draw_under(system, fading, &sizes, samples, seed, &Silent)?;
    set.check_served().map_err(|why| TrainError::Infeasible(why.to_string()))?;
    Ok(set)
}

/// Returns the means over the numbers of users.
pub(crate) fn mean_metrics(results: &[SizeResult]) -> ModelMetrics {
    let count = results.len() as f64;
    ModelMetrics {
        availability: results.iter().map(|result| result.availability).sum::<f64>() / count,
        gap_percent: results.iter().map(|result| result.gap_percent).sum::<f64>() / count,
    }
}
