//! Evaluation of models of every kind.

#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicU64, Ordering};

use crate::trainings::ALL;
use anyk::framework::{Observer, Options, Trials, Verb};
use anyk::problems::read_model;

/// Observer that counts parts.
#[derive(Default)]
struct Counts {
    begun: AtomicU64,
    done: AtomicU64,
}

impl Observer for Counts {
    fn begin(&self, _what: &str, parts: u64) {
        self.begun.fetch_add(parts, Ordering::Relaxed);
    }

    fn done(&self, parts: u64) {
        self.done.fetch_add(parts, Ordering::Relaxed);
    }
}

#[test]
fn evaluation_reports_its_progress() {
    let trials = Trials::new(vec![1, 2], 4, 1);
    for training in &ALL {
        let model = read_model(&training.model()).unwrap();
        let mut options = Options::default();
        if model.flags(Verb::Evaluate).iter().any(|spec| spec.name == "fading") {
            options.set("fading", "rayleigh");
        }
        let counts = Counts::default();
        model.evaluate(&options, &trials, &counts).unwrap();
        let [begun, done] = [counts.begun, counts.done].map(AtomicU64::into_inner);
        assert!(begun == done && done >= 8, "{}: {done} of {begun}", training.name);
    }
}
