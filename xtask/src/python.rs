//! Python environments under `target/`, with what a script asks for.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::{root, step};

/// The interpreter of an environment that has a file of requirements installed; both paths from the root.
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
