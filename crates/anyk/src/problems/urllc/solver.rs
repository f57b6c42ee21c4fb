//! The exact optimum of (P1) by dual decomposition on the one power constraint.
//!
//! With `b_k` eliminating the bandwidths, (P1) is `min Σ b_k(α_k P_k)` over `Σ P_k ≤ P_max`: convex,
//! separable, one coupling constraint. At a price `ν` (Hz/W) each user answers alone,
//! `−α_k b_k'(α_k P_k) = ν`, and the powers' sum falls with `ν`. One root in one variable is left.
//!
//! # The certificate
//!
//! With the whole budget used, the gap between the answer and the Lagrangian dual at `ν` is
//! `Σ [h_k(P_k) − min h_k]`, where `h_k(P) = b_k(α_k P) + νP`. Let `D_k = −db_k/dP_k` at the answer,
//! `P_k^min = u_min/α_k`, and let `P_k*` minimise `h_k`. By convexity
//!
//! ```text
//! h_k(P_k) − h_k(P_k*) ≤ |ν − D_k|·|P_k − P_k*| ≤ |ν − D_k|·(P_k − P_k^min).
//! ```
//!
//! The second step is plain where `P_k* < P_k`. Otherwise it says that twice the power over the
//! least would be too much: along the curve the price falls at least as fast as
//! `(P − P^min)^(−1/2)`, its law at the fold, so there it is at most `D_k/√2 < ν` as long as
//! `D_k < √2·ν`, which is checked. The error bounds of the tables are added.

use std::sync::Arc;

use crate::framework::{Allocate, Infeasibility, ModelError, Outcome, Policy, Proof, Status};
use crate::math::{PriceSearch, price_of_budget};
use crate::problems::urllc::cell::CellByClass;
use crate::problems::urllc::{Allocation, Urllc};
use crate::qos::{BandwidthTable, Curves, Qos};
use crate::tolerance;

/// The answer to a [`Urllc`] problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// How the solve ended.
    pub status: Status,
    /// Powers and bandwidths; empty when infeasible. Bandwidths are rounded up by the table's error
    /// bound (about 1e-11), so that every user's QoS really holds.
    pub allocation: Allocation,
    /// Dual variable `ν` of the power constraint, Hz/W: what one more watt would save.
    pub price_hz_per_w: f64,
    /// Bound on `(total − optimum) / total`.
    pub duality_gap: f64,
    /// Trial prices.
    pub iterations: u32,
}

/// A solver, with the tables of the classes it has met. Reuse it: building a table takes
/// milliseconds, solving takes microseconds.
///
/// ```
/// use anyk::Config;
/// use anyk::framework::Status;
/// use anyk::problems::urllc::{Urllc, UrllcSolver};
/// let system = Config::default().validate()?;
/// let gains = [60.0, 90.0, 120.0, 180.0, 240.0].map(|d| system.path_loss().gain(d));
/// let problem = Urllc::uniform(&system, gains)?;
/// let solution = UrllcSolver::default().solve(&problem);
/// assert_eq!(solution.status, Status::Optimal);
/// assert!((solution.allocation.total_bandwidth_hz() - 778_450.15).abs() < 0.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct UrllcSolver {
    curves: Curves,
    cell: CellByClass,
}

impl UrllcSolver {
    /// The table of a class, built now unless it is there already.
    pub fn table(&mut self, qos: &Qos) -> Arc<BandwidthTable> {
        self.curves.table(qos)
    }

    /// Solves (P1).
    pub fn solve(&mut self, problem: &Urllc) -> Solution {
        let mut solution = Solution::default();
        self.solve_into(problem, &mut solution);
        solution
    }

    /// Solves (P1) into an existing solution, whose buffers are reused: for users of one class, with
    /// its table there and the size met before, nothing is allocated.
    pub fn solve_into(&mut self, problem: &Urllc, solution: &mut Solution) {
        self.cell.group(problem, &mut self.curves);
        let slack_w = problem.max_power_w() - self.cell.least_power_w();
        if slack_w < tolerance::POWER_SLACK * problem.max_power_w() {
            let why = Infeasibility::new(self.cell.needs(), problem.max_power_w());
            *solution = Solution::infeasible(why);
            return;
        }
        let first_guess = self.cell.price_at_share((slack_w / self.cell.least_power_w()).ln());
        // Log–log slopes between −2, at the fold, and −1.
        let search = PriceSearch { tolerance: 1e-12, bracket: tolerance::ROOT, stride: 20.0 };
        let found = price_of_budget(search, slack_w, first_guess, |ln_price| {
            self.cell.power_over(ln_price)
        });
        solution.iterations = found.iterations;
        solution.price_hz_per_w = found.ln_price.exp();
        // The whole budget, to rounding.
        let scale = slack_w / self.cell.over_power_w();
        let (total_hz, gap_hz) =
            self.cell.allocate(scale, solution.price_hz_per_w, &mut solution.allocation);
        solution.duality_gap = gap_hz / total_hz;
        solution.status = if solution.duality_gap <= tolerance::DUALITY_GAP {
            Status::Optimal
        } else {
            Status::Inaccurate
        };
    }
}

impl Allocate<Urllc> for UrllcSolver {
    fn allocate(&mut self, problem: &Urllc, answer: &mut Allocation) -> Outcome {
        let allocation = std::mem::take(answer);
        let mut solution = Solution { allocation, ..Solution::default() };
        self.solve_into(problem, &mut solution);
        *answer = solution.allocation;
        let proof = Proof {
            duality_gap: solution.duality_gap,
            price: solution.price_hz_per_w,
            iterations: solution.iterations,
        };
        match solution.status {
            Status::Optimal => Outcome::Optimal(proof),
            Status::Inaccurate => Outcome::Inaccurate(proof),
            Status::Infeasible(why) => Outcome::Infeasible(why),
        }
    }
}

impl Policy<Urllc> for UrllcSolver {
    fn ready(&self, _size: usize) -> Result<Box<dyn Allocate<Urllc> + Send + '_>, ModelError> {
        Ok(Box::new(self.clone()))
    }
}

impl Solution {
    fn infeasible(infeasibility: Infeasibility) -> Self {
        Self { status: Status::Infeasible(infeasibility), ..Self::default() }
    }
}

impl Default for Solution {
    /// An empty answer, to solve into.
    fn default() -> Self {
        Self {
            status: Status::Inaccurate,
            allocation: Allocation::default(),
            price_hz_per_w: 0.0,
            duality_gap: f64::INFINITY,
            iterations: 0,
        }
    }
}
