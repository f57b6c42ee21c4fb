//! The program `anyk`: it parses arguments, calls the library and prints the results.

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

/// Makes Rayon use only the current thread if the system allows no further threads (a limit on processes). It tries a
/// temporary pool first, because Rayon ends the program if it cannot start its global pool.
fn start_threads() {
    let threads = rayon::ThreadPoolBuilder::new;
    if threads().build().is_err() {
        // This fails only if the global pool exists already.
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
