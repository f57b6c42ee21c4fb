//! Instances of any problem, one or many, with their solvers and their judge.

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

use crate::answers::{Allocation, Allocations, allocate_all, allocate_one, warn_once};
use crate::errors::{InputError, OrRaise as _};
use crate::options::known;
use crate::pool::{Pool, Source};
use crate::separable::{self, Cost};
use crate::work::long;

/// Problem with its options and its pools of solvers, shared by all its cells.
pub(crate) struct Kind {
    pub(crate) problem: Arc<dyn Problem>,
    /// Options that the caller set.
    pub(crate) options: Options,
    reader: Reader,
    /// Pools of solvers by name; `None` is the best solver.
    solvers: Mutex<BTreeMap<Option<String>, Arc<Pool>>>,
}

/// Returns the problem called `name`, or an error that lists all names.
pub(crate) fn about(name: &str) -> PyResult<&'static About> {
    problems::named(name).ok_or_else(|| {
        let names: Vec<&str> = problems::all().iter().map(|about| about.name).collect();
        InputError::new_err(format!("problem is {name:?}, expected one of {}", names.join(", ")))
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
        let about = about(name)?;
        let mut specs = (about.flags)(Verb::Assess);
        specs.extend((about.flags)(Verb::Solve));
        // Switches only affect printed output.
        specs.retain(|spec| spec.value != OptionValue::Switch);
        let options = known(py, given, &specs, about.name)?;
        Self::made(about, options).or_raise(py)
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
                // Unknown names fill the map as well, although each of them fails later.
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
    fn read(&self, text: &[u8]) -> Result<Vec<Arc<Instance>>, Error> {
        let mut formulating = Formulating::new(Arc::clone(&self.problem));
        let records = self.reader.read(Input::new(text, "the cells"));
        let one = |record| Ok(Arc::new(formulating.instance(record?)?));
        records.into_iter().map(one).collect()
    }
}

/// Named NumPy array, borrowed while it is read.
struct Given<'py> {
    name: String,
    array: PyReadonlyArrayDyn<'py, f64>,
}

/// Borrows the arrays of a dict.
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

/// Returns the values of an array in C order, which the Python side ensures.
fn values<'a>(given: &'a Given<'_>) -> PyResult<&'a [f64]> {
    given
        .array
        .as_slice()
        .map_err(|_| InputError::new_err(format!("{}: expected an array in C order", given.name)))
}

/// Result of `__reduce__`: the function that rebuilds a cell, and its arguments (problem, arrays, options).
type Pickled<'py> =
    (Bound<'py, PyAny>, (Bound<'py, PyAny>, Bound<'py, PyDict>, Bound<'py, PyDict>));

/// Instance of a problem: the users of one cell, or one network of links.
#[pyclass(module = "anyk", subclass, frozen, weakref)]
pub(crate) struct Cell {
    pub(crate) kind: Arc<Kind>,
    pub(crate) instance: Arc<Instance>,
}

#[pymethods]
impl Cell {
    /// Build a cell from arrays and options. With `costs`, `classes` and `budget`, build a separable problem instead:
    /// the arrays are then the gains and optionally the weights, and `classes` has the index of each user's cost.
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

    /// Return the arrays and options from which a pickle rebuilds the cell.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        let (py, cell) = (slf.py(), slf.get());
        let arrays = PyDict::new(py);
        let known = cell.kind.about().inputs;
        let is_known = |input: &NamedArray| known.iter().any(|column| column.name == input.name);
        let mut inputs = cell.instance.inputs();
        // The inputs of a tabulated cost are SNRs. Its record has the columns that the cell was built from.
        if !inputs.iter().all(|input| input.shape.is_empty() || is_known(input)) {
            inputs = cell.instance.given();
        }
        for input in inputs {
            // Single numbers follow from the options.
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
            // Drop options that the arrays already set, some of them under another name.
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

    /// Options of the cell, as strings by name.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        let options = self.instance.record.parameters().over(&self.kind.options);
        for name in options.names() {
            all.set_item(name.replace('-', "_"), options.text(name))?;
        }
        Ok(all)
    }

