//! Sweeps: a specification, its slices, and their results in a folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyk::SOURCES;
use anyk::exchange::{Origin, to_json};
use anyk::framework::{Error, Share, Silent};
use anyk::sweep::SliceResult;
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

use crate::cells::{json, with_text};
use crate::errors::OrRaise as _;
use crate::work::{long, on_all_cores};

/// Sweep with a store for the results of its slices. A worker needs no store.
#[pyclass(module = "anyk", frozen)]
pub(crate) struct Sweep {
    sweep: Arc<anyk::sweep::Sweep>,
    share: Share,
    /// Slices whose results were in the folder at the start.
    known: Vec<u64>,
}

/// Opens the folder with the results of a sweep.
fn open(sweep: &anyk::sweep::Sweep, folder: &Path) -> Result<Share, Error> {
    let version = env!("CARGO_PKG_VERSION");
    let origin = Origin {
        program: format!("anyk {version} {SOURCES}"),
        arguments: vec!["sweep".to_owned(), sweep.settings().to_owned()],
        files: BTreeMap::new(),
        shard: 1,
        of: 1,
    };
    match Share::part(folder, &origin)? {
        Some(share) => Ok(share),
        // The sweep is complete.
        None => Ok(Share::parts(folder)?.0),
    }
}

#[pymethods]
impl Sweep {
    /// Reads a specification, and opens the folder for its results, if there is one.
    #[new]
    fn new(py: Python<'_>, spec: &str, out: Option<PathBuf>) -> PyResult<Self> {
        let read = || -> Result<Self, Error> {
            let sweep = anyk::sweep::Sweep::parse(spec)?;
            let share = match &out {
                Some(folder) => open(&sweep, folder)?,
                None => Share::default(),
            };
            let known = (0..sweep.slices()).filter(|&slice| !share.is_missing(slice)).collect();
            Ok(Self { sweep: Arc::new(sweep), share, known })
        };
        py.detach(read).or_raise(py)
    }

    /// Returns the numbers of consecutive slices that take a similar time.
    fn alike(&self) -> Vec<u64> {
        self.sweep.alike()
    }

    /// Returns the slices whose results were known at the start.
    fn known(&self) -> Vec<u64> {
        self.known.clone()
    }

    /// Checks the settings of all training runs.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| on_all_cores(|| self.sweep.check())).or_raise(py)
    }

    /// Computes a slice on one thread, and returns its result as JSON.
    fn run(&self, py: Python<'_>, slice: u64) -> PyResult<String> {
        let run = || -> Result<String, Error> {
            let pool = ThreadPoolBuilder::new().num_threads(1).build().map_err(Error::other)?;
            let result = pool.install(|| self.sweep.run(slice, &Silent))?;
            to_json(&result).map_err(Error::other)
        };
        py.detach(run).or_raise(py)
    }

    /// Keeps the result of a slice in the folder.
    fn keep(&self, py: Python<'_>, slice: u64, result: &str) -> PyResult<()> {
        let keep = || self.share.keep(slice, &read(result)?);
        py.detach(keep).or_raise(py)
    }

    /// Computes all slices whose results are not known, on all cores, and returns the table as JSON.
    fn run_all(&self, py: Python<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
        let (sweep, share) = (Arc::clone(&self.sweep), self.share.clone());
        let found =
            long(py, progress, move |watch| json(&with_text(&sweep.run_all(&share, &**watch)?)))?;
        found.or_raise(py)
    }

    /// Returns the table as JSON. Results that are `None` come from the folder.
    fn table(&self, py: Python<'_>, results: Vec<Option<String>>) -> PyResult<String> {
        let table = || -> Result<String, Error> {
            self.share.complete()?;
            let one = |(slice, result): (usize, Option<String>)| match result {
                Some(text) => read(&text),
                None => {
                    let missing = || Error::Other(format!("slice {slice} has no result").into());
                    self.share.known(slice as u64)?.ok_or_else(missing)
                }
            };
            let results = results.into_iter().enumerate().map(one);
            json(&with_text(&self.sweep.table(results.collect::<Result<Vec<_>, Error>>()?)?))
        };
        py.detach(table).or_raise(py)
    }
}

fn read(result: &str) -> Result<SliceResult, Error> {
    serde_json::from_str(result).map_err(Error::other)
}
