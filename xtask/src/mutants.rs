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

/// Files of the library's `src`, and what tests them.
struct Part {
    files: &'static [&'static str],
    /// Integration tests of the library, and `lib`, those inside it.
    tests: &'static [&'static str],
    /// Only those with one of these in their names; all of them without any.
    named: &'static [&'static str],
}

/// What the sample is drawn from: each area gets its share.
const AREAS: [(&str, &[Part]); 6] = [
    (
        "solver",
        &[
            Part {
                files: &[
                    "problems/urllc/solver.rs",
                    "problems/urllc/optimum.rs",
                    "problems/urllc/equal_power.rs",
                    "math/price.rs",
                ],
                tests: &["golden", "optimum"],
                named: &[],
            },
            Part {
                files: &["problems/urllc/cell.rs"],
                tests: &["lib", "golden", "optimum", "urllc_power"],
                named: &[],
            },
            Part {
                files: &["math/root.rs"],
                tests: &["lib", "golden", "required_bandwidth"],
                named: &[],
            },
        ],
    ),
    (
        "certificate",
        &[Part {
            files: &["problems/urllc/certificate.rs"],
            tests: &["any_gnn"],
            named: &["certif", "feasib"],
        }],
    ),
    (
        "calibration",
        &[
            Part { files: &["problems/urllc/calibration.rs"], tests: &["calibration"], named: &[] },
            Part { files: &["framework/guarantee.rs"], tests: &["lib", "calibration"], named: &[] },
        ],
    ),
    (
        "judge",
        &[Part {
            files: &["problems/urllc/statement.rs"],
            tests: &["optimum"],
            // The others ask for answers alone, at great length.
            named: &["judge", "feasible_and_optimal", "tight_budgets", "accepted", "made_of"],
        }],
    ),
    (
        "checkpoint",
        &[Part {
            files: &["framework/checkpoint.rs"],
            tests: &["lib", "training_driver"],
            named: &["checkpoint", "restart", "m_gnn", "p_gnn", "stages"],
        }],
    ),
    (
        "model files",
        &[
            Part { files: &["framework/model.rs"], tests: &["model_format"], named: &[] },
            Part {
                files: &["exchange/container.rs"],
                tests: &["model_format", "training_driver"],
                named: &[],
            },
        ],
    ),
];

/// One of the mutants of a file.
struct Mutant {
    /// `file:line:column: what is changed`.
    name: String,
    file: &'static str,
    part: &'static Part,
    /// Its place among those of the file, and how many these are.
    place: (usize, usize),
}

/// How the mutants of an area fared.
#[derive(Default)]
struct Found {
    caught: Vec<String>,
    missed: Vec<String>,
    timeout: Vec<String>,
    unviable: Vec<String>,
}

impl Found {
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
    /// Only mutants with one of these in their names, and all of them: to try survivors again.
    only: Vec<String>,
    /// Only this area.
    area: Option<String>,
    list: bool,
    /// The tests are known to pass without a mutant.
    green: bool,
}

