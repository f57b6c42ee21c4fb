//! `cargo xtask mutants`: small faults are put into the parts that answers rest on, one at a time, and the tests
//! that concern them have to notice. A sample drawn by a seed, since all of them would take a day.
//!
//! The mutants come from cargo-mutants. They are built in a copy of the tree under `target/mutants`, always the
//! same one, so that builds are incremental, and with less optimisation than usual: a mutant is built for one run.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::{cargo, root, step};

/// Files of the library's `src`, and the tests that concern them: integration tests of the library, and `lib`,
/// those inside it.
type Part = (&'static [&'static str], &'static [&'static str]);

/// What the sample is drawn from: each area gets its share.
const AREAS: [(&str, &[Part]); 6] = [
    (
        "solver",
        &[
            (
                &[
                    "problems/urllc/solver.rs",
                    "problems/urllc/optimum.rs",
                    "problems/urllc/equal_power.rs",
                    "math/price.rs",
                ],
                &["golden", "optimum"],
            ),
            (&["problems/urllc/cell.rs"], &["golden", "optimum", "urllc_power"]),
            (&["math/root.rs"], &["lib", "golden", "required_bandwidth"]),
        ],
    ),
    ("certificate", &[(&["problems/urllc/certificate.rs"], &["any_gnn"])]),
    (
        "calibration",
        &[(&["problems/urllc/calibration.rs", "framework/guarantee.rs"], &["lib", "calibration"])],
    ),
    ("judge", &[(&["problems/urllc/statement.rs"], &["any_gnn", "optimum"])]),
    ("checkpoint", &[(&["framework/checkpoint.rs"], &["training_driver"])]),
    (
        "model files",
        &[(&["framework/model.rs", "exchange/container.rs"], &["model_format", "training_driver"])],
    ),
];

/// How the mutants of an area fared, by cargo-mutants' own words.
#[derive(Default)]
struct Found {
    caught: Vec<String>,
    missed: Vec<String>,
    timeout: Vec<String>,
    unviable: Vec<String>,
}

impl Found {
    fn read(folder: &Path) -> Result<Self> {
        let lines = |name: &str| -> Result<Vec<String>> {
            let path = folder.join("mutants.out").join(name);
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            Ok(text.lines().map(str::to_owned).collect())
        };
        Ok(Self {
            caught: lines("caught.txt")?,
            missed: lines("missed.txt")?,
            timeout: lines("timeout.txt")?,
            unviable: lines("unviable.txt")?,
        })
    }

    fn viable(&self) -> usize {
        self.caught.len() + self.missed.len() + self.timeout.len()
    }

    fn add(&mut self, other: Self) {
        self.caught.extend(other.caught);
        self.missed.extend(other.missed);
        self.timeout.extend(other.timeout);
        self.unviable.extend(other.unviable);
    }
}

/// What was asked for.
struct Settings {
    count: usize,
    seed: u64,
    /// Only mutants with this in their names, all of them: to try a survivor again.
    only: Option<String>,
    list: bool,
}

impl Settings {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut settings = Self { count: 60, seed: 20_220_201, only: None, list: false };
        while let Some(argument) = arguments.next() {
            let mut value =
                || arguments.next().with_context(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--count" => settings.count = value()?.parse().context("--count: a number")?,
                "--seed" => settings.seed = value()?.parse().context("--seed: a number")?,
                "--only" => settings.only = Some(value()?),
                "--list" => settings.list = true,
                other => {
                    bail!("unknown argument {other}, expected --count, --seed, --only, --list")
                }
            }
        }
        Ok(settings)
    }
}

