//! Tests of models that are trained from samples of an unknown fading distribution.

#![allow(clippy::unwrap_used)]

use std::fs;

use anyk::exchange::fading_samples_to_npy;
use serde_json::Value;

use crate::common::run;

#[test]
fn from_samples_to_an_allocation() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (samples, held_out, model) = (path("s.npy"), path("held-out.npy"), path("m.safetensors"));
    for (file, seed) in [(&samples, "1"), (&held_out, "2")] {
        let law = ["sample", "fading", "--law", "rician:k=3", "--count", "2000", "--format", "npy"];
        let drawn = run(&[&law[..], &["--seed", seed, "--out", file]].concat(), "");
        assert_eq!(drawn.code, 0, "{}", drawn.stderr);
    }
    for pretraining in ["supervised", "unsupervised"] {
        let method = ["train", "urllc", "--method", "price", "--fading", &samples, "--out", &model];
        let args = [&method[..], &["--pretraining", pretraining]].concat();
        let trained = run(&[&args[..], &["--json"]].concat(), "");
        assert_eq!(trained.code, 0, "{}", trained.stderr);
        let bytes = fs::read(&model).unwrap();
        assert_eq!(run(&args, "").code, 0);
        assert_eq!(fs::read(&model).unwrap(), bytes, "the same command, the same file");

        // With the added standard errors, every user is served with little extra bandwidth.
        let evaluate =
            ["evaluate", &model, "--fading", "rician:k=3", "--k", "1,10,200", "--samples"];
        let measured = run(&[&evaluate[..], &["20", "--json"]].concat(), "");
        let measured: Value = serde_json::from_str(&measured.stdout).unwrap();
        for size in measured["sizes"].as_array().unwrap() {
            assert!(size["availability"].as_f64().unwrap() >= 0.999, "{pretraining}: {size}");
            assert!(size["gap_percent"].as_f64().unwrap() < 2.0, "{pretraining}: {size}");
        }
    }
    // The model does not contain the distribution, so evaluation needs a distribution or samples.
    let unknown = run(&["evaluate", &model], "");
    assert_eq!(unknown.code, 2);
    let words = "--fading is missing, expected a fading distribution, or held-out samples";
    assert!(unknown.stderr.contains(words), "{}", unknown.stderr);
    let users = run(&["sample", "urllc", "--k", "5"], "").stdout;
    let allocate = ["allocate", &model, "--input", "-"];
    let json = |flags: &[&str], users: &str| -> Value {
        let outcome = run(&[&allocate[..], &["--json"], flags].concat(), users);
        serde_json::from_str(&outcome.stdout).unwrap()
    };
    let answer = json(&["--fading", &held_out], &users);
    assert_eq!(answer["status"], "learned");
    assert!((answer["total_power_w"].as_f64().unwrap() / 19.9526 - 1.0).abs() < 1e-5);
    assert!(answer["users"][0]["packet_loss"].as_f64().unwrap() < 1e-4);
    // Without a distribution, the answer has no packet losses, and is otherwise unchanged.
    let unjudged = json(&[], &users);
    assert_eq!(unjudged["total_bandwidth_hz"], answer["total_bandwidth_hz"]);
    assert!(unjudged["users"][0].get("packet_loss").is_none());
    assert!(unjudged.get("availability").is_none() && unjudged["duality_gap"].is_null());
    assert_eq!(unjudged["in_distribution"], true);
    let text = run(&allocate, users.clone());
    assert!(text.stdout.contains("the fading distribution is unknown"), "{}", text.stdout);
    // Certificates need a distribution; samples are not enough.
    assert_eq!(json(&["--certify", "--fading", "rician:k=3"], &users)["certified"], true);
    let given = format!("--fading is {held_out}, expected");
    for (flags, words) in [
        (&["--certify"][..], "--fading is missing, expected"),
        (&["--certify", "--fading", &held_out], given.as_str()),
    ] {
        let refused = run(&[&allocate[..], flags].concat(), users.clone());
        assert_eq!(refused.code, 2);
        for word in [words, "a fading distribution with `certify`"] {
            assert!(refused.stderr.contains(word), "{}", refused.stderr);
        }
    }
    // With too little power, the answer is infeasible and allocates for the users that can be served.
    let denied =
        json(&["--max-power-dbm", "10"], &run(&["sample", "urllc", "--k", "40"], "").stdout);
    assert_eq!(denied["status"], "infeasible");
    let count = denied["admissible_count"].as_u64().unwrap();
    assert!((1..40).contains(&count), "{denied}");
    assert_eq!(denied["admissible"]["users"].as_array().unwrap().len() as u64, count);
    // A service class that the model was not trained for.
    let strict = r#"{"users":[{"id":"a","distance_m":60.0,"epsilon":1e-6}]}"#;
    let refused = run(&allocate, strict);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("samples of fading"), "{}", refused.stderr);
    // The report names the distribution of the calibration.
    let calibrated = path("calibrated.safetensors");
    let calibrate = ["calibrate", &model, "--k", "10", "--beta", "0.01", "--cells", "299"];
    let fading = ["--fading", "rician:k=3", "--shrink", "--out", &calibrated];
    let said = run(&[&calibrate[..], &fading[..]].concat(), "");
    assert!(said.stdout.contains("under rician:k=3"), "{}{}", said.stdout, said.stderr);
    assert_eq!(run(&[&calibrate[..], &["--out", &calibrated]].concat(), "").code, 2);
    // A damaged model is rejected.
    let mut bytes = fs::read(&model).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&model, bytes).unwrap();
    assert_eq!(run(&["evaluate", &model, "--fading", "rayleigh"], "").code, 2);
}

