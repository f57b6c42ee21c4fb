//! MATLAB files of version 5 (`save` with `-v6` or `-v7`, SciPy's `savemat`): arrays of real numbers, unpacked within
//! bounds.
//!
//! A file is a header of 128 bytes and then elements, each with a tag: its type and its bytes. A variable is an
//! element of elements (flags, axes, name, numbers), plain or as a zlib stream. Opening a file reads flags, axes and
//! names alone; numbers are unpacked one by one when they are asked for, no more than their axes say.

use std::io::{self, BufReader, Read};
use std::ops::Range;

use flate2::bufread::ZlibDecoder;
use thiserror::Error;

use crate::exchange::input_error::shorten;
use crate::memory::{Tally, TooMuchMemory};

const HEADER_BYTES: usize = 128;
/// First bytes of HDF5, which version 7.3 has after 512 bytes.
const HDF5: &[u8] = b"\x89HDF\r\n\x1a\n";
const HDF5_OFFSET: usize = 512;
/// Types of elements.
const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;
/// Longest name of a variable; MATLAB's own are 63 letters.
const MOST_NAME_BYTES: usize = 256;
/// Most elements: each takes the start of a stream, and is compared with all others.
const MOST_VARIABLES: usize = 10_000;
/// Most axes.
const MOST_AXES: usize = 32;
/// Memory of a variable that is known by its name.
const VARIABLE_BYTES: usize = 512;

/// Why a file was refused.
#[derive(Debug, Error)]
pub(super) enum MatError {
    #[error(
        "a MATLAB file of version 7.3 (HDF5), expected version 5: save('gains.mat', 'gains', '-v7') in MATLAB, or \
         scipy.io.savemat, writes it"
    )]
    Hdf5,
    #[error("the file's version is {0:#06x}, expected a MATLAB file of version 5 (0x0100)")]
    Version(u16),
    #[error("the element at byte {at} has {claimed} bytes, but {found} follow")]
    Element { at: usize, claimed: usize, found: usize },
    #[error("the variable at byte {at}: {error}")]
    Variable { at: usize, error: Broken },
    #[error("{name}: {error}")]
    Named { name: String, error: Broken },
    #[error("more than {MOST_VARIABLES} elements, expected fewer")]
    Many,
    #[error("the variable {0} stands twice, expected once")]
    Twice(String),
    #[error(transparent)]
    Memory(#[from] TooMuchMemory),
}

/// What is wrong with a variable.
#[derive(Debug, Error)]
pub(super) enum Broken {
    #[error("cannot be unpacked: {}", shorten(&.0.to_string()))]
    Read(#[from] io::Error),
    #[error("{what} is of type {kind} with {bytes} bytes, expected {expected}")]
    Part { what: &'static str, kind: u32, bytes: usize, expected: &'static str },
    #[error("it is {0}, expected an array of real numbers")]
    Class(&'static str),
    #[error("it is complex, expected real numbers (gains are powers: abs(h).^2)")]
    Complex,
    #[error("the shape is {0}, whose product is over 2^64")]
    Axes(String),
    #[error("{count} numbers of {item_bytes} bytes each, but {found} bytes follow")]
    Length { count: usize, item_bytes: usize, found: usize },
    #[error("more follows than it says")]
    Longer,
}

/// Whether a file is MATLAB's, of any version.
pub(super) fn is_mat(bytes: &[u8]) -> bool {
    // A version, which has a byte 0, and a sign for the order of bytes.
    let is_sign = |end: &[u8]| end[..2].contains(&0) && matches!(&end[2..], b"IM" | b"MI");
    let signed = bytes.get(HEADER_BYTES - 4..HEADER_BYTES).is_some_and(is_sign);
    bytes.starts_with(HDF5) || bytes.starts_with(b"MATLAB ") || signed
}

/// A variable that has not been unpacked yet.
pub(super) struct Variable {
    pub(super) name: String,
    axes: Vec<u64>,
    class: u8,
    complex: bool,
    /// Its elements, or the stream that they are packed into.
    place: Range<usize>,
    packed: bool,
}

/// A file; nothing of its numbers has been unpacked yet.
pub(super) struct MatFile<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
    variables: Vec<Variable>,
}

#[derive(Clone, Copy, PartialEq)]
enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    fn four(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }
}

