//! Runs every study with `--trial` and checks that its tables are complete.

#![allow(clippy::unwrap_used)]

use std::fs;

use crate::common::run;

#[test]
fn every_study_makes_its_tables() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("trial");
    let mut names: Vec<&str> = anyk_study::STUDIES.iter().map(|study| study.name).collect();
    if std::env::var_os("ANYK_LONG").is_none() {
        // These take as long as all others together, so only the long tests run them.
        names.retain(|name| !["ablation", "price", "diagnose", "fading"].contains(name));
    }
    let mut args = vec!["reproduce", "--trial", "--out", out.to_str().unwrap()];
    args.extend(&names);
    let first = run(&args, "");
    assert_eq!(first.code, 0, "{}", first.stderr);
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("a trial: ignore its figures"));
    let tables: Vec<_> = fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "csv"))
        .collect();
    assert!(tables.len() >= names.len(), "{} tables of {} studies", tables.len(), names.len());
    for table in tables {
        let text = fs::read_to_string(&table).unwrap();
        assert!(text.lines().count() > 1, "{}", table.display());
        assert!(!text.contains("NaN") && !text.contains("inf"), "{}: {text}", table.display());
    }
    // A second run reuses the trained models.
    let again = run(&["reproduce", "--trial", "--out", out.to_str().unwrap(), "table3"], "");
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert!(first.stdout.contains(again.stdout.split("\n\n").nth(1).unwrap()));
}

#[test]
fn a_trial_is_not_in_full() {
    let outcome = run(&["reproduce", "--trial", "--full", "table1"], "");
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("--full"), "{}", outcome.stderr);
}
