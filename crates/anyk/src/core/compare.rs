//! Comparison of policies on the same random instances, with one judge for all.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde::Serialize;

use super::fixed_cell::other_cell;
use super::samples::check_draws;
use super::standing::{Numbered, REORDERED, Standing, Tally, table};
use super::{Allocation, Formulating, Instance, Model, Outcome, Policy, Problem, Text, Verdict};
use crate::exchange::SampleRow;
use crate::framework::{CellOptions, Error, Observer, Options, Share, Slice, Verb};
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
#[derive(Debug, Clone)]
pub struct Rounds {
    /// Numbers of users.
    pub sizes: Vec<usize>,
    /// Number of instances for each size and seed.
    pub samples: u64,
    /// Seeds of the instances.
    pub seeds: Vec<u64>,
    /// Instances that this process compares.
    pub share: Share,
}

impl Rounds {
    /// Creates rounds without shards: this process compares all instances.
    pub fn new(sizes: Vec<usize>, samples: u64, seeds: Vec<u64>) -> Self {
        Self { sizes, samples, seeds, share: Share::default() }
    }

    /// Returns the instances of a size in a slice of the numbers `0..samples·seeds`.
    fn numbered(&self, slice: Slice) -> impl Iterator<Item = Numbered> + Clone + '_ {
        let all = self.samples * self.seeds.len() as u64;
        slice.units(all).map(|number| {
            let place = usize::try_from(number / self.samples).unwrap_or(usize::MAX);
            Numbered { number, seed: self.seeds[place], index: number % self.samples + 1 }
        })
    }
}

/// Consecutive random instances of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instances {
    /// Number of users.
    pub size: usize,
    /// Seed of the instances.
    pub seed: u64,
    /// Number of the first instance.
    pub first: u64,
    /// Number of instances.
    pub count: u64,
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
    /// Inputs and outputs of each policy that cannot be copied (programs, functions), for `diagnose`.
    #[serde(skip)]
    pub samples_of: Vec<(String, Vec<SampleRow>)>,
}

/// Number of users, or of pairs of users, that are in memory at a time, and the smallest number of instances for which
/// that holds.
const AT_ONCE: usize = 1 << 22;
const FEWEST_AT_ONCE: usize = 32;
/// Relative change below which a difference is rounding.
const SAME: f64 = 1e-6;

/// Relative change above which the comparison reports that a policy is not equivariant. The outputs of networks
/// in single precision change by less.
const BREAKS: f64 = 1e-3;

/// Random instance that can be served.
struct Case {
    instance: Arc<Instance>,
    reference: f64,
    numbered: Numbered,
}

/// Instances of a size: those that can be served, and the number of the others.
struct Drawn {
    size: usize,
    cases: Vec<Case>,
    infeasible: usize,
}

/// Result of a policy for one instance.
struct Asked {
    verdict: Result<Verdict, String>,
    /// First amount, in the form for `diagnose`.
    outputs: Vec<f64>,
    seconds: f64,
}

/// Runs all policies on the same random instances of a problem. A shard runs them only on its instances, keeps the
/// results and returns [`Error::PartOfRun`].
pub fn compare(
    problem: &Arc<dyn Problem>,
    rounds: &Rounds,
    named_policies: &mut [NamedPolicy],
    observer: &dyn Observer,
) -> Result<Comparison, Error> {
    for &size in &rounds.sizes {
        check_draws(problem.about(), "samples", rounds.samples, size)?;
    }
    let all = rounds.samples * rounds.seeds.len() as u64;
    let own = rounds.share.slice().count(all) * rounds.sizes.len() as u64;
    begin(observer, own, named_policies);
    let mut found = Vec::new();
    for &size in &rounds.sizes {
        let parts = rounds.share.split(|slice| {
            let numbered: Vec<Numbered> = rounds.numbered(slice).collect();
            run(problem, size, &numbered, named_policies, observer)
        })?;
        found.push(parts);
    }
    observer.end();
    rounds.share.complete()?;
    let tallies = found.into_iter().map(|parts| {
        let mut parts = parts.into_iter();
        let mut whole = parts.next().unwrap_or_default();
        for part in parts {
            whole.iter_mut().zip(&part).for_each(|(whole, part)| whole.merge(part));
        }
        whole
    });
    let of = (rounds.samples, rounds.seeds.clone());
    Ok(Comparison::new(problem, of, named_policies, &tallies.collect::<Vec<_>>()))
}