impl Settings {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut settings = Self {
            count: 60,
            seed: 20_220_201,
            only: Vec::new(),
            area: None,
            list: false,
            green: false,
        };
        while let Some(argument) = arguments.next() {
            let mut value =
                || arguments.next().with_context(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--count" => settings.count = value()?.parse().context("--count: a number")?,
                "--seed" => settings.seed = value()?.parse().context("--seed: a number")?,
                "--only" => settings.only.push(value()?),
                "--area" => settings.area = Some(value()?),
                "--list" => settings.list = true,
                "--green" => settings.green = true,
                other => bail!(
                    "unknown argument {other}, expected --count, --seed, --only, --area, --list or --green"
                ),
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
    let mut drawn = Vec::new();
    for (_, parts) in &AREAS {
        let mut mutants = Vec::new();
        for part in *parts {
            for file in part.files {
                mutants.extend(listed(file, part)?);
            }
        }
        if settings.only.is_empty() {
            shuffle(&mut mutants, settings.seed);
        } else {
            mutants.retain(|mutant| settings.only.iter().any(|only| mutant.name.contains(only)));
        }
        drawn.push(mutants);
    }
    let sizes: Vec<usize> = drawn.iter().map(Vec::len).collect();
    let mut wanted =
        if settings.only.is_empty() { shares(settings.count, &sizes) } else { sizes.clone() };
    if let Some(only) = &settings.area {
        for (((area, _), mutants), count) in AREAS.iter().zip(&mut drawn).zip(&mut wanted) {
            if area != only {
                mutants.clear();
                *count = 0;
            }
        }
    }
    for (((area, _), mutants), count) in AREAS.iter().zip(&drawn).zip(&wanted) {
        println!("{area}: {count} of {} mutants", mutants.len());
        if settings.list {
            for mutant in mutants.iter().take(*count) {
                println!("  {}", mutant.name);
            }
        }
    }
    if settings.list {
        return Ok(());
    }
    let tree = copy_of_the_tree()?;
    if !settings.green {
        // A test that is broken would catch them all.
        let mut tests: Vec<&str> =
            drawn.iter().flatten().flat_map(|mutant| mutant.part.tests).copied().collect();
        tests.sort_unstable();
        tests.dedup();
        let mut command = in_the_copy(&tree);
        command.args(["test", "--package=anyk", "--locked"]).args(targets(&tests)).args(FILTER);
        step("tests without a mutant", &mut command)?;
    }
    let mut results = Vec::new();
    for (((area, _), mutants), count) in AREAS.iter().zip(&drawn).zip(wanted) {
        println!("== {area}");
        results.push(tried(&tree, mutants, count)?);
    }
    report(results, &settings, started)
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

/// Cargo in the copy, with builds that are cheap and cases that are the same for all.
fn in_the_copy(tree: &Path) -> Command {
    let mut command = cargo();
    command
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", root().join("target/mutants/build"))
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_INCREMENTAL", "1")
        .env("PROPTEST_RNG_SEED", "20220201")
        // The first failure is enough, and is not to be remembered.
        .env("PROPTEST_MAX_SHRINK_ITERS", "0")
        .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
    command
}

fn cargo_mutants(tree: &Path, file: &str) -> Command {
    let mut command = in_the_copy(tree);
    command.args(["mutants", "--no-config", "--colors=never", "--package=anyk"]);
    command.arg(format!("--file=crates/anyk/src/{file}"));
    command
}

/// The studies' own tests take long and concern none of these files alone.
const FILTER: [&str; 2] = ["--", "--skip=study::"];

fn targets(tests: &[&str]) -> Vec<String> {
    let target =
        |test: &&str| if *test == "lib" { "--lib".into() } else { format!("--test={test}") };
    tests.iter().map(target).collect()
}

fn listed(file: &'static str, part: &'static Part) -> Result<Vec<Mutant>> {
    let output = cargo_mutants(&root(), file).arg("--list").output()?;
    if !output.status.success() {
        bail!("cargo mutants --list: {}", String::from_utf8_lossy(&output.stderr));
    }
    let names = String::from_utf8(output.stdout)?;
    let count = names.lines().count();
    let mutant = |(place, name): (usize, &str)| Mutant {
        name: name.to_owned(),
        file,
        part,
        place: (place, count),
    };
    Ok(names.lines().enumerate().map(mutant).collect())
}

/// The order in which mutants are drawn: by a hash of the seed and the name without its place, so that a line
/// added elsewhere in the file changes no sample.
fn shuffle(mutants: &mut [Mutant], seed: u64) {
    let mut met: HashMap<String, u64> = HashMap::new();
    mutants.sort_by_cached_key(|mutant| {
        let what = mutant.name.splitn(4, ':').nth(3).unwrap_or("");
        let name = format!("crates/anyk/src/{}:{what}", mutant.file);
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
fn tried(tree: &Path, mutants: &[Mutant], count: usize) -> Result<Found> {
    let mut found = Found::default();
    for mutant in mutants {
        if found.viable() == count {
            break;
        }
        let started = Instant::now();
        let (fate, list) = match fate(tree, mutant)? {
            Fate::Caught => ("caught", &mut found.caught),
            Fate::Missed => ("MISSED", &mut found.missed),
            Fate::Timeout => ("timeout", &mut found.timeout),
            Fate::Unviable => ("unviable", &mut found.unviable),
        };
        list.push(mutant.name.clone());
        println!("{fate}: {} ({:.0} s)", mutant.name, started.elapsed().as_secs_f64());
    }
    Ok(found)
}

enum Fate {
    Caught,
    Missed,
    Timeout,
    Unviable,
}

fn fate(tree: &Path, mutant: &Mutant) -> Result<Fate> {
    // What was built and which tests failed stays there to be read.
    let name = format!("{}-{}", mutant.file.replace(['/', '.'], "-"), mutant.place.0);
    let out = root().join("target/mutants/results").join(name);
    let _ = fs::remove_dir_all(&out);
    fs::create_dir_all(&out)?;
    let mut command = cargo_mutants(tree, mutant.file);
    // Names cannot select them all (27.1 lets some pass whatever the name is); places can.
    command.arg(format!("--shard={}/{}", mutant.place.0, mutant.place.1));
    command.args(["--in-place", "--baseline=skip", "--timeout=300", "--build-timeout=900"]);
    command.arg("--cargo-arg=--locked").arg("--output").arg(&out);
    command.args(targets(mutant.part.tests).iter().map(|target| format!("--cargo-arg={target}")));
    let output = command.arg("--").args(FILTER).args(mutant.part.named).output()?;
    let tried = |name: &str| {
        let text = fs::read_to_string(out.join("mutants.out").join(name)).unwrap_or_default();
        text.lines().eq([mutant.name.as_str()])
    };
    for (file, fate) in [
        ("caught.txt", Fate::Caught),
        ("missed.txt", Fate::Missed),
        ("timeout.txt", Fate::Timeout),
        ("unviable.txt", Fate::Unviable),
    ] {
        if tried(file) {
            return Ok(fate);
        }
    }
    let said = String::from_utf8_lossy(&output.stdout);
    bail!(
        "cargo mutants did not try {}: {said}{}",
        mutant.name,
        String::from_utf8_lossy(&output.stderr)
    )
}

fn report(results: Vec<Found>, settings: &Settings, started: Instant) -> Result<()> {
    println!("area          mutants  caught  timeouts  missed  unviable");
    let row = |name: &str, found: &Found| {
        let (caught, timeouts) = (found.caught.len(), found.timeout.len());
        println!(
            "{name:<12}  {:>7}  {caught:>6}  {timeouts:>8}  {:>6}  {:>8}",
            found.viable(),
            found.missed.len(),
            found.unviable.len()
        );
    };
    let mut all = Found::default();
    for ((area, _), found) in AREAS.iter().zip(results) {
        row(area, &found);
        all.add(found);
    }
    row("all", &all);
    for (what, mutants) in [("missed", &all.missed), ("timeout", &all.timeout)] {
        for mutant in mutants {
            println!("{what}: {mutant}");
        }
    }
    let (viable, caught) = (all.viable(), all.caught.len() + all.timeout.len());
    let share = 100.0 * caught as f64 / viable.max(1) as f64;
    let seed = settings.seed;
    println!(
        "seed {seed}: {caught} of {viable} caught ({share:.1} %), {} of them by a timeout, in {:.0} s",
        all.timeout.len(),
        started.elapsed().as_secs_f64()
    );
    if share < 90.0 {
        bail!("under 90 % of the mutants were caught");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_area_has_its_share() {
        let counts = shares(60, &[239, 41, 82, 78, 31, 57]);
        assert!(counts.iter().sum::<usize>() >= 60 && counts.iter().all(|&count| count >= 5));
        // No more than there are.
        assert_eq!(shares(60, &[2, 0, 1000])[..2], [2, 0]);
    }

    #[test]
    fn a_sample_is_of_its_seed_and_of_names_alone() {
        let mutants = |line: usize| -> Vec<Mutant> {
            let mutant = |i| {
                let name = format!("a.rs:{}:5: replace f{} with ()", line + i, i / 2);
                Mutant { name, file: "a.rs", part: &AREAS[0].1[0], place: (i, 20) }
            };
            (0..20).map(mutant).collect()
        };
        let places = |line: usize, seed: u64| -> Vec<usize> {
            let mut drawn = mutants(line);
            shuffle(&mut drawn, seed);
            drawn.iter().map(|mutant| mutant.place.0).collect()
        };
        assert_eq!(places(10, 1), places(500, 1));
        assert_ne!(places(10, 1), places(10, 2));
        assert_ne!(places(10, 1), (0..20).collect::<Vec<_>>());
    }
}
