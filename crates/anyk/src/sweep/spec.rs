//! Specification of a sweep, checked before any work starts.

use std::sync::Arc;

use rayon::prelude::*;
use toml::{Table as TomlTable, Value as Toml};

use super::settings::{Combination, Dimension, files};
use super::slices::Slice;
use crate::SOURCES;
use crate::core::{About, Instance, NamedPolicy, Problem};
use crate::exchange::{shorten, slip_of};
use crate::framework::{
    CellOptions, Error, ErrorKind, Observer, OptionSpec, OptionValue, Options, TrainingContext,
    Verb, WrongList, read_seeds, read_sizes,
};
use crate::invalid::Invalid;
use crate::limits::{MOST_LINKS, MOST_USERS};
use crate::problems;

/// Keys of a specification.
const KEYS: [&str; 8] =
    ["problem", "policies", "k", "samples", "seeds", "test_seed", "options", "train"];
/// Largest number of instances for each number of users: beyond it, the random streams of two sizes may overlap.
const MOST_SAMPLES: u64 = 1 << 24;
/// Largest number of slices of a sweep.
const MOST_SLICES: u64 = 1_000_000;
/// Default number of instances, seed of training and seed of the instances.
const DEFAULTS: (u64, u64, u64) = (100, 1, 7);
/// Name of the method of a problem with a single one.
const TRAINED: &str = "trained";
/// Option with the name of the method to train.
pub(super) const METHOD: &str = "method";
/// Option with the seed of a training run.
pub(super) const SEED: &str = "seed";

/// Sweep over policies, sizes, options and seeds, with all settings checked.
///
/// ```
/// use anyk::{framework::{Share, Silent}, sweep::Sweep};
/// let spec = "problem = 'urllc'\npolicies = ['equal-power']\nk = [1, 5]\nsamples = 10\n[options]\nmax-power-dbm = [40, 43]";
/// let table = Sweep::parse(spec)?.run_all(&Share::default(), &Silent)?;
/// assert_eq!(table.rows.len(), 4);
/// # Ok::<(), anyk::Error>(())
/// ```
pub struct Sweep {
    pub(super) about: &'static About,
    pub(super) policies: Vec<SweptPolicy>,
    pub(super) cells: Vec<Cell>,
    pub(super) sizes: Vec<usize>,
    pub(super) samples: u64,
    pub(super) seeds: Vec<u64>,
    pub(super) test_seed: u64,
    pub(super) slices: Vec<Slice>,
    /// Objective with its unit.
    pub(super) objective: String,
    /// Names of the options of the instances that have a column.
    pub(super) of_cells: Vec<&'static str>,
    /// Names of the options of training that have a column.
    pub(super) of_training: Vec<&'static str>,
    settings: String,
}

/// Policy of a sweep.
pub(super) struct SweptPolicy {
    pub(super) name: String,
    /// Combinations of training options; `None` for a policy that needs no training.
    pub(super) trainings: Option<Vec<Combination>>,
}

/// Combination of options of the instances, with its problem.
pub(super) struct Cell {
    pub(super) combination: Combination,
    pub(super) problem: Arc<dyn Problem>,
}

