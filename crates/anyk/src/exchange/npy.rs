//! NumPy arrays of numbers (`.npy`), from files that may be damaged or malicious.
//!
//! The format is that of `numpy.lib.format`: a magic string, a version, the length of a header, the header (a Python
//! dictionary), and the numbers.

use thiserror::Error;

use crate::exchange::input_error::shorten;
use crate::limits::MOST_NUMBERS;

/// First bytes of an array file.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";
/// Maximum length of the header of an array; NumPy's own reader has the same limit.
const MOST_HEADER_BYTES: usize = 10_000;
/// Number of bytes of which the position of the first number is a multiple.
const ALIGNMENT: usize = 64;

/// Reason why a NumPy array was rejected.
#[derive(Debug, Error)]
pub(crate) enum NpyError {
    #[error("the array's header {found}; expected {format}")]
    Header { found: &'static str, format: &'static str },
    #[error("the array's type is {0}, expected float32 or float64")]
    Type(String),
    #[error("the array's shape is {shape}, expected {expected}")]
    Shape { shape: String, expected: &'static str },
    #[error(
        "the array's shape is {shape}, which takes {} bytes, but {found} follow the header",
        .expected.map_or_else(|| "over 2^64".to_owned(), |bytes| bytes.to_string())
    )]
    Length { shape: String, expected: Option<u64>, found: usize },
    #[error("the array's shape is {0}, expected at most {MOST_NUMBERS} numbers")]
    Numbers(String),
}

impl NpyError {
    pub(crate) fn shape(shape: &[u64], expected: &'static str) -> Self {
        Self::Shape { shape: shown(shape), expected }
    }
}

fn shown(shape: &[u64]) -> String {
    shorten(&format!("{shape:?}"))
}

/// NumPy array whose length matches its shape.
pub(crate) struct Array {
    pub(crate) shape: Vec<usize>,
    /// Numbers in C order: the last index changes fastest.
    pub(crate) values: Vec<f64>,
}

impl Array {
    /// Reads an array of float32 or float64. `format` describes the expected content of the file for messages.
    pub(crate) fn read(
        bytes: &[u8],
        format: &'static str,
        check_shape: impl Fn(&[u64]) -> Result<(), NpyError>,
    ) -> Result<Self, NpyError> {
        let broken = |found: &'static str| NpyError::Header { found, format };
        let (length, rest) = match *bytes.strip_prefix(MAGIC).unwrap_or_default() {
            [1, 0, a, b, ref rest @ ..] => (u32::from_le_bytes([a, b, 0, 0]), rest),
            [2 | 3, 0, a, b, c, d, ref rest @ ..] => (u32::from_le_bytes([a, b, c, d]), rest),
            _ => return Err(broken("has an unknown version or is incomplete")),
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let split = rest.split_at_checked(length);
        let (text, data) = split.ok_or_else(|| broken("is longer than the file"))?;
        if length > MOST_HEADER_BYTES {
            return Err(broken("is longer than 10000 bytes"));
        }
        let text = String::from_utf8_lossy(text);
        let header = Header::parse(&text)
            .ok_or_else(|| broken("is not that of a plain array of numbers"))?;
        let (item_bytes, item): (usize, fn(&[u8]) -> f64) = match header.kind {
            "<f8" => (8, |item| f64::from_le_bytes(item.try_into().unwrap_or_default())),
            ">f8" => (8, |item| f64::from_be_bytes(item.try_into().unwrap_or_default())),
            "<f4" => (4, |item| f32::from_le_bytes(item.try_into().unwrap_or_default()).into()),
            ">f4" => (4, |item| f32::from_be_bytes(item.try_into().unwrap_or_default()).into()),
            other => return Err(NpyError::Type(format!("'{}'", shorten(other)))),
        };
        let shape = &header.shape;
        check_shape(shape)?;
        // Check the size before memory is allocated.
        let expected =
            shape.iter().try_fold(item_bytes as u64, |bytes, &axis| bytes.checked_mul(axis));
        if expected != Some(data.len() as u64) {
            return Err(NpyError::Length { shape: shown(shape), expected, found: data.len() });
        }
        if data.len() / item_bytes > MOST_NUMBERS {
            return Err(NpyError::Numbers(shown(shape)));
        }
        let fits = |&axis: &u64| usize::try_from(axis).map_err(|_| NpyError::shape(shape, "less"));
        let shape = shape.iter().map(fits).collect::<Result<Vec<_>, _>>()?;
        let values: Vec<f64> = data.chunks_exact(item_bytes).map(item).collect();
        let values = if header.is_fortran { c_order(&shape, &values) } else { values };
        Ok(Self { shape, values })
    }
}

/// Converts numbers whose first index changes fastest to C order.
fn c_order(shape: &[usize], values: &[f64]) -> Vec<f64> {
    let place = |mut index: usize| {
        let mut stride = values.len();
        let mut place = 0;
        // From the last axis, which changes fastest in C order and slowest in the file.
        for &axis in shape.iter().rev() {
            stride /= axis;
            place += index % axis * stride;
            index /= axis;
        }
        place
    };
    (0..values.len()).map(|index| values[place(index)]).collect()
}

/// The three entries of a header.
struct Header<'a> {
    kind: &'a str,
    is_fortran: bool,
    shape: Vec<u64>,
}

