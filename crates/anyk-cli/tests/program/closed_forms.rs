//! Tests of the problems with closed forms.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;

use assert_cmd::Command;
use serde_json::Value;

/// Runs the program; returns its exit code, standard output and standard error.
fn run(args: &[&str], stdin: &str) -> (i32, String, String) {
    let mut command = Command::cargo_bin("anyk").unwrap();
    command.timeout(std::time::Duration::from_secs(600));
    let output = command.args(args).write_stdin(stdin).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (code, stderr) = (output.status.code().unwrap_or(-1), text(&output.stderr));
    // Neither a signal nor a panic (101) is acceptable.
    assert!((0..=3).contains(&code) && !stderr.contains("panicked"), "{code}: {stderr}");
    (code, text(&output.stdout), stderr)
}

fn json(args: &[&str], stdin: &str) -> Value {
    let (_, stdout, stderr) = run(args, stdin);
    serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stderr}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

const FIVE: &str = include_str!("../../../../examples/five-users.json");
const POWER: &[&str] = &["solve", "qos-power", "--input", "-"];
const EQUAL: &[&str] = &["solve", "equal-bandwidth", "--input", "-"];

#[test]
fn solves_both_problems() {
    let answer = json(&[POWER, &["--json", "--rate-bps", "3e6"]].concat(), FIVE);
    assert_eq!(answer["status"], "optimal");
    assert!(number(&answer["kkt_residual"]) < 1e-12);
    // N_0 B (2^3 − 1)/g at 60 m: a gain of −102.158 dB.
    let expected = 10f64.powf(-20.3) * 1e6 * 7.0 / 10f64.powf(-3.53 - 3.76 * 60f64.log10());
    assert!((number(&answer["users"][0]["power_w"]) / expected - 1.0).abs() < 1e-12);
    let answer = json(&[EQUAL, &["--json"]].concat(), FIVE);
    assert!((number(&answer["total_power_w"]) / 19.952_623 - 1.0).abs() < 1e-6);
    let (each, all) = (number(&answer["bandwidth_hz"]), number(&answer["total_bandwidth_hz"]));
    assert!((all / each - 5.0).abs() < 1e-12 && number(&answer["kkt_residual"]) < 1e-12);
    for user in answer["users"].as_array().unwrap() {
        assert!((number(&user["rate_bps"]) / 1e6 - 1.0).abs() < 1e-12);
    }
    // Several cells in a file, as JSON and as tables.
    let two = format!("{FIVE}\n{FIVE}");
    assert_eq!(run(&[EQUAL, &["--json"]].concat(), &two).1.lines().count(), 2);
    assert!(run(POWER, &two).1.contains("\ncell 2\n"));
}

#[test]
fn infeasible_is_exit_code_3_with_numbers() {
    let (code, stdout, _) = run(&[EQUAL, &["--json", "--max-power-dbm", "11"]].concat(), FIVE);
    assert_eq!(code, 3);
    let answer: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(answer["status"], "infeasible");
    let short = number(&answer["required_power_w"]) - number(&answer["max_power_w"]);
    assert!((number(&answer["shortfall_w"]) - short).abs() < 1e-15);
    assert_eq!(answer["dropped"], serde_json::json!(["edge"]));
    assert_eq!(answer["admissible"]["users"].as_array().unwrap().len(), 4);
    let nobody = run(&[EQUAL, &["--json", "--max-power-dbm", "-60"]].concat(), FIVE);
    assert!(nobody.0 == 3 && nobody.1.contains("\"admissible\":null"));
}

