//! Allocations for one or many instances, as NumPy arrays.

use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyk::core::{self, Column, Instance, Outcome, Proof, Size};
use anyk::framework::{Error, Infeasibility};
use numpy::{PyArray1, PyArrayMethods as _};
use pyo3::exceptions::{PyAttributeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySlice};
use rayon::prelude::*;

use crate::cells::{Batch, Rows, place};
use crate::errors::{InputError, OrRaise as _, infeasible as raise_infeasible};
use crate::pool::{Pool, Worker};
use crate::work::long;

/// Work (see `Instance::work`) from which a single instance runs as an interruptible task.
const LONG: usize = 50_000;

/// Status and proof of an allocation, or the reason why there is none.
#[derive(Debug, Clone)]
pub(crate) struct Quality {
    status: &'static str,
    proof: Option<Proof>,
    iterations: Option<usize>,
    infeasibility: Option<Infeasibility>,
    warning: Option<String>,
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

/// Raises a Python warning, once in a process.
pub(crate) fn warn_once(py: Python<'_>, warning: Option<&str>) -> PyResult<()> {
    static WARNED: AtomicBool = AtomicBool::new(false);
    match warning {
        Some(warning) if !WARNED.swap(true, Ordering::Relaxed) => {
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(warning)?, 1)
        }
        _ => Ok(()),
    }
}

/// Allocation of one cell: what each user gets.
#[pyclass(module = "anyk", frozen)]
pub(crate) struct Allocation {
    amounts: &'static [Column],
    columns: Vec<Py<PyAny>>,
    quality: Quality,
}

impl Allocation {
    fn new(
        py: Python<'_>,
        amounts: &'static [Column],
        columns: Vec<Vec<f64>>,
        quality: Quality,
    ) -> PyResult<Self> {
        let mut arrays = Vec::with_capacity(columns.len());
        for (amount, values) in amounts.iter().zip(columns) {
            arrays.push(match (amount.is_common(), values.first()) {
                (true, Some(value)) => value.into_pyobject(py)?.into_any().unbind(),
                _ => PyArray1::from_vec(py, values).into_any().unbind(),
            });
        }
        Ok(Self { amounts, columns: arrays, quality })
    }

    fn column(&self, name: &str) -> Option<&Py<PyAny>> {
        let place = self.amounts.iter().position(|amount| amount.name == name)?;
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

    /// Warning that the allocation is outside the range in which the model of the problem is meant to hold; None if it
    /// is inside.
    #[getter]
    fn warning(&self) -> Option<&str> {
        self.quality.warning.as_deref()
    }

    /// Return all amounts by name.
    fn as_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (amount, column) in self.amounts.iter().zip(&self.columns) {
            all.set_item(amount.name, column)?;
        }
        Ok(all)
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
        let names: Vec<&str> = self.amounts.iter().map(|amount| amount.name).collect();
        Err(PyAttributeError::new_err(format!(
            "this allocation has {}, not {name}",
            names.join(", ")
        )))
    }

    fn __dir__(&self) -> Vec<String> {
        let own = ["status", "duality_gap", "price", "iterations", "warning", "as_dict"];
        let amounts = || self.amounts.iter().map(|amount| amount.name);
        let totals = amounts().map(|name| format!("total_{name}"));
        own.into_iter().chain(amounts()).map(str::to_owned).chain(totals).collect()
    }

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.amounts.iter().map(|amount| amount.name).collect();
        let gap =
            self.duality_gap().map_or(String::new(), |gap| format!(", duality_gap={gap:.1e}"));
        format!("Allocation({}, {}{gap})", self.quality.status, names.join(", "))
    }
}

fn answer(pool: &Pool, instance: &Instance) -> Result<(Quality, Vec<Vec<f64>>), Error> {
    let mut worker = pool.take()?;
    let Worker { policy, allocation } = &mut worker;
    let outcome = instance.allocate(&mut **policy, allocation)?;
    let quality = Quality::new(outcome, instance, allocation)?;
    let amounts = std::mem::take(&mut allocation.amounts);
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
    Allocation::new(py, instance.about().amounts, columns, quality)
}

/// Allocations of many cells. Each amount is one array with the values of all cells, one cell after another.
#[pyclass(module = "anyk", frozen)]
pub(crate) struct Allocations {
    amounts: &'static [Column],
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
    let amounts = first.about().amounts;
    let sizes: Vec<usize> = instances.iter().map(|one| one.size().users).collect();
    let (pool, shared) = (Arc::clone(pool), Arc::clone(instances));
    let (found, columns) =
        long(py, None, move |watch| answer_all(&pool, &shared, amounts, &**watch))?;
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
    let columns =
        columns.into_iter().map(|values| PyArray1::from_vec(py, values).unbind()).collect();
    Ok(Allocations { amounts, columns, sizes, qualities, rows: batch.rows.clone() })
}

