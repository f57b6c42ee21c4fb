//! Batches of cells, built from arrays, tables, files, random draws or other batches.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyk::core::{self, ArrayView, Formulating, Ids, Instance, Record};
use anyk::framework::{CellOptions, Error, Verb};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyList, PySlice};

use crate::answers::{Allocations, allocate_all, shown};
use crate::cells::{Cell, Kind, given, values};
use crate::errors::{InputError, OrRaise as _};
use crate::options::known;
use crate::pickles::{self, Picked, Stored};
use crate::work::long;

/// Cells of one problem. The number of users can differ between cells.
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
                    "the cells have different problems or options; put cells with the same problem and options in one \
                     batch",
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

    /// Build a batch from a table. `arrays` and `sizes` are as in `of_arrays`, `of_users` has the row of each user, and
    /// `index` is the table's index. `fields` has the columns that are parameters (JSON, in the order of the rows), and
    /// the names of other columns with empty lists.
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
            return Err(InputError::new_err(
                "rows must contain the position of every row of the table exactly once",
            ));
        }
        if let Some((name, _)) =
            fields.iter().find(|(_, texts)| ![0, columns.users].contains(&texts.len()))
        {
            return Err(InputError::new_err(format!(
                "the column {name} must have one value for each row of the table"
            )));
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

    /// Return one cell for an index, or a batch for a slice, a list of indices, or a mask with one boolean for each
    /// cell. Negative indices count from the end.
    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, all) = (slf.py(), slf.get());
        match Chosen::of(index, all.instances.len())? {
            Chosen::One(place) => {
                let (kind, instance) = (Arc::clone(&all.kind), Arc::clone(&all.instances[place]));
                Ok(Bound::new(py, Cell { kind, instance })?.into_any())
            }
            Chosen::Part(places) => Ok(Bound::new(py, all.part(py, &places)?)?.into_any()),
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Picked<'py>> {
        let (py, batch) = (slf.py(), slf.get());
        let (problem, options) = pickles::home(py, &batch.kind)?;
        let mut costs = Vec::new();
        let states = batch.instances.iter().map(|one| pickles::state(py, one, &mut costs));
        let states = states.collect::<PyResult<Vec<_>>>()?;
        let rows = batch.rows.as_ref().map(|rows| rows.parts(py));
        let arguments = (problem, options, states, rows).into_pyobject(py)?;
        pickles::reduced(py, "_restore_batch", arguments)
    }

    /// Rebuild a batch from a pickle.
    #[staticmethod]
    fn _restored(
        py: Python<'_>,
        problem: &str,
        options: &Bound<'_, PyDict>,
        states: Vec<Stored<'_>>,
        rows: Option<(Vec<usize>, Py<PyAny>)>,
    ) -> PyResult<Self> {
        let kind = Kind::find(py, problem, options)?;
        let states = states.into_iter().map(pickles::read).collect::<PyResult<Vec<_>>>()?;
        let formulating = Formulating::new(Arc::clone(&kind.problem));
        let made = long(py, None, move |_| -> Result<Vec<Arc<Instance>>, Error> {
            use rayon::prelude::*;
            let one = |formulating: &mut Formulating, state| pickles::instance(formulating, state);
            states.into_par_iter().map_with(formulating, one).collect()
        })?;
        let rows = rows.map(|(of_users, index)| Arc::new(Rows { of_users, index }));
        Ok(Self { kind, instances: Arc::new(made.or_raise(py)?), rows })
    }

    /// Names of the policies that need no training: the reference, then baselines.
    #[getter]
    fn _policies(&self) -> Vec<&'static str> {
        self.kind.about().policies.iter().map(|row| row.name).collect()
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "text")
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "html")
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

