//! Which lines of the library the tests run: the compiler's own instrumentation and LLVM's own tools.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{cargo, root, step};

/// Lines of the library that the tests must run, percent.
const LEAST: f64 = 90.0;
/// Least covered files that are named.
const NAMED: usize = 12;

/// `cargo xtask coverage [arguments of cargo test | --report]`: all tests, or those that are named; or what the last
/// run has counted so far.
pub(crate) fn command(arguments: impl Iterator<Item = String>) -> Result<()> {
    let arguments: Vec<String> = arguments.collect();
    let tools = tools()?;
    let target = root().join("target/coverage");
    let profiles = target.join("profiles");
    if arguments != ["--report"] {
        // Counts of an earlier run are of other code.
        let _ = fs::remove_dir_all(&profiles);
        fs::create_dir_all(&profiles)?;
        let seed = env::var("PROPTEST_RNG_SEED").unwrap_or_else(|_| "20220201".into());
        let mut tests = cargo();
        tests.args(["test", "--workspace", "--exclude", "xtask", "--locked"]).args(&arguments);
        if arguments.is_empty() {
            // Doc tests are programs that are gone when it ends.
            tests.args(["--lib", "--bins", "--tests"]);
        }
        tests
            .env("CARGO_TARGET_DIR", &target)
            .env("RUSTFLAGS", "-Cinstrument-coverage")
            .env("PROPTEST_RNG_SEED", seed)
            // Four files for each program, into which its processes count: a test may start hundreds.
            .env("LLVM_PROFILE_FILE", profiles.join("%4m.profraw"));
        step("tests, instrumented", &mut tests)?;
    }
    let merged = target.join("all.profdata");
    let mut merge = Command::new(tools.join("llvm-profdata"));
    let list = target.join("profiles.txt");
    fs::write(&list, files(&profiles, "profraw")?.join("\n"))?;
    merge.args(["merge", "-sparse", "-f"]).arg(&list).arg("-o").arg(&merged);
    step("profiles", &mut merge)?;
    let programs = programs(&target.join("debug"))?;
    let (first, rest) = programs.split_first().context("no program was built")?;
    let mut export = Command::new(tools.join("llvm-cov"));
    export.args(["export", "--format=lcov", "--instr-profile"]).arg(&merged).arg(first);
    for program in rest {
        export.arg("--object").arg(program);
    }
    let sources = root().join("crates/anyk/src");
    export.arg(&sources);
    let output = export.output().with_context(|| format!("cannot start {export:?}"))?;
    if !output.status.success() {
        bail!("llvm-cov failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    report(&String::from_utf8_lossy(&output.stdout), &sources)
}

/// The folder of LLVM's tools of the very compiler: a component of the tool chain, added where it is missing.
fn tools() -> Result<PathBuf> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output()?;
    let sysroot = PathBuf::from(String::from_utf8_lossy(&sysroot.stdout).trim());
    let version = Command::new("rustc").arg("-vV").output()?;
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    let folder = sysroot.join("lib/rustlib").join(host).join("bin");
    if !folder.join("llvm-cov").exists() {
        step(
            "install llvm-tools",
            Command::new("rustup").args(["component", "add", "llvm-tools"]),
        )?;
    }
    Ok(folder)
}

fn files(folder: &Path, ending: &str) -> Result<Vec<String>> {
    let paths = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    let ours = paths.filter(|path| path.extension().is_some_and(|found| found == ending));
    Ok(ours.map(|path| path.display().to_string()).collect())
}

/// The program and the test programs that were built: what can be run in `deps` and has no ending, and `anyk`.
fn programs(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder.join("deps"))?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found: Vec<PathBuf> = entries.filter(|path| path.extension().is_none()).collect();
    found.push(folder.join("anyk"));
    // What an interrupted build has left there is no program.
    let runs = |path: &PathBuf| {
        fs::metadata(path)
            .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    found.retain(runs);
    found.sort();
    Ok(found)
}

/// Lines, and those that ran.
#[derive(Default, Clone, Copy)]
struct Lines {
    all: usize,
    run: usize,
}

impl Lines {
    fn percent(self) -> f64 {
        100.0 * self.run as f64 / self.all.max(1) as f64
    }

    fn add(&mut self, other: Self) {
        self.all += other.all;
        self.run += other.run;
    }
}

/// Lines of each file of an LCOV report; tests, which stand at the end of a file, do not count.
fn lines(lcov: &str, sources: &Path) -> Result<BTreeMap<String, Lines>> {
    let mut found = BTreeMap::new();
    let (mut name, mut lines, mut tests_from) = (String::new(), BTreeMap::new(), usize::MAX);
    for line in lcov.lines() {
        if let Some(path) = line.strip_prefix("SF:") {
            let text = fs::read_to_string(path).with_context(|| path.to_owned())?;
            let tests =
                text.lines().position(|line| line.starts_with("#[cfg(") && line.contains("test"));
            tests_from = tests.map_or(usize::MAX, |line| line + 1);
            name = Path::new(path)
                .strip_prefix(sources)
                .unwrap_or(path.as_ref())
                .display()
                .to_string();
            lines = BTreeMap::new();
        } else if let Some(numbers) = line.strip_prefix("DA:") {
            let mut numbers = numbers.split(',').map(str::parse::<usize>);
            if let (Some(Ok(at)), Some(Ok(count))) = (numbers.next(), numbers.next())
                && at < tests_from
            {
                *lines.entry(at).or_insert(0) += count;
            }
        } else if line == "end_of_record" {
            let run = lines.values().filter(|count| **count > 0).count();
            found.insert(name.clone(), Lines { all: lines.len(), run });
        }
    }
    Ok(found)
}

fn report(lcov: &str, sources: &Path) -> Result<()> {
    let files = lines(lcov, sources)?;
    let (mut folders, mut total) = (BTreeMap::<String, Lines>::new(), Lines::default());
    for (name, &lines) in &files {
        let folder =
            Path::new(name).parent().map_or(String::new(), |path| path.display().to_string());
        folders.entry(folder).or_default().add(lines);
        total.add(lines);
    }
    for (folder, lines) in &folders {
        println!(
            "{:32} {:6} of {:6} lines  {:6.2} %",
            format!("{folder}/"),
            lines.run,
            lines.all,
            lines.percent()
        );
    }
    let mut least: Vec<(&String, &Lines)> =
        files.iter().filter(|(_, lines)| lines.all > 0).collect();
    least.sort_by(|a, b| a.1.percent().total_cmp(&b.1.percent()));
    println!("least covered:");
    for (name, lines) in least.iter().take(NAMED) {
        println!("  {name:40} {:5} of {:5} lines  {:6.2} %", lines.run, lines.all, lines.percent());
    }
    println!(
        "== coverage: {} of {} lines of the library, {:.2} %",
        total.run,
        total.all,
        total.percent()
    );
    if total.percent() < LEAST {
        bail!(
            "{:.2} % of the library's lines are run by the tests, expected {LEAST} %",
            total.percent()
        );
    }
    Ok(())
}