type AllAnswers = (Result<Vec<Quality>, Error>, Vec<Vec<f64>>);

fn answer_all(
    pool: &Pool,
    instances: &[Arc<Instance>],
    amounts: &'static [Column],
    watch: &dyn anyk::framework::Observer,
) -> AllAnswers {
    let total = |amount: &Column| instances.iter().map(|one| amount.len(one.size())).sum();
    let mut columns: Vec<Vec<f64>> =
        amounts.iter().map(|amount| vec![0.0; total(amount)]).collect();
    // Each task writes to its own part of every column.
    let mut rests: Vec<&mut [f64]> = columns.iter_mut().map(Vec::as_mut_slice).collect();
    let mut shares = Vec::with_capacity(instances.len().div_ceil(SHARE));
    for share in instances.chunks(SHARE) {
        let mut parts = Vec::with_capacity(amounts.len());
        for (amount, rest) in amounts.iter().zip(&mut rests) {
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
            for (at, (amount, part)) in amounts.iter().zip(&mut parts).enumerate() {
                let (own, left) = std::mem::take(part).split_at_mut(amount.len(instance.size()));
                if is_served {
                    own.copy_from_slice(&allocation.amounts[at]);
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
    /// Returns the amount called `name` for all cells, one cell after another.
    fn column<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<(&'static Column, Bound<'py, PyArray1<f64>>)> {
        let mut all = self.amounts.iter().zip(&self.columns);
        let names = || self.amounts.iter().map(|amount| amount.name).collect::<Vec<_>>().join(", ");
        let missing =
            || PyAttributeError::new_err(format!("these allocations have {}, not {name}", names()));
        let found = all.find(|(amount, _)| amount.name == name);
        found.map(|(amount, column)| (amount, column.bind(py).clone())).ok_or_else(missing)
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
        PyArray1::from_vec(py, served)
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
        Ok(PyArray1::from_vec(py, gaps.ok_or_else(none)?))
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
        Ok(PyArray1::from_vec(py, by_row))
    }

    /// Return a `pandas.DataFrame` with the amounts and the status of each user. Its index is that of the table that
    /// the users come from, or otherwise the positions of cell and user.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, answers) = (slf.py(), slf.get());
        let users: Vec<usize> = answers.sizes.clone();
        let names: Vec<&str> = answers.amounts.iter().map(|amount| amount.name).collect();
        let columns: Vec<_> = answers.columns.iter().map(|column| column.bind(py)).collect();
        let amounts: Vec<_> = names.into_iter().zip(columns).collect();
        let rows = answers.rows.as_ref();
        let rows = rows.map(|rows| (rows.of_users.clone(), rows.index.clone_ref(py)));
        let python = py.import("anyk._answers")?;
        python.call_method1("to_pandas", (users, amounts, answers.status(), rows))
    }

    /// Return an amount of all cells: an array with one row per cell if all cells have the same number of users,
    /// otherwise a list of arrays.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
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

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.amounts.iter().map(|amount| amount.name).collect();
        let served =
            self.qualities.iter().filter(|quality| quality.infeasibility.is_none()).count();
        format!("Allocations({} cells, {served} served, {})", self.sizes.len(), names.join(", "))
    }

    /// Return the allocation of one cell; negative indices count from the end.
    fn __getitem__(&self, py: Python<'_>, index: isize) -> PyResult<Allocation> {
        let index = place(index, self.sizes.len())?;
        let quality = &self.qualities[index];
        if let Some(why) = &quality.infeasibility {
            return Err(raise_infeasible(py, why));
        }
        let mut columns = Vec::with_capacity(self.columns.len());
        for (amount, column) in self.amounts.iter().zip(&self.columns) {
            let before: usize =
                self.sizes[..index].iter().map(|&users| amount.len(Size::users(users))).sum();
            let array = column.bind(py).readonly();
            let all = array
                .as_slice()
                .map_err(|_| InputError::new_err("expected an array in C order"))?;
            let length = amount.len(Size::users(self.sizes[index]));
            columns.push(all[before..before + length].to_vec());
        }
        Allocation::new(py, self.amounts, columns, quality.clone())
    }
}
