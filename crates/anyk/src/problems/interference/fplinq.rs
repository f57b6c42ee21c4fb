//! FPLinQ: link scheduling by fractional programming.

use crate::problems::interference::Interference;
use crate::problems::interference::{PowerSolution, Wmmse, WmmseSettings};

/// Schedules links by fractional programming (Shen and Yu, 2017). The algorithm iterates over auxiliary variables
///
/// ```text
/// z_k = SINR_k,   y_k = √((1 + z_k) g_kk x_k) / (Σ_j g_kj x_j + 1),
/// x_k ← min(1, (y_k √((1 + z_k) g_kk) / Σ_j y_j² g_jk)²)
/// ```
///
/// for relaxed `x`, usually 100 times, starting with all links on. A link of the schedule is then on if its term of the
/// surrogate, `2 y_k √((1 + z_k) g_kk x_k) − x_k Σ_j y_j² g_jk`, is larger at `x_k = 1` than at 0. This holds if the
/// relaxed `√x_k` is above ½.
///
/// With `w = 1 + z` and `u = y/√w` these are term by term the updates of WMMSE with `v² = x`, so the WMMSE solver
/// computes them. Weights of links are factors of `1 + z`. For pairs of one transmitter and one receiver, FPLinQ adds
/// only the schedule.
pub fn fplinq(problem: &Interference, iterations: usize) -> PowerSolution {
    let settings = WmmseSettings { iterations, ..WmmseSettings::default() };
    let mut solution = Wmmse::new(settings).solve(problem);
    for share in &mut solution.shares {
        *share = scheduled(*share);
    }
    solution.sum_rate_bits = problem.sum_rate_bits(&solution.shares);
    solution
}

/// Returns 1 for a relaxed share that is scheduled and 0 otherwise.
pub(crate) fn scheduled(share: f64) -> f64 {
    if share > 0.25 { 1.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use crate::channel::rayleigh_gains;
    use crate::problems::interference::Interference;
    use crate::problems::interference::{Wmmse, WmmseSettings};

    /// Compares the updates of FPLinQ as published with the WMMSE kernel.
    #[test]
    fn relaxed_updates_are_those_of_wmmse() {
        for size in [1, 2, 7, 20] {
            let problem = Interference::new(rayleigh_gains(3, size, 0), 1.0, 1.0).unwrap();
            let gains = problem.normalised();
            let mut x = vec![1.0; size];
            let iterations = 30;
            for _ in 0..iterations {
                let heard = |link: usize| -> f64 {
                    let row = gains.row(link).iter().zip(&x).map(|(gain, x)| gain * x);
                    1.0 + row.sum::<f64>()
                };
                let z: Vec<f64> = (0..size)
                    .map(|k| gains.direct(k) * x[k] / (heard(k) - gains.direct(k) * x[k]))
                    .collect();
                let y: Vec<f64> = (0..size)
                    .map(|k| ((1.0 + z[k]) * gains.direct(k) * x[k]).sqrt() / heard(k))
                    .collect();
                x = (0..size)
                    .map(|k| {
                        let below: f64 = (0..size).map(|j| y[j] * y[j] * gains.row(j)[k]).sum();
                        (y[k] * ((1.0 + z[k]) * gains.direct(k)).sqrt() / below).min(1.0).powi(2)
                    })
                    .collect();
            }
            let settings = WmmseSettings { iterations, ..WmmseSettings::default() };
            let solution = Wmmse::new(settings).solve(&problem);
            for (ours, theirs) in solution.shares.iter().zip(&x) {
                assert!((ours - theirs).abs() < 1e-9, "{ours} {theirs}");
            }
        }
    }
}
