//! Instances of any problem, one or many, and what judges and solves them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyk::exchange::Input;
use anyk::framework::{
    ArrayView, CellOptions, Error, Instance, Instances, NamedArray, Options, Room, Verb,
};
use anyk::problems::separable::separable_instance;
use anyk::problems::{self, ROOMS};
use numpy::{PyArray1, PyArrayMethods as _, PyReadonlyArrayDyn, PyUntypedArrayMethods as _};
use pyo3::exceptions::{PyAttributeError, PyIndexError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::answers::{Allocation, Allocations, allocate_all, allocate_one};
use crate::errors::{InputError, OrRaise as _};
use crate::options::known;
use crate::pool::{Pool, Source};
use crate::separable::{self, Cost};
use crate::work::long;

/// A problem with its options: what all cells of it share.
pub(crate) struct Kind {
    pub(crate) room: &'static dyn Room,
    pub(crate) options: Options,
    /// None of a problem of the user's own, whose instances come from functions.
    instances: Option<Box<dyn Instances>>,
    /// Solvers by name.
    solvers: Mutex<BTreeMap<String, Arc<Pool>>>,
}

/// The room of a name.
pub(crate) fn room(name: &str) -> PyResult<&'static dyn Room> {
    problems::room(name).ok_or_else(|| {
        let names: Vec<&str> = ROOMS.iter().map(|room| room.name()).collect();
        InputError::new_err(format!("problem is {name:?}, expected one of {}", names.join(", ")))
    })
}

/// Kinds that are kept: tables of service classes take milliseconds, and cells come by the thousand.
const MOST_KINDS: usize = 256;

impl Kind {
    /// The kind of a problem and options, made once.
    pub(crate) fn find(
        py: Python<'_>,
        name: &str,
        given: &Bound<'_, PyDict>,
    ) -> PyResult<Arc<Self>> {
        let room = room(name)?;
        let mut specs = room.options(Verb::Assess);
        specs.extend(room.options(Verb::Solve));
        // What only a printed answer shows.
        specs.retain(|spec| !["no-check", "trace"].contains(&spec.name));
        let options = known(py, given, &specs, room.name())?;
        Self::of(py, room, options)
    }

    pub(crate) fn of(
        py: Python<'_>,
        room: &'static dyn Room,
        options: Options,
    ) -> PyResult<Arc<Self>> {
        Self::made(room, options).or_raise(py)
    }

    pub(crate) fn made(room: &'static dyn Room, options: Options) -> Result<Arc<Self>, Error> {
        static KNOWN: Mutex<BTreeMap<String, Arc<Kind>>> = Mutex::new(BTreeMap::new());
        // What a file says may be another thing the next time.
        let file = |name: &str| options.text(name).is_some_and(|text| Path::new(text).exists());
        let kept = !options.names().any(file);
        let key = format!("{} {options:?}", room.name());
        let known = || KNOWN.try_lock().ok().and_then(|known| known.get(&key).cloned());
        if let Some(found) = kept.then(known).flatten() {
            return Ok(found);
        }
        let of_judge = options.only(&room.options(Verb::Assess));
        let instances = room.instances(&of_judge)?;
        let kind =
            Arc::new(Self { room, options, instances: Some(instances), solvers: Mutex::default() });
        if let (true, Ok(mut known)) = (kept, KNOWN.try_lock()) {
            if known.len() >= MOST_KINDS {
                known.clear();
            }
            known.insert(key, Arc::clone(&kind));
        }
        Ok(kind)
    }

    /// The kind of problems of the user's own.
    fn own() -> PyResult<Arc<Self>> {
        static OWN: Mutex<Option<Arc<Kind>>> = Mutex::new(None);
        let make = || -> PyResult<Arc<Self>> {
            let (room, options) = (room("separable")?, Options::default());
            Ok(Arc::new(Self { room, options, instances: None, solvers: Mutex::default() }))
        };
        let Ok(mut known) = OWN.try_lock() else { return make() };
        match &*known {
            Some(kind) => Ok(Arc::clone(kind)),
            None => Ok(Arc::clone(known.insert(make()?))),
        }
    }

    fn instances(&self) -> Result<&dyn Instances, Error> {
        let none = || Error::Array("such cells are made by anyk.Separable alone".to_owned());
        self.instances.as_deref().ok_or_else(none)
    }

