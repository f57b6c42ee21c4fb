//! Model files of version 0.2 still load and give the allocations that version 0.2 gave.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use serde_json::Value;

use crate::common::run;

/// `answers.json` was written by version 0.2, from the models next to it.
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
        for amount in ["power_w", "bandwidth_hz", "power"] {
            let Some(expected) = expected[amount].as_array() else { continue };
            let found = amounts(&answer, amount);
            assert_eq!(found.len(), expected.len(), "{name}: {amount}");
            for (found, expected) in found.iter().zip(expected) {
                let expected = expected.as_f64().unwrap();
                let off = (found - expected).abs();
                assert!(off <= 1e-9 * expected, "{name}: {amount} is {found}, was {expected}");
            }
        }
    }
}

/// The amounts of all users or links, or the one amount of the cell.
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
