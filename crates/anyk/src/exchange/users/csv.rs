//! Users as CSV: a header, then a line for each user.

use std::collections::HashMap;

use super::spelling::slip_of;
use super::{
    CELL, COLUMNS, Cell, CellRecord, Extra, Fields, OF_ANSWERS, PLACES, UserReader, extra,
};
use crate::exchange::Parameters;
use crate::exchange::input_error::{CellPlace, InputError, check_fields, shorten};
use crate::exchange::parameters::POWER;
use crate::limits::MOST_USERS;

/// What a column holds.
enum Column {
    Known(usize),
    Cell,
    /// Anything else: its name if it is a parameter, and the name under which it comes back.
    Other(Option<Box<str>>, Box<str>),
}

/// A cell whose rows are being read; what is wrong with the first bad one of them.
struct Open<'a> {
    extra: Extra,
    users: Result<Cell<'a>, InputError>,
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
) -> Result<Vec<Result<CellRecord, InputError>>, InputError> {
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
    let columns =
        columns(&header, reader.parameters).map_err(|message| fail("the header", message))?;
    let cell = || Cell::new(reader, file, "line ".to_owned());
    let named_by = columns.iter().position(|column| matches!(column, Column::Cell));
    // In the order in which they first appear.
    let mut cells: Vec<Open<'_>> = Vec::new();
    let mut place_of: HashMap<Box<str>, usize> = HashMap::new();
    if named_by.is_none() {
        cells.push(Open { extra: Extra::default(), users: Ok(cell()) });
    }
    let mut row = csv::StringRecord::new();
    let mut lines = Lines { text: text.as_bytes(), counted: 0, line: 1 };
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
        let expected = columns.len();
        let misfit = (row.len() != expected)
            .then(|| format!("{} fields, expected {expected} as in the header", row.len()));
        // A field too many or too few may have moved the name, unless that stands first.
        if let (Some(message), Some(1..)) = (&misfit, named_by) {
            return Err(fail(&place, message.clone()));
        }
        let name = named_by.map(|column| row.get(column).unwrap_or_default());
        let at = match name {
            None => 0,
            Some(name) => match place_of.get(name) {
                Some(&at) => at,
                None => {
                    let value = extra::of_text(name).map_err(|e| fail(&place, e.to_string()))?;
                    let extra = Extra::new(vec![(CELL.into(), value)]);
                    cells.push(Open { extra, users: Ok(cell()) });
                    place_of.insert(name.into(), cells.len() - 1);
                    cells.len() - 1
                }
            },
        };
        let Open { extra, users } = &mut cells[at];
        // A cell with a bad row is refused, and the others are read on.
        let Ok(open) = users else { continue };
        let number = count.to_string();
        let read = match misfit {
            Some(message) => Err(fail(&place, message)),
            None => fields((reader.parameters, &columns), &row, (line, &number))
                .map_err(|message| fail(&place, message))
                .and_then(|fields| open.record(fields)),
        };
        match read {
            Ok(record) => open.keep(line, record),
            Err(error) => *users = Err(in_cell(error, extra, line)),
        }
    }
    if cells.is_empty() {
        cells.push(Open { extra: Extra::default(), users: Ok(cell()) });
    }
    let finished = |Open { extra, users }: Open<'_>| {
        let users = users?;
        let line = users.numbers.first().copied().unwrap_or(1);
        let users = users.finish("").map_err(|error| in_cell(error, &extra, line))?;
        Ok(CellRecord { users, extra })
    };
    Ok(cells.into_iter().map(finished).collect())
}

/// An error with the cell that it is about, if that has a name.
fn in_cell(error: InputError, extra: &Extra, line: u64) -> InputError {
    match extra.get(CELL) {
        None => error,
        Some(name) => error.in_cell(CellPlace { name: name.to_owned(), line }),
    }
}

/// The fields of a row; without an id, a user is called by the row's number.
fn fields<'a>(
    (parameters, columns): (&Parameters, &[Column]),
    row: &'a csv::StringRecord,
    (line, number): (u64, &'a str),
) -> Result<Fields<'a>, String> {
    let mut values: [Option<&str>; COLUMNS.len()] = [None; COLUMNS.len()];
    let mut others = Vec::new();
    for (column, text) in columns.iter().zip(row) {
        match column {
            Column::Known(known) => values[*known] = Some(text).filter(|text| !text.is_empty()),
            Column::Cell => {}
            Column::Other(parameter, name) => {
                let value = extra::of_text(text).map_err(|error| error.to_string())?;
                if let Some(parameter) = parameter {
                    parameters.check(parameter, value.get())?;
                }
                others.push((name.clone(), value));
            }
        }
    }
    let [id, numbers @ ..] = values;
    let id = Some(id.unwrap_or(number));
    Ok(Fields { number: line, id, numbers, extra: Ok(Extra::new(others)) })
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
fn columns(header: &csv::StringRecord, parameters: &Parameters) -> Result<Vec<Column>, String> {
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
        } else if let Some(meant) = slip_of(name, &COLUMNS).or(slip_of(name, &[CELL])) {
            let name = shorten(&format!("{name:?}"));
            return Err(format!("the column {name} looks like a slip of {meant:?}, expected that"));
        } else {
            let is_taken = |free: &str| header.iter().any(|name| name == free);
            let apart = extra::name_apart(name, &OF_ANSWERS, is_taken);
            let is_beside_power = header.iter().any(|name| name == POWER);
            let parameter = parameters.is_one(name, is_beside_power).then(|| name.into());
            Column::Other(parameter, apart.unwrap_or_else(|| name.into()))
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