    /// The solver of a name; without one, the best there is.
    pub(crate) fn solver(&self, name: Option<&str>) -> Arc<Pool> {
        let best = || self.room.baselines().first().map_or("optimum", |best| best.0);
        let name = name.or_else(|| self.options.text("method")).unwrap_or_else(best);
        let make = || {
            let options = self.options.only(&self.room.options(Verb::Solve));
            Arc::new(Pool::new(Source::Room(self.room, name.to_owned(), options)))
        };
        match self.solvers.try_lock() {
            Ok(mut solvers) => {
                // Names that nobody knows come with an error each time.
                if solvers.len() > 16 {
                    solvers.clear();
                }
                Arc::clone(solvers.entry(name.to_owned()).or_insert_with(make))
            }
            Err(_) => make(),
        }
    }

    /// The names of what an answer consists of.
    pub(crate) fn amounts(&self) -> Vec<&'static str> {
        self.room.amounts().iter().map(|amount| amount.name).collect()
    }

    /// The instances of a document.
    pub(crate) fn read(&self, text: &[u8]) -> Vec<Result<Arc<dyn Instance>, Error>> {
        let instances = match self.instances() {
            Ok(instances) => instances,
            Err(error) => return vec![Err(error)],
        };
        let found = instances.of_document(Input::new(text, "the instance"));
        found.into_iter().map(|one| one.map(Arc::from)).collect()
    }
}

/// Numbers of Python's, held while they are read.
struct Given<'py> {
    name: String,
    array: PyReadonlyArrayDyn<'py, f64>,
}

fn given<'py>(arrays: &Bound<'py, PyDict>) -> PyResult<Vec<Given<'py>>> {
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

/// The values of an array without gaps; the Python side has made it one.
fn values<'a>(given: &'a Given<'_>) -> PyResult<&'a [f64]> {
    given
        .array
        .as_slice()
        .map_err(|_| InputError::new_err(format!("{}: expected an array in C order", given.name)))
}

/// What a pickle holds: the function that makes a cell again, with the problem, the arrays and the options.
type Pickled<'py> =
    (Bound<'py, PyAny>, (Bound<'py, PyAny>, Bound<'py, PyDict>, Bound<'py, PyDict>));

/// One instance of a problem.
#[pyclass(module = "anyk", subclass, frozen, weakref)]
pub(crate) struct Cell {
    pub(crate) kind: Arc<Kind>,
    pub(crate) instance: Arc<dyn Instance>,
}

#[pymethods]
impl Cell {
    /// From arrays and options, or with costs of the user's own, the class of each user and a budget.
    #[new]
    #[pyo3(signature = (problem, arrays, options, costs=None, classes=None, budget=None))]
    fn new(
        py: Python<'_>,
        problem: &str,
        arrays: &Bound<'_, PyDict>,
        options: &Bound<'_, PyDict>,
        costs: Option<Vec<Bound<'_, Cost>>>,
        classes: Option<Vec<usize>>,
        budget: Option<f64>,
    ) -> PyResult<Self> {
        let arrays = given(arrays)?;
        if let (Some(costs), Some(classes), Some(budget), [gains]) =
            (costs, classes, budget, &arrays[..])
        {
            let own = separable::problem(py, &costs, values(gains)?, &classes, budget)?;
            return Ok(Self { kind: Kind::own()?, instance: Arc::from(separable_instance(own)) });
        }
        let kind = Kind::find(py, problem, options)?;
        let mut views = Vec::with_capacity(arrays.len());
        for one in &arrays {
            let view = ArrayView { shape: one.array.shape(), values: values(one)? };
            views.push((one.name.as_str(), view));
        }
        let made = kind.instances().and_then(|instances| instances.of_arrays(&views));
        Ok(Self { instance: Arc::from(made.or_raise(py)?), kind })
    }

