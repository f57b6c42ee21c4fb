//! The program `anyk`: arguments → library → rendering.

mod arguments;
mod cli;
mod closed;
mod commands;
mod failure;
mod files;
mod output;
mod outputs;
mod printable;
mod program;
mod progress;
mod report;
mod rows;
mod values;

use std::process::ExitCode;

use crate::failure::Failure;

/// Where no thread can be started (a limit on processes), all work is done on this one. A pool that fails cannot be
/// tried again, and ends the program: the one that is tried first is for that alone.
fn start_threads() {
    let threads = rayon::ThreadPoolBuilder::new;
    if threads().build().is_err() {
        // An error here is a pool that is there already.
        let _ = threads().num_threads(1).use_current_thread().build_global();
    }
}

fn main() -> ExitCode {
    start_threads();
    let matches = cli::command().try_get_matches().unwrap_or_else(|error| failure::usage(&error));
    let outcome = match matches.subcommand() {
        Some((name, matches)) => commands::run(name, matches),
        None => Ok(ExitCode::SUCCESS),
    };
    outcome.unwrap_or_else(Failure::report)
}
