//! Comparison of a learned policy with the exact optimum on the same cells, for each number of users.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::channel::FadingQuadrature;
use crate::config::System;
use crate::core::{Allocation, Instance, Policy, Problem};
use crate::framework::{Error, Infeasibility, Observer, Rows, Silent, over_instances};
use crate::invalid::Invalid;
use crate::math::realization_rng;
use crate::problems::urllc::{Urllc, UrllcAllocation, UrllcProblem, UrllcSolver};
use crate::qos::{Qos, ServiceClass};

/// Availability and bandwidth of a policy at one number of users (paper, section V-C).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SizeResult {
    /// Number of users `K`.
    pub k: usize,
    /// Availability `A_K`: share of users, over all cells, whose QoS is met, by quadrature. Both error sources
    /// get half of the loss: `ε_c = ε_q = ε_max/2`.
    pub availability: f64,
    /// Availability with the code of the base station. A policy that is trained for `ε_D` codes for `ε_c =
    /// ε_D/2`, and a user is served if `ε_D/2 + ε_q` is at most `ε_max`. Both availabilities are equal for a
    /// policy that allocates for `ε_max` itself.
    pub availability_as_coded: f64,
    /// Mean total bandwidth `W_K`, MHz.
    pub total_bandwidth_mhz: f64,
    /// Mean exact optimum on the same cells, MHz.
    pub optimum_mhz: f64,
    /// Extra bandwidth of `W_K` compared with the optimum, percent.
    pub gap_percent: f64,
}

/// Fixed set of random cells with their exact optima. It is drawn before any training and is the same for every
/// policy.
#[derive(Debug, Clone)]
pub struct TestSet {
    sizes: Vec<TestCells>,
}

#[derive(Debug, Clone)]
struct TestCells {
    size: usize,
    instances: Vec<Arc<Instance>>,
    optimum_mhz: f64,
    /// Smallest required power of all cells that were left out, W.
    least_required_w: f64,
    max_power_w: f64,
}

/// Size for which the budget serves none of the cells, so that nothing can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[error(
    "it serves none of the cells of {size} users: the least demanding cell needs {required_w:.6} W, the budget is \
     {max_power_w:.6} W"
)]
pub struct NoneServed {
    /// Number of users.
    pub size: usize,
    /// Power that the least demanding cell needs, W.
    pub required_w: f64,
    /// Power budget, W.
    pub max_power_w: f64,
}

impl TestSet {
    /// Draws `samples` cells of each size. Cells that the power budget cannot serve have no optimum and are left
    /// out.
    pub fn draw(
        system: &System,
        sizes: &[usize],
        samples: u64,
        seed: u64,
    ) -> Result<Self, Invalid> {
        Self::draw_under(system, None, sizes, samples, seed, &Silent)
    }

    /// Draws the cells of [`draw`](Self::draw) under another fading distribution. The observer counts cells.
    pub fn draw_under(
        system: &System,
        fading: Option<&Arc<FadingQuadrature>>,
        sizes: &[usize],
        samples: u64,
        seed: u64,
        observer: &dyn Observer,
    ) -> Result<Self, Invalid> {
        let draw = CellDraw::new(system, fading)?;
        let drawn = over_instances(
            sizes,
            samples,
            |_| Ok::<_, Invalid>(draw.solver.clone()),
            |solver, size, index| draw.cell(solver, (seed, size, index)).map(Some),
            observer,
        )?;
        let cells = |found: Rows<Drawn>| {
            let required = found.rows.iter().filter_map(|row| row.as_ref().err());
            let least_required_w = required.fold(f64::INFINITY, |least, w| {
                least.min(w.required_power_w.unwrap_or(f64::INFINITY))
            });
            let rows = found.rows.into_iter().filter_map(Result::ok).collect();
            let served = Rows { k: found.k, rows, infeasible: 0 };
            TestCells {
                size: found.k,
                optimum_mhz: served.mean(|cell| cell.1),
                instances: served.rows.into_iter().map(|cell| cell.0).collect(),
                least_required_w,
                max_power_w: system.max_power_w(),
            }
        };
        Ok(Self { sizes: drawn.into_iter().map(cells).collect() })
    }

