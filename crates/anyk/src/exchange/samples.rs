//! Samples of a policy, `k, x, y[, instance]`, from CSV.

use crate::exchange::InputError;
use crate::exchange::input_error::{check_fields, decode, shorten};
use crate::limits::MOST_USERS;

const FORMAT: &str = "CSV with the columns k,x,y and, if known, instance";
const COLUMNS: [&str; 4] = ["k", "x", "y", "instance"];

/// One row of a file of samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleRow {
    /// Number of users `K` of its instance.
    pub k: usize,
    /// Input `x_k`.
    pub x: f64,
    /// Output `y_k`.
    pub y: f64,
    /// Number of the instance, which all users of the instance share; `None` if the file does not contain it.
    pub instance: Option<u64>,
}

/// Reads samples of a policy from CSV with a header. Only messages use `file`.
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
    let text = decode(bytes, file, FORMAT)?;
    let fail = |place: &str, message: String| InputError::at(file, place, message);
    if text.trim().is_empty() {
        return Err(fail("", format!("the file is empty, expected {FORMAT}")));
    }
    check_fields(text, b',', file)?;
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| fail("line 1", error.to_string()))?.clone();
    let position_of = positions(header.iter()).map_err(|message| fail("line 1", message))?;
    let mut rows = Vec::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| fail("", error.to_string()))? {
        let place = format!("line {}", record.position().map_or(0, csv::Position::line));
        if rows.len() == MOST_USERS {
            return Err(fail(&place, format!("more rows, expected at most {MOST_USERS}")));
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
        rows.push(row);
    }
    if rows.is_empty() {
        return Err(fail("", format!("there are no samples, expected {FORMAT}")));
    }
    Ok(rows)
}

/// Returns the positions of the columns in a header, in the order of [`COLUMNS`].
fn positions<'a>(
    names: impl Iterator<Item = &'a str>,
) -> Result<[Option<usize>; COLUMNS.len()], String> {
    let mut position_of = [None; COLUMNS.len()];
    for (position, name) in names.enumerate() {
        let Some(column) = COLUMNS.iter().position(|column| column.eq_ignore_ascii_case(name))
        else {
            return Err(format!(
                "the column is {}, expected {FORMAT}",
                shorten(&format!("{name:?}"))
            ));
        };
        if position_of[column].replace(position).is_some() {
            return Err(format!("the column {} appears twice, expected once", COLUMNS[column]));
        }
    }
    match (0..3).find(|&column| position_of[column].is_none()) {
        None => Ok(position_of),
        Some(missing) => {
            Err(format!("the column {} is missing, expected {FORMAT}", COLUMNS[missing]))
        }
    }
}
