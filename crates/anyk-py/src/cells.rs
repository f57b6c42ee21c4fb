//! Cells in Python: instances of any problem, with solvers and the feasibility check.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyk::core::{self, About, ArrayView, Formulating, Instance, NamedArray, Problem, Reader};
use anyk::exchange::Input;
use anyk::framework::{Error, OptionSpec, OptionValue, Options, Verb};
use anyk::problems;
use numpy::{PyArray1, PyArrayMethods as _, PyReadonlyArrayDyn, PyUntypedArrayMethods as _};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::answers::{Allocation, allocate_one, shown, warn_once};
use crate::errors::{InputError, OrRaise as _};
use crate::options::{hint, known};
use crate::pickles::{self, Picked, Stored};
use crate::pool::{Pool, Source};
use crate::separable::{self, Cost};
use crate::work::long;

/// Problem with its options and its pools of solvers, shared by all its cells.
pub(crate) struct Kind {
    pub(crate) problem: Arc<dyn Problem>,
    /// Options that the caller set.
    pub(crate) options: Options,
    pub(crate) reader: Reader,
    /// Pools of solvers by name; `None` is the best solver.
    solvers: Mutex<BTreeMap<Option<String>, Arc<Pool>>>,
}

/// Returns the problem called `name`, or an error that lists all names.
pub(crate) fn about(py: Python<'_>, name: &str) -> PyResult<&'static About> {
    problems::named(name).ok_or_else(|| {
        let names: Vec<&str> = problems::all().iter().map(|about| about.name).collect();
        let (all, hint) = (names.join(", "), hint(py, name, names));
        InputError::new_err(format!("problem is {name:?}, expected one of {all}{hint}"))
    })
}

/// Maximum number of cached kinds. The cache matters because each kind builds its tables in milliseconds, and programs
/// create thousands of cells.
const MOST_KINDS: usize = 256;

impl Kind {
    /// Returns the kind of a problem with the given options, from the cache if possible.
    pub(crate) fn find(
        py: Python<'_>,
        name: &str,
        given: &Bound<'_, PyDict>,
    ) -> PyResult<Arc<Self>> {
        let about = about(py, name)?;
        // In Python, columns of users have other names. `_cells.py` gives hints for them.
        let columns = if about.is_of_arrays() { about.inputs } else { &[] };
        let arguments: Vec<&str> = columns.iter().map(|column| column.name).collect();
        let options = known(py, given, &Self::specs(about), &arguments, about.name)?;
        Self::made(about, options).or_raise(py)
    }

    /// Returns the options that cells of a problem accept.
    pub(crate) fn specs(about: &'static About) -> Vec<OptionSpec> {
        let mut specs = (about.flags)(Verb::Assess);
        specs.extend((about.flags)(Verb::Solve));
        // Switches only affect printed output.
        specs.retain(|spec| spec.value != OptionValue::Switch);
        specs
    }

    /// Returns the kind of a problem with checked options, from the cache if possible.
    pub(crate) fn made(about: &'static About, options: Options) -> Result<Arc<Self>, Error> {
        static KNOWN: Mutex<BTreeMap<String, Arc<Kind>>> = Mutex::new(BTreeMap::new());
        // A file may have changed by the next call, so kinds that read files are not cached.
        let file = |name: &str| options.text(name).is_some_and(|text| Path::new(text).exists());
        let kept = !options.names().any(file);
        let key = format!("{} {options:?}", about.name);
        let known = || KNOWN.try_lock().ok().and_then(|known| known.get(&key).cloned());
        if let Some(found) = kept.then(known).flatten() {
            return Ok(found);
        }
        let kind = Arc::new(Self::of((about.make)(&options)?, options));
        if let (true, Ok(mut known)) = (kept, KNOWN.try_lock()) {
            if known.len() >= MOST_KINDS {
                known.clear();
            }
            known.insert(key, Arc::clone(&kind));
        }
        Ok(kind)
    }

    /// Builds the kind of a problem.
    pub(crate) fn of(problem: Arc<dyn Problem>, options: Options) -> Self {
        let reader = problems::reader(problem.about());
        Self { problem, options, reader, solvers: Mutex::default() }
    }

    pub(crate) fn about(&self) -> &'static About {
        self.problem.about()
    }

    /// Returns the pool of the solver called `name`; without a name, that of the best solver.
    pub(crate) fn solver(&self, name: Option<&str>) -> Arc<Pool> {
        let name = name.map(str::to_owned);
        let make = || Arc::new(Pool::new(Source::Problem(Arc::clone(&self.problem), name.clone())));
        match self.solvers.try_lock() {
            Ok(mut solvers) => {
                // Names of unknown solvers also fill the map, although they fail later.
                if solvers.len() > 16 {
                    solvers.clear();
                }
                Arc::clone(solvers.entry(name.clone()).or_insert_with(make))
            }
            Err(_) => make(),
        }
    }

    /// Returns the best known objective of an instance; `None` if no allocation serves every user.
    pub(crate) fn reference(&self, instance: &Instance) -> Result<Option<f64>, Error> {
        let pool = self.solver(None);
        let mut worker = pool.take()?;
        let found = instance.reference(&mut *worker.policy, &mut worker.allocation)?;
        pool.put_back(worker);
        Ok(found.map(|reference| reference.value))
    }

    /// Reads the instances of a document.
    pub(crate) fn read(&self, text: &[u8]) -> Result<Vec<Arc<Instance>>, Error> {
        let mut formulating = Formulating::new(Arc::clone(&self.problem));
        let records = self.reader.read(Input::new(text, "the cells"));
        let one = |record| Ok(Arc::new(formulating.instance(record?)?));
        records.into_iter().map(one).collect()
    }
}

