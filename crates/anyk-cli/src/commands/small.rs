//! The short commands `anyk sweep`, `anyk config` and `anyk completions`.

use std::io::Write;
use std::process::ExitCode;

use anyk::framework::{CellOptions, Trials};
use anyk::{Config, System};
use clap::ArgMatches;

use super::parsed;
use crate::arguments::given;
use crate::cli::{self, CellsArgs, CompletionsArgs, SweepArgs};
use crate::failure::Failure;
use crate::output;
use crate::progress::Watcher;

/// Returns the cell that the flags of a command describe.
pub(super) fn system(matches: &ArgMatches) -> Result<System, Failure> {
    let options = given(matches, &CellOptions::ALL.specs())?;
    let system = CellOptions::ALL.system(&options, &Config::default());
    Ok(system?)
}

pub(super) fn sweep(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let args: SweepArgs = parsed(matches);
    let CellsArgs { k, samples, seed, json } = args.cells;
    let trials = Trials::new(k, samples, seed);
    output::page(&anyk_study::sweep(&system(matches)?, &trials, &Watcher::default())?, json)
}

pub(super) fn config(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let options = given(matches, &CellOptions::specs_of_files())?;
    let system = CellOptions::ALL.system_of_file(&options, &Config::default());
    let system = system?;
    let config = system.config();
    let config = Config { path_loss: config.path_loss.filled(), ..config.clone() };
    let toml = config.to_toml().map_err(anyk::framework::Error::other)?;
    let mut out = output::stdout();
    write!(out, "{toml}")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn completions(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    // Generate the script in memory, since the generator panics if the reader has exited.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli::command(), "anyk", &mut script);
    let mut out = output::stdout();
    out.write_all(&script)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
