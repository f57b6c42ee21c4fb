//! The project's own commands: `cargo xtask test` runs every check, `cargo xtask compare` measures
//! this program beside what one would write in Python.

mod checker;
mod coverage;
mod fuzz;
mod long;
mod mutants;
mod package;
mod python;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, bail};

const HELP: &str = "\
Usage: cargo xtask COMMAND

  test      every check: format, lints, documentation, licences, tests, a minute of fuzzing, the checker, the
            Python package and the site
  test --long        more of them, from fresh seeds
  test --torch       and the layers for PyTorch, which it loads (3 GB)
  python [--torch]   of these, those of the Python package alone
  checker [COUNT] [SEED]   the program's answers on random cells against an independent computation
  coverage           lines of the library that the tests run
  fuzz [TARGET] [--time SECONDS] [--plain]   hostile files, led by coverage unless --plain (fuzz/README.md)
  compare   speed of the exact solver beside SciPy, in one run (bench/README.md)
  compare learning   speed of training and allocation beside PyTorch and JAX
  compare wmmse      speed of WMMSE beside NumPy
  compare python     the Python package beside Rust alone, SciPy and CVXPY
  mutants   a sample of small faults in solver, judge and files, which tests have to notice
            [--count 60] [--seed 20220201] [--area NAME] [--list] [--green], or [--only TEXT]...";

fn main() -> ExitCode {
    let outcome = match env::args().nth(1).as_deref() {
        Some("test") => {
            let has = |flag: &str| env::args().any(|argument| argument == flag);
            test(has("--long"), has("--torch"))
        }
        Some("python") => package::check(env::args().any(|argument| argument == "--torch")),
        Some("checker") => checker::command(env::args().skip(2)),
        Some("coverage") => coverage::command(env::args().skip(2)),
        Some("fuzz") => fuzz::command(env::args().skip(2)),
        Some("compare") => compare(),
        Some("mutants") => mutants::run(env::args().skip(2)),
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
        command.env("PYO3_NO_PYTHON", "1").env("PYO3_BUILD_EXTENSION_MODULE", "1");
    }
    command
}

/// Runs one step, says how long it took, and fails with its name.
fn step(name: &str, command: &mut Command) -> Result<()> {
    println!("== {name}");
    let started = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{name} failed: {command:?}");
    }
    println!("== {name}: {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn test(long: bool, torch: bool) -> Result<()> {
    let started = Instant::now();
    step("format", cargo().args(["fmt", "--all", "--check"]))?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
    step("lints", cargo().args(clippy))?;
    // The program turns the library's features on; here they are off. Its lints and few tests are for --long.
    step("the library without features", cargo().args(["check", "-p", "anyk", "--locked"]))?;
    step(
        "documentation",
        cargo()
            .args(["doc", "--workspace", "--no-deps", "--document-private-items", "--locked"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    licences()?;
    let seed = seed();
    println!("== random cases: PROPTEST_RNG_SEED={seed}");
    let mut tests = cargo();
    tests.args(["test", "--workspace", "--locked"]).env("PROPTEST_RNG_SEED", &seed);
    step("tests", &mut tests).with_context(|| repeat(&seed, "test"))?;
    fuzz::usual()?;
    checker::check(checker::USUAL, checker::SEED)?;
    package::publish()?;
    package::check(torch)?;
    if long {
        long::long()?;
    }
    println!("== all checks passed in {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
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

/// The programs that the tests use: built together with the tests, since alone they would be built once more, with
/// other features of the library.
fn build_programs() -> Result<()> {
    step("build", cargo().args(["test", "--workspace", "--no-run", "--quiet", "--locked"]))
}

/// `cargo deny` with deny.toml; installed first where it is missing. Its database of advisories is
/// not consulted: that needs a network that not every machine has.
fn licences() -> Result<()> {
    let installed = cargo().args(["deny", "--version"]).output().is_ok_and(|o| o.status.success());
    if !installed {
        let install = ["install", "cargo-deny", "--locked", "--quiet"];
        if let Err(error) = step("install cargo-deny", cargo().args(install)) {
            println!("== licences: skipped, since the tool cannot be installed here ({error:#})");
            return Ok(());
        }
    }
    let check = ["deny", "--all-features", "check", "licenses", "bans", "sources"];
    step("licences", cargo().args(check))
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
