//! Regression tests that run every input of the corpus through its target.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use anyk::core::{Allotment, Formulating};
use anyk::exchange::Input;
use anyk::problems::interference::{INTERFERENCE, read_networks};
use anyk::problems::urllc::URLLC;
use anyk::problems::{BUILT_IN, reader};
use anyk::{About, Options};
use anyk_fuzz::{MOST_BYTES, TARGETS, mutate, opened, sealed};

fn files(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.display().to_string(), fs::read(&path).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn the_corpus_has_no_finding() {
    for target in TARGETS {
        let files = files(target.name);
        assert!(files.len() >= 3, "{}: {} files", target.name, files.len());
        for (name, bytes) in files {
            assert!(
                bytes.len() < 4096,
                "{name} has {} bytes, expected less than 4096",
                bytes.len()
            );
            println!("{name}");
            (target.run)(&bytes);
        }
    }
}

/// Each target accepts some inputs of its corpus; a corpus of rejected inputs would test little.
#[test]
fn the_corpus_reaches_what_is_behind_the_checks() {
    let accepted = |target: &str, accept: &dyn Fn(&[u8]) -> bool| {
        files(target).iter().filter(|(_, bytes)| accept(bytes)).count()
    };
    let is_read = |about: &'static About, bytes: &[u8]| {
        let mut formulating = Formulating::new((about.make)(&Options::default()).unwrap());
        let mut read = reader(about).read(Input::new(bytes, "")).into_iter();
        read.all(|record| record.is_ok_and(|record| formulating.instance(record).is_ok()))
    };
    assert!(accepted("users", &|bytes| is_read(&URLLC, bytes)) >= 3);
    let links = reader(&INTERFERENCE);
    assert!(accepted("gains", &|bytes| read_networks(&links, Input::new(bytes, "")).is_ok()) >= 8);
    assert!(accepted("gains", &|bytes| is_read(&INTERFERENCE, bytes)) >= 8);
    // The corpus has allocations for every problem.
    for about in BUILT_IN {
        let is_read = |bytes: &[u8]| Allotment::of_json(about, Input::new(bytes, "")).is_ok();
        assert!(accepted("allocations", &is_read) >= 1, "{}", about.name);
    }
    assert!(accepted("samples", &|bytes| anyk::exchange::read_samples(bytes, "").is_ok()) >= 3);
    assert!(
        accepted("fading", &|bytes| anyk::exchange::read_fading_samples(bytes, "").is_ok()) >= 1
    );
    let cost = |bytes: &[u8]| {
        let samples = anyk::exchange::read_cost_samples(bytes, "");
        samples.is_ok_and(|samples| anyk::problems::separable::Cost::from_samples(&samples).is_ok())
    };
    assert!(accepted("cost", &cost) >= 3);
    let model =
        |bytes: &[u8]| sealed(bytes).is_some_and(|file| anyk::problems::read_model(&file).is_ok());
    assert!(accepted("model", &model) >= 5);
    let section = |bytes: &[u8]| anyk_fuzz::sections::read(bytes).is_some_and(|read| read.is_ok());
    assert!(accepted("section", &section) >= 3);
}

/// Sealing gives the same file as the writer of the library.
#[test]
fn sealed_and_opened_are_inverse() {
    for (name, bytes) in files("model") {
        let Some(file) = sealed(&bytes) else { continue };
        if let Ok(model) = anyk::problems::read_model(&file) {
            let own = model.bytes().unwrap();
            // The keys of JSON objects may have another order.
            let again = sealed(&opened(&own).unwrap()).unwrap();
            let again = anyk::problems::read_model(&again).unwrap().bytes().unwrap();
            assert!(again == own, "{name}");
        }
    }
}

#[test]
fn mutations_are_repeatable_and_bounded() {
    let text = br#"{"users":[{"id":"a","distance_m":60}]}"#;
    for seed in 0..2000 {
        let mutated = mutate(text, b"k,x,y\n1,2,3\n", 64, seed);
        assert!(mutated.len() <= 64);
        assert_eq!(mutated, mutate(text, b"k,x,y\n1,2,3\n", 64, seed));
    }
    assert!(mutate(&[7; 2 * MOST_BYTES], &[], MOST_BYTES, 1).len() <= MOST_BYTES);
}
