//! Asymptotic forms `f_3` and `f_4` of problem (P6) (paper, eq. (P-case2-3)), compared with its optimum.

use serde::{Deserialize, Serialize};

use anyk::channel::sample_distances_m;
use anyk::math::Moments;
use anyk::math::in_blocks;
use anyk::problems::closed_forms::RateTarget;
use anyk::problems::closed_forms::required_bandwidth_hz;
use anyk::{Invalid, System};

/// Number of points of the midpoint rule for `E(1/g)` along the road.
const ROAD_POINTS: u32 = 10_000;

/// Optimum and asymptotic forms at one size, for users along the road.
///
/// ```text
/// P_k* → f_3 = P_max/(K g_k E(1/g)),      B* → f_4 = F⁻¹(P_max/(K E(1/g)))
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AsymptoticForm {
    /// Number of users K.
    pub k: usize,
    /// `P_k*/f_3 = K·E(1/g)/Σ_j(1/g_j)`, which is equal for all users of a realization.
    pub power_ratio: Moments,
    /// Bandwidth `B*` in Hz over the realizations that the budget can serve.
    pub bandwidth_hz: Moments,
    /// `f_4` in Hz; `None` if the value is below `N_0 s_0 ln 2`, the infimum of `F`.
    pub asymptotic_hz: Option<f64>,
}

/// Solves (P6) for `realizations` cells of each size, at a rate `s_0` in bit/s.
pub fn asymptotic_forms(
    system: &System,
    rate_bps: f64,
    sizes: &[usize],
    (realizations, seed): (u64, u64),
) -> Result<Vec<AsymptoticForm>, Invalid> {
    let target = RateTarget::new(system, rate_bps)?;
    let inverse = inverse_gain(system);
    let forms = sizes.iter().map(|&k| {
        let blocks = in_blocks(realizations, |_, indices| {
            let mut parts = [Moments::default(); 2];
            for index in indices {
                let distances = sample_distances_m(&system.road(), seed, k, index);
                let gains = distances.into_iter().map(|d| system.path_loss().gain(d));
                let sum: f64 = gains.map(f64::recip).sum();
                parts[0].push(k as f64 * inverse / sum);
                let bandwidth_hz = required_bandwidth_hz(&target, system.max_power_w() / sum);
                bandwidth_hz.into_iter().for_each(|bandwidth_hz| parts[1].push(bandwidth_hz));
            }
            parts
        });
        let [power_ratio, bandwidth_hz] = blocks
            .into_iter()
            .fold([Moments::default(); 2], |[p, b], part| [p.merge(part[0]), b.merge(part[1])]);
        let received_w = system.max_power_w() / (k as f64 * inverse);
        let asymptotic_hz = required_bandwidth_hz(&target, received_w);
        AsymptoticForm { k, power_ratio, bandwidth_hz, asymptotic_hz }
    });
    Ok(forms.collect())
}

/// Returns the number of users above which `f_4` does not exist: `P_max/(E(1/g) N_0 s_0 ln 2)`.
pub fn largest_size(system: &System, rate_bps: f64) -> Result<f64, Invalid> {
    let target = RateTarget::new(system, rate_bps)?;
    Ok(system.max_power_w() / (inverse_gain(system) * target.least_received_w()))
}

/// Returns `E(1/g)` of a user placed uniformly along the road.
fn inverse_gain(system: &System) -> f64 {
    let (road, path_loss) = (system.road(), system.path_loss());
    let step_m = road.half_length_m() / f64::from(ROAD_POINTS);
    let position_m = |index: u32| (f64::from(index) + 0.5) * step_m;
    let inverse = |index| path_loss.gain(road.distance_m(position_m(index))).recip();
    (0..ROAD_POINTS).map(inverse).sum::<f64>() / f64::from(ROAD_POINTS)
}
