//! Python package: tests of the module that the workspace builds, and of the archives that users install.

use std::env::{self, consts};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

use crate::python::environment;
use crate::{cargo, root, step};

/// Python environment of all checks.
pub(crate) const TESTS: &str = "target/python-tests";
pub(crate) const REQUIREMENTS: &str = "crates/anyk-py/requirements-test.txt";
/// Requirements of the tests, of packaging and of the site.
const LONG_REQUIREMENTS: &str = "crates/anyk-py/requirements-long.txt";
/// Python environment with PyTorch.
const TORCH: &str = "target/python-torch";
const TORCH_REQUIREMENTS: &str = "crates/anyk-py/requirements-torch.txt";
/// Python environment with Ray.
const RAY: &str = "target/python-ray";
const RAY_REQUIREMENTS: &str = "crates/anyk-py/requirements-ray.txt";
/// Sources of the package. The tests find them, together with the compiled module, in [`PACKAGE`].
const SOURCES: &str = "crates/anyk-py/python/anyk";
const PACKAGE: &str = "target/python-package";
/// Folder for the archives.
const DIST: &str = "target/python-dist";
/// Python environment with only the wheel and its dependencies, as on a user's machine.
const CLEAN: &str = "target/python-clean";

/// Checks types and runs the Python tests.
pub(crate) fn check() -> Result<()> {
    if !needs_python("the Python package")? {
        return Ok(());
    }
    let package = assemble()?;
    let python = environment(TESTS, REQUIREMENTS)?;
    // `check_torch` checks the files that need PyTorch.
    let mut typed = sources(SOURCES)?;
    typed.extend(sources("examples/python")?);
    typed.extend(sources("examples/gallery")?);
    typed.extend(sources("examples/slurm")?);
    typed.extend(["bench/scale.py", "bench/shards.py"].map(|file| root().join(file)));
    typed.retain(|path| fs::read_to_string(path).is_ok_and(|text| !text.contains("import torch")));
    step("types", command(&python, &["-m", "mypy"]).args(typed))?;
    lints(&python)?;
    let pytest = ["-m", "pytest", "crates/anyk-py/tests"];
    step("python tests", command(&python, &pytest).env("PYTHONPATH", &package))
}

/// Lints the scripts for clusters and the cost of large runs.
fn lints(python: &Path) -> Result<()> {
    let files = ["examples/slurm", "bench/scale.py", "bench/shards.py"];
    let ruff = [&["-m", "ruff", "check", "--no-cache", "--quiet"], &files[..]].concat();
    step("Python lints", &mut command(python, &ruff))?;
    let scripts = ["examples/slurm/evaluate.sbatch", "examples/slurm/test.sh"];
    step("shell lints", &mut command(&python.with_file_name("shellcheck"), &scripts))
}

/// Checks types and runs the Python tests that need PyTorch.
pub(crate) fn check_torch() -> Result<()> {
    println!("== PyTorch includes its GPU libraries: 3 GB of downloads");
    let package = assemble()?;
    let python = environment(TORCH, TORCH_REQUIREMENTS)?;
    let mypy = ["-m", "mypy", SOURCES, "examples/python"];
    step("types with torch", &mut command(&python, &mypy))?;
    let pytest = ["-m", "pytest", "crates/anyk-py/tests", "-k", "torch or network"];
    step("python tests with torch", command(&python, &pytest).env("PYTHONPATH", &package))
}

/// Runs sweeps on a Ray cluster of three nodes on this machine.
pub(crate) fn check_ray() -> Result<()> {
    let package = assemble()?;
    let python = environment(RAY, RAY_REQUIREMENTS)?;
    let mut pytest = command(&python, &["-m", "pytest", "crates/anyk-py/tests/test_ray.py"]);
    step("sweeps on Ray", pytest.env("PYTHONPATH", &package).env("ANYK_RAY", "1"))
}

