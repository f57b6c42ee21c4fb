//! What every problem shares, each once.

mod adam;
mod error;
mod guarantee;
mod observer;
mod on_samples;
mod problem;
mod recipe;
mod report;
pub(crate) mod supervised;

pub use adam::Adam;
pub use error::{Error, ErrorKind, ModelError, OptionError, TrainError};
pub use guarantee::{Guarantee, GuaranteeError};
pub use observer::{Observer, Quietly, Silent};
pub use on_samples::{Cell, SampleNetwork, train_on_samples};
pub use problem::{
    Allocate, Infeasibility, Outcome, Problem, ProblemError, Proof, Refusal, ValueError,
};
pub(crate) use problem::{check_gain, checked_gains};
pub use recipe::{Recipe, Schedule, Update};
pub(crate) use report::strings;
pub use report::{Chart, Series, Table};
