//! Comparison and diagnosis of policies, including Python functions from a cell to an allocation.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyk::core::{
    self, Allocation, Comparison, Instance, NamedPolicy, Outcome, Policy, Problem, Rounds, Status,
    compare, compare_on,
};
use anyk::diagnosis::{
    FEWEST_INSTANCES, FEWEST_SAMPLES, Finding, Samples, Subject, built_in, quantities,
};
use anyk::exchange::{SampleRow, read_samples};
use anyk::framework::{CellOptions, Error, OptionSpec, Verb};
use anyk::problems::BUILT_IN;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::batch::Batch;
use crate::cells::{Cell, Kind, about, json, with_text};
use crate::errors::{InputError, OrRaise as _};
use crate::models::Model;
use crate::options::{hint, known};
use crate::separable::like;
use crate::work::{Watch, long};

/// Python policy, called on the caller's thread. The Python side wraps the user's function such that `call(cell)`
/// returns the seconds that the function took, and either one list of numbers for each amount or, as a string, the
/// reason why there is no allocation.
#[derive(Clone)]
struct Asked {
    call: Arc<Py<PyAny>>,
    kind: Arc<Kind>,
    watch: Arc<Watch>,
}

/// Values of each amount of a problem, or the reason why there are none.
type Amounts = Result<Vec<Vec<f64>>, String>;

/// Extracts the amounts, or the reason, from the result of a Python policy.
fn amounts_of(answer: &Bound<'_, PyAny>) -> PyResult<Amounts> {
    if let Ok(reason) = answer.extract::<String>() {
        return Ok(Err(reason));
    }
    Ok(Ok(answer.extract::<Vec<Vec<f64>>>()?))
}

impl Asked {
    /// Builds the Python cell of an instance.
    fn cell(kind: &Arc<Kind>, instance: Arc<Instance>) -> Cell {
        Cell { kind: Arc::clone(kind), instance }
    }

