//! Allocations for one or many instances, as NumPy arrays.

use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyk::core::{self, About, Column, Instance, Outcome, Proof, Size};
use anyk::framework::{Error, Infeasibility};
use numpy::{PyArray1, PyArrayMethods as _};
use pyo3::exceptions::{PyAttributeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySlice};
use rayon::prelude::*;

use crate::batch::{Batch, Chosen, Rows, starts};
use crate::errors::{InputError, OrRaise as _, infeasible as raise_infeasible};
use crate::options::hint;
use crate::pickles::{Parts, Picked, reduced};
use crate::pool::{Pool, Worker};
use crate::work::long;

/// Smallest amount of work (see `Instance::work`) for which a single instance runs as an interruptible task.
const LONG: usize = 50_000;

/// Status and proof of an allocation, or the reason why there is none.
#[derive(Debug, Clone)]
pub(crate) struct Quality {
    pub(crate) status: &'static str,
    pub(crate) proof: Option<Proof>,
    pub(crate) iterations: Option<usize>,
    pub(crate) infeasibility: Option<Infeasibility>,
    pub(crate) warning: Option<String>,
}

impl Quality {
    fn new(
        outcome: Outcome,
        instance: &Instance,
        allocation: &core::Allocation,
    ) -> Result<Self, Error> {
        let core::Allocation { proof, iterations, .. } = *allocation;
        match outcome {
            Outcome::Served(status) => {
                let (status, warning) = (status.name(), instance.warning(allocation));
                Ok(Self { status, proof, iterations, infeasibility: None, warning })
            }
            Outcome::Infeasible(why) => Ok(Self {
                status: "infeasible",
                proof: None,
                iterations: None,
                infeasibility: Some(why),
                warning: None,
            }),
            Outcome::Refused(why) => Err(Error::Refused(why)),
        }
    }
}

/// Issues a Python warning, at most once per process.
pub(crate) fn warn_once(py: Python<'_>, warning: Option<&str>) -> PyResult<()> {
    static WARNED: AtomicBool = AtomicBool::new(false);
    match warning {
        Some(warning) if !WARNED.swap(true, Ordering::Relaxed) => {
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(warning)?, 1)
        }
        _ => Ok(()),
    }
}

/// Returns the names of attributes: those of every answer, then the arrays of a problem and their totals.
fn attributes(about: &'static About, own: &[&str]) -> Vec<String> {
    let arrays = || arrays_of(about).map(|column| column.name);
    let totals = arrays().map(|name| format!("total_{name}"));
    own.iter().copied().chain(arrays()).map(str::to_owned).chain(totals).collect()
}

/// Returns the arrays in answers to a problem: its amounts and its results, such as the rates of links.
fn arrays_of(about: &'static About) -> impl Iterator<Item = &'static Column> + Clone {
    about.amounts.iter().chain(about.results)
}

/// Builds an array that Python code cannot change.
fn fixed<T: numpy::Element>(py: Python<'_>, values: Vec<T>) -> Bound<'_, PyArray1<T>> {
    let array = PyArray1::from_vec(py, values);
    let _ = array.readwrite().make_nonwriteable();
    array
}

/// Returns the error for an unknown attribute of an answer; the message lists the arrays of the answer.
fn no_attribute(py: Python<'_>, what: &str, about: &'static About, name: &str) -> PyErr {
    let arrays = || arrays_of(about).map(|column| column.name);
    let text = format!("{what} {}, not {name}", arrays().collect::<Vec<_>>().join(", "));
    // Python and NumPy ask for many private names, and discard the message.
    if name.starts_with('_') {
        return PyAttributeError::new_err(text);
    }
    let own = ["status", "duality_gap", "price", "iterations", "served", "sizes"];
    let totals = arrays().map(|name| format!("total_{name}"));
    let known = own.into_iter().chain(arrays()).map(str::to_owned).chain(totals);
    PyAttributeError::new_err(format!("{text}{}", hint(py, name, known)))
}

/// Returns the text that `anyk._show` builds for an object; `how` is `text` or `html`.
pub(crate) fn shown<'py>(of: &Bound<'py, PyAny>, how: &str) -> PyResult<Bound<'py, PyAny>> {
    of.py().import("anyk._show")?.call_method1(how, (of,))
}

/// Allocation of one cell: what each user gets. Its arrays are read-only.
#[pyclass(module = "anyk", frozen)]
pub(crate) struct Allocation {
    about: &'static About,
    columns: Vec<Py<PyAny>>,
    quality: Quality,
}

