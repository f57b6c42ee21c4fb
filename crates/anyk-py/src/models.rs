//! Learned policies: training, files, allocation, evaluation and calibration.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyk::core::About;
use anyk::exchange::{is_same_file, write_atomically};
use anyk::framework::{
    CalibrationSettings, Error, ModelFile, Options, TrainingContext, Trials, Verb,
};
use anyk::problems::{all, read_model};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::answers::{Allocation, Allocations, allocate_all, allocate_one};
use crate::batch::Batch;
use crate::cells::{Cell, about, json};
use crate::errors::{InputError, OrRaise as _};
use crate::options::{described, hint, known, options};
use crate::pool::{Pool, Source};
use crate::work::long;

/// Learned policy for any number of users.
#[pyclass(module = "anyk", frozen, weakref)]
pub(crate) struct Model {
    pub(crate) model: Arc<dyn anyk::core::Model>,
    /// Report of the training or the calibration, as JSON.
    report: Option<String>,
    /// Pool of policies without options.
    plain: Arc<Pool>,
    /// Pools of policies with options.
    others: Mutex<Vec<(Options, Arc<Pool>)>>,
}

impl Model {
    pub(crate) fn new(model: Arc<dyn anyk::core::Model>, report: Option<String>) -> Self {
        let plain = Arc::new(Pool::new(Source::Model(Arc::clone(&model), Options::default())));
        Self { model, report, plain, others: Mutex::default() }
    }

    /// Returns the pool for the given options, and builds it if necessary.
    fn pool(&self, py: Python<'_>, given: Option<&Bound<'_, PyDict>>) -> PyResult<Arc<Pool>> {
        let Some(given) = given else { return Ok(Arc::clone(&self.plain)) };
        let options = options(given)?;
        let known = |others: &Vec<(Options, Arc<Pool>)>| {
            let found = others.iter().find(|(known, _)| *known == options);
            found.map(|(_, pool)| Arc::clone(pool))
        };
        if let Some(known) = self.others.try_lock().ok().and_then(|others| known(&others)) {
            return Ok(known);
        }
        let mut specs = self.model.flags(Verb::Allocate);
        // Only files name classes.
        specs.retain(|spec| spec.name != "classes");
        let what = self.model.describe();
        options.refuse_others(&specs, &what).map_err(Error::from).or_raise(py)?;
        let source = Source::Model(Arc::clone(&self.model), options.clone());
        let pool = Arc::new(Pool::new(source));
        if let Ok(mut others) = self.others.try_lock() {
            others.truncate(8);
            others.push((options, Arc::clone(&pool)));
        }
        Ok(pool)
    }
}

/// Returns an error if `path` is an existing file that is not a model, unless `force` is set.
pub(crate) fn claim(path: &Path, force: bool) -> PyResult<()> {
    if force || !path.is_file() || ModelFile::is_at(path) {
        return Ok(());
    }
    let message = "the file exists; pass force=True to overwrite it";
    Err(InputError::new_err(format!("cannot write {}: {message}", path.display())))
}

