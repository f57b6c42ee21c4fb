//! Evaluation of policies for a fixed band, compared with the exact optimum and with equal bandwidths on the same
//! cells.

use serde::{Deserialize, Serialize};

use crate::channel::sample_distances_m;
use crate::config::System;
use crate::framework::{Error, Observer, Rows, Silent, Stored as _, TrainError, Trials};
use crate::problems::urllc::{ModelMetrics, UrllcAllocation};
use crate::problems::urllc_power::problem::USER_BAND_HZ;
use crate::problems::urllc_power::{
    BandPriceAllocator, BandPricePolicy, BandSolver, EqualBand, UrllcPower,
};

/// Results of a policy at one number of users; means over cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BandResult {
    /// Number of users `K`.
    pub k: usize,
    /// Band, Hz.
    pub max_bandwidth_hz: f64,
    /// Number of cells that can be served with enough power; the means include only these.
    pub served: usize,
    /// Number of cells that no power can serve in this band.
    pub infeasible: usize,
    /// Share of users whose QoS is met, by quadrature; in cells that the policy rejects, no user counts as
    /// served.
    pub availability: f64,
    /// Share of cells in which the policy does not exceed the band.
    pub band_kept: f64,
    /// Mean total power, W.
    pub total_power_w: f64,
    /// Mean exact optimum on the same cells, W.
    pub optimum_w: f64,
    /// Extra power compared with the optimum, percent.
    pub gap_percent: f64,
    /// Largest extra power in any cell, percent.
    pub worst_gap_percent: f64,
    /// Mean extra power of equal bandwidths, percent.
    pub equal_gap_percent: f64,
}

/// Random cells with a band for each size.
pub struct BandTrials<'a> {
    /// System of the cells.
    pub system: &'a System,
    /// Numbers of users, number of cells for each, and their seed.
    pub trials: &'a Trials,
    /// Band for a number of users, Hz.
    pub band_hz: &'a (dyn Fn(usize) -> f64 + Sync),
}

#[derive(Serialize, Deserialize)]
struct Row {
    availability: f64,
    kept: bool,
    power_w: f64,
    optimum_w: f64,
    equal_w: f64,
}

/// Evaluates a policy on random cells of each size, on all cores; the result does not depend on their number. The
/// observer counts cells.
pub fn evaluate_band(
    allocator: &BandPriceAllocator,
    trials: &BandTrials<'_>,
    observer: &dyn Observer,
) -> Result<Vec<BandResult>, Error> {
    let BandTrials { system, trials, band_hz } = *trials;
    let mut solver = BandSolver::default();
    solver.table(&system.qos(system.service())?);
    let measured = trials.measure(
        |_| {
            let (equal, answer) = (EqualBand::default(), UrllcAllocation::default());
            Ok((allocator.clone(), solver.clone(), equal, answer))
        },
        |(allocator, solver, equal, answer), size, index| {
            let distances = sample_distances_m(&system.road(), trials.seed, size, index);
            let gains = distances.into_iter().map(|d| system.path_loss().gain(d));
            let problem = UrllcPower::uniform(system, gains, band_hz(size))?;
            let optimum = solver.solve(&problem);
            if optimum.outcome.infeasible().is_some() {
                return Ok(None);
            }
            let served = allocator.serve(&problem, answer).is_ok();
            let judged = if served { Some(problem.assess(answer)?) } else { None };
            let trivial = equal.serve(&problem).unwrap_or_default();
            Ok(Some(Row {
                availability: judged.map_or(0.0, |judged| judged.availability),
                kept: judged.is_some_and(|judged| judged.bandwidth_excess <= 1e-12),
                power_w: judged.map_or(0.0, |judged| judged.total_power_w),
                optimum_w: optimum.allocation.total_power_w(),
                equal_w: trivial.total_power_w(),
            }))
        },
        observer,
    )?;
    Ok(measured.iter().map(|found| result(found, band_hz(found.k))).collect())
}

fn result(found: &Rows<Row>, max_bandwidth_hz: f64) -> BandResult {
    let total_power_w = found.mean(|row| row.power_w);
    let optimum_w = found.mean(|row| row.optimum_w);
    let percent = |over: f64, of: f64| if of > 0.0 { 100.0 * (over / of - 1.0) } else { 0.0 };
    let gaps = found.rows.iter().map(|row| percent(row.power_w, row.optimum_w));
    BandResult {
        k: found.k,
        max_bandwidth_hz,
        served: found.rows.len(),
        infeasible: found.infeasible,
        availability: found.mean(|row| row.availability),
        band_kept: found.mean(|row| f64::from(u8::from(row.kept))),
        total_power_w,
        optimum_w,
        gap_percent: percent(total_power_w, optimum_w),
        worst_gap_percent: gaps.fold(f64::NEG_INFINITY, f64::max).max(-100.0),
        equal_gap_percent: percent(found.mean(|row| row.equal_w), optimum_w),
    }
}

/// Evaluates a policy after training, in its own cell. Also returns the extra power of equal bandwidths, percent.
pub(crate) fn validated(policy: &BandPricePolicy) -> Result<(ModelMetrics, f64), TrainError> {
    let training = &policy.record().training;
    let trials = BandTrials {
        system: policy.system(),
        trials: &Trials::validation(&training.train_k, training.seed),
        band_hz: &|size| USER_BAND_HZ * size as f64,
    };
    let results = evaluate_band(&policy.allocator(), &trials, &Silent)?;
    if results.iter().any(|result| result.served == 0) {
        let why = format!("no power serves a cell with {USER_BAND_HZ} Hz for each user");
        return Err(TrainError::Infeasible(why));
    }
    let count = results.len().max(1) as f64;
    let mean = |value: fn(&BandResult) -> f64| results.iter().map(value).sum::<f64>() / count;
    let metrics = ModelMetrics {
        availability: mean(|result| result.availability),
        gap_percent: mean(|result| result.gap_percent),
    };
    Ok((metrics, mean(|result| result.equal_gap_percent)))
}
