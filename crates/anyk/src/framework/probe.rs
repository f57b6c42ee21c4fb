//! A model is asked for answers before it is used, and before it takes its name.

use crate::framework::{Error, LoadedModel, ModelError, Quantity};

/// Sizes of the cells that a model is asked about. Two: making any-gnn ready takes milliseconds, for each.
const SIZES: [usize; 2] = [1, 100];
/// Cells of each size.
const CELLS: u64 = 8;
/// Of the cells.
const SEED: u64 = 0x0B5E_55ED;

/// Refuses a model that does not answer random cells, drawn as those that it was trained on, with amounts that
/// are numbers, not negative and within the budget. A file may have the right shape and checksum and still be
/// damaged, or made to do harm.
pub(crate) fn probe(model: &dyn LoadedModel) -> Result<(), ModelError> {
    let refuse = |size: usize, error: Error| {
        let what = if size == 1 { "user" } else { "users" };
        ModelError::Content(format!("it has no answer for {size} {what}: {error}"))
    };
    let source = model.source(Quantity::Power).map_err(|error| refuse(1, error))?;
    let Some(source) = source else { return Ok(()) };
    for size in SIZES {
        let ready = match source.at_size(size) {
            // A fully-connected network is for some sizes.
            Err(Error::Model(ModelError::TooLarge { most, .. })) => source.at_size(most),
            other => other,
        };
        let mut draw = ready.map_err(|error| refuse(size, error))?;
        for index in 0..CELLS {
            draw.draw(SEED, index, None).map_err(|error| refuse(size, error))?;
        }
    }
    Ok(())
}
