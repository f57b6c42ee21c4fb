//! Tests of `anyk diagnose`.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs;

use crate::common::run;
use serde_json::Value;

/// Samples of a policy that falls as 1/K, `y = (1 + x)/K`, with evenly spaced x.
fn samples(instances: bool) -> String {
    let mut text = String::from(if instances { "k,x,y,instance\n" } else { "k,x,y\n" });
    for k in [2u32, 4, 8, 16, 32, 64] {
        for row in 0..640 {
            let x = f64::from((row * 37) % 640) / 640.0;
            write!(text, "{k},{x},{}", (1.0 + x) / f64::from(k)).unwrap();
            if instances {
                write!(text, ",{}", row / k).unwrap();
            }
            text.push('\n');
        }
    }
    text
}

#[test]
fn a_policy_is_diagnosed_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let args = ["diagnose", "--policy", "urllc-bandwidth", "--users", "1000", "--no-check"];
    let answer = run(&[&args[..], &["--out", out.to_str().unwrap()]].concat(), "");
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    for part in ["equivariant       yes", "size-invariant    no", "pre-trained activation"] {
        assert!(answer.stdout.contains(part), "{part}: {}", answer.stdout);
    }
    for name in ["policy.csv", "policy.svg", "policy.md", "networks.svg", "report.html"] {
        let text = fs::read_to_string(out.join(name)).unwrap();
        assert!(!text.contains("NaN") && !text.contains("inf,"), "{name}");
    }
}

#[test]
fn samples_are_diagnosed_as_json() {
    let answer = run(&["diagnose", "--samples", "-", "--json"], samples(true));
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let found: Value = serde_json::from_str(&answer.stdout).unwrap();
    let exponent = found["diagnosis"]["exponent"]["value"].as_f64().unwrap();
    assert!((exponent + 1.0).abs() < 0.02, "{exponent}");
    let chosen = usize::try_from(found["recommendation"]["chosen"].as_u64().unwrap()).unwrap();
    assert_eq!(found["recommendation"]["candidates"][chosen]["output"], "softmax");
    let predictions = found["predictions"].as_array().unwrap();
    assert_eq!(predictions.len(), 4);
    // A size-invariant network that is trained at K = 16 gives four times too much at K = 64.
    let number = |name: &str| predictions[0][name].as_f64().unwrap();
    assert!((number("predicted_percent") / 300.0 - 1.0).abs() < 0.1, "{}", predictions[0]);
    assert!((number("measured_percent") / 300.0 - 1.0).abs() < 0.1, "{}", predictions[0]);
    let range = number("low_percent")..=number("high_percent");
    assert!(range.contains(&number("predicted_percent")), "{}", predictions[0]);
    let text = run(&["diagnose", "--samples", "-"], samples(true)).stdout;
    assert!(text.contains("range (%)"), "{text}");
    let answer = run(&["diagnose", "--samples", "-", "--no-check"], samples(false));
    assert!(answer.stdout.contains("samples without instances"), "{}", answer.stdout);
}

#[test]
fn the_price_layer_is_fitted_next_to_the_other_networks() {
    let args = ["diagnose", "--policy", "urllc-power", "--users", "4000"];
    let answer = run(&[&args[..], &["--json"]].concat(), "");
    let found: Value = serde_json::from_str(&answer.stdout).unwrap();
    let candidates = found["recommendation"]["candidates"].as_array().unwrap();
    let chosen = usize::try_from(found["recommendation"]["chosen"].as_u64().unwrap()).unwrap();
    let chosen = &candidates[chosen];
    assert_eq!((&chosen["output"], &chosen["aggregator"]), (&"price".into(), &Value::Null));
    let fits = found["predictions"].as_array().unwrap();
    let loss = |place: usize| fits[place]["with_law_percent"].as_f64().unwrap();
    assert_eq!((fits.len(), &fits[1]["output"]), (5, &"softmax".into()));
    assert!(loss(4) < 0.5 * loss(1), "{fits:?}");
    let text = run(&args, "").stdout;
    assert!(text.contains("recommended       price layer\n"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("price layer ")).count(), 2, "{text}");
}

#[test]
fn a_model_is_diagnosed() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("power.safetensors");
    let path = model.to_str().unwrap();
    run(&["train", "qos-power", "--samples", "50", "--out", path], "");
    let quick = ["--users", "1000", "--no-check", "--k", "2,5,10,20,40"];
    let answer = run(&[&["diagnose", path], &quick[..]].concat(), "");
    assert!(answer.stdout.contains("size-invariant    yes"), "{}", answer.stdout);
    let answer = run(&[&["diagnose", path, "--quantity", "bandwidth"], &quick[..]].concat(), "");
    assert_eq!(answer.code, 2);
    assert!(answer.stderr.contains("--quantity is bandwidth, expected power"), "{}", answer.stderr);
}

#[test]
fn bad_input_is_exit_code_2() {
    let refused = |args: &[&str], stdin: &[u8], part: &str| {
        let answer = run(&[&["diagnose"], args].concat(), stdin);
        assert_eq!(answer.code, 2, "{args:?}");
        assert!(answer.stderr.contains(part), "{part}: {}", answer.stderr);
    };
    refused(&[], b"", "required");
    refused(&["--policy", "urllc-power", "--samples", "-"], b"", "cannot be used with");
    refused(&["--samples", "-"], b"", "the file is empty");
    refused(&["--samples", "-"], b"k,x\n2,1\n", "the column y is missing");
    refused(&["--samples", "-"], b"k,x,y\n2,1,nan\n", "line 2: y is \"nan\", expected a finite");
    refused(
        &["--samples", "-"],
        b"k,x,y\n2,1,1\n",
        "the number of sizes k is 1, expected at least 2",
    );
    refused(
        &["--samples", "-"],
        b"k,x,y\n2,1,1\n3,1,1\n",
        "the number of samples with k = 2 is 1, expected",
    );
    refused(&["--samples", "-"], b"PAR1....", "this is a Parquet file, expected CSV with");
    refused(
        &["--samples", "-"],
        b"PK\x03\x04....",
        "this is an archive (.npz, .zip), expected CSV with",
    );
    refused(&["--samples", "-", "--epsilon", "1e-6"], b"k,x,y\n", "--epsilon");
    refused(&["nowhere.safetensors"], b"", "cannot read");
    refused(&["--policy", "urllc-power", "--users", "7"], b"", "from 100 to 10000000");
    refused(&["--policy", "urllc-power", "--k", "10"], b"", "expected at least 2");
}