impl<'a> MatFile<'a> {
    /// Finds the variables.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, MatError> {
        let hdf5 = |at: usize| bytes.get(at..).is_some_and(|rest| rest.starts_with(HDF5));
        if hdf5(0) || hdf5(HDF5_OFFSET) {
            return Err(MatError::Hdf5);
        }
        let Some((&[a, b, sign @ ..], _)) =
            bytes[..].split_at_checked(HEADER_BYTES).and_then(|(header, rest)| {
                Some((header[HEADER_BYTES - 4..].first_chunk::<4>()?, rest))
            })
        else {
            let found = bytes.len();
            return Err(MatError::Element { at: 0, claimed: HEADER_BYTES, found });
        };
        let order = if &sign == b"MI" { ByteOrder::Big } else { ByteOrder::Little };
        let version = match order {
            ByteOrder::Little => u16::from_le_bytes([a, b]),
            ByteOrder::Big => u16::from_be_bytes([a, b]),
        };
        match version {
            0x0100 => {}
            0x0200 => return Err(MatError::Hdf5),
            other => return Err(MatError::Version(other)),
        }
        let mut file = Self { bytes, order, variables: Vec::new() };
        let mut tally = Tally::new("the variables in it", bytes.len());
        let mut at = HEADER_BYTES;
        for _ in 0..MOST_VARIABLES {
            if at >= bytes.len() {
                return Ok(file);
            }
            at = file.element(at, &mut tally)?;
        }
        if at >= bytes.len() { Ok(file) } else { Err(MatError::Many) }
    }

    /// The element at a place; returns the next one's.
    fn element(&mut self, at: usize, tally: &mut Tally) -> Result<usize, MatError> {
        let rest = &self.bytes[at..];
        let Some((tag, rest)) = rest.split_first_chunk::<8>() else {
            return Err(MatError::Element { at, claimed: 8, found: rest.len() });
        };
        let [a, b, c, d, length @ ..] = *tag;
        let kind = self.order.four([a, b, c, d]);
        if kind >> 16 != 0 {
            // A small element: its bytes are in its tag.
            return Ok(at + 8);
        }
        let claimed = usize::try_from(self.order.four(length)).unwrap_or(usize::MAX);
        if claimed > rest.len() {
            return Err(MatError::Element { at, claimed, found: rest.len() });
        }
        let place = at + 8..at + 8 + claimed;
        if kind == MATRIX || kind == COMPRESSED {
            let found = self.head(place.clone(), kind == COMPRESSED);
            if let Some(variable) = found.map_err(|error| MatError::Variable { at, error })? {
                tally.add(VARIABLE_BYTES)?;
                if self.variables.iter().any(|other| other.name == variable.name) {
                    return Err(MatError::Twice(shorten(&variable.name)));
                }
                self.variables.push(variable);
            }
        }
        // Streams are not padded.
        let padded = if kind == COMPRESSED { claimed } else { claimed.next_multiple_of(8) };
        Ok(at + 8 + padded)
    }

    /// The elements of a variable, as bytes one after the other.
    fn elements(&self, place: Range<usize>, packed: bool) -> Result<Elements<'a>, Broken> {
        let bytes = &self.bytes[place];
        if !packed {
            return Ok(Elements { order: self.order, reader: Box::new(bytes) });
        }
        let mut stream = BufReader::new(ZlibDecoder::new(bytes));
        let mut tag = [0; 8];
        stream.read_exact(&mut tag)?;
        let [a, b, c, d, length @ ..] = tag;
        let (kind, bytes) = (self.order.four([a, b, c, d]), self.order.four(length));
        if kind != MATRIX {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            let expected = "type 14, a variable";
            return Err(Broken::Part { what: "the stream", kind, bytes, expected });
        }
        Ok(Elements { order: self.order, reader: Box::new(stream) })
    }

    /// Flags, axes and name of a variable; none of what is no array at all.
    fn head(&self, place: Range<usize>, packed: bool) -> Result<Option<Variable>, Broken> {
        if place.is_empty() {
            // An empty matrix without a name, as MATLAB writes it in places.
            return Ok(None);
        }
        let mut elements = self.elements(place.clone(), packed)?;
        let (name, axes, class, complex) = match elements.head()? {
            Some(head) => head,
            None => return Ok(None),
        };
        Ok(Some(Variable { name, axes, class, complex, place, packed }))
    }

    /// All variables.
    pub(super) fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The axes of a variable that is an array of real numbers.
    pub(super) fn numeric_shape(&self, index: usize) -> Result<Vec<usize>, MatError> {
        let Variable { name, axes, class, complex, .. } = &self.variables[index];
        let refuse = |error| Err(MatError::Named { name: shorten(name), error });
        match class {
            6..=15 => {}
            1 => return refuse(Broken::Class("a cell array")),
            2 => return refuse(Broken::Class("a structure")),
            3 => return refuse(Broken::Class("an object")),
            4 => return refuse(Broken::Class("text")),
            5 => return refuse(Broken::Class("a sparse matrix (full(gains) makes it plain)")),
            _ => return refuse(Broken::Class("of an unknown class")),
        }
        if *complex {
            return refuse(Broken::Complex);
        }
        let product = axes.iter().try_fold(8u64, |product, &axis| product.checked_mul(axis));
        let shape = axes.iter().map(|&axis| usize::try_from(axis).ok()).collect::<Option<Vec<_>>>();
        match (product, shape) {
            (Some(_), Some(shape)) => Ok(shape),
            _ => refuse(Broken::Axes(shorten(&format!("{axes:?}")))),
        }
    }

    /// The numbers of a variable in MATLAB's order, the first index fastest; their memory has been asked for.
    pub(super) fn numbers(&self, index: usize) -> Result<Vec<f64>, MatError> {
        let count = self.numeric_shape(index)?.iter().product();
        let Variable { name, place, packed, .. } = &self.variables[index];
        let numbers = || -> Result<Vec<f64>, Broken> {
            let mut elements = self.elements(place.clone(), *packed)?;
            elements.head()?;
            elements.numbers(count)
        };
        numbers().map_err(|error| MatError::Named { name: shorten(name), error })
    }
}

