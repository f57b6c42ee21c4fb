//! `anyk train`: trains a model, or several in parallel from different seeds.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyk::core::{About, Trained};
use anyk::exchange::check_folder;
use anyk::framework::{Error, Observer, Options, Shared, Slice, TrainingContext, Verb};
use clap::ArgMatches;
use rayon::prelude::*;

use super::parsed;
use super::problems::{chosen, save};
use crate::cli::TrainArgs;
use crate::failure::Failure;
use crate::output;
use crate::outputs::Outputs;
use crate::progress::Watcher;
use crate::values::Shard;

pub(super) fn train(matches: &ArgMatches, outputs: &Outputs) -> Result<ExitCode, Failure> {
    let Some((about, matches, options)) = chosen(matches, Verb::Train)? else {
        return Ok(ExitCode::SUCCESS);
    };
    let args: TrainArgs = parsed(matches);
    if let Some(seeds) = &args.seeds {
        return train_several(about, &options, &args, &seeds.0, outputs);
    }
    outputs.claim_model(&args.written.out)?;
    let watcher = Watcher::interruptible();
    let context =
        TrainingContext { observer: &watcher, out: Some(args.written.out.clone()), shared: None };
    let trained = run(about, &options, &context)?;
    keep(&args.written.out, &trained)?;
    output::page(&trained.report, args.written.json)
}

fn run(about: &About, options: &Options, context: &TrainingContext<'_>) -> Result<Trained, Error> {
    about.train.ok_or(Error::NothingToTrain(about.name))?(options, context)
}

/// Writes the model unless its file exists already, and prints the warning of the run, if there is one.
fn keep(out: &Path, trained: &Trained) -> Result<(), Failure> {
    if let Some(bytes) = trained.new_file()? {
        save(out, &bytes)?;
    }
    if let Some(warning) = &trained.warning {
        output::note(&format!("warning: {}: {warning}", out.display()));
    }
    Ok(())
}

/// Returns the path for the model of a seed: for seed 3, `p.safetensors` becomes `p-3.safetensors`.
fn out_of(out: &Path, seed: u64) -> PathBuf {
    let stem = out.file_stem().unwrap_or_default().to_string_lossy();
    let name = match out.extension() {
        Some(extension) => format!("{stem}-{seed}.{}", extension.to_string_lossy()),
        None => format!("{stem}-{seed}"),
    };
    out.with_file_name(name)
}

/// Observer of one of several training runs. It prefixes messages with the seed.
struct OneOf<'a> {
    all: &'a Watcher,
    seed: u64,
}

impl Observer for OneOf<'_> {
    fn tell(&self, message: &str) {
        self.all.tell(&format!("seed {}: {message}", self.seed));
    }

    fn stop(&self) -> bool {
        self.all.stop()
    }
}

/// Trains a model from every seed, with one run per core at a time. A run that fails does not end the others. Existing
/// models with the same settings, seed and sources are kept, and so is the outer function that the runs share. After an
/// interruption, the same command therefore trains only the remaining models.
fn train_several(
    about: &About,
    options: &Options,
    args: &TrainArgs,
    seeds: &[u64],
    outputs: &Outputs,
) -> Result<ExitCode, Failure> {
    let first = seeds.first().copied().unwrap_or(1);
    // In a shard, --out is a folder.
    let (out, slice) = match args.shard {
        Some(Shard { number, of }) => {
            let folder = &args.written.out;
            check_folder(folder).map_err(|error| Failure::write(folder, error))?;
            (folder.join("model.safetensors"), Slice { first: number - 1, step: of })
        }
        None => (args.written.out.clone(), Slice::ALL),
    };
    let places = slice.units(seeds.len() as u64).filter_map(|place| usize::try_from(place).ok());
    let seeds: Vec<u64> = places.filter_map(|place| seeds.get(place).copied()).collect();
    let outs: Vec<PathBuf> = seeds.iter().map(|&seed| out_of(&out, seed)).collect();
    for out in &outs {
        outputs.claim_model(out)?;
    }
    outputs.claim_model(&Shared::file_of(&out))?;
    let watcher = Watcher::interruptible();
    let shared = Shared::new(first, &out);
    watcher.begin("training runs", seeds.len() as u64);
    let results: Vec<Result<Trained, Failure>> = seeds
        .par_iter()
        .zip(&outs)
        .map(|(&seed, out)| {
            let observer = OneOf { all: &watcher, seed };
            if observer.stop() {
                return Err(Error::Interrupted.into());
            }
            let mut options = options.clone();
            options.set("seed", seed.to_string());
            let context = TrainingContext {
                observer: &observer,
                out: Some(out.clone()),
                shared: Some(&shared),
            };
            let trained = run(about, &options, &context)?;
            keep(out, &trained)?;
            watcher.done(1);
            Ok(trained)
        })
        .collect();
    watcher.end();
    let interrupted =
        results.iter().any(|result| result.as_ref().is_err_and(Failure::is_interruption));
    let written = results.iter().filter(|result| result.is_ok()).count();
    let mut code = None;
    for (result, seed) in results.into_iter().zip(&seeds) {
        match result {
            Ok(trained) => {
                output::page(&trained.report, args.written.json)?;
            }
            Err(failure) if failure.is_interruption() => {}
            Err(failure) => {
                code.get_or_insert(failure.report_of(&format!("seed {seed}: ")));
            }
        }
    }
    if interrupted {
        let all = seeds.len();
        output::note(&format!(
            "{written} of {all} models are written; run the same command again to continue"
        ));
        return Err(Error::Interrupted.into());
    }
    Ok(code.unwrap_or(ExitCode::SUCCESS))
}
