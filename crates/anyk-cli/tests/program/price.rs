//! Tests of the price policy and of certified answers.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::run;
use serde_json::Value;

const FIVE: &str = include_str!("../../../../examples/five-users.json");
const MIXED: &str = include_str!("../../../../examples/mixed.csv");

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

fn json(args: &[&str], stdin: &str) -> (i32, Value) {
    let outcome = run(args, stdin);
    let value = serde_json::from_str(&outcome.stdout);
    (outcome.code, value.unwrap_or_else(|_| panic!("{}", outcome.stderr)))
}

/// Trains a model in a new folder.
fn trained(flags: &[&str]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model.safetensors").to_str().unwrap().to_owned();
    let outcome = run(&[&["train", "urllc", "--out", &model], flags].concat(), "");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    (folder, model)
}

#[test]
fn trains_evaluates_and_allocates() {
    let (_folder, model) = trained(&["--method", "price", "--seed", "3"]);
    let sizes = ["--k", "1,10,300", "--samples", "5", "--json"];
    let (_, evaluation) = json(&[&["evaluate", &model], &sizes[..]].concat(), "");
    for size in evaluation["sizes"].as_array().unwrap() {
        assert!(number(&size["availability"]) >= 1.0 && number(&size["gap_percent"]) < 0.002);
    }
    // A cell with half the power.
    let other = run(&["evaluate", &model, "--k", "10", "--max-power-dbm", "40"], "");
    assert!(other.stdout.contains("1.0000"), "{}", other.stderr);

    let allocate = ["allocate", &model, "--input", "-"];
    let (code, answer) = json(&[&allocate[..], &["--json", "--certify"]].concat(), FIVE);
    assert_eq!((code, &answer["status"]), (0, &Value::from("learned")));
    assert_eq!(answer["certified"], true);
    assert_eq!((&answer["raised_users"], &answer["in_distribution"]), (&0.into(), &true.into()));
    for user in answer["users"].as_array().unwrap() {
        assert_eq!(user["certified"], true);
        assert!(number(&user["packet_loss"]) < 1e-5);
    }
    assert!((number(&answer["total_power_w"]) / 19.952_623_149_688_8 - 1.0).abs() < 1e-12);
    assert!(number(&answer["duality_gap"]) < 1e-4);
    // Users with their own service classes are served and certified; a class outside the training range is reported.
    let (_, mixed) = json(&[&allocate[..], &["--json", "--certify"]].concat(), MIXED);
    assert_eq!((&mixed["certified"], &mixed["in_distribution"]), (&true.into(), &true.into()));
    let large = MIXED.replace("1024", "4096");
    let (_, mixed) = json(&[&allocate[..], &["--json", "--certify"]].concat(), &large);
    assert_eq!((&mixed["certified"], &mixed["in_distribution"]), (&true.into(), &false.into()));
    assert_eq!(mixed["out_of_range"][0], "packet_bits 4096.00, trained 80.00 to 1600.00");
    let text = run(&[&allocate[..], &["--certify"]].concat(), large).stdout;
    assert!(text.contains("certified by quadrature: every user; 0.0 Hz added to 0 users"));
    assert!(text.contains("outside the training range: packet_bits 4096.00"));
    assert!(text.contains("train a model with these values (`anyk train urllc`)"), "{text}");
}

/// The names of version 0.2 are accepted but not shown.
#[test]
fn former_names_are_understood() {
    let (_folder, model) = trained(&["--method", "any-gnn", "--samples", "50"]);
    let (_, info) = json(&["info", &model, "--json"], "");
    assert_eq!(info["method"], "price");
    for page in [&["train", "urllc", "--help"][..], &["reproduce", "--help"], &["--help"]] {
        let outcome = run(page, "");
        assert!(outcome.code == 0 && !outcome.stdout.contains("any-gnn"), "{}", outcome.stdout);
    }
    let refused = run(&["train", "urllc", "--method", "x", "--out", &model], "");
    assert!(refused.stderr.contains("price") && !refused.stderr.contains("any-gnn"));
}

#[test]
fn too_small_a_budget_is_refused_as_solve_does() {
    let (_folder, model) = trained(&["--method", "price", "--samples", "50"]);
    let budget = ["--max-power-dbm", "9", "--input", "-", "--json"];
    let (code, denied) = json(&[&["allocate", &model], &budget[..]].concat(), FIVE);
    let (exact, solved) = json(&[&["solve", "urllc"], &budget[..]].concat(), FIVE);
    assert_eq!((code, exact), (3, 3));
    assert_eq!(denied, solved);
    assert!(number(&denied["admissible_count"]) >= 1.0);
}

