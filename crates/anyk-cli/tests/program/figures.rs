//! Tests of `anyk reproduce` for the paper's figures.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::Output;

use assert_cmd::Command;

fn reproduce(args: &[&str]) -> Output {
    let mut command = Command::cargo_bin("anyk").unwrap();
    command.timeout(std::time::Duration::from_secs(600)).arg("reproduce").args(args);
    command.output().unwrap()
}

#[test]
fn figures_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("figures");
    let output = reproduce(&["fig1", "fig2c", "--out", out.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |file: String| fs::read_to_string(out.join(file)).unwrap();
    let page = read("report.html".into());
    for name in ["fig1", "fig2c", "fig2c-relative"] {
        let texts = ["csv", "md", "svg"].map(|extension| read(format!("{name}.{extension}")));
        for text in texts.iter().chain([&page]) {
            assert!(!text.contains("NaN") && !text.contains("inf,"), "{name}");
        }
        assert!(texts[2].starts_with("<svg "));
        assert!(page.contains(&format!("<section id=\"{name}\">")));
    }
    // For K = 2 and g_k = 1, the mean is 1 − e·E₁(1) = 0.4037. The mean over the window is slightly larger.
    let csv = read("fig2c.csv".into());
    let row = csv.lines().find(|line| line.starts_with("2,")).unwrap();
    let mean: f64 = row.split(',').nth(2).unwrap().parse().unwrap();
    assert!((mean - 0.4047).abs() < 0.006, "{row}");
}
