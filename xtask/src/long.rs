//! What `cargo xtask test --long` does on top: the same checks from seeds that no run had before.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::checker::{self, fresh_seed};
use crate::{cargo, repeat, root, seed, step};

/// Runs of the property tests, each from a seed of its own.
const ROUNDS: u32 = 5;
/// Cases of the property tests that do not say how many.
const CASES: &str = "2000";

pub(crate) fn long() -> Result<()> {
    // The program turns the library's features on; here they are off, as in the tests below.
    let clippy = ["clippy", "-p", "anyk", "--all-targets", "--locked", "--", "-D", "warnings"];
    step("lints of the library without features", cargo().args(clippy))?;
    let tests = property_tests()?;
    for round in 1..=ROUNDS {
        let seed = seed();
        println!("== property tests, round {round} of {ROUNDS}: PROPTEST_RNG_SEED={seed}");
        let mut command = cargo();
        command.args(["test", "-p", "anyk", "--locked"]).args(&tests);
        command.env("PROPTEST_RNG_SEED", &seed).env("PROPTEST_CASES", CASES);
        step("property tests", &mut command).with_context(|| repeat(&seed, "test --long"))?;
    }
    // Every call to the disk, where the usual tests leave some out.
    let faults = ["test", "-p", "anyk-cli", "--locked", "--test", "faults", "--", "--nocapture"];
    step("faults at every call to the disk", cargo().args(faults).env("ANYK_LONG", "1"))?;
    checker::check(checker::LONG, &fresh_seed())
}

/// The test programs of the library with property tests in them: files, and the folder of files that is one program.
fn property_tests() -> Result<Vec<String>> {
    let mut arguments = vec!["--lib".to_owned()];
    for path in listed(&root().join("crates/anyk/tests"))? {
        let is_folder = path.join("main.rs").is_file();
        let files = if is_folder { listed(&path)? } else { vec![path.clone()] };
        let has = |file: &PathBuf| {
            fs::read_to_string(file).is_ok_and(|text| text.contains("proptest! {"))
        };
        if files.iter().any(has) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            arguments.extend(["--test".to_owned(), name.into_owned()]);
        }
    }
    Ok(arguments)
}

/// What is in a folder.
fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}
