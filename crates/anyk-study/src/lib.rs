//! Tables, figures and propositions of the paper, and additional studies, as functions that return data.
//!
//! [`STUDIES`] lists them by name. A study runs in a [`Lab`], which trains, measures and caches results. It returns
//! tables with charts; the caller decides how to show them.
//!
//! ```no_run
//! use anyk::framework::Silent;
//! use anyk_study::{Lab, Study, StudySettings};
//! let mut lab = Lab::new(&StudySettings::default(), &Silent)?;
//! let study = Study::named("table3").ok_or("no such study")?;
//! for table in study.tables(&mut lab)? {
//!     println!("{}: {} rows", table.title, table.rows.len());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ablation;
mod alternatives;
mod asymptotic;
mod bench;
mod cache;
mod calibration;
mod closed_forms;
mod conservative;
mod decoupling;
mod diagnose;
mod effort;
mod entry;
mod fading;
mod figures;
mod fnn;
mod full_power;
mod hyper_parameters;
mod interference;
mod lab;
mod links_published;
mod outer;
mod paper_figures;
mod parameters;
mod pictures;
mod power_control;
mod power_spread;
mod price;
mod price_costs;
mod propositions;
mod published;
mod rates;
mod registry;
mod rust_seconds;
mod samples;
mod section;
mod seeds;
mod shown;
mod size_laws;
mod small_sizes;
mod stream_bench;
mod summary;
mod tables;
mod timing;
mod valid_cell;
mod verdict;

use std::sync::LazyLock;

pub use asymptotic::{AsymptoticForm, asymptotic_forms, largest_size};
pub use bench::{Figure, Figures, bench};
pub use decoupling::{Decoupling, EquivariantPolicy, decoupling};
pub use effort::Effort;
pub use entry::{Count, Entry, EntryResult, Measure, Outer, TEST_SAMPLES, TEST_SEED, TEST_SIZES};
pub use full_power::{FullPower, GainBin, full_power};
pub use lab::{Lab, StudySettings};
pub use paper_figures::{
    PAPER_COMPARISON, PAPER_EPSILON, PAPER_SMALL_K, PAPER_TIMES, PaperRow, our_entries,
    paper_entries,
};
pub use power_spread::{ExactPower, PowerSpread, WINDOW, power_spread};
pub use registry::{FORMER_PRICE, STUDIES, Study};
pub use rust_seconds::rust_seconds;
pub use section::{Section, SectionError, Sections};
pub use size_laws::{Family, SizeLaw, SizeLawPoint, size_law};
pub use stream_bench::Stream;
pub use summary::{CitedClaim, Shown, Summary};
pub(crate) use timing::{
    median_seconds, policy_us, random_cell, short_price_policy, short_sampled_policy, solve_us,
    untrained_p_gnn,
};

/// Fingerprints of the sources of the library and of the studies: 32 hexadecimal digits. Each cached result contains
/// them, so a result is measured again if the sources change.
/// Returns the fingerprints of the sources of the library and the studies.
pub fn sources() -> &'static str {
    &SOURCES
}

static SOURCES: LazyLock<String> =
    LazyLock::new(|| format!("{}{}", anyk::SOURCES, env!("ANYK_SOURCES")));
