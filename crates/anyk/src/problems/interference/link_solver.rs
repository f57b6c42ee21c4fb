//! Solver of interference networks with a choice of method.

use crate::core::{Allocation, Fact, Instance, Outcome, Policy, Status};
use crate::framework::Error;
use crate::invalid::Invalid;
use crate::problems::interference::formulation::TRACE;
use crate::problems::interference::{
    Interference, PowerSolution, Wmmse, WmmseSettings, binary_optimum, fplinq, greedy,
};

/// Method that finds the powers of an interference network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkMethod {
    /// Local optimum of the powers by WMMSE.
    Wmmse,
    /// Schedule by fractional programming.
    Fplinq,
    /// Schedule by switching links on, the strongest first.
    Greedy,
    /// Best schedule, by branch and bound.
    Exact,
}

impl LinkMethod {
    /// Name, help text and value of each method.
    pub const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("wmmse", "Local optimum of the powers by WMMSE", Self::Wmmse),
        ("fplinq", "Schedule by fractional programming", Self::Fplinq),
        ("greedy", "Schedule by switching links on, the strongest first", Self::Greedy),
        ("exact", "Best schedule, for at most 20 links", Self::Exact),
    ];
}

impl LinkMethod {
    /// Returns the name of the method in flags.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, _, method)| *method == self).map_or("", |(name, _, _)| name)
    }
}

/// Solver that runs one method, with its settings and buffers.
#[derive(Debug, Clone)]
pub struct LinkSolver {
    /// Method that the solver runs.
    pub method: LinkMethod,
    settings: WmmseSettings,
    wmmse: Wmmse,
}

impl LinkSolver {
    /// Builds a solver; FPLinQ uses the number of iterations of the WMMSE settings.
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

impl Policy for LinkSolver {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let problem: &Interference = instance.formulation()?;
        let solution = self.solve(problem)?;
        problem.write(&solution.shares, into);
        into.iterations = Some(solution.iterations);
        if self.settings.trace {
            into.facts.push(TRACE, Fact::Numbers(solution.trace_bits));
        }
        Ok(Outcome::Served(solution.status))
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}

/// Policy that gives every link full power.
pub(super) struct FullPower;

impl Policy for FullPower {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        into.amounts = vec![instance.formulation::<Interference>()?.max_power().to_vec()];
        Ok(Outcome::Served(Status::Heuristic))
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(Self))
    }
}