/// Elements of a variable, read one after the other.
struct Elements<'a> {
    order: ByteOrder,
    reader: Box<dyn Read + 'a>,
}

/// Name, axes, class, and whether it is complex.
type Head = (String, Vec<u64>, u8, bool);

impl Elements<'_> {
    /// Type and bytes of the next element, and what is in its tag if it is a small one.
    fn tag(&mut self) -> Result<(u32, usize, Option<[u8; 4]>), Broken> {
        let mut tag = [0; 8];
        self.reader.read_exact(&mut tag)?;
        let [a, b, c, d, rest @ ..] = tag;
        let kind = self.order.four([a, b, c, d]);
        match kind >> 16 {
            0 => Ok((kind, usize::try_from(self.order.four(rest)).unwrap_or(usize::MAX), None)),
            bytes => Ok((kind & 0xffff, bytes as usize, Some(rest))),
        }
    }

    /// The next element whole, padding left out: a short one.
    fn part(
        &mut self,
        what: &'static str,
        (kind, item_bytes, most): (u32, usize, usize),
        expected: &'static str,
    ) -> Result<Vec<u8>, Broken> {
        let (found, bytes, small) = self.tag()?;
        let fits = found == kind && bytes <= most && bytes % item_bytes == 0;
        if !fits || (small.is_some() && bytes > 4) {
            return Err(Broken::Part { what, kind: found, bytes, expected });
        }
        if let Some(small) = small {
            return Ok(small[..bytes].to_vec());
        }
        let mut whole = vec![0; bytes.next_multiple_of(8)];
        self.reader.read_exact(&mut whole)?;
        whole.truncate(bytes);
        Ok(whole)
    }

    fn head(&mut self) -> Result<Option<Head>, Broken> {
        let flags = self.part("its flags", (6, 4, 8), "type 6 with 8 bytes")?;
        let Some(&flags) = flags.first_chunk::<4>() else {
            let (what, bytes) = ("its flags", flags.len());
            return Err(Broken::Part { what, kind: 6, bytes, expected: "type 6 with 8 bytes" });
        };
        let [class, flags, ..] = self.order.four(flags).to_le_bytes();
        if !(1..=15).contains(&class) {
            // Function handles and the like, which have other parts.
            return Ok(None);
        }
        let axes = self.part("its shape", (5, 4, 4 * MOST_AXES), "type 5 with up to 32 axes")?;
        let axes = axes.as_chunks::<4>().0.iter().map(|&axis| {
            // Signed, but never negative: what is becomes too large.
            match self.order.four(axis) {
                axis if axis > i32::MAX as u32 => u64::MAX,
                axis => u64::from(axis),
            }
        });
        let axes = axes.collect();
        let name = self.part("its name", (1, 1, MOST_NAME_BYTES), "type 1 with up to 256 bytes")?;
        let name = String::from_utf8_lossy(&name).into_owned();
        Ok(Some((name, axes, class, flags & 0x08 != 0)))
    }

    /// The numbers that follow, of any type: MATLAB stores each array in the smallest that holds it.
    fn numbers(&mut self, count: usize) -> Result<Vec<f64>, Broken> {
        let (kind, bytes, small) = self.tag()?;
        let item_bytes = match kind {
            1 | 2 => 1,
            3 | 4 => 2,
            5..=7 => 4,
            9 | 12 | 13 => 8,
            _ => {
                let expected = "numbers";
                return Err(Broken::Part { what: "its content", kind, bytes, expected });
            }
        };
        let small_fits = small.is_none() || bytes <= 4;
        if count.checked_mul(item_bytes) != Some(bytes) || !small_fits {
            return Err(Broken::Length { count, item_bytes, found: bytes });
        }
        let mut values = Vec::with_capacity(count);
        let mut buffer = [0; 4096];
        match small {
            Some(small) => self.widen(kind, item_bytes, &small[..bytes], &mut values),
            None => {
                let mut left = bytes;
                while left > 0 {
                    let part = left.min(buffer.len());
                    self.reader.read_exact(&mut buffer[..part])?;
                    self.widen(kind, item_bytes, &buffer[..part], &mut values);
                    left -= part;
                }
                let padding = (bytes.next_multiple_of(8) - bytes) as u64;
                io::copy(&mut self.reader.by_ref().take(padding), &mut io::sink())?;
            }
        }
        // Past the last number, where the checksum of a stream is verified, too.
        match self.reader.read(&mut buffer[..1])? {
            0 => Ok(values),
            _ => Err(Broken::Longer),
        }
    }

    /// Numbers of a type, as floats.
    fn widen(&self, kind: u32, item_bytes: usize, bytes: &[u8], values: &mut Vec<f64>) {
        let big = self.order == ByteOrder::Big;
        values.extend(bytes.chunks_exact(item_bytes).map(|item| {
            // Little-endian, at the start of eight bytes.
            let mut eight = [0; 8];
            eight[..item_bytes].copy_from_slice(item);
            if big {
                eight[..item_bytes].reverse();
            }
            let [a, b, c, d, ..] = eight;
            #[allow(clippy::cast_precision_loss)]
            match kind {
                1 => f64::from(i8::from_le_bytes([a])),
                2 => f64::from(a),
                3 => f64::from(i16::from_le_bytes([a, b])),
                4 => f64::from(u16::from_le_bytes([a, b])),
                5 => f64::from(i32::from_le_bytes([a, b, c, d])),
                6 => f64::from(u32::from_le_bytes([a, b, c, d])),
                7 => f64::from(f32::from_le_bytes([a, b, c, d])),
                12 => i64::from_le_bytes(eight) as f64,
                13 => u64::from_le_bytes(eight) as f64,
                _ => f64::from_le_bytes(eight),
            }
        }));
    }
}
