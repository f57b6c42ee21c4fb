//! The independent checker: random cells, the program's answers, and the paper's formulas again in NumPy.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;

use crate::{build_programs, package, python, root, step};

const FOLDER: &str = "crates/anyk-cli/tests/checker";
/// Configurations of the usual tests, and of the long ones.
pub(crate) const USUAL: &str = "100";
pub(crate) const LONG: &str = "2000";
/// The same configurations in every run, unless others are asked for.
pub(crate) const SEED: &str = "11";

/// A seed that no run had before.
pub(crate) fn fresh_seed() -> String {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros()).to_string()
}

/// `cargo xtask checker [COUNT] [SEED]`.
pub(crate) fn command(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let count = arguments.next().unwrap_or_else(|| USUAL.into());
    let seed = arguments.next().unwrap_or_else(|| SEED.into());
    build_programs()?;
    check(&count, &seed)
}

/// Checks the program that the tests use on so many random configurations. Without NumPy there is no check, and a
/// line says so.
pub(crate) fn check(count: &str, seed: &str) -> Result<()> {
    let python = match python::environment(package::TESTS, package::REQUIREMENTS) {
        Ok(python) => python,
        Err(error) => {
            println!(
                "== SKIPPED: independent checker, since NumPy cannot be installed here ({error:#})"
            );
            return Ok(());
        }
    };
    let script = root().join(FOLDER).join("check.py");
    let program = root().join("target/debug/anyk");
    let mut command = Command::new(python);
    command.arg(script).arg(program).args([count, seed]);
    // Arrays of a few hundred kilobytes come and go: kept by the allocator, they halve the time.
    command.env("MALLOC_MMAP_THRESHOLD_", "1000000000").env("MALLOC_TRIM_THRESHOLD_", "1000000000");
    step("independent checker", &mut command)
}
