//! Tests that model files of version 0.2 still load and give the same allocations as in version 0.2.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use serde_json::Value;

use crate::common::run;

/// Version 0.2 wrote `answers.json` with the models next to it.
#[test]
fn models_of_version_0_2_allocate_as_they_did() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/models-0.2");
    let text = std::fs::read_to_string(folder.join("answers.json")).unwrap();
    let answers: Value = serde_json::from_str(&text).unwrap();
    let models = answers.as_object().unwrap();
    assert_eq!(models.len(), 17);
    for (name, expected) in models {
        let path = |file: &str| folder.join(file).to_str().unwrap().to_owned();
        let (model, input) =
            (path(&format!("{name}.safetensors")), path(expected["input"].as_str().unwrap()));
        let mut arguments = vec!["allocate", &model, "--input", &input, "--json"];
        if name == "urllc-power" {
            arguments.extend(["--max-bandwidth-hz", "2e6"]);
        }
        let outcome = run(&arguments, "");
        assert_eq!(outcome.code, 0, "{name}: {}", outcome.stderr);
        let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
        // The response of `separable` is recomputed from its cost, and is closer to the optimum than in version 0.2.
        let near = if name == "separable" { 0.02 } else { 1e-9 };
        for amount in ["power_w", "bandwidth_hz", "power"] {
            let Some(expected) = expected[amount].as_array() else { continue };
            let found = amounts(&answer, amount);
            assert_eq!(found.len(), expected.len(), "{name}: {amount}");
            for (found, expected) in found.iter().zip(expected) {
                let expected = expected.as_f64().unwrap();
                let off = (found - expected).abs();
                assert!(off <= near * expected, "{name}: {amount} is {found}, was {expected}");
            }
        }
    }
}

/// Returns the amounts of all users or links, or the single amount of the cell.
fn amounts(answer: &Value, name: &str) -> Vec<f64> {
    let cell = answer["instances"].get(0).unwrap_or(answer);
    match (&cell[name], &answer["users"][0][name]) {
        (_, Value::Number(_)) => {
            let users = answer["users"].as_array().unwrap();
            users.iter().map(|user| user[name].as_f64().unwrap()).collect()
        }
        (Value::Array(all), _) => all.iter().map(|value| value.as_f64().unwrap()).collect(),
        (one, _) => vec![one.as_f64().unwrap()],
    }
}

/// P-GNN, M-GNN and FNN depend on K: their models give the largest K of their validation and print a note above it.
#[test]
fn models_state_the_size_up_to_which_they_were_validated() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/models-0.2");
    let path = |name: &str| folder.join(format!("{name}.safetensors")).to_str().unwrap().to_owned();
    let validated = |name: &str| -> Value {
        let outcome = run(&["info", &path(name), "--json"], "");
        let info: Value = serde_json::from_str(&outcome.stdout).unwrap();
        info["validated_k"].clone()
    };
    for name in ["urllc-p-gnn", "urllc-m-gnn", "urllc-fnn", "equal-bandwidth-p-gnn", "qos-power"] {
        assert_eq!(validated(name), 10, "{name}");
    }
    for name in ["urllc-any-gnn", "urllc-power", "separable", "interference-dense"] {
        assert_eq!(validated(name), Value::Null, "{name}");
    }
    let text = run(&["info", &path("urllc-m-gnn")], "").stdout;
    assert!(text.contains("validated up to K = 10"), "{text}");

    let cell = |size: usize| {
        let users: Vec<String> = (0..size).map(|_| r#"{"distance_m":60}"#.to_owned()).collect();
        format!("{{\"users\":[{}]}}\n", users.join(","))
    };
    let note = "the model was validated up to K = 10, not for K = 12";
    let allocate = |name: &str, input: &str| {
        let outcome =
            run(&["allocate", &path(name), "--input", "-", "--json", "--no-check"], input);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome.stderr
    };
    assert_eq!(allocate("urllc-p-gnn", &(cell(1) + &cell(10))), "");
    let told = allocate("urllc-p-gnn", &(cell(1) + &cell(12) + &cell(11) + &cell(12)));
    assert_eq!(told.matches("validated up to").count(), 1, "{told}");
    assert!(told.starts_with("note: ") && told.contains("validated up to K = 10"), "{told}");
    assert_eq!(allocate("urllc-any-gnn", &cell(12)), "");
    let evaluate = |sizes: &str, more: &[&str]| {
        let model = path("urllc-p-gnn");
        let mut arguments = vec!["evaluate", &model, "--k", sizes, "--samples", "1"];
        arguments.extend(more);
        let outcome = run(&arguments, "");
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome.stderr
    };
    assert!(evaluate("2,12,11", &[]).contains(note));
    assert!(evaluate("2,12", &["--problem", "urllc"]).contains(note));
    assert!(!evaluate("2,10", &[]).contains("validated"));
}
