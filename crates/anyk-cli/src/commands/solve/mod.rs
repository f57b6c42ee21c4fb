//! `anyk solve`: one file for each family of problems.

mod urllc;

use std::process::ExitCode;

pub(crate) use urllc::print_served;

use crate::args::{ProblemArg, SolveArgs};
use crate::failure::Failure;

pub(crate) fn run(args: &SolveArgs) -> Result<ExitCode, Failure> {
    match args.problem {
        ProblemArg::Urllc => urllc::run(args),
    }
}
