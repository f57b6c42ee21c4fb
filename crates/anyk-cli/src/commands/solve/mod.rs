//! `anyk solve`: one file for each family of problems.

mod interference;
mod urllc;

use std::process::ExitCode;

pub(crate) use urllc::print_served;

use crate::args::{ProblemArg, SolveArgs};
use crate::failure::Failure;

pub(crate) fn run(args: &SolveArgs) -> Result<ExitCode, Failure> {
    match args.problem {
        ProblemArg::Urllc => {
            args.problem.refuse(args.links.given())?;
            urllc::run(args)
        }
        ProblemArg::Interference | ProblemArg::LinkScheduling => {
            args.problem.refuse(args.system.given())?;
            interference::run(args)
        }
    }
}
