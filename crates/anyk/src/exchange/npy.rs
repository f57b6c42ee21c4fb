//! NumPy arrays of numbers, from files that may be damaged or hostile.

use std::io;

use npyz::{DType, NpyFile, Order, TypeChar};

use crate::exchange::input_error::shorten;

/// First bytes of an array.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// Longest header of an array; NumPy's own reader has the same bound.
const MOST_HEADER_BYTES: usize = 10_000;
/// Most digits in a header: any product of numbers with so many digits fits into 64 bits.
const MOST_HEADER_DIGITS: usize = 19;
/// Deepest brackets in a header: those of a structured type, which is then refused by its name.
const MOST_HEADER_DEPTH: usize = 4;

/// Where, and what.
pub(super) type Refusal = (String, String);

pub(super) fn refuse<T>(message: String) -> Result<T, Refusal> {
    Err((String::new(), message))
}

/// A NumPy array whose length has been checked against its shape.
pub(super) struct Array {
    pub(super) shape: Vec<usize>,
    pub(super) order: Order,
    pub(super) values: Vec<f64>,
}

impl Array {
    /// Reads float32 or float64. `format` says what the file is expected to hold; `check_shape` gets the
    /// shape, and as it is shown in messages.
    pub(super) fn read(
        bytes: &[u8],
        format: &str,
        check_shape: impl Fn(&[u64], &str) -> Result<(), Refusal>,
    ) -> Result<Self, Refusal> {
        check_header(bytes, format)?;
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
        check_shape(shape, &shown)?;
        // Before anything of that size is allocated.
        let expected = shape.iter().try_fold(item_bytes, |bytes, &axis| bytes.checked_mul(axis));
        if expected != Some(data.len() as u64) {
            let bytes = expected.map_or_else(|| "over 2^64".to_owned(), |bytes| bytes.to_string());
            return refuse(format!(
                "the array's shape is {shown}, which takes {bytes} bytes, but {} follow the header",
                data.len()
            ));
        }
        let fits = |&axis: &u64| {
            usize::try_from(axis)
                .or_else(|_| refuse(format!("the array's shape is {shown}, expected less")))
        };
        let shape = shape.iter().map(fits).collect::<Result<_, _>>()?;
        let order = header.order();
        let array = NpyFile::with_header(header, data);
        let values = if item_bytes == 4 {
            array.into_vec::<f32>().map(|values| values.into_iter().map(f64::from).collect())
        } else {
            array.into_vec::<f64>()
        };
        Ok(Self { shape, order, values: values.map_err(broken)? })
    }
}

/// Refuses headers that the reader of Python literals behind `npyz` was not made for: its time doubles
/// with each bracket, its sizes may overflow, and it believes any length.
pub(super) fn check_header(bytes: &[u8], format: &str) -> Result<(), Refusal> {
    let broken = |what: &str| refuse(format!("the array's header {what}; expected {format}"));
    let after = &bytes[MAGIC.len()..];
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
