//! The paper's tables: what it trained, what it printed, and the same measured here.

mod entry;
mod figures;

pub use entry::{
    Entry, EntryResult, Measure, PROGRESS_CALLS, TEST_SEED, TEST_SIZES, second_worst, worst_but,
};
pub use figures::{
    PAPER_COMPARISON, PAPER_EPSILON, PAPER_SMALL_K, PAPER_TIMES, PaperRow, paper_entries,
};
