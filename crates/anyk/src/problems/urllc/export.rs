//! One step of Algorithm 1 with everything that went in and came out: for comparing implementations.

use serde::Serialize;

use crate::problems::urllc::dataset::{Pick, TrainingSet};
use crate::qos::Qos;

/// A step, as numbers.
#[derive(Debug, Clone, Serialize)]
pub struct StepRecord {
    /// Constants of the loss: `κ`, `q`, `θS^E` and the unit of bandwidth in channel uses.
    pub kappa: f64,
    /// `Q_G⁻¹(ε_D/2)`.
    pub quantile: f64,
    /// `θS^E`.
    pub demand: f64,
    /// Channel uses that count as 1 in the loss.
    pub unit_uses: f64,
    /// Adam's decay rates and the learning rate of this step.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Learning rate.
    pub rate: f64,
    /// `ln α + 30`, sample by sample, user by user.
    pub x: Vec<Vec<f32>>,
    /// `v⁰ = αP_maxτ/N_0`.
    pub energy: Vec<Vec<f64>>,
    /// `z⁰ = τB^v`.
    pub uses: Vec<Vec<f64>>,
    /// One fading state for each user.
    pub fading: Vec<Vec<f64>>,
    /// Parameters of the power, bandwidth and multiplier networks before the step.
    pub parameters: Vec<Vec<f32>>,
    /// Gradient of the mean loss, the multiplier's negated.
    pub gradient: Vec<Vec<f32>>,
    /// Parameters after the step (the first step of Adam).
    pub parameters_after: Vec<Vec<f32>>,
    /// Mean loss.
    pub loss: f32,
}

impl StepRecord {
    pub(crate) fn new(qos: &Qos, unit_hz: f64, set: &TrainingSet, picks: &[Pick]) -> Self {
        let per_user = |value: &dyn Fn(Pick, usize) -> f64| {
            let row = |&pick: &Pick| (0..set.size).map(|user| value(pick, user)).collect();
            picks.iter().map(row).collect()
        };
        Self {
            kappa: qos.kappa(),
            quantile: qos.service().decoding_quantile(),
            demand: qos.theta() * qos.effective_bandwidth(),
            unit_uses: unit_hz * qos.ln_uses_scale().exp(),
            beta1: 0.0,
            beta2: 0.0,
            rate: 0.0,
            x: picks.iter().map(|&pick| set.x(pick).to_vec()).collect(),
            energy: per_user(&|pick, user| set.energy_and_uses(pick, user).0),
            uses: per_user(&|pick, user| set.energy_and_uses(pick, user).1),
            fading: per_user(&|pick, user| {
                let mut states = Vec::new();
                set.fading(pick, user, 1, &mut states);
                states[0]
            }),
            parameters: Vec::new(),
            gradient: Vec::new(),
            parameters_after: Vec::new(),
            loss: 0.0,
        }
    }
}
