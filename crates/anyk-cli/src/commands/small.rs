//! The short commands `anyk config` and `anyk completions`.

use std::io::Write;
use std::process::ExitCode;

use anyk::Config;
use anyk::framework::CellOptions;
use clap::ArgMatches;

use crate::arguments::given;
use crate::cli::{self, CompletionsArgs};
use crate::failure::Failure;
use crate::output;

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
