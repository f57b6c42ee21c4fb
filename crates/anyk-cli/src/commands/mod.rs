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
mod shards;
mod small;
mod sweep;
mod train;

use std::process::ExitCode;

use anyk::framework::Share;
use clap::{ArgMatches, FromArgMatches};

use crate::failure::Failure;
use crate::outputs::Outputs;

/// Runs a command.
pub(crate) fn run(name: &str, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let outputs = Outputs::of(matches);
    let leaf = matches.subcommand().map_or(matches, |(_, matches)| matches);
    // The seeds of `train` are split without parts.
    match shards::requested(leaf).filter(|_| name != "train") {
        None => dispatch(name, matches, &outputs, &Share::default()),
        Some((shard, folder)) => match shards::open(shard, &folder, &outputs)? {
            None => Ok(ExitCode::SUCCESS),
            Some(share) => dispatch(name, matches, &outputs, &share),
        },
    }
}

/// Commands that answer the instances of an input.
const STREAMS: [&str; 3] = ["solve", "allocate", "assess"];

/// Runs a command, or the share of it that this process computes.
fn dispatch(
    name: &str,
    matches: &ArgMatches,
    outputs: &Outputs,
    share: &Share,
) -> Result<ExitCode, Failure> {
    // The other commands write models and report folders, which have their own rules.
    if !share.is_part() && !["train", "calibrate", "diagnose", "reproduce", "merge"].contains(&name)
    {
        outputs.claim_all()?;
    }
    if share.is_merged() && STREAMS.contains(&name) {
        let leaf = matches.subcommand().map_or(matches, |(_, matches)| matches);
        return answers::merged(&parsed(leaf), share);
    }
    match name {
        "solve" => problems::solve(matches, share),
        "train" => train::train(matches, outputs),
        "sample" => problems::sample(matches),
        "assess" => assess::run(matches, share),
        "evaluate" => evaluate::run(matches, share),
        "allocate" => models::allocate(matches, share),
        "calibrate" => models::calibrate(matches, outputs),
        "info" => info::run(&parsed(matches)),
        "diagnose" => diagnose::run(matches, outputs, share),
        "reproduce" => reproduce::run(&parsed(matches), outputs, share),
        "merge" => shards::merge(&parsed(matches)),
        "sweep" => sweep::run(&parsed(matches), share),
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
