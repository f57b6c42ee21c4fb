//! `anyk train`: one file for each family of problems.

mod urllc;

use std::process::ExitCode;

use crate::args::{ProblemArg, TrainArgs};
use crate::failure::Failure;

pub(crate) fn run(args: &TrainArgs) -> Result<ExitCode, Failure> {
    match args.problem {
        ProblemArg::Urllc => urllc::run(args),
        other => Err(other.not_with("train")),
    }
}
