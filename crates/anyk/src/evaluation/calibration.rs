//! Calibration of a learned policy on held-out users: the smallest factor on its bandwidths that carries a
//! [`Guarantee`].

use rayon::prelude::*;
use thiserror::Error;

use crate::channel::sample_distances_m;
use crate::policy::{Guarantee, GuaranteeError, LearnedPolicy, ModelError};
use crate::problem::{Allocation, ServiceError};
use crate::solver::BandwidthTable;
use crate::tolerance;

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationSettings {
    /// Sizes at which the guarantee is to hold.
    pub k: Vec<usize>,
    /// Independent cells of each size.
    pub cells: usize,
    /// Share of users that may miss their QoS.
    pub beta: f64,
    /// Probability that more of them do.
    pub delta: f64,
    /// Seed of the cells.
    pub seed: u64,
    /// Whether the factor may be below 1, for a policy that gives more than the guarantee needs.
    pub shrink: bool,
}

/// Why a calibration failed.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CalibrationError {
    /// No guarantee can be given.
    #[error(transparent)]
    Guarantee(#[from] GuaranteeError),
    /// The policy does not fit the size.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model's service class is out of range.
    #[error(transparent)]
    Service(#[from] ServiceError),
}

/// Which users of a cell are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// One: users of different cells are independent.
    First,
    /// All: more users for the same work, but those of a cell share its powers.
    All,
}

/// For users of random cells, the smallest factor on the bandwidth that the policy gives without its
/// guarantee such that the QoS is met; infinite where no bandwidth can make up for the power.
///
/// All cores; the result does not depend on their number.
pub fn required_factors(
    policy: &LearnedPolicy,
    size: usize,
    cells: usize,
    seed: u64,
    judged: Judged,
) -> Result<Vec<f64>, CalibrationError> {
    let system = policy.system();
    let table = BandwidthTable::new(system.qos(system.service())?);
    let plain = policy.without_guarantee();
    let sized = plain.at_size(size)?;
    let (road, path_loss) = (system.road(), system.path_loss());
    // So that the rounding of factor and table cannot turn a QoS that holds into one that does not.
    let up = 1.0 + table.error_bound() + tolerance::TABLE;
    let factors = (0..cells as u64)
        .into_par_iter()
        .map_init(
            || (sized.clone(), Allocation::default()),
            |(sized, allocation), index| {
                let distances = sample_distances_m(&road, seed, size, index);
                let gains: Vec<f64> = distances.iter().map(|&d| path_loss.gain(d)).collect();
                sized.allocate(&gains, allocation);
                let judged = match judged {
                    Judged::First => 1,
                    Judged::All => size,
                };
                let users = gains.iter().zip(&allocation.power_w).zip(&allocation.bandwidth_hz);
                users
                    .take(judged)
                    .map(|((gain, power_w), bandwidth_hz)| {
                        let needed = table.at(gain * power_w);
                        needed.map_or(f64::INFINITY, |b| up * b.bandwidth_hz / bandwidth_hz)
                    })
                    .collect::<Vec<f64>>()
            },
        )
        .flatten_iter()
        .collect();
    Ok(factors)
}

/// The policy with the smallest factor that carries the guarantee. At several sizes it holds at all of them
/// together: each gets its part of `δ`, and the largest factor is taken.
pub fn calibrate(
    policy: &LearnedPolicy,
    settings: &CalibrationSettings,
) -> Result<LearnedPolicy, CalibrationError> {
    let CalibrationSettings { k, cells, beta, delta, seed, shrink } = settings;
    let missed = Guarantee::missed_allowed(*cells, *beta, *delta, k.len())?;
    let mut margin = if *shrink { 0.0f64 } else { 1.0 };
    for &size in k {
        let factors = required_factors(policy, size, *cells, *seed, Judged::First)?;
        let unserved = factors.iter().filter(|factor| factor.is_infinite()).count();
        let factor = Guarantee::order_statistic(factors, missed).unwrap_or(f64::INFINITY);
        if factor.is_infinite() {
            let (cells, beta) = (*cells, *beta);
            return Err(GuaranteeError::Unserved { k: size, unserved, cells, missed, beta }.into());
        }
        margin = margin.max(factor);
    }
    let guarantee = Guarantee {
        margin,
        beta: *beta,
        delta: *delta,
        k: k.clone(),
        cells: *cells,
        missed,
        seed: *seed,
    };
    Ok(policy.with_guarantee(guarantee)?)
}
