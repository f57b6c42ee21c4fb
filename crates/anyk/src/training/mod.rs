//! From samples to parameters: optimizers, losses, and the paper's training procedures.

mod adam;
mod algorithm1;
mod dataset;
mod engine;
mod lagrangian;
mod lanes;
mod pretrain;
mod recipe;
mod reference;

pub use adam::Adam;
pub(crate) use algorithm1::M_GNN_UNIT_HZ;
pub use algorithm1::{GnnMethod, TrainError, TrainSettings, TrainState, Trainer};
pub use pretrain::{
    PretrainError, PretrainLoss, PretrainSettings, RelativeError, measure_law, pretrain_law,
};
pub use recipe::{Recipe, Schedule, Update};