/// Draws the sample, runs it, prints how it fared; fails under 90 % caught.
pub(crate) fn run(arguments: impl Iterator<Item = String>) -> Result<()> {
    let settings = Settings::read(arguments)?;
    let started = Instant::now();
    install()?;
    let tree = copy_of_the_tree()?;
    let mut drawn = Vec::new();
    for (_, parts) in &AREAS {
        let mut mutants = Vec::new();
        for (files, _) in *parts {
            mutants.extend(listed(&tree, files)?);
        }
        match &settings.only {
            Some(only) => mutants.retain(|mutant| mutant.contains(only)),
            None => shuffle(&mut mutants, settings.seed),
        }
        drawn.push(mutants);
    }
    let sizes: Vec<usize> = drawn.iter().map(Vec::len).collect();
    let wanted =
        if settings.only.is_some() { sizes.clone() } else { shares(settings.count, &sizes) };
    for (((area, _), mutants), count) in AREAS.iter().zip(&drawn).zip(&wanted) {
        println!("{area}: {count} of {} mutants", mutants.len());
        if settings.list {
            for mutant in mutants.iter().take(*count) {
                println!("  {mutant}");
            }
        }
    }
    if settings.list {
        return Ok(());
    }
    let mut results = Vec::new();
    for (((area, parts), mutants), count) in AREAS.iter().zip(drawn).zip(wanted) {
        println!("== {area}");
        results.push(tried(&tree, parts, mutants, count)?);
    }
    report(&results, &settings, started)
}

fn install() -> Result<()> {
    let installed = cargo().args(["mutants", "--version"]).output();
    if installed.is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    step("install cargo-mutants", cargo().args(["install", "cargo-mutants", "--locked", "--quiet"]))
}

