//! Checks of the settings that trainings share: bounds before anything is drawn or allocated.

use crate::framework::{Schedule, TrainError};
use crate::memory::{MemoryBudget, TooMuchMemory, product};
use crate::network::PriceResponse;

/// An error unless a setting is sound.
pub(crate) fn check(
    field: &'static str,
    sound: bool,
    value: impl FnOnce() -> String,
    expected: &'static str,
) -> Result<(), TrainError> {
    if sound { Ok(()) } else { Err(TrainError::Setting { field, value: value(), expected }) }
}

/// Asks for the memory of the cells of a training before any is drawn: `user_bytes` for each user of each.
pub(crate) fn allow_cells(
    train_k: &[usize],
    samples: usize,
    user_bytes: usize,
) -> Result<(), TooMuchMemory> {
    let bytes = |&size: &usize| {
        product(&[samples, size, user_bytes]).saturating_add(product(&[samples, CELL_BYTES]))
    };
    let needed = train_k.iter().map(bytes).fold(0, u128::saturating_add);
    let sizes: Vec<String> = train_k.iter().take(10).map(usize::to_string).collect();
    let what = format_args!("{samples} training samples of K = {}", sizes.join(", "));
    MemoryBudget::current().allow(what, needed)
}

/// Memory of a training cell beside its users: its lists, and its place in the order of an epoch.
const CELL_BYTES: usize = 256;

/// Checks what the trainings of a response to a price have in common.
pub(crate) fn check_price_response(
    train_k: &[usize],
    samples: usize,
    network: &PriceResponse,
    pace: (usize, u64, Schedule),
) -> Result<(), TrainError> {
    let hidden = network.hidden;
    check("hidden", (1..=1024).contains(&hidden), || hidden.to_string(), "1 to 1024 neurons")?;
    check_training(train_k, samples, pace)
}

/// Checks sizes and samples of a training, and its batch, steps and rate.
pub(crate) fn check_training(
    train_k: &[usize],
    samples: usize,
    (batch, steps, rate): (usize, u64, Schedule),
) -> Result<(), TrainError> {
    let sizes = !train_k.is_empty() && train_k.iter().all(|k| (1..=10_000).contains(k));
    check("train_k", sizes, || format!("{train_k:?}"), "sizes from 1 to 10000")?;
    let users = train_k.iter().try_fold(0usize, |sum, &k| sum.checked_add(k));
    let users = users.and_then(|users| users.checked_mul(samples));
    let room = samples > 0 && users.is_some_and(|users| users <= 100_000_000);
    let expected = "at least one, and no more than 1e8 users in all";
    check("samples", room, || samples.to_string(), expected)?;
    check("batch", (1..=4096).contains(&batch), || batch.to_string(), "1 to 4096")?;
    check("steps", steps <= 1 << 32, || steps.to_string(), "at most 2^32")?;
    let rate = rate.at(0, steps);
    check("rate", rate > 0.0 && rate <= 1.0, || rate.to_string(), "a learning rate up to 1")
}