impl Allocation {
    pub(crate) fn new(
        py: Python<'_>,
        about: &'static About,
        columns: Vec<Vec<f64>>,
        quality: Quality,
    ) -> PyResult<Self> {
        let mut arrays = Vec::with_capacity(columns.len());
        for (column, values) in arrays_of(about).zip(columns) {
            arrays.push(match (column.is_common(), values.first()) {
                (true, Some(value)) => value.into_pyobject(py)?.into_any().unbind(),
                _ => fixed(py, values).into_any().unbind(),
            });
        }
        Ok(Self { about, columns: arrays, quality })
    }

    fn column(&self, name: &str) -> Option<&Py<PyAny>> {
        let place = arrays_of(self.about).position(|column| column.name == name)?;
        self.columns.get(place)
    }
}

#[pymethods]
impl Allocation {
    /// Status: `optimal`, `inaccurate`, `converged`, `iteration-limit`, `heuristic` or `learned`.
    #[getter]
    fn status(&self) -> &'static str {
        self.quality.status
    }

    /// Upper bound on `(objective − optimum) / objective`; None if there is no proof.
    #[getter]
    fn duality_gap(&self) -> Option<f64> {
        self.quality.proof.map(|proof| proof.duality_gap)
    }

    /// Dual variable of the budget; None if there is no proof.
    #[getter]
    fn price(&self) -> Option<f64> {
        self.quality.proof.map(|proof| proof.price)
    }

    /// Number of trial prices or iterations of the solver; None for a learned policy.
    #[getter]
    fn iterations(&self) -> Option<usize> {
        self.quality.iterations
    }

    /// Warning if the allocation is outside the range for which the formulas of the problem are meant; otherwise None.
    #[getter]
    fn warning(&self) -> Option<&str> {
        self.quality.warning.as_deref()
    }

    /// Return all amounts by name, and the results that follow from them, such as the rates of links.
    fn as_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (column, values) in arrays_of(self.about).zip(&self.columns) {
            all.set_item(column.name, values)?;
        }
        Ok(all)
    }

    /// Return a `pandas.DataFrame` with the amounts and the status of each user, and the index `user`.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("anyk._answers")?.call_method1("one_to_pandas", (slf,))
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if let Some(column) = self.column(name) {
            return Ok(column.bind(py).clone());
        }
        if let Some(column) = name.strip_prefix("total_").and_then(|name| self.column(name)) {
            let column = column.bind(py);
            return if column.hasattr("sum")? {
                column.call_method0("sum")?.call_method0("item")
            } else {
                Ok(column.clone())
            };
        }
        Err(no_attribute(py, "this allocation has", self.about, name))
    }

    fn __dir__(&self) -> Vec<String> {
        let own =
            ["status", "duality_gap", "price", "iterations", "warning", "as_dict", "to_pandas"];
        attributes(self.about, &own)
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "text")
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "html")
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Picked<'py>> {
        let (py, found) = (slf.py(), slf.get());
        let columns = PyList::new(py, &found.columns)?;
        let parts = (found.about.name, found.about.amounts[0].name, columns, found.quality.parts());
        reduced(py, "_restore", parts.into_pyobject(py)?)
    }

    /// Rebuild an allocation from a pickle.
    #[staticmethod]
    fn _restored(
        py: Python<'_>,
        problem: &str,
        amount: &str,
        columns: Vec<Bound<'_, PyAny>>,
        quality: Parts,
    ) -> PyResult<Self> {
        let one = |column: &Bound<'_, PyAny>| match column.extract::<f64>() {
            Ok(common) if !column.hasattr("shape")? => Ok(vec![common]),
            _ => column.extract::<Vec<f64>>(),
        };
        let columns = columns.iter().map(one).collect::<PyResult<_>>()?;
        Self::new(py, crate::pickles::about(problem, amount)?, columns, Quality::of(quality)?)
    }
}

fn answer(pool: &Pool, instance: &Instance) -> Result<(Quality, Vec<Vec<f64>>), Error> {
    let mut worker = pool.take()?;
    let Worker { policy, allocation } = &mut worker;
    let outcome = instance.allocate(&mut **policy, allocation)?;
    let is_served = outcome.is_served();
    let quality = Quality::new(outcome, instance, allocation)?;
    let results = if is_served { instance.results(allocation) } else { Vec::new() };
    let mut amounts = std::mem::take(&mut allocation.amounts);
    amounts.extend(results);
    pool.put_back(worker);
    Ok((quality, amounts))
}

