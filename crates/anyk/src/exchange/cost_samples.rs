//! Samples of a cost from CSV, JSON or a NumPy array.

use crate::exchange::InputError;
use crate::exchange::input_error::{check_fields, comma_hint, decode, shorten};
use crate::exchange::npy::{Array, MAGIC, NpyError};
use crate::exchange::separator;

const FORMAT: &str = "CSV with two columns u,c, JSON [[u,c],…], or a NumPy array of shape (n, 2)";

/// Reads samples `(u, c(u))` of a cost: CSV with two columns (a header is skipped), JSON `[[u,c],…]`, or a NumPy
/// array of shape (n, 2). It does not check whether the samples form a valid cost.
///
/// Only messages use `file`.
///
/// ```
/// use anyk::exchange::read_cost_samples;
/// let samples = read_cost_samples(b"u,c\n0,1\n1,0.5\n", "cost.csv")?;
/// assert_eq!(samples, [(0.0, 1.0), (1.0, 0.5)]);
/// assert_eq!(read_cost_samples(b"[[0,1],[1,0.5]]", "cost.json")?, samples);
/// let error = read_cost_samples(b"u,c\n0,one\n", "cost.csv").unwrap_err();
/// assert_eq!(error.to_string(), "cost.csv: line 2: c is \"one\", expected a number");
/// # Ok::<(), anyk::exchange::InputError>(())
/// ```
pub fn read_cost_samples(bytes: &[u8], file: &str) -> Result<Vec<(f64, f64)>, InputError> {
    if bytes.starts_with(MAGIC) {
        return of_array(bytes, file);
    }
    let text = decode(bytes, file, FORMAT)?;
    match text.trim_start().chars().next() {
        None => Err(InputError::whole(file, &format!("the file is empty, expected {FORMAT}"))),
        Some('[' | '{') => serde_json::from_str(text)
            .map_err(|error| InputError::json(file, ("", 0), text, &error, FORMAT)),
        Some(_) => {
            let mut samples = Vec::new();
            let separator = separator(text);
            check_fields(text, separator, file)?;
            let mut rows = csv::ReaderBuilder::new()
                .trim(csv::Trim::All)
                .flexible(true)
                .has_headers(false)
                .delimiter(separator)
                .comment(Some(b'#'))
                .from_reader(text.as_bytes());
            for (index, row) in rows.records().enumerate() {
                let row = row.map_err(|error| InputError::whole(file, &error))?;
                let line = row.position().map_or(0, csv::Position::line);
                let fail = |message: String| InputError::at(file, &format!("line {line}"), message);
                if row.len() != 2 {
                    let message = format!("there are {} columns, expected two: u,c", row.len());
                    return Err(fail(message));
                }
                // Skip a header.
                if index == 0 && row.iter().all(|field| field.parse::<f64>().is_err()) {
                    continue;
                }
                let number = |place: usize, name: &str| {
                    let field = row.get(place).unwrap_or_default();
                    field.parse::<f64>().map_err(|_| {
                        let (field, hint) = (shorten(field), comma_hint(field));
                        fail(format!("{name} is {field:?}, expected a number{hint}"))
                    })
                };
                samples.push((number(0, "u")?, number(1, "c")?));
            }
            Ok(samples)
        }
    }
}

fn of_array(bytes: &[u8], file: &str) -> Result<Vec<(f64, f64)>, InputError> {
    let two_columns = |shape: &[u64]| match shape {
        [_, 2] => Ok(()),
        _ => Err(NpyError::shape(shape, "(n, 2)")),
    };
    let array = Array::read(bytes, FORMAT, two_columns);
    let values = array.map_err(|error| InputError::whole(file, &error))?.values;
    Ok(values.as_chunks::<2>().0.iter().map(|&[u, c]| (u, c)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::npy;

    fn array(values: &[f64]) -> Vec<u8> {
        npy::write(&[values.len() / 2, 2], values.iter().copied())
    }

    #[test]
    fn all_formats_say_the_same() {
        let expected = vec![(0.0, 3.0), (1.0, 2.0), (2.5, 1.5)];
        let c_order = array(&[0.0, 3.0, 1.0, 2.0, 2.5, 1.5]);
        let mut fortran = array(&[0.0, 1.0, 2.5, 3.0, 2.0, 1.5]);
        let place = fortran.windows(5).position(|part| part == b"False").unwrap();
        fortran[place..place + 5].copy_from_slice(b"True ");
        for bytes in [
            b"u,c\n0,3\n1,2\n2.5,1.5\n".as_slice(),
            b"# mine\n0;3\n1;2\n2.5;1.5",
            b"\n[[0,3],[1,2],[2.5,1.5]]",
            &c_order,
            &fortran,
        ] {
            assert_eq!(read_cost_samples(bytes, "x").unwrap(), expected);
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        for (bytes, message) in [
            (b"".as_slice(), "the file is empty"),
            (b"1,2,3\n", "there are 3 columns, expected two"),
            (b"1,2\n1,x\n", "line 2: c is \"x\", expected a number"),
            (b"[[1,2],[3]]", "expected CSV with two columns"),
            (b"[[1,NaN]]", "JSON has no NaN"),
            (b"\xff\xfe", "not UTF-8"),
            (b"\x93NUMPY\x09", "version"),
        ] {
            let error = read_cost_samples(bytes, "x").unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        let error = read_cost_samples(&array(&[]), "x").unwrap();
        assert!(error.is_empty());
    }
}
