//! Shards and `merge`: a run in parts prints what one run prints, and parts that do not fit together are rejected.

#![allow(clippy::unwrap_used)]
#![cfg(unix)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::common::shell;

const SHARDS: usize = 3;

/// Runs a command line of the program, and returns its output and exit code.
#[track_caller]
fn run(folder: &Path, line: &str) -> (String, i32) {
    let outcome = shell(&format!("\"$ANYK\" {line}"), folder);
    (outcome.stdout, outcome.code)
}

/// Computes all shards of a command line.
#[track_caller]
fn shards(folder: &Path, line: &str, parts: &str) {
    for shard in 1..=SHARDS {
        let outcome =
            shell(&format!("\"$ANYK\" {line} --shard {shard}/{SHARDS} --out {parts}"), folder);
        assert_eq!((outcome.code, &*outcome.stdout), (0, ""), "{line}: {}", outcome.stderr);
    }
}

/// Returns a text without its times: the last column of a table, or a field of JSON.
fn timeless(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\"microseconds\":") {
        kept += before;
        rest = after.trim_start_matches(|c: char| c.is_alphanumeric() || ".-".contains(c));
    }
    kept += rest;
    if kept.contains(" µs\n") {
        let cut =
            |line: &str| line.rsplit_once(' ').map_or(line, |cut| cut.0).trim_end().to_owned();
        kept = kept.lines().map(cut).collect::<Vec<_>>().join("\n");
    }
    kept
}

/// Checks that a run in shards prints what one run prints.
#[track_caller]
fn same(folder: &Path, line: &str) {
    let parts = format!("parts-{}", fs::read_dir(folder).unwrap().count());
    shards(folder, line, &parts);
    let (whole, code) = run(folder, line);
    let merged = shell(&format!("\"$ANYK\" merge {parts}"), folder);
    assert_eq!(timeless(&merged.stdout), timeless(&whole), "{line}: {}", merged.stderr);
    assert!(!whole.is_empty() && merged.code == code, "{line}: {code}, {}", merged.code);
}

/// Writes ten cells as JSON and CSV, and the same with one cell that cannot be read and one that is infeasible.
fn cells(folder: &Path) {
    let (cells, code) = run(folder, "sample urllc --k 4 --count 10 --seed 3");
    assert_eq!(code, 0);
    fs::write(folder.join("cells.json"), &cells).unwrap();
    let mut csv = "cell,id,distance_m\n".to_owned();
    for (cell, line) in cells.lines().enumerate() {
        let read: serde_json::Value = serde_json::from_str(line).unwrap();
        for user in read["users"].as_array().unwrap() {
            writeln!(csv, "c{cell},{},{}", user["id"], user["distance_m"]).unwrap();
        }
    }
    fs::write(folder.join("cells.csv"), csv).unwrap();
    let mut lines: Vec<String> = cells.lines().map(str::to_owned).collect();
    lines[3] = lines[3].replacen("\"distance_m\":", "\"distance_m\":-", 1);
    lines[6] = r#"{"users":[{"gain":1e-40},{"gain":1e-9}]}"#.to_owned();
    fs::write(folder.join("bad.json"), lines.join("\n")).unwrap();
}

#[test]
fn shards_of_a_stream_merge_to_the_same_bytes() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    cells(folder);
    for format in ["table", "json", "csv"] {
        for file in ["cells.json", "cells.csv", "bad.json"] {
            same(folder, &format!("solve urllc {file} --format {format}"));
        }
    }
    let (answers, _) = run(folder, "solve urllc cells.json --json");
    // The fourth cell has no allocation, and the others are found by their order.
    let answers: Vec<&str> = answers.lines().collect();
    fs::write(folder.join("answers.json"), answers[..9].join("\n")).unwrap();
    same(folder, "assess urllc cells.json --allocations answers.json");
    same(folder, "assess urllc cells.json --allocations answers.json --json");
    let (answers, _) = run(folder, "solve urllc cells.csv --format csv");
    fs::write(folder.join("answers.csv"), answers).unwrap();
    same(folder, "assess urllc cells.csv --allocations answers.csv");
    // More allocations than cells, and a table with a short row.
    let first = fs::read_to_string(folder.join("cells.json")).unwrap();
    fs::write(folder.join("first.json"), first.lines().next().unwrap()).unwrap();
    same(folder, "assess urllc first.json --allocations answers.json");
    let csv = fs::read_to_string(folder.join("cells.csv")).unwrap();
    fs::write(folder.join("short.csv"), csv.replacen("c3,", "c9,x\nc3,", 1)).unwrap();
    same(folder, "assess urllc short.csv --allocations answers.csv");
    same(folder, "assess urllc short.csv --allocations answers.csv --format csv");
    let (networks, _) = run(folder, "sample interference --k 5 --count 4 --seed 1");
    fs::write(folder.join("networks.json"), networks).unwrap();
    same(folder, "solve interference networks.json");
}

