//! The Python package: built as people install it, and all that is tested in Python.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

use crate::python::environment;
use crate::{cargo, root, step};

/// Where the archives come to lie.
const DIST: &str = "target/python-dist";
/// The environment that builds and checks archives, and runs the tests.
const TESTS: &str = "target/python-tests";
const REQUIREMENTS: &str = "crates/anyk-py/requirements-test.txt";
/// The same with PyTorch.
const TORCH: &str = "target/python-torch";
const TORCH_REQUIREMENTS: &str = "crates/anyk-py/requirements-torch.txt";
/// What a user has: the wheel and what it asks for.
const CLEAN: &str = "target/python-clean";

/// Builds the source archive, a wheel from it, and runs everything that is in Python. Without an interpreter it says so;
/// in CI that is an error.
pub(crate) fn check(torch: bool) -> Result<()> {
    if !has_python() {
        if env::var("CI").is_ok_and(|value| value == "true") {
            bail!("the Python package cannot be tested: there is no python3 from version 3.10");
        }
        println!("== python package: skipped, since there is no python3 from version 3.10 here");
        return Ok(());
    }
    let tests = environment(TESTS, REQUIREMENTS)?;
    let (source, wheel) = archives(&tests)?;
    step(
        "archives are fit to publish",
        command(&tests, &["-m", "twine", "check", "--strict"]).args([&source, &wheel]),
    )?;
    clean(&wheel)?;
    install(&tests, &wheel)?;
    // What builds on PyTorch is checked with it.
    let mut typed = sources("crates/anyk-py/python/anyk")?;
    typed.extend(sources("examples/python")?);
    typed.retain(|path| fs::read_to_string(path).is_ok_and(|text| !text.contains("import torch")));
    step("types", command(&tests, &["-m", "mypy"]).args(typed))?;
    step("python tests", &mut command(&tests, &["-m", "pytest", "crates/anyk-py/tests"]))?;
    site(&tests)?;
    if torch {
        println!("== PyTorch brings its GPU libraries along: 3 GB to load");
        let python = environment(TORCH, TORCH_REQUIREMENTS)?;
        install(&python, &wheel)?;
        let mypy = ["-m", "mypy", "crates/anyk-py/python/anyk", "examples/python"];
        step("types with torch", &mut command(&python, &mypy))?;
        let tests = ["-m", "pytest", "crates/anyk-py/tests", "-k", "torch"];
        step("python tests with torch", &mut command(&python, &tests))?;
    }
    Ok(())
}

/// What `cargo publish` would do, up to the upload.
pub(crate) fn publish() -> Result<()> {
    // A checkout that is being worked on is checked as it is.
    let publish = ["publish", "--dry-run", "--locked", "--allow-dirty", "--quiet", "-p", "anyk"];
    step("the library is fit to publish", cargo().args(publish))
}

pub(crate) fn has_python() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let version = "import sys, venv; sys.exit(sys.version_info < (3, 10))";
        let asked = Command::new("python3").args(["-c", version]).status();
        asked.is_ok_and(|status| status.success())
    })
}

/// A command of an environment, in the root.
fn command(python: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(python);
    command.current_dir(root()).args(arguments);
    command
}

/// The source archive, and a wheel built from it alone, in an environment that pip makes for it. The profile is that of
/// the tests: the code is the same, and built in a fraction of the time.
fn archives(python: &Path) -> Result<(PathBuf, PathBuf)> {
    let dist = root().join(DIST);
    if dist.exists() {
        fs::remove_dir_all(&dist).context("cannot remove the archives of the last run")?;
    }
    let maturin = ["-m", "maturin", "sdist", "-o", DIST];
    step("source archive", &mut command(python, &maturin))?;
    let source = only(&dist, "gz")?;
    let wheel = ["-m", "pip", "wheel", "--quiet", "--no-deps", "-w", DIST];
    step(
        "wheel from the source archive",
        command(python, &wheel)
            .arg(&source)
            .env("MATURIN_PEP517_ARGS", "--profile dev")
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_TARGET_DIR", root().join("target")),
    )?;
    let wheel = only(&dist, "whl")?;
    Ok((source, wheel))
}

/// The one file with an ending.
fn only(folder: &Path, ending: &str) -> Result<PathBuf> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut found = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == ending));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        _ => bail!("expected one .{ending} in {}", folder.display()),
    }
}

/// What a user does: a new environment, the wheel, the lines of README.md.
fn clean(wheel: &Path) -> Result<()> {
    let folder = root().join(CLEAN);
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .context("cannot remove the clean environment of the last run")?;
    }
    step("clean environment", Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    let python = folder.join("bin/python");
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    step("wheel alone", command(&python, &install).arg(wheel))?;
    let lines = root().join("target/readme.py");
    fs::write(&lines, readme_lines()?).context("cannot write the lines of README.md")?;
    step("README's Python lines", command(&python, &[]).arg(&lines).current_dir(&folder))
}

/// The Python of README.md, block after block.
fn readme_lines() -> Result<String> {
    let text = fs::read_to_string(root().join("README.md")).context("cannot read README.md")?;
    let mut lines = String::new();
    for block in text.split("```python\n").skip(1) {
        lines.push_str(block.split("```").next().unwrap_or_default());
    }
    if lines.trim().is_empty() {
        bail!("README.md has no Python lines, expected some to try");
    }
    Ok(lines)
}

/// The Python files of a folder.
fn sources(folder: &str) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(root().join(folder)).with_context(|| format!("cannot list {folder}"))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "py"))
        .collect();
    found.sort();
    Ok(found)
}

fn install(python: &Path, wheel: &Path) -> Result<()> {
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--force-reinstall",
    ];
    step("install the wheel", command(python, &install).arg(wheel))
}

/// The site, with its notebooks executed; a warning is an error.
fn site(python: &Path) -> Result<()> {
    let build =
        ["-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs/site", "target/site"];
    step("documentation site", &mut command(python, &build))
}

/// The package, built as people install it, beside what else they could use.
pub(crate) fn compare() -> Result<()> {
    let python = environment("target/bench-python-package", "bench/requirements-python.txt")?;
    let install =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "."];
    step("build", &mut command(&python, &install))?;
    step("comparison", command(&python, &["bench/python.py"]).env("PYTHONSAFEPATH", "1"))
}
