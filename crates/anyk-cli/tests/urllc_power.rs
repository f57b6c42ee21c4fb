//! The least power in a given band, through the real binary.

#![allow(clippy::unwrap_used, clippy::panic)]

use serde_json::Value;

mod common;
use common::run;

const FIVE: &str = include_str!("../../../examples/five-users.json");
const SOLVE: [&str; 4] = ["solve", "urllc-power", "--input", "-"];

fn json(args: &[&str], stdin: &str) -> (i32, Value) {
    let outcome = run(&[args, &["--json"]].concat(), stdin);
    let value = serde_json::from_str(&outcome.stdout);
    (outcome.code, value.unwrap_or_else(|_| panic!("{}", outcome.stderr)))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

/// The least power in the least bandwidth is the power that this was least for.
#[test]
fn it_mirrors_urllc() {
    let (_, least) = json(&["solve", "urllc", "--input", "-"], FIVE);
    let band = least["total_bandwidth_hz"].to_string();
    let (code, answer) = json(&[&SOLVE[..], &["--max-bandwidth-hz", &band]].concat(), FIVE);
    assert_eq!((code, &answer["status"]), (0, &"optimal".into()));
    let near =
        |a: &Value, b: &Value| assert!((number(a) / number(b) - 1.0).abs() < 1e-6, "{a} {b}");
    near(&answer["total_power_w"], &least["total_power_w"]);
    for (mirrored, user) in
        answer["users"].as_array().unwrap().iter().zip(least["users"].as_array().unwrap())
    {
        assert_eq!(mirrored["id"], user["id"]);
        near(&mirrored["power_w"], &user["power_w"]);
        near(&mirrored["bandwidth_hz"], &user["bandwidth_hz"]);
        assert!(number(&mirrored["packet_loss"]) <= 1e-5);
    }
}

#[test]
fn bad_usage_names_the_flag() {
    for (flags, words) in [
        (&[][..], "error: --max-bandwidth-hz is missing, expected the band"),
        (&["--max-bandwidth-hz", "0"], "error: --max-bandwidth-hz is 0, expected a positive"),
        (&["--max-bandwidth-hz", "nan"], "error: --max-bandwidth-hz is nan, expected a positive"),
        (
            &["--max-bandwidth-hz", "1e6", "--max-power-dbm", "1000"],
            "error: --max-power-dbm is 1000, expected a power in dBm from -60 to 100",
        ),
        (&["--max-bandwidth-hz", "1e6", "--epsilon", "2"], "error: --epsilon is 2, expected"),
        (&["--rate-bps", "1e6"], "unexpected argument '--rate-bps'"),
    ] {
        let outcome = run(&[&SOLVE[..], flags].concat(), FIVE);
        assert_eq!(outcome.code, 2, "{flags:?}");
        assert!(outcome.stderr.starts_with("error: ") && outcome.stdout.is_empty());
        assert!(outcome.stderr.contains(words), "{flags:?}: {}", outcome.stderr);
    }
}

#[test]
fn train_evaluate_allocate() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("band.safetensors").to_str().unwrap().to_owned();
    let (code, report) = json(&["train", "urllc-power", "--out", &model], "");
    assert_eq!(code, 0);
    assert!(number(&report["availability"]) >= 1.0, "{report}");
    let evaluate = ["evaluate", &model, "--k", "1,10,200", "--samples", "5"];
    let (_, found) = json(&evaluate, "");
    for size in found["sizes"].as_array().unwrap() {
        assert!(number(&size["availability"]) >= 1.0, "{size}");
        assert!((0.0..1.0).contains(&number(&size["gap_percent"])), "{size}");
    }
    let allocate = ["allocate", &model, "--input", "-"];
    let band = ["--max-bandwidth-hz", "8e5"];
    let (code, learned) = json(&[&allocate[..], &band].concat(), FIVE);
    let (_, exact) = json(&[&SOLVE[..], &band].concat(), FIVE);
    assert_eq!((code, &learned["status"]), (0, &"learned".into()));
    let over = number(&learned["total_power_w"]) / number(&exact["total_power_w"]) - 1.0;
    assert!((-1e-9..0.01).contains(&over), "{over}");
    // What the power cannot serve in the band is refused as by `solve`, and a band that is missing by name.
    let narrow = ["--max-bandwidth-hz", "7e5", "--max-power-dbm", "43"];
    let (code, denied) = json(&[&allocate[..], &narrow].concat(), FIVE);
    assert_eq!((code, denied), json(&[&SOLVE[..], &narrow].concat(), FIVE));
    assert_eq!(code, 3);
    let missing = run(&allocate, FIVE);
    let words = "error: --max-bandwidth-hz is missing";
    assert!(missing.code == 2 && missing.stderr.starts_with(words), "{}", missing.stderr);
    let both = ["--max-bandwidth-hz", "1e6", "--user-bandwidth-hz", "2e5"];
    let both = run(&[&evaluate[..], &both].concat(), "");
    assert!(both.code == 2 && both.stderr.contains("--user-bandwidth-hz"), "{}", both.stderr);
}