/// Allocates one instance, and raises `Infeasible` if the budget cannot serve it.
pub(crate) fn allocate_one(
    py: Python<'_>,
    pool: &Arc<Pool>,
    instance: &Arc<Instance>,
) -> PyResult<Allocation> {
    let found = if instance.work() < LONG {
        py.detach(|| answer(pool, instance))
    } else {
        let (pool, instance) = (Arc::clone(pool), Arc::clone(instance));
        long(py, None, move |_| answer(&pool, &instance))?
    };
    let (quality, columns) = found.or_raise(py)?;
    if let Some(why) = &quality.infeasibility {
        return Err(raise_infeasible(py, why));
    }
    warn_once(py, quality.warning.as_deref())?;
    Allocation::new(py, instance.about(), columns, quality)
}

/// Allocations of many cells. Each amount is one read-only array with the values of all cells, one cell after another.
#[pyclass(module = "anyk", frozen)]
pub(crate) struct Allocations {
    about: &'static About,
    columns: Vec<Py<PyArray1<f64>>>,
    sizes: Vec<usize>,
    qualities: Vec<Quality>,
    rows: Option<Arc<Rows>>,
}

/// Number of instances per parallel task.
const SHARE: usize = 64;

/// Allocates many instances in parallel. `infeasible` says what to do if the budget cannot serve a cell: `raise` an
/// error, or set its amounts to `zero`.
pub(crate) fn allocate_all(
    py: Python<'_>,
    pool: &Arc<Pool>,
    batch: &Batch,
    infeasible: &str,
) -> PyResult<Allocations> {
    let instances = &batch.instances;
    let raise = match infeasible {
        "raise" => true,
        "zero" => false,
        other => {
            let expected = "\"raise\" or \"zero\"";
            return Err(InputError::new_err(format!(
                "infeasible is {other:?}, expected {expected}"
            )));
        }
    };
    let Some(first) = instances.first() else {
        return Err(InputError::new_err("the list has no cells, expected at least one"));
    };
    let about = first.about();
    let sizes: Vec<usize> = instances.iter().map(|one| one.size().users).collect();
    let (pool, shared) = (Arc::clone(pool), Arc::clone(instances));
    let (found, columns) =
        long(py, None, move |watch| answer_all(&pool, &shared, about, &**watch))?;
    let qualities = found.or_raise(py)?;
    let refused = qualities.iter().position(|quality| quality.infeasibility.is_some());
    if let (true, Some(cell)) = (raise, refused)
        && let Some(why) = &qualities[cell].infeasibility
    {
        let error = raise_infeasible(py, why);
        let value = error.value(py);
        value.setattr("cell", cell)?;
        return Err(error);
    }
    warn_once(py, qualities.iter().find_map(|quality| quality.warning.as_deref()))?;
    let columns = columns.into_iter().map(|values| fixed(py, values).unbind()).collect();
    Ok(Allocations { about, columns, sizes, qualities, rows: batch.rows.clone() })
}

type AllAnswers = (Result<Vec<Quality>, Error>, Vec<Vec<f64>>);

fn answer_all(
    pool: &Pool,
    instances: &[Arc<Instance>],
    about: &'static About,
    watch: &dyn anyk::framework::Observer,
) -> AllAnswers {
    let total = |amount: &Column| instances.iter().map(|one| amount.len(one.size())).sum();
    let mut columns: Vec<Vec<f64>> =
        arrays_of(about).map(|column| vec![0.0; total(column)]).collect();
    // Each task writes to its own part of every column.
    let mut rests: Vec<&mut [f64]> = columns.iter_mut().map(Vec::as_mut_slice).collect();
    let mut shares = Vec::with_capacity(instances.len().div_ceil(SHARE));
    for share in instances.chunks(SHARE) {
        let mut parts = Vec::with_capacity(rests.len());
        for (amount, rest) in arrays_of(about).zip(&mut rests) {
            let length = share.iter().map(|one| amount.len(one.size())).sum();
            let (part, left) = std::mem::take(rest).split_at_mut(length);
            parts.push(part);
            *rest = left;
        }
        shares.push((share, parts));
    }
    let work = |(share, mut parts): (&[Arc<Instance>], Vec<&mut [f64]>)| {
        if watch.stop() {
            return Err(Error::Interrupted);
        }
        let mut worker = pool.take()?;
        let Worker { policy, allocation } = &mut worker;
        let mut qualities = Vec::with_capacity(share.len());
        for instance in share {
            let outcome = instance.allocate(&mut **policy, allocation)?;
            let is_served = outcome.is_served();
            qualities.push(Quality::new(outcome, instance, allocation)?);
            let results = if is_served { instance.results(allocation) } else { Vec::new() };
            let mut found = allocation.amounts.iter().chain(&results);
            for (amount, part) in arrays_of(about).zip(&mut parts) {
                let (own, left) = std::mem::take(part).split_at_mut(amount.len(instance.size()));
                if let (true, Some(values)) = (is_served, found.next()) {
                    own.copy_from_slice(values);
                }
                *part = left;
            }
        }
        pool.put_back(worker);
        Ok(qualities)
    };
    let found: Result<Vec<Vec<Quality>>, Error> = shares.into_par_iter().map(work).collect();
    (found.map(|all| all.into_iter().flatten().collect()), columns)
}

