//! A problem as the program, and whatever else is built on the library, sees it.

use std::io::Write;
use std::sync::Arc;

use serde::Serialize;

use crate::config::System;
use crate::framework::{
    Amount, Answer, Assessor, Counter, Error, Guarantee, Instances, ModelError, ModelFile,
    Observer, OptionSpec, Options, Responder, Session, Show, Source, Text, Workshop,
};

/// What can be done with a problem or its models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Solve instances from a file.
    Solve,
    /// Judge somebody's allocations of the instances of a file.
    Assess,
    /// Draw random instances.
    Sample,
    /// Train a policy.
    Train,
    /// Measure a model on random instances.
    Evaluate,
    /// Answer instances from a file by a model.
    Allocate,
    /// Give a model a guarantee.
    Calibrate,
}

/// Random instances to measure on.
#[derive(Debug, Clone, PartialEq)]
pub struct Trials {
    /// Sizes.
    pub sizes: Vec<usize>,
    /// Instances of each size.
    pub samples: u64,
    /// Their seed.
    pub seed: u64,
}

/// What a calibration is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationSettings {
    /// Sizes at which the guarantee is to hold.
    pub k: Vec<usize>,
    /// Independent cells of each size.
    pub cells: usize,
    /// Share of users that may miss their QoS.
    pub beta: f64,
    /// Probability that more of them do.
    pub delta: f64,
    /// Seed of the cells.
    pub seed: u64,
    /// Whether the factor may be below 1, for a policy that gives more than the guarantee needs.
    pub shrink: bool,
}

/// One problem. Everything that the library's users do with problems goes through this trait, so that a new
/// problem is a folder with one of these and a line in the registry.
pub trait Room: Send + Sync {
    /// Its name, words joined by dashes.
    fn name(&self) -> &'static str;

    /// What is allocated, and for what, in a line.
    fn about(&self) -> &'static str;

    /// The problem as a formula, for a help page. Paragraphs are lines: whoever prints them wraps them.
    fn statement(&self) -> &'static str;

    /// What its input looks like, for a help page.
    fn input(&self) -> &'static str;

    /// Command lines that show how it is used, without the program's name.
    fn examples(&self, verb: Verb) -> &'static [&'static str];

    /// The options of a verb; for verbs on models, all that have a meaning for some model of this room.
    fn options(&self, verb: Verb) -> Vec<OptionSpec>;

    /// What solves the instances of an input.
    fn solve(&self, options: &Options) -> Result<Box<dyn Counter>, Error>;

    /// What judges somebody's allocations of the instances of an input.
    fn assess(&self, options: &Options) -> Result<Box<dyn Assessor>, Error>;

    /// The policies that everyone is to be compared with, by name: first the best that is known, then the trivial one.
    fn baselines(&self) -> &'static [(&'static str, &'static str)];

    /// The options at a size, where some depend on it.
    fn sized(&self, options: &Options, _size: usize) -> Result<Options, Error> {
        Ok(options.clone())
    }

    /// What an answer consists of, as arrays.
    fn amounts(&self) -> &'static [Amount];

    /// What makes instances of arrays, for callers that hold numbers and no files; the options are those of `assess`.
    fn instances(&self, options: &Options) -> Result<Box<dyn Instances>, Error>;

    /// One of the baselines, for instances of arrays; the options are those of `solve`.
    fn responder(&self, name: &str, options: &Options)
    -> Option<Result<Box<dyn Responder>, Error>>;

    /// Draws random instances and writes them in the form that `solve` reads.
    fn sample(&self, options: &Options, out: &mut dyn Write) -> Result<(), Error>;

    /// Whether there is something to train: networks of its own.
    fn trains(&self) -> bool {
        false
    }

    /// Trains a policy; a room without networks has nothing to train.
    fn train(&self, _options: &Options, _workshop: &Workshop<'_>) -> Result<Trained, Error> {
        Err(Error::NothingToTrain(self.name()))
    }

    /// Reads a model of this room; a room without networks has none.
    fn read(&self, file: ModelFile) -> Result<Box<dyn LoadedModel>, ModelError> {
        Err(ModelError::UnknownProblem(file.problem().to_owned()))
    }

    /// Its optimal or classical policies, for a diagnosis.
    fn policies(&self) -> &'static [BuiltIn] {
        &[]
    }
}