#[test]
fn shards_of_measurements_merge_to_the_same_figures() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let train = "train urllc --method price --samples 20 --out price.safetensors";
    assert_eq!(run(folder, train).1, 0);
    same(folder, "evaluate price.safetensors --k 1,10,30 --samples 10");
    same(folder, "evaluate price.safetensors --k 1,10 --samples 2 --json");
    same(folder, "evaluate price.safetensors equal-power --k 1,10,30 --samples 10");
    same(
        folder,
        "evaluate price.safetensors --problem urllc --k 1,10 --seeds 1..3 --samples 4 --json",
    );
    same(folder, "evaluate 'cmd:cat' --problem urllc --k 2 --samples 4 --json");
    shards(folder, "diagnose price.safetensors --k 2,5,10 --users 200 --no-check", "diagnosis");
    let (whole, _) = run(folder, "diagnose price.safetensors --k 2,5,10 --users 200 --no-check");
    assert!(run(folder, "merge diagnosis").0.starts_with(&whole) && !whole.is_empty());
    shards(folder, "reproduce table1 fig1 table2 --trial", "studies");
    let (whole, _) = run(folder, "reproduce table1 fig1 table2 --trial --out whole");
    let (merged, code) = run(folder, "merge studies");
    assert_eq!((merged, code), (whole.replace("whole/report.html", "studies/report.html"), 0));
}

#[test]
fn seeds_are_trained_in_shards() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let line = "train urllc --method price --samples 20";
    for shard in ["1/2", "2/2"] {
        let line = format!("{line} --seeds 4..6 --shard {shard} --out models");
        assert_eq!(run(folder, &line).1, 0);
    }
    assert_eq!(run(folder, &format!("{line} --seed 5 --out five.safetensors")).1, 0);
    let tensors = |path: &str| {
        let bytes = fs::read(folder.join(path)).unwrap();
        bytes[8 + usize::from(u16::from_le_bytes([bytes[0], bytes[1]]))..].to_vec()
    };
    assert_eq!(tensors("models/model-5.safetensors"), tensors("five.safetensors"));
    assert_eq!(fs::read_dir(folder.join("models")).unwrap().count(), 3);
}

/// A part with other arguments and a valid checksum cannot make `merge` write files or run other commands.
#[test]
fn forged_parts_are_refused() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    cells(folder);
    let line = "solve urllc cells.json --shard 1/1 --out parts";
    assert_eq!(run(folder, line).1, 0);
    let part = folder.join("parts/part-1-of-1.jsonl");
    let text = fs::read_to_string(&part).unwrap();
    for arguments in [
        r#""solve","urllc","cells.json","--out","victim""#,
        r#""solve","urllc","cells.json","--shard","1/1","--out","victim""#,
        r#""train","qos-power","--out","victim""#,
        r#""sample","urllc","--out","victim""#,
        r#""merge","parts""#,
        "",
    ] {
        let forged = text.replacen(r#""solve","urllc","cells.json""#, arguments, 1);
        let end = forged.trim_end().rfind('\n').unwrap() + 1;
        let print = anyk::exchange::fingerprint(&forged[..end]);
        let units = text.lines().count() - 2;
        let end =
            format!("{}{{\"units\":{units},\"checksum\":\"{print:016x}\"}}\n", &forged[..end]);
        fs::write(&part, end).unwrap();
        let outcome = shell("\"$ANYK\" merge parts", folder);
        assert_eq!(outcome.code, 2, "{arguments}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("which has no shards"), "{}", outcome.stderr);
        assert!(!folder.join("victim").exists(), "{arguments}");
    }
    // A pipe would block.
    fs::remove_file(&part).unwrap();
    assert_eq!(shell("mkfifo parts/part-1-of-1.jsonl", folder).code, 0);
    for line in ["merge parts", line] {
        let outcome = shell(&format!("\"$ANYK\" {line}"), folder);
        assert!(outcome.stderr.contains("expected a plain file"), "{}", outcome.stderr);
    }
}

/// An input from a pipe has no fingerprint, so the parts keep one of its content.
#[test]
fn shards_of_different_pipes_do_not_merge() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    cells(folder);
    let solve = "\"$ANYK\" solve urllc - --json --out parts";
    assert_eq!(shell(&format!("head -4 cells.json | {solve} --shard 1/2"), folder).code, 0);
    assert_eq!(shell(&format!("tail -4 cells.json | {solve} --shard 2/2"), folder).code, 0);
    let outcome = shell("\"$ANYK\" merge parts", folder);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("the shards read different inputs"), "{}", outcome.stderr);
}

