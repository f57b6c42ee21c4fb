//! Tests of the problem separable, with built-in and user-defined costs.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::run;
use serde_json::Value;

const FIVE: &str = include_str!("../../../../examples/five-users.json");

fn json(args: &[&str], stdin: &str) -> (i32, Value) {
    let outcome = run(args, stdin);
    let value = serde_json::from_str(&outcome.stdout);
    (outcome.code, value.unwrap_or_else(|_| panic!("{}", outcome.stderr)))
}

fn powers(answer: &Value) -> Vec<f64> {
    let users = answer["users"].as_array().unwrap();
    users.iter().map(|user| user["power_w"].as_f64().unwrap()).collect()
}

/// Weak users get no power if there is little; samples of the same cost give the same answer.
#[test]
fn water_filling_by_name_and_by_samples() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cost.csv").to_str().unwrap().to_owned();
    let mut text = "u,c\n".to_owned();
    for i in 0..=2000 {
        let u = 1e3 * (f64::from(i) / 2000.0).powi(3);
        text.push_str(&format!("{u},{}\n", -u.ln_1p()));
    }
    std::fs::write(&file, text).unwrap();
    let solve = |cost: &str| {
        let args = ["solve", "separable", "--max-power-dbm", "0", "--input", "-", "--json"];
        let (code, answer) = json(&[&args, &["--cost", cost][..]].concat(), FIVE);
        assert_eq!((code, answer["status"].as_str()), (0, Some("optimal")), "{answer}");
        answer
    };
    let (named, sampled) = (solve("log1p"), solve(&file));
    assert!(powers(&named).iter().any(|power_w| *power_w <= 0.0), "{named}");
    // The water level 1/α_k + x_k is equal for all users with power, and is 1/price.
    for user in named["users"].as_array().unwrap() {
        let [power_w, snr] = ["power_w", "snr"].map(|field| user[field].as_f64().unwrap());
        if power_w > 0.0 {
            let level = power_w + power_w / snr;
            assert!((level * named["price"].as_f64().unwrap() - 1.0).abs() < 1e-8, "{user}");
        }
    }
    for (a, b) in powers(&named).iter().zip(powers(&sampled)) {
        assert!((a - b).abs() < 1e-3 * 1e-3, "{a} {b}");
    }
    // Equal powers are worse than the optimum, even if costs are negative.
    let given = folder.path().join("equal.csv").to_str().unwrap().to_owned();
    let rows = ["near", "bridge", "square", "school", "edge"].map(|id| format!("{id},2e-4\n"));
    std::fs::write(&given, format!("id,power_w\n{}", rows.concat())).unwrap();
    let args = ["assess", "separable", "--max-power-dbm", "0", "--input", "-", "--json"];
    let outcome = run(&[&args, &["--allocations", &given][..]].concat(), FIVE);
    let verdict: Value = serde_json::from_str(outcome.stdout.lines().next().unwrap()).unwrap();
    assert!(verdict["gap_percent"].as_f64().unwrap() > 1.0, "{verdict}");
    assert_eq!(verdict["status"], "feasible");
    assert!(verdict["value"].as_f64() > verdict["reference"].as_f64());
}

#[test]
fn trains_evaluates_and_allocates() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("water.safetensors").to_str().unwrap().to_owned();
    let outcome = run(&["train", "separable", "--cost", "delay", "--out", &model], "");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let args = ["evaluate", &model, "--k", "1,10,100", "--samples", "10", "--json"];
    let (_, evaluation) = json(&args, "");
    for size in evaluation["sizes"].as_array().unwrap() {
        assert!(size["gap_percent"].as_f64().unwrap().abs() < 0.1, "{size}");
    }
    let (code, learned) = json(&["allocate", &model, "--input", "-", "--json"], FIVE);
    assert_eq!((code, learned["status"].as_str()), (0, Some("learned")));
    assert!(learned["in_distribution"].as_bool().unwrap(), "{learned}");
    let solve = ["solve", "separable", "--cost", "delay", "--input", "-", "--json"];
    let (_, exact) = json(&solve, FIVE);
    let of = |answer: &Value| answer["total_cost"].as_f64().unwrap();
    assert!(of(&learned) / of(&exact) < 1.001 && of(&learned) > of(&exact) * (1.0 - 1e-9));
    // Compare the model with the optimum and equal powers, with the cost of its training.
    let args =
        ["evaluate", &model, "optimum", "equal-power", "--k", "5", "--samples", "3", "--json"];
    let outcome = run(&args, "");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("sum of costs"), "{}", outcome.stdout);
}

#[test]
fn bad_costs_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.csv").to_str().unwrap().to_owned();
    let solve = |cost: &str| {
        let outcome = run(&["solve", "separable", "--cost", cost, "--input", "-"], FIVE);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{cost}");
        outcome.stderr
    };
    assert!(solve("lgo1p").contains("--cost is lgo1p, expected log1p, fair-rate"));
    for (text, says) in [
        ("u,c\n0,1\n1,0.9\n2,0\n", "not convex: at u = 0, 1 and 2 it is 1, 0.9 and 0"),
        ("0,1\n1,2\n", "not decreasing: 1 at u = 0, but 2 at u = 1"),
        ("0,1\n0,2\n", "two samples of the cost at u = 0"),
        ("0,1\n1,nan\n", "the cost at u = 1 is NaN"),
        ("0,1\n1\n", "line 2: there are 1 columns, expected two"),
        ("", "the file is empty"),
    ] {
        std::fs::write(&file, text).unwrap();
        let error = solve(&file);
        assert!(error.contains(says) && error.contains("bad.csv"), "{error}");
    }
}