#[pymethods]
impl Model {
    /// Reads a model from the bytes of its file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &Bound<'_, PyBytes>, name: PathBuf) -> PyResult<Self> {
        let (owned, name) = (bytes.as_bytes().to_vec(), name.display().to_string());
        let read = long(py, None, move |_| {
            read_model(&owned).map_err(|error| Error::from(error).in_file(name))
        })?;
        Ok(Self::new(read.or_raise(py)?, None))
    }

    /// Returns the content of the model's file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.model.bytes().or_raise(py)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes the model to a file atomically.
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        claim(&path, force)?;
        let bytes = self.model.bytes().or_raise(py)?;
        let written = py.detach(|| write_atomically(&path, &bytes));
        written.map_err(|error| Error::write(&path, error)).or_raise(py)
    }

    /// Name of the model's problem.
    #[getter]
    fn problem(&self) -> &'static str {
        self.model.about().name
    }

    /// Report of the training or the calibration, as JSON.
    #[getter]
    fn _report(&self) -> Option<&str> {
        self.report.as_deref()
    }

    /// Options of the cell that the model was trained for.
    #[getter]
    fn trained_options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (trained, all) = (self.model.trained_options(), PyDict::new(py));
        for name in trained.names() {
            all.set_item(name.replace('-', "_"), trained.text(name))?;
        }
        Ok(all)
    }

    /// Largest number of users in the validation; None for a method whose quality does not depend on it.
    #[getter]
    fn validated_k(&self) -> Option<usize> {
        self.model.validated_k()
    }

    /// Returns a warning if `k` is above `validated_k`, otherwise None.
    fn _beyond(&self, k: usize) -> Option<String> {
        self.model.beyond_validation(k)
    }

    fn __repr__(&self) -> String {
        format!("<anyk.Model: {}>", self.model.describe())
    }

    /// Allocates one cell.
    #[pyo3(signature = (cell, options=None))]
    fn _allocate(
        &self,
        py: Python<'_>,
        cell: &Bound<'_, Cell>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Allocation> {
        allocate_one(py, &self.pool(py, options)?, &cell.get().instance)
    }

    /// Allocates many cells in parallel.
    fn _allocate_all(
        &self,
        py: Python<'_>,
        batch: &Bound<'_, Batch>,
        options: Option<&Bound<'_, PyDict>>,
        infeasible: &str,
    ) -> PyResult<Allocations> {
        allocate_all(py, &self.pool(py, options)?, batch.get(), infeasible)
    }

    /// Evaluates the model on random instances and returns the report as JSON.
    fn _evaluate(
        &self,
        py: Python<'_>,
        sizes: Vec<usize>,
        samples: u64,
        seed: u64,
        options: &Bound<'_, PyDict>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let specs = self.model.flags(Verb::Evaluate);
        let options = known(
            py,
            options,
            &specs,
            &["sizes", "samples", "seed", "progress"],
            &self.model.describe(),
        )?;
        let model = Arc::clone(&self.model);
        let trials = Trials::new(sizes, samples, seed);
        let found = long(py, progress, move |watch| {
            model.evaluate(&options, &trials, &**watch).map(|page| page.json)
        })?;
        found.or_raise(py)
    }

    /// Returns the calibrated model.
    #[allow(clippy::too_many_arguments)]
    fn _calibrate(
        &self,
        py: Python<'_>,
        k: Vec<usize>,
        cells: usize,
        beta: f64,
        delta: f64,
        seed: u64,
        shrink: bool,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let specs = self.model.flags(Verb::Calibrate);
        let options = known(
            py,
            options,
            &specs,
            &["k", "cells", "beta", "delta", "seed", "shrink"],
            &self.model.describe(),
        )?;
        let model = Arc::clone(&self.model);
        let what = model.describe();
        let settings = CalibrationSettings { k, cells, beta, delta, seed, shrink };
        let found = long(py, None, move |_| {
            let made = model.calibrate(&options, &settings)?;
            Some(made.and_then(|(model, guarantee)| Ok((model, json(&guarantee)?))))
        })?;
        let Some(found) = found else {
            let promise = |about: &&About| !(about.flags)(Verb::Calibrate).is_empty();
            let names: Vec<&str> = all().into_iter().filter(promise).map(|row| row.name).collect();
            return Err(InputError::new_err(format!(
                "cannot calibrate {what}; expected a model for {}",
                names.join(" or ")
            )));
        };
        let (model, guarantee) = found.or_raise(py)?;
        Ok(Self::new(model, Some(guarantee)))
    }

    /// Returns the options of a verb.
    fn _options<'py>(&self, py: Python<'py>, verb: &str) -> PyResult<Bound<'py, PyList>> {
        described(py, &self.model.flags(verb_of(py, verb)?))
    }
}

/// Returns the verb called `name`.
pub(crate) fn verb_of(py: Python<'_>, name: &str) -> PyResult<Verb> {
    let found = Verb::ALL.iter().find(|verb| verb.0 == name);
    let none = || {
        let names: Vec<&str> = Verb::ALL.iter().map(|verb| verb.0).collect();
        let (all, hint) = (names.join(", "), hint(py, name, names));
        InputError::new_err(format!("verb is {name:?}, expected one of {all}{hint}"))
    };
    Ok(found.ok_or_else(none)?.1)
}

/// Trains a policy. Returns the model, and a warning if the run restarted or its result is poor.
#[pyfunction]
pub(crate) fn train(
    py: Python<'_>,
    problem: &str,
    options: &Bound<'_, PyDict>,
    out: Option<PathBuf>,
    force: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Model, Option<String>)> {
    let about = about(py, problem)?;
    let specs = (about.flags)(Verb::Train);
    let arguments = ["out", "force", "progress"];
    let options = known(py, options, &specs, &arguments, &format!("training for {problem}"))?;
    if let Some(out) = &out {
        for name in specs.iter().filter(|spec| spec.may_be_file()).map(|spec| spec.name) {
            if options.text(name).is_some_and(|input| is_same_file(out, input.as_ref())) {
                let why = format!("it is also the input ({name}); choose another path");
                return Err(InputError::new_err(format!("cannot write {}: {why}", out.display())));
            }
        }
        claim(out, force)?;
    }
    let trained = long(py, progress, move |watch| -> Result<_, Error> {
        let context = TrainingContext { observer: &**watch, out: out.clone(), shared: None };
        let train = about.train.ok_or(Error::NothingToTrain(about.name))?;
        let trained = train(&options, &context)?;
        if let Some(out) = &out {
            let bytes = trained.model.bytes()?;
            write_atomically(out, &bytes).map_err(|error| Error::write(out, error))?;
        }
        Ok((trained.model, trained.report.json, trained.warning))
    })?;
    let (model, report, warning) = trained.or_raise(py)?;
    Ok((Model::new(model, Some(report)), warning))
}
