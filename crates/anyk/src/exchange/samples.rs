//! Samples of a policy, `k, x, y[, instance]`, read from CSV, a NumPy archive or Parquet.

use thiserror::Error;

use crate::exchange::InputError;
use crate::exchange::input_error::{check_fields, decode, shorten};
use crate::exchange::npz::{Archive, Entry, NpzError};
#[cfg(feature = "parquet")]
use crate::exchange::parquet_file::{Footer, ParquetFileError};
use crate::memory::{MemoryBudget, Tally, TooMuchMemory, product};

const FORMAT: &str = "CSV with the columns k,x,y and, if known, instance";
#[cfg(feature = "parquet")]
const PARQUET_FORMAT: &str =
    "Parquet with the columns k,x,y and, if known, instance (pandas: index=False)";
const ARRAY_FORMAT: &str = "a NumPy array of one axis, whole numbers or floats";
const COLUMNS: [&str; 4] = ["k", "x", "y", "instance"];
/// Most users of one instance.
const MOST_USERS: usize = 10_000_000;
/// Largest number of an instance in an archive or Parquet, where it may be a float.
const MOST_INSTANCES: f64 = 1e15;
/// Most rows of a file: a few hundred bytes of Parquet can claim any number of them.
const MOST_ROWS: usize = 50_000_000;
/// Memory that a row takes until it is diagnosed: four numbers of columns, the [`SampleRow`] made of them, and its
/// place in its instance.
const ROW_BYTES: usize = 128;
/// And where nothing says that rows belong together, so that each is an instance of its own, with its lists.
const LONE_ROW_BYTES: usize = 384;
/// First bytes of an archive.
const ZIP: &[u8] = b"PK";
/// First bytes of Parquet, plain and encrypted.
const PARQUET: [&[u8]; 2] = [b"PAR1", b"PARE"];

/// One row of a file of samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleRow {
    /// Number of users `K` of its instance.
    pub k: usize,
    /// Input `x_k`.
    pub x: f64,
    /// Output `y_k`.
    pub y: f64,
    /// Rows with the same number belong together; `None` if the file does not say.
    pub instance: Option<u64>,
}

/// Reads samples of a policy: CSV with a header, an archive of NumPy arrays of these names (`.npz`), or
/// Parquet. Which of them it is follows from the first bytes. `file` is only used in messages.
///
/// Parquet needs the cargo feature `parquet`, and is refused without it.
///
/// ```
/// use anyk::exchange::read_samples;
/// let rows = read_samples(b"k,x,y\n2,0.5,1.25\n", "samples.csv")?;
/// assert_eq!((rows[0].k, rows[0].y, rows[0].instance), (2, 1.25, None));
/// let error = read_samples(b"k,x\n2,0.5\n", "samples.csv").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "samples.csv: line 1: the column y is missing, expected CSV with the columns k,x,y and, if known, \
///      instance"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_samples(bytes: &[u8], file: &str) -> Result<Vec<SampleRow>, InputError> {
    let rows = if bytes.starts_with(ZIP) {
        from_npz(bytes).and_then(Columns::rows)
    } else if PARQUET.iter().any(|first| bytes.starts_with(first)) {
        from_parquet(bytes).and_then(Columns::rows)
    } else {
        return from_csv(decode(bytes, file, FORMAT)?, file);
    };
    rows.map_err(|error| InputError::whole(file, &error))
}

