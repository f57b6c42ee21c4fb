//! A disk that fails, and a program that is killed, at every call that the writer makes to the disk: the old file
//! is there or the new one, whole, and the same command then ends as if nothing had been.

#![allow(clippy::unwrap_used)]
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Files by name, with their content; folders are looked into.
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

/// Runs the program in a folder, with a fault.
fn run(folder: &Path, args: &[&str], fault: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anyk"));
    command.args(args).current_dir(folder).env("ANYK_CHECKPOINT_SECONDS", "0");
    if !fault.is_empty() {
        command.env("ANYK_FAULT", fault);
    }
    command.output().unwrap()
}

/// Unfinished files of a writer, which a kill leaves behind.
fn is_leftover(name: &str) -> bool {
    name.ends_with(".anyk-part")
}

/// Files that only help: a training's checkpoint, and the cache and the manifest of a study.
fn is_helper(name: &str) -> bool {
    name.contains(".checkpoint")
        || name.starts_with("out/cache/")
        || name == "out/anyk-manifest.json"
}

/// Breaks a command at every call to the disk in turn, and returns how many faults there were.
///
/// `before` are the files that are there when it starts. `stride` leaves out calls: there are hundreds where a
/// training saves itself after each block of steps. `cargo xtask test --long` leaves out none.
fn break_everywhere(args: &[&str], before: &Files, stride: usize) -> usize {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("work");
    put(&folder, before);
    let clean = run(&folder, args, "");
    assert!(clean.status.success(), "{}", String::from_utf8_lossy(&clean.stderr));
    let after = files(&folder);
    assert!(!after.keys().any(|name| is_leftover(name)));
    let mut faults = 0;
    for how in ["enospc", "eio", "kill"] {
        for call in (1..).step_by(stride) {
            put(&folder, before);
            let broken = run(&folder, args, &format!("{call}:{how}"));
            let said = String::from_utf8_lossy(&broken.stderr).into_owned();
            assert!(!said.contains("panicked"), "{said}");
            if !said.contains(&format!("fault {call} ")) {
                // It ended before there were so many calls.
                assert!(broken.status.success(), "{said}");
                break;
            }
            faults += 1;
            let place = format!("{args:?}, call {call}, {how}: {said}");
            match how {
                "kill" => assert_eq!(broken.status.code(), None, "{place}"),
                // A full or broken disk is the machine's part, and is told.
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
            // The same command again ends as if nothing had been, and clears what was left.
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

/// A model that was there before.
fn old_model() -> Files {
    let folder = tempfile::tempdir().unwrap();
    let args = ["train", "qos-power", "--samples", "20", "--out", "model"];
    assert!(run(folder.path(), &args, "").status.success());
    files(folder.path())
}

#[test]
fn a_training_leaves_the_old_model_or_the_new_one() {
    let args = ["train", "urllc", "--method", "any-gnn", "--samples", "20", "--out", "model"];
    // A checkpoint is six calls, of which seventeen at a time are left out: each of the six has its turn.
    let stride = if std::env::var_os("ANYK_LONG").is_some() { 1 } else { 17 };
    let faults = break_everywhere(&args, &old_model(), stride);
    println!("{faults} faults in a training that saves itself all the time");
    assert!(faults > 20);
}

#[test]
fn a_calibration_leaves_the_old_model_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let train = ["train", "urllc", "--method", "any-gnn", "--samples", "20", "--out", "model"];
    assert!(run(folder.path(), &train, "").status.success());
    let args = ["calibrate", "model", "--cells", "300", "--beta", "0.01", "--out", "calibrated"];
    fs::copy(folder.path().join("model"), folder.path().join("calibrated")).unwrap();
    let faults = break_everywhere(&args, &files(folder.path()), 1);
    println!("{faults} faults in a calibration");
    assert!(faults > 20);
}

#[test]
fn a_study_leaves_old_files_or_new_ones() {
    let args = ["reproduce", "fig1", "--out", "out"];
    let faults = break_everywhere(&args, &Files::new(), 1);
    println!("{faults} faults in a study");
    assert!(faults > 20);
}

/// What a killed training left is for the same training alone: with another packet size it is set aside, and the
/// model is the one of a fresh run. A pipe in its place is not waited for.
#[test]
fn a_checkpoint_of_another_cell_is_set_aside() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    let train = ["train", "urllc", "--method", "m-gnn", "--samples", "100", "--out", "model"];
    let other = [&train[..], &["--packet-bits", "200"]].concat();
    assert!(run(folder, &other, "").status.success());
    let fresh = fs::read(folder.join("model")).unwrap();
    let checkpoint = folder.join("model.checkpoint");
    let killed = run(folder, &train, "99:kill");
    assert!(killed.status.code().is_none() && checkpoint.exists());
    let left = fs::read(&checkpoint).unwrap();
    let outcome = run(folder, &other, "");
    let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert!(outcome.status.success(), "{said}");
    assert!(
        said.contains("model.checkpoint: not used: it belongs to a training with another cell")
    );
    assert!(!said.contains("continuing"), "{said}");
    assert!(fs::read(folder.join("model")).unwrap() == fresh);
    assert!(fs::read(folder.join("model.checkpoint.unused")).unwrap() == left);
    // The same training continues it.
    fs::write(&checkpoint, &left).unwrap();
    let continued = run(folder, &train, "");
    assert!(String::from_utf8_lossy(&continued.stderr).contains("continuing at step"));
    assert!(Command::new("mkfifo").arg(&checkpoint).status().unwrap().success());
    let beside_a_pipe = run(folder, &other, "");
    assert!(beside_a_pipe.status.code().is_some());
}
