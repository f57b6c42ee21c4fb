//! `anyk train`: one file for each family of problems.

mod checkpoint;
mod closed_form;
mod power_control;
mod sampled;
mod urllc;

use std::path::Path;
use std::process::ExitCode;

use anyk::exchange::write_atomically;

use crate::args::{ProblemArg, TrainArgs};
use crate::failure::Failure;

pub(crate) fn run(args: &TrainArgs) -> Result<ExitCode, Failure> {
    if args.problem != ProblemArg::Urllc {
        args.problem.refuse(&[("--fading", args.fading.is_some())])?;
    }
    match args.problem {
        ProblemArg::Urllc if args.fading.is_some() => sampled::run(args),
        ProblemArg::Urllc => urllc::run(args),
        ProblemArg::QosPower | ProblemArg::EqualBandwidth => closed_form::run(args),
        ProblemArg::Interference | ProblemArg::LinkScheduling => power_control::run(args),
    }
}

/// Writes a model whole or not at all.
pub(crate) fn save(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_atomically(path, bytes)
        .map_err(|error| Failure::input(format!("{}: cannot write: {error}", path.display())))
}
