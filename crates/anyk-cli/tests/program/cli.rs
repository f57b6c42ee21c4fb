//! Tests of the commands of the program.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::common::{anyk, run};

fn solve_json(input: &str, flags: &[&str]) -> Value {
    let args = [&["solve", "urllc", "--input", "-", "--json"], flags].concat();
    let outcome = run(&args, input);
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|_| panic!("{}", outcome.stderr))
}

const FIVE: &str = include_str!("../../../../examples/five-users.json");

#[test]
fn solves_the_golden_cell() {
    let answer = solve_json(FIVE, &[]);
    assert_eq!(answer["status"], "optimal");
    // Independent computation, f64, 64-point generalized Gauss–Laguerre (shared reference).
    let total = answer["total_bandwidth_hz"].as_f64().unwrap();
    assert!((total / 778_450.15 - 1.0).abs() < 1e-7);
    assert!((answer["total_power_w"].as_f64().unwrap() / 19.9526 - 1.0).abs() < 1e-5);
    assert!(answer["duality_gap"].as_f64().unwrap() <= 1e-8);
    let users = answer["users"].as_array().unwrap();
    let ids: Vec<&str> = users.iter().map(|user| user["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["near", "bridge", "square", "school", "edge"]);
    for (user, power) in users.iter().zip([2.451_935, 3.072_302, 3.660_303, 4.806_896, 5.961_188]) {
        assert!((user["power_w"].as_f64().unwrap() / power - 1.0).abs() < 1e-6);
        assert!(user["packet_loss"].as_f64().unwrap() <= 1e-5);
    }
}

#[test]
fn json_and_csv_distance_and_gain_are_the_same() {
    let json = r#"{"users":[{"id":"a","distance_m":100},{"id":"b","gain_db":-110.5}]}"#;
    let csv = "gain_db,id,distance_m\n,a,100\n-110.5,b,\n";
    let (one, other) = (solve_json(json, &[]), solve_json(csv, &[]));
    assert_eq!(one, other);
    // 100 m is −110.5 dB.
    let power = |i: usize| one["users"][i]["power_w"].as_f64().unwrap();
    assert!((power(0) / power(1) - 1.0).abs() < 1e-9);
    // A byte-order mark, Windows line breaks and spaces are accepted.
    let windows = "\u{feff}id, distance_m, gain_db\r\na , 100 ,\r\nb,,-110.5\r\n";
    assert_eq!(solve_json(windows, &[]), one);
}

#[test]
fn service_classes_config_and_flags() {
    let mixed = r#"{"users":[{"id":"a","distance_m":100},
        {"id":"b","distance_m":100,"epsilon":1e-7,"packet_bits":256,"arrival_rate":0.1}]}"#;
    let answer = solve_json(mixed, &[]);
    let loss = |i: usize| answer["users"][i]["packet_loss"].as_f64().unwrap();
    assert!((loss(0) / 1e-5 - 1.0).abs() < 1e-6 && loss(0) <= 1e-5);
    assert!((loss(1) / 1e-7 - 1.0).abs() < 1e-6 && loss(1) <= 1e-7);
    // A flag and a file have the same effect; a flag overrides the file.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cell.toml");
    fs::write(&file, "[cell]\nmax_power_dbm = 40.0\n").unwrap();
    let file = file.to_str().unwrap();
    let by_flag = solve_json(FIVE, &["--max-power-dbm", "40"]);
    assert_eq!(by_flag, solve_json(FIVE, &["--config", file]));
    let back = solve_json(FIVE, &["--config", file, "--max-power-dbm", "43"]);
    assert_eq!(back, solve_json(FIVE, &[]));
    assert!(by_flag["total_bandwidth_hz"].as_f64() > back["total_bandwidth_hz"].as_f64());
    // The printed config can be read.
    let printed = run(&["config", "--antennas", "4"], "").stdout;
    assert!(printed.contains("antennas = 4"), "{printed}");
    let copy = folder.path().join("copy.toml");
    fs::write(&copy, printed).unwrap();
    let again = run(&["config", "--config", copy.to_str().unwrap()], "").stdout;
    assert!(again.contains("antennas = 4"));
}

