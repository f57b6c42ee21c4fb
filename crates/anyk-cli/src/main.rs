//! The program `anyk`.

mod args;
mod commands;
mod diagnose_args;
mod failure;
mod input;
mod link_args;
mod output;
mod progress;
mod report;
mod system_args;
mod train_args;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::failure::Failure;

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Solve(args) => commands::solve::run(&args),
        Command::Train(args) => commands::train::run(&args),
        Command::Calibrate(args) => commands::calibrate::run(&args),
        Command::Evaluate(args) => commands::evaluate::run(&args),
        Command::Allocate(args) => commands::allocate::run(&args),
        Command::Diagnose(args) => commands::diagnose::run(&args),
        Command::Reproduce(args) => commands::reproduce::run(&args),
        Command::Sample(args) => commands::sample::run(&args),
        Command::Sweep(args) => commands::sweep::run(&args),
        Command::Bench(args) => commands::bench::run(&args),
        Command::Config(args) => commands::config::run(&args),
        Command::Completions(args) => commands::completions::run(&args),
    };
    outcome.unwrap_or_else(Failure::report)
}