impl<'a> Header<'a> {
    /// Parses `{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }` with entries in any order. A type
    /// that is not a string is returned verbatim.
    fn parse(text: &'a str) -> Option<Self> {
        let mut rest = Rest(text);
        let (mut kind, mut is_fortran, mut shape) = (None, None, None);
        rest.take("{")?;
        while rest.take("}").is_none() {
            let key = rest.string()?;
            rest.take(":")?;
            let is_new = match key {
                "descr" => kind.replace(rest.string().or_else(|| rest.list())?).is_none(),
                "fortran_order" => {
                    let value = rest.take("True").map(|()| true);
                    let value = value.or_else(|| rest.take("False").map(|()| false))?;
                    is_fortran.replace(value).is_none()
                }
                "shape" => shape.replace(rest.tuple()?).is_none(),
                _ => false,
            };
            if !is_new || (rest.take(",").is_none() && !rest.0.trim_start().starts_with('}')) {
                return None;
            }
        }
        let header = Self { kind: kind?, is_fortran: is_fortran?, shape: shape? };
        rest.0.trim().is_empty().then_some(header)
    }
}

/// Rest of a header that has not been parsed.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn take(&mut self, token: &str) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(token)?;
        Some(())
    }

    /// Parses a string without escapes, in either kind of quotes.
    fn string(&mut self) -> Option<&'a str> {
        let quote =
            ['\'', '"'].into_iter().find(|&quote| self.0.trim_start().starts_with(quote))?;
        let (text, rest) = self.0.trim_start()[1..].split_once(quote)?;
        self.0 = rest;
        Some(text)
    }

    /// Parses the fields of a structured type, up to the closing bracket.
    fn list(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start();
        if !text.starts_with('[') {
            return None;
        }
        let mut depth = 0usize;
        let end = text.find(|letter| {
            match letter {
                '[' => depth += 1,
                ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
        })?;
        self.0 = &text[end + 1..];
        Some(&text[..=end])
    }

    /// Parses whole numbers in parentheses; a single number is followed by a comma.
    fn tuple(&mut self) -> Option<Vec<u64>> {
        let mut axes = Vec::new();
        self.take("(")?;
        while self.take(")").is_none() {
            let text = self.0.trim_start();
            let end = text.find(|letter: char| !letter.is_ascii_digit())?;
            axes.push(text[..end].parse().ok()?);
            self.0 = &text[end..];
            if self.take(",").is_none()
                && (axes.len() == 1 || !self.0.trim_start().starts_with(')'))
            {
                return None;
            }
        }
        Some(axes)
    }
}

/// Returns an array of float64 in C order, in version 1.0 of the format.
pub(crate) fn npy_bytes(shape: &[usize], values: &[f64]) -> Vec<u8> {
    write(shape, values.iter().copied())
}