    /// Returns the number of cells of each size that the budget can serve.
    pub fn served(&self) -> Vec<usize> {
        self.sizes.iter().map(|cells| cells.instances.len()).collect()
    }

    /// Returns the set without sizes for which the budget serves no cell.
    #[must_use]
    pub fn without_unserved(mut self) -> Self {
        self.sizes.retain(|cells| !cells.instances.is_empty());
        self
    }

    /// Returns an error if the budget serves no cell of some size.
    pub fn check_served(&self) -> Result<(), NoneServed> {
        match self.sizes.iter().find(|cells| cells.instances.is_empty()) {
            None => Ok(()),
            Some(&TestCells { size, least_required_w: required_w, max_power_w, .. }) => {
                Err(NoneServed { size, required_w, max_power_w })
            }
        }
    }

    /// Evaluates a policy on all cells, on all cores; the result does not depend on their number. If the policy
    /// rejects a cell, none of its users is served. The observer counts cells.
    pub fn evaluate(
        &self,
        policy: &dyn Policy,
        observer: &dyn Observer,
    ) -> Result<Vec<SizeResult>, Error> {
        self.evaluate_coded(policy, None, observer)
    }

    /// Evaluates a policy that is trained for a loss target `ε_D`, for which its base station codes.
    pub fn evaluate_coded(
        &self,
        policy: &dyn Policy,
        epsilon_d: Option<f64>,
        observer: &dyn Observer,
    ) -> Result<Vec<SizeResult>, Error> {
        let at_size = |cells: &TestCells| {
            let measured = over_instances(
                &[cells.size],
                cells.instances.len() as u64,
                |_| Meter::new(policy, epsilon_d),
                |meter, _, index| {
                    #[allow(clippy::cast_possible_truncation)]
                    meter.measure(&cells.instances[index as usize]).map(Some)
                },
                observer,
            )?;
            let rows = measured.into_iter().flat_map(|found| found.rows).collect::<Vec<_>>();
            Ok(SizeResult::new(cells.size, &rows, cells.optimum_mhz))
        };
        self.sizes.iter().map(at_size).collect()
    }
}

/// Availability, availability as coded, and total bandwidth in MHz of a policy in one cell.
pub(super) type CellResult = [f64; 3];

/// Cell with its exact optimum in MHz, or the reason why the power budget cannot serve it.
pub(super) type Drawn = Result<(Arc<Instance>, f64), Infeasibility>;

impl SizeResult {
    /// Returns the means over cells of one size.
    pub(super) fn new(k: usize, rows: &[CellResult], optimum_mhz: f64) -> Self {
        let count = rows.len().max(1) as f64;
        let mean = |column: usize| rows.iter().map(|row| row[column]).sum::<f64>() / count;
        let total_bandwidth_mhz = mean(2);
        Self {
            k,
            availability: mean(0),
            availability_as_coded: mean(1),
            total_bandwidth_mhz,
            optimum_mhz,
            gap_percent: 100.0 * (total_bandwidth_mhz / optimum_mhz - 1.0),
        }
    }
}

/// Draws random cells and solves them exactly.
pub(super) struct CellDraw<'a> {
    system: &'a System,
    fading: Option<&'a Arc<FadingQuadrature>>,
    problem: Arc<dyn Problem>,
    /// Solver with the tables of the cells.
    pub(super) solver: UrllcSolver,
}

impl<'a> CellDraw<'a> {
    pub(super) fn new(
        system: &'a System,
        fading: Option<&'a Arc<FadingQuadrature>>,
    ) -> Result<Self, Invalid> {
        let (problem, solver) = (UrllcProblem::in_cell(system), UrllcSolver::default());
        let mut draw = Self { system, fading, problem, solver };
        for qos in draw.state(&[1e-10])?.classes() {
            draw.solver.table(qos);
        }
        Ok(draw)
    }

