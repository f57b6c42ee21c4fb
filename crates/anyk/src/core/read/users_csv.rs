//! Reader of users in CSV: a header, then one line for each user.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::users::{Cell, Fields, Others, check_cell};
use super::{CELL, ID, Reader};
use crate::core::Record;
use crate::core::parameters::plain;
use crate::exchange::{
    CellPlace, Extra, ExtraEntries, InputError, check_fields, json_of_text, separator, shorten,
    slip_of,
};
use crate::limits::{MOST_CSV_CELLS, MOST_USERS};

/// Names that people give to the column of cells. Without it, the users of all cells would share one budget.
const CELL_NAMES: [&str; 4] = ["cell_id", "cell_name", "cell_no", "cell_number"];

/// Content of a column.
enum Head {
    /// Field of a user, by its index among the known fields.
    Known(usize),
    Cell,
    /// Any other field with its name.
    Other(Box<str>),
}

/// Cell whose rows are being read, or the error of the first invalid row of the cell.
struct Open<'a> {
    /// Name of the cell, if the file has a column of names.
    extra: Extra,
    users: Result<Cell<'a>, InputError>,
}

pub(super) fn read(
    reader: &Reader,
    text: &str,
    file: &str,
) -> Result<Vec<Result<Record, InputError>>, InputError> {
    let fail = |place: &str, message: String| InputError::at(file, place, message);
    check_fields(text, separator(text), file)?;
    let mut rows = table(text);
    let header = rows.headers().map_err(|error| fail("the header", error.to_string()))?.clone();
    let heads = heads(&header, reader).map_err(|message| fail("the header", message))?;
    let name: Arc<str> = file.into();
    let cell = || Cell::new(reader, &name, "line ");
    let named_by = heads.iter().position(|head| matches!(head, Head::Cell));
    // In order of first appearance.
    let mut cells: Vec<Open<'_>> = Vec::new();
    let mut place_of: HashMap<Box<str>, usize> = HashMap::new();
    if named_by.is_none() {
        cells.push(Open { extra: Extra::default(), users: Ok(cell()) });
    }
    let mut row = csv::StringRecord::new();
    let mut lines = Lines::new(text);
    let mut count = 0u64;
    while rows.read_record(&mut row).map_err(|error| fail("", error.to_string()))? {
        count += 1;
        let line = lines.at(row.position().map_or(0, csv::Position::byte));
        let place = format!("line {line}");
        if count > MOST_USERS as u64 {
            return Err(fail(
                &place,
                format!("there are more users, expected at most {MOST_USERS}"),
            ));
        }
        let expected = heads.len();
        let misfit = (row.len() != expected)
            .then(|| format!("{} fields, expected {expected} as in the header", row.len()));
        // A missing or extra field may have shifted the name, unless the name comes first.
        if let (Some(message), Some(1..)) = (&misfit, named_by) {
            return Err(fail(&place, message.clone()));
        }
        let name = named_by.map(|column| row.get(column).unwrap_or_default());
        let at = match name {
            None => 0,
            Some(name) => match place_of.get(name) {
                Some(&at) => at,
                None => {
                    if cells.len() == MOST_CSV_CELLS {
                        let message = format!(
                            "the file has more than {MOST_CSV_CELLS} cells; write one JSON object per cell, which AnyK \
                             reads while it answers"
                        );
                        return Err(fail(&place, message));
                    }
                    let value = json_of_text(name).map_err(|e| fail(&place, e.to_string()))?;
                    let mut entries = ExtraEntries::default();
                    entries.push(CELL.into(), &value).map_err(|message| fail(&place, message))?;
                    let extra = entries.finish(&[]);
                    let mut users = cell();
                    users.record.place.index = cells.len();
                    users.record.place.line = line;
                    let wrong = check_cell(name).err().map(|message| {
                        // An invalid name is not repeated in full.
                        let name = serde_json::Value::from(shorten(name)).to_string();
                        fail(&place, message).in_cell(CellPlace { name, line })
                    });
                    let users = wrong.map_or(Ok(users), Err);
                    cells.push(Open { extra, users });
                    place_of.insert(name.into(), cells.len() - 1);
                    cells.len() - 1
                }
            },
        };
        let Open { extra, users } = &mut cells[at];
        // A cell with an invalid row is rejected; the other cells are still read.
        let Ok(open) = users else { continue };
        let read = match misfit {
            Some(message) => Err(fail(&place, message)),
            None => push(reader, &heads, &row, (count, line), open),
        };
        if let Err(error) = read {
            *users = Err(in_cell(error, extra, line));
        }
    }
    if cells.is_empty() {
        cells.push(Open { extra: Extra::default(), users: Ok(cell()) });
    }
    let finished = |Open { extra, users }: Open<'_>| {
        let users = users?;
        let line = users.record.place.line_of(0).max(1);
        let record = users.finish("", (extra.clone(), Vec::new()));
        record.map_err(|error| in_cell(error, &extra, line))
    };
    Ok(cells.into_iter().map(finished).collect())
}