impl Sweep {
    /// Reads a specification in TOML, or in JSON with the same fields. Checks all values except those that only a
    /// training run can check; see [`check`](Self::check).
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > CellOptions::MOST_BYTES {
            return Err(Error::LongConfig);
        }
        let given: TomlTable = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(Error::other)?
        } else {
            toml::from_str(text)?
        };
        if let Some(key) = given.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let shown = shorten(key);
            return Err(match slip_of(key, &KEYS) {
                Some(meant) => Invalid::unknown(shown, meant),
                None => Invalid::value("a key", shown, format!("one of {}", KEYS.join(", "))),
            }
            .into());
        }
        let about = match given.get("problem") {
            None => return Err(Invalid::missing("problem", "the name of a problem").into()),
            Some(Toml::String(name)) => problems::known(name)?,
            Some(other) => return Err(wrong("problem", other, "the name of a problem").into()),
        };
        let sizes = sizes(about, given.get("k"))?;
        let (samples, seed, test_seed) = DEFAULTS;
        let samples = whole("samples", given.get("samples"), (1, MOST_SAMPLES))?.unwrap_or(samples);
        let test_seed =
            whole("test_seed", given.get("test_seed"), (0, u64::MAX))?.unwrap_or(test_seed);
        let seeds = match given.get("seeds") {
            None => vec![seed],
            Some(value) => listed("seeds", value, read_seeds)?,
        };
        let names = policies(about, given.get("policies"))?;
        let (cells, of_cells) = cells(about, section("options", given.get("options"))?)?;
        let methods = methods(about);
        let is_trained = |name: &String| methods.contains(&name.as_str());
        let trained: Vec<&String> = names.iter().filter(|name| is_trained(name)).collect();
        let table = section("train", given.get("train"))?;
        let (mut trainings, of_training) = trainings(about, table, &trained)?;
        let policies: Vec<SweptPolicy> = names
            .iter()
            .map(|name| {
                let trainings = is_trained(name).then(|| trainings.remove(0));
                SweptPolicy { name: name.clone(), trainings }
            })
            .collect();
        for policy in policies.iter().filter(|policy| policy.trainings.is_none()) {
            for Cell { problem, .. } in &cells {
                NamedPolicy::built_in(&policy.name, &**problem, &policy.name).transpose()?;
            }
        }
        let least = sizes.iter().copied().min().unwrap_or(1);
        let objective = Instance::drawn(&cells[0].problem, test_seed, least, 0)?.goal().to_string();
        let mut sweep = Self {
            about,
            policies,
            cells,
            sizes,
            samples,
            seeds,
            test_seed,
            slices: Vec::new(),
            objective,
            of_cells,
            of_training,
            settings: String::new(),
        };
        if sweep.count() > MOST_SLICES {
            let expected = format!("at most {MOST_SLICES}; sweep over less at a time");
            return Err(Invalid::value("the number of slices", sweep.count(), expected).into());
        }
        sweep.slices = sweep.all_slices();
        sweep.settings = sweep.described()?;
        Ok(sweep)
    }

    /// Returns all settings that determine the results, as text. Two sweeps with equal settings have equal results.
    pub fn settings(&self) -> &str {
        &self.settings
    }

    fn described(&self) -> Result<String, Error> {
        let of = |verbs: &[Verb]| -> Vec<OptionSpec> {
            verbs.iter().flat_map(|verb| (self.about.flags)(*verb)).collect()
        };
        let (of_cells, of_training) = (of(&[Verb::Assess, Verb::Sample]), of(&[Verb::Train]));
        let mut parts = vec![format!("{SOURCES} {}", self.about.name)];
        for Cell { combination, .. } in &self.cells {
            parts.push(format!("{:?}", combination.options));
            parts.extend(files(&combination.options, &of_cells)?);
        }
        for SweptPolicy { name, trainings } in &self.policies {
            parts.push(name.clone());
            for training in trainings.iter().flatten() {
                parts.push(format!("{:?}", training.options));
                parts.extend(files(&training.options, &of_training)?);
            }
        }
        let Self { sizes, samples, seeds, test_seed, .. } = self;
        parts.push(format!("{sizes:?} {samples} {seeds:?} {test_seed}"));
        Ok(parts.join("\n"))
    }

    /// Checks the settings of all training runs, by starting each of them and stopping it at once.
    pub fn check(&self) -> Result<(), Error> {
        let all = self.policies.iter().flat_map(|policy| {
            let trainings = policy.trainings.iter().flatten();
            trainings.flat_map(move |training| {
                self.cells.iter().map(move |cell| (policy, training, cell))
            })
        });
        all.collect::<Vec<_>>().into_par_iter().try_for_each(|(policy, training, cell)| {
            let options = self.training_options(policy, training, cell, self.seeds[0]);
            match self.train(&options, &Stopped) {
                // A cell that cannot be served is a result.
                Err(error)
                    if !matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::Infeasible) =>
                {
                    Err(error)
                }
                _ => Ok(()),
            }
        })
    }

    /// Returns the options of a training run.
    pub(super) fn training_options(
        &self,
        policy: &SweptPolicy,
        training: &Combination,
        cell: &Cell,
        seed: u64,
    ) -> Options {
        let known = (self.about.flags)(Verb::Train);
        let mut options = training.options.over(&cell.combination.options.only(&known));
        if known.iter().any(|spec| spec.name == METHOD) {
            options.set(METHOD, &policy.name);
        }
        options.set(SEED, seed.to_string());
        options
    }

    /// Trains a model.
    pub(super) fn train(
        &self,
        options: &Options,
        observer: &dyn Observer,
    ) -> Result<crate::core::Trained, Error> {
        let train = self.about.train.ok_or(Error::NothingToTrain(self.about.name))?;
        train(options, &TrainingContext { observer, out: None, shared: None })
    }
}