impl Allocations {
    /// Returns the arrays of some cells, one cell after another.
    fn values(&self, py: Python<'_>, places: &[usize]) -> PyResult<Vec<Vec<f64>>> {
        let one = |(column, values): (&Column, &Py<PyArray1<f64>>)| -> PyResult<Vec<f64>> {
            let starts = starts(self.sizes.iter().map(|&users| column.len(Size::users(users))));
            let values = values.bind(py).readonly();
            let values = values.as_slice()?;
            Ok(places.iter().flat_map(|&at| &values[starts[at]..starts[at + 1]]).copied().collect())
        };
        arrays_of(self.about).zip(&self.columns).map(one).collect()
    }

    /// Returns the allocations of some cells. Their users keep the order of the table's rows.
    fn part(&self, py: Python<'_>, places: &[usize]) -> PyResult<Self> {
        let values = self.values(py, places)?.into_iter();
        let rows = self.rows.as_ref().map(|rows| rows.part(py, &self.sizes, places));
        Ok(Self {
            about: self.about,
            columns: values.map(|values| fixed(py, values).unbind()).collect(),
            sizes: places.iter().map(|&place| self.sizes[place]).collect(),
            qualities: places.iter().map(|&place| self.qualities[place].clone()).collect(),
            rows: rows.transpose()?.map(Arc::new),
        })
    }

    /// Returns the amount called `name` for all cells, one cell after another.
    fn column<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<(&'static Column, Bound<'py, PyArray1<f64>>)> {
        let mut all = arrays_of(self.about).zip(&self.columns);
        let found = all.find(|(column, _)| column.name == name);
        found
            .map(|(column, values)| (column, values.bind(py).clone()))
            .ok_or_else(|| no_attribute(py, "these allocations have", self.about, name))
    }

    /// Returns the sum of an array in each cell.
    fn totals(&self, column: &Column, values: &Bound<'_, PyArray1<f64>>) -> PyResult<Vec<f64>> {
        let values = values.readonly();
        let mut rest = values.as_slice()?;
        let sum = |&users: &usize| {
            let (own, left) = rest.split_at(column.len(Size::users(users)));
            rest = left;
            own.iter().sum()
        };
        Ok(self.sizes.iter().map(sum).collect())
    }
}

#[pymethods]
impl Allocations {
    fn __len__(&self) -> usize {
        self.sizes.len()
    }

    /// Number of users in each cell.
    #[getter]
    fn sizes(&self) -> Vec<usize> {
        self.sizes.clone()
    }

