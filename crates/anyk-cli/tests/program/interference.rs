//! Tests of interference networks: all methods, all input formats, and bad input.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;

use serde_json::Value;

use crate::common::{anyk, gathered, run};

const FOUR: &str = include_str!("../../../../examples/four-links.json");
const SOLVE: [&str; 4] = ["solve", "interference", "--input", "-"];
const SCHEDULE: [&str; 4] = ["solve", "link-scheduling", "--input", "-"];

fn solve_json(command: &[&str], flags: &[&str], input: impl Into<Vec<u8>>) -> Value {
    let outcome = run(&[command, flags, &["--json"]].concat(), input);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    gathered(&outcome.stdout)
}

#[test]
fn every_method_answers_with_all_fields() {
    let rate = |answer: &Value| answer["instances"][0]["sum_rate_bits"].as_f64().unwrap();
    let best = rate(&solve_json(&SOLVE, &["--method", "exact", "--p-max", "10"], FOUR));
    for (method, status) in [
        ("wmmse", "converged"),
        ("fplinq", "converged"),
        ("greedy", "heuristic"),
        ("exact", "optimal"),
    ] {
        let flags = ["--method", method, "--p-max", "10"];
        let answer = solve_json(&SOLVE, &flags, FOUR);
        let instance = &answer["instances"][0];
        assert_eq!(instance["status"], status);
        assert_eq!(instance["binary"], true);
        assert!(instance["iterations"].as_u64().unwrap() > 0);
        assert!(instance["kkt_residual"].as_f64().unwrap() < 1e-9);
        assert!(instance["best_switch_bits"].as_f64().unwrap() < 0.0);
        assert!(instance.get("trace_bits").is_none());
        let power: Vec<f64> = serde_json::from_value(instance["power"].clone()).unwrap();
        assert!(power.len() == 4 && power.iter().all(|power| (0.0..=10.0).contains(power)));
        assert!(rate(&answer) <= best * (1.0 + 1e-12));
        if method == "wmmse" {
            let outcome = run(&[&SCHEDULE[..], &flags].concat(), FOUR);
            assert_eq!(outcome.code, 2);
            for word in ["invalid value 'wmmse' for '--method", "fplinq, greedy, exact"] {
                assert!(outcome.stderr.contains(word), "{}", outcome.stderr);
            }
        } else {
            assert_eq!(solve_json(&SCHEDULE, &flags, FOUR), answer);
        }
    }
    // Twice the power and twice the noise give the same sum rate.
    let (one, other) = (["--p-max", "10"], ["--p-max", "20", "--noise", "2"]);
    let (one, other) = (solve_json(&SOLVE, &one, FOUR), solve_json(&SOLVE, &other, FOUR));
    assert!((rate(&one) - rate(&other)).abs() < 1e-12);
}

#[test]
fn wmmse_stops_starts_again_and_is_traced() {
    let network = run(&["sample", "interference", "--k", "12", "--seed", "5"], "").stdout;
    let solve = |flags: &[&str]| solve_json(&SOLVE, flags, network.clone())["instances"][0].clone();
    let usual = solve(&[]);
    let traced = solve(&["--trace", "--iterations", "7"]);
    let trace: Vec<f64> = serde_json::from_value(traced["trace_bits"].clone()).unwrap();
    assert_eq!((trace.len(), traced["iterations"].as_u64()), (8, Some(7)));
    assert!(trace.windows(2).all(|pair| pair[1] >= pair[0] * (1.0 - 1e-12)));
    let early = solve(&["--tolerance", "1e-3"]);
    assert_eq!(early["status"], "converged");
    assert!(early["iterations"].as_u64().unwrap() < 100);
    let again = solve(&["--random-starts", "20", "--seed", "3"]);
    assert!(again["sum_rate_bits"].as_f64() >= usual["sum_rate_bits"].as_f64());
    let text = run(&[&SOLVE[..], &["--trace", "--p-max", "1e-9"]].concat(), network).stdout;
    assert!(text.contains("iteration") && text.contains("bit/s/Hz"), "{text}");
}

