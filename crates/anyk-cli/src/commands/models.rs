//! `anyk allocate`, `anyk calibrate`: the model file determines the problem.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyk::core::{Answering, Model, Page, Text};
use anyk::exchange::Input;
use anyk::framework::{
    CalibrationSettings, CellOptions, Error, Guarantee, ModelError, OptionSpec, Options, Share,
    Verb,
};
use anyk::problems::allocating;
use clap::ArgMatches;
use serde::Serialize;

use super::answers::{self, Rest};
use super::parsed;
use super::problems::save;
use crate::arguments::{given, model_options};
use crate::cli::{AllocateArgs, CalibrateArgs};
use crate::failure::Failure;
use crate::outputs::Outputs;
use crate::{files, output};

/// Reads a model and the options that the user set; options that do not apply to the model are an error.
pub(super) fn opened(
    path: &str,
    matches: &ArgMatches,
    verb: Verb,
) -> Result<(Arc<dyn Model>, Options), Failure> {
    let model = files::model(path)?;
    let options = given(matches, &model_options(verb))?;
    let mut what = format!("{}, {}", files::name(path), model.describe());
    let (known, about) = (model.flags(verb), model.about());
    let trainable = (about.flags)(Verb::Train);
    let is_stray = |spec: &&OptionSpec| {
        let is_of_cell = CellOptions::ALL.specs().iter().any(|one| one.name == spec.name);
        is_of_cell && options.has(spec.name) && !known.iter().any(|one| one.name == spec.name)
    };
    if let Some(spec) = trainable.iter().find(is_stray) {
        let (problem, flag) = (about.name, spec.name);
        what.push_str(&format!(
            ", which works only in the cell that it was trained for (train a model with `anyk train {problem} --{flag} {}`, \
             or use `anyk solve {problem}`)",
            options.text(flag).unwrap_or_default()
        ));
    }
    options.refuse_others(&known, &what)?;
    Ok((model, options))
}

/// Adds the name of the file to errors of the model itself.
pub(super) fn named(path: &str) -> impl Fn(Error) -> Failure {
    move |error| match error {
        Error::Model(_) | Error::NoGuarantee(_) | Error::Other(_) => error.in_file(path).into(),
        error => error.into(),
    }
}

pub(super) fn allocate(matches: &ArgMatches, share: &Share) -> Result<ExitCode, Failure> {
    let args: AllocateArgs = parsed(matches);
    let (model, options) = opened(&args.model, matches, Verb::Allocate)?;
    let mut answering = allocating(&*model, &options)?;
    answers::prepare(&args.solve, &mut answering);
    let noted = AtomicBool::new(false);
    // The note is printed immediately, since a stream may never end.
    let answer = |worker: &mut Answering, input: Input<'_>| {
        let answers = worker.answer_share(input, share);
        let beyond = model.beyond_validation(worker.largest());
        if let Some(note) = beyond.filter(|_| !noted.swap(true, Ordering::Relaxed)) {
            note_beyond(&args.model, &note);
        }
        answers
    };
    answers::run(&args.solve, share, || answering.fork(), answer, || Ok(Rest::default()))
}

/// Prints a note that a model is used for more users than it was validated for.
pub(super) fn note_beyond(path: &str, note: &str) {
    output::note(&format!("note: {}: {note}", files::name(path)));
}

#[derive(Serialize)]
struct Report {
    model: String,
    guarantee: Guarantee,
}

pub(super) fn calibrate(matches: &ArgMatches, outputs: &Outputs) -> Result<ExitCode, Failure> {
    let args: CalibrateArgs = parsed(matches);
    outputs.claim_model(&args.written.out)?;
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
        let message = "models of this kind have no margin to calibrate";
        return Err(Error::from(ModelError::Content(message.to_owned())).in_file(path).into());
    };
    let (model, guarantee) = calibrated.map_err(named(path))?;
    save(&args.written.out, &model.bytes()?)?;
    let text = Text::line(guarantee.sentence());
    let report = Report { model: args.written.out.display().to_string(), guarantee };
    output::page(&Page::new(&report, text)?, args.written.json)
}
