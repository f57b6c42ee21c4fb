//! From samples to parameters: optimizers, losses, and the paper's training procedures.

mod adam;
mod algorithm1;
mod any_gnn;
mod any_ranges;
mod closed_form;
mod common_law;
mod dataset;
mod engine;
mod export;
mod fully_connected;
mod lagrangian;
mod learn_bandwidth;
mod on_samples;
mod power_control;
mod pretrain;
mod recipe;
mod reference;
mod supervised;

pub use adam::Adam;
pub(crate) use algorithm1::fnn_network;
pub use algorithm1::{Method, TrainError, TrainSettings, TrainState, Trainer};
pub use any_gnn::{ANY_PROGRESS, AnySettings, TrainedAny, train_any, train_any_on};
pub use any_ranges::{Span, TrainRanges, TrainedRanges, wide_services};
pub use closed_form::{
    CLOSED_FORM_PROGRESS, ClosedForm, ClosedFormSettings, Scaling, TrainedNetworks, train_networks,
};
pub use common_law::common_pretraining;
pub(crate) use common_law::{common_unit_hz, pretrain_common_law};
pub use export::StepRecord;
pub(crate) use fully_connected::fnn_input;
pub use learn_bandwidth::{LEARN_PROGRESS, SampledSettings, learn_bandwidth};
pub use on_samples::{Cell, SampleNetwork, train_on_samples};
pub use power_control::{PowerLoss, PowerTrainSettings, PowerTrainState, PowerTrainer};
pub use pretrain::{
    PretrainError, PretrainLoss, PretrainSettings, RelativeError, measure_law, pretrain_law,
};
pub use recipe::{Recipe, Schedule, Update};
