//! The program `anyk`: arguments → library → rendering.

mod arguments;
mod cli;
mod commands;
mod failure;
mod files;
mod help;
mod output;
mod progress;
mod report;

use std::process::ExitCode;

use crate::failure::Failure;

fn main() -> ExitCode {
    let matches = cli::command().get_matches();
    let outcome = match matches.subcommand() {
        Some((name, matches)) => commands::run(name, matches),
        None => Ok(ExitCode::SUCCESS),
    };
    outcome.unwrap_or_else(Failure::report)
}