/// Why the columns of a file were refused.
#[derive(Debug, Error)]
enum ColumnsError {
    #[error("the column is {name}, expected {format}")]
    Unknown { name: String, format: &'static str },
    #[error("the column {0} stands twice, expected once")]
    Twice(&'static str),
    #[error("the column {name} is missing, expected {format}")]
    Missing { name: &'static str, format: &'static str },
    #[error(transparent)]
    Npz(#[from] NpzError),
    #[cfg(feature = "parquet")]
    #[error(transparent)]
    Parquet(#[from] ParquetFileError),
    #[cfg(not(feature = "parquet"))]
    #[error(
        "Parquet samples need the feature `parquet`, with which the program is built; without it, expected CSV \
         or a NumPy archive (.npz)"
    )]
    NoParquet,
    #[error("arrays of {0} and {1} numbers, expected the same")]
    Lengths(usize, usize),
    #[error("there are no samples, expected {FORMAT}")]
    NoRows,
    #[error("{0} rows, expected at most {MOST_ROWS}")]
    TooManyRows(usize),
    #[error(transparent)]
    Memory(#[from] TooMuchMemory),
    #[error("{column}[{row}] is {value}, expected a finite number")]
    NotFinite { column: &'static str, row: usize, value: f64 },
    #[error("{column}[{row}] is {value}, expected a whole number from {least} to {most}")]
    NotWhole { column: &'static str, row: usize, value: f64, least: f64, most: f64 },
}

/// Asks for the memory of so many rows before any of them is unpacked.
fn allow(bytes: &[u8], rows: usize, clustered: bool) -> Result<(), ColumnsError> {
    if rows > MOST_ROWS {
        return Err(ColumnsError::TooManyRows(rows));
    }
    // Parquet has a copy of what is being unpacked.
    let needed = product(&[rows, row_bytes(clustered)]) + 2 * bytes.len() as u128;
    Ok(MemoryBudget::current().allow(format_args!("the {rows} rows in it"), needed)?)
}

fn row_bytes(clustered: bool) -> usize {
    if clustered { ROW_BYTES } else { LONE_ROW_BYTES }
}

fn from_csv(text: &str, file: &str) -> Result<Vec<SampleRow>, InputError> {
    let fail = |place: &str, message: String| InputError::new(file, place, message);
    if text.trim().is_empty() {
        return Err(fail("", format!("the file is empty, expected {FORMAT}")));
    }
    check_fields(text, b',', file)?;
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| fail("line 1", error.to_string()))?.clone();
    let position_of =
        positions(header.iter(), FORMAT).map_err(|error| fail("line 1", error.to_string()))?;
    let mut tally = Tally::new("the rows in it", text.len());
    let mut rows = Vec::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| fail("", error.to_string()))? {
        let place = format!("line {}", record.position().map_or(0, csv::Position::line));
        if rows.len() == MOST_ROWS {
            return Err(fail(&place, format!("more rows, expected at most {MOST_ROWS}")));
        }
        if record.len() != header.len() {
            let message =
                format!("{} fields, expected {} as in the header", record.len(), header.len());
            return Err(fail(&place, message));
        }
        let field = |column: usize| {
            position_of[column].and_then(|position| record.get(position)).unwrap_or_default()
        };
        let refuse = |column: usize, expected: &str| {
            let value = shorten(&format!("{:?}", field(column)));
            fail(&place, format!("{} is {value}, expected {expected}", COLUMNS[column]))
        };
        let number = |column: usize| match field(column).parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(refuse(column, "a finite number")),
        };
        let k = match field(0).parse() {
            Ok(k) if (1..=MOST_USERS).contains(&k) => k,
            _ => return Err(refuse(0, "a whole number of users from 1 to 10000000")),
        };
        let instance = match position_of[3] {
            None => None,
            Some(_) => {
                let number = field(3).parse::<u64>();
                Some(number.map_err(|_| refuse(3, "a whole number that is not negative"))?)
            }
        };
        let row = SampleRow { k, x: number(1)?, y: number(2)?, instance };
        tally
            .add(row_bytes(instance.is_some()))
            .map_err(|error| InputError::whole(file, &error))?;
        rows.push(row);
    }
    if rows.is_empty() {
        return Err(fail("", ColumnsError::NoRows.to_string()));
    }
    Ok(rows)
}

/// The position of each column among the names, in the order of [`COLUMNS`].
fn positions<'a>(
    names: impl Iterator<Item = &'a str>,
    format: &'static str,
) -> Result<[Option<usize>; COLUMNS.len()], ColumnsError> {
    let mut position_of = [None; COLUMNS.len()];
    for (position, name) in names.enumerate() {
        let Some(column) = COLUMNS.iter().position(|column| column.eq_ignore_ascii_case(name))
        else {
            return Err(ColumnsError::Unknown { name: shorten(&format!("{name:?}")), format });
        };
        if position_of[column].replace(position).is_some() {
            return Err(ColumnsError::Twice(COLUMNS[column]));
        }
    }
    match (0..3).find(|&column| position_of[column].is_none()) {
        None => Ok(position_of),
        Some(missing) => Err(ColumnsError::Missing { name: COLUMNS[missing], format }),
    }
}

/// The columns of an archive or Parquet, not checked yet.
struct Columns {
    k: Vec<f64>,
    x: Vec<f64>,
    y: Vec<f64>,
    instance: Option<Vec<f64>>,
}

/// The arrays of an archive.
fn from_npz(bytes: &[u8]) -> Result<Columns, ColumnsError> {
    let mut archive = Archive::open(bytes, ARRAY_FORMAT)?;
    let [k, x, y] = ["k", "x", "y"].map(|name| required(&mut archive, name));
    let (k, x, y) = (k?, x?, y?);
    let instance = column(&mut archive, "instance")?;
    let arrays = [Some(&k), Some(&x), Some(&y), instance.as_ref()];
    let rows = arrays.into_iter().flatten().map(|array| array.count).max().unwrap_or_default();
    allow(bytes, rows, instance.is_some())?;
    let mut numbers = |column| archive.numbers(column);
    let instance = instance.as_ref().map(&mut numbers).transpose()?;
    Ok(Columns { k: numbers(&k)?, x: numbers(&x)?, y: numbers(&y)?, instance })
}

/// An array of one axis, if there is one of the name.
fn column(archive: &mut Archive<'_>, name: &str) -> Result<Option<Entry>, NpzError> {
    match archive.find(name)? {
        Some(entry) if entry.shape.len() != 1 => Err(entry.misshapen(ARRAY_FORMAT)),
        found => Ok(found),
    }
}

/// The same; an error if there is none.
fn required(archive: &mut Archive<'_>, name: &'static str) -> Result<Entry, NpzError> {
    column(archive, name)?.ok_or_else(|| NpzError::Missing {
        name,
        found: archive.names(),
        expected: "k, x, y and, if known, instance",
    })
}

/// The columns of a Parquet file.
#[cfg(feature = "parquet")]
fn from_parquet(bytes: &[u8]) -> Result<Columns, ColumnsError> {
    let footer = Footer::read(bytes)?;
    let [k, x, y, instance] = positions(footer.names(), PARQUET_FORMAT)?;
    let file = footer.open(MOST_ROWS)?;
    allow(bytes, file.rows(), instance.is_some())?;
    // `positions` has found the first three.
    let column = |position: Option<usize>| file.column(position.unwrap_or_default());
    let instance = instance.map(|position| file.column(position)).transpose()?;
    Ok(Columns { k: column(k)?, x: column(x)?, y: column(y)?, instance })
}

#[cfg(not(feature = "parquet"))]
fn from_parquet(_: &[u8]) -> Result<Columns, ColumnsError> {
    Err(ColumnsError::NoParquet)
}

impl Columns {
    /// Checks the rows; an error names the first wrong value.
    fn rows(self) -> Result<Vec<SampleRow>, ColumnsError> {
        let Self { k, x, y, instance } = self;
        let lengths = [Some(&x), Some(&y), instance.as_ref()];
        if let Some(other) = lengths.into_iter().flatten().find(|other| other.len() != k.len()) {
            return Err(ColumnsError::Lengths(k.len(), other.len()));
        }
        if k.is_empty() {
            return Err(ColumnsError::NoRows);
        }
        let whole = |column, row: usize, value: f64, least: f64, most: f64| {
            if value.fract().abs() > 0.0 || !(least..=most).contains(&value) {
                return Err(ColumnsError::NotWhole { column, row, value, least, most });
            }
            // Whole, not negative and far below 2^53.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            Ok(value as u64)
        };
        let rows = (0..k.len()).map(|row| {
            for (column, value) in [("x", x[row]), ("y", y[row])] {
                if !value.is_finite() {
                    return Err(ColumnsError::NotFinite { column, row, value });
                }
            }
            let users = whole("k", row, k[row], 1.0, MOST_USERS as f64)?;
            let instance = instance
                .as_ref()
                .map(|instance| whole("instance", row, instance[row], 0.0, MOST_INSTANCES));
            Ok(SampleRow {
                k: usize::try_from(users).unwrap_or(usize::MAX),
                x: x[row],
                y: y[row],
                instance: instance.transpose()?,
            })
        });
        rows.collect()
    }
}

#[cfg(all(test, not(feature = "parquet")))]
mod tests {
    use super::*;

    #[test]
    fn without_the_feature_parquet_is_refused_by_name() {
        for bytes in [&b"PAR1 and more"[..], b"PARE"] {
            let error = read_samples(bytes, "samples.parquet").unwrap_err().to_string();
            let start = "samples.parquet: Parquet samples need the feature `parquet`, with which";
            assert!(error.starts_with(start), "{error}");
        }
    }
}