/// An error names a value of the file by its field, and a value of the command line by its flag.
#[test]
fn a_wrong_value_is_told_where_it_was_given() {
    let cell = r#"{"cell":"a","max_power_dbm":500,"users":[{"distance_m":60}]}"#;
    let expected = "cell a: max_power_dbm is 500, expected a power in dBm";
    let answer = run(&["solve", "urllc", "--input", "-"], cell);
    assert!(answer.stderr.contains(expected) && !answer.stderr.contains("--"), "{}", answer.stderr);
    let users = r#""users":[{"id":"a","distance_m":60}]"#;
    for (problem, field, expected) in [
        ("separable", r#""cost":"/etc/passwd""#, "cost is /etc/passwd, expected log1p"),
        ("urllc", r#""path_loss":"free-space""#, "carrier_ghz is missing"),
        ("urllc", r#""reference_bandwidth_hz":3"#, "reference_power_dbm is missing"),
    ] {
        let cell = format!(r#"{{"cell":"nn",{field},{users}}}"#);
        let answer = run(&["solve", problem, "--input", "-"], cell);
        let expected = format!("error: standard input: cell nn: {expected}");
        assert!(answer.stderr.starts_with(&expected), "{}", answer.stderr);
    }
    // The error names the flag if the cell does not set the value.
    let cell = format!(r#"{{"cell":"nn",{users}}}"#);
    let answer = run(&["solve", "urllc", "--input", "-", "--path-loss", "free-space"], cell);
    assert!(answer.stderr.contains("error: --carrier-ghz is missing"), "{}", answer.stderr);
    let expected = "error: --max-power-dbm is 500, expected a power in dBm";
    let answer = run(&["solve", "urllc", "--input", "-", "--max-power-dbm", "500"], FIVE);
    assert!(answer.stderr.contains(expected), "{}", answer.stderr);
}

#[test]
fn values_of_flags_may_have_units() {
    let plain = solve_json(FIVE, &["--queueing-delay-ms", "0.5", "--noise-density-dbm-hz", "-170"]);
    let units = ["--queueing-delay-ms", "500us", "--noise-density-dbm-hz", "-170dBm/Hz"];
    assert_eq!(solve_json(FIVE, &units), plain);
    let config = |value: &str| run(&["config", "--max-power-dbm", value], "");
    assert_eq!(config("10W").stdout, config("40").stdout);
    for (flags, told) in [
        (
            ["--max-power-dbm", "20MHz"],
            "--max-power-dbm is 20MHz, expected a power such as 43, 43dBm",
        ),
        (["--max-power-dbm", "0W"], "--max-power-dbm is 0W, expected a power such as"),
        (["--packet-bits", "1MHz"], "--packet-bits is 1MHz, expected a size such as"),
    ] {
        let outcome = run(&[&["solve", "urllc", "-"][..], &flags].concat(), FIVE);
        assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
    }
}

#[test]
fn the_input_is_an_argument_or_a_flag() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("five.json");
    fs::write(&path, FIVE).unwrap();
    let file = path.to_str().unwrap();
    let by_flag = run(&["solve", "urllc", "--json", "--input", file], "").stdout;
    assert_eq!(run(&["solve", "urllc", file, "--json"], "").stdout, by_flag);
    assert_eq!(run(&["solve", "urllc", "-", "--json"], FIVE).stdout, by_flag);
    let answers = folder.path().join("answers.json");
    fs::write(&answers, by_flag).unwrap();
    let answers = answers.to_str().unwrap();
    assert_eq!(run(&["assess", "urllc", file, "--allocations", answers], "").code, 0);
    let both = run(&["solve", "urllc", file, "--input", file], "");
    assert_eq!(both.code, 2);
    assert!(both.stderr.contains("'--input <FILE>'"), "{}", both.stderr);
    let overwritten = run(&["solve", "urllc", file, "--json", "--out", file, "--force"], "");
    assert!(overwritten.stderr.contains("it is also the input (FILE)"), "{}", overwritten.stderr);
}

#[test]
fn misspelled_names_get_a_suggestion() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cell.toml");
    fs::write(&path, "[cell]\nmax_powr_dbm = 40\n").unwrap();
    let config = path.to_str().unwrap();
    for (arguments, meant) in [
        (vec!["solve", "urlc", "-"], "'urllc'"),
        (vec!["solve", "urllc", "-", "--max-powr-dbm", "3"], "'--max-power-dbm'"),
        (vec!["train", "urllc", "--method", "prce", "--out", "x"], "'price'"),
        (vec!["reproduce", "tabel3"], "'table3'"),
        (vec!["evaluate", "optimm", "--problem", "urllc"], "did you mean optimum?"),
        (vec!["solve", "urllc", "-", "--config", config], "did you mean `max_power_dbm`?"),
    ] {
        let outcome = run(&arguments, FIVE);
        assert_eq!(outcome.code, 2, "{arguments:?}");
        assert!(outcome.stderr.contains(meant), "{arguments:?}: {}", outcome.stderr);
    }
}

#[test]
fn sample_feeds_solve() {
    let sampled = run(&["sample", "urllc", "--k", "10", "--count", "5", "--seed", "1"], "");
    assert_eq!(sampled.code, 0);
    assert_eq!(sampled.stdout.lines().count(), 5);
    let cell: Value = serde_json::from_str(sampled.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(cell["users"].as_array().unwrap().len(), 10);
    let solved = run(&["solve", "urllc", "--input", "-", "--json"], sampled.stdout.clone());
    assert_eq!((solved.code, solved.stdout.lines().count()), (0, 5));
    assert_eq!(
        run(&["sample", "urllc", "--k", "10", "--count", "5", "--seed", "1"], "").stdout,
        sampled.stdout
    );
    assert_ne!(
        run(&["sample", "urllc", "--k", "10", "--count", "5", "--seed", "2"], "").stdout,
        sampled.stdout
    );
    // The first cells do not depend on how many are drawn.
    let fewer = run(&["sample", "urllc", "--k", "10", "--count", "2", "--seed", "1"], "").stdout;
    assert!(sampled.stdout.starts_with(&fewer));
    let csv = run(&["sample", "urllc", "--k", "3", "--format", "csv"], "").stdout;
    assert_eq!(run(&["solve", "urllc", "--input", "-"], csv).code, 0);
}

#[test]
fn infeasible_is_exit_code_3_with_numbers() {
    let outcome = run(&["solve", "urllc", "--input", "-", "--json", "--max-power-dbm", "10"], FIVE);
    assert_eq!(outcome.code, 3);
    let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(answer["status"], "infeasible");
    let number = |key: &str| answer[key].as_f64().unwrap();
    assert!((number("max_power_w") - 0.01).abs() < 1e-12);
    let short = number("required_power_w") - number("max_power_w");
    assert!(short > 0.0 && (number("shortfall_w") - short).abs() < 1e-12);
    assert_eq!(answer["dropped"], serde_json::json!(["edge"]));
    let admissible = &answer["admissible"];
    assert_eq!(admissible["status"], "optimal");
    assert_eq!(admissible["users"].as_array().unwrap().len(), 4);
    let table = run(&["solve", "urllc", "--input", "-", "--max-power-dbm", "10"], FIVE);
    assert_eq!(table.code, 3);
    assert!(table.stdout.contains("4 of 5 users can be served; drop 1: edge"), "{}", table.stdout);
    // No user can be served.
    let nobody = run(&["solve", "urllc", "--input", "-", "--json", "--max-power-dbm", "-40"], FIVE);
    assert_eq!(nobody.code, 3);
    assert!(nobody.stdout.contains("\"admissible\":null"));
}

/// The table lists inputs and words that the error message must contain.
#[test]
fn bad_input_is_exit_code_2_with_a_message_that_helps() {
    let user = |fields: &str| format!(r#"{{"users":[{{"id":"a","distance_m":60}},{{{fields}}}]}}"#);
    let deep = "[".repeat(200_000);
    let table: Vec<(Vec<u8>, &[&str])> = vec![
        (b"".to_vec(), &["the file is empty", "expected JSON"]),
        (b" \n\t ".to_vec(), &["the file is empty"]),
        (b"{}".to_vec(), &["users", "missing field"]),
        (br#"{"users":[]}"#.to_vec(), &["there are no users"]),
        (br#"{"users":5}"#.to_vec(), &["line 1", "invalid type"]),
        (br#"[{"id":"a"}]"#.to_vec(), &["line 1", "expected JSON {\"users\""]),
        (br#"{"users":[{"id":"a","distance_m":60}"#.to_vec(), &["line 1", "EOF"]),
        (user(r#""id":"b","distance_m":NaN"#).into(), &["line 1", "NaN", "finite number"]),
        (
            user(r#""id":"b","distance_m":1e400"#).into(),
            &["user 2 (\"b\")", "distance_m is 1e400", "a number of metres"],
        ),
        (user(r#""id":"b","distance_m":-5"#).into(), &["user 2 (\"b\")", "distance_m is -5"]),
        (user(r#""id":"b","distance_m":0"#).into(), &["distance_m is 0,"]),
        (
            user(r#""id":"b","distance_m":"60""#).into(),
            &["distance_m is \"60\", expected a number"],
        ),
        (user(r#""id":"b","distance_m":[1]"#).into(), &["distance_m is [1], expected a number"]),
        (user(r#""id":"b","gain_db":110.5"#).into(), &["gain_db is 110.5, expected a negative"]),
        (user(r#""id":"b","gain_db":-1e9"#).into(), &["gain_db is -1000000000"]),
        (user(r#""id":"b","gain_db":-100,"distance_m":60"#).into(), &["only one of them"]),
        (user(r#""id":"b""#).into(), &["user 2 (\"b\")", "none of distance_m, gain_db"]),
        (user(r#""id":"","distance_m":60"#).into(), &["id is \"\""]),
        (user(r#""id":"x\u0007y","distance_m":60"#).into(), &["id is", "printable"]),
        (user(r#""id":{},"distance_m":60"#).into(), &["id is {}, expected a string"]),
        (
            user(r#""id":"a","distance_m":60"#).into(),
            &["user 2", "id is \"a\"", "user 1 already has"],
        ),
        (
            user(r#""id":"b","distance_m":60,"epsilon":0.5"#).into(),
            &["epsilon is 0.5", "1e-15 to 0.1"],
        ),
        (user(r#""id":"b","distance_m":60,"packet_bits":-1"#).into(), &["packet_bits is -1"]),
        (user(r#""id":"b","distance_m":60,"arrival_rate":1e99"#).into(), &["arrival_rate is 1e99"]),
        (
            user(r#""id":"b","distence_m":60"#).into(),
            &["\"distence_m\" looks like a typo of \"distance_m\""],
        ),
        (deep.clone().into(), &["line 1", "expected JSON"]),
        (format!("{{\"users\":{deep}").into(), &["line 1"]),
        (user(&format!(r#""id":{deep}"#)).into(), &["line 1"]),
        (b"{\"users\":[{\"id\":\"\xff\",\"distance_m\":60}]}".to_vec(), &["byte 18 is not UTF-8"]),
        (b"\x00\x01\x02".to_vec(), &["the header", "expected one of distance_m"]),
        (b"id,distance_m\n".to_vec(), &["there are no users"]),
        (b"id,distance_m\na,60\na,70\n".to_vec(), &["line 3", "id is \"a\"", "line 2 already has"]),
        (b"id,distance_m\na,abc\n".to_vec(), &["line 2 (user \"a\")", "distance_m is abc"]),
        (b"id,distance_m\na,inf\n".to_vec(), &["line 2 (user \"a\")", "distance_m is inf"]),
        (b"id,distance_m\na,NaN\n".to_vec(), &["line 2 (user \"a\")", "distance_m is NaN"]),
        (b"id,distance_m\na\n".to_vec(), &["line 2", "1 fields, expected 2"]),
        (b"id,distance\na,60\n".to_vec(), &["the header", "typo of \"distance_m\""]),
        (b"id,id,distance_m\na,b,60\n".to_vec(), &["the header", "appears twice"]),
        (
            b"id,epsilon\na,1e-5\n".to_vec(),
            &["the columns are \"id,epsilon\"", "distance_m, gain_db"],
        ),
    ];
    for (input, words) in table {
        let shown = String::from_utf8_lossy(&input).chars().take(80).collect::<String>();
        for format in
            [&["solve", "urllc", "--input", "-"][..], &["solve", "urllc", "--input", "-", "--json"]]
        {
            let outcome = run(format, input.clone());
            assert_eq!(outcome.code, 2, "{shown}: {}", outcome.stderr);
            // With --json, a line contains the error.
            let reasons = outcome.stdout.matches("\"error\":").count();
            assert_eq!(reasons, usize::from(format.contains(&"--json")), "{shown}");
            assert_eq!(outcome.stdout.lines().count(), reasons, "{shown}");
            assert!(outcome.stderr.starts_with("error: standard input: "), "{}", outcome.stderr);
            assert!(outcome.stderr.len() < 600, "{shown}: {} bytes", outcome.stderr.len());
            for word in words {
                assert!(
                    outcome.stderr.contains(word),
                    "{shown}: {word:?} not in {}",
                    outcome.stderr
                );
            }
        }
    }
}

#[test]
fn bad_usage_names_the_file_or_the_flag() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| -> PathBuf {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let typo = write("typo.toml", "[cell]\nantenas = 4\n");
    let range = write("range.toml", "[service]\nepsilon = 2.0\n");
    let small = write("small.toml", "[road]\ncell_radius_m = 100\n");
    let broken = write("broken.toml", "[cell\n");
    let users = write("users.json", r#"{"users":[{"id":"a","distance_m":-1}]}"#);
    let path = |path: &PathBuf| path.to_str().unwrap().to_owned();
    let solve = |flags: &[&str]| -> Vec<String> {
        let args = [&["solve", "urllc"], flags].concat();
        args.into_iter().map(str::to_owned).collect()
    };
    let on_stdin = |flags: &[&str]| solve(&[&["--input", "-"], flags].concat());
    let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
    let table: Vec<(Vec<String>, Vec<&str>)> = vec![
        (solve(&["--input", "/no/such/file"]), vec!["/no/such/file", "cannot read"]),
        (solve(&["--input", &path(&folder.path().to_owned())]), vec!["cannot read"]),
        (solve(&["--input", &path(&users)]), vec!["users.json: user 1", "distance_m is -1"]),
        (solve(&[]), vec!["<FILE>"]),
        (on_stdin(&["--config", &path(&typo)]), vec!["typo.toml", "antenas", "antennas"]),
        (on_stdin(&["--config", &path(&range)]), vec!["range.toml", "service.epsilon is 2", "0.1"]),
        // An error in a file names the file, even if a flag overrides the value.
        (
            on_stdin(&["--config", &path(&range), "--epsilon", "2"]),
            vec!["range.toml", "service.epsilon is 2", "0.1"],
        ),
        // A value of the file that contradicts a flag.
        (
            on_stdin(&["--config", &path(&small), "--min-distance-m", "200"]),
            vec!["small.toml: road.cell_radius_m is 100, expected a distance in m from 200"],
        ),
        (
            on_stdin(&["--min-distance-m", "300"]),
            vec!["--cell-radius-m is 250, expected a distance in m from 300"],
        ),
        (on_stdin(&["--epsilon", "1e-20"]), vec!["--epsilon is 1e-20, expected a probability"]),
        (on_stdin(&["--config", &path(&broken)]), vec!["broken.toml"]),
        (on_stdin(&["--epsilon", "nan"]), vec!["--epsilon is nan, expected a number"]),
        (
            on_stdin(&["--epsilon", "0.5"]),
            vec!["--epsilon is 0.5, expected a probability from 1e-15 to 0.1"],
        ),
        (
            on_stdin(&["--noise-density-dbm-hz", "-1"]),
            vec!["--noise-density-dbm-hz is -1, expected a density in dBm/Hz from -250 to -50"],
        ),
        (
            on_stdin(&["--antennas", "0"]),
            vec!["--antennas is 0, expected a whole number from 1 to 1024"],
        ),
        (words("sample urllc --k 0"), vec!["--k is 0, expected a whole number", "1 to 10000000"]),
        (words("sample urllc"), vec!["--k is missing, expected a number of users"]),
        (words("sample urllc --k 2 --count 2 --format csv"), vec!["--count", "a single cell"]),
        (words("sweep nosuch.toml"), vec!["nosuch.toml: cannot read"]),
        (words("sweep -"), vec!["standard input: a key is users, expected one of problem"]),
        (words("nonsense"), vec!["nonsense"]),
        (words("solve nonsense --input -"), vec!["nonsense"]),
        (words("solve --input -"), vec!["--input"]),
        (words("train --out never.safetensors"), vec!["--out"]),
    ];
    for (args, words) in table {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let outcome = run(&args, FIVE);
        assert_eq!(outcome.code, 2, "{args:?}");
        for word in words {
            assert!(outcome.stderr.contains(word), "{args:?}: {word:?} not in {}", outcome.stderr);
        }
    }
}

/// AnyK answers a large file of users and rejects 100 MB of garbage.
#[test]
fn very_large_files() {
    let folder = tempfile::tempdir().unwrap();
    let garbage = folder.path().join("garbage.json");
    fs::write(&garbage, vec![b'{'; 100_000_000]).unwrap();
    assert_eq!(run(&["solve", "urllc", "--input", garbage.to_str().unwrap()], "").code, 2);
    let many = folder.path().join("many.csv");
    // 300,000 users, more than the paper's power can serve: infeasible, quickly.
    let rows: String = (0..300_000).map(|i| format!("user-{i:>06},{}\n", 50 + i % 200)).collect();
    fs::write(&many, format!("id,distance_m\n{rows}")).unwrap();
    let outcome = run(&["solve", "urllc", "--input", many.to_str().unwrap(), "--json"], "");
    assert_eq!(outcome.code, 3);
    let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert!(answer["admissible_count"].as_u64().unwrap() > 1000);
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    use std::process::{Command, Stdio};
    let binary = assert_cmd::cargo::cargo_bin("anyk");
    let mut child = Command::new(binary)
        .args(["sample", "urllc", "--k", "1000", "--count", "1000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
}

#[test]
fn help_has_an_example_everywhere() {
    let top = run(&["--help"], "");
    assert_eq!(top.code, 0);
    for command in [
        "solve",
        "train",
        "evaluate",
        "allocate",
        "calibrate",
        "diagnose",
        "reproduce",
        "sample",
        "sweep",
        "bench",
        "config",
        "completions",
    ] {
        assert!(top.stdout.contains(command));
        let help = run(&[command, "--help"], "").stdout;
        assert!(help.contains("Example") && help.contains(&format!("anyk {command}")), "{help}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(&["completions", shell], "");
        assert!(script.code == 0 && script.stdout.contains("anyk"));
    }
}

#[test]
#[ignore = "half a minute; part of `cargo xtask test --long`"]
fn bench_prints_the_promised_keys() {
    let outcome = run(&["bench", "--json"], "");
    let figures: Value = serde_json::from_str(&outcome.stdout).unwrap();
    for key in [
        "solve_us_k200",
        "solve_us_k1000",
        "solve_us_k100000",
        "table_build_ms",
        "train_step_us",
        "allocate_us_k200",
        "allocate_us_k10000",
        "allocate_us_k1000000",
        "wmmse_us_k100",
    ] {
        assert!(figures[key].as_f64().unwrap() > 0.0, "{key}");
    }
}

#[test]
fn sweep_does_not_depend_on_threads() {
    let folder = tempfile::tempdir().unwrap();
    let spec = folder.path().join("spec.toml");
    let lines = "problem = 'urllc'\npolicies = ['m-gnn', 'optimum', 'equal-power']\nk = [1, 20]\nsamples = 40\n";
    fs::write(&spec, format!("{lines}[train]\nsamples = 40")).unwrap();
    let sweep = |threads: &str| {
        let (csv, plot) = (folder.path().join("table.csv"), folder.path().join("plot.svg"));
        let mut command = anyk();
        command.arg("sweep").arg(&spec).args(["--json", "--force"]);
        command.arg("--csv").arg(&csv).arg("--plot").arg(&plot);
        let output = command.env("RAYON_NUM_THREADS", threads).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (output.stdout, fs::read_to_string(csv).unwrap(), fs::read_to_string(plot).unwrap())
    };
    let one = sweep("1");
    assert_eq!(one, sweep("4"));
    let (json, csv, plot) = one;
    let table: Value = serde_json::from_slice(&json).unwrap();
    let rows = table["rows"].as_array().unwrap();
    let find = |policy: &str| rows.iter().find(|row| row["policy"] == policy && row["k"] == 20);
    let value = |policy: &str| find(policy).unwrap()["value"].as_f64().unwrap();
    assert!(value("optimum") < value("equal-power"));
    assert!(value("equal-power") < 1.02 * value("optimum"));
    assert_eq!(find("m-gnn").unwrap()["seed"], 1);
    assert!(csv.starts_with("problem,policy,seed,k,instances,") && csv.lines().count() == 7);
    // The CSV file has all digits, and no dash for a missing value.
    assert!(csv.contains(&value("optimum").to_string()) && !csv.contains('–'));
    assert!(plot.contains("m-gnn") && plot.contains("gap to optimum"));
    let refused =
        run(&["sweep", spec.to_str().unwrap(), "--csv", spec.to_str().unwrap(), "--force"], "");
    assert!(
        refused.code == 2 && refused.stderr.contains("is also the input"),
        "{}",
        refused.stderr
    );
}

/// `evaluate` and `allocate` accept the file of `train`, and the answer compares the model with the optimum.
#[test]
fn train_evaluate_allocate() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model.safetensors");
    let model = model.to_str().unwrap();
    let trained =
        run(&["train", "urllc", "--samples", "500", "--seed", "1", "--out", model, "--json"], "");
    assert_eq!(trained.code, 0, "{}", trained.stderr);
    let report: Value = serde_json::from_str(&trained.stdout).unwrap();
    assert!(report["availability"].as_f64().unwrap() > 0.99, "{report}");
    let evaluated = run(&["evaluate", model, "--k", "2,10,100", "--samples", "20", "--json"], "");
    let evaluation: Value = serde_json::from_str(&evaluated.stdout).unwrap();
    for size in evaluation["sizes"].as_array().unwrap() {
        assert!(size["availability"].as_f64().unwrap() > 0.98, "{size}");
        assert!((0.0..10.0).contains(&size["gap_percent"].as_f64().unwrap()), "{size}");
        assert!(size["total_bandwidth_mhz"].as_f64() > size["optimum_mhz"].as_f64());
    }
    let allocated = run(&["allocate", model, "--input", "-", "--json"], FIVE);
    let learned: Value = serde_json::from_str(&allocated.stdout).unwrap();
    assert_eq!(learned["status"], "learned");
    let exact = solve_json(FIVE, &[]);
    let total = |answer: &Value| answer["total_bandwidth_hz"].as_f64().unwrap();
    let gap = 1.0 - total(&exact) / total(&learned);
    assert!((learned["duality_gap"].as_f64().unwrap() - gap).abs() < 1e-9);
    assert_eq!(learned["users"][4]["id"], "edge");
    assert!(run(&["allocate", model, "--input", "-"], FIVE).stdout.contains("learned: the QoS of"));
    // The model was not trained for users of another service class.
    let other = r#"{"users":[{"id":"a","distance_m":60,"epsilon":1e-7}]}"#;
    let refused = run(&["allocate", model, "--input", "-"], other);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("its own service class"), "{}", refused.stderr);
}

#[test]
fn models_that_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    fs::write(&path, b"not a model").unwrap();
    let path = path.to_str().unwrap();
    for args in [vec!["evaluate", path], vec!["allocate", path, "--input", "-"]] {
        let outcome = run(&args, FIVE);
        assert_eq!(outcome.code, 2);
        assert!(outcome.stderr.contains("not an AnyK model"), "{}", outcome.stderr);
    }
    assert!(run(&["evaluate", "/no/such/model"], "").stderr.contains("cannot read"));
    for (flag, value, words) in [
        ("--epsilon-d", "0.5", "--epsilon-d is 0.5, expected a probability from 1e-15 to 0.1"),
        ("--samples", "0", "--samples is 0, expected a whole number from 1"),
        ("--train-k", "20000", "--train-k is 20000, expected sizes from 1 to 10000"),
        ("--train-k", "0,10", "--train-k is 0,10, expected whole numbers of users from 1"),
    ] {
        let out = folder.path().join("never.safetensors");
        let args = ["train", "urllc", "--method", "m-gnn", "--out", out.to_str().unwrap()];
        let outcome = run(&[&args[..], &[flag, value]].concat(), "");
        assert_eq!(outcome.code, 2, "{flag}");
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
        assert!(!out.exists());
    }
}

#[test]
fn reproduce_writes_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("tables");
    let path = out.to_str().unwrap();
    let outcome = run(&["reproduce", "table1", "table2", "--trainings", "1", "--out", path], "");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("Table I: number of cells in each data set"));
    for file in ["table1.csv", "table1.md", "table2.csv", "report.html"] {
        assert!(out.join(file).exists(), "{file}");
    }
    let unknown = run(&["reproduce", "table7"], "");
    assert_eq!(unknown.code, 2);
}
