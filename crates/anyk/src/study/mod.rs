//! The paper's tables and figures: what it trained, what it printed or says, and the same measured
//! here.

mod asymptotic;
mod decoupling;
mod entry;
mod figures;
mod full_power;
mod power_spread;
mod size_laws;

pub use asymptotic::{AsymptoticForm, asymptotic_forms, largest_size};
pub use decoupling::{Decoupling, EquivariantPolicy, decoupling};
pub use entry::{Entry, EntryResult, Measure, TEST_SEED, TEST_SIZES};
pub use figures::{
    PAPER_COMPARISON, PAPER_EPSILON, PAPER_SMALL_K, PAPER_TIMES, PaperRow, paper_entries,
};
pub use full_power::{FullPower, GainBin, full_power};
pub use power_spread::{ExactPower, PowerSpread, WINDOW, power_spread};
pub use size_laws::{Family, SizeLaw, SizeLawPoint, size_law};
