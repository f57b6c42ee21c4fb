//! `anyk allocate`, `anyk calibrate`: the model's file says which problem it is of.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anyk::exchange::Input;
use anyk::framework::{
    CalibrationSettings, Counter, Error, Guarantee, LoadedModel, ModelError, Options, Show, Text,
    Verb,
};
use clap::ArgMatches;
use serde::Serialize;

use super::problems::save;
use super::{answers, parsed};
use crate::arguments::{given, model_options};
use crate::cli::{AllocateArgs, CalibrateArgs};
use crate::failure::Failure;
use crate::outputs::Outputs;
use crate::{files, output};

/// A model, and what was given of the options that have a meaning for it; others are refused.
pub(super) fn opened(
    path: &str,
    matches: &ArgMatches,
    verb: Verb,
) -> Result<(Box<dyn LoadedModel>, Options), Failure> {
    let model = files::model(path)?;
    let options = given(matches, &model_options(verb));
    let what = format!("{}, {}", files::name(path), model.describe());
    options.refuse_others(&model.options(verb), &what)?;
    Ok((model, options))
}

/// Errors of the model itself name its file.
pub(super) fn named(path: &str) -> impl Fn(Error) -> Failure {
    move |error| match error {
        Error::Model(_) | Error::NoGuarantee(_) | Error::Other(_) => error.in_file(path).into(),
        error => error.into(),
    }
}

pub(super) fn allocate(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let args: AllocateArgs = parsed(matches);
    let (model, options) = opened(&args.model, matches, Verb::Allocate)?;
    let counter = model.allocate(&options)?;
    let noted = AtomicBool::new(false);
    // At once, since a stream may never end.
    let answer = |fork: &mut Box<dyn Counter>, input: Input<'_>| {
        let answers = fork.answer(input);
        let beyond = model.beyond_validation(fork.largest());
        if let Some(note) = beyond.filter(|_| !noted.swap(true, Ordering::Relaxed)) {
            note_beyond(&args.model, &note);
        }
        answers
    };
    answers::through(&args.solve, || Ok(counter.fork()), answer)
}

/// Tells that a model is used for more users than it was measured at.
pub(super) fn note_beyond(path: &str, note: &str) {
    output::note(&format!("note: {}: {note}", files::name(path)));
}

#[derive(Serialize)]
struct Report {
    model: String,
    guarantee: Guarantee,
}

impl Show for Report {
    fn show(&self) -> Text {
        Text::line(self.guarantee.sentence())
    }
}

pub(super) fn calibrate(matches: &ArgMatches, outputs: &Outputs) -> Result<ExitCode, Failure> {
    let args: CalibrateArgs = parsed(matches);
    outputs.claim_model(&args.train.out)?;
    let (model, options) = opened(&args.model, matches, Verb::Calibrate)?;
    let settings = CalibrationSettings {
        k: args.k,
        cells: usize::try_from(args.cells).unwrap_or(usize::MAX),
        beta: args.beta,
        delta: args.delta,
        seed: args.seed,
        shrink: args.shrink,
    };
    let path = files::name(&args.model);
    let Some(calibrated) = model.calibrate(&options, &settings) else {
        let message = "it has no loss target, and so nothing to calibrate; expected a model of p-gnn, m-gnn, \
                       fnn or any-gnn";
        return Err(Error::from(ModelError::Content(message.to_owned())).in_file(path).into());
    };
    let (model, guarantee) = calibrated.map_err(named(path))?;
    save(&args.train.out, &model.file_bytes()?)?;
    let report = Report { model: args.train.out.display().to_string(), guarantee };
    output::answer(&report, args.train.json)
}
