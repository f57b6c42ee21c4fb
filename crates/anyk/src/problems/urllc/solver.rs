//! Exact optimum of (P1) by dual decomposition on the single power constraint.
//!
//! With the bandwidths eliminated by `b_k`, (P1) is `min Σ b_k(α_k P_k)` over `Σ P_k ≤ P_max`: convex, separable,
//! with one coupling constraint. At a price `ν` (Hz/W) each user solves its own problem, `−α_k b_k'(α_k P_k) =
//! ν`, and the sum of the powers falls with `ν`. One root in one variable remains.
//!
//! # The certificate
//!
//! For any price `ν`, no allocation within the budget needs less than `Σ min h_k − νP_max`, where `h_k(P) =
//! b_k(α_k P) + νP` (weak duality). If the whole budget is used, the solution exceeds this by at most `Σ
//! [h_k(P_k) − min h_k]`. Let `D_k = −db_k/dP_k` at the solution, and let `P_k*` minimize `h_k`. If `b_k` is
//! convex,
//!
//! ```text
//! h_k(P_k) − h_k(P_k*) ≤ |ν − D_k|·|P_k − P_k*|.
//! ```
//!
//! The certificate therefore needs convexity and a bound on `|P_k − P_k*|`. Both depend on the fading
//! distribution, and for some distributions `b` is not convex. They are determined for the class at hand:
//!
//! - With a table, when it is built. On every piece, the coefficients of its polynomials bound how fast the price
//!   falls along the curve. If this rate is nowhere negative, `b` is convex. A factor `f > 1` is then known by
//!   which the price falls at least when `P − P_k^min` doubles (√2 at the fold and more elsewhere for usual
//!   distributions, slightly less for some). While `D_k < f·ν`, which is checked, `P_k*` lies between `P_k^min`
//!   and the double, and `|P_k − P_k*| ≤ P_k − P_k^min`. See [`BandwidthTable`].
//! - Without a table, for each user. The line of points with cost `h_k(P_k)` is followed to both its ends, in
//!   steps that cannot skip a point that meets the QoS. Then `P_k*` is within 1 % of bandwidth, and a hundredth
//!   of `b_k/ν` bounds `|P_k − P_k*|`. See [`RequiredBandwidth`](crate::qos::RequiredBandwidth).
//!
//! If neither method gives a bound, the gap is 1, a bound that always holds, and the status is `inaccurate`. The gap
//! also includes the error bounds of `b` and `D_k`, and `5e-13·ν·P_max`: users' bandwidths are those of a power lower
//! by this share ([`tolerance::ROUNDING`]), which is equivalent to a price higher by it. Next to the fold, this term
//! dominates.
//!
//! Under a largest spectral efficiency, bandwidth stops falling at some power. If all users can have that power, the
//! price is 0, the rest of the budget is shared in proportion, and the gap is the distance to `Σ b_k(∞)`.

use std::sync::Arc;

use crate::core::{Allocation, Instance, Outcome, Policy, Proof, Status};
use crate::framework::{Error, Infeasibility};
use crate::math::{PriceSearch, price_of_budget};
use crate::problems::urllc::cell::CellByClass;
use crate::problems::urllc::{Urllc, UrllcAllocation};
use crate::qos::{BandwidthTable, Curves, Qos};
use crate::tolerance;

/// Solution of a [`Urllc`] problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// Outcome of the solve.
    pub outcome: Outcome,
    /// Powers and bandwidths; empty if infeasible. Bandwidths are rounded up by the table's error bound (about
    /// 1e-11), so every user's QoS holds.
    pub allocation: UrllcAllocation,
    /// Dual variable `ν` of the power constraint, Hz/W: the bandwidth that one more watt would save. It is 0 if every
    /// user has the largest spectral efficiency in practically every fading state.
    pub price_hz_per_w: f64,
    /// Bound on `(total − optimum) / total`.
    pub duality_gap: f64,
    /// Number of trial prices.
    pub iterations: u32,
}

