//! The solvers of interference networks behind one door.

use crate::framework::{Allocate, Choice, Outcome, Refusal};
use crate::invalid::Invalid;
use crate::problems::interference::{
    Interference, PowerSolution, PowerStatus, Wmmse, WmmseSettings, binary_optimum, fplinq, greedy,
};

/// How the links of an interference network get their powers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkMethod {
    /// Local optimum of the powers by WMMSE.
    Wmmse,
    /// Schedule by fractional programming.
    Fplinq,
    /// Schedule by switching links on, the strongest first.
    Greedy,
    /// The best schedule.
    Exact,
}

impl Choice for LinkMethod {
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("wmmse", "Local optimum of the powers by WMMSE", Self::Wmmse),
        ("fplinq", "Schedule by fractional programming", Self::Fplinq),
        ("greedy", "Schedule by switching links on, the strongest first", Self::Greedy),
        ("exact", "The best schedule, for at most 20 links", Self::Exact),
    ];
}

/// A method with its settings and buffers.
#[derive(Debug, Clone)]
pub struct LinkSolver {
    /// The method.
    pub method: LinkMethod,
    settings: WmmseSettings,
    wmmse: Wmmse,
}

impl LinkSolver {
    /// With the settings of WMMSE, whose iterations are FPLinQ's too.
    pub fn new(method: LinkMethod, settings: WmmseSettings) -> Self {
        Self { method, settings, wmmse: Wmmse::new(settings) }
    }

    /// Solves a network.
    pub fn solve(&mut self, problem: &Interference) -> Result<PowerSolution, Invalid> {
        Ok(match self.method {
            LinkMethod::Wmmse => self.wmmse.solve(problem),
            LinkMethod::Fplinq => fplinq(problem, self.settings.iterations),
            LinkMethod::Greedy => greedy(problem, 0),
            LinkMethod::Exact => binary_optimum(problem)?,
        })
    }
}

impl Allocate<Interference> for LinkSolver {
    fn allocate(&mut self, problem: &Interference, shares: &mut Vec<f64>) -> Outcome {
        match self.solve(problem) {
            Err(error) => Outcome::Refused(Refusal(error.to_string())),
            Ok(solution) => {
                *shares = solution.shares;
                match solution.status {
                    PowerStatus::Converged => Outcome::Converged(solution.iterations),
                    PowerStatus::IterationLimit => Outcome::IterationLimit(solution.iterations),
                    PowerStatus::Learned => Outcome::Learned,
                    // No schedule is better, but powers in between may be.
                    PowerStatus::Optimal | PowerStatus::Heuristic => Outcome::Heuristic,
                }
            }
        }
    }
}
