//! Allocations and how they ended.

use std::fmt;

use super::{Allocation, Column, Outcome, Size, Status};
use crate::framework::Infeasibility;

impl Allocation {
    /// Makes the amounts as many and as long as an instance of a size has them, all 0; keeps the buffers.
    pub fn reset(&mut self, amounts: &[Column], size: Size) {
        self.proof = None;
        self.iterations = None;
        self.objective = None;
        self.seconds = None;
        self.facts.clear();
        self.amounts.resize_with(amounts.len(), Vec::new);
        for (values, column) in self.amounts.iter_mut().zip(amounts) {
            values.clear();
            values.resize(column.len(size), 0.0);
        }
    }

    /// An allocation of these amounts.
    pub fn of(amounts: Vec<Vec<f64>>) -> Self {
        Self { amounts, ..Self::default() }
    }
}

impl Outcome {
    /// Whether every user has its amounts.
    pub fn is_served(&self) -> bool {
        matches!(self, Self::Served(_))
    }

    /// Whether it is optimal, with a proof.
    pub fn is_optimal(&self) -> bool {
        *self == Self::Served(Status::Optimal)
    }

    /// Why the budget does not reach everyone, if it does not.
    pub fn infeasible(&self) -> Option<&Infeasibility> {
        if let Self::Infeasible(why) = self { Some(why) } else { None }
    }

    /// A solver's outcome, by the gap that its proof leaves.
    pub(crate) fn by_gap(duality_gap: f64, most: f64) -> Self {
        Self::Served(if duality_gap <= most { Status::Optimal } else { Status::Inaccurate })
    }
}

impl Status {
    /// Its name in JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Optimal => "optimal",
            Self::Inaccurate => "inaccurate",
            Self::Converged => "converged",
            Self::IterationLimit => "iteration-limit",
            Self::Heuristic => "heuristic",
            Self::Learned => "learned",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}
