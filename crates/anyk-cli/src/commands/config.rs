//! `anyk config`.

use std::io::Write;
use std::process::ExitCode;

use crate::args::ConfigArgs;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &ConfigArgs) -> Result<ExitCode, Failure> {
    let mut out = output::stdout();
    write!(out, "{}", args.system.system()?.config().to_toml()?)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