/// Observer that stops the work at once.
struct Stopped;

impl Observer for Stopped {
    fn stop(&self) -> bool {
        true
    }
}

fn wrong(field: &'static str, given: &Toml, expected: impl Into<String>) -> Invalid {
    Invalid::value(field, shorten(&given.to_string()), expected.into())
}

/// Reads a whole number. TOML reads numbers such as 1e6 as floats; they are accepted as well.
fn whole(
    field: &'static str,
    given: Option<&Toml>,
    (least, most): (u64, u64),
) -> Result<Option<u64>, Invalid> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let number = match given {
        None => return Ok(None),
        Some(Toml::Integer(number)) => u64::try_from(*number).ok(),
        Some(Toml::Float(x)) if x.fract().abs() <= 0.0 && (0.0..1e15).contains(x) => {
            Some(*x as u64)
        }
        Some(Toml::String(text)) => text.trim().parse().ok(),
        Some(_) => None,
    };
    match (number.filter(|number| (least..=most).contains(number)), given) {
        (None, Some(given)) => {
            let expected = if most == u64::MAX {
                format!("a whole number from {least}")
            } else {
                format!("a whole number from {least} to {most}")
            };
            Err(wrong(field, given, expected))
        }
        (number, _) => Ok(number),
    }
}

/// Reads a list of whole numbers: a number, an array of numbers, or text with ranges.
fn listed<T>(
    field: &'static str,
    given: &Toml,
    read: fn(&str) -> Result<Vec<T>, WrongList>,
) -> Result<Vec<T>, Invalid> {
    let text = match given {
        Toml::String(text) => text.clone(),
        Toml::Integer(number) => number.to_string(),
        Toml::Array(all) if !all.is_empty() && all.iter().all(Toml::is_integer) => {
            all.iter().map(Toml::to_string).collect::<Vec<_>>().join(",")
        }
        other => {
            let expected = "a whole number, an array of them, or text such as \"1,2,5\"";
            return Err(wrong(field, other, expected));
        }
    };
    read(&text)
        .map_err(|WrongList { part, expected }| Invalid::value(field, shorten(&part), expected))
}

/// Reads the numbers of users.
fn sizes(about: &About, given: Option<&Toml>) -> Result<Vec<usize>, Invalid> {
    let Some(given) = given else {
        return Err(Invalid::missing("k", "numbers of users, such as [1, 10, 100]"));
    };
    let sizes = listed("k", given, read_sizes)?;
    let (most, what) =
        if about.is_of_arrays() { (MOST_LINKS, "links") } else { (MOST_USERS, "users") };
    match sizes.iter().find(|&&size| size > most) {
        Some(size) => Err(Invalid::value("k", size, format!("at most {most} {what}"))),
        None => Ok(sizes),
    }
}

/// Returns the names of the methods that can be trained for a problem.
fn methods(about: &About) -> Vec<&'static str> {
    if about.train.is_none() {
        return Vec::new();
    }
    let specs = (about.flags)(Verb::Train);
    match specs.into_iter().find(|spec| spec.name == METHOD).map(|spec| spec.value) {
        Some(OptionValue::Choice(names)) => {
            let shown = names.iter().filter(|(_, help)| !help.is_empty());
            shown.map(|(name, _)| *name).collect()
        }
        _ => vec![TRAINED],
    }
}

