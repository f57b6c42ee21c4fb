//! Comparison of policies on the same random instances, with one judge for all.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde::Serialize;

use super::fixed_cell::other_cell;
use super::samples::check_draws;
use super::standing::{Standing, Tally, table};
use super::{Allocation, Formulating, Instance, Model, Outcome, Policy, Problem, Text, Verdict};
use crate::exchange::SampleRow;
use crate::framework::{CellOptions, Error, Observer, Options, Verb};
use crate::invalid::Invalid;
use crate::math::realization_rng;

/// Policy with a name for the comparison.
pub struct NamedPolicy {
    /// Name in tables.
    pub name: String,
    /// Policy to compare.
    pub policy: Box<dyn Policy>,
}

impl NamedPolicy {
    /// Returns the problem's policy called `policy`, which needs no training, or `None` if there is no such
    /// policy.
    pub fn built_in(
        name: &str,
        problem: &dyn Problem,
        policy: &str,
    ) -> Option<Result<Self, Error>> {
        let row = problem.about().policies.iter().find(|row| row.name == policy)?;
        let make = || Ok(Self { name: name.to_owned(), policy: (row.make)(problem.options())? });
        Some(make())
    }

    /// Returns a model's policy for instances of a problem. Returns an error if the model was trained for
    /// another cell, since its allocations would be for that cell.
    pub fn model(name: &str, model: &dyn Model, problem: &dyn Problem) -> Result<Self, Error> {
        let (known, mut trained) = (model.flags(Verb::Allocate), model.trained_options());
        known.iter().for_each(|spec| trained.remove(spec.name));
        if let Some((field, here, own)) = problem.options().other_than(&trained) {
            let expected = other_cell((name, "the price policy"), (&field, &here, &own));
            return Err(Invalid::value(field, here, expected).into());
        }
        let policy = model.policy(&Options::default())?;
        Ok(Self { name: name.to_owned(), policy })
    }
}

impl Options {
    /// Returns these options, with missing ones taken from the cell that a model was trained for.
    #[must_use]
    pub fn over_trained(&self, trained: &Self) -> Self {
        // A file describes the whole cell.
        if self.has("config") {
            return self.clone();
        }
        let mut trained = trained.clone();
        // Another path loss has its own parameters.
        if self.has("path-loss") {
            let of_path_loss: Vec<String> = trained
                .names()
                .filter(|name| CellOptions::is_of_path_loss(name))
                .map(str::to_owned)
                .collect();
            of_path_loss.iter().for_each(|name| trained.remove(name));
        }
        self.over(&trained)
    }
}

/// Random instances of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Rounds {
    /// Numbers of users.
    pub sizes: Vec<usize>,
    /// Number of instances for each size and seed.
    pub samples: u64,
    /// Seeds of the instances.
    pub seeds: Vec<u64>,
}

/// Instance for which a policy returned no allocation that can be judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failed {
    /// Name of the policy.
    pub policy: String,
    /// Number of users.
    pub k: usize,
    /// Seed of the instance.
    pub seed: u64,
    /// Number of the instance among the instances of its seed, from 1.
    pub instance: u64,
    /// Reason for the failure.
    pub why: String,
    /// Number of instances of this size that failed for the same reason.
    pub count: usize,
}

/// Result of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Name of the problem.
    pub problem: &'static str,
    /// Objective with its unit.
    pub objective: String,
    /// Policy relative to which gaps are measured.
    pub reference: &'static str,
    /// Number of instances for each size and seed.
    pub samples: u64,
    /// Seeds of the instances.
    pub seeds: Vec<u64>,
    /// Results of every policy at every size.
    pub rows: Vec<Standing>,
    /// First failed instance for each policy, size and reason.
    pub failures: Vec<Failed>,
    /// Inputs and outputs of each policy, for `diagnose`.
    #[serde(skip)]
    pub samples_of: Vec<(String, Vec<SampleRow>)>,
}

/// Maximum number of reasons that are reported for a policy at a size.
const MOST_TOLD: usize = 5;
/// Number of instances of each size that are also allocated with their users in another order.
const REORDERED: usize = 3;
/// Relative change below which a difference is rounding.
const SAME: f64 = 1e-6;

/// Relative change above which the comparison reports that a policy is not equivariant. The outputs of networks
/// in single precision change by less.
const BREAKS: f64 = 1e-3;

/// Random instance that can be served.
struct Case {
    instance: Arc<Instance>,
    reference: f64,
    seed: u64,
    index: u64,
}

/// Feasible instances of a size, and a few of them with their users in another order.
struct Round {
    size: usize,
    drawn: usize,
    cases: Vec<Case>,
    reordered: Vec<(Case, Vec<usize>)>,
}

/// Result of a policy for one instance.
struct Asked {
    verdict: Result<Verdict, String>,
    /// First amount, in the form for `diagnose`.
    outputs: Vec<f64>,
    seconds: f64,
}

