//! `anyk allocate`: one file for each family of problems; the model says which.

mod urllc;

use std::process::ExitCode;

use anyk::exchange::Model;

use crate::args::AllocateArgs;
use crate::failure::Failure;
use crate::input;

pub(crate) fn run(args: &AllocateArgs) -> Result<ExitCode, Failure> {
    match input::model(&args.model)? {
        Model::Urllc(policy) => urllc::run(args, &policy),
        Model::Power(_) => Err(Failure::input(format!(
            "{}: `anyk allocate` does not know models of powers",
            args.model
        ))),
    }
}