#[test]
fn hostile_samples_and_flags_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, model) = (path("samples.npy"), path("m.safetensors"));
    let good = vec![1.0; 600];
    let with = |value: f64| {
        let mut samples = good.clone();
        samples[7] = value;
        fading_samples_to_npy(&samples)
    };
    let whole = fading_samples_to_npy(&good);
    let short = |bytes: &[u8]| bytes[..bytes.len() - 8].to_vec();
    let cases = [
        (with(-1.0), "sample 7 is -1"),
        (with(f64::NAN), "sample 7 is NaN"),
        (with(0.0), "sample 7 is 0"),
        (with(f64::INFINITY), "sample 7 is inf"),
        (fading_samples_to_npy(&[]), "the number of samples of the gain is 0, expected"),
        (fading_samples_to_npy(&good[..499]), "the number of samples of the gain is 499, expected"),
        (short(&whole), "bytes, but 4792 follow the header"),
        (Vec::new(), "the file is empty"),
        (b"[1, 2, 3]".to_vec(), "is not a NumPy array"),
        (b"\x93NUMPY\x01\x00\xff\xff".to_vec(), "longer than the file"),
    ];
    for (bytes, message) in cases {
        fs::write(&file, bytes).unwrap();
        let refused = run(&["train", "urllc", "--fading", &file, "--out", &model], "");
        assert_eq!(refused.code, 2, "{message}");
        assert!(refused.stderr.contains(message), "{message}: {}", refused.stderr);
    }
    // A gain matrix has two axes.
    let dense =
        ["sample", "interference", "--k", "30", "--format", "npy", "--out", &file, "--force"];
    assert_eq!(run(&dense, "").code, 0);
    let refused = run(&["train", "urllc", "--fading", &file, "--out", &model], "");
    assert!(refused.stderr.contains("expected one axis"), "{}", refused.stderr);
    assert!(!fs::exists(&model).unwrap());
    let train = |flags: &[&'static str]| -> Vec<String> {
        let args = [&["train", "urllc", "--out", &model], flags].concat();
        args.into_iter().map(str::to_owned).collect()
    };
    let fading = |flags: &[&'static str]| {
        [train(&["--fading"]), vec![file.clone()], {
            flags.iter().map(|&flag| flag.to_owned()).collect()
        }]
        .concat()
    };
    let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
    for (args, word) in [
        (words("sample fading --law rice:k=3"), "rician"),
        (words("sample fading --law rician:k=3 --k 10"), "unexpected argument '--k'"),
        (words("sample fading --law rician:k=3 --epsilon 1e-5"), "unexpected argument '--epsilon'"),
        (words("sample fading --law rician:k=3 --format csv"), "json, npy"),
        (words("sample fading"), "--law"),
        (words("sample"), "Problems"),
        (fading(&["--method", "p-gnn"]), "--fading does not apply to p-gnn"),
        (fading(&["--deviations", "-1"]), "--deviations is -1, expected a number from 0 to 100"),
        (train(&["--deviations", "3"]), "--deviations does not apply to p-gnn"),
        (
            words("train qos-power --fading samples.npy --out never.safetensors"),
            "unexpected argument '--fading'",
        ),
    ] {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let refused = run(&args, "");
        assert_eq!(refused.code, 2, "{args:?}");
        assert!(refused.stderr.contains(word), "{args:?}: {}", refused.stderr);
    }
    // Users are the same in a file and on standard output.
    let users = path("users.json");
    assert_eq!(run(&["sample", "urllc", "--k", "3", "--out", &users], "").code, 0);
    let printed = run(&["sample", "urllc", "--k", "3"], "").stdout;
    assert_eq!(fs::read_to_string(&users).unwrap(), printed);
}
