//! The paper's tables and figures: what it trained, what it printed or says, and the same measured
//! here.

mod asymptotic;
mod decoupling;
mod entry;
mod figures;
mod full_power;
pub(crate) mod others;
mod power_spread;
pub(crate) mod size_laws;
mod toy;

pub use asymptotic::{AsymptoticForm, asymptotic_forms, largest_size};
pub use decoupling::{Decoupling, EquivariantPolicy, decoupling};
pub use entry::{
    Entry, EntryResult, Measure, PROGRESS_CALLS, TEST_SEED, TEST_SIZES, second_worst, worst_but,
};
pub use figures::{
    PAPER_COMPARISON, PAPER_EPSILON, PAPER_SMALL_K, PAPER_TIMES, PaperRow, paper_entries,
};
pub use full_power::{FullPower, GainBin, full_power};
pub use others::Input;
pub use power_spread::{ExactPower, PowerSpread, WINDOW, power_spread};
pub use size_laws::{Family, SizeLaw, SizeLawPoint, size_law};
pub use toy::{ToyPoint, ToyPolicy, toy_policies};
