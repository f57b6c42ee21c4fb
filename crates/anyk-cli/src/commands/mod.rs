//! The commands, one file each.

mod answers;
mod assess;
pub(crate) mod bench;
mod diagnose;
mod evaluate;
mod info;
mod models;
mod problems;
mod reproduce;
mod small;
mod stream_bench;
mod train;

use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};

use crate::failure::Failure;

/// Runs a command.
pub(crate) fn run(name: &str, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    match name {
        "solve" => problems::solve(matches),
        "train" => train::train(matches),
        "sample" => problems::sample(matches),
        "assess" => assess::run(matches),
        "evaluate" => evaluate::run(matches),
        "allocate" => models::allocate(matches),
        "calibrate" => models::calibrate(matches),
        "info" => info::run(&parsed(matches)),
        "diagnose" => diagnose::run(matches),
        "reproduce" => reproduce::run(&parsed(matches)),
        "sweep" => small::sweep(matches),
        "bench" => bench::run(&parsed(matches)),
        "config" => small::config(matches),
        _ => small::completions(&parsed(matches)),
    }
}

/// The flags of a command as its type; the program ends with clap's message if they do not fit, which they
/// do where the type has described them.
fn parsed<T: FromArgMatches>(matches: &ArgMatches) -> T {
    T::from_arg_matches(matches).unwrap_or_else(|error| error.exit())
}