    /// The problem that it is an instance of.
    #[getter]
    fn problem(&self) -> &'static str {
        self.kind.room.name()
    }

    fn __len__(&self) -> usize {
        self.instance.size()
    }

    /// What it consists of: arrays by name, and numbers that hold for all users.
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
        Err(PyAttributeError::new_err(format!(
            "a cell of {} has {}, not {name}",
            self.kind.room.name(),
            names.join(", ")
        )))
    }

    fn __dir__(&self) -> Vec<&'static str> {
        let own = ["problem", "options", "inputs", "amounts", "solve", "judge", "reordered"];
        own.into_iter().chain(self.instance.inputs().iter().map(|input| input.name)).collect()
    }

    /// What is pickled: the arrays and the options.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        let (py, cell) = (slf.py(), slf.get());
        let arrays = PyDict::new(py);
        for input in cell.instance.inputs() {
            // What is one number follows from the options.
            if !input.shape.is_empty() {
                arrays.set_item(input.name, array(py, input)?)?;
            }
        }
        let links = arrays.contains("noise")?;
        let rebuild = if links { "_rebuild_links" } else { "_rebuild" };
        let rebuild = py.import("anyk._cells")?.getattr(rebuild)?;
        let problem = cell.kind.room.name().into_pyobject(py)?.into_any();
        let options = cell.options(py)?;
        if links {
            // The arrays say it already.
            for name in ["p_max", "noise", "weights"] {
                if options.contains(name)? {
                    options.del_item(name)?;
                }
            }
        }
        Ok((rebuild, (problem, arrays, options)))
    }

    fn __repr__(&self) -> String {
        format!("<anyk cell of {}: K = {}>", self.kind.room.name(), self.instance.size())
    }

    /// The options that it was made with.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for name in self.kind.options.names() {
            all.set_item(name.replace('-', "_"), self.kind.options.text(name))?;
        }
        Ok(all)
    }

    /// The names of what an answer consists of, and whether each is one number for all users.
    fn amounts(&self) -> Vec<(&'static str, bool)> {
        self.instance.amounts().iter().map(|amount| (amount.name, amount.common)).collect()
    }

    /// The best answer there is, or that of another method.
    #[pyo3(signature = (method=None))]
    fn solve(&self, py: Python<'_>, method: Option<&str>) -> PyResult<Allocation> {
        allocate_one(py, &self.kind.solver(method), &self.instance)
    }

    /// Judges an answer: an `Allocation`, a mapping of arrays by name, or arrays in the order of `amounts`.
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
        let instance = Arc::clone(&slf.get().instance);
        let judged = long(py, None, move |_| {
            let columns: Vec<&[f64]> = all.iter().map(Vec::as_slice).collect();
            instance.judge(&columns).and_then(|verdict| json(&verdict))
        })?;
        python.call_method1("verdict", (judged.or_raise(py)?,))
    }

    /// The same users in another order.
    fn reordered(&self, order: &Bound<'_, PyAny>) -> PyResult<Self> {
        let size = self.instance.size();
        let wrong =
            || InputError::new_err(format!("order: expected each of 0 to {} once", size - 1));
        // A negative number does not fit, either.
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
        Ok(Self {
            kind: Arc::clone(&self.kind),
            instance: Arc::from(self.instance.reordered(&order)),
        })
    }
}

