//! Allocations and their outcomes.

use std::fmt;

use super::{Allocation, Column, Outcome, Size, Status};
use crate::framework::Infeasibility;

impl Allocation {
    /// Resizes the amounts for an instance of the given size and sets them to 0. Reuses the buffers.
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

    /// Builds an allocation with these amounts.
    pub fn of(amounts: Vec<Vec<f64>>) -> Self {
        Self { amounts, ..Self::default() }
    }
}

impl Outcome {
    /// Returns whether every user has its amounts.
    pub fn is_served(&self) -> bool {
        matches!(self, Self::Served(_))
    }

    /// Returns whether the allocation is optimal, with a proof.
    pub fn is_optimal(&self) -> bool {
        *self == Self::Served(Status::Optimal)
    }

    /// Returns the shortfall of the budget if the budget cannot serve every user.
    pub fn infeasible(&self) -> Option<&Infeasibility> {
        if let Self::Infeasible(why) = self { Some(why) } else { None }
    }

    /// Returns `Optimal` if the duality gap of a solver's proof is at most `most`, otherwise `Inaccurate`.
    pub(crate) fn by_gap(duality_gap: f64, most: f64) -> Self {
        Self::Served(if duality_gap <= most { Status::Optimal } else { Status::Inaccurate })
    }
}

impl Status {
    /// Returns the name of the status in JSON and tables.
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
