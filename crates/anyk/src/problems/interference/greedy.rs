//! Greedy link scheduling.

use crate::core::Status;
use crate::problems::interference::admission::Admission;
use crate::problems::interference::{Interference, PowerSolution, SparseInterference};

/// Switches links on one by one and keeps each that raises the objective. The order is by direct gain, strongest
/// first, or with weights by the weighted rate that a link has without interference. After that, every link is
/// tried again up to `passes` times and switched on or off if that raises the sum rate.
/// [`PowerOutput::Ranked`](crate::problems::interference::PowerOutput) uses a learned order instead.
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

/// Returns values that rank links before any other link is on: direct gains, or with weights the weighted rates without
/// interference, in nats.
pub(super) fn worth_alone(problem: &Interference) -> Vec<f64> {
    let direct = |link| problem.normalised().direct(link);
    let links = 0..problem.size();
    match problem.weights() {
        None => links.map(direct).collect(),
        Some(weights) => links.map(|link| weights[link] * direct(link).ln_1p()).collect(),
    }
}
