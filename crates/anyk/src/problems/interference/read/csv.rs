//! Gain matrices and other rows of numbers as text, separated by commas, semicolons, tabs or spaces.

use crate::channel::GainMatrix;
use crate::exchange::{InputError, comma_hint, shorten};
use crate::limits::{MOST_LINKS, MOST_USERS};

/// Returns the lines that contain numbers, with their line numbers; skips empty lines and comments.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Returns whether a text looks like rows of numbers.
pub(super) fn looks_like(text: &str) -> bool {
    lines(text).next().is_some_and(|(_, line)| {
        let first = line.split([',', ';', '\t', ' ']).next().unwrap_or_default();
        number(first).is_some() || line.contains([',', ';', '\t'])
    })
}

/// Parses a number between two separators, with or without quotes.
fn number(field: &str) -> Option<f64> {
    field.trim().trim_matches('"').trim().parse().ok()
}

/// Calls `take` for every number of a text, and `end` after each row with its index and length. The first row
/// determines the separator.
fn each_number(
    (text, file, format): (&str, &str, &str),
    mut take: impl FnMut(f64),
    mut end: impl FnMut(usize, usize) -> Result<(), String>,
) -> Result<usize, InputError> {
    let mut separator = None;
    let mut rows = 0;
    for (place, line) in lines(text) {
        let fail = |message: String| InputError::at(file, &format!("line {place}"), message);
        let separator = *separator.get_or_insert_with(|| {
            [';', '\t', ','].into_iter().find(|sign| line.contains(*sign)).unwrap_or(' ')
        });
        if rows == MOST_USERS {
            return Err(fail(format!("there are more rows, expected at most {MOST_USERS}")));
        }
        let mut column = 0;
        let mut put = |field: &str| {
            let Some(value) = number(field) else {
                let found = shorten(field.trim());
                let hint = comma_hint(field);
                let message =
                    format!("column {column} is {found:?}, expected a number{hint}: {format}");
                return Err(fail(message));
            };
            if column == MOST_LINKS {
                return Err(fail(format!("there are more columns, expected at most {MOST_LINKS}")));
            }
            column += 1;
            take(value);
            Ok(())
        };
        if separator == ' ' {
            line.split_whitespace().try_for_each(&mut put)?;
        } else {
            // Some programs end every line with a separator.
            line.strip_suffix(separator).unwrap_or(line).split(separator).try_for_each(&mut put)?;
        }
        end(rows, column).map_err(&fail)?;
        rows += 1;
    }
    Ok(rows)
}

/// Reads one square matrix.
pub(super) fn read(text: &str, file: &str, format: &str) -> Result<GainMatrix, InputError> {
    let mut gains: Vec<f64> = Vec::new();
    let mut width = 0;
    let rows = each_number(
        (text, file, format),
        |gain| gains.push(gain),
        |row, length| {
            if row == 0 {
                width = length;
            }
            if length != width {
                return Err(format!("row {row} has {length} gains, expected {width} as in row 0"));
            }
            // Check now, since any number of rows may follow.
            if row >= width {
                return Err(format!(
                    "there are more rows than the {width} columns, expected a square matrix"
                ));
            }
            Ok(())
        },
    )?;
    let fail = |message: String| InputError::at(file, "", message);
    if rows != width {
        let found = format!("{rows} rows of {width} gains, expected as many rows as columns");
        return Err(fail(found));
    }
    GainMatrix::new(rows, gains).map_err(|error| fail(error.to_string()))
}

/// Reads rows of numbers, which may have different lengths.
pub(super) fn read_rows(text: &str, file: &str, format: &str) -> Result<Vec<Vec<f64>>, InputError> {
    let (mut rows, row) = (Vec::new(), std::cell::RefCell::new(Vec::new()));
    each_number(
        (text, file, format),
        |value| row.borrow_mut().push(value),
        |_, _| {
            rows.push(row.take());
            Ok(())
        },
    )?;
    if rows.is_empty() {
        return Err(InputError::at(file, "", format!("the file is empty, expected {format}")));
    }
    Ok(rows)
}
