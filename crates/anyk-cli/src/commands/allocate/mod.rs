//! `anyk allocate`: one file for each family of problems; the model says which.

mod any_gnn;
mod closed_form;
mod power_control;
mod urllc;

use std::process::ExitCode;

use anyk::problems::urllc::Model;

use crate::args::AllocateArgs;
use crate::failure::Failure;
use crate::input;

pub(crate) fn run(args: &AllocateArgs) -> Result<ExitCode, Failure> {
    let model = input::model(&args.model)?;
    if !matches!(model, Model::Any(_)) {
        input::refuse_fading(args.judge.fading.as_deref(), &args.model)?;
    }
    match model {
        Model::Urllc(policy) => {
            args.refuse_links()?;
            args.system.refuse(&args.model)?;
            urllc::run(args, &policy)
        }
        Model::Any(policy) => {
            args.refuse_links()?;
            any_gnn::run(args, &policy)
        }
        Model::ClosedForm(policy) => {
            args.refuse_links()?;
            args.refuse_certify()?;
            closed_form::run(args, &policy)
        }
        Model::Power(policy) => {
            args.refuse_certify()?;
            power_control::run(args, &policy)
        }
    }
}
