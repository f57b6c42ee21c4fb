//! Answers for interference networks, as JSON.

use serde::Serialize;

use crate::problems::interference::PowerSolution;
use crate::problems::interference::{Interference, InterferenceError};

/// What comes back for one interference network.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PowerAnswer {
    /// `optimal` (no schedule is better), `converged`, `iteration-limit` or `heuristic`.
    pub status: &'static str,
    /// Sum rate, bit/s/Hz.
    pub sum_rate_bits: f64,
    /// Iterations done, or nodes of the search visited.
    pub iterations: usize,
    /// Every power is 0 or `P_max` (to 1e-3 of it).
    pub binary: bool,
    /// First-order optimality, 0 at a stationary point.
    pub kkt_residual: f64,
    /// What the best switch of a single link would add, bit/s/Hz; not positive if there is none.
    pub best_switch_bits: f64,
    /// Powers in the unit of `P_max`, in the input's order.
    pub power: Vec<f64>,
    /// Sum rate before each iteration and at the end, bit/s/Hz, if asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trace_bits: Vec<f64>,
}

impl PowerAnswer {
    /// A solver's answer, judged by the problem.
    pub fn new(problem: &Interference, solution: PowerSolution) -> Result<Self, InterferenceError> {
        let power = solution.powers(problem);
        let judged = problem.assess(&power)?;
        Ok(Self {
            status: solution.status.as_str(),
            sum_rate_bits: judged.sum_rate_bits,
            iterations: solution.iterations,
            binary: judged.binary,
            kkt_residual: judged.kkt_residual,
            best_switch_bits: judged.best_switch_bits,
            power,
            trace_bits: solution.trace_bits,
        })
    }
}
