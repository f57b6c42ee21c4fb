//! Independent checker: it solves random cells with the program and checks the answers with the paper's formulas in
//! NumPy.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;

use crate::{build_programs, package, python, root, step};

const FOLDER: &str = "crates/anyk-cli/tests/checker";
/// Number of configurations in the usual tests; the long tests have [`LONG`].
pub(crate) const USUAL: &str = "100";
pub(crate) const LONG: &str = "2000";
/// Default seed, so that every run has the same configurations.
pub(crate) const SEED: &str = "11";

/// Returns a new seed.
pub(crate) fn fresh_seed() -> String {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros()).to_string()
}

/// Runs `cargo xtask checker [COUNT] [SEED]`.
pub(crate) fn command(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let count = arguments.next().unwrap_or_else(|| USUAL.into());
    let seed = arguments.next().unwrap_or_else(|| SEED.into());
    build_programs()?;
    check(&count, &seed)
}

/// Checks the debug build of the program on `count` random configurations. If NumPy cannot be installed, this prints a
/// message instead.
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
    // The check often allocates arrays of a few hundred kilobytes. It takes half the time if the allocator keeps them.
    command.env("MALLOC_MMAP_THRESHOLD_", "1000000000").env("MALLOC_TRIM_THRESHOLD_", "1000000000");
    step("independent checker", &mut command)
}