/// A policy of a room that needs no training.
pub struct BuiltIn {
    /// A short name.
    pub name: &'static str,
    /// What is put in and what comes out.
    pub label: &'static str,
    /// The policy in a cell.
    pub source: fn(&System) -> Result<Arc<dyn Source>, Error>,
}

/// What a training leaves.
pub struct Trained {
    /// The model.
    pub model: Box<dyn LoadedModel>,
    /// What there is to say about it.
    pub report: Box<dyn Answer>,
    /// What is wrong with the model and what to try, if it did not reach what it was trained for.
    pub warning: Option<String>,
    run: Option<String>,
    is_kept: bool,
}

impl Trained {
    /// The model of a run with its report. The warning is part of the report.
    pub fn new(
        session: &Session<'_>,
        model: impl LoadedModel + 'static,
        report: impl Serialize + Show + Send + 'static,
        warning: Option<String>,
    ) -> Self {
        let report = Box::new(Warned { report, warning: warning.clone() });
        let (run, is_kept) = (session.run_id().map(str::to_owned), session.is_kept());
        Self { model: Box::new(model), report, warning, run, is_kept }
    }

    /// Returns the bytes to write to the model's file; `None` if the file is there from an earlier run. If the run is
    /// one of several, the bytes identify it, so that the next command finds it.
    pub fn new_file(&self) -> Result<Option<Vec<u8>>, ModelError> {
        if self.is_kept {
            return Ok(None);
        }
        let bytes = self.model.file_bytes()?;
        Ok(Some(match &self.run {
            None => bytes,
            Some(run) => ModelFile::with_run(&bytes, run)?,
        }))
    }
}

/// A report with a warning.
#[derive(Serialize)]
struct Warned<R> {
    #[serde(flatten)]
    report: R,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

impl<R: Show> Show for Warned<R> {
    fn show(&self) -> Text {
        let mut text = self.report.show();
        if let Some(warning) = &self.warning {
            text.push(format!("warning: {warning}"));
        }
        text
    }
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

/// Which output of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Powers.
    Power,
    /// Bandwidths.
    Bandwidth,
}

/// A model with a guarantee, and what it promises.
pub type Calibrated = (Box<dyn LoadedModel>, Guarantee);

impl dyn LoadedModel + '_ {
    /// What to tell whoever uses the model for a number of users that it was not measured at; nothing for fewer.
    pub fn beyond_validation(&self, k: usize) -> Option<String> {
        let validated = self.validated_k().filter(|&validated| k > validated)?;
        Some(format!("the model was validated up to K = {validated}, not for K = {k}"))
    }
}

/// A model of any room.
pub trait LoadedModel: Send + Sync {
    /// The problem that it is for.
    fn problem(&self) -> &'static str;

    /// What it is, in some words: "an any-gnn of urllc".
    fn describe(&self) -> String;

    /// The bytes of its file.
    fn file_bytes(&self) -> Result<Vec<u8>, ModelError>;

    /// The options of a verb that have a meaning for this very model.
    fn options(&self, verb: Verb) -> Vec<OptionSpec>;

    /// The options that describe the instances that it was trained for: its cell.
    fn home(&self) -> Options {
        Options::default()
    }

    /// The largest number of users that it was measured at, after its training or by a calibration; `None` for a method
    /// that does not depend on it.
    fn validated_k(&self) -> Option<usize> {
        None
    }

    /// What it reaches on random instances, beside the optimum or the classical policies.
    fn evaluate(
        &self,
        options: &Options,
        trials: &Trials,
        observer: &dyn Observer,
    ) -> Result<Box<dyn Answer>, Error>;

    /// What answers the instances of an input by it, in the form of `solve`.
    fn allocate(&self, options: &Options) -> Result<Box<dyn Counter>, Error>;

    /// What answers instances of arrays by it; the options are those of `allocate` that change an answer.
    fn responder(&self, options: &Options) -> Result<Box<dyn Responder>, Error>;

    /// The same model with a guarantee, and what it promises; `None` where there is nothing to promise.
    fn calibrate(
        &self,
        _options: &Options,
        _settings: &CalibrationSettings,
    ) -> Option<Result<Calibrated, Error>> {
        None
    }

    /// It, to be diagnosed; `None` without such an output.
    fn source(&self, quantity: Quantity) -> Result<Option<Arc<dyn Source>>, Error>;
}