/// Runs all policies on given instances of a problem, and reports the results for each size. The result has no
/// seeds, and the number of an instance is its position in the list.
pub fn compare_on(
    problem: &Arc<dyn Problem>,
    instances: &[Arc<Instance>],
    named_policies: &mut [NamedPolicy],
    observer: &dyn Observer,
) -> Result<Comparison, Error> {
    let mut by_size: BTreeMap<usize, Vec<(Numbered, Arc<Instance>)>> = BTreeMap::new();
    for (index, instance) in (0..).zip(instances) {
        let same = by_size.entry(instance.size().users).or_default();
        let numbered = Numbered { number: same.len() as u64, seed: 0, index };
        same.push((numbered, Arc::clone(instance)));
    }
    let all = instances.len() as u64;
    begin(observer, all, named_policies);
    let mut found = Vec::new();
    for (size, given) in by_size {
        let mut tallies = vec![Tally::new(size); named_policies.len()];
        let drawn = Drawn::of(problem, size, observer, given, |_, (numbered, instance)| {
            Ok((instance, numbered))
        })?;
        drawn.compare(named_policies, &mut tallies, observer)?;
        found.push(tallies);
    }
    observer.end();
    Ok(Comparison::new(problem, (all, Vec::new()), named_policies, &found))
}

/// Runs all policies on consecutive random instances of one size, and returns a tally for each policy. The tallies of
/// different instances can be merged.
pub fn compare_instances(
    problem: &Arc<dyn Problem>,
    instances: &Instances,
    named_policies: &mut [NamedPolicy],
    observer: &dyn Observer,
) -> Result<Vec<Tally>, Error> {
    let &Instances { size, seed, first, count } = instances;
    check_draws(problem.about(), "samples", count, size)?;
    let numbered =
        (first..first + count).map(|number| Numbered { number, seed, index: number + 1 });
    run(problem, size, &numbered.collect::<Vec<_>>(), named_policies, observer)
}

/// Reports the start of a comparison. Each instance is solved once, then passed to each policy.
fn begin(observer: &dyn Observer, instances: u64, named_policies: &[NamedPolicy]) {
    observer.begin("instances", instances * (1 + named_policies.len() as u64));
}

/// Runs all policies on random instances of one size. Only a limited number of them is in memory at a time.
fn run(
    problem: &Arc<dyn Problem>,
    size: usize,
    numbered: &[Numbered],
    named_policies: &mut [NamedPolicy],
    observer: &dyn Observer,
) -> Result<Vec<Tally>, Error> {
    let mut tallies = vec![Tally::new(size); named_policies.len()];
    let at_once = (AT_ONCE / size.max(1).pow(2)).clamp(FEWEST_AT_ONCE, AT_ONCE >> 8);
    for numbered in numbered.chunks(at_once) {
        let make = |formulating: &mut Formulating, numbered: Numbered| {
            let record = problem.draw(numbered.seed, size, numbered.index - 1)?;
            Ok((Arc::new(formulating.instance(record)?), numbered))
        };
        let drawn = Drawn::of(problem, size, observer, numbered.to_vec(), make)?;
        drawn.compare(named_policies, &mut tallies, observer)?;
    }
    Ok(tallies)
}

