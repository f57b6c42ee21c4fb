//! User-defined problems: separable convex costs under one budget.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyk::core::{About, Instance};
use anyk::exchange::write_atomically;
use anyk::framework::{Error, Options, Stored as _};
use anyk::problems::separable::{
    Cost as Tabulated, CostError, OWN_SEPARABLE, OwnSeparable, Separable, SeparablePrice,
    SeparableSettings, separable_instance,
};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::cells::{Cell, Kind, json};
use crate::errors::{InputError, OrRaise as _};
use crate::models::{Model, claim};
use crate::options::{hint, known, options};
use crate::pickles::{Picked, reduced};
use crate::work::long;

/// Tabulated cost of one user: decreasing, convex, with its derivative and the response to a price.
#[pyclass(module = "anyk", frozen)]
pub(crate) struct Cost {
    pub(crate) cost: Arc<Tabulated>,
}

/// Returns the values of an array in C order.
fn slice<'a>(name: &str, array: &'a PyReadonlyArray1<'_, f64>) -> PyResult<&'a [f64]> {
    array
        .as_slice()
        .map_err(|_| InputError::new_err(format!("{name}: expected an array in C order")))
}

/// Returns the error for a function or samples that are not a valid cost. If they increase, it also explains how to
/// maximize a utility.
fn not_a_cost(why: &CostError) -> PyErr {
    let advice = match why {
        CostError::NotDecreasing { .. } => {
            ". AnyK minimizes a cost that decreases; to maximize a utility, pass its negative, such as \
             lambda u: -np.log1p(u)"
        }
        _ => "",
    };
    InputError::new_err(format!("{why}{advice}"))
}

#[pymethods]
impl Cost {
    /// Tabulates a vectorized function on `[low, high]`.
    #[staticmethod]
    fn of_function(
        py: Python<'_>,
        function: &Bound<'_, PyAny>,
        low: f64,
        high: f64,
    ) -> PyResult<Self> {
        let mut failure: Option<PyErr> = None;
        let ask = |places: &[f64], values: &mut [f64]| -> PyResult<()> {
            let given = PyArray1::from_slice(py, places);
            let found: PyReadonlyArray1<'_, f64> = function.call1((given,))?.extract()?;
            let found = slice("cost", &found)?;
            if found.len() != values.len() {
                return Err(InputError::new_err(format!(
                    "the cost returned {} values for {} inputs, expected one for each: it must be vectorized",
                    found.len(),
                    values.len()
                )));
            }
            values.copy_from_slice(found);
            Ok(())
        };
        let made = Tabulated::from_batched((low, high), |places, values| {
            if failure.is_none()
                && let Err(error) = ask(places, values)
            {
                failure = Some(error);
            }
            if failure.is_some() {
                values.fill(f64::NAN);
            }
        });
        match failure {
            Some(error) => Err(error),
            None => Ok(Self { cost: Arc::new(made.map_err(|why| not_a_cost(&why))?) }),
        }
    }

    /// Interpolates samples.
    #[staticmethod]
    fn of_samples(u: PyReadonlyArray1<'_, f64>, c: PyReadonlyArray1<'_, f64>) -> PyResult<Self> {
        let samples: Vec<(f64, f64)> =
            slice("u", &u)?.iter().copied().zip(slice("c", &c)?.iter().copied()).collect();
        let made = Tabulated::from_samples(&samples).map_err(|why| not_a_cost(&why))?;
        Ok(Self { cost: Arc::new(made) })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Picked<'py>> {
        let values = PyArray1::from_vec(py, self.cost.to_values());
        reduced(py, "_restore_cost", (values,).into_pyobject(py)?)
    }

    /// Rebuilds a cost from a pickle.
    #[staticmethod]
    fn _restored(py: Python<'_>, values: PyReadonlyArray1<'_, f64>) -> PyResult<Self> {
        let cost = Tabulated::from_values(slice("values", &values)?);
        Ok(Self { cost: Arc::new(cost.map_err(Error::other).or_raise(py)?) })
    }

    fn _value<'py>(
        &self,
        py: Python<'py>,
        u: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_vec(py, slice("u", &u)?.iter().map(|&u| self.cost.value(u)).collect()))
    }

    fn _marginal<'py>(
        &self,
        py: Python<'py>,
        u: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_vec(py, slice("u", &u)?.iter().map(|&u| self.cost.marginal(u)).collect()))
    }

    fn _response<'py>(
        &self,
        py: Python<'py>,
        price: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let prices = slice("price", &price)?;
        if let Some(price) = prices.iter().find(|price| price.is_nan() || **price <= 0.0) {
            return Err(InputError::new_err(format!(
                "price is {price}, expected positive numbers"
            )));
        }
        Ok(PyArray1::from_vec(py, prices.iter().map(|&price| self.cost.response(price)).collect()))
    }

    /// Minimum and maximum u of the table.
    #[getter]
    fn range(&self) -> (f64, f64) {
        self.cost.range()
    }

    /// Bound on the relative error of the values.
    #[getter]
    fn error_bound(&self) -> f64 {
        self.cost.error_bound()
    }

    /// Maximum difference from any other convex cost through the same samples, relative to the range of their values;
    /// None for a function.
    #[getter]
    fn between_samples(&self) -> Option<f64> {
        self.cost.between_samples()
    }

    fn __repr__(&self) -> String {
        let (low, high) = self.cost.range();
        format!("Cost(u from {low:.3e} to {high:.3e}, error_bound={:.1e})", self.cost.error_bound())
    }
}