    /// Status of each cell; `infeasible` if the budget cannot serve it.
    #[getter]
    fn status(&self) -> Vec<&'static str> {
        self.qualities.iter().map(|quality| quality.status).collect()
    }

    /// Whether each cell is served.
    #[getter]
    fn served<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        let served = self.qualities.iter().map(|quality| quality.infeasibility.is_none()).collect();
        fixed(py, served)
    }

    /// Upper bound on `(objective − optimum) / objective` for each cell, and infinity for a cell that is not served.
    /// Raises `AttributeError` if the policy gives no proof.
    #[getter]
    fn duality_gap<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let gap = |quality: &Quality| match (&quality.proof, &quality.infeasibility) {
            (Some(proof), _) => Some(proof.duality_gap),
            // Nothing is proved about a cell without an allocation.
            (None, Some(_)) => Some(f64::INFINITY),
            _ => None,
        };
        let gaps: Option<Vec<f64>> = self.qualities.iter().map(gap).collect();
        let none = || PyAttributeError::new_err("these allocations have no proof");
        Ok(fixed(py, gaps.ok_or_else(none)?))
    }

    /// Return an amount of all cells in one array. The order is that of the rows if the users come from a table,
    /// otherwise one cell after another. An amount that all users of a cell share has one number per cell.
    fn flat<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (amount, column) = self.column(py, name)?;
        let Some(rows) = self.rows.as_ref().filter(|_| !amount.is_common()) else {
            return Ok(column);
        };
        let by_cell = column.readonly();
        let mut by_row = vec![0.0; rows.of_users.len()];
        for (&row, &value) in rows.of_users.iter().zip(by_cell.as_array()) {
            by_row[row] = value;
        }
        Ok(fixed(py, by_row))
    }

    /// Return a `pandas.DataFrame` with the amounts and the status of each user. Its index is that of the table of
    /// users; without such a table, the index has the positions of cell and user.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, answers) = (slf.py(), slf.get());
        let users: Vec<usize> = answers.sizes.clone();
        let names: Vec<&str> = arrays_of(answers.about).map(|column| column.name).collect();
        let columns: Vec<_> = answers.columns.iter().map(|column| column.bind(py)).collect();
        let amounts: Vec<_> = names.into_iter().zip(columns).collect();
        let rows = answers.rows.as_ref();
        let rows = rows.map(|rows| (rows.of_users.clone(), rows.index.clone_ref(py)));
        let python = py.import("anyk._answers")?;
        python.call_method1("to_pandas", (users, amounts, answers.status(), rows))
    }

    /// Return an amount of all cells: an array with one row per cell if all cells have the same number of users,
    /// otherwise a list of arrays. With the prefix `total_`, return the sum of the amount in each cell.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let summed = name.strip_prefix("total_").and_then(|name| self.column(py, name).ok());
        if let Some((column, values)) = summed {
            return Ok(fixed(py, self.totals(column, &values)?).into_any());
        }
        let (amount, flat) = self.column(py, name)?;
        let common = amount.is_common();
        let size = self.sizes.first().copied().unwrap_or(0);
        if common {
            return Ok(flat.into_any());
        }
        if self.sizes.iter().all(|&other| other == size) {
            return Ok(flat.reshape([self.sizes.len(), size])?.into_any());
        }
        let parts = PyList::empty(py);
        let mut start = 0;
        for size in &self.sizes {
            parts.append(flat.get_item(PySlice::new(
                py,
                start,
                start + size.cast_signed(),
                1,
            ))?)?;
            start += size.cast_signed();
        }
        Ok(parts.into_any())
    }

    fn __dir__(&self) -> Vec<String> {
        let own = ["sizes", "status", "served", "duality_gap", "flat", "to_pandas"];
        attributes(self.about, &own)
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "text")
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "html")
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Picked<'py>> {
        let (py, all) = (slf.py(), slf.get());
        let qualities: Vec<Parts> = all.qualities.iter().map(Quality::parts).collect();
        let rows = all.rows.as_ref().map(|rows| rows.parts(py));
        let (columns, sizes) = (PyList::new(py, &all.columns)?, all.sizes.clone());
        let (problem, amount) = (all.about.name, all.about.amounts[0].name);
        let parts = (problem, amount, columns, sizes, qualities, rows);
        reduced(py, "_restore_all", parts.into_pyobject(py)?)
    }

    /// Rebuild allocations from a pickle.
    #[staticmethod]
    fn _restored(
        py: Python<'_>,
        problem: &str,
        amount: &str,
        columns: Vec<Vec<f64>>,
        sizes: Vec<usize>,
        qualities: Vec<Parts>,
        rows: Option<(Vec<usize>, Py<PyAny>)>,
    ) -> PyResult<Self> {
        let about = crate::pickles::about(problem, amount)?;
        let total = |column: &Column| -> usize {
            sizes.iter().map(|&users| column.len(Size::users(users))).sum()
        };
        let is_whole = columns.len() == arrays_of(about).count()
            && arrays_of(about).zip(&columns).all(|(column, values)| values.len() == total(column));
        if !is_whole || qualities.len() != sizes.len() {
            return Err(crate::pickles::damaged());
        }
        let columns = columns.into_iter().map(|values| fixed(py, values).unbind()).collect();
        let qualities = qualities.into_iter().map(Quality::of).collect::<PyResult<_>>()?;
        let rows = rows.map(|(of_users, index)| Arc::new(Rows { of_users, index }));
        Ok(Self { about, columns, sizes, qualities, rows })
    }

    /// Return the allocation of one cell, or the allocations of several cells, with the indices of a `Batch`.
    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, all) = (slf.py(), slf.get());
        let place = match Chosen::of(index, all.sizes.len())? {
            Chosen::One(place) => place,
            Chosen::Part(places) => return Ok(Bound::new(py, all.part(py, &places)?)?.into_any()),
        };
        let quality = &all.qualities[place];
        if let Some(why) = &quality.infeasibility {
            return Err(raise_infeasible(py, why));
        }
        let one = Allocation::new(py, all.about, all.values(py, &[place])?, quality.clone())?;
        Ok(Bound::new(py, one)?.into_any())
    }
}
