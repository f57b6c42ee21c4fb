//! Gain matrices of interference networks, read from NumPy arrays or JSON.

use std::io;

use npyz::{DType, NpyFile, Order, TypeChar, WriterBuilder};

use crate::channel::{GainError, GainMatrix};
use crate::exchange::input_error::{decode, shorten};
use crate::exchange::{InputError, gains_json};

const FORMAT: &str =
    "a NumPy array (.npy, float32 or float64, K×K or N×K×K) or JSON [[1,0.1],[0.2,1]]";
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// Longest header of an array; NumPy's own reader has the same bound.
const MOST_HEADER_BYTES: usize = 10_000;
/// Most digits in a header: any product of numbers with so many digits fits into 64 bits.
const MOST_HEADER_DIGITS: usize = 19;
/// Deepest brackets in a header: those of a structured type, which is then refused by its name.
const MOST_HEADER_DEPTH: usize = 4;

/// Reads gain matrices: row = receiver, column = transmitter, power gains.
///
/// NumPy's `.npy`, one K×K matrix or N of them (N×K×K), float32 or float64; or JSON: a matrix
/// `[[…],…]`, a list of matrices, or objects `{"gains": …}` with either, one after the other. Which of
/// the two it is follows from the first bytes. Instances, rows and columns are counted from 0.
///
/// `file` is only used in messages.
///
/// ```
/// use anyk::exchange::{gains_to_npy, read_gains};
/// let gains = read_gains(b"[[1, 0.1], [0.2, 0.9]]", "gains.json")?;
/// assert_eq!(gains[0].row(1), [0.2, 0.9]);
/// assert_eq!(read_gains(&gains_to_npy(&gains)?, "gains.npy")?, gains);
/// let error = read_gains(b"[[1, 0.1], [0.2, -0.9]]", "gains.json").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "gains.json: instance 0: row 1, column 1: the gain is -0.9, expected a finite number, not negative"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_gains(bytes: &[u8], file: &str) -> Result<Vec<GainMatrix>, InputError> {
    if bytes.starts_with(MAGIC) {
        return Array::read(bytes)
            .and_then(Array::matrices)
            .map_err(|(place, message)| InputError::new(file, &place, message));
    }
    let text = decode(bytes, file, FORMAT)?;
    let fail = |message: String| Err(InputError::new(file, "", message));
    match text.trim_start().chars().next() {
        None => fail(format!("the file is empty, expected {FORMAT}")),
        Some('{' | '[') => gains_json::read(text, file, FORMAT),
        Some(_) => {
            let start = shorten(&format!("{:?}", text.chars().take(20).collect::<String>()));
            fail(format!("the file starts with {start}, expected {FORMAT}"))
        }
    }
}

/// Gain matrices of one size as a NumPy array, N×K×K, float64.
///
/// An error if there is none, or if their sizes differ.
pub fn gains_to_npy(gains: &[GainMatrix]) -> io::Result<Vec<u8>> {
    let refuse = |error: GainError| io::Error::new(io::ErrorKind::InvalidInput, error);
    let size = gains.first().map(GainMatrix::size).ok_or_else(|| refuse(GainError::Empty))?;
    if let Some(other) = gains.iter().find(|matrix| matrix.size() != size) {
        return Err(refuse(GainError::Shape { size, count: other.as_slice().len() }));
    }
    let mut bytes = Vec::new();
    let shape = [gains.len() as u64, size as u64, size as u64];
    let options = npyz::WriteOptions::<f64>::new().default_dtype().shape(&shape);
    let mut writer = options.writer(&mut bytes).begin_nd()?;
    for matrix in gains {
        writer.extend(matrix.as_slice().iter().copied())?;
    }
    writer.finish()?;
    Ok(bytes)
}

/// Where, and what.
pub(super) type Refusal = (String, String);

fn refuse<T>(message: String) -> Result<T, Refusal> {
    Err((String::new(), message))
}

/// A NumPy array whose length has been checked against its shape.
struct Array {
    instances: usize,
    size: usize,
    order: Order,
    values: Vec<f64>,
}