/// Runs all policies on the same random instances of a problem.
pub fn compare(
    problem: &Arc<dyn Problem>,
    rounds: &Rounds,
    named_policies: &mut [NamedPolicy],
    observer: &dyn Observer,
) -> Result<Comparison, Error> {
    let all = rounds.samples * rounds.seeds.len() as u64 * rounds.sizes.len() as u64;
    let drawn = rounds.sizes.iter().map(|&size| Round::draw(problem, rounds, size, observer));
    compare_in(problem, (rounds.samples, &rounds.seeds), (all, drawn), named_policies, observer)
}

/// Runs all policies on given instances of a problem, and reports the results for each size. The result has no
/// seeds, and the number of an instance is its position in the list.
pub fn compare_on(
    problem: &Arc<dyn Problem>,
    instances: &[Arc<Instance>],
    named_policies: &mut [NamedPolicy],
    observer: &dyn Observer,
) -> Result<Comparison, Error> {
    let mut by_size: BTreeMap<usize, Vec<(u64, &Arc<Instance>)>> = BTreeMap::new();
    for (index, instance) in (0..).zip(instances) {
        by_size.entry(instance.size().users).or_default().push((index, instance));
    }
    let all = instances.len() as u64;
    let given =
        by_size.into_iter().map(|(size, given)| Round::of_given(problem, size, &given, observer));
    compare_in(problem, (all, &[]), (all, given), named_policies, observer)
}

fn compare_in(
    problem: &Arc<dyn Problem>,
    (samples, seeds): (u64, &[u64]),
    (all, rounds): (u64, impl Iterator<Item = Result<Round, Error>>),
    named_policies: &mut [NamedPolicy],
    observer: &dyn Observer,
) -> Result<Comparison, Error> {
    let about = problem.about();
    let reference = about.policies.first().map_or("optimum", |first| first.name);
    let mut found = Comparison {
        problem: about.name,
        objective: String::new(),
        reference,
        samples,
        seeds: seeds.to_vec(),
        rows: Vec::new(),
        failures: Vec::new(),
        samples_of: named_policies
            .iter()
            .map(|named_policy| (named_policy.name.clone(), Vec::new()))
            .collect(),
    };
    // Each instance is solved once, then passed to each policy.
    let policies = named_policies.len() as u64;
    observer.begin("instances", all * (1 + policies));
    for round in rounds {
        let round = round?;
        if observer.stop() {
            return Err(Error::Interrupted);
        }
        observer.done((round.drawn - round.cases.len()) as u64 * policies);
        for (place, named_policy) in named_policies.iter_mut().enumerate() {
            let Stood { standing, failures, rows, objective } =
                stand(named_policy, &round, observer)?;
            found.rows.push(standing);
            found.failures.extend(failures);
            found.samples_of[place].1.extend(rows);
            if let Some(objective) = objective {
                found.objective = objective;
            }
        }
    }
    observer.end();
    // Sort the results by policy, in the given order, then by size.
    let order =
        |name: &String| named_policies.iter().position(|named_policy| named_policy.name == *name);
    found.rows.sort_by_key(|row| order(&row.policy));
    Ok(found)
}

impl Round {
    /// Draws the instances of a size, and formulates and solves each of them once.
    fn draw(
        problem: &Arc<dyn Problem>,
        rounds: &Rounds,
        size: usize,
        observer: &dyn Observer,
    ) -> Result<Self, Error> {
        check_draws(problem.about(), "samples", rounds.samples, size)?;
        let numbers = |&seed: &u64| (0..rounds.samples).map(move |index| (seed, index));
        let numbers: Vec<(u64, u64)> = rounds.seeds.iter().flat_map(numbers).collect();
        Self::of(problem, size, observer, numbers, |formulating, (seed, index)| {
            let instance = formulating.instance(problem.draw(seed, size, index)?)?;
            Ok((Arc::new(instance), seed, index + 1))
        })
    }

    /// Solves each of the given instances once.
    fn of_given(
        problem: &Arc<dyn Problem>,
        size: usize,
        given: &[(u64, &Arc<Instance>)],
        observer: &dyn Observer,
    ) -> Result<Self, Error> {
        let given = given.iter().map(|&(index, instance)| (index, Arc::clone(instance))).collect();
        Self::of(problem, size, observer, given, |_, (index, instance)| Ok((instance, 0, index)))
    }

