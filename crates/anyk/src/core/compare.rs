//! Policies side by side: any number of them on the same random instances, all judged alike.

use std::sync::Arc;
use std::time::Instant;

use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde::Serialize;

use super::samples::check_draws;
use super::standing::{Standing, Tally, table};
use super::{Allocation, Formulating, Instance, Model, Outcome, Policy, Problem, Text, Verdict};
use crate::exchange::SampleRow;
use crate::framework::{CellOptions, Error, Observer, Options, Verb};
use crate::invalid::Invalid;
use crate::math::realization_rng;

/// One of the policies.
pub struct Player {
    /// How tables name it.
    pub name: String,
    /// What it is.
    pub policy: Box<dyn Policy>,
}

impl Player {
    /// A policy of the problem that needs no training; `None` if there is none of that name.
    pub fn built_in(
        name: &str,
        problem: &dyn Problem,
        policy: &str,
    ) -> Option<Result<Self, Error>> {
        let row = problem.about().policies.iter().find(|row| row.name == policy)?;
        let make = || Ok(Self { name: name.to_owned(), policy: (row.make)(problem.options())? });
        Some(make())
    }

    /// A model, on instances of a problem; rejected in a cell that it does not know, since what it allocates would be
    /// for another.
    pub fn model(name: &str, model: &dyn Model, problem: &dyn Problem) -> Result<Self, Error> {
        let (known, mut home) = (model.flags(Verb::Allocate), model.home());
        known.iter().for_each(|spec| home.remove(spec.name));
        if let Some((field, here, own)) = problem.options().other_than(&home) {
            let expected =
                format!("{own}, which {name} was trained for; the price policy takes any");
            return Err(Invalid::value(field, here, expected).into());
        }
        let policy = model.policy(&Options::default())?;
        Ok(Self { name: name.to_owned(), policy })
    }
}

impl Options {
    /// These options, and for the rest those of the cell that a model was trained for.
    #[must_use]
    pub fn at_home(&self, home: &Self) -> Self {
        // A file describes the whole cell.
        if self.has("config") {
            return self.clone();
        }
        let mut home = home.clone();
        // Another path loss has parameters of its own.
        if self.has("path-loss") {
            let of_path_loss: Vec<String> = home
                .names()
                .filter(|name| CellOptions::is_of_path_loss(name))
                .map(str::to_owned)
                .collect();
            of_path_loss.iter().for_each(|name| home.remove(name));
        }
        self.over(&home)
    }
}

/// Random instances to compare on.
#[derive(Debug, Clone, PartialEq)]
pub struct Rounds {
    /// Sizes.
    pub sizes: Vec<usize>,
    /// Instances of each size and seed.
    pub samples: u64,
    /// Seeds of the instances.
    pub seeds: Vec<u64>,
}

/// An instance without an answer that can be judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failed {
    /// The policy.
    pub policy: String,
    /// The size.
    pub k: usize,
    /// The seed, and the instance's number among those of it, from 1.
    pub seed: u64,
    /// The number.
    pub instance: u64,
    /// Why.
    pub why: String,
}

/// What a comparison finds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The problem.
    pub problem: &'static str,
    /// The objective, with its unit.
    pub objective: String,
    /// The policy that gaps are measured from.
    pub reference: &'static str,
    /// Instances of each size and seed, and the seeds.
    pub samples: u64,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// Every policy at every size.
    pub rows: Vec<Standing>,
    /// The first failures of each policy.
    pub failures: Vec<Failed>,
    /// Inputs and outputs of each policy, for a diagnosis.
    #[serde(skip)]
    pub samples_of: Vec<(String, Vec<SampleRow>)>,
}

/// Failures that are told of a policy.
const MOST_TOLD: usize = 5;
/// Instances of each size that are asked again with their users in another order.
const REORDERED: usize = 3;
/// A change by less, relative, is rounding.
const SAME: f64 = 1e-6;

/// A change by more, relative, is told: networks of single precision change by less.
const BREAKS: f64 = 1e-3;

