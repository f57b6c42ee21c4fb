//! Tests of networks from files: all formats with gains, weights, noise and maximum powers, flags in addition, and
//! damaged or hostile files.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Outcome, gathered, run};

/// Gains of three links. The matrix is not symmetric, so that the test notices a transposed matrix.
const GAINS: [f64; 9] = [1.0, 0.1, 0.3, 0.2, 0.9, 0.05, 0.4, 0.15, 1.2];
const WEIGHTS: [f64; 3] = [1.0, 0.5, 4.0];
const NOISE: [f64; 3] = [0.1, 0.2, 0.05];
const MAX_POWER: [f64; 3] = [2.0, 1.0, 3.0];

fn solve(file: &Path, flags: &[&str]) -> Outcome {
    let command = ["solve", "interference", "--json", "--input", file.to_str().unwrap()];
    run(&[&command[..], flags].concat(), "")
}

fn answer(file: &Path, flags: &[&str]) -> Value {
    let outcome = solve(file, flags);
    assert_eq!(outcome.code, 0, "{}: {}", file.display(), outcome.stderr);
    gathered(&outcome.stdout)
}

/// Checks that the file is rejected and that the error names the file and contains the words.
fn refused(file: &Path, flags: &[&str], words: &[&str]) {
    let outcome = solve(file, flags);
    assert_eq!(outcome.code, 2, "{}: {}", file.display(), outcome.stderr);
    assert!(!outcome.stdout.contains("status"), "{}", outcome.stdout);
    assert!(outcome.stderr.len() < 700, "{}", outcome.stderr);
    for word in words {
        assert!(outcome.stderr.contains(word), "{word:?} not in {}", outcome.stderr);
    }
}

fn bytes(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Builds a `.npy` file.
fn npy(kind: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\0", &length[..], header.as_bytes(), data].concat()
}

/// Returns the values in Fortran order, where the first index changes fastest.
fn by_columns(values: &[f64]) -> Vec<f64> {
    (0..9).map(|at| values[3 * (at % 3) + at / 3]).collect()
}

fn json_network() -> Value {
    let rows: Vec<&[f64]> = GAINS.chunks(3).collect();
    json!({"gains": rows, "weights": WEIGHTS, "noise": NOISE, "max_power": MAX_POWER})
}

/// Files and flags with the same content give the same answer, bit for bit.
#[test]
fn every_format_is_the_same_network() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let all = write("all.json", json_network().to_string().as_bytes());
    let expected = answer(&all, &[]);
    let instance = &expected["instances"][0];
    let (rates, weighted) = (&instance["sum_rate_bits"], &instance["weighted_sum_rate_bits"]);
    assert!(weighted.as_f64().unwrap() > rates.as_f64().unwrap());
    let power: Vec<f64> = serde_json::from_value(instance["power"].clone()).unwrap();
    assert!(power.iter().zip(MAX_POWER).all(|(power, most)| (0.0..=most).contains(power)));
    let c = |shape: &str, values: &[f64]| npy("<f8", "False", shape, &bytes(values));
    let fortran = npy("<f8", "True", "(3, 3)", &bytes(&by_columns(&GAINS)));
    let big: Vec<u8> = GAINS.iter().flat_map(|gain| gain.to_be_bytes()).collect();
    // Gains from a file and everything else by flags, as lists and as files in three formats.
    let rows: Vec<String> = GAINS
        .chunks(3)
        .map(|row| row.iter().map(f64::to_string).collect::<Vec<_>>().join(","))
        .collect();
    let text = |separator: &str| rows.join("\n").replace(',', separator);
    let gains = [
        write("comma.csv", text(",").as_bytes()),
        write(
            "semicolon.csv",
            format!("# gains\r\n\r\n{}\r\n", text(";").replace('\n', "\r\n")).as_bytes(),
        ),
        write("tab.txt", text("\t").as_bytes()),
        write("spaces.txt", text("   ").as_bytes()),
        write(
            "quoted.csv",
            text("\",\"")
                .lines()
                .fold(String::new(), |all, line| all + &format!("\"{line}\"\n"))
                .as_bytes(),
        ),
        write("c.npy", &c("(3, 3)", &GAINS)),
        write("fortran.npy", &fortran),
        write("big.npy", &npy(">f8", "False", "(1, 3, 3)", &big)),
        write(
            "alone.json",
            json!({"gains": GAINS.chunks(3).collect::<Vec<_>>()}).to_string().as_bytes(),
        ),
    ];
    let weights = write("weights.csv", b"1\n0.5\n4\n");
    let noise = write("noise.json", b"[0.1, 0.2, 0.05]");
    let most = write("most.npy", &c("(3,)", &MAX_POWER));
    let [weights, noise, most] = [&weights, &noise, &most].map(|path| path.to_str().unwrap());
    for file in &gains {
        for flags in [
            ["--weights", "1,0.5,4", "--noise", "0.1,0.2,0.05", "--p-max", "2,1,3"],
            ["--weights", weights, "--noise", noise, "--p-max", most],
        ] {
            assert_eq!(answer(file, &flags), expected, "{}", file.display());
        }
    }
    // A value in the file and in a flag is ambiguous.
    let words = [
        "all.json: instance 0: the noise of links is in the file and an option, expected one of them",
    ];
    refused(&all, &["--noise", "2"], &words);
}

