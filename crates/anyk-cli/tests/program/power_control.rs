//! Tests of learned powers: train, evaluate, allocate, and rejected input.

#![allow(clippy::unwrap_used, clippy::panic)]

use serde_json::Value;

use crate::common::{anyk, gathered, run};

const FOUR: &str = include_str!("../../../../examples/four-links.json");

fn json(args: &[&str], stdin: impl Into<Vec<u8>>) -> Value {
    let outcome = run(args, stdin);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    gathered(&outcome.stdout)
}

#[test]
fn train_evaluate_allocate() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (ranked, priced) = (path("ranked.safetensors"), path("priced.safetensors"));
    let quick = ["--json", "--samples", "500", "--steps", "600", "--out"];
    let train = ["train", "link-scheduling"];
    let report = json(&[&train[..], &quick, &[&ranked]].concat(), "");
    assert_eq!(report["training"]["train_k"], 10);
    assert_eq!(report["output"]["ranked"]["passes"], 5);
    let train = ["train", "interference", "--scenario", "d2d", "--train-k", "20"];
    let report = json(&[&train[..], &quick, &[&priced]].concat(), "");
    assert_eq!(report["output"]["priced"]["steps"], 1);
    assert!(report["sum_rate_percent"].as_f64().unwrap() > 90.0, "{report}");

    let found = json(&["evaluate", &ranked, "--k", "1,10,30", "--samples", "20", "--json"], "");
    assert_eq!((&found["scenario"], &found["output"]), (&"dense".into(), &"ranked".into()));
    for size in found["sizes"].as_array().unwrap() {
        assert!(size["sum_rate_percent"].as_f64().unwrap() > 95.0, "{size}");
        if let Some(best) = size["exact_percent"].as_f64() {
            assert!(size["sum_rate_percent"].as_f64().unwrap() <= best * (1.0 + 1e-9));
        }
    }
    let table = run(&["evaluate", &priced, "--k", "5,20", "--samples", "4"], "");
    assert!(table.code == 0 && table.stdout.contains("of WMMSE (%)"), "{}", table.stderr);

    // The output has the format of `solve` and does not depend on the number of cores.
    let networks =
        run(&["sample", "interference", "--scenario", "d2d", "--k", "7", "--count", "3"], "")
            .stdout;
    let answer = json(&["allocate", &priced, "--input", "-", "--json"], networks.clone());
    let instances = answer["instances"].as_array().unwrap();
    assert_eq!(instances.len(), 3);
    for instance in instances {
        assert_eq!(instance["status"], "learned");
        let power: Vec<f64> = serde_json::from_value(instance["power"].clone()).unwrap();
        assert!(power.len() == 7 && power.iter().all(|power| (0.0..=1.0).contains(power)));
    }
    let allocate = ["allocate", &priced, "--input", "-", "--json"];
    let one = anyk().env("RAYON_NUM_THREADS", "1").args(allocate).write_stdin(networks).output();
    assert_eq!(gathered(&String::from_utf8(one.unwrap().stdout).unwrap()), answer);
    let flags = ["allocate", &ranked, "--input", "-", "--p-max", "10", "--json"];
    let best = ["solve", "link-scheduling", "--method", "exact", "--input", "-"];
    let best = json(&[&best[..], &["--p-max", "10", "--json"]].concat(), FOUR);
    let rate = |answer: &Value| answer["instances"][0]["sum_rate_bits"].as_f64().unwrap();
    let learned = json(&flags, FOUR);
    assert!(rate(&learned) <= rate(&best) * (1.0 + 1e-12));
    assert_eq!(learned["instances"][0]["binary"], true);
    // A network of one link, and an empty list.
    let alone = json(&["allocate", &ranked, "--input", "-", "--json"], "[[0.5]]");
    assert_eq!(alone["instances"][0]["power"], serde_json::json!([1.0]));
    assert_eq!(run(&["allocate", &ranked, "--input", "-"], "[]").code, 2);
}

#[test]
fn flags_that_mean_nothing_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let never = folder.path().join("never.safetensors");
    for (args, words) in [
        (&["interference", "--epsilon-d", "1e-6"][..], ["unexpected argument", "'--epsilon-d'"]),
        (&["interference", "--max-power-dbm", "40"], ["unexpected argument", "'--max-power-dbm'"]),
        (
            &["interference", "--output", "softmax"],
            ["invalid value 'softmax' for '--output", "sigmoid, classifier, ranked, priced"],
        ),
        (&["interference", "--train-k", "5,10"], ["--train-k is 5,10", "expected one size"]),
        (&["interference", "--train-k", "2000"], ["--train-k is 2000", "1 to 1000 links"]),
        (&["interference", "--hidden", "7"], ["--hidden is 7", "8, 16 or 32"]),
        (&["interference", "--rounds", "0"], ["--rounds is 0", "1 to 16"]),
        (
            &["link-scheduling", "--output", "sigmoid"],
            ["invalid value 'sigmoid' for '--output", "classifier, ranked"],
        ),
        (&["urllc", "--scenario", "d2d"], ["unexpected argument", "'--scenario'"]),
        (&["qos-power", "--rounds", "2"], ["unexpected argument", "'--rounds'"]),
        (
            &["equal-bandwidth", "--output", "ranked"],
            ["invalid value 'ranked' for '--output", "softmax, sum-normalisation"],
        ),
    ] {
        let outcome = run(&[&["train"], args, &["--out", never.to_str().unwrap()]].concat(), "");
        assert_eq!(outcome.code, 2, "{args:?}");
        for word in words {
            assert!(outcome.stderr.contains(word), "{args:?}: {}", outcome.stderr);
        }
        assert!(!never.exists());
    }
}
