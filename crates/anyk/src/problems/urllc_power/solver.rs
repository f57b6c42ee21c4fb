//! Exact optimum by dual decomposition on the single bandwidth constraint.
//!
//! At a price `1/ν` of bandwidth (W/Hz) each user solves its own problem, `−α_k b_k'(α_k P_k) = ν`, exactly as in
//! [`urllc`](crate::problems::urllc), and the sum of the bandwidths grows with `ν`. One root in one variable
//! remains.
//!
//! The certificate is that of [(P1)](crate::problems::urllc::UrllcSolver), divided by the price. With
//! `h_k(P) = P + b_k(α_k P)/ν`, the solution exceeds the Lagrangian dual by at most
//! `Σ [h_k(P_k) − min h_k] + (B_max − Σ B_k)/ν`, and each bracket is bounded as for (P1).

use std::sync::Arc;

use crate::core::{Allocation, Instance, Outcome, Policy, Proof, Status};
use crate::framework::Error;
use crate::math::{PriceSearch, price_of_budget};
use crate::problems::urllc::UrllcAllocation;
use crate::problems::urllc::cell::CellByClass;
use crate::problems::urllc_power::UrllcPower;
use crate::problems::urllc_power::admission::admit;
use crate::qos::{BandwidthTable, Curve, Curves, Qos};
use crate::tolerance;

/// Solution of a [`UrllcPower`] problem.
#[derive(Debug, Clone, PartialEq)]
pub struct BandSolution {
    /// Outcome of the solve.
    pub outcome: Outcome,
    /// Powers and bandwidths; empty if infeasible. Bandwidths are rounded up by the table's error bound, so every
    /// user's QoS holds.
    pub allocation: UrllcAllocation,
    /// Dual variable of the bandwidth constraint, W/Hz: the power that one more Hz would save.
    pub price_w_per_hz: f64,
    /// Bound on `(total − optimum) / total`.
    pub duality_gap: f64,
    /// Number of trial prices.
    pub iterations: u32,
}

/// Solver with the tables of all classes solved so far. Reuse it: building a table takes milliseconds.
///
/// ```
/// use anyk::Config;
/// use anyk::problems::urllc_power::{BandSolver, UrllcPower};
/// let system = Config::default().validate()?;
/// let gains = [60.0, 90.0, 120.0, 180.0, 240.0].map(|d| system.path_loss().gain(d));
/// // The band that (P1) finds for these users with 19.95 W; the solver returns that power.
/// let problem = UrllcPower::uniform(&system, gains, 778_450.15)?;
/// let solution = BandSolver::default().solve(&problem);
/// assert!(solution.outcome.is_optimal());
/// assert!((solution.allocation.total_power_w() / 19.952_623 - 1.0).abs() < 1e-6);
/// assert!(problem.assess(&solution.allocation)?.is_feasible());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct BandSolver {
    curves: Curves,
    cell: CellByClass,
}

/// Share above the minimum power that every user gets if the band is wide enough for it. Exactly at the minimum,
/// the slope of the bandwidth is infinite.
const SHARE_OVER_LEAST: f64 = 1e-10;
/// Share of the band that is kept free, so that rounding cannot exceed the budget.
const KEPT_FREE: f64 = 2e-12;
/// Largest `ln(u/u_min − 1)` in the search: 42 decades above the minimum.
const STRONGEST: f64 = 98.0;

/// Result of a price search.
pub(crate) struct Found {
    /// Logarithm of the price, `ln ν` with ν in Hz/W.
    pub(crate) ln_price: f64,
    pub(crate) iterations: u32,
}

impl BandSolver {
    /// Returns the table of a class, and builds it if necessary.
    pub fn table(&mut self, qos: &Qos) -> Arc<BandwidthTable> {
        self.curves.table(qos)
    }

    /// Solves the problem. If the power budget cannot serve every user, it finds a set of users that can be served.
    pub fn solve(&mut self, problem: &UrllcPower) -> BandSolution {
        let mut solution = BandSolution::default();
        self.least_power(problem, &mut solution);
        let power_w = solution.allocation.total_power_w();
        let most_w = problem.max_power_w().unwrap_or(f64::INFINITY) * (1.0 + tolerance::BUDGET);
        let served = solution.outcome.is_optimal() || solution.duality_gap.is_finite();
        if served && power_w <= most_w {
            return solution;
        }
        let required_power_w = served.then_some(power_w);
        let why = admit(self, problem, required_power_w);
        BandSolution { outcome: Outcome::Infeasible(why), ..BandSolution::default() }
    }