/// N networks with weights for each network, weights for all networks, and one weight for all links.
#[test]
fn several_networks() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let lines = |networks: [Value; 2]| networks.map(|network| network.to_string()).join("\n");
    let two = |weights: [Value; 2]| {
        let [a, b] = weights;
        lines([
            json!({"gains": [[1, 2], [3, 4]], "weights": a, "noise": 2}),
            json!({"gains": [[5, 6], [7, 8]], "weights": b, "noise": 2}),
        ])
    };
    let rows = answer(&write("rows.json", two([json!([1, 2]), json!([3, 1])]).as_bytes()), &[]);
    assert_eq!(rows["instances"].as_array().unwrap().len(), 2);
    let same = answer(&write("same.json", two([json!([1, 2]), json!([1, 2])]).as_bytes()), &[]);
    let list = json!({"gains": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]], "weights": [[1, 2], [3, 1]], "noise": 2});
    assert_eq!(answer(&write("list.json", list.to_string().as_bytes()), &[]), rows);
    // Weights of each network from the file of a flag.
    let file = write("rows.csv", b"1,2\n3,1\n");
    let plain = write(
        "plain.npy",
        &npy("<f8", "False", "(2, 2, 2)", &bytes(&[1., 2., 3., 4., 5., 6., 7., 8.])),
    );
    let flags = ["--weights", file.to_str().unwrap(), "--noise", "2"];
    assert_eq!(answer(&plain, &flags), rows);
    assert_eq!(answer(&plain, &["--weights", "1,2", "--noise", "2"]), same);
    // Weights of 1 have no effect, in the file and in a flag.
    let none = answer(&plain, &[]);
    assert!(none["instances"][0].get("weighted_sum_rate_bits").is_none());
    assert_eq!(answer(&plain, &["--weights", "1"]), none);
    assert_eq!(answer(&plain, &["--weights", "1,1"]), none);
    // Every method of both problems accepts weights, and a table shows them.
    let best = |method: &str| {
        answer(&plain, &[&flags[..], &["--method", method]].concat())["instances"][0]["weighted_sum_rate_bits"]
            .as_f64()
            .unwrap()
    };
    for method in ["wmmse", "fplinq", "greedy"] {
        assert!(best(method) <= best("exact") * 1.2 && best(method) > 0.5 * best("exact"));
    }
    let one = write("one.json", br#"{"gains":[[1,2],[3,4]],"weights":[1,2.5]}"#);
    let text =
        run(&["solve", "interference", "--trace", "--input", one.to_str().unwrap()], "").stdout;
    assert!(
        text.contains("weight\n") && text.contains("2.5") && text.contains("weighted sum rate: "),
        "{text}"
    );
}

