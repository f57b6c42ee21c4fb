//! Weighted minimum mean-square error (WMMSE): the standard algorithm for a local optimum of the sum rate.

use rand::RngExt;

use crate::core::Status;
use crate::math::realization_rng;
use crate::problems::interference::Interference;
use crate::problems::interference::wmmse_kernel::DenseKernel;

/// Powers of the links with their sum rate and the solver's status.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerSolution {
    /// Status of the solver. For a schedule, optimal means that no schedule is better.
    pub status: Status,
    /// Objective, bit/s/Hz: the sum of weighted rates.
    pub sum_rate_bits: f64,
    /// Powers as shares of `P_max`.
    pub shares: Vec<f64>,
    /// Number of iterations that were run.
    pub iterations: usize,
    /// Objective before each iteration and at the end, if the settings request it.
    pub trace_bits: Vec<f64>,
}

impl PowerSolution {
    /// Returns powers in the unit of `P_max`.
    pub fn powers(&self, problem: &Interference) -> Vec<f64> {
        self.shares.iter().zip(problem.max_power()).map(|(share, most)| share * most).collect()
    }
}

/// Starting points and stopping rule of WMMSE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WmmseSettings {
    /// Maximum number of iterations.
    pub iterations: usize,
    /// Relative rise of the objective below which an iteration counts as converged.
    pub tolerance: f64,
    /// Whether to stop at the first iteration that counts as converged.
    pub stop_early: bool,
    /// Number of random starting points in addition to full power; the best result is kept.
    pub random_starts: u64,
    /// Seed of the random starting points.
    pub seed: u64,
    /// Whether to keep the objective of each iteration.
    pub trace: bool,
}

impl Default for WmmseSettings {
    /// Returns the usual baseline: 100 iterations from full power.
    fn default() -> Self {
        Self {
            iterations: 100,
            tolerance: 1e-6,
            stop_early: false,
            random_starts: 0,
            seed: 0,
            trace: false,
        }
    }
}

/// WMMSE for single-antenna links: block-coordinate updates under which the sum rate never falls. If links have
/// weights, this is the weighted sum rate.
///
/// ```
/// use anyk::channel::rayleigh_gains;
/// use anyk::problems::interference::{Interference, Wmmse};
/// let problem = Interference::new(rayleigh_gains(1, 10, 0), 1.0, 1.0)?;
/// let solution = Wmmse::default().solve(&problem);
/// assert!(solution.sum_rate_bits > problem.sum_rate_bits(&[1.0; 10]));
/// # Ok::<(), anyk::Invalid>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Wmmse {
    settings: WmmseSettings,
    kernel: DenseKernel,
}

impl Wmmse {
    /// Builds a solver with these settings. Buffers are reused for the next instance.
    pub fn new(settings: WmmseSettings) -> Self {
        Self { settings, kernel: DenseKernel::default() }
    }

    /// Returns the best powers from all starting points.
    pub fn solve(&mut self, problem: &Interference) -> PowerSolution {
        self.kernel.load(problem.normalised(), problem.weights());
        let mut best = self.run(problem, std::iter::repeat(1.0));
        for start in 0..self.settings.random_starts {
            let mut rng = realization_rng(self.settings.seed, problem.size(), start);
            let solution = self.run(problem, std::iter::repeat_with(|| rng.random()));
            if solution.sum_rate_bits > best.sum_rate_bits {
                best = solution;
            }
        }
        best
    }

    /// Returns the powers after the iterations from full power, as shares of `P_max`. Does not evaluate the objective,
    /// and allocates memory only in the first call at a size.
    pub fn shares(&mut self, problem: &Interference) -> &[f64] {
        self.kernel.load(problem.normalised(), problem.weights());
        self.kernel.start(std::iter::repeat(1.0));
        for _ in 0..self.settings.iterations {
            self.kernel.iterate(false);
        }
        self.kernel.shares()
    }

    fn run(&mut self, problem: &Interference, start: impl Iterator<Item = f64>) -> PowerSolution {
        let WmmseSettings { iterations, tolerance, stop_early, trace, .. } = self.settings;
        let measure = stop_early || trace;
        self.kernel.start(start);
        let mut trace_bits = Vec::new();
        let mut before = f64::NAN;
        let mut done = 0;
        let mut converged = false;
        while done < iterations && !(stop_early && converged) {
            // The pass computes the objective of the powers that it starts from.
            let objective = self.kernel.iterate(measure || done + 1 == iterations);
            converged = objective - before <= tolerance * objective;
            before = objective;
            done += 1;
            if trace {
                trace_bits.push(objective / std::f64::consts::LN_2);
            }
        }
        let shares = self.kernel.shares().to_vec();
        let sum_rate_bits = problem.sum_rate_bits(&shares);
        if trace {
            trace_bits.push(sum_rate_bits);
        }
        let end = sum_rate_bits * std::f64::consts::LN_2;
        converged = end - before <= tolerance * end;
        let status = if converged { Status::Converged } else { Status::IterationLimit };
        PowerSolution { status, sum_rate_bits, shares, iterations: done, trace_bits }
    }
}