/// The files that git knows or would add, as they are now. A file that is the same already keeps its time, so
/// that it is not built again.
fn copy_of_the_tree() -> Result<PathBuf> {
    let tree = root().join("target/mutants/tree");
    let listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(listing).current_dir(root()).output()?;
    if !output.status.success() {
        bail!("git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    }
    let names = String::from_utf8(output.stdout)?;
    for name in names.split_terminator('\0') {
        let (from, to) = (root().join(name), tree.join(name));
        // One that is deleted and not yet committed so.
        let Ok(content) = fs::read(&from) else { continue };
        if fs::read(&to).is_ok_and(|there| there == content) {
            continue;
        }
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&to, content).with_context(|| format!("cannot write {}", to.display()))?;
    }
    let known: HashSet<PathBuf> =
        names.split_terminator('\0').map(|name| tree.join(name)).collect();
    remove_others(&tree, &known)?;
    Ok(tree)
}

/// What an earlier copy left behind.
fn remove_others(folder: &Path, known: &HashSet<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, known)?;
        } else if !known.contains(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn cargo_mutants(tree: &Path, files: &[&str]) -> Command {
    let mut command = cargo();
    command.current_dir(tree);
    // No report of its own may change with the terminal.
    command.args(["mutants", "--no-config", "--colors=never", "--caught", "--package=anyk"]);
    for file in files {
        command.arg(format!("--file=crates/anyk/src/{file}"));
    }
    command
}

/// `file:line:column: what is changed`, one for each mutant.
fn listed(tree: &Path, files: &[&str]) -> Result<Vec<String>> {
    let output = cargo_mutants(tree, files).arg("--list").output()?;
    if !output.status.success() {
        bail!("cargo mutants --list: {}", String::from_utf8_lossy(&output.stderr));
    }
    let names = String::from_utf8(output.stdout)?;
    Ok(names.lines().map(str::to_owned).collect())
}

/// The order in which mutants are drawn: by a hash of the seed and the name without its place, so that a line
/// added elsewhere in the file changes no sample.
fn shuffle(mutants: &mut [String], seed: u64) {
    let mut met: HashMap<String, u64> = HashMap::new();
    mutants.sort_by_cached_key(|mutant| {
        let mut parts = mutant.splitn(4, ':');
        let (file, what) = (parts.next().unwrap_or(""), parts.nth(2).unwrap_or(""));
        let name = format!("{file}:{what}");
        let nth = met.entry(name.clone()).and_modify(|nth| *nth += 1).or_default();
        let bytes = [seed.to_le_bytes(), nth.to_le_bytes()];
        mixed(name.bytes().chain(bytes.into_iter().flatten()))
    });
}

/// FNV-1a, and the end of SplitMix64 so that the high bits depend on every byte.
fn mixed(bytes: impl Iterator<Item = u8>) -> u64 {
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// How many of each area: half of them evenly, half by size, as far as there are so many.
fn shares(count: usize, sizes: &[usize]) -> Vec<usize> {
    let total: usize = sizes.iter().sum::<usize>().max(1);
    let share = |&size: &usize| {
        (count.div_ceil(2 * sizes.len()) + (count * size).div_ceil(2 * total)).min(size)
    };
    sizes.iter().map(share).collect()
}

/// Tries mutants in the order given until so many could be built.
fn tried(tree: &Path, parts: &[Part], mutants: Vec<String>, count: usize) -> Result<Found> {
    let mut found = Found::default();
    let mut left = mutants.into_iter();
    // Without a baseline a test that is broken would catch them all; once for each part is enough.
    let mut first = vec![true; parts.len()];
    loop {
        let batch: Vec<String> = left.by_ref().take(count - found.viable()).collect();
        if batch.is_empty() {
            return Ok(found);
        }
        for ((files, tests), first) in parts.iter().zip(&mut first) {
            let of_part = |mutant: &&String| {
                let path = mutant.split(':').next().unwrap_or("");
                files.iter().any(|file| path.ends_with(file))
            };
            let mutants: Vec<&String> = batch.iter().filter(of_part).collect();
            if !mutants.is_empty() {
                found.add(tried_with(tree, (files, tests), &mutants, *first)?);
                *first = false;
            }
        }
    }
}

fn tried_with(
    tree: &Path,
    (files, tests): Part,
    mutants: &[&String],
    baseline: bool,
) -> Result<Found> {
    let out = root().join("target/mutants");
    let mut command = cargo_mutants(tree, files);
    for mutant in mutants {
        command.arg(format!("--re=^{}$", escaped(mutant)));
    }
    command.args(["--in-place", "--no-times", "--timeout=300", "--build-timeout=900"]);
    command.arg(if baseline { "--baseline=run" } else { "--baseline=skip" });
    command.arg("--cargo-arg=--locked").arg("--output").arg(&out);
    for test in tests {
        let target = if *test == "lib" { "--lib".to_owned() } else { format!("--test={test}") };
        command.arg(format!("--cargo-arg={target}"));
    }
    // The studies' own tests take long and concern none of these files alone.
    command.args(["--", "--", "--skip=study::"]);
    command
        .env("CARGO_TARGET_DIR", out.join("build"))
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_INCREMENTAL", "1")
        // The same random cases for all; the first failure is enough, and is not to be remembered.
        .env("PROPTEST_RNG_SEED", "20220201")
        .env("PROPTEST_MAX_SHRINK_ITERS", "0")
        .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
    let status = command.status()?;
    // 0: all caught; 2: some missed; 3: some timed out. All else is trouble.
    if !matches!(status.code(), Some(0 | 2 | 3)) {
        bail!("cargo mutants failed: {status}");
    }
    Found::read(&out)
}

/// For a regular expression.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        if letter.is_ascii_punctuation() {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

fn report(results: &[Found], settings: &Settings, started: Instant) -> Result<()> {
    println!("area          mutants  caught  timeouts  missed  unviable");
    let mut all = Found::default();
    let row = |name: &str, found: &Found| {
        let (caught, timeouts) = (found.caught.len(), found.timeout.len());
        println!(
            "{name:<12}  {:>7}  {caught:>6}  {timeouts:>8}  {:>6}  {:>8}",
            found.viable(),
            found.missed.len(),
            found.unviable.len()
        );
    };
    for ((area, _), found) in AREAS.iter().zip(results) {
        row(area, found);
    }
    for found in results {
        all.add(Found {
            caught: found.caught.clone(),
            missed: found.missed.clone(),
            timeout: found.timeout.clone(),
            unviable: found.unviable.clone(),
        });
    }
    row("all", &all);
    for (what, mutants) in [("missed", &all.missed), ("timeout", &all.timeout)] {
        for mutant in mutants {
            println!("{what}: {mutant}");
        }
    }
    let (viable, caught) = (all.viable(), all.caught.len() + all.timeout.len());
    let share = 100.0 * caught as f64 / viable.max(1) as f64;
    println!(
        "seed {}: {caught} of {viable} caught ({share:.1} %), {} of them by a timeout, in {:.0} s",
        settings.seed,
        all.timeout.len(),
        started.elapsed().as_secs_f64()
    );
    if share < 90.0 {
        bail!("under 90 % of the mutants were caught");
    }
    Ok(())
}
