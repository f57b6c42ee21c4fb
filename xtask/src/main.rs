//! Commands of the project: `cargo xtask test` runs all checks, `cargo xtask compare` compares the speed of the program
//! with Python code, `cargo xtask results` measures everything in docs/results.

mod checker;
mod fuzz;
mod long;
mod package;
mod python;
mod results;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, bail};

const HELP: &str = "\
Usage: cargo xtask COMMAND

  test               check format, lints, documentation, tests, the checker and the Python package
  test --long        run only the long checks: licences, packaging, the site, Slurm, PyTorch, fuzzing, more random cases
  python [--torch]   test the Python package, or its PyTorch layers (downloads 3 GB)
  checker [COUNT] [SEED]   check answers on random cells by an independent computation
  fuzz [TARGET] [--time SECONDS] [--plain]   read mutated files, guided by coverage unless --plain (fuzz/README.md)
  results [DIR] [--only PAGE] [--full]   run all studies of this commit and write docs/results (about an hour)
  compare            compare the speed of the exact solver with SciPy (bench/README.md)
  compare learning   compare the speed of training and allocation with PyTorch and JAX
  compare wmmse      compare the speed of WMMSE with NumPy
  compare python     compare the speed of the Python package with Rust, SciPy and CVXPY";

fn main() -> ExitCode {
    let has = |flag: &str| env::args().any(|argument| argument == flag);
    let outcome = match env::args().nth(1).as_deref() {
        Some("test") if has("--long") => timed(long::long),
        Some("test") => timed(test),
        Some("python") => timed(|| {
            build_programs()?;
            if has("--torch") { package::check_torch() } else { package::check() }
        }),
        Some("checker") => checker::command(env::args().skip(2)),
        Some("fuzz") => fuzz::command(env::args().skip(2)),
        Some("compare") => compare(),
        Some("results") => results::command(env::args().skip(2)),
        Some("help" | "--help" | "-h") => {
            println!("{HELP}");
            Ok(())
        }
        other => Err(anyhow::anyhow!("unknown command {:?}\n{HELP}", other.unwrap_or(""))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the root of the repository; cargo may run xtask from any folder in it.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

fn cargo() -> Command {
    let mut command = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    command.current_dir(root());
    // Without an interpreter, the bindings compile only with this variable.
    if !package::has_python() {
        command.env("PYO3_NO_PYTHON", "1");
    }
    command
}

/// Names and seconds of the steps so far.
static STEPS: Mutex<Vec<(String, f64)>> = Mutex::new(Vec::new());

/// Runs a step and prints its time; an error names the step.
fn step(name: &str, command: &mut Command) -> Result<()> {
    println!("== {name}");
    let started = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{name} failed: {command:?}");
    }
    note(name, started);
    Ok(())
}

/// Prints the time of a step and records it for the list at the end.
fn note(name: &str, started: Instant) {
    let seconds = started.elapsed().as_secs_f64();
    println!("== {name}: {seconds:.0} s");
    let mut steps = STEPS.lock().unwrap_or_else(PoisonError::into_inner);
    steps.push((name.to_owned(), seconds));
}

/// Runs checks and then lists the seconds of each step.
fn timed(checks: impl FnOnce() -> Result<()>) -> Result<()> {
    let started = Instant::now();
    checks()?;
    println!("== seconds of each step");
    for (name, seconds) in STEPS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        println!("{seconds:8.0}  {name}");
    }
    println!("== all checks passed in {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn test() -> Result<()> {
    step("format", cargo().args(["fmt", "--all", "--check"]))?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
    step("lints", cargo().args(clippy))?;
    step(
        "documentation",
        cargo()
            .args(["doc", "--workspace", "--no-deps", "--document-private-items", "--locked"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    build_programs()?;
    let seed = seed();
    println!("== random cases: PROPTEST_RNG_SEED={seed}");
    let mut tests = cargo();
    tests.args(["test", "--workspace", "--locked"]).env("PROPTEST_RNG_SEED", &seed);
    step("tests", &mut tests).with_context(|| repeat(&seed, "test"))?;
    checker::check(checker::USUAL, checker::SEED)?;
    package::check()
}

/// Returns the seed of random cases: that of the environment variable, or a new one.
fn seed() -> String {
    env::var("PROPTEST_RNG_SEED").unwrap_or_else(|_| checker::fresh_seed())
}

/// Returns a message that says how to repeat a failure of random cases.
fn repeat(seed: &str, command: &str) -> String {
    format!(
        "PROPTEST_RNG_SEED={seed} cargo xtask {command} repeats the random cases. Property tests save failing cases in \
         proptest-regressions/ and *.proptest-regressions; commit these files, so that later runs try these cases first"
    )
}

/// Builds the tests, and the programs and the Python module that they use. It builds the whole workspace at once, since
/// a partial build would select other features of the dependencies and compile them again.
fn build_programs() -> Result<()> {
    let build = ["build", "--workspace", "--lib", "--bins", "--tests", "--quiet", "--locked"];
    step("build", cargo().args(build))
}

/// Builds the program, creates a Python environment, and runs a comparison of bench/ in it. The default is the exact
/// optimum; `learning` compares training and allocation, `wmmse` interference networks, `python` the Python package.
fn compare() -> Result<()> {
    let mut arguments = env::args().skip(2).peekable();
    if arguments.next_if(|argument| argument == "python").is_some() {
        return package::compare();
    }
    let subject = arguments.next_if(|argument| argument == "learning" || argument == "wmmse");
    let (environment, requirements, script) = match subject.as_deref() {
        Some("learning") => {
            println!("== PyTorch includes its GPU libraries: 3 GB of downloads, 6 GB on disk");
            ("target/bench-python-learning", "bench/requirements-learning.txt", "bench/learning.py")
        }
        Some(_) => ("target/bench-python", "bench/requirements.txt", "bench/wmmse.py"),
        None => ("target/bench-python", "bench/requirements.txt", "bench/compare.py"),
    };
    step("build", cargo().args(["build", "--release", "--locked"]))?;
    let python = python::environment(environment, requirements)?;
    let program = root().join("target/release/anyk");
    let mut command = Command::new(&python);
    step("comparison", command.arg(root().join(script)).arg(program).args(arguments))
}
