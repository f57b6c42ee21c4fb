//! `anyk train --seeds`: several trainings at once.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::common::shell;

const TRAIN: &str = "$ANYK train urllc --method p-gnn --samples 200 --out p.safetensors";

fn model(folder: &Path, name: &str) -> Vec<u8> {
    fs::read(folder.join(name)).unwrap()
}

/// Bytes of the outer function's tensors, as the header places them.
fn law(model: &[u8]) -> Vec<u8> {
    let length = usize::try_from(u64::from_le_bytes(model[..8].try_into().unwrap())).unwrap();
    let header: serde_json::Value = serde_json::from_slice(&model[8..8 + length]).unwrap();
    let data = &model[8 + length..];
    let tensors = header.as_object().unwrap().iter().filter(|(name, _)| name.starts_with("law."));
    let range = |place: &serde_json::Value| {
        let end = |index: usize| usize::try_from(place[index].as_u64().unwrap()).unwrap();
        data[end(0)..end(1)].to_vec()
    };
    tensors.flat_map(|(_, tensor)| range(&tensor["data_offsets"])).collect()
}

/// The first is the very model of its seed alone; the others have its outer function and networks of their own. A
/// command that was interrupted ends with the same models.
#[test]
fn seeds_are_trained_side_by_side_and_share_the_outer_function() {
    let (folder, alone, broken) =
        (TempDir::new().unwrap(), TempDir::new().unwrap(), TempDir::new().unwrap());
    let outcome = shell(&format!("{TRAIN} --seeds 3..5 --json"), folder.path());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let reports: Vec<serde_json::Value> =
        outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seeds: Vec<_> = reports.iter().map(|report| &report["training"]["seed"]).collect();
    assert_eq!(seeds, [3, 4, 5]);
    let mut left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["p-3.safetensors", "p-4.safetensors", "p-5.safetensors"]);

    assert_eq!(shell(&format!("{TRAIN} --seed 3"), alone.path()).code, 0);
    let first = model(folder.path(), "p-3.safetensors");
    assert_eq!(first, model(alone.path(), "p.safetensors"));
    let second = model(folder.path(), "p-4.safetensors");
    assert_ne!(first, second);
    assert_eq!(law(&first), law(&second));
    assert!(!law(&first).is_empty());

    let line = format!(
        "{TRAIN} --seeds 3..8 & while [ ! -e p-3.safetensors ]; do sleep 0.02; done; kill -INT $!; wait $!"
    );
    let outcome = shell(&line, broken.path());
    assert_eq!(outcome.code, 130, "{}", outcome.stderr);
    let told = "of 6 models are written; the same command does the rest";
    assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
    assert!(broken.path().join("p.safetensors.checkpoint").exists());
    assert_eq!(shell(&format!("{TRAIN} --seeds 3..8"), broken.path()).code, 0);
    for name in ["p-3.safetensors", "p-4.safetensors", "p-5.safetensors"] {
        assert_eq!(model(broken.path(), name), model(folder.path(), name), "{name}");
    }
    assert_eq!(fs::read_dir(broken.path()).unwrap().count(), 6);
}

/// What is wrong with one training does not end the others, and names its seed.
#[test]
fn seeds_that_cannot_be_trained_are_told_apart() {
    let folder = TempDir::new().unwrap();
    let outcome = shell(&format!("{TRAIN} --seeds 1,2 --seed 1"), folder.path());
    assert_eq!(outcome.code, 2);
    let outcome = shell(&format!("{TRAIN} --seeds 2..1"), folder.path());
    assert!(outcome.code == 2 && outcome.stderr.contains("\"2-1\""), "{}", outcome.stderr);
    fs::write(folder.path().join("p-2.safetensors"), "somebody's").unwrap();
    let outcome = shell(&format!("{TRAIN} --seeds 1,2"), folder.path());
    assert!(outcome.code == 2 && outcome.stderr.contains("p-2.safetensors"), "{}", outcome.stderr);
    assert!(!folder.path().join("p-1.safetensors").exists(), "before any work");
    let weak = "--max-power-dbm -20";
    let outcome = shell(&format!("{TRAIN} --seeds 3,4 {weak}"), folder.path());
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("error: seed 3: ") && outcome.stderr.contains("error: seed 4: ")
    );
}

/// A run that does not start, and one that does not use a checkpoint, leaves the checkpoints of others.
#[test]
fn checkpoints_of_other_runs_are_kept() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let train = "$ANYK train urllc --samples 20 --out m --seeds 1,2 --method";
    for name in ["m-1.checkpoint", "m.checkpoint"] {
        fs::write(path(name), "mine").unwrap();
    }
    let outcome = shell(&format!("{train} p-gnn --epsilon-d 5"), folder.path());
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert_eq!(fs::read(path("m-1.checkpoint")).unwrap(), b"mine");
    fs::remove_file(path("m-1.checkpoint")).unwrap();
    let outcome = shell(&format!("{train} any-gnn"), folder.path());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(fs::read(path("m.checkpoint")).unwrap(), b"mine");
    assert!(!path("m-1.checkpoint").exists() && path("m-1").exists());
}
