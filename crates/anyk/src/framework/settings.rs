//! Checks of shared training settings, made before samples are drawn or memory is allocated.

use crate::framework::Schedule;
use crate::invalid::Invalid;
use crate::limits::{MOST_DRAWN, MOST_TRAINING_SAMPLES};
use crate::network::PriceResponse;

/// Returns an error unless `sound` is true.
pub(crate) fn check(
    field: &'static str,
    sound: bool,
    value: impl FnOnce() -> String,
    expected: &'static str,
) -> Result<(), Invalid> {
    if sound { Ok(()) } else { Err(Invalid::value(field, value(), expected)) }
}

/// Returns numbers as text, separated by commas.
pub(crate) fn joined(numbers: &[usize]) -> String {
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    numbers.join(",")
}

/// Checks the sizes and the number of training samples, all of which are kept in memory.
pub(crate) fn check_samples(train_k: &[usize], samples: usize) -> Result<(), Invalid> {
    let sizes = !train_k.is_empty() && train_k.iter().all(|k| (1..=10_000).contains(k));
    check("train_k", sizes, || joined(train_k), "sizes from 1 to 10000")?;
    let users = train_k.iter().sum::<usize>().saturating_mul(samples);
    let room = (1..=MOST_TRAINING_SAMPLES).contains(&samples) && users <= MOST_DRAWN;
    let expected = "1 to 1000000, and no more than 100000000 users in all";
    check("samples", room, || samples.to_string(), expected)
}

/// Checks the training settings of a response to a price.
pub(crate) fn check_price_response(
    train_k: &[usize],
    samples: usize,
    network: &PriceResponse,
    pace: (usize, u64, Schedule),
) -> Result<(), Invalid> {
    let hidden = network.hidden;
    check("hidden", (1..=1024).contains(&hidden), || hidden.to_string(), "1 to 1024 neurons")?;
    check_training(train_k, samples, pace)
}

/// Checks sizes, samples, batch size, steps and learning rate.
pub(crate) fn check_training(
    train_k: &[usize],
    samples: usize,
    (batch, steps, rate): (usize, u64, Schedule),
) -> Result<(), Invalid> {
    check_samples(train_k, samples)?;
    check("batch", (1..=4096).contains(&batch), || batch.to_string(), "1 to 4096")?;
    check("steps", steps <= 1 << 32, || steps.to_string(), "at most 2^32")?;
    let rate = rate.at(0, steps);
    check("rate", rate > 0.0 && rate <= 1.0, || rate.to_string(), "a learning rate up to 1")
}
