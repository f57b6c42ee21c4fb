//! Python environments under `target/` with the requirements of a script.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::{root, step};

/// Creates an environment, if it is missing, installs the packages of a requirements file, and returns the interpreter.
/// Both paths are relative to the root.
pub(crate) fn environment(folder: &str, requirements: &str) -> Result<PathBuf> {
    let folder = root().join(folder);
    let python = folder.join("bin/python");
    if !python.exists() {
        step("python environment", Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    }
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
    let requirements = root().join(requirements);
    step("python packages", Command::new(&python).args(install).arg(requirements))?;
    Ok(python)
}