    /// Calls the function for one instance. Returns its result and the seconds that it took.
    fn one(&self, instance: Arc<Instance>) -> (Amounts, f64) {
        let (call, kind) = (Arc::clone(&self.call), Arc::clone(&self.kind));
        let asked = self.watch.call(move |py| {
            let cell = Bound::new(py, Self::cell(&kind, instance))?;
            let answer = call.bind(py).call1((cell,))?;
            let (answer, seconds): (Bound<'_, PyAny>, f64) = answer.extract()?;
            Ok((amounts_of(&answer)?, seconds))
        });
        asked.unwrap_or_else(|| (Err("the call to the policy was interrupted".to_owned()), 0.0))
    }

    /// Calls a batched function for many instances. Returns the results and the seconds that the call took.
    fn many(&self, instances: Vec<Arc<Instance>>) -> (Vec<Amounts>, f64) {
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

/// Policy that calls a Python function for one cell at a time or for many.
struct Function {
    asked: Asked,
    /// Whether the function takes a list of cells.
    batch: bool,
    /// Results of the last batch that have not been returned, in the order of the instances.
    known: VecDeque<Amounts>,
    /// Seconds that the function took for one cell.
    seconds: f64,
}

impl Function {
    fn new(call: &Arc<Py<PyAny>>, batch: bool, kind: Arc<Kind>, watch: &Arc<Watch>) -> Self {
        let asked = Asked { call: Arc::clone(call), kind, watch: Arc::clone(watch) };
        Self { asked, batch, known: VecDeque::new(), seconds: 0.0 }
    }

    fn amounts(&mut self, instance: &Instance) -> Amounts {
        if let Some(known) = self.known.pop_front() {
            return known;
        }
        // Python code may keep the cell, so it gets a copy of the instance.
        let every: Vec<usize> = (0..instance.size().users).collect();
        let instance = Arc::new(instance.part(&every));
        if self.batch {
            let (mut answers, seconds) = self.asked.many(vec![instance]);
            self.seconds = seconds;
            return answers
                .pop()
                .unwrap_or_else(|| Err("the policy returned no allocation".to_owned()));
        }
        let (amounts, seconds) = self.asked.one(instance);
        self.seconds = seconds;
        amounts
    }
}

impl Policy for Function {
    fn prepare(&mut self, instances: &[&Arc<Instance>]) {
        self.known.clear();
        if !self.batch || instances.is_empty() {
            return;
        }
        let all = instances.iter().map(|instance| Arc::clone(instance)).collect();
        let (answers, seconds) = self.asked.many(all);
        self.seconds = seconds / instances.len() as f64;
        if answers.len() == instances.len() {
            self.known = answers.into();
        }
    }

    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        use anyk::framework::Observer as _;
        if self.asked.watch.stop() {
            return Err(Error::Interrupted);
        }
        let amounts = match self.amounts(instance) {
            Ok(amounts) => amounts,
            Err(why) => return Ok(Outcome::Refused(why)),
        };
        if let Some(value) = amounts.iter().flatten().find(|value| !value.is_finite()) {
            let why = format!("an amount is {value}, expected a finite number");
            return Ok(Outcome::Refused(why));
        }
        into.amounts = amounts;
        into.seconds = Some(self.seconds);
        Ok(Outcome::Served(Status::Heuristic))
    }
}

/// Arguments of `evaluate` and `diagnose` in Python, in addition to the options.
const ARGUMENTS: [&str; 12] = [
    "problem", "cells", "sizes", "samples", "seed", "seeds", "progress", "quantity", "users",
    "train_k", "check", "policies",
];

/// Returns the options of random cells. Python has other arguments for their number, sizes and seeds.
fn of_drawn(about: &core::About) -> Vec<OptionSpec> {
    let verbs = [Verb::Evaluate, Verb::Assess, Verb::Sample];
    let mut specs: Vec<_> = verbs.into_iter().flat_map(|verb| (about.flags)(verb)).collect();
    // Only the evaluation of one model judges under another fading distribution.
    specs.retain(|spec| !["k", "count", "seed", "fading"].contains(&spec.name));
    specs
}

/// Policy from the arguments of `evaluate`.
enum Given {
    Baseline(String),
    Model(Arc<dyn core::Model>),
    Function { call: Arc<Py<PyAny>>, batch: bool },
}

/// Compares policies on the same instances and returns the comparison as JSON. `policies` has pairs of a name and a
/// policy: the name of a baseline, a `Model`, or `(function, batch)`. The instances are the given `cells`, random
/// instances of a problem, or random instances that resemble `template`, a user-defined problem.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn evaluate(
    py: Python<'_>,
    problem: &str,
    policies: &Bound<'_, PyList>,
    cells: Option<&Bound<'_, Batch>>,
    template: Option<&Bound<'_, Cell>>,
    sizes: Vec<usize>,
    samples: u64,
    seeds: Vec<u64>,
    options: &Bound<'_, PyDict>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let own = match (cells, template) {
        (Some(cells), _) => Some(Arc::clone(&cells.get().kind)),
        (None, Some(template)) => Some(like(py, template.get(), options, &ARGUMENTS)?),
        (None, None) => None,
    };
    let about = own.as_ref().map_or_else(|| about(py, problem), |kind| Ok(kind.about()))?;
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
            let own = model.about();
            // The two problems of links have the same columns, so a model of one also works for the other.
            let is_alike =
                own.is_of_arrays() && own.inputs == about.inputs && own.amounts == about.amounts;
            if own.name != problem && !is_alike {
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
    let first = given.iter().find_map(|(_, policy)| match policy {
        Given::Model(model) => Some(model.trained_options()),
        _ => None,
    });
    let kind = match own {
        Some(kind) => kind,
        None => {
            let what = format!("policies for {problem}");
            let mut options = known(py, options, &of_drawn(about), &ARGUMENTS, &what)?;
            if let Some(trained) = first {
                options = options.over_trained(&trained);
            }
            Kind::made(about, options).or_raise(py)?
        }
    };
    let baselines: Vec<&str> = about.policies.iter().map(|row| row.name).collect();
    for (_, policy) in &given {
        if let Given::Baseline(name) = policy
            && !baselines.contains(&name.as_str())
        {
            let (all, hint) = (baselines.join(", "), hint(py, name, baselines));
            return Err(InputError::new_err(format!(
                "{name:?} is not a policy of {}, expected one of {all}{hint}",
                about.name
            )));
        }
    }
    let rounds = Rounds::new(sizes, samples, seeds);
    let cells = cells.map(|cells| Arc::clone(&cells.get().instances));
    let found = long(py, progress, move |watch| -> Result<String, Error> {
        let mut named_policies: Vec<NamedPolicy> = Vec::new();
        for (name, policy) in &given {
            named_policies.push(named_policy(name, policy, &kind, watch)?);
        }
        let all: Comparison = match &cells {
            None => compare(&kind.problem, &rounds, &mut named_policies, &**watch)?,
            Some(cells) => compare_on(&kind.problem, cells, &mut named_policies, &**watch)?,
        };
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

/// Builds a policy of the comparison.
fn named_policy(
    name: &str,
    policy: &Given,
    kind: &Arc<Kind>,
    watch: &Arc<Watch>,
) -> Result<NamedPolicy, Error> {
    match policy {
        Given::Baseline(baseline) => NamedPolicy::built_in(name, &*kind.problem, baseline)
            .unwrap_or(Err(Error::OtherProblem)),
        Given::Model(model) => NamedPolicy::model(name, &**model, &*kind.problem),
        Given::Function { call, batch } => {
            let policy = Box::new(Function::new(call, *batch, Arc::clone(kind), watch));
            Ok(NamedPolicy { name: name.to_owned(), policy })
        }
    }
}

/// Returns the size law of a policy and the recommended network, found in the samples of the comparison.
fn size_law(policy: &str, rows: &[SampleRow]) -> serde_json::Value {
    let (law, network) = match Finding::law_of_rows(policy, rows) {
        Err(why) => (format!("unknown: {why}"), None),
        Ok((law, network)) => (law, Some(network)),
    };
    serde_json::json!({ "policy": policy, "size_law": law, "recommended": network })
}

/// Subject of a diagnosis, from the arguments of `diagnose`.
enum PolicySource {
    BuiltIn(String),
    Model(Arc<dyn core::Model>),
    Function(Arc<Py<PyAny>>),
    Rows(Vec<SampleRow>),
}

/// Returns the index of the amount that `quantity` names, with or without its unit. If the problem has only
/// one amount, the default quantity selects it.
fn amount_of(py: Python<'_>, about: &core::About, quantity: &str) -> PyResult<usize> {
    let names: Vec<&str> = about.amounts.iter().map(|amount| amount.name).collect();
    let is_meant = |name: &&str| *name == quantity || name.split('_').next() == Some(quantity);
    let only = names.len() == 1 && quantity == quantities()[0];
    names.iter().position(is_meant).or(only.then_some(0)).ok_or_else(|| {
        let short = names.iter().filter_map(|name| name.split('_').next());
        let hint = hint(py, quantity, names.iter().copied().chain(short));
        let all = names.join(", ");
        InputError::new_err(format!("quantity is {quantity:?}, expected one of {all}{hint}"))
    })
}

/// Runs a policy on given instances. Returns the samples for each K that has enough of them, and the number of K that
/// have too few.
fn sampled(
    policy: &mut dyn Policy,
    instances: &[Arc<Instance>],
    amount: usize,
) -> Result<(Samples, usize), Error> {
    let mut by_size: BTreeMap<usize, Vec<SampleRow>> = BTreeMap::new();
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    let mut allocation = Allocation::default();
    for (index, instance) in (0..).zip(instances) {
        let k = instance.size().users;
        let rows = by_size.entry(k).or_default();
        allocation.reset(instance.about().amounts, instance.size());
        let Outcome::Served(_) = policy.allocate(instance, &mut allocation)? else { continue };
        *counts.entry(k).or_default() += 1;
        let pairs = instance.features().into_iter().zip(instance.outputs(&allocation, amount));
        rows.extend(pairs.map(|(x, y)| SampleRow { k, x, y, instance: Some(index) }));
    }
    let all = by_size.len();
    by_size.retain(|k, rows| {
        let count = counts.get(k).copied().unwrap_or_default();
        count >= FEWEST_INSTANCES && rows.len() >= FEWEST_SAMPLES
    });
    if by_size.len() < 2 {
        return Err(Error::Array(format!(
            "a size law needs at least two values of K, each with at least {FEWEST_INSTANCES} cells and \
             {FEWEST_SAMPLES} users in total; {} of {all} values have enough. Add cells, or leave out `cells` to \
             diagnose the policy on random cells",
            by_size.len()
        )));
    }
    let left_out = all - by_size.len();
    let rows: Vec<SampleRow> = by_size.into_values().flatten().collect();
    Ok((Samples::from_rows(&rows)?, left_out))
}

/// Diagnoses the size law of a policy. Returns the finding as JSON, with the text that the program prints.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn diagnose(
    py: Python<'_>,
    policy: &Bound<'_, PyAny>,
    problem: Option<&str>,
    cells: Option<&Bound<'_, Batch>>,
    template: Option<&Bound<'_, Cell>>,
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
        PolicySource::Model(Arc::clone(&model.get().model))
    } else if let Ok(name) = policy.extract::<String>() {
        PolicySource::BuiltIn(name)
    } else if let Ok(rows) = policy.extract::<Vec<Row>>() {
        let row = |(k, x, y, instance)| SampleRow { k, x, y, instance };
        PolicySource::Rows(rows.into_iter().map(row).collect())
    } else {
        PolicySource::Function(Arc::new(policy.clone().unbind()))
    };
    let sizes = sizes.unwrap_or_else(|| Finding::SIZES.to_vec());
    let users = users.unwrap_or(Finding::USERS);
    let drawn = move |mut subject: Subject| -> Result<(Finding, Samples), Error> {
        let samples = subject.sample(&sizes, users, seed)?;
        Ok((Finding::of_subject(&mut subject, &samples, train_k, seed)?, samples))
    };
    type Found = Result<(Finding, Samples), Error>;
    type Find = Box<dyn FnOnce(&Arc<Watch>) -> Found + Send>;
    let given = match (cells, template) {
        (Some(cells), _) => Some(Arc::clone(&cells.get().kind)),
        (None, Some(template)) => Some(like(py, template.get(), options, &ARGUMENTS)?),
        (None, None) => None,
    };
    let left_out = Arc::new(AtomicUsize::new(0));
    let find: Find = match (patient, cells) {
        (PolicySource::Rows(_) | PolicySource::BuiltIn(_), Some(_)) => {
            return Err(InputError::new_err(
                "cells: expected a function of a cell or a model, which AnyK can call for them",
            ));
        }
        (patient, Some(cells)) => {
            let batch = cells.get();
            let (kind, instances) = (Arc::clone(&batch.kind), Arc::clone(&batch.instances));
            let amount = amount_of(py, kind.about(), quantity)?;
            let (name, left_out) = (kind.about().amounts[amount].name, Arc::clone(&left_out));
            Box::new(move |watch| {
                let (mut policy, of): (Box<dyn Policy>, String) = match patient {
                    PolicySource::Function(call) => {
                        let of = format!("a policy for {}", kind.about().name);
                        (Box::new(Function::new(&call, false, kind, watch)), of)
                    }
                    PolicySource::Model(model) => {
                        let of = model.describe();
                        (NamedPolicy::model(&of, &*model, &*kind.problem)?.policy, of)
                    }
                    PolicySource::Rows(_) | PolicySource::BuiltIn(_) => {
                        return Err(Error::OtherProblem);
                    }
                };
                let (samples, few) = sampled(&mut *policy, &instances, amount)?;
                left_out.store(few, Ordering::Relaxed);
                let label = format!("{name} of {of}, on given cells");
                Ok((Finding::of_samples(&label, &samples, train_k, seed), samples))
            })
        }
        (patient, None) => match patient {
            PolicySource::BuiltIn(name) => {
                let options =
                    known(py, options, &CellOptions::ALL.specs(), &ARGUMENTS, "a diagnosis")?;
                let Some(subject) = Subject::built_in(&name, &options) else {
                    let names: Vec<&str> = built_in().into_iter().map(|known| known.0).collect();
                    let (all, hint) = (names.join(", "), hint(py, &name, names));
                    return Err(InputError::new_err(format!(
                        "policy is {name:?}, expected one of {all}{hint}"
                    )));
                };
                let subject = subject.or_raise(py)?;
                Box::new(move |_| drawn(subject))
            }
            PolicySource::Model(model) => {
                known(
                    py,
                    options,
                    &[],
                    &ARGUMENTS,
                    "a diagnosis of a model, whose file contains the cell",
                )?;
                if problem.is_some_and(|problem| problem != model.about().name) {
                    let (given, own) = (problem.unwrap_or_default(), model.about().name);
                    return Err(InputError::new_err(format!(
                        "problem is {given:?}, expected {own}, the problem of the model"
                    )));
                }
                let short = quantity.split('_').next().unwrap_or_default();
                let short = if short == "x" { quantities()[0] } else { short };
                let Some(quantity) = quantities().into_iter().find(|known| *known == short) else {
                    return Err(InputError::new_err(format!(
                        "quantity is {quantity:?}, expected {}",
                        quantities().join(" or ")
                    )));
                };
                Box::new(move |_| drawn(Subject::model(&*model, quantity)?))
            }
            PolicySource::Rows(rows) => Box::new(move |_| {
                let samples = Samples::from_rows(&rows)?;
                Ok((Finding::of_samples("samples", &samples, train_k, seed), samples))
            }),
            PolicySource::Function(call) => {
                let kind = match given {
                    Some(kind) => kind,
                    None => {
                        let about = about(py, problem.unwrap_or(BUILT_IN[0].name))?;
                        let options = known(py, options, &of_drawn(about), &ARGUMENTS, about.name)?;
                        Kind::made(about, options).or_raise(py)?
                    }
                };
                let about = kind.about();
                let amount = about.amounts[amount_of(py, about, quantity)?].name;
                let label = format!("{amount} of a policy for {}", about.name);
                Box::new(move |watch| {
                    let problem: Arc<dyn Problem> = Arc::clone(&kind.problem);
                    let policy = Box::new(Function::new(&call, false, kind, watch));
                    drawn(Subject::policy(label, problem, policy, amount)?)
                })
            }
        },
    };
    let found = long(py, progress, move |watch| -> Result<String, Error> {
        let (mut finding, samples) = find(watch)?;
        if check {
            finding.check(&samples, seed)?;
        }
        let diagnosis = &finding.diagnosis;
        let mut samples_text = diagnosis.samples_text();
        match left_out.load(Ordering::Relaxed) {
            0 => {}
            few => samples_text.push_str(&format!("; {few} other K have too few cells")),
        }
        let text = serde_json::json!({
            "policy": diagnosis.label,
            "samples": samples_text,
            "equivariant": diagnosis.order.text(),
            "function_of_x_and_k": diagnosis.decoupling_text(),
            "size_invariant": diagnosis.invariance_text(),
            "size_law": diagnosis.law_text(),
            "recommended": finding.recommendation.pair_text(),
            "reason": finding.recommendation.reason,
        });
        let tables: Vec<_> = finding.tables().iter().map(with_text).collect();
        json(&serde_json::json!({ "text": text, "finding": &finding, "tables": tables }))
    })?;
    found.or_raise(py)
}

/// Row of samples: K, input, output and, if known, the instance.
type Row = (usize, f64, f64, Option<u64>);

/// Reads samples of a policy from the bytes of a CSV file.
#[pyfunction]
pub(crate) fn samples_of_file(py: Python<'_>, bytes: &[u8], name: PathBuf) -> PyResult<Vec<Row>> {
    let rows = read_samples(bytes, &name.display().to_string()).or_raise(py)?;
    Ok(rows.into_iter().map(|row| (row.k, row.x, row.y, row.instance)).collect())
}
