//! Tests of `anyk calibrate` and of calibrated models.

#![allow(clippy::unwrap_used)]

use std::fs;

use serde_json::Value;

use crate::common::run;

#[test]
fn a_model_is_calibrated_applied_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (model, calibrated) = (path("model.safetensors"), path("calibrated.safetensors"));
    let trained = run(
        &[
            &["train", "urllc", "--method", "m-gnn", "--samples", "100"][..],
            &["--epsilon-d", "1e-5", "--out", &model],
        ]
        .concat(),
        "",
    );
    assert_eq!(trained.code, 0, "{}", trained.stderr);

    // Too few cells: the message says how many are needed.
    let few = run(&["calibrate", &model, "--cells", "2994", "--out", &calibrated], "");
    assert_eq!(few.code, 2);
    let words = "--cells is 2994, expected at least 2995";
    assert!(few.stderr.contains(words), "{}", few.stderr);
    for (flags, words) in [
        (["--beta", "0"], "--beta is 0, expected a number from 1e-6 to 0.5"),
        (["--delta", "NaN"], "--delta is NaN, expected a number from 1e-6 to 0.5"),
        (["--beta", "-1"], "--beta is -1, expected a number from 1e-6 to 0.5"),
        (["--k", "0"], "invalid value '0' for '--k"),
        (["--seeds", "1,2"], "unexpected argument '--seeds'"),
    ] {
        let args = [&["calibrate", &model, "--out", &calibrated], &flags[..]].concat();
        let refused = run(&args, "");
        assert_eq!(refused.code, 2, "{flags:?}");
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    assert!(!fs::exists(&calibrated).unwrap());

    let args = ["calibrate", &model, "--cells", "400", "--beta", "0.01", "--seed", "4", "--json"];
    let done = run(&[&args[..], &["--out", &calibrated]].concat(), "");
    assert_eq!(done.code, 0, "{}", done.stderr);
    let report: Value = serde_json::from_str(&done.stdout).unwrap();
    let guarantee = &report["guarantee"];
    assert!(guarantee["margin"].as_f64().unwrap() >= 1.0);
    assert_eq!(guarantee["k"], serde_json::json!([10]));
    assert_eq!((guarantee["cells"].as_u64(), guarantee["seed"].as_u64()), (Some(400), Some(4)));
    // The same command gives the same file.
    let bytes = fs::read(&calibrated).unwrap();
    run(&[&args[..], &["--out", &calibrated]].concat(), "");
    assert_eq!(fs::read(&calibrated).unwrap(), bytes);

    // Evaluation and allocation apply the margin and report it; the model without it does not.
    let evaluate = |model: &str| -> Value {
        let args = ["evaluate", model, "--k", "10", "--samples", "50", "--json"];
        serde_json::from_str(&run(&args, "").stdout).unwrap()
    };
    let (before, after) = (evaluate(&model), evaluate(&calibrated));
    assert_eq!(&after["guarantee"], guarantee);
    assert!(before.get("guarantee").is_none());
    let bandwidth = |answer: &Value| answer["sizes"][0]["total_bandwidth_mhz"].as_f64().unwrap();
    let price = bandwidth(&after) / bandwidth(&before) / guarantee["margin"].as_f64().unwrap();
    assert!((price - 1.0).abs() < 1e-9, "{price}");
    assert!(after["sizes"][0]["availability"].as_f64().unwrap() >= 0.97);
    let users = run(&["sample", "urllc", "--k", "10"], "").stdout;
    let allocated = run(&["allocate", &calibrated, "--input", "-", "--json"], users.clone());
    let answer: Value = serde_json::from_str(&allocated.stdout).unwrap();
    assert_eq!(&answer["guarantee"], guarantee);
    let shown = run(&["allocate", &calibrated, "--input", "-"], users).stdout;
    assert!(shown.contains("guarantee: at K = 10, at most 1 % of users"), "{shown}");

    // An edited certificate is rejected even if the checksum of the file is correct.
    let mut forged = bytes;
    let from = b"\"beta\":0.01";
    let at = forged.windows(from.len()).position(|window| window == from);
    // The header is JSON inside JSON, so its quotes are escaped.
    let at = at.or_else(|| forged.windows(13).position(|w| w == b"\\\"beta\\\":0.01".as_slice()));
    let at = at.unwrap();
    let end = forged[at..].windows(4).position(|window| window == b"0.01").unwrap() + at;
    forged[end..end + 4].copy_from_slice(b"1e-5");
    fs::write(&calibrated, forged).unwrap();
    assert_eq!(run(&["evaluate", &calibrated, "--k", "10"], "").code, 2);
}
