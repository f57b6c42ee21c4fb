//! Calibration of a learned policy on held-out users: the smallest factor on its bandwidths that gives a
//! [`Guarantee`].

use std::sync::Arc;

use crate::channel::{FadingQuadrature, sample_distances_m};
use crate::core::{Allocation, Instance, Policy as _};
use crate::framework::{CalibrationSettings, Error, Guarantee, Rows, Silent, over_instances};
use crate::invalid::Invalid;
use crate::problems::urllc::{CellPolicy, Urllc, UrllcAllocation, UrllcProblem, User};
use crate::qos::BandwidthTable;
use crate::tolerance;

/// Fading distribution under which users are judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Judge {
    /// Description of the distribution for the text of the guarantee.
    pub name: String,
    /// Quadrature rule of the distribution.
    pub rule: Arc<FadingQuadrature>,
}

/// Users of each cell that a calibration judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// Only the first user: users of different cells are independent.
    First,
    /// All users: more users for the same work, but users of one cell share its power budget and are not independent.
    All,
}

/// Computes, for users of random cells, the smallest factor on the bandwidth of the uncalibrated policy such that
/// the QoS is met with this factor and with any larger one. The factor is infinite if no bandwidth can compensate
/// for the low power, or if the policy rejects the cell.
///
/// `table` belongs to the policy's service class, under the fading distribution of its config or another one. The
/// function uses all cores; the result does not depend on their number.
pub fn required_factors<P: CellPolicy + Sync>(
    policy: &P,
    table: &BandwidthTable,
    size: usize,
    cells: usize,
    seed: u64,
    judged: Judged,
) -> Result<Vec<f64>, Error> {
    let system = policy.system();
    let (fold_hz, most_hz) = (table.exact().max_bandwidth_hz(), policy.most_hz()?);
    let allocator = policy.without_guarantee().allocator();
    let (road, path_loss, of_cells) =
        (system.road(), system.path_loss(), UrllcProblem::in_cell(system));
    // Prevents rounding of factor and table from turning a QoS that holds into one that does not.
    let up = 1.0 + table.error_bound() + tolerance::TABLE;
    // A factor widens the bandwidth to at most most_hz. The widened bandwidth must meet the QoS, and must not be so
    // wide that the QoS fails again.
    let reaches = |received_w: f64, needed_hz: f64| {
        let wide = || table.exact().qos().margin(received_w.ln(), most_hz.ln()).value >= 0.0;
        needed_hz <= most_hz * (1.0 + tolerance::TABLE) && (most_hz <= fold_hz || wide())
    };
    let judged = match judged {
        Judged::First => 1,
        Judged::All => size,
    };
    let measured = over_instances(
        &[size],
        cells as u64,
        |_| Ok::<_, Error>((allocator.clone(), Allocation::default())),
        |(allocator, buffer), size, index| {
            let distances = sample_distances_m(&road, seed, size, index);
            let gains = distances.iter().map(|&d| path_loss.gain(d));
            let problem = Urllc::uniform(system, gains)?;
            let instance = Instance::of(&of_cells, size, problem);
            buffer.reset(instance.about().amounts, instance.size());
            if !allocator.allocate(&instance, buffer)?.is_served() {
                return Ok(Some(vec![f64::INFINITY; judged]));
            }
            let problem: &Urllc = instance.formulation()?;
            let allocation = UrllcAllocation::of(buffer);
            let users = problem.users().iter().zip(&allocation.power_w);
            let factor = |((user, power_w), bandwidth_hz): ((&User, &f64), &f64)| {
                let received_w = user.gain * power_w;
                match table.at(received_w) {
                    Ok(b) if reaches(received_w, b.bandwidth_hz) => {
                        up * b.bandwidth_hz / bandwidth_hz
                    }
                    _ => f64::INFINITY,
                }
            };
            Ok(Some(users.zip(&allocation.bandwidth_hz).take(judged).map(factor).collect()))
        },
        &Silent,
    )?;
    Ok(measured.into_iter().flat_map(|found: Rows<Vec<f64>>| found.rows).flatten().collect())
}

/// Returns the policy with the smallest factor that gives the guarantee. For several sizes, the guarantee holds
/// jointly: each size gets an equal share of `δ`, and the largest factor is used. A policy that was learned from
/// samples does not contain a fading distribution, so it needs a judge.
pub fn calibrate<P: CellPolicy + Sync>(
    policy: &P,
    judge: Option<&Judge>,
    settings: &CalibrationSettings,
) -> Result<P, Error> {
    let CalibrationSettings { k, cells, beta, delta, seed, shrink } = settings;
    let missed = Guarantee::missed_allowed(*cells, *beta, *delta, k.len())?;
    let system = policy.system();
    let own = system.qos(system.service())?;
    if own.max_spectral_efficiency().is_some() {
        // The lemma of docs/guarantees.md needs one maximum of M over z, which is not proved under a limit.
        return Err(Error::NoGuarantee(
            "the guarantee is not proved for cells with max_spectral_efficiency; certify each allocation instead"
                .into(),
        ));
    }
    let table = BandwidthTable::new(match judge {
        Some(judge) => own.with_fading(Arc::clone(&judge.rule)),
        None if policy.knows_fading() => own,
        None => {
            let expected = "a fading distribution or held-out samples: the model was learned from samples and does \
                            not contain a distribution";
            return Err(Invalid::missing("fading", expected).into());
        }
    });
    let mut margin = if *shrink { 0.0f64 } else { 1.0 };
    for &size in k {
        let factors = required_factors(policy, &table, size, *cells, *seed, Judged::First)?;
        let unserved = factors.iter().filter(|factor| factor.is_infinite()).count();
        let factor = Guarantee::order_statistic(factors, missed).unwrap_or(f64::INFINITY);
        if factor.is_infinite() {
            return Err(Error::NoGuarantee(format!(
                "no margin gives this guarantee: at K = {size}, {unserved} of {cells} users cannot be served, because \
                 no bandwidth suffices for their power or the model rejects their cell. The guarantee (beta = {beta}, \
                 delta = {delta}) allows at most {missed} such users"
            )));
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
        fading: judge.map(|judge| judge.name.clone()),
    };
    Ok(policy.with_guarantee(guarantee)?)
}
