//! Tests of the documented limits: sizes whose product is too large are rejected before anything is drawn.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::common::shell;

/// Checks that the command is rejected as bad input and that the error contains the words.
#[track_caller]
fn refused(line: &str, folder: &Path, words: &str) {
    let outcome = shell(&format!("\"$ANYK\" {line}"), folder);
    assert_eq!(outcome.code, 2, "{line}: {}", outcome.stderr);
    assert!(outcome.stderr.contains(words), "{line}: {}", outcome.stderr);
}

#[test]
fn sizes_that_multiply_are_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    for line in [
        "train urllc --method price --samples 50 --out any.st",
        "train interference --train-k 4 --samples 20 --steps 2 --out links.st",
    ] {
        assert_eq!(shell(&format!("\"$ANYK\" {line}"), path).code, 0, "{line}");
    }
    let users =
        "samples is 1000000, expected 1 to 1000000, and no more than 100000000 users in all";
    let gains =
        "samples is 1000000, expected 1 to 1000000, and no more than 400000000 gains in all";
    for (line, words) in [
        ("train urllc --train-k 10000 --samples 1000000", users),
        ("train urllc --method m-gnn --train-k 10000 --samples 1000000", users),
        ("train urllc --method fnn --train-k 10000 --samples 1000000", users),
        ("train urllc --method price --train-k 10000 --samples 1000000", users),
        ("train urllc-power --train-k 10000 --samples 1000000", users),
        ("train qos-power --train-k 10000 --samples 1000000", users),
        ("train equal-bandwidth --train-k 10000 --samples 1000000", users),
        ("train interference --train-k 1000 --samples 1000000", gains),
        ("calibrate any.st --cells 1000000000", "--cells is 1000000000, expected at most 10000000"),
        (
            "sample urllc --k 10000000 --count 1000000",
            "--count is 1000000, expected at most 10 with K = 10000000 (100000000 users in all)",
        ),
        (
            "sample urllc --k 2 --count 18446744073709551615",
            "--count is 18446744073709551615, expected at most 50000000 with K = 2",
        ),
        ("sample urllc --k 99999999999", "--k is 99999999999, expected"),
        ("sample interference --k 100000", "--k is 100000, expected"),
        (
            "sample interference --k 100 --count 1000000",
            "--count is 1000000, expected at most 40000 with K = 100 (400000000 gains in all)",
        ),
    ] {
        refused(&format!("{line} --out new"), path, words);
        assert!(!path.join("new").exists(), "{line}");
    }
    for (line, words) in [
        (
            "diagnose --policy interference --k 10,100000",
            "K is 100000, expected at most 20000 links",
        ),
        // A single size cannot give a size law, so it is rejected before it is drawn.
        (
            "diagnose --policy interference --k 100000",
            "the number of sizes k is 1, expected at least 2",
        ),
        ("evaluate links.st --k 100000", "K is 100000, expected at most 20000 links"),
        (
            "evaluate any.st --k 1000 --samples 1000000",
            "--samples is 1000000, expected at most 100000 with K = 1000 (100000000 users in all)",
        ),
        ("sample fading --law rayleigh --count 10000001", "from 1 to 10000000"),
    ] {
        refused(line, path, words);
    }
    fs::write(path.join("long.toml"), "# a comment\n".repeat(200_000)).unwrap();
    let words = "long.toml: the file is longer than 1048576 bytes, the limit for a TOML file";
    refused("config --config long.toml", path, words);
}
