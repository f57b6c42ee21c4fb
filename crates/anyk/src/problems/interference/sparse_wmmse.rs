//! WMMSE and FPLinQ on a sparse network: what they cost where far paths are taken together.

use crate::problems::interference::SparseInterference;
use crate::problems::interference::fplinq::scheduled;
use crate::problems::interference::sparse_kernel::SparseKernel;

/// WMMSE from full power on a [`SparseInterference`]; buffers are kept from one network to the next.
#[derive(Debug, Clone)]
pub struct SparseWmmse {
    iterations: usize,
    kernel: SparseKernel,
    schedule: Vec<f64>,
}

impl SparseWmmse {
    /// With a number of iterations (the baseline of the field takes 100).
    pub fn new(iterations: usize) -> Self {
        Self { iterations, kernel: SparseKernel::default(), schedule: Vec::new() }
    }

    /// Powers as shares of `P_max`.
    pub fn shares(&mut self, problem: &SparseInterference) -> &[f64] {
        self.kernel.start(std::iter::repeat_n(1.0, problem.size()));
        for _ in 0..self.iterations {
            self.kernel.wmmse(problem);
        }
        self.kernel.shares()
    }

    /// The schedule of FPLinQ (see [`fplinq`](fn@crate::problems::interference::fplinq)).
    pub fn schedule(&mut self, problem: &SparseInterference) -> &[f64] {
        self.shares(problem);
        self.schedule.clear();
        self.schedule.extend(self.kernel.shares().iter().copied().map(scheduled));
        &self.schedule
    }
}
