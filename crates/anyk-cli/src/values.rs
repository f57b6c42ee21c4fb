//! Parsers for the values of flags: whole numbers, lists of numbers and ranges, and times.

use anyk::framework::{WrongList, read_seeds, read_sizes};

/// Error for text that is not a whole number within its bounds.
#[derive(Debug)]
pub(crate) struct NotWhole {
    what: &'static str,
    least: u64,
    most: u64,
}

impl std::fmt::Display for NotWhole {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { what, least, most } = self;
        write!(formatter, "expected a whole number{what} from {least} to {most}")
    }
}

impl std::error::Error for NotWhole {}

/// Returns a parser for whole numbers from `least` to `most`.
pub(crate) fn whole(least: u64, most: u64) -> impl Fn(&str) -> Result<u64, NotWhole> + Clone {
    move |text| {
        let number = text.trim().parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or(NotWhole { what: "", least, most })
    }
}

/// Parses a number of users.
pub(crate) fn size(text: &str) -> Result<usize, NotWhole> {
    let most = anyk::limits::MOST_USERS;
    let size = text.trim().parse().ok().filter(|size| (1..=most).contains(size));
    size.ok_or(NotWhole { what: " of users", least: 1, most: most as u64 })
}

/// Shard of a run, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    pub(crate) number: u64,
    pub(crate) of: u64,
}

/// Maximum number of shards of a run.
const MOST_SHARDS: u64 = 100_000;

/// Parses a shard such as `2/4`.
pub(crate) fn shard(text: &str) -> Result<Shard, String> {
    let numbers = text.split_once('/').and_then(|(number, of)| {
        Some(Shard { number: number.trim().parse().ok()?, of: of.trim().parse().ok()? })
    });
    let is_valid =
        |shard: &Shard| (1..=shard.of).contains(&shard.number) && shard.of <= MOST_SHARDS;
    let expected =
        || format!("expected i/n with i from 1 to n, such as 2/4, and n up to {MOST_SHARDS}");
    numbers.filter(is_valid).ok_or_else(expected)
}

/// Numbers from one list in an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed<T>(pub(crate) Vec<T>);

/// Parses numbers of users, also as ranges with a step: `1,2,10-50:10`.
pub(crate) fn sizes(text: &str) -> Result<Listed<usize>, WrongList> {
    read_sizes(text).map(Listed)
}

/// Parses seeds, also as ranges: `1..10`.
pub(crate) fn seeds(text: &str) -> Result<Listed<u64>, WrongList> {
    read_seeds(text).map(Listed)
}

/// Parses a time limit in seconds.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.trim().parse().ok().filter(|seconds| (0.001..=86400.0).contains(seconds));
    seconds.ok_or_else(|| "expected a number of seconds from 0.001 to 86400".to_owned())
}