#[test]
fn samples_in_both_formats_are_the_same_networks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gains.npy");
    let file = file.to_str().unwrap();
    for scenario in ["dense", "d2d"] {
        let draw = ["--scenario", scenario, "--k", "6", "--count", "3", "--seed", "2"];
        let sample = [&["sample", "interference"][..], &draw].concat();
        assert_eq!(
            run(&[&sample[..], &["--format", "npy", "--out", file, "--force"]].concat(), "").code,
            0
        );
        let json = run(&sample, "");
        assert_eq!((json.code, json.stdout.lines().count()), (0, 3));
        let answer = solve_json(&SOLVE, &[], json.stdout);
        assert_eq!(answer["instances"].as_array().unwrap().len(), 3);
        assert_eq!(solve_json(&SOLVE, &[], fs::read(file).unwrap()), answer);
        let piped = anyk().args(&sample).args(["--format", "npy"]).output().unwrap().stdout;
        assert_eq!(piped, fs::read(file).unwrap());
        let table = run(&SOLVE, piped).stdout;
        assert_eq!(table.lines().count(), 4, "{table}");
    }
}

#[test]
fn one_link_and_silence() {
    let one = solve_json(&SOLVE, &[], "[[3]]");
    assert_eq!(one["instances"][0]["power"], serde_json::json!([1.0]));
    assert!((one["instances"][0]["sum_rate_bits"].as_f64().unwrap() - 2.0).abs() < 1e-12);
    for method in ["wmmse", "fplinq", "greedy", "exact"] {
        for input in ["[[0]]", "[[0,0],[0,0]]", "[[1e-300,1e99],[1e99,1e-300]]"] {
            let answer = solve_json(&SOLVE, &["--method", method], input);
            assert!(answer["instances"][0]["sum_rate_bits"].as_f64().unwrap() >= 0.0, "{input}");
            assert!(answer["instances"][0]["kkt_residual"].is_number(), "{input}");
        }
        assert_eq!(run(&[&SOLVE[..], &["--method", method]].concat(), "[[3]]").code, 0);
    }
}

#[test]
fn threads_do_not_change_the_answer() {
    let sample = ["sample", "interference", "--scenario", "dense", "--k", "9", "--count", "40"];
    let networks = run(&sample, "").stdout;
    for flags in [&["--random-starts", "3"][..], &["--method", "exact"]] {
        let solve = |threads: &str| {
            let mut command = anyk();
            command.args(SOLVE).args(flags).arg("--json").env("RAYON_NUM_THREADS", threads);
            command.write_stdin(networks.clone()).output().unwrap().stdout
        };
        let one = solve("1");
        assert!(!one.is_empty());
        assert_eq!(one, solve("2"));
    }
}

/// The table lists inputs and words that the error message must contain.
#[test]
fn bad_gains_are_exit_code_2_with_a_message_that_helps() {
    let deep = "[".repeat(200_000);
    let npy = |header: &str| {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend([0; 32]);
        bytes
    };
    let table: Vec<(Vec<u8>, &[&str])> = vec![
        (b"".to_vec(), &["the file is empty", "NumPy", "JSON"]),
        (b"gains".to_vec(), &["starts with \"gains\"", "expected a NumPy array"]),
        (b"1 2 3".to_vec(), &["1 rows of 3 gains, expected as many rows as columns"]),
        (b"{}".to_vec(), &["missing field `gains`"]),
        (b"[[1,NaN],[0,1]]".to_vec(), &["line 1", "finite number"]),
        (br#"{"gains":[[1,2],[3]]}"#.to_vec(), &["instance 0: row 1 has 1 gains, expected 2"]),
        (b"[[1]] [[-1]]".to_vec(), &["instance 1: row 0, column 0: the gain is -1"]),
        (b"[[1e101]]".to_vec(), &["instance 0: row 0, column 0", "1e100 times the noise"]),
        (deep.into(), &["line 1", "expected"]),
        (npy("{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }"), &["'<i8'", "float64"]),
        (
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (9, 9), }"),
            &["[9, 9]", "648 bytes", "32 follow"],
        ),
    ];
    for (input, words) in table {
        for command in [&SOLVE[..], &SCHEDULE, &[&SOLVE[..], &["--json"]].concat()] {
            let outcome = run(command, input.clone());
            assert_eq!(outcome.code, 2, "{words:?}: {}", outcome.stderr);
            // Earlier networks are answered; with --json, a line contains the error.
            let json = command.contains(&"--json");
            assert_eq!(outcome.stdout.contains("\"error\":"), json, "{words:?}");
            assert!(outcome.stderr.starts_with("error: standard input: "), "{}", outcome.stderr);
            assert!(outcome.stderr.len() < 600, "{} bytes", outcome.stderr.len());
            for word in words {
                assert!(outcome.stderr.contains(word), "{word:?} not in {}", outcome.stderr);
            }
        }
    }
}

