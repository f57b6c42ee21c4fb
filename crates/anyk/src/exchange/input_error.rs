//! Error of a reader, and helpers for messages of all text readers.

use std::fmt::{Display, Write as _};

use thiserror::Error;

/// Error in an input file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}: {place}{message}")]
pub struct InputError {
    /// File name, as the caller gave it.
    pub file: String,
    /// Position: `"line 3: "`, `"user 2 (\"b\"): "`, `"instance 4: "` or empty.
    pub place: String,
    /// Field, value, and what is accepted.
    pub message: String,
    /// Cell with the error, if a table contains several cells.
    pub cell: Option<CellPlace>,
}

/// Cell of a table that contains several cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellPlace {
    /// Name of the cell as JSON: a number or a text.
    pub name: String,
    /// Line of the error.
    pub line: u64,
}

impl InputError {
    /// Builds an error at a position, which is given without a colon, and is empty if the error concerns the
    /// whole file.
    pub(crate) fn at(file: &str, place: &str, message: String) -> Self {
        let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
        Self { file: file.to_owned(), place, message, cell: None }
    }

    /// Returns the error with the cell of the table that it concerns.
    pub(crate) fn in_cell(self, cell: CellPlace) -> Self {
        Self { cell: Some(cell), ..self }
    }

    /// Builds an error about the whole file.
    pub(crate) fn whole(file: &str, message: &dyn Display) -> Self {
        Self::at(file, "", message.to_string())
    }

    /// Builds an error for JSON that could not be read, with the text near the position. The position of the
    /// error refers to `text`. In the file, `lines` lines and then `before` precede this text.
    pub(crate) fn json(
        file: &str,
        (before, lines): (&str, usize),
        text: &str,
        error: &serde_json::Error,
        format: &str,
    ) -> Self {
        let mut message = error.to_string();
        // The position is already part of `place`.
        if let Some(end) = message.rfind(" at line ") {
            message.truncate(end);
        }
        // The message may quote a string of megabytes.
        if let Some((end, _)) = message.char_indices().nth(200) {
            message.truncate(end);
            message.push('…');
        }
        let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
        let start = floor_char(line, error.column().saturating_sub(30));
        let end = floor_char(line, error.column().saturating_add(10).min(line.len()));
        let near = line.get(start..end).unwrap_or_default();
        if !near.is_empty() {
            let _ = write!(message, ", near `{near}`");
        }
        if near.contains("NaN") || near.contains("nan") || near.contains("Infinity") {
            message.push_str(" (JSON has no NaN and no infinity; expected a finite number)");
        } else {
            let _ = write!(message, "; expected {format}");
        }
        let lines = lines + before.bytes().filter(|&byte| byte == b'\n').count();
        let left = before.len() - before.rfind('\n').map_or(0, |end| end + 1);
        let column = error.column() + if error.line() == 1 { left } else { 0 };
        Self::at(file, &format!("line {}, column {column}", lines + error.line()), message)
    }
}

/// Formats that AnyK does not read: the first bytes of a file, its format, and the Python function that reads
/// it.
const OTHER_FORMATS: [(&[u8], &str, &str); 5] = [
    (b"PAR1", "a Parquet file", "pandas.read_parquet"),
    (b"PK\x03\x04", "an archive (.npz, .zip)", "numpy.load"),
    (b"MATLAB 5.0 MAT", "a MATLAB file", "scipy.io.loadmat"),
    (b"MATLAB 7.3 MAT", "a MATLAB file of version 7.3", "h5py.File"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", "h5py.File"),
];

/// Returns an error that says how to convert the file if it has one of the formats that AnyK does not read.
pub(crate) fn check_format(bytes: &[u8], file: &str, expected: &str) -> Result<(), InputError> {
    match OTHER_FORMATS.iter().find(|(magic, ..)| bytes.starts_with(magic)) {
        None => Ok(()),
        Some((_, found, reader)) => {
            let message = format!(
                "this is {found}, expected {expected}; convert it in Python with {reader} and numpy.save or \
                 DataFrame.to_csv(index=False)"
            );
            Err(InputError::at(file, "", message))
        }
    }
}

/// Decodes the text of a file without its byte-order mark.
pub(crate) fn decode<'a>(bytes: &'a [u8], file: &str, format: &str) -> Result<&'a str, InputError> {
    check_format(bytes, file, format)?;
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&b| b == b'\n').count();
        let message = format!("byte {} is not UTF-8, expected {format}", error.valid_up_to() + 1);
        InputError::at(file, &format!("line {line}"), message)
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Maximum number of fields in a line of CSV, and of unknown keys in a JSON object. A line or an object is held
/// in memory as a whole, and takes more memory than its text.
pub(crate) const MOST_FIELDS: usize = 1000;

