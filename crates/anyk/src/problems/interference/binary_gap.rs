//! Share of WMMSE's powers that are binary, and comparison of WMMSE with the best schedule.

use serde::Serialize;

use crate::framework::{Silent, over_instances};
use crate::invalid::Invalid;
use crate::problems::interference::{Scenario, is_binary};
use crate::problems::interference::{Wmmse, WmmseSettings, binary_optimum};
use crate::tolerance;

/// WMMSE compared with the best schedule, over random networks with one number of links.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BinaryGap {
    /// Number of links `K`.
    pub k: usize,
    /// Number of networks.
    pub samples: u64,
    /// Share of WMMSE's powers that are 0 or `P_max` (to 1e-3 of it).
    pub share_binary_powers: f64,
    /// Share of networks in which WMMSE's sum rate is above that of the best schedule.
    pub share_of_instances_where_wmmse_beats: f64,
    /// Mean gain of WMMSE over the best schedule in those networks, percent; 0 if there are none.
    pub mean_gain_percent: f64,
    /// Largest gain of WMMSE over the best schedule, percent.
    pub max_gain_percent: f64,
    /// Mean sum rate of WMMSE as a percentage of that of the best schedules.
    pub wmmse_percent_of_best_schedule: f64,
}

/// Solves `samples` random networks by WMMSE and by branch and bound, on all cores. The result does not depend on the
/// number of cores. Returns an error if the network has too many links for the search.
pub fn binary_gap(
    scenario: &Scenario,
    size: usize,
    samples: u64,
    seed: u64,
    settings: WmmseSettings,
) -> Result<BinaryGap, Invalid> {
    // Number of binary powers, WMMSE's sum rate, and the sum rate of the best schedule.
    let measured = over_instances(
        &[size],
        samples,
        |_| Ok(Wmmse::new(settings)),
        |wmmse, size, index| {
            let problem = scenario.draw(seed, size, index)?;
            let solution = wmmse.solve(&problem);
            let binary = solution.shares.iter().filter(|&&share| is_binary(share)).count();
            let best = binary_optimum(&problem)?.sum_rate_bits;
            Ok(Some((binary, solution.sum_rate_bits, best)))
        },
        &Silent,
    )?;
    let rows: Vec<(usize, f64, f64)> = measured.into_iter().flat_map(|found| found.rows).collect();
    let gains_percent: Vec<f64> = rows
        .iter()
        .filter(|(_, wmmse, best)| *wmmse > best * (1.0 + tolerance::SUM_RATE))
        .map(|(_, wmmse, best)| 100.0 * (wmmse / best - 1.0))
        .collect();
    // Without networks, return zeros instead of 0/0.
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let total = |value: fn(&(usize, f64, f64)) -> f64| -> f64 { rows.iter().map(value).sum() };
    let binary: usize = rows.iter().map(|row| row.0).sum();
    Ok(BinaryGap {
        k: size,
        samples,
        share_binary_powers: share(binary as f64, (rows.len() * size) as f64),
        share_of_instances_where_wmmse_beats: share(gains_percent.len() as f64, rows.len() as f64),
        mean_gain_percent: share(gains_percent.iter().sum(), gains_percent.len() as f64),
        max_gain_percent: gains_percent.iter().copied().fold(0.0, f64::max),
        wmmse_percent_of_best_schedule: 100.0 * share(total(|row| row.1), total(|row| row.2)),
    })
}
