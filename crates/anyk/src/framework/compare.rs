//! Policies side by side: any number of them on the same random instances, all judged alike.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::exchange::{Allotment, Documents, Input, SampleRow, to_json};
use crate::framework::options::field_of;
use crate::framework::standing::{Standing, Tally, table};
use crate::framework::{
    Amount, AssessDesk, CellOptions, Error, Instance, LoadedModel, Observer, Options, Outcome,
    Responder, Room, Show, Text, Verb, Verdict,
};
use crate::invalid::{Fault, Invalid};
use crate::math::realization_rng;

/// A random instance, as it is and as a line of a file has it.
pub struct Case {
    /// The instance.
    pub instance: Arc<dyn Instance>,
    /// The same as JSON, for programs.
    pub text: Vec<u8>,
    seed: u64,
    index: u64,
}

/// What a [`Contestant`] gives the users of an instance.
pub enum Given {
    /// Numbers, in the order of [`Instance::amounts`].
    Amounts(Vec<Vec<f64>>),
    /// One JSON document, in the form that `assess` reads.
    Document(Vec<u8>),
}

/// A policy that is known by its answers alone: a program, or a function of the caller's.
pub trait Contestant: Send {
    /// An allocation for an instance; else why there is none, in words.
    fn answer(&mut self, case: &Case) -> Result<Given, String>;

    /// All instances of a size, which will be asked for one after the other: one that answers many at once may do so
    /// now.
    fn prepare(&mut self, _cases: &[&Case]) {}

    /// Seconds that the last answer took, where asking for it takes longer than the answer itself.
    fn seconds(&mut self) -> Option<f64> {
        None
    }

    /// An answer could not be judged: it may be out of step, and starts anew.
    fn restart(&mut self) {}

    /// What it has said unasked since it was last asked this, if anything: then nobody knows which of its answers was
    /// for which instance. `at_rest` if it is not about to be asked again, so that there is time to look.
    fn surplus(&mut self, _at_rest: bool) -> Option<String> {
        None
    }
}

/// What makes a policy ready for options, which may depend on the size.
pub type MakeResponder<'a> =
    Box<dyn Fn(&Options) -> Result<Box<dyn Responder>, Error> + Send + Sync + 'a>;

/// One of the policies.
pub struct Player<'a> {
    /// How tables name it.
    pub name: String,
    /// What it is.
    pub policy: PlayerPolicy<'a>,
}

