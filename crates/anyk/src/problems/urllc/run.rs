//! One training, from settings to a validated policy.

use crate::config::System;
use crate::framework::ModelError;
use crate::framework::ProblemError;
use crate::framework::TrainError;
use crate::network::BandwidthLaw;
use crate::problems::urllc::{LearnedPolicy, ModelMetrics, ModelRecord};
use crate::problems::urllc::{
    Method, PretrainError, PretrainSettings, TrainSettings, Trainer, pretrain_law,
};
use crate::problems::urllc::{SizeResult, TestSet};

/// Why a run ended without a policy.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RunError {
    /// Pre-training failed.
    #[error("pre-training: {0}")]
    Pretrain(#[from] PretrainError),
    /// Training failed.
    #[error("training: {0}")]
    Train(#[from] TrainError),
    /// Validation failed.
    #[error("validation: {0}")]
    Problem(#[from] ProblemError),
    /// The parts do not fit.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// Seed of the validation set, its own stream for each training; test sets use other seeds.
pub(crate) const VALIDATION_SEED: u64 = 0x7a11_da7e;
/// Cells of each training size in the validation set (paper, table I).
pub(crate) const VALIDATION_SAMPLES: u64 = 200;

/// The outer function that a training needs, pre-trained; none for M-GNN.
pub fn law_for(
    system: &System,
    settings: &TrainSettings,
    pretraining: &PretrainSettings,
    progress: impl FnMut(),
) -> Result<Option<BandwidthLaw>, RunError> {
    match settings.method {
        Method::MGnn | Method::Fnn => Ok(None),
        Method::PGnn => {
            let law =
                pretrain_law(system, settings.epsilon_d, pretraining, settings.seed, progress)?;
            Ok(Some(law))
        }
    }
}

/// Makes a policy of a finished training, measured on its validation set.
pub fn finish(
    system: &System,
    trainer: &Trainer,
    pretraining: &PretrainSettings,
    law: Option<&BandwidthLaw>,
) -> Result<LearnedPolicy, RunError> {
    let settings = trainer.settings();
    let parameters: Vec<f64> =
        trainer.state().parameters.iter().map(|&parameter| f64::from(parameter)).collect();
    let count = parameters.len() / 3;
    let make = |metrics: ModelMetrics| {
        let record = ModelRecord {
            config: system.config().clone(),
            training: settings.clone(),
            law: law.map(|_| pretraining.shape.clone()),
            unit_hz: trainer.unit_hz(),
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
    let seed = VALIDATION_SEED ^ settings.seed;
    let set = TestSet::draw(system, &settings.train_k, VALIDATION_SAMPLES, seed)?;
    let results = set.evaluate(&unmeasured)?;
    let policy = make(mean_metrics(&results))?;
    Ok(policy)
}

/// Means over the sizes.
pub(crate) fn mean_metrics(results: &[SizeResult]) -> ModelMetrics {
    let count = results.len() as f64;
    ModelMetrics {
        availability: results.iter().map(|result| result.availability).sum::<f64>() / count,
        gap_percent: results.iter().map(|result| result.gap_percent).sum::<f64>() / count,
    }
}
