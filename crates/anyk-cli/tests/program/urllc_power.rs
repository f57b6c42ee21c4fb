//! Tests of minimum power in a fixed band.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::run;
use serde_json::Value;

const FIVE: &str = include_str!("../../../../examples/five-users.json");
const MIXED: &str = include_str!("../../../../examples/mixed.csv");

fn json(args: &[&str], stdin: &str) -> (i32, Value) {
    let outcome = run(args, stdin);
    let value = serde_json::from_str(&outcome.stdout);
    (outcome.code, value.unwrap_or_else(|_| panic!("{}", outcome.stderr)))
}

#[test]
fn trains_evaluates_and_allocates() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("band.safetensors").to_str().unwrap().to_owned();
    let outcome = run(&["train", "urllc-power", "--seed", "4", "--out", &model], "");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    for band in [["--user-bandwidth-hz", "2e5"], ["--max-bandwidth-hz", "30e6"]] {
        let args = ["evaluate", &model, "--k", "1,10,100", "--samples", "5", "--json"];
        let (_, evaluation) = json(&[&args, &band[..]].concat(), "");
        for size in evaluation["sizes"].as_array().unwrap() {
            assert!(size["availability"].as_f64() >= Some(1.0), "{size}");
            assert!(size["band_kept"].as_f64() >= Some(1.0), "{size}");
            assert!(size["gap_percent"].as_f64() < Some(0.1), "{size}");
            assert!(size["gap_percent"].as_f64() > Some(-1e-6), "{size}");
        }
    }
    let band = ["--max-bandwidth-hz", "1e6", "--input", "-", "--json"];
    let (code, learned) = json(&[&["allocate", &model], &band[..]].concat(), FIVE);
    assert_eq!((code, learned["status"].as_str()), (0, Some("learned")));
    let (_, exact) = json(&[&["solve", "urllc-power"], &band[..]].concat(), FIVE);
    assert_eq!(exact["status"].as_str(), Some("optimal"));
    let power_w = |answer: &Value| answer["total_power_w"].as_f64().unwrap();
    assert!((power_w(&learned) / power_w(&exact) - 1.0).abs() < 1e-3);
    // With too little power, `allocate` gives the answer and the exit code of `solve`.
    let tight = [&["allocate", &model], &band[..], &["--max-power-dbm", "15"]].concat();
    let (code, denied) = json(&tight, FIVE);
    assert_eq!((code, denied["status"].as_str()), (3, Some("infeasible")));
    // An option that does not apply is rejected with the name of the problem.
    let outcome = run(&["evaluate", &model, "--fading", "rayleigh"], "");
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("--fading") && outcome.stderr.contains("urllc-power"));
}

#[test]
fn two_budgets_and_mixed_classes() {
    let band = ["solve", "urllc-power", "--max-bandwidth-hz", "6e5", "--input", "-", "--json"];
    let (code, free) = json(&band, MIXED);
    assert_eq!(code, 0);
    let power_w = free["total_power_w"].as_f64().unwrap();
    let dbm = |power_w: f64| (10.0 * power_w.log10() + 30.0).to_string();
    let (enough, little) = (dbm(1.001 * power_w), dbm(0.5 * power_w));
    let (code, fits) = json(&[&band[..], &["--max-power-dbm", &enough]].concat(), MIXED);
    assert_eq!((code, fits["status"].as_str()), (0, Some("optimal")));
    let (code, denied) = json(&[&band[..], &["--max-power-dbm", &little]].concat(), MIXED);
    assert_eq!(code, 3);
    let count = |field: &str| denied[field].as_u64().unwrap();
    assert!(count("admissible_count") < 4);
    assert!(count("admissible_count") <= count("admissible_at_most"));
    assert!((denied["required_power_w"].as_f64().unwrap() / power_w - 1.0).abs() < 1e-9);
    assert_eq!(denied["admissible"]["status"].as_str(), Some("optimal"));
}

#[test]
fn bad_budgets_are_named() {
    for (flags, says) in [
        (&["--max-bandwidth-hz", "-5"][..], "--max-bandwidth-hz is -5, expected a positive number"),
        (&["--max-bandwidth-hz", "nan"], "--max-bandwidth-hz is nan, expected a positive number"),
        (&["--max-bandwidth-hz", "1e99"], "--max-bandwidth-hz is 1e99, expected"),
        (
            &["--max-bandwidth-hz", "1e6", "--max-power-dbm", "1000"],
            "--max-power-dbm is 1000, expected a power in dBm from -60 to 100",
        ),
        (
            &["--max-bandwidth-hz", "1e6", "--rate-bps", "1"],
            "unexpected argument '--rate-bps' found",
        ),
    ] {
        let outcome = run(&[&["solve", "urllc-power", "--input", "-"], flags].concat(), FIVE);
        assert_eq!(outcome.code, 2, "{flags:?}");
        // The error names the flag and not the input.
        let says = format!("error: {says}");
        assert!(outcome.stderr.starts_with(&says), "{flags:?}: {}", outcome.stderr);
        assert!(outcome.stdout.is_empty());
    }
    // The input may contain the bandwidth budget.
    let outcome = run(&["solve", "urllc-power", "--input", "-"], FIVE);
    let says = "max_bandwidth_hz is missing, expected the band of all users in Hz, as an option or in the data";
    assert!(outcome.code == 2 && outcome.stderr.contains(says), "{}", outcome.stderr);
    let within = FIVE.replacen('{', "{\"max_bandwidth_hz\":1e6,", 1);
    let outcome = run(&["solve", "urllc-power", "--json", "--input", "-"], within);
    assert!(outcome.stdout.contains("\"max_bandwidth_hz\":1000000.0"), "{}", outcome.stderr);
}

/// The minimum power in the minimum bandwidth is the power budget for which that bandwidth is the minimum.
#[test]
fn it_mirrors_urllc() {
    let (_, least) = json(&["solve", "urllc", "--input", "-", "--json"], FIVE);
    let band = least["total_bandwidth_hz"].to_string();
    let solve = ["solve", "urllc-power", "--max-bandwidth-hz", &band, "--input", "-", "--json"];
    let (code, answer) = json(&solve, FIVE);
    assert_eq!((code, answer["status"].as_str()), (0, Some("optimal")));
    let near = |a: &Value, b: &Value| {
        let ratio = a.as_f64().unwrap() / b.as_f64().unwrap();
        assert!((ratio - 1.0).abs() < 1e-6, "{a} {b}");
    };
    near(&answer["total_power_w"], &least["total_power_w"]);
    let users = |answer: &Value| answer["users"].as_array().unwrap().clone();
    for (mirrored, user) in users(&answer).iter().zip(&users(&least)) {
        assert_eq!(mirrored["id"], user["id"]);
        near(&mirrored["power_w"], &user["power_w"]);
        near(&mirrored["bandwidth_hz"], &user["bandwidth_hz"]);
        assert!(mirrored["packet_loss"].as_f64().unwrap() <= 1e-5);
    }
}