/// Named NumPy array, borrowed while it is read.
pub(crate) struct Given<'py> {
    pub(crate) name: String,
    array: PyReadonlyArrayDyn<'py, f64>,
}

/// Borrows the arrays of a dict.
pub(crate) fn given<'py>(arrays: &Bound<'py, PyDict>) -> PyResult<Vec<Given<'py>>> {
    let mut all = Vec::with_capacity(arrays.len());
    for (name, value) in arrays {
        let name: String = name.extract()?;
        let array = value
            .extract::<PyReadonlyArrayDyn<'py, f64>>()
            .map_err(|_| InputError::new_err(format!("{name}: expected an array of float64")))?;
        all.push(Given { name, array });
    }
    Ok(all)
}

/// Returns the values of an array in C order, which the Python side ensures.
pub(crate) fn values<'a>(given: &'a Given<'_>) -> PyResult<&'a [f64]> {
    given
        .array
        .as_slice()
        .map_err(|_| InputError::new_err(format!("{}: expected an array in C order", given.name)))
}

/// Instance of a problem: the users of one cell, or one network of links.
#[pyclass(module = "anyk", subclass, frozen, weakref)]
pub(crate) struct Cell {
    pub(crate) kind: Arc<Kind>,
    pub(crate) instance: Arc<Instance>,
}

/// Public attributes of every cell.
const OWN: [&str; 7] = ["problem", "options", "inputs", "amounts", "solve", "judge", "reordered"];

