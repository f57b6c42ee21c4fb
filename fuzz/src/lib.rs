//! Fuzz targets: each takes bytes and panics when the library breaks one of its promises about files. Bad
//! input gets an error; what is accepted holds no number that is not finite, and can be written and read back.
//!
//! `cargo xtask fuzz` runs them; `fuzz/README.md` says how.

// A target tells of a broken promise by a panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::missing_panics_doc)]

mod answers;
mod files;
pub mod models;
mod mutate;
mod sealed;
pub mod sections;

pub use mutate::mutate;
pub use sealed::{opened, sealed};

/// One target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, and that of its folder of the corpus.
    pub name: &'static str,
    /// Takes an input; panics on a finding.
    pub run: fn(&[u8]),
}

/// Every target.
pub static TARGETS: &[Target] = &[
    Target { name: "users", run: files::users },
    Target { name: "gains", run: files::gains },
    Target { name: "samples", run: files::samples },
    Target { name: "fading", run: files::fading },
    Target { name: "cost", run: files::cost },
    Target { name: "config", run: files::config },
    Target { name: "lines", run: answers::lines },
    Target { name: "allocations", run: answers::allocations },
    Target { name: "model", run: models::model },
    Target { name: "section", run: sections::section },
];

/// The target of a name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// The longest input: more only makes each run slower.
pub const MOST_BYTES: usize = 16 * 1024;