/// Flags without an effect, values out of range, users with their own service class.
#[test]
fn bad_usage_is_exit_code_2_with_a_message_that_helps() {
    let own = r#"{"users":[{"id":"a","distance_m":60,"epsilon":1e-7}]}"#;
    let folder = tempfile::tempdir().unwrap();
    let never = folder.path().join("never.safetensors");
    let out = never.to_str().unwrap();
    let train = |problem: &'static str, flags: &[&'static str]| {
        [&["train", problem, "--out", out], flags].concat()
    };
    let table: Vec<(Vec<&str>, &str, &[&str])> = vec![
        (POWER.to_vec(), own, &["user \"a\"", "its own service class"]),
        (EQUAL.to_vec(), own, &["user \"a\"", "its own service class"]),
        ([POWER, &["--rate-bps", "0"]].concat(), FIVE, &["error: --rate-bps is 0", "1 to 1e12"]),
        ([EQUAL, &["--rate-bps", "nan"]].concat(), FIVE, &["--rate-bps is nan", "a number"]),
        ([EQUAL, &["--rate-bps", "-1"]].concat(), FIVE, &["error: --rate-bps is -1", "1 to 1e12"]),
        (
            [POWER, &["--bandwidth-hz", "1"]].concat(),
            FIVE,
            &["error: --bandwidth-hz is 1", "from 2000"],
        ),
        // Flags of other problems are rejected.
        (
            [EQUAL, &["--bandwidth-hz", "1e6"]].concat(),
            FIVE,
            &["unexpected argument '--bandwidth-hz'", "anyk solve equal-bandwidth"],
        ),
        (
            [POWER, &["--max-power-dbm", "3"]].concat(),
            FIVE,
            &["unexpected argument '--max-power-dbm'", "anyk solve qos-power"],
        ),
        ([POWER, &["--epsilon", "1e-5"]].concat(), FIVE, &["unexpected argument '--epsilon'"]),
        ([EQUAL, &["--antennas", "2"]].concat(), FIVE, &["unexpected argument '--antennas'"]),
        (
            vec!["solve", "urllc", "--input", "-", "--rate-bps", "1e6"],
            FIVE,
            &["unexpected argument '--rate-bps'", "anyk solve urllc"],
        ),
        (train("urllc", &["--output", "softmax"]), "", &["unexpected argument '--output'"]),
        (train("urllc", &["--bandwidth-hz", "1"]), "", &["unexpected argument '--bandwidth-hz'"]),
        (
            train("qos-power", &["--epsilon-d", "1e-6"]),
            "",
            &["unexpected argument '--epsilon-d'", "anyk train qos-power"],
        ),
        (train("qos-power", &["--preset", "fast"]), "", &["unexpected argument '--preset'"]),
        (train("qos-power", &["--output", "softmax"]), "", &["unexpected argument '--output'"]),
        (train("qos-power", &["--method", "p-gnn"]), "", &["unexpected argument '--method'"]),
        (
            train("equal-bandwidth", &["--pretraining", "supervised"]),
            "",
            &["unexpected argument '--pretraining'"],
        ),
        (
            train("equal-bandwidth", &["--method", "fnn"]),
            "",
            &["invalid value 'fnn' for '--method", "p-gnn, m-gnn"],
        ),
        (
            train("equal-bandwidth", &["--rate-bps", "1e13"]),
            "",
            &["--rate-bps is 1e13", "1 to 1e12"],
        ),
        (train("equal-bandwidth", &["--train-k", "20000"]), "", &["--train-k", "1 to 10000"]),
        (train("qos-power", &["--samples", "0"]), "", &["--samples is 0", "from 1 to"]),
    ];
    for (args, input, words) in table {
        let (code, stdout, stderr) = run(&args, input);
        assert_eq!(code, 2, "{args:?}: {stderr}");
        assert!(stdout.is_empty() && stderr.starts_with("error: "), "{args:?}: {stderr}");
        for word in words {
            assert!(stderr.contains(word), "{args:?}: {word:?} not in {stderr}");
        }
    }
    assert!(!never.exists());
}

/// `evaluate` and `allocate` accept the file of `train`.
#[test]
fn train_evaluate_allocate() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (power, equal) = (path("power.safetensors"), path("equal.safetensors"));
    let report = json(&["train", "qos-power", "--out", &power, "--json"], "");
    assert!(number(&report["power_error_percent"]) < 0.5, "{report}");
    let train = ["train", "equal-bandwidth", "--samples", "500", "--out", &equal];
    let (code, stdout, stderr) = run(&[&train[..], &["--rate-bps", "1e5"]].concat(), "");
    assert!(code == 0 && stdout.contains("validation: powers off by"), "{stderr}");
    for (model, key) in [(&power, "power_error_percent"), (&equal, "total_variation_percent")] {
        let cells = ["--k", "2,10,300", "--samples", "20"];
        let evaluation = json(&[&["evaluate", model, "--json"], &cells[..]].concat(), "");
        for size in evaluation["sizes"].as_array().unwrap() {
            assert!(number(&size[key]) < 1.0, "{size}");
        }
        let table = run(&[&["evaluate", model], &cells[..]].concat(), "");
        assert!(table.0 == 0 && table.1.lines().count() == 4, "{}", table.1);
        let learned = json(&["allocate", model, "--input", "-", "--json"], FIVE);
        assert_eq!(learned["status"], "learned");
        assert_eq!(learned["users"][4]["id"], "edge");
        // The training cells have fading and this cell has none, so the gap is larger, but not large.
        assert!(number(&learned["gap_percent"]).abs() < 20.0, "{learned}");
        let shown = run(&["allocate", model, "--input", "-"], FIVE).1;
        assert!(
            shown.contains("learned: ") && shown.contains("compared with the optimum"),
            "{shown}"
        );
        let own = r#"{"users":[{"id":"a","distance_m":60,"epsilon":1e-7}]}"#;
        assert_eq!(run(&["allocate", model, "--input", "-"], own).0, 2);
    }
    // A truncated model is rejected.
    let bytes = fs::read(&power).unwrap();
    fs::write(&power, &bytes[..bytes.len() - 8]).unwrap();
    let (code, _, stderr) = run(&["evaluate", &power], "");
    assert!(code == 2 && stderr.contains("not an AnyK model, or a damaged model"), "{stderr}");
}

#[test]
fn reproduce_writes_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("tables");
    let path = out.to_str().unwrap();
    let args = ["reproduce", "closed-forms", "--trainings", "1", "--out", path];
    let (code, stdout, stderr) = run(&args, "");
    assert!(code == 0 && stdout.contains("(P5) power"), "{stderr}");
    for file in ["closed-forms.csv", "closed-forms.md", "closed-forms.svg", "report.html"] {
        assert!(out.join(file).exists(), "{file}");
    }
    // A second run reuses the results.
    assert_eq!(run(&args, "").1, stdout);
}
