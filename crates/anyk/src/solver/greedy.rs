//! Greedy link scheduling.

use crate::problem::Interference;
use crate::solver::admission::Admission;
use crate::solver::{PowerSolution, PowerStatus};

/// Switches links on one by one, the strongest direct gain first, and keeps each that raises the sum
/// rate.
pub fn greedy(problem: &Interference) -> PowerSolution {
    let gains = problem.normalised();
    let mut order: Vec<usize> = (0..problem.size()).collect();
    order.sort_by(|&a, &b| gains.direct(b).total_cmp(&gains.direct(a)));
    let mut admission = Admission::new(problem.size());
    admission.admit(gains, order.iter().copied());
    let shares = admission.shares().to_vec();
    let sum_rate_bits = problem.sum_rate_bits(&shares);
    let (status, iterations) = (PowerStatus::Heuristic, 1);
    PowerSolution { status, sum_rate_bits, shares, iterations, trace_bits: Vec::new() }
}
