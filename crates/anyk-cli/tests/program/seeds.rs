//! Tests of `anyk train --seeds`.

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

/// Splits a model into its header and the bytes of its tensors.
fn parts(model: &[u8]) -> (serde_json::Value, &[u8]) {
    let length = usize::try_from(u64::from_le_bytes(model[..8].try_into().unwrap())).unwrap();
    let (header, data) = model[8..].split_at(length);
    (serde_json::from_slice(header).unwrap(), data)
}

/// Returns the bytes of the tensors of the outer function.
fn law(model: &[u8]) -> Vec<u8> {
    let (header, data) = parts(model);
    let tensors = header.as_object().unwrap().iter().filter(|(name, _)| name.starts_with("law."));
    let range = |place: &serde_json::Value| {
        let end = |index: usize| usize::try_from(place[index].as_u64().unwrap()).unwrap();
        data[end(0)..end(1)].to_vec()
    };
    tensors.flat_map(|(_, tensor)| range(&tensor["data_offsets"])).collect()
}

/// Returns the problem, method and record from the header of a model.
fn content(model: &[u8]) -> serde_json::Value {
    let about = parts(model).0["__metadata__"]["anyk"].as_str().unwrap().to_owned();
    let mut content = serde_json::from_str::<serde_json::Value>(&about).unwrap()["content"].take();
    content.as_object_mut().unwrap().remove("run");
    content
}

/// The first model equals the model of a single run with its seed; the others share its outer function. After an
/// interruption, the same command keeps existing models and produces the same files.
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
    let models = ["p-3.safetensors", "p-4.safetensors", "p-5.safetensors"];
    assert_eq!(left, [&models[..], &["p.safetensors.outer"]].concat());

    assert_eq!(shell(&format!("{TRAIN} --seed 3"), alone.path()).code, 0);
    let first = model(folder.path(), "p-3.safetensors");
    let single = model(alone.path(), "p.safetensors");
    assert_eq!((content(&first), parts(&first).1), (content(&single), parts(&single).1));
    let second = model(folder.path(), "p-4.safetensors");
    assert_ne!(first, second);
    assert_eq!(law(&first), law(&second));
    assert!(!law(&first).is_empty());

    let line = format!(
        "{TRAIN} --seeds 3..8 & while [ ! -e p-3.safetensors ]; do sleep 0.02; done; kill -INT $!; wait $!"
    );
    let outcome = shell(&line, broken.path());
    assert_eq!(outcome.code, 130, "{}", outcome.stderr);
    let told = "of 6 models are written; run the same command again to continue";
    assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
    let written = |name: &str| fs::metadata(broken.path().join(name)).unwrap().modified().unwrap();
    let before = ["p-3.safetensors", "p.safetensors.outer"].map(written);
    let outcome = shell(&format!("{TRAIN} --seeds 3..8"), broken.path());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("seed 3: the model file already exists"), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("seed 8:"), "{}", outcome.stderr);
    assert_eq!(["p-3.safetensors", "p.safetensors.outer"].map(written), before);
    for name in models {
        assert_eq!(model(broken.path(), name), model(folder.path(), name), "{name}");
    }
    assert_eq!(fs::read_dir(broken.path()).unwrap().count(), 7);
}

/// A run that fails does not end the others, and its error names the seed.
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

/// A model or an outer function is reused only if the settings are equal. The file of an outer function is not a
/// policy.
#[test]
fn other_settings_are_trained_again() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    let train = |flags: &str| {
        let outcome =
            shell(&format!("$ANYK train urllc --samples 20 --seeds 1,2 --out m {flags}"), path);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        (["m-1", "m-2", "m.outer"].map(|name| model(path, name)), outcome.stderr)
    };
    // A file that an earlier version wrote is left unchanged.
    fs::write(path.join("m-1.checkpoint"), "mine").unwrap();
    let (first, _) = train("");
    let (again, told) = train("");
    assert!(again == first);
    assert_eq!(told.matches("the model file already exists").count(), 2, "{told}");
    let (wide, told) = train("--train-k 5");
    assert!(wide[0] != first[0] && wide[1] != first[1] && !told.contains("already"), "{told}");
    assert!(wide[2] == first[2]);
    let (strict, told) = train("--train-k 5 --epsilon-d 5e-6");
    assert!(strict.iter().zip(&wide).all(|(one, other)| one != other));
    assert!(!told.contains("already"), "{told}");
    assert_eq!(model(path, "m-1.checkpoint"), b"mine");

    let outcome = shell("$ANYK evaluate m.outer", path);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("expected a policy"), "{}", outcome.stderr);
    fs::write(path.join("m.outer"), "mine").unwrap();
    let outcome = shell("$ANYK train urllc --samples 20 --seeds 1,2 --out m", path);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("m.outer: the file exists"), "{}", outcome.stderr);
    assert_eq!(model(path, "m.outer"), b"mine");
}
