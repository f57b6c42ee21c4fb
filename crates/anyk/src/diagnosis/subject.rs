//! The policies that can be called: built in, of a model file, or a function of the caller's.

use std::fmt;
use std::sync::Arc;

use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{DiagnosisError, Instance, Samples, SizeSamples};
use crate::channel::{D2dField, sample_distances_m, sample_faded_gains};
use crate::config::System;
use crate::diagnosis::ToyPolicy;
use crate::math::Input;
use crate::math::realization_rng;
use crate::problems::closed_forms::{EqualBandwidth, QosPower};
use crate::problems::closed_forms::{
    equal_bandwidth_shares, solve_equal_bandwidth, solve_qos_power,
};
use crate::problems::interference::{Interference, Scenario, SparseInterference};
use crate::problems::interference::{Wmmse, fplinq};
use crate::problems::urllc::Model;
use crate::problems::urllc::{Allocation, Urllc};
use crate::problems::urllc::{Status, UrllcSolver};

/// Iterations of FPLinQ, as in the rest of the project.
const FPLINQ_ITERATIONS: usize = 100;
/// Powers under this share of `P_max` are off, as the paper counts: WMMSE lets them fall for ever.
const OFF: f64 = 1e-3;
/// Rate of (P5) and (P6), bit/s: at this rate the budget serves nearly all cells of hundreds of users.
const RATE_BPS: f64 = 1e5;
/// Bandwidth of each user of (P5), Hz.
const BANDWIDTH_HZ: f64 = 1e6;

/// The policies of the paper that come with a solver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltIn {
    /// Powers of (P5).
    QosPower,
    /// Powers of (P6).
    EqualBandwidthPower,
    /// The common bandwidth of (P6).
    EqualBandwidthBandwidth,
    /// Powers of (P1).
    UrllcPower,
    /// Bandwidths of (P1).
    UrllcBandwidth,
    /// WMMSE in a dense interference network.
    Interference,
    /// FPLinQ for pairs on a field of constant density.
    LinkScheduling,
    /// Policy 1 of figure 1.
    ToyOne,
    /// Policy 2 of figure 1.
    ToyTwo,
}

impl BuiltIn {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::QosPower,
        Self::EqualBandwidthPower,
        Self::EqualBandwidthBandwidth,
        Self::UrllcPower,
        Self::UrllcBandwidth,
        Self::Interference,
        Self::LinkScheduling,
        Self::ToyOne,
        Self::ToyTwo,
    ];

    /// A short name.
    pub fn name(self) -> &'static str {
        match self {
            Self::QosPower => "qos-power",
            Self::EqualBandwidthPower => "equal-bandwidth-power",
            Self::EqualBandwidthBandwidth => "equal-bandwidth-bandwidth",
            Self::UrllcPower => "urllc-power",
            Self::UrllcBandwidth => "urllc-bandwidth",
            Self::Interference => "interference",
            Self::LinkScheduling => "link-scheduling",
            Self::ToyOne => "toy-one",
            Self::ToyTwo => "toy-two",
        }
    }

    /// The one of a short name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }

    /// What is put in and what comes out.
    pub fn label(self) -> &'static str {
        match self {
            Self::QosPower => "power (W) of (P5) over ln g",
            Self::EqualBandwidthPower => "power (W) of (P6) over ln g",
            Self::EqualBandwidthBandwidth => "bandwidth (Hz) of (P6) over ln g",
            Self::UrllcPower => "power (W) for URLLC over ln α",
            Self::UrllcBandwidth => "bandwidth (Hz) for URLLC over ln α",
            Self::Interference => "power/P_max by WMMSE over ln g_kk, dense network",
            Self::LinkScheduling => "schedule by FPLinQ over ln g_kk, pairs on a field",
            Self::ToyOne => "policy 1 of figure 1 over x",
            Self::ToyTwo => "policy 2 of figure 1 over x",
        }
    }
}

/// Which output of a model of power and bandwidth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Powers.
    Power,
    /// Bandwidths.
    Bandwidth,
}

/// A function of all inputs `x` that gives all outputs `y`.
pub type Function = Arc<dyn Fn(&[f64]) -> Vec<f64> + Send + Sync>;

/// A policy that can be called, with the law of its inputs.
#[derive(Clone)]
pub struct Subject {
    system: System,
    rule: Rule,
}

#[derive(Clone)]
enum Rule {
    BuiltIn(BuiltIn, UrllcSolver),
    Model(Arc<Model>, Quantity),
    Function(Input, Function),
}

