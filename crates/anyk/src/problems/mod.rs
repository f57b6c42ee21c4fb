//! The problems, a room each: statement and judge, solvers, networks and their training, input and answer.
//!
//! A new problem is a folder here, its `mod` line and a line in [`ROOMS`].

pub mod closed_forms;
pub mod interference;
pub mod separable;
pub mod urllc;
pub mod urllc_power;

use crate::framework::{LoadedModel, ModelError, ModelFile, Room, probe};

/// Every problem that there is. A room may build on those before it, never on one after it.
pub static ROOMS: &[&dyn Room] = &[
    &urllc::URLLC,
    &urllc_power::URLLC_POWER,
    &closed_forms::QOS_POWER,
    &closed_forms::EQUAL_BANDWIDTH,
    &interference::INTERFERENCE,
    &interference::LINK_SCHEDULING,
    &separable::SEPARABLE,
];

/// The room of a name.
pub fn room(name: &str) -> Option<&'static dyn Room> {
    ROOMS.iter().copied().find(|room| room.name() == name)
}

/// Reads a model of any problem; a damaged, truncated, foreign, older or newer file is refused, and so is a model
/// that does not answer random cells with amounts that can be.
pub fn read_model(bytes: &[u8]) -> Result<Box<dyn LoadedModel>, ModelError> {
    let file = ModelFile::read(bytes)?;
    match ROOMS.iter().copied().find(|room| room.name() == file.problem()) {
        Some(room) => {
            let model = room.read(file)?;
            probe(&*model)?;
            Ok(model)
        }
        None => Err(ModelError::UnknownProblem(file.problem().to_owned())),
    }
}
