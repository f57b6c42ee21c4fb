//! The project's own commands: `cargo xtask test` runs every check, `cargo xtask compare` measures
//! this program beside what one would write in Python.

mod checker;
mod fuzz;
mod long;
mod package;
mod python;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, bail};

const HELP: &str = "\
Usage: cargo xtask COMMAND

  test               format, lints, documentation, tests, the checker and the Python package
  test --long        only the long part: licences, packaging, the site, fuzzing, and more random cases
  python [--torch]   the tests of the Python package, or of its PyTorch layers (a download of 3 GB)
  checker [COUNT] [SEED]   the program's answers on random cells against an independent computation
  fuzz [TARGET] [--time SECONDS] [--plain]   hostile files, guided by coverage unless --plain (fuzz/README.md)
  compare            speed of the exact solver and of SciPy, in one run (bench/README.md)
  compare learning   speed of training and allocation, and of PyTorch and JAX
  compare wmmse      speed of WMMSE, and of NumPy
  compare python     speed of the Python package, of Rust alone, SciPy and CVXPY";

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

/// The project's root: cargo runs xtask from anywhere below it.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

fn cargo() -> Command {
    let mut command = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    command.current_dir(root());
    // The bindings compile without an interpreter, if they are told not to look for one.
    if !package::has_python() {
        command.env("PYO3_NO_PYTHON", "1");
    }
    command
}

/// The steps so far, with their seconds.
static STEPS: Mutex<Vec<(String, f64)>> = Mutex::new(Vec::new());

/// Runs one step, says how long it took, and fails with its name.
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

/// Says how long a step took, and keeps it for the list at the end.
fn note(name: &str, started: Instant) {
    let seconds = started.elapsed().as_secs_f64();
    println!("== {name}: {seconds:.0} s");
    let mut steps = STEPS.lock().unwrap_or_else(PoisonError::into_inner);
    steps.push((name.to_owned(), seconds));
}

/// Runs checks and lists the seconds of each step.
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

/// The seed of random cases: a new one in every run, unless the variable asks for that of an earlier run.
fn seed() -> String {
    env::var("PROPTEST_RNG_SEED").unwrap_or_else(|_| checker::fresh_seed())
}

/// How to repeat a failure of random cases.
fn repeat(seed: &str, command: &str) -> String {
    format!(
        "PROPTEST_RNG_SEED={seed} cargo xtask {command} repeats the random cases. Failing property tests save theirs in \
         proptest-regressions/ and *.proptest-regressions; commit these files, and every later run tries them first"
    )
}

/// Builds the tests, the programs and the Python module that they use, for the whole workspace at once: a build of
/// less selects other features of the dependencies, and compiles them again.
fn build_programs() -> Result<()> {
    let build = ["build", "--workspace", "--lib", "--bins", "--tests", "--quiet", "--locked"];
    step("build", cargo().args(build))
}

/// Builds the program, makes a Python environment, and runs a comparison of bench/ in it: the exact
/// optimum, with the word `learning` training and allocation, with `wmmse` interference networks.
fn compare() -> Result<()> {
    let mut arguments = env::args().skip(2).peekable();
    if arguments.next_if(|argument| argument == "python").is_some() {
        return package::compare();
    }
    let subject = arguments.next_if(|argument| argument == "learning" || argument == "wmmse");
    let (environment, requirements, script) = match subject.as_deref() {
        Some("learning") => {
            println!("== PyTorch brings its GPU libraries along: 3 GB to load, 6 GB on the disk");
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
