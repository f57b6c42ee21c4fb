//! `anyk train`: one file for each family of problems.

mod any_gnn;
mod checkpoint;
mod closed_form;
mod power_control;
mod sampled;
mod urllc;

use std::path::Path;
use std::process::ExitCode;

use anyk::exchange::write_atomically;

use crate::args::{MethodArg, ProblemArg, TrainArgs};
use crate::failure::Failure;

pub(crate) fn run(args: &TrainArgs) -> Result<ExitCode, Failure> {
    let any_gnn = args.method == Some(MethodArg::AnyGnn);
    if args.train_ranges.is_some() && !any_gnn {
        return Err(Failure::input("--train-ranges: has a meaning for --method any-gnn alone"));
    }
    if args.problem != ProblemArg::Urllc {
        args.problem.refuse(&[("--fading", args.fading.is_some())])?;
    }
    match args.problem {
        ProblemArg::Urllc => {
            args.problem.refuse(&args.rate.flags())?;
            args.problem.refuse(&args.links.flags())?;
            match (args.fading.is_some(), any_gnn) {
                (true, _) => sampled::run(args),
                (false, true) => any_gnn::run(args),
                (false, false) => urllc::run(args),
            }
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
