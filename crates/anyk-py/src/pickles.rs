//! State of cells and answers in pickles. `__reduce__` returns it with a Python function that rebuilds the object.

use std::sync::Arc;

use anyk::core::{About, Formulating, Instance, Proof, Record, Size, Status};
use anyk::framework::{Error, Infeasibility, Options};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::answers::Quality;
use crate::cells::Kind;
use crate::errors::InputError;
use crate::options::options;
use crate::separable::{Cost, is_own, own_about, own_problem, own_state};

/// Result of `__reduce__`: the function that rebuilds an object, and its arguments.
pub(crate) type Picked<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

/// Returns the result of `__reduce__` with a function of `anyk._pickles`.
pub(crate) fn reduced<'py>(
    py: Python<'py>,
    function: &str,
    arguments: Bound<'py, PyTuple>,
) -> PyResult<Picked<'py>> {
    Ok((py.import("anyk._pickles")?.getattr(function)?, arguments))
}

/// Returns the error for a pickle whose content does not describe a valid object.
pub(crate) fn damaged() -> PyErr {
    InputError::new_err("the pickle is damaged, expected an object of this version of AnyK")
}

/// Returns the problem with a name and a first amount. The amount distinguishes the built-in separable
/// problem, which allocates powers, from a user-defined one, which allocates `x`.
pub(crate) fn about(problem: &str, amount: &str) -> PyResult<&'static About> {
    let mut all = anyk::problems::all().into_iter().chain([own_about()]);
    let is_meant = |about: &&About| {
        about.name == problem && about.amounts.first().is_some_and(|first| first.name == amount)
    };
    all.find(is_meant).ok_or_else(damaged)
}

/// Status, proof, iterations, infeasibility and warning of an allocation.
pub(crate) type Parts = (String, Option<(f64, f64)>, Option<usize>, Option<Reason>, Option<String>);
/// Fields of an `Infeasibility`.
type Reason = (Option<f64>, Option<f64>, Vec<usize>, Vec<usize>, Option<usize>, bool);

impl Quality {
    pub(crate) fn parts(&self) -> Parts {
        let Self { status, proof, iterations, infeasibility, warning } = self.clone();
        let proof = proof.map(|Proof { duality_gap, price }| (duality_gap, price));
        let reason = infeasibility.map(|why| {
            let Infeasibility {
                required_power_w,
                shortfall_w,
                admissible,
                dropped,
                at_most,
                is_exact,
            } = why;
            (required_power_w, shortfall_w, admissible, dropped, at_most, is_exact)
        });
        (status.to_owned(), proof, iterations, reason, warning)
    }

    pub(crate) fn of((status, proof, iterations, reason, warning): Parts) -> PyResult<Self> {
        let all = [
            Status::Optimal,
            Status::Inaccurate,
            Status::Converged,
            Status::IterationLimit,
            Status::Heuristic,
            Status::Learned,
        ];
        let mut known = all.into_iter().map(Status::name).chain(["infeasible"]);
        let infeasibility = reason.map(
            |(required_power_w, shortfall_w, admissible, dropped, at_most, is_exact)| {
                Infeasibility {
                    required_power_w,
                    shortfall_w,
                    admissible,
                    dropped,
                    at_most,
                    is_exact,
                }
            },
        );
        Ok(Self {
            status: known.find(|known| *known == status).ok_or_else(damaged)?,
            proof: proof.map(|(duality_gap, price)| Proof { duality_gap, price }),
            iterations,
            infeasibility,
            warning,
        })
    }
}

/// Instance in a pickle: number of users, length of the second axis, values of each column, and options.
pub(crate) type Stored<'py> = (usize, usize, Vec<Vec<f64>>, Bound<'py, PyDict>);

/// Returns the state of an instance. For a user-defined separable problem, the state has the costs and the users;
/// `costs` has the costs of earlier instances, so that a pickle contains each cost once.
pub(crate) fn state<'py>(
    py: Python<'py>,
    instance: &Instance,
    costs: &mut Vec<Bound<'py, Cost>>,
) -> PyResult<Bound<'py, PyTuple>> {
    if let Some(problem) = own_problem(instance) {
        return own_state(py, problem, costs);
    }
    let (size, record) = (instance.size(), &instance.record);
    let values: Vec<_> =
        record.values().iter().map(|values| PyArray1::from_slice(py, values)).collect();
    (size.users, size.others, values, named(py, record.parameters())?).into_pyobject(py)
}

/// Rebuilds an instance from its state.
pub(crate) fn instance(
    formulating: &mut Formulating,
    (users, others, values, parameters): (usize, usize, Vec<Vec<f64>>, Options),
) -> Result<Arc<Instance>, Error> {
    let inputs = formulating.problem().about().inputs;
    let record = Record::of_values(inputs, Size { users, others }, values, parameters)?;
    Ok(Arc::new(formulating.instance(record)?))
}

/// Returns the name of a problem, or `None` if it is user-defined, and the options that a cell can have.
pub(crate) fn home<'py>(
    py: Python<'py>,
    kind: &Kind,
) -> PyResult<(Option<&'static str>, Bound<'py, PyDict>)> {
    let about = kind.about();
    if is_own(about) {
        return Ok((None, PyDict::new(py)));
    }
    Ok((Some(about.name), named(py, &kind.options.only(&Kind::specs(about)))?))
}

/// Returns options as texts by name, as in keyword arguments.
pub(crate) fn named<'py>(py: Python<'py>, all: &Options) -> PyResult<Bound<'py, PyDict>> {
    let named = PyDict::new(py);
    for name in all.names() {
        named.set_item(name.replace('-', "_"), all.text(name))?;
    }
    Ok(named)
}

/// Returns the state of an instance with its options in the form of the library.
pub(crate) fn read(
    (users, others, values, parameters): Stored<'_>,
) -> PyResult<(usize, usize, Vec<Vec<f64>>, Options)> {
    Ok((users, others, values, options(&parameters)?))
}
