//! NumPy arrays of numbers, from files that may be damaged or hostile.

use std::io;

use npyz::{DType, NpyFile, Order, TypeChar};
use thiserror::Error;

use crate::exchange::input_error::shorten;
use crate::memory::{MemoryBudget, TooMuchMemory};

/// First bytes of an array.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// Longest header of an array; NumPy's own reader has the same bound.
pub(super) const MOST_HEADER_BYTES: usize = 10_000;
/// Most digits in a header: any product of numbers with so many digits in all fits into 64 bits.
const MOST_HEADER_DIGITS: usize = 19;
/// Deepest brackets in a header: enough for a structured type, which is then refused as such.
const MOST_HEADER_DEPTH: usize = 4;

/// Why a NumPy array was refused.
#[derive(Debug, Error)]
pub(super) enum NpyError {
    #[error("the array's header {found}; expected {format}")]
    Header { found: &'static str, format: &'static str },
    #[error("the array's header is broken: {}", shorten(&.0.to_string()))]
    Broken(io::Error),
    #[error("the array's type is {0}, expected float32 or float64")]
    Type(String),
    #[error("the array's shape is {shape}, expected {expected}")]
    Shape { shape: String, expected: &'static str },
    #[error(
        "the array's shape is {shape}, which takes {} bytes, but {found} follow the header",
        .expected.map_or_else(|| "over 2^64".to_owned(), |bytes| bytes.to_string())
    )]
    Length { shape: String, expected: Option<u64>, found: usize },
    #[error(transparent)]
    Memory(#[from] TooMuchMemory),
}

impl NpyError {
    pub(super) fn shape(shape: &[u64], expected: &'static str) -> Self {
        Self::Shape { shape: shown(shape), expected }
    }
}

/// A NumPy array whose length has been checked against its shape.
pub(super) struct Array {
    pub(super) shape: Vec<usize>,
    pub(super) order: Order,
    pub(super) values: Vec<f64>,
}

impl Array {
    /// Reads float32 or float64. `format` says what the file is expected to hold, and the last what numbers of a
    /// shape are called and how many bytes of memory they will take, the file itself left out.
    pub(super) fn read(
        bytes: &[u8],
        format: &'static str,
        check_shape: impl Fn(&[u64]) -> Result<(), NpyError>,
        (what, need): (&str, impl Fn(&[usize]) -> u128),
    ) -> Result<Self, NpyError> {
        check_header(bytes, format)?;
        let mut data = bytes;
        let array = NpyFile::new(&mut data).map_err(NpyError::Broken)?;
        let header = array.header().clone();
        drop(array);
        let item_bytes = match header.dtype() {
            DType::Plain(kind)
                if kind.type_char() == TypeChar::Float && matches!(kind.size_field(), 4 | 8) =>
            {
                kind.size_field()
            }
            other => return Err(NpyError::Type(shorten(&other.descr()))),
        };
        let shape = header.shape();
        check_shape(shape)?;
        // Before anything of that size is allocated.
        let expected = shape.iter().try_fold(item_bytes, |bytes, &axis| bytes.checked_mul(axis));
        if expected != Some(data.len() as u64) {
            return Err(NpyError::Length { shape: shown(shape), expected, found: data.len() });
        }
        let fits = |&axis: &u64| usize::try_from(axis).map_err(|_| NpyError::shape(shape, "less"));
        let shape = shape.iter().map(fits).collect::<Result<Vec<_>, _>>()?;
        MemoryBudget::current().allow(what, need(&shape).saturating_add(bytes.len() as u128))?;
        let order = header.order();
        let array = NpyFile::with_header(header, data);
        let values = if item_bytes == 4 {
            array.into_vec::<f32>().map(|values| values.into_iter().map(f64::from).collect())
        } else {
            array.into_vec::<f64>()
        };
        Ok(Self { shape, order, values: values.map_err(NpyError::Broken)? })
    }
}

fn shown(shape: &[u64]) -> String {
    shorten(&format!("{shape:?}"))
}

/// Refuses headers that `npyz` cannot read safely: the time of its parser of Python literals doubles with each
/// bracket, its sizes may overflow, and it trusts any length.
pub(super) fn check_header(bytes: &[u8], format: &'static str) -> Result<(), NpyError> {
    let broken = |found: &'static str| Err(NpyError::Header { found, format });
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
    // Numbers that are not decimal, whose digits say nothing about their size.
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
