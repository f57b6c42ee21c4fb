//! Tests of memory use: files that would need much more memory than their size are rejected early, and a stream needs
//! no more memory than its largest cell.
//!
//! Each run has a limited address space (`ulimit -v`, which needs no privileges). A run that allocates more is killed,
//! and [`crate::common::outcome`] does not accept that exit code.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::path::Path;

use crate::common::{Outcome, shell};
use tempfile::TempDir;

/// Runs a command line in a folder with `mib` MiB of address space. It uses only two threads, because each needs a
/// stack.
fn limited(mib: u64, line: &str, folder: &Path) -> Outcome {
    let kib = mib * 1024;
    shell(&format!("ulimit -v {kib}; export RAYON_NUM_THREADS=2; \"$ANYK\" {line}"), folder)
}

/// Checks that the command is rejected as bad input and that the error contains all the words.
#[track_caller]
fn refused(mib: u64, line: &str, folder: &Path, parts: &[&str]) {
    let outcome = limited(mib, line, folder);
    assert_eq!(outcome.code, 2, "{line}: {}", outcome.stderr);
    for part in parts {
        assert!(outcome.stderr.contains(part), "{line}: {part}: {}", outcome.stderr);
    }
}

#[test]
fn many_cells_take_the_memory_of_one() {
    let folder = TempDir::new().unwrap();
    let cell = |i: usize| format!("{{\"users\":[{{\"id\":{i},\"gain_db\":-9}}]}}\n");
    let cells: String = (0..300_000).map(cell).collect();
    fs::write(folder.path().join("cells.json"), cells).unwrap();
    let line = "solve urllc --input cells.json --json --no-check";
    let outcome = limited(300, line, folder.path());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(outcome.stdout.lines().count(), 300_000);
}

#[test]
fn files_that_grow_in_memory_are_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    // 30 MB of empty users, which would need 1 GB if they were collected before the check.
    let users = format!("{{\"users\":[{}{{}}]}}", "{},".repeat(10_000_000));
    fs::write(path.join("bomb.json"), users).unwrap();
    let words = ["bomb.json: user 1: none of distance_m, gain_db"];
    refused(500, "solve urllc --input bomb.json", path, &words);
    // The same file as allocations.
    fs::write(path.join("cell.json"), r#"{"users":[{"gain_db":-100}]}"#).unwrap();
    let line = "assess urllc --input cell.json --allocations bomb.json";
    let words = ["bomb.json: there are 10000002 objects, expected at most 10000000"];
    refused(500, line, path, &words);
    // A header with 200,000 empty tensors.
    let tensor =
        |i: usize| format!("\"{i}\":{{\"dtype\":\"F64\",\"shape\":[0],\"data_offsets\":[0,0]}}");
    let tensors: Vec<String> = (0..200_000).map(tensor).collect();
    let header = format!("{{{}}}", tensors.join(","));
    let length = (header.len() as u64).to_le_bytes();
    fs::write(path.join("bomb.st"), [&length[..], header.as_bytes()].concat()).unwrap();
    let words = ["bomb.st: ", "its header has ", " bytes, expected at most 8388608"];
    refused(500, "evaluate bomb.st", path, &words);
    // A line of CSV is held in memory.
    fs::write(path.join("users.csv"), "id,".repeat(5_000_000)).unwrap();
    fs::write(path.join("samples.csv"), format!("k,x,y{}", ",a".repeat(5_000_000))).unwrap();
    let words = ["a line has 5000001 fields, expected at most 1000"];
    refused(200, "solve urllc --input users.csv", path, &words);
    let words = ["a line has 5000003 fields, expected at most 1000"];
    refused(200, "diagnose --samples samples.csv", path, &words);
}

#[test]
fn input_without_end_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    File::create(path.join("large.csv")).unwrap().set_len(1 << 40).unwrap();
    let words = ["large.csv: cannot read: ", "1099511627776 bytes", "expected at most 3201048576"];
    refused(300, "diagnose --samples large.csv", path, &words);
    let words = ["standard input: cannot read: ", "expected at most 1073741824"];
    refused(3000, "solve urllc --input - < /dev/zero", path, &words);
}