#[test]
fn certifies_what_other_networks_say() {
    // A nearly untrained model gives far too little or far too much bandwidth.
    let (_folder, model) =
        trained(&["--method", "m-gnn", "--samples", "20", "--epsilon-d", "5e-2"]);
    let allocate = ["allocate", &model, "--input", "-", "--json"];
    let (_, before) = json(&allocate, FIVE);
    assert!(before.get("certified").is_none() && before["users"][0].get("certified").is_none());
    let (code, after) = json(&[&allocate[..], &["--certify"]].concat(), FIVE);
    assert_eq!((code, &after["certified"]), (0, &true.into()));
    assert!(number(&after["raised_users"]) >= 1.0);
    let added_hz = number(&after["added_bandwidth_hz"]);
    let total = |answer: &Value| number(&answer["total_bandwidth_hz"]);
    assert!((total(&after) - total(&before) - added_hz).abs() < 1e-6 * total(&after));
    // Users whose bandwidth was raised have a loss just below their target.
    let rows = before["users"].as_array().unwrap().iter().zip(after["users"].as_array().unwrap());
    for (before, after) in rows {
        let loss = number(&after["packet_loss"]);
        assert!(loss < 1e-5 && number(&after["power_w"]) > 0.0);
        if number(&after["bandwidth_hz"]) > number(&before["bandwidth_hz"]) {
            assert!(loss > 0.999e-5, "{loss}");
        }
    }
    // More users than the budget can serve.
    let crowd = run(&["sample", "urllc", "--k", "12000"], "").stdout;
    let refused = run(&[&allocate[..], &["--certify"]].concat(), crowd);
    assert_eq!(refused.code, 3);
    // The cell of the model cannot be changed.
    let moved = run(&[&allocate[..], &["--antennas", "4"]].concat(), FIVE);
    assert_eq!(moved.code, 2);
    let why = "a model for urllc (m-gnn), which works only in the cell that it was trained for";
    for word in ["--antennas does not apply to", "model.safetensors", why] {
        assert!(moved.stderr.contains(word), "{}", moved.stderr);
    }
}

#[test]
fn flags_without_a_meaning_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let never = path("never.safetensors");
    let any = "does not apply to price; remove it";
    for (flags, words) in [
        (&["urllc", "--method", "price", "--epsilon-d", "5e-6"][..], ["--epsilon-d", any]),
        (&["urllc", "--method", "price", "--preset", "paper"], ["--preset", any]),
        (&["urllc", "--method", "price", "--aggregator", "sum"], ["--aggregator", any]),
        (
            &["urllc", "--method", "price", "--output", "softmax"],
            ["unexpected argument '--output'", "Usage"],
        ),
        (
            &["urllc", "--method", "price", "--rate-bps", "1e5"],
            ["unexpected argument '--rate-bps'", "Usage"],
        ),
        (
            &["urllc", "--method", "p-gnn", "--fading", "g.npy"],
            ["--fading", "does not apply to p-gnn"],
        ),
        (&["qos-power", "--method", "price"], ["unexpected argument '--method'", "Usage"]),
        (
            &["equal-bandwidth", "--method", "price"],
            ["invalid value 'price' for '--method", "p-gnn, m-gnn"],
        ),
        (
            &["urllc", "--method", "price", "--samples", "0"],
            ["--samples is 0", "expected a whole number from 1"],
        ),
    ] {
        let outcome = run(&[&["train"], flags, &["--out", &never]].concat(), "");
        assert_eq!(outcome.code, 2, "{flags:?}");
        for word in words {
            assert!(outcome.stderr.contains(word), "{word:?} not in {}", outcome.stderr);
        }
        assert!(!std::fs::exists(&never).unwrap());
    }
    let model = path("closed.safetensors");
    let args = ["train", "qos-power", "--samples", "20", "--out", &model];
    assert_eq!(run(&args, "").code, 0);
    let outcome = run(&["allocate", &model, "--input", "-", "--certify"], FIVE);
    assert_eq!(outcome.code, 2);
    let why = "a model for qos-power (m-gnn); remove it";
    for word in ["--certify does not apply to", "closed.safetensors", why] {
        assert!(outcome.stderr.contains(word), "{}", outcome.stderr);
    }
}