/// A random instance that can be served.
struct Case {
    instance: Arc<Instance>,
    reference: f64,
    seed: u64,
    index: u64,
}

/// The instances of a size: those that an allocation can serve, and a few of them with their users in another order.
struct Round {
    size: usize,
    drawn: usize,
    cases: Vec<Case>,
    reordered: Vec<(Case, Vec<usize>)>,
}

/// What came of asking a policy for one instance.
struct Asked {
    verdict: Result<Verdict, String>,
    /// The first amount, as a diagnosis sees it.
    outputs: Vec<f64>,
    seconds: f64,
}

/// Asks all players for the same random instances of a problem.
pub fn compare(
    problem: &Arc<dyn Problem>,
    rounds: &Rounds,
    players: &mut [Player],
    observer: &dyn Observer,
) -> Result<Comparison, Error> {
    let about = problem.about();
    let reference = about.policies.first().map_or("optimum", |first| first.name);
    let mut found = Comparison {
        problem: about.name,
        objective: String::new(),
        reference,
        samples: rounds.samples,
        seeds: rounds.seeds.clone(),
        rows: Vec::new(),
        failures: Vec::new(),
        samples_of: players.iter().map(|player| (player.name.clone(), Vec::new())).collect(),
    };
    let all = rounds.samples * rounds.seeds.len() as u64 * rounds.sizes.len() as u64;
    observer.begin("instances", all * players.len() as u64);
    for &size in &rounds.sizes {
        if observer.stop() {
            return Err(Error::Interrupted);
        }
        let round = Round::draw(problem, rounds, size)?;
        for (place, player) in players.iter_mut().enumerate() {
            let Stood { standing, failures, rows, objective } = stand(player, &round, observer)?;
            found.rows.push(standing);
            found.failures.extend(failures);
            found.samples_of[place].1.extend(rows);
            if let Some(objective) = objective {
                found.objective = objective;
            }
        }
    }
    observer.end();
    // By policy, as they were named, then by size.
    let order = |name: &String| players.iter().position(|player| player.name == *name);
    found.rows.sort_by_key(|row| order(&row.policy));
    Ok(found)
}

impl Round {
    /// Draws the instances of a size, formulates each once, and solves each once.
    fn draw(problem: &Arc<dyn Problem>, rounds: &Rounds, size: usize) -> Result<Self, Error> {
        check_draws(problem.about(), "samples", rounds.samples, size)?;
        let numbers = |&seed: &u64| (0..rounds.samples).map(move |index| (seed, index));
        let numbers: Vec<(u64, u64)> = rounds.seeds.iter().flat_map(numbers).collect();
        let best = problem.best()?;
        // A policy that cannot be forked answers for all.
        let worker = || -> Result<_, Error> {
            let best = best.fork().ok_or(Error::OtherProblem)?;
            Ok((best, Allocation::default(), Formulating::new(Arc::clone(problem))))
        };
        let one = |worker: &mut Result<(Box<dyn Policy>, Allocation, Formulating), Error>,
                   (seed, index): (u64, u64)| {
            let Ok((best, buffer, formulating)) = worker else { return Err(Error::OtherProblem) };
            let instance = formulating.instance(problem.draw(seed, size, index)?)?;
            let reference = instance.reference(&mut **best, buffer)?;
            Ok(reference.map(|reference| Case {
                instance: Arc::new(instance),
                reference: reference.value,
                seed,
                index: index + 1,
            }))
        };
        let drawn = numbers.len();
        let cases = numbers.into_par_iter().map_init(worker, one);
        let cases = cases.collect::<Result<Vec<Option<Case>>, Error>>()?;
        let cases: Vec<Case> = cases.into_iter().flatten().collect();
        let moved = cases.iter().take(REORDERED).enumerate().map(|(index, case)| {
            let mut order: Vec<usize> = (0..size).collect();
            order.shuffle(&mut realization_rng(0x5eed, size, index as u64));
            let instance = Arc::new(case.instance.part(&order));
            (Case { instance, ..*case }, order)
        });
        let reordered = moved.collect();
        Ok(Self { size, drawn, cases, reordered })
    }
}

