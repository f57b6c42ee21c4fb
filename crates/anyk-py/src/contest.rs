//! Policies of the user's, in comparisons and diagnoses: functions from a cell to what its users get.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use anyk::diagnosis::{Finding, Samples, Subject, built_in, built_in_named};
use anyk::exchange::{SampleRow, read_samples};
use anyk::framework::{
    Case, CellOptions, Contestant, Draw, Error, Given as Answer, Instance, LoadedModel, Options,
    Pairs, Player, PlayerPolicy, Quantity, Refusal, Room, Rounds, Source, Verb, compare,
    complete_by_home,
};
use anyk::{Config, System};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::cells::{Cell, Kind, json, room};
use crate::errors::{InputError, OrRaise as _};
use crate::models::Model;
use crate::options::known;
use crate::work::{Watch, lock, long};

/// A function of the user's that is asked on the caller's thread. `call(cell)` gives its amounts as lists of numbers, in
/// the order of the cell's amounts, or why there are none, as a text: the Python side has seen to that.
#[derive(Clone)]
struct Asked {
    call: Arc<Py<PyAny>>,
    kind: Arc<Kind>,
    watch: Arc<Watch>,
}

type Amounts = Result<Vec<Vec<f64>>, String>;

/// What the Python side hands back: amounts, or a reason.
fn amounts_of(answer: &Bound<'_, PyAny>) -> PyResult<Amounts> {
    if let Ok(reason) = answer.extract::<String>() {
        return Ok(Err(reason));
    }
    Ok(Ok(answer.extract::<Vec<Vec<f64>>>()?))
}

impl Asked {
    fn cell(kind: &Arc<Kind>, instance: Arc<dyn Instance>) -> Cell {
        Cell { kind: Arc::clone(kind), instance }
    }

