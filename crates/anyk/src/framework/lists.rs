//! Lists of whole numbers as text: numbers and ranges, separated by commas.

use crate::limits::MOST_USERS;

/// Maximum length of a list after its ranges are expanded.
const MOST_LISTED: usize = 10_000;

/// Part of a list that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{part:?} is invalid; expected {expected}")]
pub struct WrongList {
    /// Part with the fault.
    pub part: String,
    /// Accepted values.
    pub expected: String,
}

/// Reads numbers of users, also as ranges with a step: `1,2,10-50:10`.
pub fn read_sizes(text: &str) -> Result<Vec<usize>, WrongList> {
    let sizes = numbers(text, (1, MOST_USERS as u64))?;
    Ok(sizes.into_iter().filter_map(|size| usize::try_from(size).ok()).collect())
}

/// Reads seeds, also as ranges: `1..10`.
pub fn read_seeds(text: &str) -> Result<Vec<u64>, WrongList> {
    numbers(&text.replace("..", "-"), (0, u64::MAX))
}

/// Reads a list of numbers and ranges. A range includes both ends and may have a step after a colon.
fn numbers(text: &str, (least, most): (u64, u64)) -> Result<Vec<u64>, WrongList> {
    let wrong = |part: &str| WrongList {
        part: part.to_owned(),
        expected: format!("numbers from {least} to {most} or ranges, such as 1,5,10-50:10"),
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
        let (first, last) = match range.split_once('-') {
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
            let expected = format!("a list of at most {MOST_LISTED} numbers");
            return Err(WrongList { part: part.to_owned(), expected });
        }
    }
    Ok(all)
}