/// What a [`Player`] is.
pub enum PlayerPolicy<'a> {
    /// A solver or a model, asked on all cores.
    Responder(MakeResponder<'a>),
    /// Anything else, asked for one instance after the other.
    Contestant(Box<dyn Contestant + 'a>),
}

impl<'a> Player<'a> {
    /// One of the baselines of a room; none where it has no such.
    pub fn baseline(name: &str, room: &'static dyn Room, baseline: &str) -> Option<Self> {
        let (baseline, _) = room.baselines().iter().find(|known| known.0 == baseline)?;
        let make = move |options: &Options| {
            let known = room.options(Verb::Solve);
            match room.responder(baseline, &options.only(&known)) {
                Some(responder) => responder,
                None => Err(Error::NothingToTrain(room.name())),
            }
        };
        Some(Self { name: name.to_owned(), policy: PlayerPolicy::Responder(Box::new(make)) })
    }

    /// A model, on instances that the options describe; refused in a cell that it does not know, since what it
    /// allocates would be for another.
    pub fn model(
        name: &str,
        model: &'a dyn LoadedModel,
        options: &Options,
    ) -> Result<Self, Invalid> {
        let (known, home) = (model.options(Verb::Allocate), model.home());
        for field in home.names().filter(|name| !known.iter().any(|spec| spec.name == *name)) {
            let (Some(own), Some(here)) = (home.text(field), options.text(field)) else { continue };
            if own != here && own.parse::<f64>() != here.parse::<f64>() {
                let expected = format!("{own}, which {name} was trained for; any-gnn takes any");
                return Err(Invalid::value(field_of(field), here, expected));
            }
        }
        let make = move |options: &Options| model.responder(&options.only(&known));
        Ok(Self { name: name.to_owned(), policy: PlayerPolicy::Responder(Box::new(make)) })
    }
}

/// Completes the options of instances by those of the cell that a model was trained for.
pub fn complete_by_home(options: &mut Options, home: &Options) {
    // A file describes the whole cell.
    if options.has("config") {
        return;
    }
    // Another path loss has parameters of its own.
    let other = options.has("path-loss");
    for name in home.names().filter(|name| !(other && CellOptions::is_of_path_loss(name))) {
        if let (false, Some(value)) = (options.has(name), home.text(name)) {
            options.set(name, value);
        }
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
    seconds: f64,
}

/// Asks all players for the same random instances of a problem.
pub fn compare(
    room: &dyn Room,
    options: &Options,
    rounds: &Rounds,
    players: &mut [Player<'_>],
    observer: &dyn Observer,
) -> Result<Comparison, Error> {
    let reference = room.baselines().first().map_or("optimum", |first| first.0);
    let mut found = Comparison {
        problem: room.name(),
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
        let options = room.sized(options, size)?;
        let round = Round::draw(room, &options, rounds, size)?;
        for (place, player) in players.iter_mut().enumerate() {
            let standing = stand(room, &options, player, &round, observer)?;
            let Stood { standing, failures, rows, objective } = standing;
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
    /// Draws the instances of a size, states each once, and solves each once.
    fn draw(
        room: &dyn Room,
        options: &Options,
        rounds: &Rounds,
        size: usize,
    ) -> Result<Self, Error> {
        let known = room.options(Verb::Sample);
        let instances = room.instances(&options.only(&room.options(Verb::Assess)))?;
        let mut cases = Vec::new();
        for &seed in &rounds.seeds {
            let mut options = options.only(&known);
            options.set("k", size.to_string());
            options.set("count", rounds.samples.to_string());
            options.set("seed", seed.to_string());
            let mut text = Vec::new();
            // What describes the cell may have no meaning for where its users are.
            while let Err(mut error) = room.sample(&options, &mut text) {
                let stray =
                    error.invalid().filter(|wrong| matches!(wrong.fault, Fault::Stray { .. }));
                let option = stray.map(|wrong| wrong.field.replace('_', "-"));
                match option.filter(|option| options.has(option)) {
                    Some(option) => options.remove(&option),
                    None => {
                        // The caller's name of it.
                        if let Error::Invalid(wrong) = &mut error
                            && wrong.field == "count"
                        {
                            wrong.field = "samples".into();
                        }
                        return Err(error);
                    }
                }
            }
            let mut documents = Documents::new(&*text);
            let unread = |source| Error::Read { path: "the instances".into(), source };
            let mut index = 0;
            while let Some(batch) = documents.next_batch().map_err(unread)? {
                for at in 0..batch.len() {
                    let Some(input) = batch.input(at, "the instances") else { continue };
                    for instance in instances.of_document(input) {
                        index += 1;
                        let (instance, text) = (Arc::from(instance?), input.bytes.to_vec());
                        cases.push(Case { instance, text, seed, index });
                    }
                }
            }
        }
        let drawn = cases.len();
        let feasible: Vec<bool> = cases
            .par_iter()
            .map(|case| Ok(case.instance.reference()?.is_some()))
            .collect::<Result<_, Error>>()?;
        let mut served = feasible.into_iter();
        cases.retain(|_| served.next().unwrap_or(false));
        let moved = cases.iter().take(REORDERED).enumerate().map_while(|(index, case)| {
            let mut order: Vec<usize> = (0..size).collect();
            order.shuffle(&mut realization_rng(0x5eed, size, index as u64));
            let instance = Arc::from(case.instance.reordered(&order));
            let text = reorder(&case.text, &order)?;
            Some((Case { instance, text, ..*case }, order))
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
fn stand(
    room: &dyn Room,
    options: &Options,
    player: &mut Player<'_>,
    round: &Round,
    observer: &dyn Observer,
) -> Result<Stood, Error> {
    let Round { size, drawn, cases, reordered } = round;
    let (outcomes, again) = match &mut player.policy {
        PlayerPolicy::Responder(make) => {
            // One for each thread, which has made its tables before the clock runs.
            let share = cases.len().div_ceil(rayon::current_num_threads()).max(1);
            let part = |part: &[Case]| -> Result<Vec<Asked>, Error> {
                let mut policy = make(options)?;
                if let Some(first) = part.first() {
                    let _ = Asked::of(&mut *policy, &*first.instance);
                }
                let one = |case: &Case| {
                    observer.done(1);
                    Asked::of(&mut *policy, &*case.instance)
                };
                Ok(part.iter().map(one).collect())
            };
            let parts: Vec<Vec<Asked>> =
                cases.par_chunks(share).map(part).collect::<Result<_, Error>>()?;
            let mut policy = make(options)?;
            let again = reordered.iter().map(|(case, _)| Asked::of(&mut *policy, &*case.instance));
            (parts.into_iter().flatten().collect(), again.collect())
        }
        PlayerPolicy::Contestant(contestant) => {
            let assessor = room.assess(&options.only(&room.options(Verb::Assess)))?;
            let mut interview =
                Interview { judge: assessor.desk()?, outcomes: Vec::new(), since: 0 };
            contestant.prepare(&cases.iter().collect::<Vec<_>>());
            for case in cases {
                if observer.stop() {
                    return Err(Error::Interrupted);
                }
                observer.done(1);
                interview.ask(&mut **contestant, case);
            }
            for (case, _) in reordered {
                interview.ask(&mut **contestant, case);
            }
            interview.look_back(contestant.surplus(true));
            let mut outcomes = interview.outcomes;
            let again = outcomes.split_off(cases.len());
            (outcomes, again)
        }
    };
    let pairs = outcomes.iter().zip(&again).zip(reordered);
    let change = pairs.filter_map(|((one, two), (_, order))| {
        let (Ok(one), Ok(two)) = (&one.verdict, &two.verdict) else { return None };
        Some(largest_change(&one.pairs.1, &two.pairs.1, order))
    });
    let reorder_change =
        change.fold(None, |most: Option<f64>, one| Some(most.unwrap_or(0.0).max(one)));
    let mut tally = Tally::new(*size);
    for Asked { verdict, seconds } in &outcomes {
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
    let rows = outcomes.iter().enumerate().flat_map(|(instance, outcome)| {
        let pairs = outcome.verdict.as_ref().map(|verdict| &verdict.pairs).ok();
        let pairs = pairs.into_iter().flat_map(|(x, y)| x.iter().zip(y));
        pairs.map(move |(&x, &y)| SampleRow { k: *size, x, y, instance: Some(instance as u64) })
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
    /// Asks a solver or a model: the time is that of the policy alone.
    fn of(policy: &mut dyn Responder, instance: &dyn Instance) -> Self {
        let room_for = |amount: &Amount| vec![0.0; amount.len(instance.size())];
        let mut amounts: Vec<Vec<f64>> = instance.amounts().iter().map(room_for).collect();
        let mut columns: Vec<&mut [f64]> = amounts.iter_mut().map(Vec::as_mut_slice).collect();
        let started = Instant::now();
        let outcome = policy.respond(instance, &mut columns);
        let seconds = started.elapsed().as_secs_f64();
        let verdict = match outcome {
            Err(error) => Err(error.to_string()),
            Ok(Outcome::Infeasible(_)) => {
                Err("it says that the budget does not serve everyone".to_owned())
            }
            Ok(Outcome::Refused(why)) => Err(why.to_string()),
            Ok(_) => judged(instance, &amounts),
        };
        Self { verdict, seconds }
    }
}

/// The verdict on amounts, or why there is none.
fn judged(instance: &dyn Instance, amounts: &[Vec<f64>]) -> Result<Verdict, String> {
    let columns: Vec<&[f64]> = amounts.iter().map(Vec::as_slice).collect();
    instance.judge(&columns).map_err(|error| error.to_string())
}

/// Answers of a contestant, one after the other.
struct Interview<'a> {
    /// Judges documents.
    judge: Box<dyn AssessDesk + 'a>,
    outcomes: Vec<Asked>,
    /// The first of those that came since it was started, or found to have said nothing unasked.
    since: usize,
}

impl Interview<'_> {
    fn ask(&mut self, contestant: &mut dyn Contestant, case: &Case) {
        let surplus = contestant.surplus(false);
        let unasked = surplus.is_some();
        self.look_back(surplus);
        if unasked {
            contestant.restart();
        }
        let started = Instant::now();
        let given = contestant.answer(case);
        let elapsed = started.elapsed().as_secs_f64();
        let seconds = contestant.seconds().unwrap_or(elapsed);
        let verdict = given.and_then(|given| match given {
            Given::Amounts(amounts) => judged(&*case.instance, &amounts),
            Given::Document(answer) => self.judged(&answer, &case.text),
        });
        let failed = verdict.is_err();
        self.outcomes.push(Asked { verdict, seconds });
        if failed {
            self.look_back(contestant.surplus(false));
            contestant.restart();
            self.since = self.outcomes.len();
        }
    }

    /// The verdict on a document, or why there is none.
    fn judged(&mut self, answer: &[u8], text: &[u8]) -> Result<Verdict, String> {
        let allotment = Allotment::of_json(Input::new(answer, "the answer"));
        let allotment = allotment.map_err(|error| error.to_string())?;
        if let Some(reason) = &allotment.absent {
            return Err(format!("there is no allocation; in its place: {reason}"));
        }
        let input = Input::new(text, "the instance");
        let verdicts = self.judge.assess(input, &|_, _| Ok(allotment.clone()));
        let verdict = verdicts.into_iter().next().ok_or("there is no verdict")?;
        verdict.map_err(|error| error.to_string())
    }

    /// With a line too many, none of the answers since it was last in step is believed.
    fn look_back(&mut self, surplus: Option<String>) {
        let Some(surplus) = surplus else { return };
        let believed = |asked: &&mut Asked| asked.verdict.is_ok();
        for asked in self.outcomes[self.since..].iter_mut().filter(believed) {
            asked.verdict = Err(format!(
                "expected one line for each instance, received another before it was asked, so that nobody knows \
                 which answer is whose: {surplus}"
            ));
        }
        self.since = self.outcomes.len();
    }
}

/// The same instance with its users or links in another order: user `order[i]` comes to place `i`.
fn reorder(text: &[u8], order: &[usize]) -> Option<Vec<u8>> {
    let fields: BTreeMap<&str, &RawValue> = serde_json::from_slice(text).ok()?;
    let list = |value: &RawValue| -> Option<Vec<Box<RawValue>>> {
        let list: Vec<Box<RawValue>> = serde_json::from_str(value.get()).ok()?;
        (list.len() == order.len()).then_some(list)
    };
    let moved = |list: &[Box<RawValue>]| -> Vec<Box<RawValue>> {
        order.iter().filter_map(|&at| list.get(at).cloned()).collect()
    };
    let mut found: BTreeMap<&str, Box<RawValue>> = BTreeMap::new();
    for (name, value) in fields {
        let value = match list(value) {
            None => value.to_owned(),
            Some(rows) => {
                let mut rows = moved(&rows);
                // Of a matrix the columns, too.
                for row in &mut rows {
                    if let Some(columns) = list(row) {
                        *row = serde_json::value::to_raw_value(&moved(&columns)).ok()?;
                    }
                }
                serde_json::value::to_raw_value(&rows).ok()?
            }
        };
        found.insert(name, value);
    }
    to_json(&found).ok().map(String::into_bytes)
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

impl Show for Comparison {
    fn show(&self) -> Text {
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
    fn users_and_matrices_change_places() {
        let users = br#"{"users":[{"id":"a"},{"id":"b"},{"id":"c"}],"cell":7}"#;
        let moved = reorder(users, &[2, 0, 1]).unwrap();
        assert_eq!(
            String::from_utf8(moved).unwrap(),
            r#"{"cell":7,"users":[{"id":"c"},{"id":"a"},{"id":"b"}]}"#
        );
        let gains = br#"{"gains":[[1,2],[3,4]],"weights":[5,6]}"#;
        let moved = reorder(gains, &[1, 0]).unwrap();
        assert_eq!(String::from_utf8(moved).unwrap(), r#"{"gains":[[4,3],[2,1]],"weights":[6,5]}"#);
    }

    #[test]
    fn a_change_is_seen_whatever_the_order() {
        assert!(largest_change(&[1.0, 2.0, 3.0], &[3.0, 1.0, 2.0], &[2, 0, 1]) < 1e-15);
        assert!(largest_change(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0], &[2, 0, 1]) > 0.5);
    }
}