    /// Computes the minimum power regardless of the power budget; the gap is infinite if no power is sufficient.
    pub(crate) fn least_power(&mut self, problem: &UrllcPower, solution: &mut BandSolution) {
        self.cell.group(problem.cell(), &mut self.curves);
        let target_hz = problem.max_bandwidth_hz() * (1.0 - KEPT_FREE);
        let Some(found) = self.find_price(target_hz) else {
            *solution = BandSolution::default();
            return;
        };
        let price = found.ln_price.exp();
        let (total_hz, gap_hz) = self.cell.allocate(1.0, price, &mut solution.allocation);
        let left_hz = problem.max_bandwidth_hz() - total_hz;
        let total_w = solution.allocation.total_power_w();
        // If every user is close to the minimum power, less is impossible at any price.
        let over_least = total_w / self.cell.least_power_w() - 1.0 + tolerance::ROUNDING;
        let by_price = (gap_hz + left_hz) / price / total_w;
        solution.duality_gap = by_price.min(over_least).min(1.0);
        let spare = over_least < by_price;
        solution.price_w_per_hz = if spare { 0.0 } else { price.recip() };
        solution.iterations = found.iterations;
        solution.outcome = Outcome::by_gap(solution.duality_gap, tolerance::DUALITY_GAP);
    }

    /// Finds the price at which the users' bandwidths add up to `target_hz`, and leaves their powers in the cell;
    /// `None` if no power is sufficient.
    fn find_price(&mut self, target_hz: f64) -> Option<Found> {
        let at_share = |cell: &CellByClass, ln_excess: f64| {
            cell.classes().map(|(curve, users)| users as f64 * hz(curve, ln_excess.exp())).sum()
        };
        let (mut low, mut high) = (SHARE_OVER_LEAST.ln(), STRONGEST);
        if at_share(&self.cell, high) > target_hz {
            return None;
        }
        if at_share(&self.cell, low) <= target_hz {
            self.cell.share_over_least(SHARE_OVER_LEAST);
            let ln_price = self.cell.price_at_share(low);
            return Some(Found { ln_price, iterations: 0 });
        }
        // First guess: every user has the same share above the minimum, with one look-up per class.
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            if at_share(&self.cell, middle) > target_hz { low = middle } else { high = middle }
        }
        let first_guess = self.cell.price_at_share(0.5 * (low + high));
        let fold_hz: f64 = at_share(&self.cell, f64::NEG_INFINITY);
        let search = PriceSearch { tolerance: 1e-13, bracket: tolerance::ROOT, stride: 5.0 };
        // Far from the fold, the logarithm of the sum is almost linear in the logarithm of the price. Next to the
        // fold, this holds for the difference between the largest bandwidths and the sum.
        let found = if target_hz > 0.5 * fold_hz {
            price_of_budget(search, fold_hz - target_hz, first_guess, |ln_price| {
                let (sum_hz, slope) = self.bandwidth_at(ln_price);
                (fold_hz - sum_hz, -slope)
            })
        } else {
            let mut found = price_of_budget(search, target_hz, -first_guess, |ln_inverse| {
                let (sum_hz, slope) = self.bandwidth_at(-ln_inverse);
                (sum_hz, -slope)
            });
            found.ln_price = -found.ln_price;
            found
        };
        Some(Found { ln_price: found.ln_price, iterations: found.iterations })
    }

    /// Computes `Σ B_k` at a price of power, and its derivative with respect to the logarithm of the price.
    fn bandwidth_at(&mut self, ln_price: f64) -> (f64, f64) {
        let (mut sum, mut slope) = (0.0, 0.0);
        self.cell.respond(ln_price, |curve, least_w, over_w, ln_slope| {
            let excess = over_w / least_w;
            let (_, ln_z, elasticity) = curve.point(excess);
            let own_hz =
                (ln_z - curve.exact().qos().ln_uses_scale()).exp() * (1.0 + curve.error_bounds().0);
            sum += own_hz;
            slope -= own_hz * elasticity * excess / (1.0 + excess) * ln_slope;
        });
        (sum, slope)
    }

    /// Computes the cost of each user at a price, `min P + b(αP)/ν` in W, with the user's index: a lower bound on
    /// the cost in any feasible set. Also returns whether the costs are proved to be minimal, to
    /// [`tolerance::DUALITY_GAP`].
    pub(crate) fn costs(
        &mut self,
        problem: &UrllcPower,
        ln_price: f64,
    ) -> (Vec<(f64, usize)>, bool) {
        self.cell.group(problem.cell(), &mut self.curves);
        let per_hz = (-ln_price).exp();
        let mut costs = Vec::with_capacity(problem.cell().users().len());
        self.cell.respond(ln_price, |curve, least_w, over_w, _| {
            costs.push(least_w + over_w + per_hz * hz(curve, over_w / least_w));
        });
        let proved = self.cell.is_cheapest(ln_price.exp(), tolerance::DUALITY_GAP);
        (costs.into_iter().zip(self.cell.positions().iter().copied()).collect(), proved)
    }
}

