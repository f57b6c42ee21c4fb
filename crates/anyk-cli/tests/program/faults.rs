//! Fault injection: at every call of the writer to the disk, the call fails or the program is killed. Either the old
//! file or the complete new file remains, and the same command then succeeds.

#![allow(clippy::unwrap_used)]
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Content of the files in a folder and its subfolders, by name.
type Files = BTreeMap<String, Vec<u8>>;

fn files(folder: &Path) -> Files {
    let mut found = Files::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            let inner = files(&entry.path()).into_iter();
            found.extend(inner.map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}

fn put(folder: &Path, files: &Files) {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).unwrap();
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// Runs the program in a folder with an injected fault.
fn run(folder: &Path, args: &[&str], fault: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anyk"));
    command.args(args).current_dir(folder);
    if !fault.is_empty() {
        command.env("ANYK_FAULT", fault);
    }
    command.output().unwrap()
}

/// Returns whether a file is the unfinished file of a writer that was killed.
fn is_leftover(name: &str) -> bool {
    name.ends_with(".anyk-part")
}

/// Returns whether a file belongs to the cache, is the manifest of a study, or is a part that a later run continues.
fn is_helper(name: &str) -> bool {
    let is_unfinished = name.ends_with(".jsonl.unfinished");
    name.starts_with("out/cache/") || name == "out/anyk-manifest.json" || is_unfinished
}

/// Breaks a command at each of its calls to the disk in turn, and returns the number of faults.
///
/// `before` contains the files that exist when the command starts.
fn break_everywhere(args: &[&str], before: &Files) -> usize {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("work");
    put(&folder, before);
    let clean = run(&folder, args, "");
    assert!(clean.status.success(), "{}", String::from_utf8_lossy(&clean.stderr));
    let after = files(&folder);
    assert!(!after.keys().any(|name| is_leftover(name)));
    let mut faults = 0;
    for how in ["enospc", "eio", "kill"] {
        for call in 1.. {
            put(&folder, before);
            let broken = run(&folder, args, &format!("{call}:{how}"));
            let said = String::from_utf8_lossy(&broken.stderr).into_owned();
            assert!(!said.contains("panicked"), "{said}");
            if !said.contains(&format!("fault {call} ")) {
                // The command ended before it reached this call.
                assert!(broken.status.success(), "{said}");
                break;
            }
            faults += 1;
            let place = format!("{args:?}, call {call}, {how}: {said}");
            match how {
                "kill" => assert_eq!(broken.status.code(), None, "{place}"),
                // A full or broken disk is reported as a failure of the machine.
                _ => {
                    assert_eq!(broken.status.code(), Some(1), "{place}");
                    assert!(said.contains("cannot write"), "{place}");
                }
            }
            for (name, bytes) in files(&folder) {
                if is_leftover(&name) {
                    assert_eq!(how, "kill", "{place}: {name} is left");
                } else if !is_helper(&name) {
                    let whole =
                        before.get(&name) == Some(&bytes) || after.get(&name) == Some(&bytes);
                    assert!(whole, "{place}: {name} is neither the old one nor the new one");
                }
            }
            for name in before.keys() {
                assert!(folder.join(name).exists(), "{place}: {name} is gone");
            }
            // The same command then succeeds and removes leftover files.
            if faults % 7 == 1 {
                let again = run(&folder, args, "");
                assert!(again.status.success(), "{place}");
                let found = files(&folder);
                for (name, bytes) in after.iter().filter(|(name, _)| !is_helper(name)) {
                    assert!(found.get(name) == Some(bytes), "{place}: then {name} is another");
                }
                assert!(!found.keys().any(|name| is_leftover(name)), "{place}: {:?}", found.keys());
            }
        }
    }
    faults
}

/// Returns the files of a model that exists before the command.
fn old_model() -> Files {
    let folder = tempfile::tempdir().unwrap();
    let args = ["train", "qos-power", "--samples", "20", "--out", "model"];
    assert!(run(folder.path(), &args, "").status.success());
    files(folder.path())
}

#[test]
fn a_training_leaves_the_old_model_or_the_new_one() {
    let args = ["train", "urllc", "--method", "price", "--samples", "20", "--out", "model"];
    let faults = break_everywhere(&args, &old_model());
    println!("{faults} faults in a training run");
    assert!(faults > 20);
}

#[test]
fn a_calibration_leaves_the_old_model_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let train = ["train", "urllc", "--method", "price", "--samples", "20", "--out", "model"];
    assert!(run(folder.path(), &train, "").status.success());
    let args = ["calibrate", "model", "--cells", "300", "--beta", "0.01", "--out", "calibrated"];
    fs::copy(folder.path().join("model"), folder.path().join("calibrated")).unwrap();
    let faults = break_everywhere(&args, &files(folder.path()));
    println!("{faults} faults in a calibration");
    assert!(faults > 20);
}

#[test]
fn a_shard_is_complete_or_continues() {
    let cells = ["evaluate", "equal-power", "--problem", "urllc", "--k", "1,2", "--samples", "4"];
    let args = [&cells[..], &["--shard", "1/2", "--out", "out"]].concat();
    let faults = break_everywhere(&args, &Files::new());
    println!("{faults} faults in a shard");
    assert!(faults > 10);
}

#[test]
fn a_study_leaves_old_files_or_new_ones() {
    let args = ["reproduce", "fig1", "--trial", "--out", "out"];
    let faults = break_everywhere(&args, &Files::new());
    println!("{faults} faults in a study");
    assert!(faults > 20);
}
