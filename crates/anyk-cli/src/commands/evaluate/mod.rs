//! `anyk evaluate`: one file for each family of problems; the model says which.

mod any_gnn;
mod closed_form;
mod power_control;
mod urllc;

use std::process::ExitCode;

use anyk::problems::urllc::Model;

use crate::args::EvaluateArgs;
use crate::failure::Failure;
use crate::input;

pub(crate) fn run(args: &EvaluateArgs) -> Result<ExitCode, Failure> {
    let model = input::model(&args.model)?;
    if !matches!(model, Model::Any(_)) {
        args.system.refuse(&args.model)?;
        input::refuse_fading(args.judge.fading.as_deref(), &args.model)?;
    }
    match model {
        Model::Any(policy) => any_gnn::run(args, &policy),
        Model::Urllc(policy) => urllc::run(args, &policy),
        Model::ClosedForm(policy) => closed_form::run(args, &policy),
        Model::Power(policy) => power_control::run(args, &policy),
    }
}
