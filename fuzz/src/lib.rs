//! Fuzz targets. Each takes bytes and panics if the library breaks a guarantee about files: bad input gives an error,
//! and accepted input contains only finite numbers and can be written and read back.
//!
//! `cargo xtask fuzz` runs the targets; see `fuzz/README.md`.

// A target reports a finding by a panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::missing_panics_doc)]

mod answers;
mod files;
pub mod models;
mod mutate;
mod sealed;
pub mod sections;

pub use mutate::mutate;
pub use sealed::{opened, sealed};

/// A fuzz target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Name of the target and of its folder in the corpus.
    pub name: &'static str,
    /// Function that takes an input and panics on a finding.
    pub run: fn(&[u8]),
}

/// All targets.
pub static TARGETS: &[Target] = &[
    Target { name: "users", run: files::users },
    Target { name: "classes", run: files::classes },
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

/// Returns the target with a name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Maximum length of an input; longer inputs only make a run slower.
pub const MOST_BYTES: usize = 16 * 1024;