impl Array {
    fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        check_header(bytes, FORMAT)?;
        let mut data = bytes;
        let broken = |error: io::Error| {
            (
                String::new(),
                format!("the array's header is broken: {}", shorten(&error.to_string())),
            )
        };
        let array = NpyFile::new(&mut data).map_err(broken)?;
        let header = array.header().clone();
        drop(array);
        let item_bytes = match header.dtype() {
            DType::Plain(kind)
                if kind.type_char() == TypeChar::Float && matches!(kind.size_field(), 4 | 8) =>
            {
                kind.size_field()
            }
            other => {
                let kind = shorten(&other.descr());
                return refuse(format!("the array's type is {kind}, expected float32 or float64"));
            }
        };
        let shape = header.shape();
        let shown = shorten(&format!("{shape:?}"));
        let (instances, size) = match *shape {
            [rows, columns] if rows == columns => (1, rows),
            [instances, rows, columns] if rows == columns => (instances, rows),
            _ => return refuse(format!("the array's shape is {shown}, expected K×K or N×K×K")),
        };
        if instances == 0 || size == 0 {
            return refuse(format!("the array's shape is {shown}, expected at least one link"));
        }
        // Before anything of that size is allocated.
        let expected = shape.iter().try_fold(item_bytes, |bytes, &axis| bytes.checked_mul(axis));
        if expected != Some(data.len() as u64) {
            let bytes = expected.map_or_else(|| "over 2^64".to_owned(), |bytes| bytes.to_string());
            return refuse(format!(
                "the array's shape is {shown}, which takes {bytes} bytes, but {} follow the header",
                data.len()
            ));
        }
        let fits = |axis: u64| {
            usize::try_from(axis)
                .or_else(|_| refuse(format!("the array's shape is {shown}, expected less")))
        };
        let (instances, size, order) = (fits(instances)?, fits(size)?, header.order());
        let array = NpyFile::with_header(header, data);
        let values = if item_bytes == 4 {
            array.into_vec::<f32>().map(|values| values.into_iter().map(f64::from).collect())
        } else {
            array.into_vec::<f64>()
        };
        Ok(Self { instances, size, order, values: values.map_err(broken)? })
    }

    fn matrices(self) -> Result<Vec<GainMatrix>, Refusal> {
        let Self { instances, size, order, values } = self;
        let matrix = |instance: usize| {
            let gains = match order {
                Order::C => values[instance * size * size..][..size * size].to_vec(),
                // The first axis runs fastest.
                Order::Fortran => (0..size * size)
                    .map(|at| values[instance + instances * (at / size + size * (at % size))])
                    .collect(),
            };
            GainMatrix::new(size, gains)
                .map_err(|error| (format!("instance {instance}"), error.to_string()))
        };
        (0..instances).map(matrix).collect()
    }
}

/// Refuses headers that the reader of Python literals behind `npyz` was not made for: its time doubles
/// with each bracket, its sizes may overflow, and it believes any length.
pub(super) fn check_header(bytes: &[u8], format: &str) -> Result<(), Refusal> {
    let broken = |what: &str| refuse(format!("the array's header {what}; expected {format}"));
    let after = bytes.get(MAGIC.len()..).unwrap_or_default();
    let (length, rest) = match *after {
        [1, 0, a, b, ref rest @ ..] => (u32::from(u16::from_le_bytes([a, b])), rest),
        [2 | 3, 0, a, b, c, d, ref rest @ ..] => (u32::from_le_bytes([a, b, c, d]), rest),
        _ => return broken("has no known version, or ends"),
    };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let Some(text) = rest.get(..length) else {
        return broken("is longer than the file");
    };
    if length > MOST_HEADER_BYTES {
        return broken("is longer than 10000 bytes");
    }
    let digits = text.iter().filter(|byte| byte.is_ascii_digit()).count();
    // Only decimal numbers have been counted by their digits.
    let other_numbers = text
        .windows(2)
        .any(|pair| pair[0].is_ascii_digit() && (pair[1].is_ascii_alphabetic() || pair[1] == b'_'));
    let mut depth = 0usize;
    let mut deepest = 0;
    for byte in text {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    if digits > MOST_HEADER_DIGITS || other_numbers || deepest > MOST_HEADER_DEPTH {
        return broken("is not that of a plain array of numbers");
    }
    Ok(())
}
