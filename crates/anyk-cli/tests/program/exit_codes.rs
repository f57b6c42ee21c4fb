//! Tests of the exit codes: 0 done, 1 the machine failed, 2 bad input or usage, 3 infeasible, 130 interrupted.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use crate::common::run;

const FIVE: &str = include_str!("../../../../examples/five-users.json");

/// Trains a small model and returns its path.
fn small_model(folder: &Path) -> String {
    let model = folder.join("small.safetensors").to_str().unwrap().to_owned();
    let args = ["train", "urllc", "--method", "m-gnn", "--samples", "20", "--out", &model];
    let trained = run(&args, "");
    assert_eq!(trained.code, 0, "{}", trained.stderr);
    model
}

#[test]
fn done_is_0() {
    for args in [&["--help"][..], &["--version"], &["solve", "urllc", "--help"], &["config"]] {
        assert_eq!(run(args, "").code, 0, "{args:?}");
    }
    assert_eq!(run(&["solve", "urllc", "--input", "-"], FIVE).code, 0);
}

/// A file that cannot be written is a failure of the machine, not of the input, and has its own exit code.
#[test]
#[cfg(target_os = "linux")]
fn what_cannot_be_written_is_1() {
    let folder = tempfile::tempdir().unwrap();
    let model = small_model(folder.path());
    let below = format!("{model}/below-a-file");
    for out in ["/proc/x", "/no/such/folder/x", below.as_str()] {
        for args in [
            &["train", "urllc", "--out", out][..],
            &["train", "interference", "--out", out],
            &["calibrate", &model, "--out", out],
            &["sample", "urllc", "--k", "3", "--out", out],
            &["sample", "interference", "--k", "3", "--format", "npy", "--out", out],
            &["sample", "fading", "--law", "rayleigh", "--out", out],
            &["reproduce", "table1", "--out", &format!("{below}/folder")],
            &["diagnose", "--policy", "qos-power", "--out", &format!("{below}/folder")],
        ] {
            let outcome = run(args, "");
            assert_eq!(outcome.code, 1, "{args:?}: {}", outcome.stderr);
            assert!(outcome.stderr.contains(": cannot write: "), "{}", outcome.stderr);
            assert!(outcome.stdout.is_empty(), "{args:?}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_standard_output_is_1() {
    let folder = tempfile::tempdir().unwrap();
    small_model(folder.path());
    fs::write(folder.path().join("five.json"), FIVE).unwrap();
    fs::write(folder.path().join("spec.toml"), "problem = 'urllc'\npolicies = 'optimum'\nk = 1")
        .unwrap();
    let cell = "--input five.json";
    for line in [
        format!("solve urllc {cell}"),
        format!("solve qos-power {cell} --json"),
        format!("allocate small.safetensors {cell}"),
        "evaluate small.safetensors --k 2 --samples 2 --json".to_owned(),
        "train urllc --method m-gnn --samples 20 --out other.safetensors".to_owned(),
        "sample urllc --k 3".to_owned(),
        "sample urllc --k 3 --count 1000".to_owned(),
        "sample interference --k 3 --format npy".to_owned(),
        "sample fading --law rayleigh".to_owned(),
        "sweep spec.toml".to_owned(),
        "config".to_owned(),
        "completions bash".to_owned(),
        "diagnose --policy toy-one --users 1000 --no-check".to_owned(),
    ] {
        let outcome = crate::common::shell(&format!("$ANYK {line} > /dev/full"), folder.path());
        assert_eq!(outcome.code, 1, "{line}: {}", outcome.stderr);
        let message = "error: standard output: cannot write: No space left on device";
        // On a slow machine, progress is printed before the error.
        let last = outcome.stderr.lines().last().unwrap();
        assert!(last.starts_with(message), "{line}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.matches("error: ").count(), 1, "{line}: {}", outcome.stderr);
    }
    // The model was written nevertheless.
    assert!(folder.path().join("other.safetensors").exists());
}

/// If the disk is full while a file is written, the old file stays and no other file is left behind.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_1_and_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let names = || {
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let users = folder.path().join("users.json");
    assert_eq!(
        crate::common::shell("$ANYK sample urllc --k 2 --out users.json", folder.path()).code,
        0
    );
    let before = (fs::read(&users).unwrap(), names());
    // Limit files to one block, and ignore the signal, so that the write returns an error.
    for command in [
        "sample urllc --k 1000 --out users.json --force",
        "train urllc --method m-gnn --samples 20 --out model.safetensors",
    ] {
        let line = format!("trap '' XFSZ; ulimit -f 1; exec $ANYK {command}");
        let outcome = crate::common::shell(&line, folder.path());
        assert_eq!(outcome.code, 1, "{command}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(": cannot write: "), "{}", outcome.stderr);
        assert_eq!((fs::read(&users).unwrap(), names()), before, "{command}");
    }
}

#[test]
fn bad_input_and_usage_are_2() {
    let table: [(&[&str], &str, &str); 12] = [
        (&[], "", "Usage"),
        (&["solve"], "", "Usage"),
        (&["train"], "", "Usage"),
        (&["nonsense"], "", "unrecognized subcommand 'nonsense'"),
        (&["solve", "nonsense"], "", "unrecognized subcommand 'nonsense'"),
        (&["solve", "urllc"], "", "<FILE>"),
        (&["solve", "urllc", "--input", "-", "--nonsense"], "", "'--nonsense'"),
        // The command line of earlier versions is rejected.
        (&["solve", "--problem", "urllc", "--input", "-"], FIVE, "'--problem'"),
        (&["solve", "urllc", "--input", "-"], "{", "line 1"),
        (&["solve", "urllc", "--input", "-", "--antennas", "x"], FIVE, "--antennas is x"),
        (&["evaluate", "/no/such/model"], "", "cannot read"),
        (&["train", "urllc"], "", "--out"),
    ];
    for (args, input, word) in table {
        let outcome = run(args, input);
        assert_eq!(outcome.code, 2, "{args:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(word), "{args:?}: {}", outcome.stderr);
        assert!(outcome.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn infeasible_is_3() {
    let folder = tempfile::tempdir().unwrap();
    let never = folder.path().join("never.safetensors");
    let never = never.to_str().unwrap();
    for problem in ["urllc", "equal-bandwidth"] {
        let args = ["solve", problem, "--input", "-", "--max-power-dbm", "5"];
        let outcome = run(&args, FIVE);
        assert_eq!(outcome.code, 3, "{}", outcome.stderr);
        assert!(outcome.stdout.starts_with("infeasible: "), "{}", outcome.stdout);
        assert!(outcome.stderr.is_empty(), "{}", outcome.stderr);
    }
    let band = ["--max-bandwidth-hz", "7e5", "--max-power-dbm", "43"];
    let outcome = run(&[&["solve", "urllc-power", "--input", "-"], &band[..]].concat(), FIVE);
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    assert!(outcome.stdout.starts_with("infeasible: "), "{}", outcome.stdout);
    // One infeasible cell of two is enough.
    let far = r#"{"users":[{"id":"far","distance_m":90000}]}"#;
    let outcome = run(&["solve", "urllc", "--input", "-"], format!("{FIVE}{far}"));
    assert_eq!(outcome.code, 3);
    assert!(outcome.stdout.contains("optimal: ") && outcome.stdout.contains("infeasible: "));
    // If the budget can serve no user, there are no training samples.
    for method in ["p-gnn", "m-gnn", "fnn", "price"] {
        let args = ["train", "urllc", "--method", method, "--max-power-dbm", "-30"];
        let outcome = run(&[&args[..], &["--samples", "20", "--out", never]].concat(), "");
        assert_eq!(outcome.code, 3, "{method}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("cannot serve"), "{method}: {}", outcome.stderr);
        assert!(!fs::exists(never).unwrap());
    }
}

/// An interrupted run immediately exits with 130, names its step, and leaves no file.
#[test]
#[cfg(target_os = "linux")]
fn interrupted_is_130_and_leaves_no_file() {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    let folder = tempfile::tempdir().unwrap();
    // Bit mask of the signals that the program handles; bit 1 is SIGINT (signal 2).
    let listens = |id: u32| {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .is_some_and(|mask| mask & 0b10 != 0)
    };
    for flags in [
        &["urllc", "--method", "m-gnn"][..],
        &["urllc", "--method", "price"],
        &["urllc-power"],
        &["equal-bandwidth"],
        &["interference", "--samples", "200", "--steps", "40000"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_anyk"));
        command.arg("train").args(flags).args(["--out", "model"]).current_dir(folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        while !listens(child.id()) && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(130), "{flags:?}: {message}");
        let last = message.lines().last().unwrap();
        assert!(last.starts_with("error: interrupted at step "), "{flags:?}: {message}");
        assert!(output.stdout.is_empty(), "{flags:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{flags:?}");
    }
}

/// Closed standard output is an error. Without a check, writing would succeed, because the standard library replaces
/// closed standard output by `/dev/null`.
#[test]
#[cfg(unix)]
fn an_answer_on_a_closed_standard_output_is_1() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("five"), FIVE).unwrap();
    let shell = |line: &str| crate::common::shell(line, folder.path());
    let solve = "$ANYK solve urllc --input five";
    for command in
        [solve, &format!("{solve} --json"), "$ANYK --help", "$ANYK --version", "$ANYK config"]
    {
        for ending in [">&-", "0<&- >&-"] {
            let outcome = shell(&format!("{command} {ending}"));
            assert_eq!(outcome.code, 1, "{command} {ending}: {}", outcome.stderr);
            let told = "error: standard output: cannot write: it is closed\n";
            assert_eq!(outcome.stderr, told, "{command} {ending}");
        }
    }
    // Here no answer is lost. Some callers open `/dev/null` for reading and writing.
    for ending in [">/dev/null", "1<>/dev/null", "--out answer --force >&-", "| true"] {
        let outcome = shell(&format!("{solve} {ending}"));
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{ending}");
    }
    assert!(fs::read_to_string(folder.path().join("answer")).unwrap().contains("optimal: "));
    // Other errors take precedence.
    assert_eq!(shell("$ANYK solve urllc --input none >&-").code, 2);
}

/// The model is written even if the standard streams are closed. Closed standard output loses only the report.
#[test]
#[cfg(unix)]
fn closed_standard_streams_do_not_break_a_training() {
    let folder = tempfile::tempdir().unwrap();
    let train = "$ANYK train urllc --method m-gnn --samples 50 --out";
    for (name, ending, code) in [("open", "", 0), ("error", "2>&-", 0), ("all", "0<&- >&- 2>&-", 1)]
    {
        let outcome = crate::common::shell(&format!("{train} {name} {ending}"), folder.path());
        assert_eq!(outcome.code, code, "{name}: {}", outcome.stderr);
    }
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(read("open") == read("error") && read("open") == read("all"));
    // Closed standard error does not change the exit code.
    assert_eq!(crate::common::shell("$ANYK solve urllc --input none 2>&-", folder.path()).code, 2);
    // Full standard error does not change it either.
    #[cfg(target_os = "linux")]
    assert_eq!(crate::common::shell(&format!("{train} full 2>/dev/full"), folder.path()).code, 0);
}

/// The error about a removed quadrature rule says what to do.
#[test]
fn a_quadrature_that_was_removed_is_2() {
    let folder = tempfile::tempdir().unwrap();
    let solve = |name: &str| {
        let file = folder.path().join("cell.toml");
        fs::write(&file, format!("[cell]\nquadrature = \"{name}\"\n")).unwrap();
        run(&["solve", "urllc", "--config", file.to_str().unwrap(), "--input", "-"], FIVE)
    };
    assert_eq!(solve("log-trapezoid").code, 0);
    let refused = solve("gauss-laguerre");
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
    for part in ["cell.toml: ", "cell.quadrature is gauss-laguerre", "removed; delete the line"] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
}

/// An endless file is rejected after its first bytes, since it is not a model or a file of parameters.
#[test]
#[cfg(target_os = "linux")]
fn endless_files_are_2() {
    for args in [&["evaluate", "/dev/zero"][..], &["config", "--config", "/dev/zero"]] {
        let outcome = run(args, "");
        assert_eq!(outcome.code, 2, "{args:?}: {}", outcome.stderr);
    }
}

/// The paper's cell is outside the range of the rate formula, and the example cell is inside it.
#[test]
fn the_range_of_the_rate_formula_is_warned_of_once() {
    let cells = "{\"users\":[{\"distance_m\":60}]}\n".repeat(3);
    let outside = run(&["solve", "urllc", "--json", "--input", "-"], cells.as_str());
    assert_eq!((outside.code, outside.warned), (0, 1), "{}", outside.stderr);
    assert_eq!(outside.stdout.matches("\"warning\":\"the rate formula").count(), 3);
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/valid-cell.toml");
    let line = ["solve", "urllc", "--json", "--input", "-", "--config", config];
    let inside = run(&line, cells.as_str());
    assert_eq!((inside.code, inside.warned), (0, 0), "{}", inside.stdout);
    assert!(!inside.stdout.contains("warning") && inside.stdout.contains("\"optimal\""));
    // A limit alone brings no more channel uses.
    let limited =
        run(&[&line[..5], &["--max-spectral-efficiency", "7.4063"]].concat(), cells.as_str());
    assert_eq!((limited.code, limited.warned), (0, 1), "{}", limited.stdout);
    // A price policy that was trained without a limit says so, and no guarantee is given under a limit.
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (name, config) in [("free", &[][..]), ("limited", &["--config", config][..])] {
        let train = ["train", "urllc", "--method", "price", "--samples", "20", "--out"];
        let trained = run(&[&train[..], &[&file(name)], config].concat(), "");
        assert_eq!(trained.code, 0, "{}", trained.stderr);
    }
    let allocate = ["allocate", &file("free"), "--json", "--input", "-"];
    let limit = ["--max-spectral-efficiency", "7.4063"];
    let found = run(&[&allocate[..], &limit].concat(), cells.as_str()).stdout;
    assert!(found.contains("max_spectral_efficiency 7.4063, trained none"), "{found}");
    let found = run(&allocate, cells.as_str()).stdout;
    assert!(!found.contains("trained none"), "{found}");
    let calibrated = run(&["calibrate", &file("limited"), "--out", &file("c")], "");
    assert_ne!(calibrated.code, 0);
    assert!(calibrated.stderr.contains("not proved"), "{}", calibrated.stderr);
    for value in ["0", "-1", "NaN", "inf", "1e-300", "1e300", "0.09", "101"] {
        let line = [&line[..5], &["--max-spectral-efficiency", value]].concat();
        let outcome = run(&line, cells.as_str());
        assert_eq!(outcome.code, 2, "{value}: {}", outcome.stdout);
        assert!(outcome.stderr.contains("max-spectral-efficiency"), "{value}: {}", outcome.stderr);
    }
}
