//! Studies of `anyk reproduce`, descriptions of the problems, and the bandwidth that one user requires.

use std::path::PathBuf;
use std::sync::Arc;

use anyk::Config;
use anyk::framework::{CellOptions, Error, Table, Verb};

use anyk::qos::{BandwidthTable, RequiredBandwidth};
use anyk::tolerance;
use anyk_study::{Effort, Lab, STUDIES, Study, StudySettings};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::cells::{about, json, with_text};
use crate::errors::{InputError, OrRaise as _};
use crate::models::verb_of;
use crate::options::{described, hint, known};
use crate::work::{long, on_all_cores};

/// Returns the name of every study, its description, and whether it is in the paper.
#[pyfunction]
pub(crate) fn studies() -> Vec<(&'static str, &'static str, bool)> {
    STUDIES.iter().map(|study| (study.name, study.about, !study.own)).collect()
}

/// Runs a study and returns its tables as JSON.
#[pyfunction]
pub(crate) fn study(
    py: Python<'_>,
    name: &str,
    trainings: Option<u64>,
    effort: &str,
    cache: Option<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let Some(study) = Study::named(name) else {
        let names: Vec<&str> = STUDIES.iter().map(|study| study.name).collect();
        let (all, hint) = (names.join(", "), hint(py, name, names));
        return Err(InputError::new_err(format!("study is {name:?}, expected one of {all}{hint}")));
    };
    if trainings == Some(0) {
        return Err(InputError::new_err("trainings is 0, expected at least 1"));
    }
    let effort = match effort {
        "trial" => Effort::Trial,
        "usual" => Effort::Usual,
        "full" => Effort::Full,
        other => {
            return Err(InputError::new_err(format!(
                "effort is {other:?}, expected trial, usual or full"
            )));
        }
    };
    let settings = StudySettings { trainings, effort, cache };
    let found = long(py, progress, move |watch| -> Result<String, Error> {
        let mut lab = Lab::new(&settings, &**watch)?;
        let tables = study.tables(&mut lab)?;
        tables.iter().try_for_each(Table::check)?;
        let tables: Vec<_> = tables.iter().map(with_text).collect();
        json(&serde_json::json!({ "about": lab.about(), "tables": tables }))
    })?;
    found.or_raise(py)
}

/// Returns, for every problem, its name, description and formula, whether models can be trained for it, and the names
/// and descriptions of its policies that need no training.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn problems()
-> Vec<(&'static str, &'static str, &'static str, bool, Vec<(&'static str, &'static str)>)> {
    let row = |about: &'static anyk::core::About| {
        let policies = about.policies.iter().map(|row| (row.name, row.line)).collect();
        (about.name, about.line, about.formula, about.train.is_some(), policies)
    };
    anyk::problems::all().into_iter().map(row).collect()
}

/// Returns the options of a verb of a problem.
#[pyfunction]
pub(crate) fn options_of<'py>(
    py: Python<'py>,
    problem: &str,
    verb: &str,
) -> PyResult<Bound<'py, PyList>> {
    let verb: Verb = verb_of(py, verb)?;
    described(py, &(about(py, problem)?.flags)(verb))
}

/// Measures the time of the Rust code for `bench/python.py`; see `anyk_study::rust_seconds`.
#[pyfunction]
pub(crate) fn rust_seconds(
    py: Python<'_>,
    gains: Vec<Vec<f64>>,
    model: Option<&Bound<'_, PyBytes>>,
    calls: u32,
) -> PyResult<(f64, f64)> {
    let model = model.map(|bytes| bytes.as_bytes().to_vec());
    on_all_cores(|| anyk_study::rust_seconds(&gains, model.as_deref(), calls)).or_raise(py)
}

/// Values and derivatives of a function.
type Curve<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// Returns the minimum bandwidths (Hz) at received powers, rounded up by the error bound of the table, and their
/// derivatives (Hz/W).
#[pyfunction]
pub(crate) fn required_bandwidth<'py>(
    py: Python<'py>,
    received_w: PyReadonlyArray1<'py, f64>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Curve<'py>> {
    let options =
        known(py, options, &CellOptions::ALL.specs(), &["received_w"], "required_bandwidth")?;
    let system = CellOptions::ALL.system(&options, &Config::default()).or_raise(py)?;
    let table = table(&system).or_raise(py)?;
    let values =
        received_w.as_slice().map_err(|_| InputError::new_err("expected an array in C order"))?;
    let (mut bandwidths, mut slopes) =
        (Vec::with_capacity(values.len()), Vec::with_capacity(values.len()));
    for (place, &received_w) in values.iter().enumerate() {
        let point = table.at(received_w * (1.0 - tolerance::ROUNDING)).map_err(|error| {
            InputError::new_err(format!("received_w[{place}] is {received_w}: {error}"))
        })?;
        if !(point.bandwidth_hz.is_finite() && point.slope_hz_per_w.is_finite()) {
            return Err(InputError::new_err(format!(
                "received_w[{place}] is {received_w}, expected a smaller power; the result is not finite"
            )));
        }
        bandwidths.push(point.bandwidth_hz * (1.0 + table.error_bound()));
        slopes.push(point.slope_hz_per_w);
    }
    Ok((PyArray1::from_vec(py, bandwidths), PyArray1::from_vec(py, slopes)))
}

/// Returns the smallest received power (W) that some bandwidth can serve, for the service class of the cell.
#[pyfunction]
pub(crate) fn least_received_w(py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<f64> {
    let options = known(py, options, &CellOptions::ALL.specs(), &[], "least_received_w")?;
    let system = CellOptions::ALL.system(&options, &Config::default()).or_raise(py)?;
    let qos = system.qos(system.service()).map_err(Error::from).or_raise(py)?;
    Ok(RequiredBandwidth::new(qos).min_received_w())
}

/// Returns the bandwidth table of a system, from the cache if possible.
fn table(system: &anyk::System) -> Result<Arc<BandwidthTable>, Error> {
    use std::collections::HashMap;
    use std::sync::Mutex;
    static TABLES: Mutex<Option<HashMap<String, Arc<BandwidthTable>>>> = Mutex::new(None);
    let key = format!("{:?}", system.config());
    let mut known = crate::work::lock(&TABLES);
    let known = known.get_or_insert_default();
    if let Some(table) = known.get(&key) {
        return Ok(Arc::clone(table));
    }
    if known.len() > 64 {
        known.clear();
    }
    let table = Arc::new(BandwidthTable::new(system.qos(system.service())?));
    known.insert(key, Arc::clone(&table));
    Ok(table)
}
