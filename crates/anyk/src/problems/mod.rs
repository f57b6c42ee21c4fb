//! Problems, one folder each: formulation and judge, solvers, networks and their training.
//!
//! To add a problem, add a folder here with its `mod` line and a line in [`BUILT_IN`], or [`register`] a row from
//! your own program.

pub mod closed_forms;
pub mod interference;
pub mod separable;
pub mod urllc;
pub mod urllc_power;

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use crate::core::{
    About, Allocation, Allotments, Answering, CLASSES, Instance, Model, Problem, Reader, Trained,
};
use crate::exchange::read_file;
use crate::framework::{
    Error, ModelError, ModelFile, OptionSpec, OptionValue, Options, Silent, TrainingContext, Verb,
};
use crate::invalid::Invalid;

/// Problems of this library, in order: a problem may use only those that precede it.
pub static BUILT_IN: &[&About] = &[
    &urllc::URLLC,
    &urllc_power::URLLC_POWER,
    &closed_forms::QOS_POWER,
    &closed_forms::EQUAL_BANDWIDTH,
    &interference::INTERFERENCE,
    &interference::LINK_SCHEDULING,
    &separable::SEPARABLE,
];

static ADDED: RwLock<Vec<&'static About>> = RwLock::new(Vec::new());

/// Registers your own problem. Returns an error if the name is taken, or if [`About::parameters`] does not list an
/// option that is a number: AnyK would ignore its value in a file.
pub fn register(about: &'static About) -> Result<(), Invalid> {
    if named(about.name).is_some() {
        let expected = "a name that no other problem has";
        return Err(Invalid::value("the name of the problem", about.name, expected));
    }
    let listed = (about.parameters)();
    for spec in (about.flags)(Verb::Solve) {
        let is_number = matches!(spec.value, OptionValue::Number(_) | OptionValue::Whole(_));
        if is_number && !listed.iter().any(|(parameter, _)| parameter.option == spec.name) {
            return Err(Invalid::value(
                "an option of the problem",
                spec.name,
                "one in About::parameters",
            ));
        }
    }
    ADDED.write().unwrap_or_else(PoisonError::into_inner).push(about);
    Ok(())
}

/// Returns all problems: those of this library, and the registered ones.
pub fn all() -> Vec<&'static About> {
    let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
    BUILT_IN.iter().chain(added.iter()).copied().collect()
}

/// Returns the problem with a name.
pub fn named(name: &str) -> Option<&'static About> {
    all().into_iter().find(|about| about.name == name)
}

/// Returns the names of options of problems and models whose value may be the name of a file.
pub fn file_options() -> BTreeSet<&'static str> {
    let of = |about: &'static About| Verb::ALL.iter().flat_map(|(_, verb)| (about.flags)(*verb));
    let all = all().into_iter().flat_map(of);
    all.filter(OptionSpec::may_be_file).map(|spec| spec.name).collect()
}

/// Builds a problem by name. The options can be those of [`Verb::Solve`], [`Verb::Assess`], [`Verb::Evaluate`] and
/// [`Verb::Sample`].
pub fn problem(name: &str, options: &Options) -> Result<Arc<dyn Problem>, Error> {
    let about = known(name)?;
    let verbs = [Verb::Solve, Verb::Assess, Verb::Evaluate, Verb::Sample];
    let flags: Vec<_> = verbs.into_iter().flat_map(|verb| (about.flags)(verb)).collect();
    options.refuse_others(&flags, name)?;
    (about.make)(options)
}

/// Trains a policy for a problem, with options of [`Verb::Train`].
pub fn train(problem: &str, options: &Options) -> Result<Trained, Error> {
    let about = known(problem)?;
    let what = format!("training of {problem}");
    options.refuse_others(&(about.flags)(Verb::Train), &what)?;
    let train = about.train.ok_or(Error::NothingToTrain(about.name))?;
    train(options, &TrainingContext { observer: &Silent, out: None, shared: None })
}

/// Reads a model from a file.
pub fn load(path: impl AsRef<Path>) -> Result<Arc<dyn Model>, Error> {
    let path = path.as_ref();
    let bytes = read_file(path).map_err(|source| Error::Read { path: path.into(), source })?;
    read_model(&bytes).map_err(|error| Error::from(error).in_file(path.display().to_string()))
}

pub(crate) fn known(name: &str) -> Result<&'static About, Invalid> {
    named(name).ok_or_else(|| {
        let names: Vec<&str> = all().iter().map(|about| about.name).collect();
        Invalid::value("problem", name, format!("one of {}", names.join(", ")))
    })
}

