//! WMMSE and FPLinQ on a sparse network, whose far paths are summed up.

use crate::problems::interference::SparseInterference;
use crate::problems::interference::fplinq::scheduled;
use crate::problems::interference::sparse_kernel::SparseKernel;

/// WMMSE from full power on a [`SparseInterference`]. Buffers are reused for the next network.
#[derive(Debug, Clone)]
pub struct SparseWmmse {
    iterations: usize,
    kernel: SparseKernel,
    schedule: Vec<f64>,
}

impl SparseWmmse {
    /// Builds a solver with a number of iterations (the usual baseline has 100).
    pub fn new(iterations: usize) -> Self {
        Self { iterations, kernel: SparseKernel::default(), schedule: Vec::new() }
    }

    /// Returns powers as shares of `P_max`.
    pub fn shares(&mut self, problem: &SparseInterference) -> &[f64] {
        self.kernel.start(std::iter::repeat_n(1.0, problem.size()));
        for _ in 0..self.iterations {
            self.kernel.wmmse(problem);
        }
        self.kernel.shares()
    }

    /// Returns the schedule of FPLinQ (see [`fplinq`](fn@crate::problems::interference::fplinq)).
    pub fn schedule(&mut self, problem: &SparseInterference) -> &[f64] {
        self.shares(problem);
        self.schedule.clear();
        self.schedule.extend(self.kernel.shares().iter().copied().map(scheduled));
        &self.schedule
    }
}