/// An input as Python has it.
fn array(py: Python<'_>, input: NamedArray) -> PyResult<Bound<'_, PyAny>> {
    let NamedArray { shape, values, .. } = input;
    if let (true, [value]) = (shape.is_empty(), &values[..]) {
        return Ok(value.into_pyobject(py)?.into_any());
    }
    Ok(PyArray1::from_vec(py, values).reshape(shape)?.into_any())
}

pub(crate) fn json(value: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(Error::other)
}

/// Many instances of a problem, of any sizes.
#[pyclass(module = "anyk", frozen, weakref)]
pub(crate) struct Batch {
    pub(crate) kind: Arc<Kind>,
    pub(crate) instances: Arc<Vec<Arc<dyn Instance>>>,
    /// The table that the users come from.
    pub(crate) rows: Option<Arc<Rows>>,
}

/// A table of users, cells in any order.
pub(crate) struct Rows {
    /// The row of each user, one cell after the other.
    pub(crate) of_users: Vec<usize>,
    /// What the table calls its rows; None for their numbers.
    pub(crate) index: Py<PyAny>,
}

#[pymethods]
impl Batch {
    /// From cells of one problem and options.
    #[staticmethod]
    fn of_cells(cells: &Bound<'_, PyList>) -> PyResult<Self> {
        let mut kind: Option<Arc<Kind>> = None;
        let mut instances = Vec::with_capacity(cells.len());
        for cell in cells {
            let cell = cell.cast::<Cell>()?.get();
            let first = kind.get_or_insert_with(|| Arc::clone(&cell.kind));
            if first.room.name() != cell.kind.room.name() || first.options != cell.kind.options {
                return Err(InputError::new_err(
                    "the cells differ in problem or options, expected the same for all",
                ));
            }
            instances.push(Arc::clone(&cell.instance));
        }
        let none = || InputError::new_err("there is no cell, expected at least one");
        Ok(Self { kind: kind.ok_or_else(none)?, instances: Arc::new(instances), rows: None })
    }

    /// From arrays of all cells, one cell after the other: cell i has `sizes[i]` users. Arrays have one number for each
    /// user, or one for all.
    #[staticmethod]
    fn of_arrays(
        py: Python<'_>,
        problem: &str,
        arrays: &Bound<'_, PyDict>,
        sizes: Vec<usize>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let kind = Kind::find(py, problem, options)?;
        let arrays = given(arrays)?;
        let users = sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size));
        let users = users
            .ok_or_else(|| InputError::new_err("the sizes are more than there are numbers"))?;
        let mut columns: Vec<(String, Vec<f64>)> = Vec::with_capacity(arrays.len());
        for one in &arrays {
            let values = values(one)?;
            if values.len() != users && values.len() != 1 {
                return Err(InputError::new_err(format!(
                    "{} has {} numbers, expected {users}: one for each user of all cells, or one for all",
                    one.name,
                    values.len()
                )));
            }
            columns.push((one.name.clone(), values.to_vec()));
        }
        if sizes.is_empty() {
            return Err(InputError::new_err("there is no cell, expected at least one"));
        }
        let shared = Arc::clone(&kind);
        let made = long(py, None, move |_| make(&shared, &columns, &sizes))?;
        Ok(Self { kind, instances: Arc::new(made.or_raise(py)?), rows: None })
    }

    /// The same cells, with the row of a table that each user comes from, one cell after the other.
    fn of_rows(&self, of_users: Vec<usize>, index: Py<PyAny>) -> PyResult<Self> {
        let users: usize = self.sizes().iter().sum();
        let mut seen = vec![false; users];
        let is_new =
            |row: &usize| seen.get_mut(*row).is_some_and(|seen| !std::mem::replace(seen, true));
        if of_users.len() != users || !of_users.iter().all(is_new) {
            return Err(InputError::new_err(format!(
                "rows: expected each of 0 to {} once",
                users - 1
            )));
        }
        let rows = Some(Arc::new(Rows { of_users, index }));
        Ok(Self { kind: Arc::clone(&self.kind), instances: Arc::clone(&self.instances), rows })
    }

    #[getter]
    fn problem(&self) -> &'static str {
        self.kind.room.name()
    }

    fn __len__(&self) -> usize {
        self.instances.len()
    }

    /// Users of each cell.
    #[getter]
    fn sizes(&self) -> Vec<usize> {
        self.instances.iter().map(|instance| instance.size()).collect()
    }

    /// One of the cells; negative numbers count from the end.
    fn __getitem__(&self, index: isize) -> PyResult<Cell> {
        let instance = Arc::clone(&self.instances[place(index, self.instances.len())?]);
        Ok(Cell { kind: Arc::clone(&self.kind), instance })
    }

    fn __repr__(&self) -> String {
        format!("<{} anyk cells of {}>", self.instances.len(), self.kind.room.name())
    }

    /// The best answers there are, on all cores; see `Allocations`.
    #[pyo3(signature = (method=None, infeasible="raise"))]
    fn solve(
        &self,
        py: Python<'_>,
        method: Option<&str>,
        infeasible: &str,
    ) -> PyResult<Allocations> {
        allocate_all(py, &self.kind.solver(method), self, infeasible)
    }
}

/// A place in a list, by a number that may count from the end.
pub(crate) fn place(index: isize, length: usize) -> PyResult<usize> {
    let found =
        if index < 0 { length.checked_add_signed(index) } else { Some(index.unsigned_abs()) };
    let none = || PyIndexError::new_err(format!("there is no cell {index} of {length}"));
    found.filter(|&found| found < length).ok_or_else(none)
}

