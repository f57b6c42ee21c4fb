//! Runs libFuzzer on the target in the environment variable `ANYK_FUZZ_TARGET`, with its own mutations and those of
//! this crate in turn.

#![no_main]

use std::sync::LazyLock;

use anyk_fuzz::{TARGETS, Target, mutate, target};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("ANYK_FUZZ_TARGET").unwrap_or_default();
    target(&name).unwrap_or(&TARGETS[0])
});

fuzz_target!(|bytes: &[u8]| (TARGET.run)(bytes));

fuzz_mutator!(|bytes: &mut [u8], size: usize, most: usize, seed: u32| {
    if seed.is_multiple_of(2) {
        return fuzzer_mutate(bytes, size, most);
    }
    let mutated = mutate(&bytes[..size], &[], most, u64::from(seed));
    bytes[..mutated.len()].copy_from_slice(&mutated);
    mutated.len()
});
