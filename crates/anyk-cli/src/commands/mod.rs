//! The commands of the program.

mod answers;
mod assess;
mod bench;
mod diagnose;
mod evaluate;
mod info;
mod models;
mod problems;
mod reproduce;
mod small;
mod train;

use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};

use crate::failure::Failure;
use crate::outputs::Outputs;

/// Runs a command.
pub(crate) fn run(name: &str, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let outputs = Outputs::of(matches);
    // The other commands write models and report folders, which have their own rules.
    if !["train", "calibrate", "diagnose", "reproduce"].contains(&name) {
        outputs.claim_all()?;
    }
    match name {
        "solve" => problems::solve(matches),
        "train" => train::train(matches, &outputs),
        "sample" => problems::sample(matches),
        "assess" => assess::run(matches),
        "evaluate" => evaluate::run(matches),
        "allocate" => models::allocate(matches),
        "calibrate" => models::calibrate(matches, &outputs),
        "info" => info::run(&parsed(matches)),
        "diagnose" => diagnose::run(matches, &outputs),
        "reproduce" => reproduce::run(&parsed(matches), &outputs),
        "sweep" => small::sweep(matches),
        "bench" => bench::run(&parsed(matches)),
        "config" => small::config(matches),
        _ => small::completions(&parsed(matches)),
    }
}

/// Converts the flags of a command to its type. The type also defines the flags, so this succeeds; otherwise the
/// program would end with clap's message.
fn parsed<T: FromArgMatches>(matches: &ArgMatches) -> T {
    T::from_arg_matches(matches).unwrap_or_else(|error| error.exit())
}
