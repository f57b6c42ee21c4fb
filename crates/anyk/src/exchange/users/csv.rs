//! Users as CSV: a header, then a line for each user.

use std::cell::RefCell;
use std::collections::HashMap;

use super::spelling::slip_of;
use super::{
    CELL, COLUMNS, Cell, CellRecord, Extra, Fields, OF_ANSWERS, PLACES, UserReader, extra,
};
use crate::exchange::InputError;
use crate::exchange::input_error::{check_fields, shorten};
use crate::memory::Tally;

/// What a column holds.
enum Column {
    Known(usize),
    Cell,
    /// What answers have, and questions no use for.
    Answer,
    Other(Box<str>),
}

/// Comma, semicolon or tab: whichever the header has most of.
pub(in crate::exchange) fn separator(text: &str) -> u8 {
    let header = text.lines().find(|line| !line.starts_with('#') && !line.trim().is_empty());
    let count = |sign: u8| header.unwrap_or_default().bytes().filter(|&byte| byte == sign).count();
    // The last of several with as many: the comma.
    [b'\t', b';', b','].into_iter().max_by_key(|&sign| count(sign)).unwrap_or(b',')
}

pub(super) fn read(
    reader: &UserReader<'_>,
    text: &str,
    file: &str,
    tally: &RefCell<Tally>,
) -> Result<Vec<CellRecord>, InputError> {
    let fail = |place: &str, message: String| InputError::new(file, place, message);
    let separator = separator(text);
    check_fields(text, separator, file)?;
    let mut rows = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .flexible(true)
        .delimiter(separator)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let header = rows.headers().map_err(|error| fail("the header", error.to_string()))?.clone();
    let columns = columns(&header).map_err(|message| fail("the header", message))?;
    let cell = || Cell::new(reader, file, "line ".to_owned(), tally);
    let is_named = columns.iter().any(|column| matches!(column, Column::Cell));
    // In the order in which they first appear.
    let mut cells: Vec<(Extra, Cell<'_>)> = Vec::new();
    let mut place_of: HashMap<Box<str>, usize> = HashMap::new();
    if !is_named {
        cells.push((Extra::default(), cell()?));
    }
    let mut row = csv::StringRecord::new();
    let mut lines = Lines { text: text.as_bytes(), counted: 0, line: 1 };
    // Without an id, a user is called by its number among the rows.
    let mut count = 0u64;
    while rows.read_record(&mut row).map_err(|error| fail("", error.to_string()))? {
        count += 1;
        let line = lines.at(row.position().map_or(0, csv::Position::byte));
        let place = format!("line {line}");
        if row.len() != columns.len() {
            let expected = columns.len();
            let message = format!("{} fields, expected {expected} as in the header", row.len());
            return Err(fail(&place, message));
        }
        let mut values: [Option<&str>; COLUMNS.len()] = [None; COLUMNS.len()];
        let (mut others, mut name) = (Vec::new(), "");
        for (column, text) in columns.iter().zip(&row) {
            match column {
                Column::Known(known) => values[*known] = Some(text).filter(|text| !text.is_empty()),
                Column::Cell => name = text,
                Column::Answer => {}
                Column::Other(name) => {
                    let value = extra::of_text(text).map_err(|e| fail(&place, e.to_string()))?;
                    others.push((name.clone(), value));
                }
            }
        }
        let at = match place_of.get(name) {
            Some(&at) => at,
            None if !is_named => 0,
            None => {
                let value = extra::of_text(name).map_err(|e| fail(&place, e.to_string()))?;
                cells.push((Extra::new(vec![(CELL.into(), value)]), cell()?));
                place_of.insert(name.into(), cells.len() - 1);
                cells.len() - 1
            }
        };
        let [id, numbers @ ..] = values;
        let number = count.to_string();
        let id = Some(id.unwrap_or(&number));
        cells[at].1.push(Fields { number: line, id, numbers, extra: Extra::new(others) })?;
    }
    if cells.is_empty() {
        cells.push((Extra::default(), cell()?));
    }
    let finished =
        |(extra, cell): (Extra, Cell<'_>)| Ok(CellRecord { users: cell.finish("")?, extra });
    cells.into_iter().map(finished).collect()
}

/// Numbers of lines: the reader's own leaves out comments, and the ends of lines that are two characters.
struct Lines<'a> {
    text: &'a [u8],
    /// Bytes that were looked at, and the line that they end in.
    counted: usize,
    line: u64,
}

impl Lines<'_> {
    /// The line of what is read next from a place that is not before the last one.
    fn at(&mut self, place: u64) -> u64 {
        let mut at = usize::try_from(place).unwrap_or(usize::MAX).min(self.text.len());
        // Ends of lines and comments that stand before it.
        while let Some(byte) = self.text.get(at) {
            match byte {
                b'\r' | b'\n' => at += 1,
                b'#' => {
                    let rest = self.text[at..].iter().position(|&byte| byte == b'\n');
                    at = rest.map_or(self.text.len(), |end| at + end);
                }
                _ => break,
            }
        }
        let passed = self.text.get(self.counted..at).unwrap_or_default();
        self.line += passed.iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.counted = self.counted.max(at);
        self.line
    }
}

/// What the columns of a header hold; the error says what is wrong with it.
fn columns(header: &csv::StringRecord) -> Result<Vec<Column>, String> {
    let mut columns = Vec::with_capacity(header.len());
    for (position, name) in header.iter().enumerate() {
        if header.iter().take(position).any(|before| before == name) {
            let name = shorten(&format!("{name:?}"));
            return Err(format!("the column {name} stands twice, expected once"));
        }
        columns.push(if let Some(known) = COLUMNS.iter().position(|column| *column == name) {
            Column::Known(known)
        } else if name == CELL {
            Column::Cell
        } else if OF_ANSWERS.contains(&name) {
            Column::Answer
        } else if let Some(meant) = slip_of(name, &COLUMNS).or(slip_of(name, &[CELL])) {
            let name = shorten(&format!("{name:?}"));
            return Err(format!("the column {name} looks like a slip of {meant:?}, expected that"));
        } else {
            Column::Other(name.into())
        });
    }
    let place = |column: &Column| matches!(column, Column::Known(known) if PLACES.contains(known));
    if columns.iter().any(place) {
        return Ok(columns);
    }
    Err(format!(
        "the columns are {}, expected one of {} among them",
        shorten(&format!("{:?}", header.iter().collect::<Vec<_>>().join(","))),
        COLUMNS[PLACES].join(", ")
    ))
}