#[pymethods]
impl Cell {
    /// Build a cell from arrays and options. With `costs`, `classes` and `budget`, build a separable problem instead:
    /// the arrays are then the gains and optionally the weights, and `classes` has the index of each user's cost.
    /// `stored` is the state of a cell from a pickle, which replaces the arrays.
    #[new]
    #[pyo3(signature = (problem, arrays, options, costs=None, classes=None, budget=None, stored=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        problem: &str,
        arrays: &Bound<'_, PyDict>,
        options: &Bound<'_, PyDict>,
        costs: Option<Vec<Bound<'_, Cost>>>,
        classes: Option<Vec<usize>>,
        budget: Option<f64>,
        stored: Option<Stored<'_>>,
    ) -> PyResult<Self> {
        if let Some(stored) = stored {
            let kind = Kind::find(py, problem, options)?;
            let mut formulating = Formulating::new(Arc::clone(&kind.problem));
            let made = pickles::instance(&mut formulating, pickles::read(stored)?);
            return Ok(Self { instance: made.or_raise(py)?, kind });
        }
        let arrays = given(arrays)?;
        if let (Some(costs), Some(classes), Some(budget), [gains, weights @ ..]) =
            (costs, classes, budget, &arrays[..])
        {
            let weights = weights.first().map(values).transpose()?;
            let users = (values(gains)?, &classes[..], weights);
            let instance = Arc::new(separable::instance(py, &costs, users, budget)?);
            let kind = Kind::of(Arc::clone(&instance.problem), Options::default());
            return Ok(Self { kind: Arc::new(kind), instance });
        }
        let kind = Kind::find(py, problem, options)?;
        let mut views = Vec::with_capacity(arrays.len());
        for one in &arrays {
            let view = ArrayView { shape: one.array.shape(), values: values(one)? };
            views.push((one.name.as_str(), view));
        }
        let made = Instance::of_arrays(&kind.problem, &views);
        Ok(Self { instance: Arc::new(made.or_raise(py)?), kind })
    }

    /// Name of the problem.
    #[getter]
    fn problem(&self) -> &'static str {
        self.kind.about().name
    }

    fn __len__(&self) -> usize {
        self.instance.size().users
    }

    /// Return the inputs by name: arrays, and numbers that apply to all users.
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for input in self.instance.inputs() {
            all.set_item(input.name, array(py, input)?)?;
        }
        Ok(all)
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let inputs = self.instance.inputs();
        if let Some(place) = inputs.iter().position(|input| input.name == name)
            && let Some(input) = inputs.into_iter().nth(place)
        {
            return array(py, input);
        }
        let names: Vec<&str> = self.instance.inputs().iter().map(|input| input.name).collect();
        let problem = self.kind.about().name;
        let text = format!("a cell of {problem} has {}, not {name}", names.join(", "));
        // Python and NumPy ask for many private names, and discard the message.
        let is_private = name.starts_with('_');
        let hint =
            if is_private { String::new() } else { hint(py, name, names.into_iter().chain(OWN)) };
        Err(PyAttributeError::new_err(text + &hint))
    }

    fn __dir__(&self) -> Vec<&'static str> {
        OWN.into_iter().chain(self.instance.inputs().iter().map(|input| input.name)).collect()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Picked<'py>> {
        let (py, cell) = (slf.py(), slf.get());
        let (problem, options) = pickles::home(py, &cell.kind)?;
        let state = pickles::state(py, &cell.instance, &mut Vec::new())?;
        pickles::reduced(py, "_restore_cell", (problem, options, state).into_pyobject(py)?)
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "text")
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "html")
    }

    /// Options of the cell, as strings by name.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        pickles::named(py, &self.instance.record.parameters().over(&self.kind.options))
    }

    /// Names of the policies that need no training: the reference, then baselines.
    #[getter]
    fn _policies(&self) -> Vec<&'static str> {
        self.kind.about().policies.iter().map(|row| row.name).collect()
    }

    /// Return the names of the amounts to allocate, each with a flag: whether it is one number for all users.
    fn amounts(&self) -> Vec<(&'static str, bool)> {
        let amounts = self.instance.about().amounts;
        amounts.iter().map(|amount| (amount.name, amount.is_common())).collect()
    }

    /// Return the best allocation, or that of the named method. Raise `Infeasible` if the budget cannot serve every
    /// user.
    #[pyo3(signature = (method=None))]
    fn solve(&self, py: Python<'_>, method: Option<&str>) -> PyResult<Allocation> {
        allocate_one(py, &self.kind.solver(method), &self.instance)
    }

    /// Check an allocation: an `Allocation`, a mapping of arrays by name, or arrays in the order of `amounts`.
    fn judge<'py>(
        slf: &Bound<'py, Self>,
        answer: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let python = py.import("anyk._answers")?;
        let columns: Vec<PyReadonlyArrayDyn<'_, f64>> =
            python.call_method1("columns", (slf, answer))?.extract()?;
        let mut all = Vec::with_capacity(columns.len());
        for column in &columns {
            let values = column.as_slice();
            all.push(
                values.map_err(|_| InputError::new_err("expected an array in C order"))?.to_vec(),
            );
        }
        let (kind, instance) = (Arc::clone(&slf.get().kind), Arc::clone(&slf.get().instance));
        let judged = long(py, None, move |_| {
            let reference = kind.reference(&instance)?;
            let mut verdict = instance.judge(&core::Allocation::of(all), reference)?;
            // In Python, users are identified by their positions.
            verdict.missed.iter_mut().for_each(|miss| miss.id = miss.user.to_string());
            Ok::<_, Error>((json(&verdict)?, verdict.warning))
        })?;
        let (judged, warning) = judged.or_raise(py)?;
        warn_once(py, warning.as_deref())?;
        python.call_method1("verdict", (judged,))
    }

    /// Return the cell with its users in another order.
    fn reordered(&self, order: &Bound<'_, PyAny>) -> PyResult<Self> {
        let size = self.instance.size().users;
        let wrong = || {
            InputError::new_err(format!("order: expected each number from 0 to {} once", size - 1))
        };
        // The conversion also fails for negative numbers.
        let order: Vec<usize> = order.extract().map_err(|_| wrong())?;
        let mut seen = vec![false; size];
        for &user in &order {
            if user >= size || std::mem::replace(&mut seen[user], true) {
                return Err(wrong());
            }
        }
        if order.len() != size {
            return Err(InputError::new_err(format!("order: expected {size} positions")));
        }
        Ok(Self { kind: Arc::clone(&self.kind), instance: Arc::new(self.instance.part(&order)) })
    }
}

/// Converts an input to a float or an array.
fn array(py: Python<'_>, input: NamedArray) -> PyResult<Bound<'_, PyAny>> {
    let NamedArray { shape, values, .. } = input;
    if let (true, [value]) = (shape.is_empty(), &values[..]) {
        return Ok(value.into_pyobject(py)?.into_any());
    }
    Ok(PyArray1::from_vec(py, values).reshape(shape)?.into_any())
}

/// Serializes a value as JSON.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(Error::other)
}

/// Returns a table of a study or a diagnosis as JSON, with its values and its formatted text.
pub(crate) fn with_text(table: &anyk::framework::Table) -> serde_json::Value {
    let (columns, text) = table.text();
    serde_json::json!({
        "name": table.name,
        "title": table.title,
        "note": table.note,
        "columns": columns,
        "rows": table.rows,
        "text": text,
        "chart": table.chart,
        "claims": table.claims,
    })
}
