//! `anyk solve`: one file for each family of problems.

mod closed_form;
mod urllc;

use std::process::ExitCode;

pub(crate) use closed_form::{print_rates, refuse_own_class};
pub(crate) use urllc::print_served;

use crate::args::{ProblemArg, SolveArgs};
use crate::failure::Failure;

pub(crate) fn run(args: &SolveArgs) -> Result<ExitCode, Failure> {
    match args.problem {
        ProblemArg::Urllc => urllc::run(args),
        ProblemArg::QosPower | ProblemArg::EqualBandwidth => closed_form::run(args),
    }
}
