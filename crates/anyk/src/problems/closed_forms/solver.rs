//! Closed forms of (P5) and (P6) (paper, sections III-A and IV-A).

use crate::core::{Allocation, Instance, Outcome, Policy, Proof, Status};
use crate::framework::{Error, Infeasibility};
use crate::math::root;
use crate::problems::closed_forms::{CommonAllocation, EqualBandwidth, QosPower, RateTarget};
use crate::tolerance;

/// Returns the optimum of (P5), W: `P_k = F(B)/g_k` for each user independently.
///
/// ```
/// use anyk::Config;
/// use anyk::problems::closed_forms::{QosPower, solve_qos_power};
/// let system = Config::default().validate()?;
/// let problem = QosPower::new(&system, 1e6, 1e6, [1e-12, 1e-11])?;
/// let power_w = solve_qos_power(&problem);
/// assert!(problem.assess(&power_w)?.is_feasible());
/// assert!(problem.assess(&power_w)?.kkt_residual < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn solve_qos_power(problem: &QosPower) -> Vec<f64> {
    let received_w = problem.target().received_w(problem.bandwidth_hz());
    problem.gains().iter().map(|gain| received_w / gain).collect()
}

/// Solution of an [`EqualBandwidth`] problem.
#[derive(Debug, Clone, PartialEq)]
pub struct CommonSolution {
    /// Outcome: optimal or infeasible.
    pub outcome: Outcome,
    /// Powers and the bandwidth; empty if infeasible.
    pub allocation: CommonAllocation,
}

/// Solves (P6): `P_k = P_max (1/g_k)/Σ_j(1/g_j)` and `B = F⁻¹(P_max/Σ_j(1/g_j))`.
///
/// `F` falls to `N_0 s_0 ln 2`. If each user receives less power than this, no bandwidth serves the cell.
pub fn solve_equal_bandwidth(problem: &EqualBandwidth) -> CommonSolution {
    let target = problem.target();
    let inverse: f64 = problem.gains().iter().map(|gain| 1.0 / gain).sum();
    let received_w = problem.max_power_w() / inverse;
    match required_bandwidth_hz(target, received_w) {
        Some(bandwidth_hz) => {
            let power_w = problem.gains().iter().map(|gain| received_w / gain).collect();
            let allocation = CommonAllocation { power_w, bandwidth_hz };
            CommonSolution { outcome: Outcome::Served(Status::Optimal), allocation }
        }
        None => {
            let least_w = problem.gains().iter().map(|gain| target.least_received_w() / gain);
            let needs: Vec<(f64, usize)> = least_w.zip(0..).collect();
            let infeasibility = Infeasibility::new(needs, problem.max_power_w());
            let allocation = CommonAllocation::default();
            CommonSolution { outcome: Outcome::Infeasible(infeasibility), allocation }
        }
    }
}

/// Returns the power shares at the optimum of (P6), `(1/g_k)/Σ_j(1/g_j)`. They exist even if the cell is infeasible.
pub fn equal_bandwidth_shares(gains: &[f64]) -> Vec<f64> {
    let inverse: f64 = gains.iter().map(|gain| 1.0 / gain).sum();
    gains.iter().map(|gain| 1.0 / gain / inverse).collect()
}

/// Returns `F⁻¹`, the bandwidth in Hz with which a received power meets the target, or `None` if there is none.
///
/// With `x = s_0 ln 2/B` the equation is `(e^x − 1)/x = r`, where `r` is the received power divided by its lower
/// limit. Since `e^(x/2) ≤ (e^x − 1)/x ≤ e^x`, the root lies between `ln r` and `2 ln r`. Newton's method on the
/// logarithm of both sides, in `ln x`, finds it up to rounding at both ends of the range.
pub fn required_bandwidth_hz(target: &RateTarget, received_w: f64) -> Option<f64> {
    let least_w = target.least_received_w();
    let over = (received_w - least_w) / least_w;
    // Within the slack, `over` consists of rounding errors; this also rejects NaN.
    if !(over > tolerance::POWER_SLACK && over.is_finite()) {
        return None;
    }
    let ln_ratio = over.ln_1p();
    let bracket = (ln_ratio.ln(), (2.0 * ln_ratio).ln());
    let ln_x = root::increasing(bracket, bracket.1, tolerance::ROOT, |ln_x| {
        let x = ln_x.exp();
        // Derivative d ln[(e^x − 1)/x]/d ln x, which is at least x/2.
        let slope = (x / -(-x).exp_m1() - 1.0).max(0.5 * x);
        (ln_mean_exponential(x) - ln_ratio, slope)
    });
    Some(least_w / target.noise_w_hz() / ln_x.exp())
}

/// Computes `ln[(e^x − 1)/x]` for `x > 0` with full relative accuracy as `x → 0`.
fn ln_mean_exponential(x: f64) -> f64 {
    if x > 1.0 {
        return x - x.ln() + (-(-x).exp()).ln_1p();
    }
    // Series (e^x − 1)/x − 1 = x/2 + x²/6 + x³/24 + …, without cancellation.
    let mut term = 0.5 * x;
    let mut sum = term;
    for n in 3..22 {
        term *= x / f64::from(n);
        sum += term;
    }
    sum.ln_1p()
}

/// Proof of a closed form: no duality gap and no price search.
const CLOSED: Proof = Proof { duality_gap: 0.0, price: 0.0 };

/// Closed forms of both problems as a policy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Optimum;

impl Policy for Optimum {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        into.amounts = if let Ok(problem) = instance.formulation::<QosPower>() {
            vec![solve_qos_power(problem)]
        } else {
            let CommonSolution { outcome, allocation } =
                solve_equal_bandwidth(instance.formulation()?);
            if !outcome.is_served() {
                return Ok(outcome);
            }
            vec![allocation.power_w, vec![allocation.bandwidth_hz]]
        };
        into.proof = Some(CLOSED);
        into.iterations = Some(0);
        Ok(Outcome::Served(Status::Optimal))
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(*self))
    }
}

/// Optimal powers of (P6) without the bandwidth; the closed form also gives them for infeasible cells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OptimalShares;

impl Policy for OptimalShares {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let problem: &EqualBandwidth = instance.formulation()?;
        let shares = equal_bandwidth_shares(problem.gains());
        let power_w = shares.iter().map(|share| share * problem.max_power_w()).collect();
        into.amounts = vec![power_w, vec![0.0]];
        Ok(Outcome::Served(Status::Heuristic))
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(*self))
    }
}

#[cfg(test)]
mod tests {
    use super::ln_mean_exponential;

    #[test]
    fn the_two_branches_meet() {
        for x in [0.3f64, 0.9, 1.0, 1.1, 3.0] {
            let plain = (x.exp_m1() / x).ln();
            assert!((ln_mean_exponential(x) / plain - 1.0).abs() < 1e-14, "{x}");
        }
        assert!((ln_mean_exponential(1e-9) / 5e-10 - 1.0).abs() < 1e-9);
        assert!(ln_mean_exponential(800.0).is_finite());
    }
}
