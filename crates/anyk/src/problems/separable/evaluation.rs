//! Evaluation of policies for separable costs on random instances, compared with the optimum and equal shares.

use serde::{Deserialize, Serialize};

use crate::framework::{Error, Observer, Silent, Stored as _, TrainError, Trials, check_amounts};
use crate::invalid::Invalid;
use crate::problems::separable::{
    EqualShares, Separable, SeparableAllocator, SeparableMetrics, SeparablePrice,
    SeparableSettings, SeparableSolver,
};

/// Results at one number of users.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeparableResult {
    /// Number of users `K`.
    pub k: usize,
    /// Mean objective, `Σ c_k`.
    pub objective: f64,
    /// Mean optimal objective.
    pub optimum: f64,
    /// Mean extra cost compared with the optimum, percent of `|optimum| + price·X`, over instances whose budget is used
    /// up. The other instances are left out: the optimum gives every user its maximum, and the price is 0.
    pub gap_percent: f64,
    /// Extra cost of the worst instance, percent.
    pub worst_gap_percent: f64,
    /// Mean extra cost of equal shares, percent; absent if they leave a user without a finite cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equal_gap_percent: Option<f64>,
    /// Mean share of users who get only the minimum at the optimum.
    pub zeros: f64,
    /// Number of instances whose budget is not used up.
    pub spare: usize,
    /// Number of instances without a solution.
    pub infeasible: usize,
}

#[derive(Serialize, Deserialize)]
struct Row {
    objective: f64,
    optimum: f64,
    /// Extra costs of the policy and of equal shares; `None` if the budget is not used up.
    gaps: Option<(f64, f64)>,
    zeros: f64,
}

/// Evaluates a policy on random instances of each size. They are drawn from the policy's own ranges, with its
/// budget at every size.
pub fn evaluate_separable(
    policy: &SeparablePrice,
    trials: &Trials,
    observer: &dyn Observer,
) -> Result<Vec<SeparableResult>, Error> {
    let settings = &policy.record().training;
    let allocator = policy.allocator();
    let found = trials.measure(
        |_| Ok((SeparableSolver::default(), allocator.clone())),
        |(solver, allocator), size, index| {
            let problem = settings.draw(policy.costs(), trials.seed, size, index)?;
            row(solver, allocator, &problem)
        },
        observer,
    )?;
    let result = |found: &crate::framework::Rows<Row>| {
        let gaps: Vec<(f64, f64)> = found.rows.iter().filter_map(|row| row.gaps).collect();
        let count = gaps.len().max(1) as f64;
        let equal = gaps.iter().map(|gaps| gaps.1).sum::<f64>() / count;
        SeparableResult {
            k: found.k,
            objective: found.mean(|row| row.objective),
            optimum: found.mean(|row| row.optimum),
            gap_percent: 100.0 * gaps.iter().map(|gaps| gaps.0).sum::<f64>() / count,
            worst_gap_percent: 100.0 * gaps.iter().fold(0.0, |worst, gaps| gaps.0.max(worst)),
            equal_gap_percent: equal.is_finite().then_some(100.0 * equal),
            zeros: found.mean(|row| row.zeros),
            spare: found.rows.len() - gaps.len(),
            infeasible: found.infeasible,
        }
    };
    Ok(found.iter().map(result).collect())
}

/// Evaluates one instance; `None` without a solution.
fn row(
    solver: &mut SeparableSolver,
    allocator: &mut SeparableAllocator,
    problem: &Separable,
) -> Result<Option<Row>, Error> {
    let optimum = solver.solve(problem);
    if !optimum.outcome.is_served() {
        return Ok(None);
    }
    let mut amounts = Vec::new();
    if !allocator.serve(problem, &mut amounts).is_served() {
        return Ok(None);
    }
    check_amounts("amount", &amounts, problem.size(), Some(problem.budget()))?;
    let objective = problem.assess(&amounts)?.objective;
    EqualShares.serve(problem, &mut amounts);
    let equal = problem.assess(&amounts)?.objective;
    let size = optimum.objective.abs() + optimum.price * problem.budget();
    let gap = |value: f64| (value - optimum.objective) / size;
    let least = problem.least().zip(&optimum.amounts);
    let zeros = least.filter(|(least, amount)| **amount <= least * (1.0 + 1e-12)).count();
    Ok(Some(Row {
        objective,
        optimum: optimum.objective,
        gaps: (optimum.price > 0.0).then(|| (gap(objective), gap(equal))),
        zeros: zeros as f64 / problem.size() as f64,
    }))
}

/// Seed of the instances for the evaluation after training; test sets do not use it.
const VALIDATION_SEED: u64 = 0x5EA4_AB1E;

/// Evaluates a model on instances with the sizes of its settings.
pub(crate) fn validated(policy: &SeparablePrice) -> Result<SeparableMetrics, TrainError> {
    let SeparableSettings { train_k, samples, seed, .. } = &policy.record().training;
    let (sizes, samples) = (train_k.clone(), *samples as u64);
    let trials = Trials::new(sizes, samples, VALIDATION_SEED ^ seed);
    let found = evaluate_separable(policy, &trials, &Silent)
        .map_err(|error| Invalid::value("validation", error, "instances that have a solution"))?;
    let mean = |column: fn(&SeparableResult) -> f64| {
        found.iter().map(column).sum::<f64>() / found.len().max(1) as f64
    };
    Ok(SeparableMetrics {
        gap_percent: mean(|row| row.gap_percent),
        equal_gap_percent: mean(|row| row.equal_gap_percent.unwrap_or(f64::MAX)),
    })
}
