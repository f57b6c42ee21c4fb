//! Shared code for training and evaluation in all problems.
//!
//! | | |
//! | --- | --- |
//! | [`Objective`], [`Plan`], [`Session`] | objective, settings and driver of a training run |
//! | [`Stored`], [`ModelFile`] | file format of a learned policy: a record and named tensors |
//! | [`over_instances`] | evaluation on random instances in parallel |
//! | [`Share`] | share of a run that is split among processes |
//! | [`Options`], [`CellOptions`] | options by name, and the options of a cell |
//! | [`Error`] | errors of the library |

mod adam;
pub(crate) mod batches;
mod cell_options;
mod error;
mod evaluate;
mod guarantee;
mod infeasible;
mod initialization;
mod law_fit;
mod lists;
mod method;
mod model;
mod observer;
mod on_samples;
mod options;
mod price_on_samples;
mod report;
mod schedule;
mod settings;
mod share;
pub(crate) mod supervised;
mod train;
mod training_cells;
mod training_context;
mod unit_values;
mod verb;

pub use adam::Adam;
pub use cell_options::CellOptions;
pub use error::{Error, ErrorKind, ModelError, OfCell, TrainError, Unjudged};
pub use evaluate::{Rows, over_instances};
pub(crate) use evaluate::{alternating, over_slice};
pub use guarantee::{Guarantee, MOST_CELLS};
pub use infeasible::Infeasibility;
pub(crate) use infeasible::{check_amounts, check_gain, checked_gains, no_users, wrong_size};
pub use initialization::Initialization;
pub(crate) use law_fit::{LawSample, fit_law, square};
pub use law_fit::{LawSizes, PretrainLoss, PretrainSettings};
pub use lists::{WrongList, read_seeds, read_sizes};
pub use method::Method;
pub(crate) use method::{FORMER_PRICE, PRICE};
pub use model::{ModelFile, Stored, Tensors, network_tensors};
pub use observer::{CancelOnly, Counted, Observer, Silent};
pub use on_samples::{Cell, SampleNetwork, train_on_samples};
pub(crate) use options::field_of;
pub use options::{OptionSpec, OptionValue, Options};
pub use price_on_samples::SamplePrice;
pub use report::{Chart, Claim, Claimant, Head, Holds, Picture, Series, Table, Value};
pub use schedule::{RatePer, Schedule, Update};
pub(crate) use settings::{check, check_price_response, check_samples, joined};
pub use share::{Share, Slice};
pub use train::{ATTEMPTS, Objective, Plan, Session, State};
pub(crate) use training_cells::{training_cells, training_specs};
pub use training_context::{Shared, TrainingContext};
pub use verb::{CalibrationSettings, Trials, Verb};
