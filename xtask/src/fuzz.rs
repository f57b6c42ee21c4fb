//! Fuzzing on the stable toolchain, by libFuzzer with coverage, or by plain mutations of the corpus.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::checker::fresh_seed;
use crate::{build_programs, cargo, note, root, step};

/// Names of the targets in `fuzz/src/lib.rs`.
const TARGETS: [&str; 11] = [
    "users",
    "classes",
    "gains",
    "samples",
    "fading",
    "cost",
    "config",
    "lines",
    "allocations",
    "model",
    "section",
];
/// Compiler flags that count edges and comparisons in the format of libFuzzer.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";
/// Target triple. If it is given, the compiler flags do not apply to build scripts and macros.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";
/// Seconds of processor time for all targets together in `cargo xtask test --long`.
const USUAL_SECONDS: f64 = 60.0;
/// Fixed seed in `cargo xtask test --long`, so that a change cannot fail because of a finding that it did not cause.
/// `cargo xtask fuzz` draws a new seed.
const USUAL_SEED: &str = "20220201";
/// Memory limit of a process without libFuzzer, which has its own limit, in kB.
const MOST_KB: &str = "3000000";

enum Engine {
    Guided(PathBuf),
    Plain(PathBuf),
}

/// Runs `cargo xtask fuzz [TARGET] [--time SECONDS] [--plain]`.
pub(crate) fn command(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let (mut targets, mut seconds, mut plain) = (TARGETS.to_vec(), USUAL_SECONDS, false);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--plain" => plain = true,
            "--time" => {
                let text = arguments.next().unwrap_or_default();
                seconds = text
                    .parse()
                    .with_context(|| format!("--time is {text:?}, expected seconds"))?;
            }
            name => {
                let known = TARGETS.iter().find(|target| **target == name);
                let expected = TARGETS.join(", ");
                let known = known
                    .with_context(|| format!("unknown target {name:?}, expected {expected}"))?;
                targets = vec![*known];
            }
        }
    }
    let guided = if plain { None } else { Some(guided()) };
    let engine = match guided {
        Some(Ok(engine)) => engine,
        other => {
            if let Some(Err(error)) = other {
                println!("== NOT GUIDED by coverage, since libFuzzer cannot be built ({error:#})");
            }
            build_programs()?;
            self::plain()
        }
    };
    fuzz(&engine, &targets, seconds, &fresh_seed())
}

/// Fuzzes for a minute without coverage from a fixed seed, as part of `cargo xtask test --long`.
pub(crate) fn usual() -> Result<()> {
    fuzz(&plain(), &TARGETS, USUAL_SECONDS, USUAL_SEED)
}

fn plain() -> Engine {
    Engine::Plain(root().join("target/debug/anyk-fuzz"))
}

fn guided() -> Result<Engine> {
    let build =
        ["build", "-p", "anyk-fuzz", "--features", "libfuzzer", "--bin", "anyk-fuzz-guided"];
    let place = ["--target", TRIPLE, "--target-dir", "target/fuzz", "--locked"];
    step("build for libFuzzer", cargo().args(build).args(place).env("RUSTFLAGS", COVERAGE))?;
    Ok(Engine::Guided(root().join("target/fuzz").join(TRIPLE).join("debug/anyk-fuzz-guided")))
}

/// Runs targets in parallel on all cores, each for its share of the processor time.
fn fuzz(engine: &Engine, targets: &[&str], seconds: f64, seed: &str) -> Result<()> {
    let started = Instant::now();
    let share = (seconds / targets.len() as f64).max(1.0);
    let findings = root().join("fuzz/findings");
    fs::create_dir_all(&findings)?;
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let work = || -> Result<(u64, f64)> {
        let (mut executions, mut cpu_s) = (0, 0.0);
        while let Some(name) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (runs, cpu) = one(engine, name, share, seed, &findings)?;
            println!("{name:12} {runs:>12} executions, {cpu:8.1} s of processor time, no finding");
            executions += runs;
            cpu_s += cpu;
        }
        Ok((executions, cpu_s))
    };
    let done: Vec<Result<(u64, f64)>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let died = |_| Err(anyhow::anyhow!("a thread panicked"));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(died)).collect()
    });
    let (mut executions, mut cpu_s) = (0, 0.0);
    for part in done {
        let (runs, cpu) = part?;
        executions += runs;
        cpu_s += cpu;
    }
    println!("== fuzz: {executions} executions, {cpu_s:.0} s of processor time, no finding");
    note("fuzzing", started);
    Ok(())
}

