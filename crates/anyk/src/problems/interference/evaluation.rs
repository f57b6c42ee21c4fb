//! Evaluation of learned powers, compared with WMMSE, FPLinQ, greedy scheduling and the exact best schedule on
//! the same networks.

use serde::{Deserialize, Serialize};

use super::training::VALIDATION_SEED;
use crate::framework::{Error, Observer, Rows, Session, Silent, TrainError, Trials};
use crate::math::Mean;
use crate::problems::interference::{Features, PowerObjective, PowerTrainSettings};
use crate::problems::interference::{MOST_LINKS, Wmmse, binary_optimum, greedy, scheduled};
use crate::problems::interference::{PowerModelRecord, PowerOutput, PowerPolicy};
use crate::problems::interference::{RandomLinks, SparseInterference};

/// Sum rates at one number of links, weighted if links have weights. Percentages refer to the mean sum rate of
/// WMMSE (100 iterations from full power).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PowerSizeResult {
    /// Number of links `K`.
    pub k: usize,
    /// Mean sum rate of WMMSE, bit/s/Hz.
    pub wmmse_bits: f64,
    /// Standard error of WMMSE's mean sum rate, bit/s/Hz.
    pub standard_error_bits: f64,
    /// Sum rate of FPLinQ, percent.
    pub fplinq_percent: f64,
    /// Sum rate of greedy scheduling, strongest link first, percent.
    pub greedy_percent: f64,
    /// Sum rate of greedy scheduling if every link is then tried again, as for a ranked output, percent.
    pub greedy_improved_percent: f64,
    /// Sum rate of the best schedule, percent; only up to 20 links.
    pub exact_percent: Option<f64>,
    /// Mean share of `P_max` that WMMSE uses.
    pub wmmse_power_share: f64,
    /// Results of each policy.
    pub policies: Vec<PowerPolicyResult>,
}

/// Results of one policy at one number of links.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PowerPolicyResult {
    /// Mean sum rate, bit/s/Hz.
    pub sum_rate_bits: f64,
    /// Sum rate as a percentage of that of WMMSE.
    pub sum_rate_percent: f64,
    /// Mean share of `P_max` that the policy uses.
    pub power_share: f64,
}

/// Default number of passes of [`PowerOutput::Ranked`].
pub const PASSES: usize = 5;

/// Evaluates policies and baselines on random networks of each size, on all cores; the result does not depend on
/// their number. The observer counts networks.
pub fn power_over_sizes(
    networks: impl Into<RandomLinks>,
    policies: &[PowerPolicy],
    trials: &Trials,
    observer: &dyn Observer,
) -> Result<Vec<PowerSizeResult>, Error> {
    let networks: RandomLinks = networks.into();
    let threshold = networks.scenario.threshold();
    let allocators: Vec<_> = policies.iter().map(PowerPolicy::allocator).collect();
    let measured = trials.measure(
        |_| Ok((Wmmse::default(), allocators.clone())),
        |(wmmse, allocators), size, index| {
            let problem = networks.draw(trials.seed, size, index)?;
            let mean = |shares: &[f64]| shares.iter().sum::<f64>() / size as f64;
            let shares = wmmse.shares(&problem);
            let mut row = vec![problem.sum_rate_bits(shares), mean(shares)];
            // FPLinQ's relaxed powers are those of WMMSE.
            let schedule: Vec<f64> = shares.iter().copied().map(scheduled).collect();
            row.push(problem.sum_rate_bits(&schedule));
            row.push(greedy(&problem, 0).sum_rate_bits);
            row.push(greedy(&problem, PASSES).sum_rate_bits);
            // Larger networks have no exact schedule, and their column is not shown.
            let exact =
                if size <= MOST_LINKS { binary_optimum(&problem)?.sum_rate_bits } else { 0.0 };
            row.push(exact);
            let sparse = SparseInterference::new(&problem, threshold);
            for allocator in allocators {
                let shares = allocator.shares(&sparse);
                row.push(problem.sum_rate_bits(shares));
                row.push(mean(shares));
            }
            Ok(Some(row))
        },
        observer,
    )?;
    let result = |found: &Rows<Vec<f64>>| {
        let mean = |index: usize| found.mean(|row| row[index]);
        let rates: Vec<f64> = found.rows.iter().map(|row| row[0]).collect();
        let wmmse = Mean::of(&rates).unwrap_or(Mean { mean: 0.0, standard_error: 0.0 });
        let percent = |bits: f64| 100.0 * bits / wmmse.mean.max(f64::MIN_POSITIVE);
        PowerSizeResult {
            k: found.k,
            wmmse_bits: wmmse.mean,
            standard_error_bits: wmmse.standard_error,
            wmmse_power_share: mean(1),
            fplinq_percent: percent(mean(2)),
            greedy_percent: percent(mean(3)),
            greedy_improved_percent: percent(mean(4)),
            exact_percent: (found.k <= MOST_LINKS).then(|| percent(mean(5))),
            policies: (0..policies.len())
                .map(|policy| PowerPolicyResult {
                    sum_rate_bits: mean(6 + 2 * policy),
                    sum_rate_percent: percent(mean(6 + 2 * policy)),
                    power_share: mean(7 + 2 * policy),
                })
                .collect(),
        }
    };
    Ok(measured.iter().map(result).collect())
}

/// Number of networks in the validation set.
const VALIDATION_SAMPLES: u64 = 100;

/// Trains a policy and evaluates it on a validation set with the training size.
pub fn train_power(
    settings: &PowerTrainSettings,
    output: PowerOutput,
    session: &mut Session<'_>,
) -> Result<PowerPolicy, TrainError> {
    let mut objective = PowerObjective::new(settings)?;
    let plan = objective.plan();
    let parameters = session.train("training", &plan, &mut objective)?;
    finish_power(settings, objective.features(), output, parameters)
}

/// Builds a policy from trained parameters and evaluates it on a validation set with the training size.
pub fn finish_power(
    training: &PowerTrainSettings,
    features: Features,
    output: PowerOutput,
    parameters: Vec<f32>,
) -> Result<PowerPolicy, TrainError> {
    let (networks, size) = (training.networks(), training.train_k);
    let mut record =
        PowerModelRecord { training: training.clone(), features, output, sum_rate_percent: 0.0 };
    let policies = [PowerPolicy::new(record.clone(), parameters.clone())?];
    let seed = VALIDATION_SEED ^ training.seed;
    let trials = Trials::new(vec![size], VALIDATION_SAMPLES, seed);
    let results = power_over_sizes(networks, &policies, &trials, &Silent)?;
    record.sum_rate_percent = results[0].policies[0].sum_rate_percent;
    Ok(PowerPolicy::new(record, parameters)?)
}