impl fmt::Debug for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Subject").field("label", &self.label()).finish()
    }
}

/// What a policy sees of one realization.
#[derive(Debug, Clone)]
enum Seen {
    /// A number for each user: a gain, or an input.
    Users(Vec<f64>),
    /// Gains between all links.
    Links(Interference),
}

impl Seen {
    fn reordered(&self, order: &[usize]) -> Result<Self, DiagnosisError> {
        Ok(match self {
            Self::Users(values) => Self::Users(order.iter().map(|&user| values[user]).collect()),
            Self::Links(problem) => {
                Self::Links(Interference::new(problem.normalised().reordered(order), 1.0, 1.0)?)
            }
        })
    }
}

/// Outputs for one realization; none where there is no answer, such as in an infeasible cell.
type Outputs<'a> = Box<dyn FnMut(&Seen) -> Result<Option<Vec<f64>>, DiagnosisError> + 'a>;

impl Subject {
    /// A policy of the paper in a cell.
    pub fn built_in(system: &System, policy: BuiltIn) -> Result<Self, DiagnosisError> {
        let mut solver = UrllcSolver::default();
        if matches!(policy, BuiltIn::UrllcPower | BuiltIn::UrllcBandwidth) {
            // Built once here, shared by all threads.
            for qos in Urllc::uniform(system, [1e-10])?.classes() {
                solver.table(qos);
            }
        }
        Ok(Self { system: system.clone(), rule: Rule::BuiltIn(policy, solver) })
    }

    /// A learned policy, on random cells or networks of the kind that it was trained for.
    pub fn model(
        default: &System,
        model: Model,
        quantity: Quantity,
    ) -> Result<Self, DiagnosisError> {
        let system = match &model {
            Model::Urllc(policy) => policy.system().clone(),
            Model::Any(policy) => policy.system().clone(),
            Model::ClosedForm(policy) => policy.system().clone(),
            Model::Power(_) => default.clone(),
        };
        let has = match &model {
            Model::Urllc(_) | Model::Any(_) => true,
            Model::ClosedForm(policy) => {
                quantity == Quantity::Power || policy.bandwidth_parameters().is_some()
            }
            Model::Power(_) => quantity == Quantity::Power,
        };
        if !has {
            return Err(DiagnosisError::NoBandwidth);
        }
        Ok(Self { system, rule: Rule::Model(Arc::new(model), quantity) })
    }

    /// A function of the caller's on inputs that are independent and of one law.
    pub fn function(
        system: &System,
        input: Input,
        function: impl Fn(&[f64]) -> Vec<f64> + Send + Sync + 'static,
    ) -> Self {
        Self { system: system.clone(), rule: Rule::Function(input, Arc::new(function)) }
    }

    /// What is put in and what comes out.
    pub fn label(&self) -> String {
        match &self.rule {
            Rule::BuiltIn(policy, _) => policy.label().to_owned(),
            Rule::Model(model, quantity) => {
                let what = match quantity {
                    Quantity::Power => "power",
                    Quantity::Bandwidth => "bandwidth",
                };
                match model.as_ref() {
                    Model::Urllc(_) | Model::Any(_) => {
                        format!("{what} of a model for URLLC over ln α")
                    }
                    Model::ClosedForm(_) => format!("{what} of a model with a rate over ln g"),
                    Model::Power(_) => "power/P_max of a model over ln g_kk".to_owned(),
                }
            }
            Rule::Function(..) => "a function over x".to_owned(),
        }
    }

    /// Draws whole instances of each size, at least so many users, on all cores; the result does not
    /// depend on their number. Realizations without an answer are left out.
    pub fn sample(
        &self,
        sizes: &[usize],
        users: usize,
        seed: u64,
    ) -> Result<Samples, DiagnosisError> {
        let sizes = sizes.iter().map(|&k| {
            let count = users.div_ceil(k).max(super::samples::FEWEST_INSTANCES);
            let drawn: Vec<Option<Instance>> = (0..count as u64)
                .into_par_iter()
                .map_init(
                    || self.at_size(k),
                    |policy, index| {
                        let policy = policy.as_mut().map_err(|error| error.clone())?;
                        let seen = self.draw(seed, k, index)?;
                        let Some(y) = policy(&seen)? else { return Ok(None) };
                        Ok(Some(Instance { x: self.features(&seen), y }))
                    },
                )
                .collect::<Result<_, DiagnosisError>>()?;
            Ok(SizeSamples { k, instances: drawn.into_iter().flatten().collect() })
        });
        let sizes = sizes.collect::<Result<_, DiagnosisError>>()?;
        Ok(Samples::from_instances(sizes)?)
    }

