//! Times of allocations, by policies after a short training run: the time does not depend on the weights.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::Entry;
use anyk::System;
use anyk::channel::{FadingLaw, FadingSamples, sample_distances_m};
use anyk::core::{Allocation, Instance, Policy as _};
use anyk::framework::{Error, Objective, PretrainLoss, PretrainSettings, Session, Silent};
use anyk::problems::urllc::{
    Algorithm1, CellPolicy, Certifier, DEVIATIONS, LearnedPolicy, PricePolicy, PriceSettings,
    Recipe, SampledSettings, Solution, Urllc, UrllcAllocation, UrllcProblem, UrllcSolver,
    draw_fading, finish, law_for, train_price_policy, train_sampled_policy,
};

/// Returns the median time of a call after one warm-up call, over the calls that fit into half a second, but at least
/// five.
pub(crate) fn median_seconds<T>(mut call: impl FnMut() -> T) -> f64 {
    black_box(call());
    let started = Instant::now();
    let mut times = Vec::new();
    while times.len() < 5
        || (started.elapsed() < Duration::from_millis(500) && times.len() < 100_000)
    {
        let before = Instant::now();
        black_box(call());
        times.push(before.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Returns the microseconds of an allocation, without and with the certificate.
pub(crate) fn policy_us(policy: &impl CellPolicy, problem: &Urllc) -> (f64, f64) {
    let problem_of = UrllcProblem::in_cell(policy.system());
    let instance = Instance::of(&problem_of, problem.size(), problem.clone());
    let mut allocator = policy.allocator();
    let mut allocation = Allocation::of(vec![Vec::new(); 2]);
    let plain_s = median_seconds(|| allocator.allocate(black_box(&instance), &mut allocation));
    let mut certifier = Certifier::default();
    let certified_s = median_seconds(|| {
        let served = allocator.allocate(black_box(&instance), &mut allocation);
        let mut certify = |typed: &mut _| certifier.certify(problem, typed).is_complete();
        served.is_ok() && UrllcAllocation::within(&mut allocation, &mut certify)
    });
    (1e6 * plain_s, 1e6 * certified_s)
}

/// Returns the microseconds of an exact solve.
pub(crate) fn solve_us(problem: &Urllc) -> f64 {
    let (mut solver, mut solution) = (UrllcSolver::default(), Solution::default());
    1e6 * median_seconds(|| solver.solve_into(black_box(problem), &mut solution))
}

/// Draws a cell with random users.
pub(crate) fn random_cell(system: &System, size: usize) -> Result<Urllc, Error> {
    let distances = sample_distances_m(&system.road(), 1, size, 0);
    let gains = distances.into_iter().map(|d| system.path_loss().gain(d));
    Ok(Urllc::uniform(system, gains)?)
}

/// Trains a price policy briefly.
pub(crate) fn short_price_policy(system: &System) -> Result<PricePolicy, Error> {
    Ok(train_price_policy(system, &short(), &mut Session::new(&Silent))?)
}

/// Trains a price policy briefly, with a bandwidth learned from fading samples.
pub(crate) fn short_sampled_policy(system: &System) -> Result<PricePolicy, Error> {
    let gains = draw_fading(system, &FadingLaw::Rayleigh, FadingSamples::LEAST, 1);
    let samples = FadingSamples::new(gains).map_err(Error::other)?;
    let mut learning = SampledSettings::new(PretrainLoss::Supervised, 1);
    learning.steps = 1000;
    let settings = short();
    let mut session = Session::new(&Silent);
    let deviations = DEVIATIONS;
    Ok(train_sampled_policy(system, &samples, &learning, &settings, deviations, &mut session)?)
}

fn short() -> PriceSettings {
    let mut settings = PriceSettings::preset(1);
    (settings.samples, settings.steps) = (100, 500);
    settings
}

/// Returns the paper's P-GNN before training, with an outer function of the right shape.
pub(crate) fn untrained_p_gnn(system: &System) -> Result<(Algorithm1, LearnedPolicy), Error> {
    let mut entry = Entry::p_gnn(10, 2000, 6e-6);
    entry.settings.recipe = Recipe { stored_draws: 1, draws: 1, ..Recipe::fast(10) };
    let pretraining = PretrainSettings { epochs: 4, ..PretrainSettings::default() };
    let law = law_for(system, &entry.settings, &pretraining, &mut Session::new(&Silent))?;
    let mut objective = Algorithm1::new(system, &entry.settings, law.as_ref())?;
    let start = objective.start(0);
    let policy = finish(system, &objective, &start, (&pretraining, law.as_ref()))?;
    Ok((objective, policy))
}