/// Each check has a file and words that the error message must contain.
#[test]
fn damaged_files_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let check = |name: &str, content: &[u8], words: &[&str]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        refused(&path, &[], &[&[name][..], words].concat());
    };
    check("header.csv", b"a,b\n1,2\n", &["line 1: column 0 is \"a\", expected a number"]);
    check("ragged.csv", b"1,2\n3\n", &["line 2: row 1 has 1 gains, expected 2"]);
    check("flat.csv", b"1,2\n", &["1 rows of 2 gains"]);
    check("tall.csv", b"1\n2\n", &["line 2: there are more rows than the 1 columns"]);
    check("nan.csv", b"1,nan\n2,3\n", &["row 0, column 1: the gain is NaN"]);
    check("negative.csv", b"1;2\n-3;4\n", &["row 1, column 0: the gain is -3"]);
    check(
        "decimal.csv",
        b"1,5;2\n2;3\n",
        &["line 1: column 0 is \"1,5\", expected a number (use a decimal point"],
    );
    let weighted =
        |weights: Value| json!({"gains": [[1, 2], [3, 4]], "weights": weights}).to_string();
    for (weights, words) in [
        (
            json!([1]),
            "instance 0: the number of values of weights is 1, expected 2, one for each link",
        ),
        (json!([1, -2]), "instance 0: weights[1] is -2, expected a number from 0 to 1e100"),
        (json!([0, 0]), "the largest weight is 0, expected a positive number"),
        (
            json!([[1, 2], [1, 2]]),
            "the number of rows of weights is 2, expected 1, one for each network",
        ),
        (json!("heavy"), "expected a number, a list of numbers"),
        (json!([1, [2]]), "a number and a list in one list"),
        (json!([[[1]]]), "a list of lists of lists"),
        (json!(null), "expected a number"),
    ] {
        check("weights.json", weighted(weights).as_bytes(), &[words]);
    }
    check(
        "noise.json",
        br#"{"gains":[[1]],"noise":0}"#,
        &["noise[0] is 0, expected a positive number"],
    );
    check(
        "typo.json",
        br#"{"gains":[[1]],"weight":[1]}"#,
        &["the key \"weight\" looks like a typo of \"weights\""],
    );
    for (key, meant) in
        [("gain", "gains"), ("maxpower", "max_power"), ("p_max", "max_power"), ("Noise", "noise")]
    {
        let text = json!({"gains": [[1]], key: [1]}).to_string();
        let words = format!("the key {key:?} looks like a typo of {meant:?}");
        check("slip.json", text.as_bytes(), &[&words]);
    }
    check("twice.json", br#"{"gains":[[1]],"noise":1,"noise":1}"#, &["duplicate field `noise`"]);
    let many = json!({"gains": [[[1]], [[2]]], "weights": [[1], [-1]]}).to_string();
    check("second.json", many.as_bytes(), &["instance 1: weights[0] is -1"]);
    // Formats that the user can convert with Python.
    for (name, start, words) in [
        ("net.npz", &b"PK\x03\x04"[..], "this is an archive (.npz, .zip)"),
        ("net.mat", b"MATLAB 5.0 MAT-file", "scipy.io.loadmat and numpy.save"),
        ("new.mat", b"MATLAB 7.3 MAT-file", "h5py.File and numpy.save"),
        ("net.h5", b"\x89HDF\r\n\x1a\n", "this is an HDF5 file"),
        ("net.parquet", b"PAR1", "pandas.read_parquet"),
    ] {
        let content = [start, &[0; 200]].concat();
        check(name, &content, &[words, "expected a NumPy array (.npy), CSV"]);
    }
}

/// Other fields next to the gains are accepted and, where possible, copied to the answer.
#[test]
fn whatever_else_is_in_a_file_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let plain = answer(&write("plain.json", b"{\"gains\":[[1,0.1],[0.2,0.9]]}"), &[]);
    let more = br#"{"site":{"x":[1,2]},"gains":[[1,0.1],[0.2,0.9]],"instances":4,"cell":"lab"}"#;
    let found = answer(&write("more.json", more), &[]);
    assert_eq!(found["instances"], plain["instances"]);
    assert_eq!((&found["cell"], &found["site"]["x"][1]), (&json!("lab"), &json!(2)));
    assert_eq!(found["input_instances"], 4);
    let table = run(&["solve", "interference", "--format", "csv", "--input", "-"], &more[..]);
    assert!(table.stdout.contains("\nlab,0,1,1,"), "{}", table.stdout);
    refused(
        &write("name.json", br#"{"cell":[1],"gains":[[1]]}"#),
        &[],
        &["expected a name or a whole number"],
    );
    let long = format!("[[1,{}1]]", "0,".repeat(20_000));
    let words = ["long.json: instance 0: row 0 has more gains, expected at most 20000"];
    refused(&write("long.json", long.as_bytes()), &[], &words);
    let long = format!("1{}\n", ",0".repeat(20_000));
    let words = ["long.csv: line 1: there are more columns, expected at most 20000"];
    refused(&write("long.csv", long.as_bytes()), &[], &words);
}

/// Headers and elements with impossible values.
#[test]
fn absurd_claims_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let check = |name: &str, content: &[u8], words: &[&str]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        refused(&path, &[], &[&[name][..], words].concat());
    };
    for (shape, words) in [
        ("(99999999999999999999, 1)", "is not that of a plain array"),
        ("(4294967296, 4294967296)", "takes over 2^64 bytes"),
        ("(1000000, 1000000)", "but 32 follow the header"),
        ("(0, 0)", "expected at least one link"),
        ("(-2, 2)", "header"),
        ("(((((((((2,),),),),),),),),)", "is not that of a plain array"),
        ("(2, 2", "header"),
    ] {
        check("shape.npy", &npy("<f8", "False", shape, &[0; 32]), &[words]);
    }
    check("type.npy", &npy("<c16", "False", "(1, 1)", &[0; 16]), &["expected float32 or float64"]);
    let mut long = npy("<f8", "False", "(2, 2)", &[0; 32]);
    long[8..10].copy_from_slice(&[0xff, 0xff]);
    check("long.npy", &long, &["longer than the file"]);
    check("magic.npy", b"\x93NUMPY", &["unknown version"]);
}