    /// The answer to one instance, and the seconds that the function took.
    fn one(&self, instance: Arc<dyn Instance>) -> (Amounts, f64) {
        let (call, kind) = (Arc::clone(&self.call), Arc::clone(&self.kind));
        let asked = self.watch.call(move |py| {
            let cell = Bound::new(py, Self::cell(&kind, instance))?;
            let answer = call.bind(py).call1((cell,))?;
            let (answer, seconds): (Bound<'_, PyAny>, f64) = answer.extract()?;
            Ok((amounts_of(&answer)?, seconds))
        });
        asked.unwrap_or_else(|| (Err("it was not asked to the end".to_owned()), 0.0))
    }

    /// The answers to many instances at once.
    fn many(&self, instances: Vec<Arc<dyn Instance>>) -> (Vec<Amounts>, f64) {
        let (call, kind) = (Arc::clone(&self.call), Arc::clone(&self.kind));
        let asked = self.watch.call(move |py| {
            let cells = PyList::empty(py);
            for instance in instances {
                cells.append(Bound::new(py, Self::cell(&kind, instance))?)?;
            }
            let answer = call.bind(py).call1((cells,))?;
            let (answers, seconds): (Vec<Bound<'_, PyAny>>, f64) = answer.extract()?;
            let amounts = answers.iter().map(amounts_of).collect::<PyResult<Vec<Amounts>>>()?;
            Ok((amounts, seconds))
        });
        asked.unwrap_or_default()
    }
}

/// A function in a comparison.
struct Function {
    asked: Asked,
    /// Whether it answers many cells at once.
    batch: bool,
    /// Its answers in advance, in the order of the questions.
    known: VecDeque<Amounts>,
    seconds: f64,
}

impl Contestant for Function {
    fn prepare(&mut self, cases: &[&Case]) {
        self.known.clear();
        if !self.batch || cases.is_empty() {
            return;
        }
        let instances = cases.iter().map(|case| Arc::clone(&case.instance)).collect();
        let (answers, seconds) = self.asked.many(instances);
        self.seconds = seconds / cases.len() as f64;
        if answers.len() == cases.len() {
            self.known = answers.into();
        }
    }

    fn answer(&mut self, case: &Case) -> Result<Answer, String> {
        let instance = &case.instance;
        let amounts = match self.known.pop_front() {
            Some(known) => known,
            None if self.batch => {
                let (mut answers, seconds) = self.asked.many(vec![Arc::clone(instance)]);
                self.seconds = seconds;
                answers.pop().unwrap_or_else(|| Err("there is no answer".to_owned()))
            }
            None => {
                let (amounts, seconds) = self.asked.one(Arc::clone(instance));
                self.seconds = seconds;
                amounts
            }
        }?;
        let unfit = amounts.iter().flatten().find(|value| !value.is_finite());
        if let Some(value) = unfit {
            return Err(format!("an amount is {value}, expected finite numbers"));
        }
        Ok(Answer::Amounts(amounts))
    }

    fn seconds(&mut self) -> Option<f64> {
        Some(self.seconds)
    }
}

/// A policy as Python hands it over.
enum Given {
    Baseline(String),
    Model(Arc<dyn LoadedModel>),
    Function { call: Arc<Py<PyAny>>, batch: bool },
}

/// Policies side by side on the same random instances, as JSON. `policies` are `(name, policy)`, a policy being the name
/// of a baseline, a `Model`, or `(function, batch)`.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn evaluate(
    py: Python<'_>,
    problem: &str,
    policies: &Bound<'_, PyList>,
    sizes: Vec<usize>,
    samples: u64,
    seeds: Vec<u64>,
    options: &Bound<'_, PyDict>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let room = room(problem)?;
    let mut specs = room.options(Verb::Evaluate);
    specs.extend(room.options(Verb::Assess));
    specs.extend(room.options(Verb::Sample));
    let mut options = known(py, options, &specs, &format!("policies for {problem}"))?;
    if options.has("k") || options.has("count") || options.has("seed") {
        return Err(InputError::new_err(
            "k, count: expected sizes, samples and seed in their place",
        ));
    }
    if sizes.is_empty() || seeds.is_empty() || samples == 0 {
        return Err(InputError::new_err("sizes, samples and seeds: expected at least one of each"));
    }
    if samples > 1_000_000_000 {
        return Err(InputError::new_err(format!(
            "samples is {samples}, expected at most 1000000000"
        )));
    }
    let mut given = Vec::new();
    for policy in policies {
        let (name, policy): (String, Bound<'_, PyAny>) = policy.extract()?;
        let policy = if let Ok(model) = policy.cast::<Model>() {
            let model = &model.get().model;
            // Schedules and powers of links are learned by one kind of network.
            let links = |name: &str| ["interference", "link-scheduling"].contains(&name);
            if model.problem() != problem && !(links(model.problem()) && links(problem)) {
                return Err(InputError::new_err(format!(
                    "{name} is {}, expected one for {problem}",
                    model.describe()
                )));
            }
            Given::Model(Arc::clone(model))
        } else if let Ok(name) = policy.extract::<String>() {
            Given::Baseline(name)
        } else {
            let (call, batch): (Py<PyAny>, bool) = policy.extract()?;
            Given::Function { call: Arc::new(call), batch }
        };
        given.push((name, policy));
    }
    at_home(&mut options, &given);
    // Cells of functions are of the largest size's kind; where options depend on the size, they are made for each.
    let mut kinds = Vec::new();
    for &size in &sizes {
        let sized = room.sized(&options, size).or_raise(py)?;
        let mut known = room.options(Verb::Assess);
        known.extend(room.options(Verb::Solve));
        kinds.push(Kind::of(py, room, sized.only(&known))?);
    }
    let rounds = Rounds { sizes, samples, seeds };
    let found = long(py, progress, move |watch| -> Result<String, Error> {
        let mut all: Option<anyk::framework::Comparison> = None;
        // One size at a time, since the cells of functions depend on it.
        for (size, kind) in rounds.sizes.iter().zip(&kinds) {
            let mut players: Vec<Player<'_>> = Vec::new();
            for (name, policy) in &given {
                players.push(player((room, &options), name, policy, kind, watch)?);
            }
            let round = Rounds { sizes: vec![*size], ..rounds.clone() };
            let found = compare(room, &options, &round, &mut players, &**watch)?;
            match &mut all {
                None => all = Some(found),
                Some(all) => {
                    all.rows.extend(found.rows);
                    all.failures.extend(found.failures);
                    for (known, (_, more)) in all.samples_of.iter_mut().zip(found.samples_of) {
                        known.1.extend(more);
                    }
                    if all.objective.is_empty() {
                        all.objective = found.objective;
                    }
                }
            }
        }
        let Some(mut all) = all else { return Err(Error::Array("there are no sizes".to_owned())) };
        let order = |name: &String| given.iter().position(|(known, _)| known == name);
        all.rows.sort_by_key(|row| order(&row.policy));
        let laws: Vec<serde_json::Value> = all
            .samples_of
            .iter()
            .filter(|(name, _)| {
                given.iter().any(|(known, policy)| {
                    known == name && matches!(policy, Given::Function { .. })
                })
            })
            .map(|(name, rows)| size_law(name, rows))
            .collect();
        let mut value = serde_json::to_value(&all).map_err(Error::other)?;
        value["size_laws"] = serde_json::Value::Array(laws);
        json(&value)
    })?;
    found.or_raise(py)
}

/// The cell of the first model, where the caller says nothing else.
fn at_home(options: &mut Options, given: &[(String, Given)]) {
    let first = given.iter().find_map(|(_, policy)| match policy {
        Given::Model(model) => Some(model.home()),
        _ => None,
    });
    if let Some(home) = first {
        complete_by_home(options, &home);
    }
}

fn player<'a>(
    (room, options): (&'static dyn Room, &Options),
    name: &str,
    policy: &'a Given,
    kind: &Arc<Kind>,
    watch: &Arc<Watch>,
) -> Result<Player<'a>, Error> {
    match policy {
        Given::Baseline(baseline) => Player::baseline(name, room, baseline).ok_or_else(|| {
            let names: Vec<&str> = room.baselines().iter().map(|known| known.0).collect();
            Error::Array(format!(
                "{baseline:?} is no policy of {}, expected one of {}",
                room.name(),
                names.join(", ")
            ))
        }),
        Given::Model(model) => Ok(Player::model(name, &**model, options)?),
        Given::Function { call, batch } => {
            let asked =
                Asked { call: Arc::clone(call), kind: Arc::clone(kind), watch: Arc::clone(watch) };
            let function = Function { asked, batch: *batch, known: VecDeque::new(), seconds: 0.0 };
            let policy = PlayerPolicy::Contestant(Box::new(function));
            Ok(Player { name: name.to_owned(), policy })
        }
    }
}

/// What the diagnosis finds in the answers of a function.
fn size_law(policy: &str, rows: &[SampleRow]) -> serde_json::Value {
    let (law, network) = match Finding::law_of_rows(policy, rows) {
        Err(why) => (format!("not known, since {why}"), None),
        Ok((law, network)) => (law, Some(network)),
    };
    serde_json::json!({ "policy": policy, "size_law": law, "recommended": network })
}

/// Cells in the order in which they are drawn, with their kind.
type Heap = (Option<Arc<Kind>>, Vec<Arc<dyn Instance>>);

/// A function on random cells, for a diagnosis.
struct OnCells {
    asked: Asked,
    label: String,
    room: &'static dyn Room,
    options: Options,
    /// Which of the amounts.
    amount: usize,
    /// By seed and size.
    drawn: Mutex<HashMap<(u64, usize), Heap>>,
}

impl OnCells {
    /// The cell of a number: cells are drawn in growing heaps, since each comes from all before it.
    fn instance(
        &self,
        seed: u64,
        size: usize,
        index: u64,
    ) -> Result<(Arc<Kind>, Arc<dyn Instance>), Error> {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let mut drawn = lock(&self.drawn);
        let (kind, known) = drawn.entry((seed, size)).or_default();
        if known.len() <= index {
            let count = (index + 1).next_power_of_two().max(64);
            let sized = self.room.sized(&self.options, size)?;
            let mut options = sized.only(&self.room.options(Verb::Sample));
            options.set("k", size.to_string());
            options.set("count", count.to_string());
            options.set("seed", seed.to_string());
            let mut text = Vec::new();
            self.room.sample(&options, &mut text)?;
            let of_cells = Kind::made(self.room, sized.only(&self.room.options(Verb::Assess)))?;
            *known = of_cells.read(&text).into_iter().collect::<Result<_, Error>>()?;
            *kind = Some(of_cells);
        }
        let none = || Error::Array(format!("there is no cell {index}"));
        match (kind, known.get(index)) {
            (Some(kind), Some(instance)) => Ok((Arc::clone(kind), Arc::clone(instance))),
            _ => Err(none()),
        }
    }
}

impl Source for OnCells {
    fn label(&self) -> String {
        self.label.clone()
    }