#[test]
fn stray_flags_are_refused_by_name() {
    let unexpected = "unexpected argument";
    let table: [(&[&str], [&str; 2]); 16] = [
        (&["interference", "--antennas", "4"], [unexpected, "'--antennas'"]),
        (&["link-scheduling", "--max-power-dbm", "40"], [unexpected, "'--max-power-dbm'"]),
        (&["interference", "--config", "cell.toml"], [unexpected, "'--config'"]),
        (&["urllc", "--method", "exact"], [unexpected, "'--method'"]),
        (&["urllc", "--p-max", "2"], [unexpected, "'--p-max'"]),
        (&["urllc", "--trace"], [unexpected, "'--trace'"]),
        (&["urllc", "--iterations", "5"], [unexpected, "'--iterations'"]),
        (
            &["interference", "--method", "greedy", "--trace"],
            ["--trace does not apply to", "other than wmmse"],
        ),
        (&["link-scheduling", "--random-starts", "2"], [unexpected, "'--random-starts'"]),
        (&["link-scheduling", "--tolerance", "1e-3"], [unexpected, "'--tolerance'"]),
        (
            &["interference", "--method", "exact", "--iterations", "5"],
            ["--iterations does not apply to", "other than wmmse and fplinq"],
        ),
        (&["interference", "--seed", "5"], ["--seed does not apply to", "`random_starts`"]),
        (&["interference", "--p-max", "-1"], ["--p-max is -1", "expected a positive number"]),
        (&["interference", "--noise", "0"], ["--noise is 0", "expected a positive number"]),
        (
            &["interference", "--tolerance", "nan"],
            ["--tolerance is nan", "expected a positive number"],
        ),
        (&["interference", "--iterations", "0"], ["--iterations is 0", "from 1 to 1000000"]),
    ];
    for (flags, words) in table {
        let outcome = run(&[&["solve"], flags, &["--input", "-"]].concat(), FOUR);
        assert_eq!(outcome.code, 2, "{flags:?}");
        for word in words {
            assert!(outcome.stderr.contains(word), "{flags:?}: {}", outcome.stderr);
        }
    }
    let many = run(&["sample", "interference", "--k", "21"], "").stdout;
    let outcome = run(&[&SOLVE[..], &["--method", "exact"]].concat(), many);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("at most 20 links"), "{}", outcome.stderr);
    let table: [(&[&str], i32, &str); 6] = [
        (&["interference", "--antennas", "4"], 2, "unexpected argument '--antennas'"),
        (&["interference", "--format", "csv"], 2, "invalid value 'csv' for '--format"),
        (&["urllc", "--format", "npy"], 2, "invalid value 'npy' for '--format"),
        (&["urllc", "--scenario", "dense"], 2, "unexpected argument '--scenario'"),
        (&["urllc", "--max-power-dbm", "40"], 2, "unexpected argument '--max-power-dbm'"),
        // A failure of the machine, not of the input.
        (
            &["interference", "--format", "npy", "--out", "/no/such/folder/x.npy"],
            1,
            "/no/such/folder/x.npy: cannot write",
        ),
    ];
    for (flags, code, word) in table {
        let k: &[&str] = if flags.contains(&"--k") { &[] } else { &["--k", "2"] };
        let outcome = run(&[&["sample"], flags, k].concat(), "");
        assert_eq!(outcome.code, code, "{flags:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(word), "{flags:?}: {}", outcome.stderr);
    }
}