/// Runs a target; returns its number of executions and its processor time.
fn one(
    engine: &Engine,
    name: &str,
    seconds: f64,
    seed: &str,
    findings: &Path,
) -> Result<(u64, f64)> {
    let folder = root().join("target/fuzz-work").join(name);
    fs::create_dir_all(&folder)?;
    let current = folder.with_extension("current");
    // The shell command `times` prints the processor time. The memory limit turns excessive allocation into a finding.
    let mut command = Command::new("sh");
    match engine {
        Engine::Plain(program) => {
            let line = format!("ulimit -v {MOST_KB}; \"$@\"; status=$?; times; exit $status");
            command.args(["-c", &line, "sh"]).arg(program);
            command.arg(name).arg(seconds.to_string()).arg(seed).arg(&current);
        }
        Engine::Guided(program) => {
            command.args(["-c", "\"$@\"; status=$?; times; exit $status", "sh"]).arg(program);
            // libFuzzer writes new inputs to the first folder and only reads the second, which is the corpus.
            command.arg(&folder).arg(root().join("fuzz/corpus").join(name));
            command.arg(format!("-max_total_time={}", seconds.ceil()));
            command.args([
                "-max_len=16384",
                "-timeout=300",
                "-rss_limit_mb=1000",
                "-print_final_stats=1",
            ]);
            command.arg(format!("-artifact_prefix={}/{name}-", findings.display()));
            command.env("ANYK_FUZZ_TARGET", name);
        }
    }
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        println!("{text}");
        if let Engine::Plain(_) = engine {
            let kept = findings.join(format!("{name}-{}", fresh_seed()));
            fs::copy(&current, &kept)?;
            println!("the input is saved as {}", kept.display());
        }
        bail!(
            "{name}: the fuzzer found a failing input and saved it in {} (seed {seed})",
            findings.display()
        );
    }
    let runs = match engine {
        Engine::Plain(_) => number_before(&text, " executions"),
        Engine::Guided(_) => number_after(&text, "stat::number_of_executed_units:"),
    };
    Ok((runs.unwrap_or(0), processor_seconds(&String::from_utf8_lossy(&output.stdout))))
}

fn number_before(text: &str, mark: &str) -> Option<u64> {
    text.split(mark).next()?.rsplit(' ').next()?.parse().ok()
}

fn number_after(text: &str, mark: &str) -> Option<u64> {
    text.split(mark).nth(1)?.split_whitespace().next()?.parse().ok()
}

/// Parses the second line of the shell command `times`: user and system time of child processes, such as
/// `1m2.5s 0m0.25s`.
fn processor_seconds(text: &str) -> f64 {
    let seconds = |word: &str| -> Option<f64> {
        let (minutes, seconds) = word.strip_suffix('s')?.split_once('m')?;
        Some(60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?)
    };
    let last = text.lines().last().unwrap_or_default();
    last.split_whitespace().filter_map(seconds).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_what_programs_print() {
        let text = "model: 1234 executions in 5 s, seed 1, no finding\n0m0.001s 0m0.002s\n1m2.5s 0m0.25s\n";
        assert_eq!(number_before(text, " executions"), Some(1234));
        assert!((processor_seconds(text) - 62.75).abs() < 1e-9);
        let text = "stat::number_of_executed_units: 77\nstat::average_exec_per_sec:     7\n";
        assert_eq!(number_after(text, "stat::number_of_executed_units:"), Some(77));
    }

    #[test]
    fn every_target_has_a_corpus() {
        let folders = fs::read_dir(root().join("fuzz/corpus")).unwrap();
        let mut names: Vec<String> =
            folders.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        let mut targets = TARGETS.to_vec();
        targets.sort_unstable();
        assert_eq!(names, targets);
    }
}
