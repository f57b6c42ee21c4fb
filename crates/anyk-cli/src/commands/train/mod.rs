//! `anyk train`: one file for each family of problems.

pub(crate) mod any_gnn;
mod checkpoint;
mod closed_form;
mod power_control;
mod urllc;

use std::path::Path;
use std::process::ExitCode;

use anyk::exchange::write_atomically;

use crate::args::{MethodArg, ProblemArg, TrainArgs};
use crate::failure::Failure;

pub(crate) fn run(args: &TrainArgs) -> Result<ExitCode, Failure> {
    if args.problem != ProblemArg::Urllc {
        args.problem.refuse(&[("--fading", args.fading.is_some())])?;
    }
    // Samples of fading are for the one method that learns its bandwidth from them.
    let any_gnn = match args.method {
        None => args.fading.is_some(),
        Some(method) => method == MethodArg::AnyGnn,
    };
    let flags =
        [("--fading", args.fading.is_some()), ("--train-ranges", args.train_ranges.is_some())];
    if let Some((flag, _)) = flags.iter().find(|flag| flag.1 && !any_gnn) {
        return Err(Failure::input(format!("{flag}: has a meaning for --method any-gnn alone")));
    }
    match args.problem {
        ProblemArg::Urllc => {
            args.problem.refuse(&args.rate.flags())?;
            args.problem.refuse(&args.links.flags())?;
            if any_gnn { any_gnn::run(args) } else { urllc::run(args) }
        }
        ProblemArg::QosPower | ProblemArg::EqualBandwidth => closed_form::run(args),
        ProblemArg::Interference | ProblemArg::LinkScheduling => power_control::run(args),
    }
}

/// Writes a model whole or not at all.
pub(crate) fn save(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_atomically(path, bytes)
        .map_err(|error| Failure::input(format!("{}: cannot write: {error}", path.display())))
}