impl Batch {
    /// Returns the cells at some positions. Their users keep the order of the table's rows.
    fn part(&self, py: Python<'_>, places: &[usize]) -> PyResult<Self> {
        let rows = self.rows.as_ref().map(|rows| rows.part(py, &self.sizes(), places));
        let instances = places.iter().map(|&cell| Arc::clone(&self.instances[cell])).collect();
        let rows = rows.transpose()?.map(Arc::new);
        Ok(Self { kind: Arc::clone(&self.kind), instances: Arc::new(instances), rows })
    }
}

impl Rows {
    pub(crate) fn parts(&self, py: Python<'_>) -> (Vec<usize>, Py<PyAny>) {
        (self.of_users.clone(), self.index.clone_ref(py))
    }

    /// Returns the rows of the users of some cells as the rows of a smaller table. `sizes` has the number of users of
    /// every cell.
    pub(crate) fn part(&self, py: Python<'_>, sizes: &[usize], places: &[usize]) -> PyResult<Self> {
        let starts = starts(sizes.iter().copied());
        let users = places.iter().flat_map(|&cell| starts[cell]..starts[cell + 1]);
        let chosen: Vec<usize> = users.map(|user| self.of_users[user]).collect();
        let mut order: Vec<usize> = (0..chosen.len()).collect();
        order.sort_by_key(|&user| chosen[user]);
        let mut of_users = vec![0; chosen.len()];
        for (row, &user) in order.iter().enumerate() {
            of_users[user] = row;
        }
        let kept: Vec<usize> = order.iter().map(|&user| chosen[user]).collect();
        let index = match self.index.is_none(py) {
            true => py.None(),
            false => self.index.call_method1(py, "take", (kept,))?,
        };
        Ok(Self { of_users, index })
    }
}

/// Cells that an index selects.
pub(crate) enum Chosen {
    One(usize),
    Part(Vec<usize>),
}

impl Chosen {
    /// Reads an integer, a slice, a list of integers, or a mask with one entry for each of `length` cells.
    pub(crate) fn of(index: &Bound<'_, PyAny>, length: usize) -> PyResult<Self> {
        // In Python, True and False are integers, but nobody means cell 1 or 0 by them.
        let is_bool = index.is_instance_of::<PyBool>();
        if !is_bool && index.hasattr("__index__")? && !index.hasattr("__len__")? {
            return Ok(Self::One(place(index.extract()?, length)?));
        }
        let places: Vec<usize> = if let Ok(slice) = index.cast::<PySlice>() {
            let range = slice.indices(length.cast_signed())?;
            let at = |step: usize| range.start + step.cast_signed() * range.step;
            (0..range.slicelength).map(|step| at(step).cast_unsigned()).collect()
        } else {
            let arrays = index.py().import("anyk._arrays")?;
            let indices: Vec<isize> = arrays.call_method1("indices", (index, length))?.extract()?;
            let places = indices.into_iter().map(|index| place(index, length));
            places.collect::<PyResult<_>>()?
        };
        if places.is_empty() {
            return Err(InputError::new_err("the selection has no cells, expected at least one"));
        }
        Ok(Self::Part(places))
    }
}

/// Returns where each part of the given lengths starts, and where the last one ends.
pub(crate) fn starts(lengths: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut starts = vec![0];
    for length in lengths {
        starts.push(starts[starts.len() - 1] + length);
    }
    starts
}

/// Converts an index to a position; a negative index counts from the end.
fn place(index: isize, length: usize) -> PyResult<usize> {
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
                        // The names of columns without values are only checked for typos, once.
                        if !texts.is_empty() {
                            own.push((name, rows.iter().map(|&row| texts[row].as_str()).collect()));
                        } else if index == 0 {
                            own.push((name, vec!["null"; size]));
                        }
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
    let options = known(py, of_sample, &specs, &[], problem)?;
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

/// Returns the known name that a misspelled name resembles.
#[pyfunction]
pub(crate) fn slip_of(name: &str, known: Vec<String>) -> Option<String> {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    anyk::exchange::slip_of(name, &known).map(str::to_owned)
}

/// Returns whether a column has the name of a parameter of the problem. `is_beside_power` says whether the table
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
