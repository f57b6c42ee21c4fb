//! Tests that no training run, evaluation or answer prints or writes NaN or infinity.

#![allow(clippy::unwrap_used)]

use std::fs;

use crate::common::{Outcome, run};

/// Checks that neither output stream contains NaN or infinity.
fn assert_numbers(outcome: &Outcome, what: &str) {
    for text in [&outcome.stdout, &outcome.stderr] {
        let words = text.split(|c: char| !c.is_alphanumeric());
        let found: Vec<&str> = words.filter(|word| ["NaN", "inf"].contains(word)).collect();
        assert!(found.is_empty(), "{what}: {text}");
    }
    assert!(!outcome.stdout.contains("null"), "{what}: {}", outcome.stdout);
}

/// If the budget can serve no user, training stops immediately, reports the missing power, and keeps the old model.
#[test]
fn cells_that_nobody_can_serve_train_no_model() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model").to_str().unwrap().to_owned();
    let old = run(&["train", "qos-power", "--samples", "20", "--out", &model], "");
    assert_eq!(old.code, 0, "{}", old.stderr);
    let old = fs::read(&model).unwrap();
    // Fading gains so small that the whole budget cannot serve one user.
    let weak = folder.path().join("weak.npy").to_str().unwrap().to_owned();
    let mut array = b"\x93NUMPY\x01\0\x76\0".to_vec();
    array.extend(
        format!("{:<117}\n", "{'descr': '<f8', 'fortran_order': False, 'shape': (600,), }").bytes(),
    );
    array.extend((1..=600).flat_map(|i| (1e-9 * f64::from(i)).to_le_bytes()));
    fs::write(&weak, array).unwrap();
    let any = ["--method", "price", "--samples", "50"];
    for flags in [
        &[&any[..], &["--cell-radius-m", "5000"]].concat()[..],
        &[&any[..], &["--max-power-dbm", "-20"]].concat(),
        &[&any[..], &["--noise-density-dbm-hz", "-100"]].concat(),
        &[&any[..], &["--cell-radius-m", "100000"]].concat(),
        &[&any[..], &["--fading", &weak]].concat(),
        &["--method", "p-gnn", "--cell-radius-m", "5000"],
        &["--method", "m-gnn", "--max-power-dbm", "-20"],
    ] {
        for json in [&[][..], &["--json"]] {
            let args = [&["train", "urllc", "--out", &model], flags, json].concat();
            let outcome = run(&args, "");
            assert_eq!(outcome.code, 3, "{flags:?}: {}", outcome.stderr);
            assert!(outcome.stderr.contains("the power budget cannot serve"), "{}", outcome.stderr);
            assert!(outcome.stdout.is_empty());
            assert_numbers(&outcome, &format!("{flags:?}"));
            assert!(fs::read(&model).unwrap() == old, "{flags:?}");
        }
    }
    let told = run(&["train", "urllc", "--out", &model, "--cell-radius-m", "5000"], "").stderr;
    assert!(
        told.contains(" users: the least demanding cell needs ") && told.contains(" W"),
        "{told}"
    );
}

/// Every kind of evaluation reports the sizes that the budget cannot serve.
#[test]
fn sizes_that_nobody_can_serve_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model").to_str().unwrap().to_owned();
    for method in ["m-gnn", "price"] {
        let args = ["train", "urllc", "--method", method, "--samples", "20", "--out", &model];
        assert_eq!(run(&args, "").code, 0);
        for json in [&[][..], &["--json"]] {
            let sizes = ["evaluate", &model, "--k", "20000", "--samples", "2"];
            let outcome = run(&[&sizes[..], json].concat(), "");
            assert_eq!(outcome.code, 2, "{}", outcome.stderr);
            assert!(outcome.stderr.contains("--k is 20000, expected a size"), "{}", outcome.stderr);
            assert_numbers(&outcome, method);
        }
    }
    let sweep =
        run(&["sweep", "-"], "problem = 'urllc'\npolicies = 'optimum'\nk = 20000\nsamples = 2");
    assert_eq!(sweep.code, 0, "{}", sweep.stderr);
    assert_numbers(&sweep, "sweep");
}