/// Returns the bandwidth at an excess, rounded up by the curve's error bound, Hz.
fn hz(curve: &Curve, excess: f64) -> f64 {
    let ln_hz = curve.ln_uses(excess) - curve.exact().qos().ln_uses_scale();
    ln_hz.exp() * (1.0 + curve.error_bounds().0)
}

impl Default for BandSolution {
    /// Returns an empty solution.
    fn default() -> Self {
        Self {
            outcome: Outcome::Served(Status::Inaccurate),
            allocation: UrllcAllocation::default(),
            price_w_per_hz: 0.0,
            duality_gap: f64::INFINITY,
            iterations: 0,
        }
    }
}

impl Policy for BandSolver {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let solution = self.solve(instance.formulation()?);
        let BandSolution { duality_gap, price_w_per_hz: price, iterations, outcome, .. } = solution;
        into.proof = Some(Proof { duality_gap, price });
        into.iterations = Some(iterations as usize);
        into.amounts = vec![solution.allocation.power_w, solution.allocation.bandwidth_hz];
        Ok(outcome)
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}

/// Baseline that gives every user an equal share of the band, and the power that this requires.
#[derive(Debug, Clone, Default)]
pub struct EqualBand {
    curves: Curves,
}

impl EqualBand {
    /// Returns the allocation; `None` if the share of a user is too narrow.
    pub fn serve(&mut self, problem: &UrllcPower) -> Option<UrllcAllocation> {
        let cell = problem.cell();
        let share_hz = problem.max_bandwidth_hz() / cell.users().len() as f64;
        let excess: Vec<Option<f64>> = cell
            .classes()
            .iter()
            .map(|qos| excess_of(&Curve::new(self.curves.table(qos)), share_hz))
            .collect();
        let mut found = UrllcAllocation::default();
        for user in cell.users() {
            let excess = excess[user.class]?;
            let curve = Curve::new(self.curves.table(&cell.classes()[user.class]));
            let least_w = curve.exact().min_received_w() * (1.0 + tolerance::ROUNDING) / user.gain;
            found.power_w.push(least_w * (1.0 + excess));
            found.bandwidth_hz.push(hz(&curve, excess));
        }
        Some(found)
    }
}

impl Policy for EqualBand {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        Ok(match self.serve(instance.formulation()?) {
            Some(found) => {
                into.amounts = vec![found.power_w, found.bandwidth_hz];
                Outcome::Served(Status::Heuristic)
            }
            None => Outcome::Refused("the share of a user is too narrow".to_owned()),
        })
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}

/// Returns the smallest excess whose bandwidth is at most `most_hz`; `None` if no power is sufficient.
fn excess_of(curve: &Curve, most_hz: f64) -> Option<f64> {
    let (mut low, mut high) = (SHARE_OVER_LEAST.ln(), STRONGEST);
    if hz(curve, high.exp()) > most_hz {
        return None;
    }
    if hz(curve, low.exp()) <= most_hz {
        return Some(low.exp());
    }
    while high - low > 1e-13 * high.abs().max(1.0) {
        let middle = 0.5 * (low + high);
        if hz(curve, middle.exp()) > most_hz { low = middle } else { high = middle }
    }
    Some(high.exp())
}
