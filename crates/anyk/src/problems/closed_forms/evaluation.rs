//! Evaluation of learned policies of (P5) and (P6), compared with the closed forms on the same cells.

use serde::{Deserialize, Serialize};

use crate::channel::sample_faded_gains;
use crate::config::System;
use crate::framework::{
    Error, Method, Observer, Rows, Session, Silent, Stored as _, TrainError, Trials,
};
use crate::network::LawShape;
use crate::problems::closed_forms::{
    ClosedForm, ClosedFormSettings, common_pretraining, pretrain_common_law, train_networks,
};
use crate::problems::closed_forms::{ClosedFormMetrics, ClosedFormPolicy};
use crate::problems::closed_forms::{EqualBandwidth, QosPower};
use crate::problems::closed_forms::{
    equal_bandwidth_shares, solve_equal_bandwidth, solve_qos_power,
};

/// Distance between a policy and the closed form at one number of users, as means over cells.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClosedFormResult {
    /// Number of users `K`.
    pub k: usize,
    /// Number of cells, including infeasible ones.
    pub cells: usize,
    /// Mean of `|P̂_k/P_k − 1|` over users, percent; only for (P5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_error_percent: Option<f64>,
    /// Total variation distance `½ Σ |P̂_k − P_k|/P_max`, percent; only for (P6). The shares of the closed form also
    /// exist in infeasible cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_variation_percent: Option<f64>,
    /// Number of infeasible cells; only for (P6). They have no bandwidth and are excluded from the next two values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infeasible: Option<usize>,
    /// Mean of `B̂/B − 1`, percent; only for (P6).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth_gap_percent: Option<f64>,
    /// Mean of `|B̂/B − 1|`, percent; only for (P6).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth_error_percent: Option<f64>,
    /// Error of the powers if every user gets the mean power, percent.
    #[serde(skip)]
    pub equal_power_percent: f64,
}

impl ClosedFormResult {
    /// Returns the error of the powers in the measure of the problem, percent.
    pub fn power_percent(&self) -> f64 {
        self.power_error_percent.or(self.total_variation_percent).unwrap_or(f64::NAN)
    }
}

/// Evaluates a policy on random cells of the sizes, on all cores; the result does not depend on their number. The
/// observer counts cells.
pub fn evaluate_closed_form(
    policy: &ClosedFormPolicy,
    trials: &Trials,
    observer: &dyn Observer,
) -> Result<Vec<ClosedFormResult>, Error> {
    let (system, allocator) = (policy.system(), policy.allocator());
    let problem = policy.record().training.problem;
    let measured = trials.measure(
        |_| Ok(allocator.clone()),
        |allocator, k, index| {
            let (road, path_loss) = (system.road(), system.path_loss());
            let gains = sample_faded_gains(&road, &path_loss, trials.seed, k, index);
            let learned = allocator.serve(&gains);
            match problem {
                ClosedForm::QosPower { rate_bps, bandwidth_hz } => {
                    let problem = QosPower::new(system, rate_bps, bandwidth_hz, gains)?;
                    let exact = solve_qos_power(&problem);
                    let users = learned.power_w.iter().zip(&exact);
                    let off = users.map(|(a, b)| (a / b - 1.0).abs()).sum::<f64>();
                    let mean_w = exact.iter().sum::<f64>() / k as f64;
                    let equal = exact.iter().map(|power_w| (mean_w / power_w - 1.0).abs());
                    let equal = equal.sum::<f64>() / k as f64;
                    Ok(Some((off / k as f64, equal, None)))
                }
                ClosedForm::EqualBandwidth { rate_bps } => {
                    let shares = equal_bandwidth_shares(&gains);
                    let users = learned.power_w.iter().zip(&shares);
                    let off = users.map(|(a, b)| (a / system.max_power_w() - b).abs()).sum::<f64>();
                    let problem = EqualBandwidth::new(system, rate_bps, gains)?;
                    let exact = solve_equal_bandwidth(&problem).allocation.bandwidth_hz;
                    let gap = learned.bandwidth_hz / exact - 1.0;
                    let equal = shares.iter().map(|b| (1.0 / k as f64 - b).abs()).sum::<f64>();
                    Ok(Some((0.5 * off, 0.5 * equal, (exact > 0.0).then_some(gap))))
                }
            }
        },
        observer,
    )?;
    let result = |found: &Rows<(f64, f64, Option<f64>)>| {
        let sum: f64 = found.rows.iter().map(|cell| cell.0).sum();
        let power = 100.0 * sum / found.rows.len() as f64;
        let gaps: Vec<f64> = found.rows.iter().filter_map(|cell| cell.2).collect();
        let mean = |f: fn(f64) -> f64| {
            let sum: f64 = gaps.iter().map(|&gap| f(gap)).sum();
            (!gaps.is_empty()).then(|| 100.0 * sum / gaps.len() as f64)
        };
        let shared = matches!(problem, ClosedForm::EqualBandwidth { .. });
        ClosedFormResult {
            k: found.k,
            cells: found.rows.len(),
            power_error_percent: (!shared).then_some(power),
            total_variation_percent: shared.then_some(power),
            infeasible: shared.then_some(found.rows.len() - gaps.len()),
            bandwidth_gap_percent: mean(|gap| gap),
            bandwidth_error_percent: mean(f64::abs),
            equal_power_percent: 100.0 * found.mean(|cell| cell.1),
        }
    };
    Ok(measured.iter().map(result).collect())
}

/// Evaluates a policy on its validation cells.
pub(crate) fn validation(policy: &ClosedFormPolicy) -> Result<Vec<ClosedFormResult>, Error> {
    let settings = &policy.record().training;
    evaluate_closed_form(policy, &Trials::validation(&settings.train_k, settings.seed), &Silent)
}

/// Trains a policy of (P5) or (P6), including its outer function, and evaluates it on a validation set.
pub fn train_closed_form(
    system: &System,
    settings: &ClosedFormSettings,
    session: &mut Session<'_>,
) -> Result<ClosedFormPolicy, TrainError> {
    settings.validate(system)?;
    let pretraining = common_pretraining();
    let law = match (settings.problem, settings.method) {
        (ClosedForm::EqualBandwidth { rate_bps }, Method::PGnn) => {
            Some(pretrain_common_law(system, rate_bps, &pretraining, settings.seed, session)?)
        }
        _ => None,
    };
    let networks = train_networks(system, settings, law.as_ref(), session)?;
    let shape: &LawShape = &pretraining.shape;
    let make = |metrics: ClosedFormMetrics| {
        let law = law.as_ref().map(|law| (shape, law));
        ClosedFormPolicy::from_training(system, settings, networks.clone(), law, metrics)
    };
    let unmeasured =
        make(ClosedFormMetrics { power_error_percent: 0.0, bandwidth_error_percent: None })?;
    let results = validation(&unmeasured)?;
    let mean = |values: Vec<f64>| {
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let power = results.iter().map(ClosedFormResult::power_percent).collect();
    let bandwidth = results.iter().filter_map(|result| result.bandwidth_error_percent).collect();
    let policy = make(ClosedFormMetrics {
        power_error_percent: mean(power).unwrap_or(0.0),
        bandwidth_error_percent: mean(bandwidth),
    })?;
    Ok(policy)
}