    fn state(&self, gains: &[f64]) -> Result<Urllc, Invalid> {
        let problem = Urllc::uniform(self.system, gains.iter().copied())?;
        Ok(match self.fading {
            Some(fading) => problem.with_fading(fading),
            None => problem,
        })
    }

    /// Draws the cell with this seed, number of users and index, and solves it with a copy of the solver.
    pub(super) fn cell(
        &self,
        solver: &mut UrllcSolver,
        (seed, size, index): (u64, usize, u64),
    ) -> Result<Drawn, Invalid> {
        let mut rng = realization_rng(seed, size, index);
        let (road, path_loss) = (self.system.road(), self.system.path_loss());
        let gains: Vec<f64> =
            (0..size).map(|_| path_loss.gain(road.sample_distance_m(&mut rng))).collect();
        let problem = self.state(&gains)?;
        let solution = solver.solve(&problem);
        if let Some(why) = solution.outcome.infeasible() {
            return Ok(Err(why.clone()));
        }
        let optimum_mhz = solution.allocation.total_bandwidth_hz() / 1e6;
        Ok(Ok((Arc::new(Instance::of(&self.problem, size, problem)), optimum_mhz)))
    }
}

/// Measures a policy in one cell after the other.
pub(super) struct Meter {
    policy: Box<dyn Policy>,
    allocation: Allocation,
    epsilon_d: Option<f64>,
}

impl Meter {
    /// Creates a meter for a copy of a policy; see [`TestSet::evaluate_coded`].
    pub(super) fn new(policy: &dyn Policy, epsilon_d: Option<f64>) -> Result<Self, Error> {
        let policy = policy.fork().ok_or(Error::OtherProblem)?;
        Ok(Self { policy, allocation: Allocation::default(), epsilon_d })
    }

    /// Measures the policy in a cell. If the policy rejects the cell, none of its users is served.
    pub(super) fn measure(&mut self, instance: &Instance) -> Result<CellResult, Error> {
        let allocation = &mut self.allocation;
        allocation.reset(instance.about().amounts, instance.size());
        if !self.policy.allocate(instance, allocation)?.is_served() {
            return Ok([0.0; 3]);
        }
        let problem: &Urllc = instance.formulation()?;
        let allocation = UrllcAllocation::of(allocation);
        let judged = problem.assess(&allocation)?;
        let as_coded = self.epsilon_d.map_or(judged.availability, |epsilon_d| {
            availability_as_coded(problem, &allocation, epsilon_d)
        });
        Ok([judged.availability, as_coded, judged.total_bandwidth_hz / 1e6])
    }
}

/// Returns the share of users who are served if the base station codes for a target `ε_D`.
fn availability_as_coded(problem: &Urllc, allocation: &UrllcAllocation, epsilon_d: f64) -> f64 {
    let classes: Vec<Option<AsCoded>> =
        problem.classes().iter().map(|qos| AsCoded::new(qos, epsilon_d)).collect();
    let rows = allocation.power_w.iter().zip(&allocation.bandwidth_hz);
    let served = problem.users().iter().zip(rows).filter(|(user, (power_w, bandwidth_hz))| {
        let class = classes[user.class].as_ref();
        class.is_some_and(|class| class.is_served(user.gain * **power_w, **bandwidth_hz))
    });
    served.count() as f64 / problem.users().len() as f64
}

/// QoS constraint of a user whose base station codes for `ε_c = ε_D/2`; the queue may use the rest of the loss,
/// `ε_q = ε_max − ε_D/2`.
struct AsCoded {
    /// Class with half its loss equal to `ε_q`, so that its `θ` and `S^E` are those of the user, and with the
    /// `Q_G⁻¹` of `ε_D/2`.
    queue: Qos,
}