/// Reads the names of the policies.
fn policies(about: &About, given: Option<&Toml>) -> Result<Vec<String>, Invalid> {
    let mut known = methods(about);
    for row in about.policies {
        if !known.contains(&row.name) {
            known.push(row.name);
        }
    }
    let expected = || format!("names of policies: {}", known.join(", "));
    let all = match given {
        None => return Err(Invalid::missing("policies", expected())),
        Some(Toml::Array(all)) if !all.is_empty() => all.as_slice(),
        Some(one @ Toml::String(_)) => std::slice::from_ref(one),
        Some(other) => return Err(wrong("policies", other, expected())),
    };
    let mut names: Vec<String> = Vec::new();
    for one in all {
        let Some(name) = one.as_str().filter(|name| known.contains(name)) else {
            let meant = one.as_str().and_then(|name| {
                let plain: Vec<String> = known.iter().map(|name| name.replace('-', "_")).collect();
                let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
                let name = name.replace('-', "_");
                let meant = slip_of(&name, &plain).unwrap_or(&name);
                plain.iter().position(|one| *one == meant).map(|place| known[place])
            });
            let hint = meant.map_or(String::new(), |meant| format!("; did you mean {meant}?"));
            return Err(wrong("policies", one, expected() + &hint));
        };
        if names.iter().any(|known| known == name) {
            return Err(wrong("policies", one, "each policy only once"));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

/// Returns a table of the specification; an empty one if it is missing.
fn section<'t>(
    name: &'static str,
    given: Option<&'t Toml>,
) -> Result<Vec<(&'t String, &'t Toml)>, Invalid> {
    match given {
        None => Ok(Vec::new()),
        Some(Toml::Table(table)) => Ok(table.iter().collect()),
        Some(other) => Err(wrong(name, other, "a table of options")),
    }
}

/// Returns the names of the swept options.
fn swept(dimensions: &[Dimension]) -> impl Iterator<Item = &'static str> + '_ {
    dimensions.iter().filter(|dimension| dimension.is_swept).map(|dimension| dimension.option)
}

/// Builds the problems for all combinations of the options of instances, with the names of the swept options.
fn cells(
    about: &'static About,
    given: Vec<(&String, &Toml)>,
) -> Result<(Vec<Cell>, Vec<&'static str>), Error> {
    // The sweep itself decides which instances are drawn.
    let drawing = about.sample_options("", "");
    let known = [Verb::Assess, Verb::Sample].into_iter().flat_map(|verb| (about.flags)(verb));
    let known: Vec<OptionSpec> =
        known.filter(|spec| !drawing.iter().any(|own| own.name == spec.name)).collect();
    let dimensions = Dimension::all(given, &known, &format!("instances of {}", about.name))?;
    let build = |combination: Combination| {
        let problem = (about.make)(&combination.options)?;
        Ok(Cell { combination, problem })
    };
    let cells = Combination::all(&dimensions)?.into_iter().map(build);
    Ok((cells.collect::<Result<_, Error>>()?, swept(&dimensions).collect()))
}

/// Returns the combinations of training options of each method, with the names of the swept options. Options in a
/// table with the name of a method apply only to this method.
fn trainings(
    about: &About,
    given: Vec<(&String, &Toml)>,
    methods: &[&String],
) -> Result<(Vec<Vec<Combination>>, Vec<&'static str>), Error> {
    if methods.is_empty() && !given.is_empty() {
        return Err(Invalid::stray("train", "policies that need no training").into());
    }
    let mut known = (about.flags)(Verb::Train);
    known.retain(|spec| ![METHOD, SEED].contains(&spec.name));
    let what = format!("the training of {}; policies and seeds have their own keys", about.name);
    let (of_one, of_all): (Vec<_>, Vec<_>) =
        given.into_iter().partition(|(_, value)| value.is_table());
    for (name, _) in &of_one {
        if !methods.contains(name) {
            let names: Vec<&str> = methods.iter().map(|name| name.as_str()).collect();
            let expected = format!("the name of a trained policy: {}", names.join(", "));
            return Err(Invalid::value("a table in train", shorten(name), expected).into());
        }
    }
    let common = Dimension::all(of_all, &known, &what)?;
    let (mut all, mut columns) = (Vec::new(), Vec::new());
    for &method in methods {
        let own = of_one.iter().find(|(name, _)| *name == method);
        let own = section("train", own.map(|(_, value)| *value))?;
        let own = Dimension::all(own, &known, &what)?;
        let is_own = |one: &Dimension| own.iter().any(|other| other.option == one.option);
        let mut dimensions: Vec<Dimension> =
            common.iter().filter(|one| !is_own(one)).cloned().collect();
        dimensions.extend(own.iter().cloned());
        for name in swept(&dimensions) {
            if !columns.contains(&name) {
                columns.push(name);
            }
        }
        all.push(Combination::all(&dimensions)?);
    }
    Ok((all, columns))
}
