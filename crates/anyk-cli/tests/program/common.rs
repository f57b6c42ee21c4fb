//! Functions that run the program.

// Not every platform uses all of these functions.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::Path;

use assert_cmd::Command;

pub(crate) fn anyk() -> Command {
    let mut command = Command::cargo_bin("anyk").unwrap();
    command.timeout(std::time::Duration::from_secs(600));
    command
}

/// Exit code and output of a run.
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Number of warnings about the range of the rate formula, which are not part of `stderr`: the paper's cell is
    /// outside that range.
    pub(crate) warned: usize,
}

/// Start of the warning about the range of the rate formula.
const RATE_FORMULA: &str = "warning: the rate formula";

pub(crate) fn run(args: &[&str], stdin: impl Into<Vec<u8>>) -> Outcome {
    let output = anyk().args(args).write_stdin(stdin.into()).output().unwrap();
    outcome(&output)
}

/// Runs a shell command line in a folder; `$ANYK` is the path of the program.
#[cfg(unix)]
pub(crate) fn shell(line: &str, folder: &Path) -> Outcome {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", line]).current_dir(folder).env("ANYK", env!("CARGO_BIN_EXE_anyk"));
    outcome(&command.output().unwrap())
}

/// Combines the answers to consecutive networks into one.
pub(crate) fn gathered(stdout: &str) -> serde_json::Value {
    let mut lines =
        stdout.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let mut first = lines.next().unwrap();
    for mut line in lines {
        let more = line["instances"].as_array_mut().unwrap();
        first["instances"].as_array_mut().unwrap().append(more);
    }
    first
}

pub(crate) fn outcome(output: &std::process::Output) -> Outcome {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    let (warnings, others): (Vec<&str>, Vec<&str>) =
        stderr.split_inclusive('\n').partition(|line| line.starts_with(RATE_FORMULA));
    let (warned, stderr) = (warnings.len(), others.concat());
    // Neither a signal nor a panic (101) is acceptable.
    let code = output.status.code().unwrap_or(-1);
    assert!([0, 1, 2, 3, 130].contains(&code), "exit code {code}: {stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    Outcome { code, stdout, stderr, warned }
}