impl AsCoded {
    /// Builds the constraint; `None` if coding for the target already loses more packets than the user may.
    fn new(qos: &Qos, epsilon_d: f64) -> Option<Self> {
        let service = qos.service();
        let coded = ServiceClass { epsilon: epsilon_d, ..service };
        let queue = ServiceClass { epsilon: 2.0 * service.epsilon - epsilon_d, ..service };
        (queue.epsilon > 0.0).then(|| Self { queue: qos.with_service(queue).coded_for(coded) })
    }

    fn is_served(&self, received_w: f64, bandwidth_hz: f64) -> bool {
        received_w > 0.0
            && bandwidth_hz > 0.0
            && self.queue.margin(received_w.ln(), bandwidth_hz.ln()).value >= 0.0
    }
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{ContinuousCDF, Normal};

    use super::*;
    use crate::Config;

    /// Computes the loss `ε_D/2 + ε_q` from the paper's formulas: the expectation over g, Gamma(8, 1), by the
    /// trapezoidal rule, and `ε_q` by bisection.
    fn loss_as_coded(received_w: f64, bandwidth_hz: f64, epsilon_d: f64) -> f64 {
        let (transmission_s, noise_w_hz, bits) = (5e-5, 10f64.powf(-17.3) * 1e-3, 160.0);
        let back_off = -Normal::new(0.0, 1.0).unwrap().inverse_cdf(epsilon_d / 2.0);
        let uses = transmission_s * bandwidth_hz;
        let rate = |g: f64| {
            let snr = received_w * g / (noise_w_hz * bandwidth_hz);
            uses / (bits * 2f64.ln()) * ((1.0 + snr).ln() - back_off / uses.sqrt())
        };
        let is_enough = |epsilon_q: f64| {
            let theta = (1.0 - epsilon_q.ln() / (0.2 * 8.0)).ln();
            let step = 1e-3;
            let expectation: f64 = (1..60_000)
                .map(|place| {
                    let g = f64::from(place) * step;
                    g.powi(7) / 5040.0 * (-g - theta * rate(g)).exp() * step
                })
                .sum();
            -expectation.ln() / theta >= 0.2 / theta * (theta.exp() - 1.0)
        };
        let (mut low, mut high) = (1e-12f64.ln(), 0.0f64);
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            *(if is_enough(middle.exp()) { &mut high } else { &mut low }) = middle;
        }
        epsilon_d / 2.0 + high.exp()
    }

    #[test]
    fn counted_as_coded_a_user_may_lose_what_coding_leaves() {
        let system = Config::default().validate().unwrap();
        let qos = system.qos(system.service()).unwrap();
        for (distance_m, power_w) in [(60.0, 2.45), (120.0, 1.0), (240.0, 6.0)] {
            let received_w = system.path_loss().gain(distance_m) * power_w;
            for epsilon_d in [1e-5, 6e-6, 2e-6] {
                let class = AsCoded::new(&qos, epsilon_d).unwrap();
                let (mut low, mut high) = (5e4f64, 1e6f64);
                for _ in 0..60 {
                    let middle = 0.5 * (low + high);
                    *(if class.is_served(received_w, middle) { &mut high } else { &mut low }) =
                        middle;
                }
                let loss = loss_as_coded(received_w, high, epsilon_d);
                assert!(
                    (loss / 1e-5 - 1.0).abs() < 1e-5,
                    "{distance_m} m, {epsilon_d:e}: {loss:e}"
                );
                // The halves are equal only at ε_D = ε_max.
                let halves = qos.packet_loss(received_w, high);
                let is_equal = (halves / 1e-5 - 1.0).abs() < 1e-6;
                assert_eq!(is_equal, epsilon_d >= 1e-5, "{epsilon_d:e}: {halves:e}");
                assert!(halves >= 1e-5 * (1.0 - 1e-6));
            }
        }
        // A target so lax that coding already loses too many packets, and invalid inputs.
        assert!(AsCoded::new(&qos, 2e-5).is_none());
        let class = AsCoded::new(&qos, 6e-6).unwrap();
        assert!(!class.is_served(0.0, 1e5) && !class.is_served(1e-12, f64::NAN));
    }
}