fn make(
    kind: &Kind,
    columns: &[(String, Vec<f64>)],
    sizes: &[usize],
) -> Result<Vec<Arc<dyn Instance>>, Error> {
    use rayon::prelude::*;
    let mut start = 0;
    let places: Vec<(usize, usize)> = sizes
        .iter()
        .map(|&size| {
            start += size;
            (start - size, size)
        })
        .collect();
    let one = |(index, &(start, size)): (usize, &(usize, usize))| {
        let shape = [size];
        let mut views = Vec::with_capacity(columns.len());
        for (name, values) in columns {
            let view = match &values[..] {
                all @ [_] => ArrayView { shape: &[], values: all },
                all => ArrayView { shape: &shape, values: &all[start..start + size] },
            };
            views.push((name.as_str(), view));
        }
        let made = kind.instances().and_then(|instances| instances.of_arrays(&views));
        made.map(Arc::from).map_err(|error| error.in_file(format!("cell {index}")))
    };
    places.par_iter().enumerate().map(one).collect()
}

/// Random cells of a problem.
#[pyfunction]
pub(crate) fn sample(
    py: Python<'_>,
    problem: &str,
    of_sample: &Bound<'_, PyDict>,
    of_cell: &Bound<'_, PyDict>,
) -> PyResult<Batch> {
    // Some path losses are for drawing alone: the cells then have their gains, and need none.
    let kind = match Kind::find(py, problem, of_cell) {
        Ok(kind) => kind,
        Err(error) => {
            let rest = PyDict::new(py);
            for (name, value) in of_cell {
                let dashed = name.extract::<String>()?.replace('_', "-");
                if !CellOptions::is_of_path_loss(&dashed) && dashed != "path-loss" {
                    rest.set_item(name, value)?;
                }
            }
            if rest.len() == of_cell.len() {
                return Err(error);
            }
            Kind::find(py, problem, &rest)?
        }
    };
    let mut specs = kind.room.options(Verb::Sample);
    specs.retain(|spec| spec.name != "format");
    let options = known(py, of_sample, &specs, problem)?;
    let room = kind.room;
    let shared = Arc::clone(&kind);
    let drawn = long(py, None, move |_| -> Result<Vec<Arc<dyn Instance>>, Error> {
        let mut text = Vec::new();
        room.sample(&options, &mut text)?;
        let found = shared.instances()?.of_document(Input::new(&text, "the cells"));
        found.into_iter().map(|one| one.map(Arc::from)).collect()
    })?;
    Ok(Batch { kind, instances: Arc::new(drawn.or_raise(py)?), rows: None })
}

/// The cells of a document in a form that files have: JSON or CSV of users, JSON of gains.
#[pyfunction]
pub(crate) fn read_cells(
    py: Python<'_>,
    problem: &str,
    text: &Bound<'_, PyBytes>,
    options: &Bound<'_, PyDict>,
) -> PyResult<Batch> {
    let kind = Kind::find(py, problem, options)?;
    let (bytes, shared) = (text.as_bytes().to_vec(), Arc::clone(&kind));
    let read = long(py, None, move |_| -> Result<Vec<_>, Error> {
        shared.read(&bytes).into_iter().collect()
    })?;
    Ok(Batch { kind, instances: Arc::new(read.or_raise(py)?), rows: None })
}

/// Whether a column of a table is called like a parameter of a problem.
#[pyfunction]
pub(crate) fn is_parameter(
    py: Python<'_>,
    problem: &str,
    name: &str,
    is_beside_power: bool,
    options: &Bound<'_, PyDict>,
) -> PyResult<bool> {
    let kind = Kind::find(py, problem, options)?;
    Ok(kind.instances().or_raise(py)?.parameters().is_one(name, is_beside_power))
}

/// What is wrong with the value of a parameter in a table, as JSON; None if it is the one in effect.
#[pyfunction]
pub(crate) fn refused_parameter(
    py: Python<'_>,
    problem: &str,
    name: &str,
    value: &str,
    options: &Bound<'_, PyDict>,
) -> PyResult<Option<String>> {
    let kind = Kind::find(py, problem, options)?;
    Ok(kind.instances().or_raise(py)?.parameters().check(name, value).err())
}