pub(crate) fn write(shape: &[usize], values: impl IntoIterator<Item = f64>) -> Vec<u8> {
    let axes: String = shape.iter().map(|axis| format!("{axis}, ")).collect();
    let axes = if shape.len() == 1 { axes.trim_end() } else { axes.trim_end_matches(", ") };
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({axes}), }}");
    // The magic string, the version and the length of the header precede it, and a newline ends it.
    let length = (MAGIC.len() + 4 + header.len() + 1).next_multiple_of(ALIGNMENT) - MAGIC.len() - 4;
    header.push_str(&" ".repeat(length - header.len() - 1));
    header.push('\n');
    // An array of up to three axes has a header of less than 200 bytes.
    let length = u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes();
    let mut bytes = [MAGIC, &[1, 0], &length, header.as_bytes()].concat();
    bytes.extend(values.into_iter().flat_map(f64::to_le_bytes));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(version: u8, header: &str, data: &[u8]) -> Result<Array, NpyError> {
        let length = u32::try_from(header.len()).unwrap().to_le_bytes();
        let length = if version == 1 { &length[..2] } else { &length };
        let bytes = [MAGIC, &[version, 0], length, header.as_bytes(), data].concat();
        Array::read(&bytes, "an array", |_| Ok(()))
    }

    #[test]
    fn versions_spellings_and_orders() {
        let data: Vec<u8> = (0..6u8).flat_map(|value| f64::from(value).to_le_bytes()).collect();
        for header in [
            "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }          \n",
            "{'shape':(2,3,),\"descr\":\"<f8\",'fortran_order':False}",
            " { 'fortran_order' : False , 'shape' : ( 2 , 3 ) , 'descr' : '<f8' } \n",
        ] {
            for version in [1, 2, 3] {
                let array = read(version, header, &data).unwrap();
                assert_eq!((array.shape, array.values), (vec![2, 3], vec![0., 1., 2., 3., 4., 5.]));
            }
        }
        let fortran = "{'descr': '<f8', 'fortran_order': True, 'shape': (1, 2, 3), }";
        assert_eq!(read(1, fortran, &data).unwrap().values, [0., 2., 4., 1., 3., 5.]);
        let scalar = "{'descr': '>f4', 'fortran_order': True, 'shape': (), }";
        assert_eq!(read(1, scalar, &1.5f32.to_be_bytes()).unwrap().values, [1.5]);
        let empty = "{'descr': '>f4', 'fortran_order': True, 'shape': (3, 0), }";
        assert!(read(1, empty, &[]).unwrap().values.is_empty());
    }

    /// Headers that NumPy itself rejects, or that contain a type or a size twice.
    #[test]
    fn other_headers_are_refused() {
        for header in [
            "",
            "{}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (0,)",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (0,)}}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (0)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': 0}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (0 0)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (,)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (0L,)}",
            "{'descr': '<f8', 'fortran_order': 0, 'shape': (0,)}",
            "{'descr': '<f8' 'fortran_order': False, 'shape': (0,)}",
            "{'descr': <f8, 'fortran_order': False, 'shape': (0,)}",
            "{'descr': [, 'fortran_order': False, 'shape': (0,)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (0,), 'more': 1}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (0,), 'shape': (0,)}",
            "{'fortran_order': False, 'shape': (0,)}",
        ] {
            assert!(matches!(read(1, header, &[]), Err(NpyError::Header { .. })), "{header}");
        }
        for kind in ["'<i8'", "'f8'", "'|f8'", "''", "'ſ'", "[('a', '<f8', (2,)), ('b', '<f8')]"] {
            let header = format!("{{'descr': {kind}, 'fortran_order': False, 'shape': (0,)}}");
            assert!(matches!(read(3, &header, &[]), Err(NpyError::Type(_))), "{kind}");
        }
        assert!(matches!(read(4, "{}", &[]), Err(NpyError::Header { .. })));
        let blank = format!("{:11000}", "{'descr': '<f8', 'fortran_order': False, 'shape': (0,)}");
        assert!(matches!(read(2, &blank, &[]), Err(NpyError::Header { .. })));
    }

    /// Compares arrays with those that `numpy.save` writes.
    #[test]
    fn arrays_are_written_as_numpy_does() {
        for (shape, tuple) in [(&[3][..], "(3,)"), (&[0], "(0,)"), (&[1, 2, 2], "(1, 2, 2)")] {
            let count = shape.iter().product::<usize>();
            let values: Vec<f64> = (0..count).map(|value| value as f64).collect();
            let bytes = write(shape, values.iter().copied());
            let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {tuple}, }}");
            assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
            assert_eq!(&bytes[10..128], format!("{header:117}\n").as_bytes());
            let array = Array::read(&bytes, "", |_| Ok(())).unwrap();
            assert_eq!((array.shape.as_slice(), array.values), (shape, values));
        }
    }
}
