//! `anyk completions`.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    // Into memory first: the generator panics on a reader that has gone.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "anyk", &mut script);
    let mut out = output::stdout();
    out.write_all(&script)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
