//! placeholder
pub mod channel;
mod config;
pub mod evaluation;
pub mod exchange;
pub mod policy;
pub mod problem;
pub mod solver;
pub mod tolerance;
pub mod units;

pub use config::{
    CellConfig, Config, ConfigError, FrameConfig, PathLossConfig, RoadConfig, System,
};
