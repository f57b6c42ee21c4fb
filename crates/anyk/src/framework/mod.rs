//! What every problem shares, each once.
//!
//! | | |
//! | --- | --- |
//! | [`Problem`], [`Allocate`] | an instance and its judge; a solver or a model that answers it |
//! | [`Objective`], [`Plan`], [`Session`] | what is trained, how, and the one driver that does it |
//! | [`Model`], [`ModelFile`] | a learned policy on disk: a record and named tensors |
//! | [`over_instances`] | the one harness of measurements on random instances |
//! | [`Room`], [`LoadedModel`], [`Options`], [`Answer`] | a problem as the program sees it |

mod adam;
mod answer;
mod arrays;
mod assess;
pub(crate) mod batches;
mod cell_options;
mod cells;
mod compare;
mod counter;
mod error;
mod evaluate;
mod guarantee;
mod initialization;
mod law_fit;
mod method;
mod model;
mod observer;
mod on_samples;
mod options;
mod probe;
mod problem;
mod report;
mod room;
mod schedule;
mod settings;
mod source;
mod standing;
pub(crate) mod supervised;
mod train;
mod user_arrays;
mod workshop;

pub use adam::Adam;
pub use answer::{Answer, CellAnswer, Denied, Show, Text, TextPart};
pub(crate) use answer::{dropped_line, names};
pub use arrays::{Amount, ArrayView, Arrays, Instance, Instances, NamedArray, Responder};
pub(crate) use arrays::{JudgeColumns, Stated, responder};
pub use assess::{AssessDesk, Assessor, GivenTo, Goal, Miss, Verdict};
pub(crate) use assess::{Found, amounts, cell_assessor};
pub use cell_options::CellOptions;
pub(crate) use cells::{
    CellReading, cell_counter, in_cell, reference_options, refuse_own_class, sample_options,
    sample_users, training_cells,
};
pub use compare::{
    Case, Comparison, Contestant, Failed, Given, MakeResponder, Player, PlayerPolicy, Rounds,
    compare, complete_by_home,
};
pub(crate) use counter::counter;
pub use counter::{Answers, Counter, in_order};
pub use error::{Error, ErrorKind, ModelError, OfCell, TrainError, Unjudged};
pub(crate) use evaluate::check_count;
pub use evaluate::{Rows, over_instances};
pub use guarantee::{Guarantee, MOST_CELLS};
pub use initialization::Initialization;
pub(crate) use law_fit::{LawSample, fit_law, square};
pub use law_fit::{LawSizes, PretrainLoss, PretrainSettings};
pub use method::Method;
pub use model::{Model, ModelFile, Tensors, network_tensors};
pub use observer::{Counted, Observer, Quietly, Silent};
pub use on_samples::{Cell, SampleNetwork, train_on_samples};
pub use options::{Choice, OptionSpec, OptionValue, Options};
pub(crate) use probe::probe;
pub use problem::{Allocate, Infeasibility, Outcome, Problem, Proof, Refusal, Status};
pub(crate) use problem::{check_amounts, check_gain, checked_gains, no_users, wrong_size};
pub use report::{Chart, Claim, Claimant, Picture, Series, Table};
pub use room::{
    BuiltIn, Calibrated, CalibrationSettings, LoadedModel, Quantity, Room, Trained, Trials, Verb,
    no_better_than,
};
pub use schedule::{RatePer, Schedule, Update};
pub(crate) use settings::{check, check_price_response, check_samples, check_training, joined};
pub use source::{Draw, DrawInstance, Drawn, Pairs, Source};
pub use standing::{Standing, Summary};
pub use train::{ATTEMPTS, Objective, Plan, Session, State};
pub(crate) use user_arrays::{UserOfCell, judge_users, user_inputs, user_instances};
pub use workshop::{Shared, Workshop};
