//! Greedy link scheduling.

use crate::core::Status;
use crate::problems::interference::admission::Admission;
use crate::problems::interference::{Interference, PowerSolution, SparseInterference};

/// Switches links on one by one, the strongest direct gain first (with weights, the largest weighted rate that a link
/// has alone), and keeps each that raises the objective. With `passes`, every link is then tried again, up to so many times, and switched on or off where
/// that raises the sum rate: what [`PowerOutput::Ranked`](crate::problems::interference::PowerOutput) does with a learned
/// order.
pub fn greedy(problem: &Interference, passes: usize) -> PowerSolution {
    let sparse = SparseInterference::new(problem, 0.0);
    #[allow(clippy::cast_possible_truncation)]
    let mut order: Vec<u32> = (0..problem.size() as u32).collect();
    let alone = worth_alone(problem);
    order.sort_by(|&a, &b| alone[b as usize].total_cmp(&alone[a as usize]));
    let mut admission = Admission::default();
    admission.start(&sparse);
    admission.admit(&sparse, &order);
    admission.improve(&sparse, &order, passes);
    let shares = admission.shares().to_vec();
    let sum_rate_bits = problem.sum_rate_bits(&shares);
    let (status, iterations) = (Status::Heuristic, 1 + passes);
    PowerSolution { status, sum_rate_bits, shares, iterations, trace_bits: Vec::new() }
}

/// What orders links before anything is known of the others: the direct gain, or with weights the weighted rate, in
/// nats, that a link has alone.
pub(super) fn worth_alone(problem: &Interference) -> Vec<f64> {
    let direct = |link| problem.normalised().direct(link);
    let links = 0..problem.size();
    match problem.weights() {
        None => links.map(direct).collect(),
        Some(weights) => links.map(|link| weights[link] * direct(link).ln_1p()).collect(),
    }
}
