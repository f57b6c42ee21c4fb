//! Admission of users under two budgets: the largest set that can be served, and a bound that proves it.
//!
//! With prices 1 for power and `1/ν` for bandwidth, a user costs at least `c_k = min_P P + b_k(α_k P)/ν`, and any
//! feasible set costs at most `P_max + B_max/ν` in total. For any `ν`, no set is therefore larger than the number
//! of smallest `c_k` that this amount pays for. Among users of one class, a stronger gain is never worse, so the
//! strongest users that fit form the largest set.

use crate::framework::Infeasibility;
use crate::problems::urllc_power::{BandSolution, BandSolver, UrllcPower};
use crate::tolerance;

/// Number of prices whose order of the users is tried.
const ROUNDS: usize = 4;

/// Finds the largest set that fits both budgets among the sets it tries, and a bound on the size of any set that
/// fits.
pub(super) fn admit(
    solver: &mut BandSolver,
    problem: &UrllcPower,
    required_power_w: Option<f64>,
) -> Infeasibility {
    let users = problem.cell().users().len();
    let max_power_w = problem.max_power_w().unwrap_or(f64::INFINITY);
    // Exchange rate of the budgets; without a power budget, any order of the gains is suitable.
    let rate = problem.max_bandwidth_hz() / if max_power_w.is_finite() { max_power_w } else { 1.0 };
    let mut ln_price = rate.ln();
    let (mut best, mut best_order): (usize, Vec<usize>) = (0, (0..users).collect());
    let mut at_most = users.saturating_sub(1);
    let mut all_proved = true;
    for round in 0..ROUNDS {
        let (mut costs, proved) = solver.costs(problem, ln_price);
        costs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let budget_w = (max_power_w + problem.max_bandwidth_hz() * (-ln_price).exp())
            * (1.0 + tolerance::DUALITY_GAP);
        let mut paid_w = 0.0;
        let affordable = costs.iter().take_while(|cost| {
            paid_w += cost.0;
            paid_w <= budget_w
        });
        if proved {
            at_most = at_most.min(affordable.count());
        }
        all_proved &= proved;
        let order: Vec<usize> = costs.iter().map(|cost| cost.1).collect();
        let (count, price) = longest_prefix(solver, problem, &order, max_power_w);
        if round == 0 || count > best {
            (best, best_order) = (count, order);
        }
        match price {
            Some(price) if count < at_most => ln_price = price,
            _ => break,
        }
    }
    if problem.cell().classes().len() == 1 && all_proved {
        at_most = at_most.min(best);
    }
    let mut admissible = best_order[..best].to_vec();
    admissible.sort_unstable();
    Infeasibility {
        required_power_w,
        shortfall_w: required_power_w.map(|power_w| (power_w - max_power_w).max(0.0)),
        admissible,
        dropped: best_order[best..].iter().rev().copied().collect(),
        at_most: Some(at_most),
        is_exact: true,
    }
}

/// Returns how many users fit, taken in a given order, and the logarithm of the price of power for these users.
fn longest_prefix(
    solver: &mut BandSolver,
    problem: &UrllcPower,
    order: &[usize],
    max_power_w: f64,
) -> (usize, Option<f64>) {
    let mut solution = BandSolution::default();
    let (mut fits, mut fails, mut price) = (0, order.len() + 1, None);
    while fails - fits > 1 {
        let count = fits + (fails - fits) / 2;
        solver.least_power(&problem.subset(&order[..count]), &mut solution);
        let served = solution.duality_gap.is_finite();
        if served && solution.allocation.total_power_w() <= max_power_w {
            fits = count;
            let known = solution.price_w_per_hz > 0.0;
            price = known.then(|| -solution.price_w_per_hz.ln()).or(price);
        } else {
            fails = count;
        }
    }
    (fits, price)
}
