//! `anyk solve`: one file for each family of problems.

mod closed_form;
mod interference;
mod urllc;

use std::process::ExitCode;

pub(crate) use closed_form::{print_rates, refuse_own_class};
pub(crate) use interference::print_powers;
pub(crate) use urllc::Answers;

use crate::args::{ProblemArg, SolveArgs};
use crate::failure::Failure;

pub(crate) fn run(args: &SolveArgs) -> Result<ExitCode, Failure> {
    match args.problem {
        ProblemArg::Urllc => {
            args.problem.refuse(&args.links.flags())?;
            urllc::run(args)
        }
        ProblemArg::QosPower | ProblemArg::EqualBandwidth => {
            args.problem.refuse(&args.links.flags())?;
            closed_form::run(args)
        }
        ProblemArg::Interference | ProblemArg::LinkScheduling => {
            args.problem.refuse(&args.system.flags())?;
            args.problem.refuse(&args.rate.flags())?;
            interference::run(args)
        }
    }
}