    /// Largest `|y_π(k)(x) − y_k(π x)|` over random orders π of `cases` realizations of a size, over the
    /// largest `|y|`: 0 for a permutation-equivariant policy, but for rounding.
    pub fn order_error(&self, k: usize, cases: u64, seed: u64) -> Result<f64, DiagnosisError> {
        let mut policy = self.at_size(k)?;
        let (mut apart, mut largest) = (0.0f64, f64::MIN_POSITIVE);
        for index in 0..cases {
            let seen = self.draw(seed, k, index)?;
            let mut order: Vec<usize> = (0..k).collect();
            // No cell has 0 users: this stream meets none of the draws.
            order.shuffle(&mut realization_rng(seed, 0, index));
            let (Some(plain), Some(moved)) = (policy(&seen)?, policy(&seen.reordered(&order)?)?)
            else {
                continue;
            };
            for (&user, moved) in order.iter().zip(moved) {
                apart = apart.max((plain[user] - moved).abs());
                largest = largest.max(plain[user].abs());
            }
        }
        Ok(apart / largest)
    }

    fn draw(&self, seed: u64, k: usize, index: u64) -> Result<Seen, DiagnosisError> {
        let (road, path_loss) = (self.system.road(), self.system.path_loss());
        let faded = || Seen::Users(sample_faded_gains(&road, &path_loss, seed, k, index));
        let large_scale = || {
            let distances_m = sample_distances_m(&road, seed, k, index);
            Seen::Users(distances_m.into_iter().map(|metres| path_loss.gain(metres)).collect())
        };
        let of = |input: Input| {
            let mut rng = realization_rng(seed, k, index);
            Seen::Users((0..k).map(|_| input.sample(&mut rng)).collect())
        };
        let links = |scenario: Scenario| Ok(Seen::Links(scenario.draw(seed, k, index)?));
        Ok(match &self.rule {
            Rule::BuiltIn(policy, _) => match policy {
                BuiltIn::QosPower
                | BuiltIn::EqualBandwidthPower
                | BuiltIn::EqualBandwidthBandwidth => faded(),
                BuiltIn::UrllcPower | BuiltIn::UrllcBandwidth => large_scale(),
                BuiltIn::Interference => return links(Scenario::Dense),
                BuiltIn::LinkScheduling => return links(Scenario::D2d(D2dField::default())),
                BuiltIn::ToyOne | BuiltIn::ToyTwo => of(Input::Exponential),
            },
            Rule::Model(model, _) => match model.as_ref() {
                Model::Urllc(_) | Model::Any(_) => large_scale(),
                Model::ClosedForm(_) => faded(),
                Model::Power(policy) => return links(policy.record().training.scenario),
            },
            Rule::Function(input, _) => of(*input),
        })
    }

    /// The inputs `x_k`: logarithms of gains, or what a function gets.
    fn features(&self, seen: &Seen) -> Vec<f64> {
        // A gain of exactly 0 has no logarithm.
        let ln = |gain: f64| gain.max(f64::MIN_POSITIVE).ln();
        match (seen, &self.rule) {
            (Seen::Links(problem), _) => {
                (0..problem.size()).map(|link| ln(problem.normalised().direct(link))).collect()
            }
            (
                Seen::Users(values),
                Rule::Function(..) | Rule::BuiltIn(BuiltIn::ToyOne | BuiltIn::ToyTwo, _),
            ) => values.clone(),
            (Seen::Users(gains), _) => gains.iter().map(|&gain| ln(gain)).collect(),
        }
    }

    fn at_size(&self, k: usize) -> Result<Outputs<'_>, DiagnosisError> {
        let system = &self.system;
        Ok(match &self.rule {
            Rule::Function(_, function) => Box::new(move |seen| match seen {
                Seen::Users(x) => Ok(Some(function(x)).filter(|y| y.len() == x.len())),
                Seen::Links(_) => Ok(None),
            }),
            Rule::BuiltIn(policy, solver) => {
                let (policy, mut solver) = (*policy, solver.clone());
                let mut wmmse = Wmmse::default();
                Box::new(move |seen| match seen {
                    Seen::Users(values) => of_users(policy, system, &mut solver, values),
                    Seen::Links(problem) if policy == BuiltIn::LinkScheduling => {
                        Ok(Some(fplinq(problem, FPLINQ_ITERATIONS).shares))
                    }
                    Seen::Links(problem) => Ok(Some(switched(wmmse.shares(problem)))),
                })
            }
            Rule::Model(model, quantity) => of_model(model, *quantity, k)?,
        })
    }
}

