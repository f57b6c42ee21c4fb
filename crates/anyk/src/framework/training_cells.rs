//! The size of trainings on users of a cell.

use crate::framework::Options;
use crate::invalid::Invalid;
use crate::limits::MOST_TRAINING_SAMPLES;

/// Sizes and samples of a training on users of a cell.
pub(crate) fn training_cells(options: &Options) -> Result<(Vec<usize>, usize), Invalid> {
    let sizes = options.sizes("train-k")?.unwrap_or_else(|| vec![10]);
    #[allow(clippy::cast_possible_truncation)]
    let samples = options
        .whole("samples", 1, MOST_TRAINING_SAMPLES as u64)?
        .map_or(2000, |count| count as usize);
    Ok((sizes, samples))
}