/// Adds the name of the cell, if it has one, to an error.
fn in_cell(error: InputError, extra: &Extra, line: u64) -> InputError {
    match extra.get(CELL) {
        None => error,
        Some(name) => error.in_cell(CellPlace { name: name.to_owned(), line }),
    }
}

/// Adds the user of a row.
fn push(
    reader: &Reader,
    heads: &[Head],
    row: &csv::StringRecord,
    (number, line): (u64, u64),
    cell: &mut Cell<'_>,
) -> Result<(), InputError> {
    let mut values: Vec<Option<&str>> = vec![None; reader.fields.len()];
    let mut others = Others::new(reader);
    let at = (number, Some(line));
    for (head, text) in heads.iter().zip(row) {
        match head {
            Head::Known(known) => values[*known] = Some(text).filter(|text| !text.is_empty()),
            Head::Cell => {}
            Head::Other(name) => {
                let pushed = json_of_text(text).map_err(|error| error.to_string());
                let pushed = pushed.and_then(|value| {
                    others.note(name, value.get());
                    others.entries.push(name.clone(), &value)
                });
                pushed.map_err(|message| cell.fail(at, None, message))?;
            }
        }
    }
    let (id, numbers) = values.split_first().map_or((None, &values[..]), |(id, rest)| (*id, rest));
    cell.push(at, Fields { id, numbers, others })
}

/// Line numbers of a text. The line numbers of the CSV reader omit comments, and they are wrong if line ends
/// have two characters.
pub(super) struct Lines<'a> {
    text: &'a [u8],
    /// Number of bytes that were counted, and the line at their end.
    counted: usize,
    line: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text: text.as_bytes(), counted: 0, line: 1 }
    }

    /// Returns the line of the data at a byte position, which must not be smaller than in the last call.
    pub(super) fn at(&mut self, place: u64) -> u64 {
        let mut at = usize::try_from(place).unwrap_or(usize::MAX).min(self.text.len());
        // Skips line ends and comments before the data.
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

/// Returns a reader for the rows of a table with a header.
pub(super) fn table(text: &str) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .flexible(true)
        .delimiter(separator(text))
        .comment(Some(b'#'))
        .from_reader(text.as_bytes())
}

/// Rejects a header in which two columns have the same name, since only one of them would be read.
pub(super) fn each_once(header: &csv::StringRecord) -> Result<(), String> {
    let mut seen = HashSet::new();
    match header.iter().find(|name| !seen.insert(*name)) {
        None => Ok(()),
        Some(name) => {
            let name = shorten(&format!("{name:?}"));
            Err(format!("the column {name} appears twice, expected once"))
        }
    }
}

/// Returns the contents of the columns of a header, or an error.
fn heads(header: &csv::StringRecord, reader: &Reader) -> Result<Vec<Head>, String> {
    let fields = &reader.fields;
    let mut heads = Vec::with_capacity(header.len());
    each_once(header)?;
    for name in header {
        heads.push(if let Some(known) = fields.iter().position(|field| *field == name) {
            Head::Known(known)
        } else if name == CELL {
            Head::Cell
        } else if let Some(meant) = slip_of(name, fields).or(slip_of(name, &[CELL])) {
            let unit = |name: &str| name.rsplit('_').next().map(str::to_owned);
            let converted = if unit(name) == unit(meant) { "" } else { " and values in its unit" };
            let name = shorten(&format!("{name:?}"));
            return Err(format!(
                "the column {name} looks like a typo of {meant:?}, expected that name{converted}"
            ));
        } else if CELL_NAMES.contains(&&*plain(name)) {
            let name = shorten(&format!("{name:?}"));
            return Err(format!(
                "the column {name} looks like {CELL:?}, which separates the cells; expected that name, or another one"
            ));
        } else {
            Head::Other(name.into())
        });
    }
    let needed: Vec<&str> = reader.about.needed().map(|column| column.name).collect();
    let is_needed = |head: &Head| matches!(head, Head::Known(known) if fields[*known] != ID && needed.contains(&fields[*known]));
    if needed.is_empty() || heads.iter().any(is_needed) {
        return Ok(heads);
    }
    let one_of = if needed.len() > 1 { "one of " } else { "" };
    Err(format!(
        "the columns are {}, expected {one_of}{} among them",
        shorten(&format!("{:?}", header.iter().collect::<Vec<_>>().join(","))),
        needed.join(", ")
    ))
}
