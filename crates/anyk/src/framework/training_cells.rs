//! Sizes and sample counts for training on the users of a cell.

use crate::framework::{OptionSpec, OptionValue, Options};
use crate::invalid::Invalid;
use crate::limits::MOST_TRAINING_SAMPLES;

/// Returns the options for training on the users of a cell: sizes, samples and the seed.
pub(crate) fn training_specs() -> [OptionSpec; 3] {
    let sizes = "Numbers of users in the training samples, separated by commas";
    let samples = "Number of training samples for each number of users";
    let seed = "Seed of the samples, the initialization and the order of samples";
    [
        OptionSpec::new("train-k", OptionValue::Sizes, sizes).or("10"),
        OptionSpec::new("samples", OptionValue::Whole("N"), samples).or("2000"),
        OptionSpec::new("seed", OptionValue::Whole("SEED"), seed).or("1"),
    ]
}

/// Reads the sizes and the number of samples for training on the users of a cell from the options.
pub(crate) fn training_cells(options: &Options) -> Result<(Vec<usize>, usize), Invalid> {
    let sizes = options.sizes("train-k")?.unwrap_or_else(|| vec![10]);
    #[allow(clippy::cast_possible_truncation)]
    let samples = options
        .whole("samples", 1, MOST_TRAINING_SAMPLES as u64)?
        .map_or(2000, |count| count as usize);
    Ok((sizes, samples))
}