/// Copies the sources and the module that cargo built to one folder, and returns the folder.
fn assemble() -> Result<PathBuf> {
    let folder = root().join(PACKAGE);
    if folder.exists() {
        fs::remove_dir_all(&folder).context("cannot remove the package of the last run")?;
    }
    copy(&root().join(SOURCES), &folder.join("anyk"))?;
    let module = format!("{}_anyk{}", consts::DLL_PREFIX, consts::DLL_SUFFIX);
    let module = root().join("target/debug").join(module);
    fs::copy(&module, folder.join("anyk/_anyk.abi3.so"))
        .with_context(|| format!("cannot copy {}", module.display()))?;
    Ok(folder)
}

/// Copies a folder with its subfolders.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Builds the source archive and a wheel from it, installs the wheel as a user would, and builds the site with it.
pub(crate) fn archives() -> Result<()> {
    if !needs_python("packaging and the site")? {
        return Ok(());
    }
    let tests = environment(TESTS, LONG_REQUIREMENTS)?;
    let (source, wheel) = build_archives(&tests)?;
    step(
        "archives are fit to publish",
        command(&tests, &["-m", "twine", "check", "--strict"]).args([&source, &wheel]),
    )?;
    clean(&wheel)?;
    install(&tests, &wheel)?;
    site(&tests)
}

/// Returns whether a Python interpreter exists. If not, this prints which checks are skipped; in CI it returns an
/// error.
fn needs_python(what: &str) -> Result<bool> {
    if has_python() {
        return Ok(true);
    }
    if env::var("CI").is_ok_and(|value| value == "true") {
        bail!("{what}: no python3 of version 3.10 or later was found");
    }
    println!("== SKIPPED: {what}, since no python3 of version 3.10 or later was found");
    Ok(false)
}

/// Runs `cargo publish` without the upload.
pub(crate) fn publish() -> Result<()> {
    // Allow uncommitted changes.
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

/// Builds a command that runs Python in the root of the repository.
fn command(python: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(python);
    command.current_dir(root()).args(arguments);
    command
}

/// Builds the source archive, and from it a wheel, in an isolated environment of pip. It uses the profile of the tests,
/// which compiles the same code in a fraction of the time.
fn build_archives(python: &Path) -> Result<(PathBuf, PathBuf)> {
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

/// Returns the file with this extension in a folder. If the folder has none or several, it returns an error.
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

/// Installs the wheel in a new environment and runs the Python code of README.md, as a user would.
fn clean(wheel: &Path) -> Result<()> {
    let folder = root().join(CLEAN);
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .context("cannot remove the clean environment of the last run")?;
    }
    step("clean environment", Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    let python = folder.join("bin/python");
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    step("install the wheel", command(&python, &install).arg(wheel))?;
    let lines = root().join("target/readme.py");
    fs::write(&lines, readme_lines()?).context("cannot write the lines of README.md")?;
    step("README's Python lines", command(&python, &[]).arg(&lines).current_dir(&folder))
}

/// Returns the Python code blocks of README.md as one program.
fn readme_lines() -> Result<String> {
    let text = fs::read_to_string(root().join("README.md")).context("cannot read README.md")?;
    let mut lines = String::new();
    for block in text.split("```python\n").skip(1) {
        lines.push_str(block.split("```").next().unwrap_or_default());
    }
    if lines.trim().is_empty() {
        bail!("README.md has no Python code blocks, expected at least one");
    }
    Ok(lines)
}

/// Lists the Python files of a folder.
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

/// Builds the site and executes its notebooks; a warning is an error.
fn site(python: &Path) -> Result<()> {
    let build =
        ["-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs/site", "target/site"];
    step("documentation site", &mut command(python, &build))
}

/// Builds the package as users install it, and compares its speed with alternatives.
pub(crate) fn compare() -> Result<()> {
    let python = environment("target/bench-python-package", "bench/requirements-python.txt")?;
    let install =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "."];
    step("build", &mut command(&python, &install))?;
    step("comparison", command(&python, &["bench/python.py"]).env("PYTHONSAFEPATH", "1"))
}