/// Shares of the power, 0 where a link is off.
fn switched(shares: &[f64]) -> Vec<f64> {
    shares.iter().map(|&share| if share < OFF { 0.0 } else { share }).collect()
}

/// A built-in policy of users of one cell.
fn of_users(
    policy: BuiltIn,
    system: &System,
    solver: &mut UrllcSolver,
    values: &[f64],
) -> Result<Option<Vec<f64>>, DiagnosisError> {
    let gains = || values.iter().copied();
    Ok(match policy {
        BuiltIn::QosPower => {
            Some(solve_qos_power(&QosPower::new(system, RATE_BPS, BANDWIDTH_HZ, gains())?))
        }
        BuiltIn::EqualBandwidthPower => {
            let shares = equal_bandwidth_shares(values);
            Some(shares.iter().map(|share| share * system.max_power_w()).collect())
        }
        BuiltIn::EqualBandwidthBandwidth => {
            let solution = solve_equal_bandwidth(&EqualBandwidth::new(system, RATE_BPS, gains())?);
            let served = solution.status == Status::Optimal;
            served.then(|| vec![solution.allocation.bandwidth_hz; values.len()])
        }
        BuiltIn::UrllcPower | BuiltIn::UrllcBandwidth => {
            let solution = solver.solve(&Urllc::uniform(system, gains())?);
            let Allocation { power_w, bandwidth_hz } = solution.allocation;
            let y = if policy == BuiltIn::UrllcPower { power_w } else { bandwidth_hz };
            (solution.status == Status::Optimal).then_some(y)
        }
        BuiltIn::ToyOne => Some(toy(ToyPolicy::One, values)),
        BuiltIn::ToyTwo => Some(toy(ToyPolicy::Two, values)),
        BuiltIn::Interference | BuiltIn::LinkScheduling => None,
    })
}

/// All outputs of a toy policy, which is written for the first user.
fn toy(policy: ToyPolicy, x: &[f64]) -> Vec<f64> {
    let mut order = x.to_vec();
    (0..x.len())
        .map(|user| {
            order.swap(0, user);
            let y = policy.output(&order);
            order.swap(0, user);
            y
        })
        .collect()
}

/// The powers or the bandwidths of an allocation.
fn part(allocation: &Allocation, quantity: Quantity) -> Vec<f64> {
    match quantity {
        Quantity::Power => allocation.power_w.clone(),
        Quantity::Bandwidth => allocation.bandwidth_hz.clone(),
    }
}

fn of_model(model: &Model, quantity: Quantity, k: usize) -> Result<Outputs<'_>, DiagnosisError> {
    Ok(match model {
        Model::Urllc(policy) => {
            let mut sized = policy.at_size(k)?;
            let mut allocation = Allocation::default();
            Box::new(move |seen| {
                let Seen::Users(gains) = seen else { return Ok(None) };
                sized.allocate(gains, &mut allocation);
                Ok(Some(part(&allocation, quantity)))
            })
        }
        Model::Any(policy) => {
            let system = policy.system();
            let mut allocator = policy.allocator(system.fading().antennas);
            let mut allocation = Allocation::default();
            Box::new(move |seen| {
                let Seen::Users(gains) = seen else { return Ok(None) };
                let problem = Urllc::uniform(system, gains.iter().copied())?;
                let served = allocator.allocate(&problem, &mut allocation).is_ok();
                Ok(served.then(|| part(&allocation, quantity)))
            })
        }
        Model::ClosedForm(policy) => {
            let mut sized = policy.at_size(k);
            Box::new(move |seen| {
                let Seen::Users(gains) = seen else { return Ok(None) };
                let allocation = sized.allocate(gains);
                Ok(Some(match quantity {
                    Quantity::Power => allocation.power_w,
                    Quantity::Bandwidth => vec![allocation.bandwidth_hz; gains.len()],
                }))
            })
        }
        Model::Power(policy) => {
            let mut controller = policy.controller();
            let threshold = policy.record().training.scenario.threshold();
            Box::new(move |seen| {
                let Seen::Links(problem) = seen else { return Ok(None) };
                let sparse = SparseInterference::new(problem, threshold);
                Ok(Some(switched(controller.shares(&sparse))))
            })
        }
    })
}