    fn at_size(&self, size: usize) -> Result<Box<dyn Draw + '_>, Error> {
        Ok(Box::new(OnCellsAtSize { of: self, size }))
    }
}

struct OnCellsAtSize<'a> {
    of: &'a OnCells,
    size: usize,
}

impl Draw for OnCellsAtSize<'_> {
    fn draw(
        &mut self,
        seed: u64,
        index: u64,
        order: Option<&[usize]>,
    ) -> Result<Option<Pairs>, Error> {
        use anyk::framework::Observer as _;
        if self.of.asked.watch.stop() {
            return Err(Error::Interrupted);
        }
        let (kind, mut instance) = self.of.instance(seed, self.size, index)?;
        if let Some(order) = order {
            instance = Arc::from(instance.reordered(order));
        }
        let x = instance.features();
        let asked = Asked { kind, ..self.of.asked.clone() };
        let amounts = match asked.one(instance).0 {
            Ok(amounts) => amounts,
            // A policy that has no answer for a cell that cannot be served says so.
            Err(_) => return Ok(None),
        };
        let unfit = |found: usize| {
            Error::other(Refusal(format!("the policy has {found} numbers for {} users", x.len())))
        };
        let y = match amounts.get(self.of.amount) {
            Some(values) if values.len() == x.len() => values.clone(),
            Some(values) if values.len() == 1 => vec![values[0]; x.len()],
            Some(values) => return Err(unfit(values.len())),
            None => return Err(unfit(0)),
        };
        Ok(Some((x, y)))
    }
}