impl Drawn {
    /// Builds and solves instances of a size in parallel.
    fn of<T: Send>(
        problem: &Arc<dyn Problem>,
        size: usize,
        observer: &dyn Observer,
        given: Vec<T>,
        make: impl Fn(&mut Formulating, T) -> Result<(Arc<Instance>, Numbered), Error> + Sync,
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
            let (instance, numbered) = make(formulating, given)?;
            let reference = instance.reference(&mut **best, buffer)?;
            observer.done(1);
            Ok(reference.map(|reference| Case { instance, reference: reference.value, numbered }))
        };
        let all = given.len();
        let cases = given.into_par_iter().map_init(worker, one);
        let cases = cases.collect::<Result<Vec<Option<Case>>, Error>>()?;
        let cases: Vec<Case> = cases.into_iter().flatten().collect();
        Ok(Self { size, infeasible: all - cases.len(), cases })
    }

    /// Runs all policies on the instances, and adds the results to their tallies.
    fn compare(
        &self,
        named_policies: &mut [NamedPolicy],
        tallies: &mut [Tally],
        observer: &dyn Observer,
    ) -> Result<(), Error> {
        if observer.stop() {
            return Err(Error::Interrupted);
        }
        observer.done((self.infeasible * named_policies.len()) as u64);
        for (named_policy, tally) in named_policies.iter_mut().zip(tallies) {
            (0..self.infeasible).for_each(|_| tally.infeasible());
            self.ask(&mut *named_policy.policy, tally, observer)?;
        }
        Ok(())
    }

    /// Runs a policy on the instances, and adds the results to its tally.
    fn ask(
        &self,
        policy: &mut dyn Policy,
        tally: &mut Tally,
        observer: &dyn Observer,
    ) -> Result<(), Error> {
        let cases = &self.cases;
        let reordered = cases.iter().take(REORDERED.saturating_sub(tally.reordered()));
        let reordered: Vec<(Case, Vec<usize>)> = reordered
            .map(|case| {
                let mut order: Vec<usize> = (0..self.size).collect();
                order.shuffle(&mut realization_rng(0x5eed, self.size, case.numbered.number));
                let instance = Arc::new(case.instance.part(&order));
                (Case { instance, ..*case }, order)
            })
            .collect();
        // Only policies of the caller cannot be copied.
        let forked = policy.fork();
        let is_own = forked.is_none();
        let (outcomes, again) = match forked {
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
                let again = reordered.iter().map(|(case, _)| Asked::of(&mut *policy, case));
                (parts.into_iter().flatten().collect(), again.collect())
            }
            None => {
                let mut interview = Interview { outcomes: Vec::new(), since: 0 };
                policy.prepare(&cases.iter().map(|case| &case.instance).collect::<Vec<_>>());
                for case in cases {
                    if observer.stop() {
                        return Err(Error::Interrupted);
                    }
                    observer.done(1);
                    interview.ask(policy, case);
                }
                for (case, _) in &reordered {
                    interview.ask(policy, case);
                }
                interview.look_back(policy.doubt(true));
                let mut outcomes = interview.outcomes;
                let again = outcomes.split_off(cases.len());
                (outcomes, again)
            }
        };
        for ((one, two), (case, order)) in outcomes.iter().zip(&again).zip(&reordered) {
            let both = one.verdict.is_ok() && two.verdict.is_ok();
            let change = both.then(|| largest_change(&one.outputs, &two.outputs, order));
            tally.reorder(case.numbered.number, change);
        }
        for (case, Asked { verdict, outputs, seconds }) in cases.iter().zip(&outcomes) {
            match verdict {
                Ok(verdict) => {
                    tally.time(*seconds);
                    tally.add(verdict);
                    if is_own {
                        let pairs = case.instance.features().into_iter().zip(outputs);
                        pairs.for_each(|(x, &y)| tally.sample(case.numbered.number, x, y));
                    }
                }
                Err(why) => {
                    tally.fail();
                    tally.explain(why, case.numbered);
                }
            }
        }
        Ok(())
    }
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
    /// Creates the result from the tallies of each size and policy.
    fn new(
        problem: &Arc<dyn Problem>,
        (samples, seeds): (u64, Vec<u64>),
        named_policies: &[NamedPolicy],
        tallies: &[Vec<Tally>],
    ) -> Self {
        let about = problem.about();
        let mut found = Self {
            problem: about.name,
            objective: String::new(),
            reference: about.policies.first().map_or("optimum", |first| first.name),
            samples,
            seeds,
            rows: Vec::new(),
            failures: Vec::new(),
            samples_of: Vec::new(),
        };
        for (place, NamedPolicy { name, .. }) in named_policies.iter().enumerate() {
            let mut rows = Vec::new();
            for tally in tallies.iter().filter_map(|at_size| at_size.get(place)) {
                found.rows.push(tally.standing(name));
                rows.extend(tally.rows());
                if let Some(objective) = tally.objective() {
                    objective.clone_into(&mut found.objective);
                }
            }
            found.samples_of.push((name.clone(), rows));
        }
        for tallies in tallies {
            let named = named_policies.iter().zip(tallies);
            found.failures.extend(named.flat_map(|(named, tally)| tally.failures(&named.name)));
        }
        found
    }

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
