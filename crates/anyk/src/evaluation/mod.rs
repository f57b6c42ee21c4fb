//! Measurements over many realizations.

mod closed_form;
mod learned;
mod moments;
mod optimum;
mod rate;
mod run;
mod statistics;

pub use closed_form::{ClosedFormResult, evaluate_closed_form, train_closed_form};
pub use learned::{SizeResult, TestSet};
pub use moments::Moments;
pub use optimum::{OptimumRow, optimum_over_sizes};
pub use rate::Rate;
pub use run::{RunError, finish, law_for};
pub use statistics::Mean;