/// What is to be diagnosed, as Python hands it over.
enum Patient {
    BuiltIn(String),
    Model(Arc<dyn LoadedModel>),
    Function(Arc<Py<PyAny>>),
    Rows(Vec<SampleRow>),
}

/// The size law of a policy, as JSON with the text of the program.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn diagnose(
    py: Python<'_>,
    policy: &Bound<'_, PyAny>,
    problem: Option<&str>,
    quantity: &str,
    sizes: Option<Vec<usize>>,
    users: Option<usize>,
    train_k: usize,
    seed: u64,
    check: bool,
    options: &Bound<'_, PyDict>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let patient = if let Ok(model) = policy.cast::<Model>() {
        Patient::Model(Arc::clone(&model.get().model))
    } else if let Ok(name) = policy.extract::<String>() {
        Patient::BuiltIn(name)
    } else if let Ok(rows) = policy.extract::<Vec<Row>>() {
        let row = |(k, x, y, instance)| SampleRow { k, x, y, instance };
        Patient::Rows(rows.into_iter().map(row).collect())
    } else {
        Patient::Function(Arc::new(policy.clone().unbind()))
    };
    let system = || -> PyResult<System> {
        let options = known(py, options, &CellOptions::ALL.specs(), "a diagnosis")?;
        CellOptions::ALL.system(&options, &Config::default()).or_raise(py)
    };
    let sizes = sizes.unwrap_or_else(|| Finding::SIZES.to_vec());
    let users = users.unwrap_or(Finding::USERS);
    let drawn = move |subject: &Subject| -> Result<(Finding, Samples), Error> {
        let samples = subject.sample(&sizes, users, seed)?;
        Ok((Finding::of_subject(subject, &samples, train_k, seed)?, samples))
    };
    type Found = Result<(Finding, Samples), Error>;
    type Find = Box<dyn FnOnce(&Arc<Watch>) -> Found + Send>;
    let find: Find = match patient {
        Patient::BuiltIn(name) => {
            let Some(policy) = built_in_named(&name) else {
                let names: Vec<&str> = built_in().map(|known| known.name).collect();
                return Err(InputError::new_err(format!(
                    "policy is {name:?}, expected one of {}",
                    names.join(", ")
                )));
            };
            let system = system()?;
            Box::new(move |_| drawn(&Subject::built_in(&system, policy)?))
        }
        Patient::Model(model) => {
            known(py, options, &[], "a diagnosis of a model: its file holds the cell")?;
            if problem.is_some_and(|problem| problem != model.problem()) {
                let (given, own) = (problem.unwrap_or_default(), model.problem());
                return Err(InputError::new_err(format!(
                    "problem is {given:?}, expected {own}, which the model is for"
                )));
            }
            if !["power", "power_w", "x", "bandwidth", "bandwidth_hz"].contains(&quantity) {
                return Err(InputError::new_err(format!(
                    "quantity is {quantity:?}, expected power or bandwidth"
                )));
            }
            let quantity = if quantity.starts_with("bandwidth") {
                Quantity::Bandwidth
            } else {
                Quantity::Power
            };
            Box::new(move |_| drawn(&Subject::model(&*model, quantity)?))
        }
        Patient::Rows(rows) => Box::new(move |_| {
            let samples = Samples::from_rows(&rows)?;
            Ok((Finding::of_samples("samples", &samples, train_k, seed), samples))
        }),
        Patient::Function(call) => {
            let room = room(problem.unwrap_or("urllc"))?;
            let mut specs = room.options(Verb::Assess);
            specs.extend(room.options(Verb::Sample));
            specs.extend(room.options(Verb::Evaluate));
            let options = known(py, options, &specs, room.name())?;
            let of_cells = room.sized(&options, 1).or_raise(py)?.only(&room.options(Verb::Assess));
            let kind = Kind::of(py, room, of_cells)?;
            let amounts = kind.amounts();
            let find = |name: &str| {
                amounts
                    .iter()
                    .position(|known| *known == name || known.split('_').next() == Some(name))
            };
            let Some(amount) = find(quantity) else {
                return Err(InputError::new_err(format!(
                    "quantity is {quantity:?}, expected one of {}",
                    amounts.join(", ")
                )));
            };
            let label = format!("{} of a policy for {}", amounts[amount], room.name());
            Box::new(move |watch| {
                let asked = Asked { call, kind, watch: Arc::clone(watch) };
                let source =
                    OnCells { asked, label, room, options, amount, drawn: Mutex::default() };
                drawn(&Subject::new(Arc::new(source)))
            })
        }
    };
    let found = long(py, progress, move |watch| -> Result<String, Error> {
        let (mut finding, samples) = find(watch)?;
        if check {
            finding.check(&samples, seed)?;
        }
        let diagnosis = &finding.diagnosis;
        let text = serde_json::json!({
            "policy": diagnosis.label,
            "samples": diagnosis.samples_text(),
            "equivariant": diagnosis.order.text(),
            "function_of_x_and_k": diagnosis.decoupling_text(),
            "size_invariant": diagnosis.invariance_text(),
            "size_law": diagnosis.law_text(),
            "recommended": finding.recommendation.pair_text(),
            "reason": finding.recommendation.reason,
        });
        let tables = finding.tables();
        json(&serde_json::json!({ "text": text, "finding": &finding, "tables": tables }))
    })?;
    found.or_raise(py)
}

/// A row of samples: K, input, output, instance.
type Row = (usize, f64, f64, Option<u64>);

/// Samples of a policy from the bytes of a CSV file.
#[pyfunction]
pub(crate) fn samples_of_file(py: Python<'_>, bytes: &[u8], name: PathBuf) -> PyResult<Vec<Row>> {
    let rows = read_samples(bytes, &name.display().to_string()).or_raise(py)?;
    Ok(rows.into_iter().map(|row| (row.k, row.x, row.y, row.instance)).collect())
}