    /// Return the names of the amounts to allocate, each with whether it is one number for all users.
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

/// Cells of one problem, with any numbers of users.
#[pyclass(module = "anyk", frozen, weakref)]
pub(crate) struct Batch {
    pub(crate) kind: Arc<Kind>,
    pub(crate) instances: Arc<Vec<Arc<Instance>>>,
    /// Rows of the table that the users come from, if there is one.
    pub(crate) rows: Option<Arc<Rows>>,
}

/// Rows of a table of users, whose cells may be interleaved.
pub(crate) struct Rows {
    /// Row of each user, one cell after another.
    pub(crate) of_users: Vec<usize>,
    /// Index of the table; Python's `None` if its rows are numbered.
    pub(crate) index: Py<PyAny>,
}

#[pymethods]
impl Batch {
    /// Build a batch from cells that have the same problem and options.
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
        let none = || InputError::new_err("the list has no cells, expected at least one");
        Ok(Self { kind: kind.ok_or_else(none)?, instances: Arc::new(instances), rows: None })
    }

    /// Build a batch from arrays of all users, one cell after another: cell i has `sizes[i]` users. An array has one
    /// number per user, or one number for all users.
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

    /// Build a batch from a table. `arrays` and `sizes` are as in `of_arrays`, `of_users` has the row of each user,
    /// `fields` has the columns that are parameters (JSON, in the order of the rows), and `index` is the table's index.
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
            return Err(InputError::new_err("rows: expected each row once"));
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

    /// Name of the problem.
    #[getter]
    fn problem(&self) -> &'static str {
        self.kind.about().name
    }

    fn __len__(&self) -> usize {
        self.instances.len()
    }

    /// Number of users in each cell.
    #[getter]
    fn sizes(&self) -> Vec<usize> {
        self.instances.iter().map(|instance| instance.size().users).collect()
    }

    /// Return one cell; negative indices count from the end.
    fn __getitem__(&self, index: isize) -> PyResult<Cell> {
        let instance = Arc::clone(&self.instances[place(index, self.instances.len())?]);
        Ok(Cell { kind: Arc::clone(&self.kind), instance })
    }

    fn __repr__(&self) -> String {
        format!("<{} anyk cells of {}>", self.instances.len(), self.kind.about().name)
    }

    /// Solve all cells in parallel, optimally or by the named method. If the budget cannot serve a cell, raise
    /// `Infeasible`, or set its amounts to 0 with `infeasible="zero"`.
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

/// Returns the position of an index that may count from the end.
pub(crate) fn place(index: isize, length: usize) -> PyResult<usize> {
    let found =
        if index < 0 { length.checked_add_signed(index) } else { Some(index.unsigned_abs()) };
    let none = || {
        PyIndexError::new_err(format!(
            "the cell index is {index}, but the number of cells is {length}"
        ))
    };
    found.filter(|&found| found < length).ok_or_else(none)
}

/// Arrays of the users of many cells, one cell after another.
struct Columns {
    arrays: Vec<(String, Vec<f64>)>,
    sizes: Vec<usize>,
    users: usize,
}

/// Row of each user, and the columns that are parameters, in the order of the rows.
type Table<'a> = (&'a [usize], &'a BTreeMap<String, Vec<String>>);

impl Columns {
    fn new(arrays: &Bound<'_, PyDict>, sizes: Vec<usize>) -> PyResult<Self> {
        let users = sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size));
        let users =
            users.ok_or_else(|| InputError::new_err("the sum of the sizes is too large"))?;
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
            return Err(InputError::new_err("the list has no cells, expected at least one"));
        }
        Ok(Self { arrays: columns, sizes, users })
    }

    /// Builds the cells in parallel.
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

/// Draws random cells of a problem.
#[pyfunction]
pub(crate) fn sample(
    py: Python<'_>,
    problem: &str,
    of_sample: &Bound<'_, PyDict>,
    of_cell: &Bound<'_, PyDict>,
) -> PyResult<Batch> {
    // Some path losses work only for drawing. The drawn cells have gains, so drop the path loss from their options.
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
            // In Python, users are identified by their positions.
            record.ids = Ids::default();
            Ok(Arc::new(formulating.instance(record)?))
        };
        records.into_iter().map(one).collect()
    })?;
    Ok(Batch { kind, instances: Arc::new(drawn.or_raise(py)?), rows: None })
}

/// Reads the cells of a document in a file format of the program: users as JSON or CSV, gains as JSON or `.npy`.
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

/// Returns whether the name of a column is that of a parameter of the problem. `is_beside_power` says whether the table
/// also has the column `power_w`.
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
