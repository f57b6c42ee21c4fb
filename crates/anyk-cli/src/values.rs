//! Parsers for the values of flags: whole numbers, lists of numbers and ranges, and times.

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
pub(crate) fn sizes(text: &str) -> Result<Listed<usize>, String> {
    let most = anyk::limits::MOST_USERS as u64;
    let sizes = numbers(text, '-', (1, most))?;
    let sizes = sizes.into_iter().filter_map(|size| usize::try_from(size).ok()).collect();
    Ok(Listed(sizes))
}

/// Parses seeds, also as ranges: `1..10`.
pub(crate) fn seeds(text: &str) -> Result<Listed<u64>, String> {
    numbers(&text.replace("..", "-"), '-', (0, u64::MAX)).map(Listed)
}

/// Maximum length of a list after its ranges are expanded.
const MOST_LISTED: usize = 10_000;

/// Parses a list of numbers and ranges. A range includes both ends and may have a step after a colon.
fn numbers(text: &str, dash: char, (least, most): (u64, u64)) -> Result<Vec<u64>, String> {
    let wrong = |part: &str| {
        format!(
            "{part:?} is invalid; expected numbers from {least} to {most} or ranges, such as 1,5,10-50:10"
        )
    };
    let mut all = Vec::new();
    for part in text.split(',').map(str::trim) {
        let number = |text: &str| {
            let number: Option<u64> = text.trim().parse().ok();
            number.filter(|number| (least..=most).contains(number)).ok_or_else(|| wrong(part))
        };
        let (range, step) = match part.split_once(':') {
            Some((range, step)) => (range, step.trim().parse().ok().filter(|step| *step > 0)),
            None => (part, Some(1usize)),
        };
        let step = step.ok_or_else(|| wrong(part))?;
        let (first, last) = match range.split_once(dash) {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(range)?, number(range)?),
        };
        if last < first {
            return Err(wrong(part));
        }
        for number in (first..=last).step_by(step).take(MOST_LISTED + 1) {
            // Otherwise a repeated number would be measured twice.
            if !all.contains(&number) {
                all.push(number);
            }
        }
        if all.len() > MOST_LISTED {
            return Err(format!("the list has more than {MOST_LISTED} numbers; shorten it"));
        }
    }
    Ok(all)
}

/// Parses a time limit in seconds.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.trim().parse().ok().filter(|seconds| (0.001..=86400.0).contains(seconds));
    seconds.ok_or_else(|| "expected a number of seconds from 0.001 to 86400".to_owned())
}