#[test]
fn a_shard_that_is_killed_continues() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let (lines, _) = run(folder, "sample urllc --k 20 --count 3000");
    fs::write(folder.join("cells.json"), lines).unwrap();
    let line = "solve urllc cells.json --json";
    for delay in ["0.02", "0.05", "0.1", "0.2"] {
        // The message of a killed program is not of interest.
        let kill =
            format!("timeout -s KILL {delay} \"$ANYK\" {line} --shard 1/1 --out parts; true");
        assert_eq!(shell(&kill, folder).code, 0);
    }
    assert_eq!(run(folder, &format!("{line} --shard 1/1 --out parts")).1, 0);
    let (whole, merged) = (run(folder, line), run(folder, "merge parts"));
    assert!(whole == merged && !whole.0.is_empty());
}

#[test]
fn finished_shards_are_kept_and_wrong_parts_are_named() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    cells(folder);
    let line = "solve urllc cells.json --json";
    let fails = |line: &str, words: &[&str]| {
        let outcome = shell(&format!("\"$ANYK\" {line}"), folder);
        assert_eq!(outcome.code, 2, "{line}: {}", outcome.stderr);
        words.iter().for_each(|word| assert!(outcome.stderr.contains(word), "{}", outcome.stderr));
    };
    fails("merge parts", &["parts: cannot read"]);
    assert_eq!(run(folder, &format!("{line} --shard 1/2 --out parts")).1, 0);
    fails("merge parts", &["part-2-of-2.jsonl is missing; run shard 2/2"]);
    let again = shell(&format!("\"$ANYK\" {line} --shard 1/2 --out parts"), folder);
    assert!(again.code == 0 && again.stderr.contains("already complete"), "{}", again.stderr);
    fails(
        &format!("{line} --max-power-dbm 20 --shard 1/2 --out parts"),
        &["choose another folder"],
    );
    assert_eq!(run(folder, &format!("{line} --shard 2/2 --out parts")).1, 0);
    let part = folder.join("parts/part-2-of-2.jsonl");
    let text = fs::read_to_string(&part).unwrap();
    fs::write(&part, &text[..text.len() / 2]).unwrap();
    fails("merge parts", &["part-2-of-2.jsonl is damaged", "run shard 2/2 again"]);
    fs::write(&part, text.replacen("\"program\":\"0", "\"program\":\"1", 1)).unwrap();
    fails("merge parts", &["part-2-of-2.jsonl is damaged"]);
    // Another input changes the fingerprint.
    fs::remove_file(&part).unwrap();
    fs::copy(folder.join("bad.json"), folder.join("cells.json")).unwrap();
    assert_eq!(run(folder, &format!("{line} --shard 2/2 --out parts")).1, 0);
    fails("merge parts", &["was computed from another content of cells.json"]);
    for wrong in ["0/2", "3/2", "x", "1/200000"] {
        fails(&format!("{line} --shard {wrong} --out other"), &["expected i/n"]);
    }
    fails(&format!("{line} --shard 1/2"), &["--out"]);
    // The settings are wrong, so nothing is left.
    fails("evaluate none.safetensors --shard 1/2 --out nothing", &["none.safetensors"]);
    assert_eq!(fs::read_dir(folder.join("nothing")).unwrap().count(), 0);
    // A model that has changed since then.
    let train = "train urllc --method price --samples 20 --out p.safetensors --seed";
    assert_eq!(run(folder, &format!("{train} 1")).1, 0);
    assert_eq!(run(folder, "evaluate p.safetensors --k 2 --samples 2 --shard 1/1 --out one").1, 0);
    assert_eq!(run(folder, "merge one").1, 0);
    assert_eq!(run(folder, &format!("{train} 2")).1, 0);
    fails("merge one", &["p.safetensors is missing or has changed"]);
}