/// Solver with the tables of all classes solved so far. Reuse it: building a table takes milliseconds, solving
/// takes microseconds.
///
/// ```
/// use anyk::Config;
/// use anyk::problems::urllc::{Urllc, UrllcSolver};
/// let system = Config::default().validate()?;
/// let gains = [60.0, 90.0, 120.0, 180.0, 240.0].map(|d| system.path_loss().gain(d));
/// let problem = Urllc::uniform(&system, gains)?;
/// let solution = UrllcSolver::default().solve(&problem);
/// assert!(solution.outcome.is_optimal());
/// assert!((solution.allocation.total_bandwidth_hz() - 778_450.15).abs() < 0.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct UrllcSolver {
    curves: Curves,
    cell: CellByClass,
}

impl UrllcSolver {
    /// Returns the table of a class, and builds it if necessary.
    pub fn table(&mut self, qos: &Qos) -> Arc<BandwidthTable> {
        self.curves.table(qos)
    }

    /// Solves (P1).
    pub fn solve(&mut self, problem: &Urllc) -> Solution {
        let mut solution = Solution::default();
        self.solve_into(problem, &mut solution);
        solution
    }

    /// Solves (P1) into an existing solution, whose buffers are reused. It does not allocate memory if all
    /// users have one class, the table of this class exists, and a cell of this size was solved before.
    pub fn solve_into(&mut self, problem: &Urllc, solution: &mut Solution) {
        self.cell.group(problem, &mut self.curves);
        let slack_w = problem.max_power_w() - self.cell.least_power_w();
        if slack_w < tolerance::POWER_SLACK * problem.max_power_w() {
            let why = Infeasibility::new(self.cell.needs(), problem.max_power_w());
            *solution = Solution::infeasible(why);
            return;
        }
        // If there is power left when no user can use more, power has no price.
        if self.cell.share_to_the_end() && self.cell.over_power_w() <= slack_w {
            (solution.iterations, solution.price_hz_per_w) = (0, 0.0);
        } else {
            let first_guess = self.cell.price_at_share((slack_w / self.cell.least_power_w()).ln());
            // Log–log slopes lie between −2, at the fold, and −1.
            let search = PriceSearch { tolerance: 1e-12, bracket: tolerance::ROOT, stride: 20.0 };
            let found = price_of_budget(search, slack_w, first_guess, |ln_price| {
                self.cell.power_over(ln_price)
            });
            solution.iterations = found.iterations;
            solution.price_hz_per_w = found.ln_price.exp();
        }
        // Uses the whole budget, up to rounding.
        let scale = slack_w / self.cell.over_power_w();
        let (total_hz, gap_hz) =
            self.cell.allocate(scale, solution.price_hz_per_w, &mut solution.allocation);
        // No allocation needs less than 0 Hz, so the gap is at most 1.
        solution.duality_gap = (gap_hz / total_hz).min(1.0);
        solution.outcome = Outcome::by_gap(solution.duality_gap, tolerance::DUALITY_GAP);
    }
}

impl Policy for UrllcSolver {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let problem: &Urllc = instance.formulation()?;
        let solution = UrllcAllocation::within(into, |typed| {
            let allocation = std::mem::take(typed);
            let mut solution = Solution { allocation, ..Solution::default() };
            self.solve_into(problem, &mut solution);
            *typed = std::mem::take(&mut solution.allocation);
            solution
        });
        let Solution { duality_gap, price_hz_per_w: price, iterations, outcome, .. } = solution;
        into.proof = Some(Proof { duality_gap, price });
        into.iterations = Some(iterations as usize);
        Ok(outcome)
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}

impl Solution {
    fn infeasible(infeasibility: Infeasibility) -> Self {
        Self { outcome: Outcome::Infeasible(infeasibility), ..Self::default() }
    }
}

impl Default for Solution {
    /// Returns an empty solution for [`UrllcSolver::solve_into`].
    fn default() -> Self {
        Self {
            outcome: Outcome::Served(Status::Inaccurate),
            allocation: UrllcAllocation::default(),
            price_hz_per_w: 0.0,
            duality_gap: f64::INFINITY,
            iterations: 0,
        }
    }
}