/// Rejects CSV with more fields in a line than any supported table has, or with a quotation mark that is never closed.
pub(crate) fn check_fields(text: &str, separator: u8, file: &str) -> Result<(), InputError> {
    if let Some(line) = unclosed_quote(text, separator) {
        let message =
            "a quotation mark is never closed, expected another one at the end of its field"
                .to_owned();
        return Err(InputError::at(file, &format!("line {line}"), message));
    }
    let fields = |line: &str| 1 + line.bytes().filter(|&byte| byte == separator).count();
    match text.split(['\n', '\r']).map(fields).find(|&fields| fields > MOST_FIELDS) {
        None => Ok(()),
        Some(fields) => {
            let message = format!("a line has {fields} fields, expected at most {MOST_FIELDS}");
            Err(InputError::at(file, "", message))
        }
    }
}

/// Returns the line of a quotation mark that begins a field and is never closed: the rest of the table would be part of
/// this field.
fn unclosed_quote(text: &str, separator: u8) -> Option<usize> {
    let (mut line, mut opened, mut begins, mut is_comment) = (1, None, true, false);
    let mut bytes = text.bytes().peekable();
    let mut last = b'\n';
    while let Some(byte) = bytes.next() {
        if byte == b'\n' {
            line += 1;
        }
        if opened.is_some() {
            // Two marks within a quoted field are one mark of its text.
            if byte == b'"' && bytes.next_if_eq(&b'"').is_none() {
                opened = None;
            }
        } else {
            is_comment = !matches!(byte, b'\n' | b'\r')
                && (is_comment || (byte == b'#' && matches!(last, b'\n' | b'\r')));
            if byte == b'"' && begins && !is_comment {
                opened = Some(line);
            }
            begins = byte == separator || matches!(byte, b'\n' | b'\r');
        }
        last = byte;
    }
    opened
}

/// Shortens a value, which may be megabytes long, to 60 characters without control characters.
pub(crate) fn shorten(value: &str) -> String {
    let shown = value.chars().take(60);
    let mut short: String = shown.map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if value.chars().nth(60).is_some() {
        short.push('…');
    }
    short
}

/// Returns a hint if a number is invalid because it contains a comma, or an empty text otherwise.
pub(crate) fn comma_hint(text: &str) -> &'static str {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.trim().trim_matches('"').trim().trim_start_matches(['-', '+']);
    match text.split_once(',') {
        Some((whole, rest)) if digits(whole) && rest.starts_with(|c: char| c.is_ascii_digit()) => {
            " (use a decimal point, not a comma)"
        }
        _ => "",
    }
}

/// Returns the largest character boundary at or below `index`.
fn floor_char(text: &str, index: usize) -> usize {
    (0..=index.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}

/// Returns the separator between the fields of a table: comma, semicolon or tab, whichever is most frequent in
/// the header.
pub(crate) fn separator(text: &str) -> u8 {
    let header = text.lines().find(|line| !line.starts_with('#') && !line.trim().is_empty());
    let count = |sign: u8| header.unwrap_or_default().bytes().filter(|&byte| byte == sign).count();
    // If counts are equal, `max_by_key` takes the last: the comma.
    [b'\t', b';', b','].into_iter().max_by_key(|&sign| count(sign)).unwrap_or(b',')
}

#[cfg(test)]
mod tests {
    use super::unclosed_quote;

    #[test]
    fn the_line_of_an_unclosed_quotation_mark_is_found() {
        let line = |text: &str| unclosed_quote(text, b',');
        assert_eq!(line("id,x\na,\"1\nb,2\n"), Some(2));
        assert_eq!(line("id,x\na,1\n\"b\"\",2"), Some(3));
        for closed in
            ["id\n\"a,b\nc\"\n", "id,\"x\"\"y\"\n", "a,5\" disk\n", "# \"a\n", "#,\"b\nid\n", ""]
        {
            assert_eq!(line(closed), None, "{closed}");
        }
    }
}
