//! Runs targets without instrumentation, on mutations of the corpus, for a given time.
//!
//! ```text
//! anyk-fuzz TARGET SECONDS SEED CURRENT_FILE    run mutations; CURRENT_FILE always contains the current input
//! anyk-fuzz run TARGET FILE…                    run only these inputs
//! anyk-fuzz open FILE                           print a container as two lines of JSON and its numbers
//! ```
//!
//! A finding ends the process by a panic, or by a signal if memory or time run out. The input is then in CURRENT_FILE.

use std::error::Error;
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyk_fuzz::{MOST_BYTES, Target, mutate, opened, target};

/// Maximum processor time of one input; an input that takes longer is a finding. [`LONGEST_WAIT`] limits the wall time,
/// and is longer because the machine may be busy.
const LONGEST: Duration = Duration::from_secs(20);
const LONGEST_WAIT: Duration = Duration::from_secs(300);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["run", name, ref files @ ..] => run(name, files),
        ["open", file] => open(file),
        [name, seconds, seed, current] => fuzz(name, seconds, seed, Path::new(current)),
        _ => {
            Err("usage: anyk-fuzz TARGET SECONDS SEED CURRENT_FILE | run TARGET FILE… | open FILE"
                .into())
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("anyk-fuzz: {error}");
            ExitCode::FAILURE
        }
    }
}

fn named(name: &str) -> Result<&'static Target, String> {
    target(name).ok_or_else(|| format!("no target {name:?}"))
}

fn run(name: &str, files: &[&str]) -> Result<(), Box<dyn Error>> {
    let target = named(name)?;
    for file in files {
        let started = Instant::now();
        (target.run)(&fs::read(file)?);
        println!("{file}: {:.0} ms", started.elapsed().as_secs_f64() * 1e3);
    }
    Ok(())
}

fn open(file: &str) -> Result<(), Box<dyn Error>> {
    let text = opened(&fs::read(file)?).ok_or("not a container")?;
    Ok(std::io::stdout().write_all(&text)?)
}

/// Reads the inputs of a target from the repository.
fn corpus(name: &str) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    Ok(paths.iter().map(fs::read).collect::<std::io::Result<_>>()?)
}

fn fuzz(name: &str, seconds: &str, seed: &str, current: &Path) -> Result<(), Box<dyn Error>> {
    let (target, mut pool) = (named(name)?, corpus(name)?);
    let (time, seed) = (Duration::from_secs_f64(seconds.parse()?), seed.parse::<u64>()?);
    let mut file = File::create(current)?;
    let runs = Arc::new(AtomicU64::new(0));
    watch(&runs);
    let started = Instant::now();
    let own = pool.len();
    while started.elapsed() < time {
        let count = runs.load(Ordering::Relaxed);
        let draw = |salt: u64| {
            let mixed = (seed ^ salt).wrapping_add(count).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            usize::try_from(mixed >> 40).unwrap_or(0) % pool.len().max(1)
        };
        let empty = Vec::new();
        let first = pool.get(draw(1)).unwrap_or(&empty);
        let second = pool.get(draw(2)).unwrap_or(&empty);
        let input = mutate(first, second, MOST_BYTES, seed.wrapping_add(count));
        // Save the input before the run, because a signal leaves no time to do it afterwards.
        file.rewind()?;
        file.set_len(0)?;
        file.write_all(&input)?;
        (target.run)(&input);
        runs.fetch_add(1, Ordering::Relaxed);
        // Keep some mutations, so that later ones start from them.
        if count.is_multiple_of(64) {
            if pool.len() < own + 200 {
                pool.push(input);
            } else {
                let slot = own + usize::try_from(count / 64).unwrap_or(0) % 200;
                pool[slot] = input;
            }
        }
    }
    let runs = runs.load(Ordering::Relaxed);
    let seconds = started.elapsed().as_secs_f64();
    println!("{name}: {runs} executions in {seconds:.0} s, seed {seed}, no finding");
    Ok(())
}

/// Starts a thread that ends the process if one input takes too long.
fn watch(runs: &Arc<AtomicU64>) {
    let runs = Arc::clone(runs);
    thread::spawn(move || {
        let (mut last, mut since, mut used) = (u64::MAX, Instant::now(), processor_time());
        loop {
            thread::sleep(Duration::from_millis(250));
            let now = runs.load(Ordering::Relaxed);
            if now != last {
                (last, since, used) = (now, Instant::now(), processor_time());
            } else if processor_time().saturating_sub(used) > LONGEST
                || since.elapsed() > LONGEST_WAIT
            {
                eprintln!("anyk-fuzz: one input takes longer than {} s", LONGEST.as_secs());
                std::process::abort();
            }
        }
    });
}

/// Returns the processor time of this process, or 0 if the system does not provide it.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name, in parentheses, may contain any text. User and system time are the 12th and 13th field after it.
    let after = text.rsplit(')').next().unwrap_or_default();
    let ticks =
        after.split_whitespace().skip(11).take(2).filter_map(|word| word.parse::<u64>().ok());
    Duration::from_millis(10 * ticks.sum::<u64>())
}
