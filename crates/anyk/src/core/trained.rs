//! Result of a training run.

use std::sync::Arc;

use serde::Serialize;

use super::{Model, Page, Text};
use crate::framework::{
    Error, Guarantee, ModelError, ModelFile, Options, Session, Stored, TrainingContext,
};

/// Result of a training run.
pub struct Trained {
    /// Trained model.
    pub model: Arc<dyn Model>,
    /// Report on the model.
    pub report: Page,
    /// Warning about a model that did not reach the goal of its training, with advice.
    pub warning: Option<String>,
    run: Option<String>,
    is_kept: bool,
}

/// Model with a guarantee, and the guarantee itself.
pub type Calibrated = (Arc<dyn Model>, Guarantee);

/// Function that trains a policy, with options of [`Verb::Train`](crate::framework::Verb::Train).
pub type Train = fn(&Options, &TrainingContext<'_>) -> Result<Trained, Error>;

/// Function that reads a model.
pub type Load = fn(ModelFile) -> Result<Arc<dyn Model>, ModelError>;

/// Reads a model of a problem with only one kind of model.
pub(crate) fn load<M: Model + Stored + 'static>(
    file: ModelFile,
) -> Result<Arc<dyn Model>, ModelError> {
    Ok(Arc::new(file.into_model::<M>()?))
}

impl Trained {
    /// Builds the result of a run with its report. The warning is part of the report.
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

    /// Returns the bytes to write to the model's file; `None` if the file exists from an earlier run. If the run
    /// is one of several, the bytes identify it, so that the next command finds it.
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

/// Report with a warning.
#[derive(Serialize)]
struct Warned<'a, R> {
    #[serde(flatten)]
    report: R,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'a str>,
}

/// Gap to the optimum, percent, below which a model counts as good even if the baseline is equally good, for
/// example with a single user.
const GOOD_PERCENT: f64 = 0.1;

/// Returns a warning if a model is no better than a baseline, given the name of the baseline and the gaps of
/// both to the optimum.
pub fn no_better_than(trivial: &str, gap_percent: f64, trivial_gap_percent: f64) -> Option<String> {
    (gap_percent > GOOD_PERCENT && gap_percent >= trivial_gap_percent).then(|| {
        format!(
            "on validation the model is {gap_percent:.2} % from the optimum, no better than {trivial} \
             ({trivial_gap_percent:.2} %): training failed; try another seed or more samples, or use the exact solver"
        )
    })
}