    /// Builds and solves the instances of a size in parallel. `make` returns an instance with its seed and number.
    fn of<T: Send>(
        problem: &Arc<dyn Problem>,
        size: usize,
        observer: &dyn Observer,
        given: Vec<T>,
        make: impl Fn(&mut Formulating, T) -> Result<(Arc<Instance>, u64, u64), Error> + Sync,
    ) -> Result<Self, Error> {
        let best = problem.best()?;
        let worker = || {
            let best = best.fork();
            (best, Allocation::default(), Formulating::new(Arc::clone(problem)))
        };
        let one = |worker: &mut (Option<Box<dyn Policy>>, Allocation, Formulating), given: T| {
            let (Some(best), buffer, formulating) = worker else {
                return Err(
                    Invalid::missing("fork", "a copy of the best policy for each core").into()
                );
            };
            let (instance, seed, index) = make(formulating, given)?;
            let reference = instance.reference(&mut **best, buffer)?;
            observer.done(1);
            let case = |value| Case { instance, reference: value, seed, index };
            Ok(reference.map(|reference| case(reference.value)))
        };
        let drawn = given.len();
        let cases = given.into_par_iter().map_init(worker, one);
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

/// Evaluates one policy at one size.
fn stand(
    named_policy: &mut NamedPolicy,
    round: &Round,
    observer: &dyn Observer,
) -> Result<Stood, Error> {
    let Round { size, drawn, cases, reordered } = round;
    let (outcomes, again) = match named_policy.policy.fork() {
        Some(mut policy) => {
            // One copy for each thread, which builds its tables before the time is measured.
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
            let policy = &mut *named_policy.policy;
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
    let mut failures: Vec<Failed> = Vec::new();
    for (one, outcome) in cases.iter().zip(&outcomes) {
        let Err(why) = &outcome.verdict else { continue };
        if let Some(known) = failures.iter_mut().find(|failed| failed.why == *why) {
            known.count += 1;
        } else if failures.len() < MOST_TOLD {
            let (policy, why) = (named_policy.name.clone(), why.clone());
            let Case { seed, index, .. } = *one;
            failures.push(Failed { policy, k: *size, seed, instance: index, why, count: 1 });
        }
    }
    let rows = cases.iter().zip(&outcomes).enumerate().flat_map(|(at, (case, outcome))| {
        let x = if outcome.verdict.is_ok() { case.instance.features() } else { Vec::new() };
        let pairs = x.into_iter().zip(&outcome.outputs);
        pairs.map(move |(x, &y)| SampleRow { k: *size, x, y, instance: Some(at as u64) })
    });
    let first = outcomes.iter().find_map(|outcome| outcome.verdict.as_ref().ok());
    let objective = first.map(|verdict| verdict.objective.to_string());
    let standing =
        tally.standing(&named_policy.name, (*size, *drawn, drawn - cases.len()), reorder_change);
    Ok(Stood { standing, failures, rows: rows.collect(), objective })
}

impl Asked {
    /// Runs a policy on an instance; the time includes only the policy.
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
                Err("the policy reports that the budget cannot serve every user".to_owned())
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

/// Exchange with a policy that receives one instance at a time.
struct Interview {
    outcomes: Vec<Asked>,
    /// Index of the first answer since the policy was last known to be in step.
    since: usize,
}

impl Interview {
    fn ask(&mut self, policy: &mut dyn Policy, case: &Case) {
        self.look_back(policy.doubt(false));
        self.outcomes.push(Asked::of(policy, case));
        if self.outcomes.last().is_some_and(|asked| asked.verdict.is_err()) {
            // Start again after a failure.
            self.look_back(policy.doubt(false));
            self.since = self.outcomes.len();
        }
    }

    /// Rejects all answers since the policy was last in step, if there is a doubt.
    fn look_back(&mut self, doubt: Option<String>) {
        let Some(doubt) = doubt else { return };
        let believed = |asked: &&mut Asked| asked.verdict.is_ok();
        for asked in self.outcomes[self.since..].iter_mut().filter(believed) {
            asked.verdict = Err(doubt.clone());
        }
        self.since = self.outcomes.len();
    }
}

/// Returns the largest change of a user's amount, relative to the larger of the two amounts. Ignores amounts
/// close to 0.
fn largest_change(before: &[f64], after: &[f64], order: &[usize]) -> f64 {
    let most = before.iter().fold(0.0f64, |most, amount| most.max(amount.abs()));
    let pairs = order.iter().zip(after).filter_map(|(&at, after)| Some((before.get(at)?, after)));
    pairs.fold(0.0, |worst: f64, (before, after)| {
        let scale = before.abs().max(after.abs()).max(SAME * most);
        if scale > 0.0 { worst.max((before - after).abs() / scale) } else { worst }
    })
}

impl Comparison {
    /// Returns the comparison as text.
    pub fn text(&self) -> Text {
        let mut text = Text::default();
        table(&mut text, &self.rows, &self.objective, self.reference);
        for row in &self.rows {
            if row.infeasible == row.instances {
                text.push(format!(
                    "K = {}: no instance can be served, so {} did not run",
                    row.k, row.policy
                ));
            }
            if let Some(change) = row.reorder_change.filter(|change| *change > BREAKS) {
                text.push(format!(
                    "{}, K = {}: NOT equivariant: with the users in another order, the amounts of a user change by up \
                     to {:.2} %",
                    row.policy,
                    row.k,
                    100.0 * change
                ));
            }
            if row.over_budget > 0 {
                text.push(format!(
                    "{}, K = {}: {} allocations exceed the budget",
                    row.policy, row.k, row.over_budget
                ));
            }
        }
        for Failed { policy, k, seed, instance, why, count } in &self.failures {
            let more = if *count > 1 {
                format!(" (the first of {count} instances)")
            } else {
                String::new()
            };
            text.push(format!("{policy}, K = {k}, seed {seed}, instance {instance}{more}: {why}"));
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
