//! Instances of any problem, one or many, and what judges and solves them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyk::core::{
    self, About, ArrayView, Formulating, Ids, Instance, NamedArray, Problem, Reader, Record,
};
use anyk::exchange::Input;
use anyk::framework::{CellOptions, Error, OptionValue, Options, Verb};
use anyk::problems;
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
    pub(crate) problem: Arc<dyn Problem>,
    /// The options that were given.
    pub(crate) options: Options,
    reader: Reader,
    /// Solvers by name; the best that is known has none.
    solvers: Mutex<BTreeMap<Option<String>, Arc<Pool>>>,
}

/// The problem of a name.
pub(crate) fn about(name: &str) -> PyResult<&'static About> {
    problems::named(name).ok_or_else(|| {
        let names: Vec<&str> = problems::all().iter().map(|about| about.name).collect();
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
        let about = about(name)?;
        let mut specs = (about.flags)(Verb::Assess);
        specs.extend((about.flags)(Verb::Solve));
        // A switch decides what a printed answer shows.
        specs.retain(|spec| spec.value != OptionValue::Switch);
        let options = known(py, given, &specs, about.name)?;
        Self::made(about, options).or_raise(py)
    }

    pub(crate) fn made(about: &'static About, options: Options) -> Result<Arc<Self>, Error> {
        static KNOWN: Mutex<BTreeMap<String, Arc<Kind>>> = Mutex::new(BTreeMap::new());
        // What a file says may be another thing the next time.
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

    /// The kind of instances of a problem.
    pub(crate) fn of(problem: Arc<dyn Problem>, options: Options) -> Self {
        let reader = problems::reader(problem.about());
        Self { problem, options, reader, solvers: Mutex::default() }
    }

    pub(crate) fn about(&self) -> &'static About {
        self.problem.about()
    }

    /// The solver of a name; without one, the best there is.
    pub(crate) fn solver(&self, name: Option<&str>) -> Arc<Pool> {
        let name = name.map(str::to_owned);
        let make = || Arc::new(Pool::new(Source::Problem(Arc::clone(&self.problem), name.clone())));
        match self.solvers.try_lock() {
            Ok(mut solvers) => {
                // Names that nobody knows come with an error each time.
                if solvers.len() > 16 {
                    solvers.clear();
                }
                Arc::clone(solvers.entry(name.clone()).or_insert_with(make))
            }
            Err(_) => make(),
        }
    }

    /// The objective of the best answer to an instance; None if no answer serves everyone.
    pub(crate) fn reference(&self, instance: &Instance) -> Result<Option<f64>, Error> {
        let pool = self.solver(None);
        let mut worker = pool.take()?;
        let found = instance.reference(&mut *worker.policy, &mut worker.allocation)?;
        pool.put_back(worker);
        Ok(found.map(|reference| reference.value))
    }

    /// The instances of a document.
    fn read(&self, text: &[u8]) -> Result<Vec<Arc<Instance>>, Error> {
        let mut formulating = Formulating::new(Arc::clone(&self.problem));
        let records = self.reader.read(Input::new(text, "the cells"));
        let one = |record| Ok(Arc::new(formulating.instance(record?)?));
        records.into_iter().map(one).collect()
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
    pub(crate) instance: Arc<Instance>,
}

#[pymethods]
impl Cell {
    /// From arrays and options, or from gains, and weights if there are any, with costs of the user's own, the class of
    /// each user and a budget.
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

    /// The problem that it is an instance of.
    #[getter]
    fn problem(&self) -> &'static str {
        self.kind.about().name
    }

    fn __len__(&self) -> usize {
        self.instance.size().users
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
            self.kind.about().name,
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
        let known = cell.kind.about().inputs;
        let is_known = |input: &NamedArray| known.iter().any(|column| column.name == input.name);
        let mut inputs = cell.instance.inputs();
        // A cell of a cost is made of places, and its instance of SNRs.
        if !inputs.iter().all(|input| input.shape.is_empty() || is_known(input)) {
            inputs = cell.instance.given();
        }
        for input in inputs {
            // What is one number follows from the options.
            if !input.shape.is_empty() {
                arrays.set_item(input.name, array(py, input)?)?;
            }
        }
        let about = cell.kind.about();
        let links = about.is_of_arrays();
        let rebuild = if links { "_rebuild_links" } else { "_rebuild" };
        let rebuild = py.import("anyk._cells")?.getattr(rebuild)?;
        let problem = about.name.into_pyobject(py)?.into_any();
        let options = cell.options(py)?;
        if links {
            // The arrays say it already, some by another name.
            let parameters = (about.parameters)();
            let renamed = parameters.iter().flat_map(|(parameter, names)| {
                names.iter().map(|name| (name.as_str(), parameter.option))
            });
            let same = known.iter().map(|column| (column.name, column.name));
            for (name, option) in renamed.chain(same) {
                let option = option.replace('-', "_");
                if arrays.contains(name)? && options.contains(&option)? {
                    options.del_item(option)?;
                }
            }
        }
        Ok((rebuild, (problem, arrays, options)))
    }

    fn __repr__(&self) -> String {
        format!("<anyk cell of {}: K = {}>", self.kind.about().name, self.instance.size().users)
    }

    /// The options that it was made with.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        let options = self.instance.record.parameters().over(&self.kind.options);
        for name in options.names() {
            all.set_item(name.replace('-', "_"), options.text(name))?;
        }
        Ok(all)
    }

    /// The names of what an answer consists of, and whether each is one number for all users.
    fn amounts(&self) -> Vec<(&'static str, bool)> {
        let amounts = self.instance.about().amounts;
        amounts.iter().map(|amount| (amount.name, amount.is_common())).collect()
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
        let (kind, instance) = (Arc::clone(&slf.get().kind), Arc::clone(&slf.get().instance));
        let judged = long(py, None, move |_| {
            let reference = kind.reference(&instance)?;
            let mut verdict = instance.judge(&core::Allocation::of(all), reference)?;
            // Arrays have users by their positions.
            verdict.missed.iter_mut().for_each(|miss| miss.id = miss.user.to_string());
            json(&verdict)
        })?;
        python.call_method1("verdict", (judged.or_raise(py)?,))
    }

    /// The same users in another order.
    fn reordered(&self, order: &Bound<'_, PyAny>) -> PyResult<Self> {
        let size = self.instance.size().users;
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
        Ok(Self { kind: Arc::clone(&self.kind), instance: Arc::new(self.instance.part(&order)) })
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

/// A table of a study or a diagnosis: its values, and the text that shows them.
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

/// Many instances of a problem, of any sizes.
#[pyclass(module = "anyk", frozen, weakref)]
pub(crate) struct Batch {
    pub(crate) kind: Arc<Kind>,
    pub(crate) instances: Arc<Vec<Arc<Instance>>>,
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
            if first.about().name != cell.kind.about().name || first.options != cell.kind.options {
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
        let columns = Columns::new(arrays, sizes)?;
        let shared = Arc::clone(&kind);
        let made = long(py, None, move |_| columns.instances(&shared, None))?;
        Ok(Self { kind, instances: Arc::new(made.or_raise(py)?), rows: None })
    }

    /// The same from a table: `of_users` is the row of each user, `fields` are the columns that are called like a
    /// parameter, as JSON in the order of the rows, and `index` is what the table calls its rows.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)]
    fn of_table(
        py: Python<'_>,
        problem: &str,
        arrays: &Bound<'_, PyDict>,
        sizes: Vec<usize>,
        options: &Bound<'_, PyDict>,
        of_users: Vec<usize>,
        fields: BTreeMap<String, Vec<String>>,
        index: Py<PyAny>,
    ) -> PyResult<Self> {
        let kind = Kind::find(py, problem, options)?;
        let columns = Columns::new(arrays, sizes)?;
        let mut seen = vec![false; columns.users];
        let is_new =
            |row: &usize| seen.get_mut(*row).is_some_and(|seen| !std::mem::replace(seen, true));
        if of_users.len() != columns.users || !of_users.iter().all(is_new) {
            return Err(InputError::new_err("rows: expected each of them once"));
        }
        if let Some((name, _)) = fields.iter().find(|(_, texts)| texts.len() != columns.users) {
            return Err(InputError::new_err(format!("{name}: expected a value for each row")));
        }
        let rows = Arc::new(Rows { of_users, index });
        let (shared, table) = (Arc::clone(&kind), Arc::clone(&rows));
        let made = long(py, None, move |_| {
            columns.instances(&shared, Some((&table.of_users[..], &fields)))
        })?;
        Ok(Self { kind, instances: Arc::new(made.or_raise(py)?), rows: Some(rows) })
    }

    #[getter]
    fn problem(&self) -> &'static str {
        self.kind.about().name
    }

    fn __len__(&self) -> usize {
        self.instances.len()
    }

    /// Users of each cell.
    #[getter]
    fn sizes(&self) -> Vec<usize> {
        self.instances.iter().map(|instance| instance.size().users).collect()
    }

    /// One of the cells; negative numbers count from the end.
    fn __getitem__(&self, index: isize) -> PyResult<Cell> {
        let instance = Arc::clone(&self.instances[place(index, self.instances.len())?]);
        Ok(Cell { kind: Arc::clone(&self.kind), instance })
    }

    fn __repr__(&self) -> String {
        format!("<{} anyk cells of {}>", self.instances.len(), self.kind.about().name)
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

/// Arrays of the users of many cells, one cell after the other.
struct Columns {
    arrays: Vec<(String, Vec<f64>)>,
    sizes: Vec<usize>,
    users: usize,
}

/// The row of each user, and the columns that are called like a parameter, in the order of the rows.
type Table<'a> = (&'a [usize], &'a BTreeMap<String, Vec<String>>);

impl Columns {
    fn new(arrays: &Bound<'_, PyDict>, sizes: Vec<usize>) -> PyResult<Self> {
        let users = sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size));
        let users = users
            .ok_or_else(|| InputError::new_err("the sizes are more than there are numbers"))?;
        let mut columns = Vec::with_capacity(arrays.len());
        for one in &given(arrays)? {
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
        Ok(Self { arrays: columns, sizes, users })
    }

    /// Makes the cells, on all cores.
    fn instances(
        &self,
        kind: &Kind,
        table: Option<Table<'_>>,
    ) -> Result<Vec<Arc<Instance>>, Error> {
        use rayon::prelude::*;
        let mut start = 0;
        let place = |&size: &usize| {
            start += size;
            (start - size, size)
        };
        let places: Vec<(usize, usize)> = self.sizes.iter().map(place).collect();
        let one = |formulating: &mut Formulating, (index, (start, size)): (usize, _)| {
            let shape = [size];
            let mut views = Vec::with_capacity(self.arrays.len());
            for (name, values) in &self.arrays {
                let view = match &values[..] {
                    all @ [_] => ArrayView { shape: &[], values: all },
                    all => ArrayView { shape: &shape, values: &all[start..start + size] },
                };
                views.push((name.as_str(), view));
            }
            let made = match table {
                None => Instance::of_arrays(&kind.problem, &views)
                    .map_err(|error| error.in_file(format!("cell {index}")))?,
                Some((of_users, fields)) => {
                    let rows = &of_users[start..start + size];
                    let mut own: Vec<(&str, Vec<&str>)> = Vec::with_capacity(fields.len());
                    for (name, texts) in fields {
                        own.push((name, rows.iter().map(|&row| texts[row].as_str()).collect()));
                    }
                    formulating.instance(kind.reader.of_table(rows, &views, &own)?)?
                }
            };
            Ok(Arc::new(made))
        };
        let formulating = || Formulating::new(Arc::clone(&kind.problem));
        places.into_par_iter().enumerate().map_init(formulating, one).collect()
    }
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
                if !CellOptions::is_of_path_loss(&dashed) {
                    rest.set_item(name, value)?;
                }
            }
            if rest.len() == of_cell.len() {
                return Err(error);
            }
            Kind::find(py, problem, &rest)?
        }
    };
    let about = kind.about();
    let mut specs = (about.flags)(Verb::Sample);
    specs.retain(|spec| spec.name != "format");
    let options = known(py, of_sample, &specs, problem)?;
    let shared = Arc::clone(&kind);
    let drawn = long(py, None, move |_| -> Result<Vec<Arc<Instance>>, Error> {
        let mut formulating = Formulating::new(Arc::clone(&shared.problem));
        let records = core::draw_samples(&*(about.drawing)(&options)?, &options)?;
        let one = |mut record: Record| {
            // Arrays have users by their positions.
            record.ids = Ids::default();
            Ok(Arc::new(formulating.instance(record)?))
        };
        records.into_iter().map(one).collect()
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
    let read = long(py, None, move |_| shared.read(&bytes))?;
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
    Ok(kind.reader.is_parameter(name, is_beside_power))
}