struct Stood {
    standing: Standing,
    failures: Vec<Failed>,
    rows: Vec<SampleRow>,
    objective: Option<String>,
}

/// One policy at one size.
fn stand(player: &mut Player, round: &Round, observer: &dyn Observer) -> Result<Stood, Error> {
    let Round { size, drawn, cases, reordered } = round;
    let (outcomes, again) = match player.policy.fork() {
        Some(mut policy) => {
            // One for each thread, which has made its tables before the clock runs.
            let share = cases.len().div_ceil(rayon::current_num_threads()).max(1);
            let part = |part: &[Case]| -> Result<Vec<Asked>, Error> {
                let mut policy = policy.fork().ok_or(Error::OtherProblem)?;
                if let Some(first) = part.first() {
                    let _ = Asked::of(&mut *policy, first);
                }
                let one = |case: &Case| {
                    observer.done(1);
                    Asked::of(&mut *policy, case)
                };
                Ok(part.iter().map(one).collect())
            };
            let parts: Vec<Vec<Asked>> =
                cases.par_chunks(share).map(part).collect::<Result<_, Error>>()?;
            let again = reordered.iter().map(|(case, _)| Asked::of(&mut *policy, case)).collect();
            (parts.into_iter().flatten().collect(), again)
        }
        None => {
            let policy = &mut *player.policy;
            let mut interview = Interview { outcomes: Vec::new(), since: 0 };
            policy.prepare(&cases.iter().map(|case| &case.instance).collect::<Vec<_>>());
            for case in cases {
                if observer.stop() {
                    return Err(Error::Interrupted);
                }
                observer.done(1);
                interview.ask(policy, case);
            }
            for (case, _) in reordered {
                interview.ask(policy, case);
            }
            interview.look_back(policy.doubt(true));
            let mut outcomes = interview.outcomes;
            let again = outcomes.split_off(cases.len());
            (outcomes, again)
        }
    };
    let pairs = outcomes.iter().zip(&again).zip(reordered);
    let change = pairs.filter_map(|((one, two), (_, order))| {
        let both = one.verdict.is_ok() && two.verdict.is_ok();
        both.then(|| largest_change(&one.outputs, &two.outputs, order))
    });
    let reorder_change =
        change.fold(None, |most: Option<f64>, one| Some(most.unwrap_or(0.0).max(one)));
    let mut tally = Tally::new(*size);
    for Asked { verdict, seconds, .. } in &outcomes {
        match verdict {
            Ok(verdict) => {
                tally.time(*seconds);
                tally.add(verdict);
            }
            Err(_) => tally.fail(),
        }
    }
    let failures = cases.iter().zip(&outcomes).filter_map(|(one, outcome)| {
        let why = outcome.verdict.as_ref().err()?.clone();
        let (policy, seed) = (player.name.clone(), one.seed);
        Some(Failed { policy, k: *size, seed, instance: one.index, why })
    });
    let rows = cases.iter().zip(&outcomes).enumerate().flat_map(|(at, (case, outcome))| {
        let x = if outcome.verdict.is_ok() { case.instance.features() } else { Vec::new() };
        let pairs = x.into_iter().zip(&outcome.outputs);
        pairs.map(move |(x, &y)| SampleRow { k: *size, x, y, instance: Some(at as u64) })
    });
    let first = outcomes.iter().find_map(|outcome| outcome.verdict.as_ref().ok());
    let objective = first.map(|verdict| verdict.objective.to_string());
    let standing =
        tally.standing(&player.name, (*size, *drawn, drawn - cases.len()), reorder_change);
    Ok(Stood {
        standing,
        failures: failures.take(MOST_TOLD).collect(),
        rows: rows.collect(),
        objective,
    })
}