/// Builds the problem of users with gains and classes; `classes` has the index of each user's cost.
fn problem(
    py: Python<'_>,
    costs: &[Bound<'_, Cost>],
    gains: &[f64],
    classes: &[usize],
    budget: f64,
) -> PyResult<Separable> {
    let costs = costs.iter().map(|cost| Arc::clone(&cost.get().cost)).collect();
    let users = gains.iter().copied().zip(classes.iter().copied());
    Separable::new(costs, users, budget).or_raise(py)
}

/// Builds the instance of a separable problem, with weights if they are given.
pub(crate) fn instance(
    py: Python<'_>,
    costs: &[Bound<'_, Cost>],
    (gains, classes, weights): (&[f64], &[usize], Option<&[f64]>),
    budget: f64,
) -> PyResult<Instance> {
    let own = problem(py, costs, gains, classes, budget)?;
    Ok(separable_instance(match weights {
        Some(weights) => own.with_weights(weights.to_vec()).or_raise(py)?,
        None => own,
    }))
}

/// Computes the price policy for all problems with these costs.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn train_separable(
    py: Python<'_>,
    costs: Vec<Bound<'_, Cost>>,
    gains: Vec<f64>,
    classes: Vec<usize>,
    budget: f64,
    given: &Bound<'_, PyDict>,
    out: Option<PathBuf>,
    force: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Model> {
    if let Some(out) = &out {
        claim(out, force)?;
    }
    let problem = problem(py, &costs, &gains, &classes, budget)?;
    let options = options(given)?;
    let known = ["seed", "train-k", "samples"];
    if let Some(name) = options.names().find(|name| !known.contains(name)) {
        let name = name.replace('-', "_");
        let hint =
            hint(py, &name, ["seed", "train_k", "samples", "method", "out", "force", "progress"]);
        return Err(InputError::new_err(format!(
            "{name} does not apply to training a separable problem; expected seed, train_k or samples{hint}"
        )));
    }
    let read = || -> Result<SeparableSettings, Error> {
        let mut settings = SeparableSettings::like(&problem, options.seed("seed", 1)?);
        if let Some(sizes) = options.sizes("train-k")? {
            settings.train_k = sizes;
        }
        if let Some(samples) = options.whole("samples", 1, 100_000_000)? {
            settings.samples = usize::try_from(samples).unwrap_or(usize::MAX);
        }
        Ok(settings)
    };
    let settings = read().or_raise(py)?;
    let costs = problem.costs().to_vec();
    let trained = long(py, progress, move |_| -> Result<_, Error> {
        let started = Instant::now();
        let policy = SeparablePrice::train(&costs, &settings, None)?;
        let train_seconds = started.elapsed().as_secs_f64();
        if let Some(out) = &out {
            let bytes = policy.to_bytes()?;
            write_atomically(out, &bytes).map_err(|error| Error::write(out, error))?;
        }
        let record = policy.record();
        let report = serde_json::json!({
            "training": record.training,
            "prices": policy.prices(),
            "train_seconds": train_seconds,
            "gap_percent": record.metrics.gap_percent,
            "equal_gap_percent": record.metrics.equal_gap_percent,
        });
        let model: Arc<dyn anyk::core::Model> = Arc::new(policy);
        Ok((model, json(&report)?))
    })?;
    let (model, report) = trained.or_raise(py)?;
    Ok(Model::new(model, Some(report)))
}

/// Returns the kind whose random instances resemble a user-defined separable problem. They have its costs and budget,
/// and gains from the same range. `arguments` are those of the function that draws them.
pub(crate) fn like(
    py: Python<'_>,
    cell: &Cell,
    options: &Bound<'_, PyDict>,
    arguments: &[&str],
) -> PyResult<Arc<Kind>> {
    known(py, options, &[], arguments, "a separable problem")?;
    let problem = cell.instance.formulation::<Separable>().or_raise(py)?;
    let settings = SeparableSettings::like(problem, 0);
    let own = OwnSeparable::new(problem.costs()).drawn_as_in(&settings);
    Ok(Arc::new(Kind::of(Arc::new(own), Options::default())))
}

/// Returns the registry row of user-defined separable problems.
pub(crate) fn own_about() -> &'static About {
    &OWN_SEPARABLE
}

/// Returns whether a problem is user-defined.
pub(crate) fn is_own(about: &'static About) -> bool {
    std::ptr::eq(about, &raw const OWN_SEPARABLE)
}

/// Returns the user-defined problem of an instance; `None` if it has another problem.
pub(crate) fn own_problem(instance: &Instance) -> Option<&Separable> {
    instance.formulation().ok().filter(|_| is_own(instance.about()))
}

/// Returns the state of a user-defined problem for a pickle: the costs and the users. `costs` has the costs of earlier
/// problems, so that a pickle contains each cost once.
pub(crate) fn own_state<'py>(
    py: Python<'py>,
    problem: &Separable,
    costs: &mut Vec<Bound<'py, Cost>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let mut own = Vec::with_capacity(problem.costs().len());
    for cost in problem.costs() {
        let known = costs.iter().position(|known| Arc::ptr_eq(&known.get().cost, cost));
        if known.is_none() {
            costs.push(Bound::new(py, Cost { cost: Arc::clone(cost) })?);
        }
        own.push(costs[known.unwrap_or(costs.len() - 1)].clone());
    }
    let array = |values: &[f64]| PyArray1::from_slice(py, values);
    let (gains, weights) = (array(problem.gains()), array(problem.weights()));
    let users = (own, gains, problem.classes().to_vec(), weights, problem.budget());
    users.into_pyobject(py)
}