/// Returns a reader for the records of a problem.
pub fn reader(about: &'static About) -> Reader {
    Reader::new(about, &all())
}

/// Returns the reader for the records of a problem, with the service classes of the option `classes`, and the other
/// options.
fn reading(about: &'static About, options: &Options) -> Result<(Reader, Options), Error> {
    let (reader, mut others) = (reader(about), options.clone());
    let Some(path) = options.text(CLASSES) else { return Ok((reader, others)) };
    others.remove(CLASSES);
    let unread = |source| Error::Read { path: path.into(), source };
    let bytes = read_file(path.as_ref()).map_err(unread)?;
    Ok((reader.with_classes(&bytes, path)?, others))
}

/// Returns the loop that solves the instances of documents, with options of [`Verb::Solve`].
pub fn solving(about: &'static About, options: &Options) -> Result<Answering, Error> {
    options.refuse_others(&(about.flags)(Verb::Solve), about.name)?;
    let (reader, options) = reading(about, options)?;
    let problem = (about.make)(&options)?;
    let (policy, best) = (problem.best()?, problem.best()?);
    let checks = !options.has("no-check");
    Ok(Answering::by_policy(reader, &problem, policy, best, checks))
}

/// Returns the loop that answers the instances of documents with a model and compares the answers with the best known
/// allocation, with options of [`Verb::Allocate`].
pub fn allocating(model: &dyn Model, options: &Options) -> Result<Answering, Error> {
    let (reader, options) = reading(model.about(), options)?;
    let problem = model.problem(&options)?;
    let mut explained = options.clone();
    explained.set("explain", "");
    let (policy, best) = (model.policy(&explained)?, problem.policy(None)?);
    let checks = !options.has("no-check");
    Ok(Answering::by_policy(reader, &problem, policy, best, checks))
}

/// Returns the loop that judges the allocations in a file, with options of [`Verb::Assess`].
pub fn assessing(
    about: &'static About,
    options: &Options,
    allocations: Box<dyn Read + Send>,
    name: &str,
) -> Result<Answering, Error> {
    options.refuse_others(&(about.flags)(Verb::Assess), about.name)?;
    let (reader, options) = reading(about, options)?;
    let problem = (about.make)(&options)?;
    let (allocations, best) = (Allotments::new(about, allocations, name), problem.best()?);
    Ok(Answering::by_file(reader, &problem, allocations, name, best))
}

/// Reads a model of any problem. Rejects a file that is damaged or truncated, was not written by AnyK or has an
/// unsupported version, and a model that does not return valid amounts for random cells.
pub fn read_model(bytes: &[u8]) -> Result<Arc<dyn Model>, ModelError> {
    let file = ModelFile::read(bytes)?;
    let load = named(file.problem()).and_then(|about| about.load);
    let unknown = || ModelError::UnknownProblem(file.problem().to_owned());
    let model = load.ok_or_else(unknown)?(file)?;
    probe(&*model)?;
    Ok(model)
}

/// Numbers of users in the random cells that check a new model. There are only two, since preparing a price policy
/// takes milliseconds for each.
const SIZES: [usize; 2] = [1, 100];
/// Number of random cells for each number of users.
const CELLS: u64 = 8;
/// Seed of the random cells.
const SEED: u64 = 0x0B5E_55ED;

/// Rejects a model that does not return valid amounts (numbers that are not negative and within the budget) for
/// random cells from its training distribution. A file may have the right shape and checksum and still be damaged
/// or malicious.
fn probe(model: &dyn Model) -> Result<(), ModelError> {
    let refuse = |size: usize, error: Error| {
        let what = if size == 1 { "user" } else { "users" };
        ModelError::Content(format!("the model has no answer for {size} {what}: {error}"))
    };
    let ready = || Ok((model.drawn_from()?, model.policy(&Options::default())?));
    let (problem, mut policy) = ready().map_err(|error| refuse(1, error))?;
    let mut allocation = Allocation::default();
    for size in SIZES {
        for index in 0..CELLS {
            let mut ask = |size: usize| {
                let instance = Instance::drawn(&problem, SEED, size, index)?;
                instance.allocate(&mut *policy, &mut allocation)
            };
            match ask(size) {
                // A fully connected network supports a limited number of users.
                Err(Error::Model(ModelError::TooLarge { most, .. })) => ask(most),
                other => other,
            }
            .map_err(|error| refuse(size, error))?;
        }
    }
    Ok(())
}