/// Invalid values of flags.
#[test]
fn flags_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gains.csv");
    fs::write(&file, "1,0.5\n0.25,2\n").unwrap();
    for (flags, words) in [
        (["--weights", "1,2,3"], "instance 0: the number of values of weights is 3, expected 2"),
        (["--weights", "-1,0"], "--weights is -1,0, expected numbers from 0 to 1e100"),
        (["--weights", "--noise"], "--weights is --noise, expected numbers, or a file"),
        (["--weights", "0,0"], "--weights is 0,0, expected numbers from 0 to 1e100, not all 0"),
        (["--weights", "no-such-file.csv"], "no-such-file.csv: cannot read"),
        (["--noise", "1,0"], "--noise is 1,0, expected positive numbers"),
        (["--p-max", "-1"], "--p-max is -1, expected a positive number"),
    ] {
        refused(&file, &flags, &[words]);
    }
    let bad = folder.path().join("weights.csv");
    fs::write(&bad, "1\nheavy\n").unwrap();
    refused(
        &file,
        &["--weights", bad.to_str().unwrap()],
        &["weights.csv: line 2: column 0 is \"heavy\""],
    );
}

/// `sample --random-weights | solve` and `| allocate` work; a model without weights says how to train one with weights.
#[test]
fn samples_and_models_with_weights() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let sample =
        ["sample", "interference", "--scenario", "d2d", "--k", "6", "--count", "2", "--seed", "3"];
    let plain = run(&sample, "");
    let drawn = run(&[&sample[..], &["--random-weights", "log-uniform"]].concat(), "");
    assert_eq!(drawn.code, 0, "{}", drawn.stderr);
    for (plain, drawn) in plain.stdout.lines().zip(drawn.stdout.lines()) {
        let (plain, drawn): (Value, Value) =
            (serde_json::from_str(plain).unwrap(), serde_json::from_str(drawn).unwrap());
        assert_eq!(plain["gains"], drawn["gains"]);
        let weights: Vec<f64> = serde_json::from_value(drawn["weights"].clone()).unwrap();
        assert!(weights.len() == 6 && weights.iter().all(|weight| (0.09..10.1).contains(weight)));
    }
    let outcome =
        run(&[&sample[..], &["--random-weights", "exponential", "--format", "npy"]].concat(), "");
    assert_eq!(
        (outcome.code, outcome.stderr.contains("a .npy file contains only gains")),
        (2, true)
    );
    let solved = run(&["solve", "interference", "--json", "--input", "-"], drawn.stdout.clone());
    let solved = gathered(&solved.stdout);
    let train = |name: &str, flags: &[&str]| {
        let out = path(name);
        let command =
            ["train", "interference", "--scenario", "d2d", "--samples", "20", "--steps", "200"];
        let outcome = run(&[&command[..], flags, &["--train-k", "10", "--out", &out]].concat(), "");
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        out
    };
    let (weighted, without) =
        (train("w.safetensors", &["--random-weights", "log-uniform"]), train("p.safetensors", &[]));
    let allocate =
        |model: &str| run(&["allocate", model, "--json", "--input", "-"], drawn.stdout.clone());
    let learned = allocate(&weighted);
    assert_eq!(learned.code, 0, "{}", learned.stderr);
    let learned = gathered(&learned.stdout);
    for (learned, solved) in
        learned["instances"].as_array().unwrap().iter().zip(solved["instances"].as_array().unwrap())
    {
        let rate = |answer: &Value| answer["weighted_sum_rate_bits"].as_f64().unwrap();
        assert!(rate(learned) > 0.8 * rate(solved), "{learned} {solved}");
    }
    let refused = allocate(&without);
    assert_eq!(refused.code, 2);
    let words = "standard input: instance 0: the model is trained without weights, expected one trained with \
                 `random_weights`";
    assert!(refused.stderr.contains(words), "{}", refused.stderr);
    let outcome = run(&["evaluate", &weighted, "--k", "5,20", "--samples", "3"], "");
    assert!(outcome.stdout.contains("weighted sum rate (bit/s/Hz)"), "{}", outcome.stdout);
}
