//! `anyk evaluate`: one file for each family of problems; the model says which.

mod closed_form;
mod power_control;
mod urllc;

use std::process::ExitCode;

use anyk::exchange::Model;

use crate::args::EvaluateArgs;
use crate::failure::Failure;
use crate::input;

pub(crate) fn run(args: &EvaluateArgs) -> Result<ExitCode, Failure> {
    match input::model(&args.model)? {
        Model::Urllc(policy) => urllc::run(args, &policy),
        Model::ClosedForm(policy) => closed_form::run(args, &policy),
        Model::Power(policy) => power_control::run(args, &policy),
    }
}
