//! What a training leaves.

use std::sync::Arc;

use serde::Serialize;

use super::{Model, Page, Text};
use crate::framework::{Error, ModelError, ModelFile, Session, Stored};

/// What a training leaves.
pub struct Trained {
    /// The model.
    pub model: Arc<dyn Model>,
    /// What there is to say about it.
    pub report: Page,
    /// What is wrong with the model and what to try, if it did not reach what it was trained for.
    pub warning: Option<String>,
    run: Option<String>,
    is_kept: bool,
}

/// Reads a model of a problem that has one kind of them.
pub(crate) fn load<M: Model + Stored + 'static>(
    file: ModelFile,
) -> Result<Arc<dyn Model>, ModelError> {
    Ok(Arc::new(file.into_model::<M>()?))
}

impl Trained {
    /// The model of a run with its report. The warning is part of the report.
    pub fn new(
        session: &Session<'_>,
        model: impl Model + 'static,
        report: &impl Serialize,
        mut text: Text,
        warning: Option<String>,
    ) -> Result<Self, Error> {
        if let Some(warning) = &warning {
            text.push(format!("warning: {warning}"));
        }
        let report = Page::new(&Warned { report, warning: warning.as_deref() }, text)?;
        let (run, is_kept) = (session.run_id().map(str::to_owned), session.is_kept());
        Ok(Self { model: Arc::new(model), report, warning, run, is_kept })
    }

    /// Returns the bytes to write to the model's file; `None` if the file is there from an earlier run. If the run is
    /// one of several, the bytes identify it, so that the next command finds it.
    pub fn new_file(&self) -> Result<Option<Vec<u8>>, ModelError> {
        if self.is_kept {
            return Ok(None);
        }
        let bytes = self.model.bytes()?;
        Ok(Some(match &self.run {
            None => bytes,
            Some(run) => ModelFile::with_run(&bytes, run)?,
        }))
    }
}

/// A report with a warning.
#[derive(Serialize)]
struct Warned<'a, R> {
    #[serde(flatten)]
    report: R,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'a str>,
}

/// Distance to the optimum, percent, below which a model is good even if a trivial policy is as good, as it is for a
/// single user.
const GOOD_PERCENT: f64 = 0.1;

/// A warning if a model is no better than a trivial policy, given the distance of both to the optimum and the name of
/// the trivial policy.
pub fn no_better_than(trivial: &str, gap_percent: f64, trivial_gap_percent: f64) -> Option<String> {
    (gap_percent > GOOD_PERCENT && gap_percent >= trivial_gap_percent).then(|| {
        format!(
            "on validation the model is {gap_percent:.2} % from the optimum, no better than {trivial} \
             ({trivial_gap_percent:.2} %): training failed; try another seed or more samples, or use the exact solver"
        )
    })
}
