//! `cargo xtask test --long`: slow checks that rarely fail, and property tests with more random cases. Run the usual
//! tests first.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::checker::{self, fresh_seed};
use crate::{build_programs, cargo, fuzz, note, package, repeat, root, seed, step};

/// Number of cases of each property test; overrides the number in the test.
const CASES: &str = "500";

pub(crate) fn long() -> Result<()> {
    licences()?;
    package::publish()?;
    package::archives()?;
    build_programs()?;
    slurm()?;
    package::check_torch()?;
    package::check_ray()?;
    fuzz::usual()?;
    checker::check(checker::LONG, &fresh_seed())?;
    let seed = seed();
    println!("== property tests: PROPTEST_RNG_SEED={seed}");
    let mut tests = cargo();
    tests.args(["test", "--workspace", "--locked", "--lib", "--test", "library"]);
    tests.env("PROPTEST_RNG_SEED", &seed).env("PROPTEST_CASES", CASES).env("ANYK_LONG", "1");
    step("property tests", &mut tests).with_context(|| repeat(&seed, "test --long"))?;
    let studies = ["test", "--workspace", "--locked", "--test", "program", "studies::"];
    step("every study", cargo().args(studies).env("ANYK_LONG", "1"))?;
    let bench = ["test", "--workspace", "--locked", "--test", "program", "--", "--ignored"];
    step("benchmarks run", cargo().args(bench))
}

/// Runs `cargo deny` with deny.toml, and installs it first if it is missing. It does not check security advisories,
/// because that needs a network connection.
fn licences() -> Result<()> {
    let installed = cargo().args(["deny", "--version"]).output().is_ok_and(|o| o.status.success());
    if !installed {
        let install = ["install", "cargo-deny", "--locked", "--quiet"];
        if let Err(error) = step("install cargo-deny", cargo().args(install)) {
            println!("== SKIPPED: licences, since cargo-deny cannot be installed here ({error:#})");
            return Ok(());
        }
    }
    let check = ["deny", "--all-features", "check", "licenses", "bans", "sources"];
    step("licences", cargo().args(check))
}

/// Exit code of `examples/slurm/test.sh` if Slurm cannot be started.
const NO_SLURM: i32 = 77;

/// Runs the examples for Slurm on a cluster with one node, this machine.
fn slurm() -> Result<()> {
    println!("== Slurm");
    let started = Instant::now();
    let mut test = Command::new(root().join("examples/slurm/test.sh"));
    test.arg(root().join("target/debug/anyk"));
    // The environment of `package::archives`. If it has submitit, the test also runs submit.py.
    test.arg(root().join(package::TESTS).join("bin/python"));
    match test.status().context("cannot start examples/slurm/test.sh")?.code() {
        Some(0) => note("Slurm", started),
        Some(NO_SLURM) => {
            println!("== SKIPPED: Slurm, since it cannot be started here (reason above)");
        }
        _ => bail!("examples/slurm/test.sh failed"),
    }
    Ok(())
}