impl Asked {
    /// Asks a policy: the time is that of the policy alone.
    fn of(policy: &mut dyn Policy, case: &Case) -> Self {
        let instance = &*case.instance;
        let mut allocation = Allocation::default();
        allocation.reset(instance.about().amounts, instance.size());
        let started = Instant::now();
        let outcome = policy.allocate(instance, &mut allocation);
        let elapsed = started.elapsed().as_secs_f64();
        let verdict = match outcome {
            Err(error) => Err(error.to_string()),
            Ok(Outcome::Infeasible(_)) => {
                Err("it says that the budget does not serve everyone".to_owned())
            }
            Ok(Outcome::Refused(why)) => Err(why),
            Ok(Outcome::Served(_)) => {
                instance.judge(&allocation, Some(case.reference)).map_err(|error| error.to_string())
            }
        };
        let outputs = if verdict.is_ok() {
            allocation.amounts.first().cloned().unwrap_or_default()
        } else {
            Vec::new()
        };
        Self { verdict, outputs, seconds: allocation.seconds.unwrap_or(elapsed) }
    }
}

/// Answers of a policy that is asked for one instance after the other.
struct Interview {
    outcomes: Vec<Asked>,
    /// The first of those that came since it was last found to be in step.
    since: usize,
}

impl Interview {
    fn ask(&mut self, policy: &mut dyn Policy, case: &Case) {
        self.look_back(policy.doubt(false));
        self.outcomes.push(Asked::of(policy, case));
        if self.outcomes.last().is_some_and(|asked| asked.verdict.is_err()) {
            // A policy that fails starts anew.
            self.look_back(policy.doubt(false));
            self.since = self.outcomes.len();
        }
    }

    /// None of the answers since it was last in step is believed.
    fn look_back(&mut self, doubt: Option<String>) {
        let Some(doubt) = doubt else { return };
        let believed = |asked: &&mut Asked| asked.verdict.is_ok();
        for asked in self.outcomes[self.since..].iter_mut().filter(believed) {
            asked.verdict = Err(doubt.clone());
        }
        self.since = self.outcomes.len();
    }
}

/// The largest change of a user's amount, relative to the larger of the two; amounts next to nothing do not count.
fn largest_change(before: &[f64], after: &[f64], order: &[usize]) -> f64 {
    let most = before.iter().fold(0.0f64, |most, amount| most.max(amount.abs()));
    let pairs = order.iter().zip(after).filter_map(|(&at, after)| Some((before.get(at)?, after)));
    pairs.fold(0.0, |worst: f64, (before, after)| {
        let scale = before.abs().max(after.abs()).max(SAME * most);
        if scale > 0.0 { worst.max((before - after).abs() / scale) } else { worst }
    })
}

impl Comparison {
    /// As people read it.
    pub fn text(&self) -> Text {
        let mut text = Text::default();
        table(&mut text, &self.rows, &self.objective, self.reference);
        for row in &self.rows {
            if row.infeasible == row.instances {
                text.push(format!(
                    "K = {}: no instance can be served; nothing was asked of {}",
                    row.k, row.policy
                ));
            }
            if let Some(change) = row.reorder_change.filter(|change| *change > BREAKS) {
                text.push(format!(
                    "{}, K = {}: NOT equivariant: with the users in another order what one gets changes by up to \
                     {:.2} %",
                    row.policy,
                    row.k,
                    100.0 * change
                ));
            }
            if row.over_budget > 0 {
                text.push(format!(
                    "{}, K = {}: {} answers give away more than there is",
                    row.policy, row.k, row.over_budget
                ));
            }
        }
        for Failed { policy, k, seed, instance, why } in &self.failures {
            text.push(format!("{policy}, K = {k}, seed {seed}, instance {instance}: {why}"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_whatever_the_order() {
        assert!(largest_change(&[1.0, 2.0, 3.0], &[3.0, 1.0, 2.0], &[2, 0, 1]) < 1e-15);
        assert!(largest_change(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0], &[2, 0, 1]) > 0.5);
    }
}
