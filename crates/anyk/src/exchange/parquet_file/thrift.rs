//! The part of Thrift's compact protocol that Parquet files use: the fields of structs, one after another.

use thiserror::Error;

/// Deeper structs are refused: reading them takes stack.
const MOST_DEPTH: usize = 16;
/// Largest number of a field.
const MOST_FIELD: usize = i16::MAX as usize;

/// Why bytes are not what the protocol would write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(in crate::exchange) enum ThriftError {
    #[error("it ends early")]
    EndsEarly,
    #[error("its structs are too deep")]
    Depth,
    #[error("it has lists in lists")]
    ListInList,
    #[error("a number has more than 64 bits")]
    TooManyBits,
    #[error("a field has the number {0}")]
    FieldNumber(i64),
    #[error("a field is of the unknown kind {0}")]
    Kind(u8),
    #[error("a field is no number")]
    NotANumber,
    #[error("a field is no text")]
    NotAText,
    #[error("a field is no list of structs")]
    NotAListOfStructs,
}

/// How the protocol writes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind(u8);

impl Kind {
    const TRUE: Self = Self(1);
    const FALSE: Self = Self(2);
    const BYTE: Self = Self(3);
    const SHORT: Self = Self(4);
    const INT: Self = Self(5);
    const LONG: Self = Self(6);
    const DOUBLE: Self = Self(7);
    const BINARY: Self = Self(8);
    const LIST: Self = Self(9);
    const SET: Self = Self(10);
    const MAP: Self = Self(11);
    pub(super) const STRUCT: Self = Self(12);
}

/// Bytes that are read from the front.
#[derive(Debug)]
pub(super) struct Compact<'a> {
    rest: &'a [u8],
    depth: usize,
}

impl<'a> Compact<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, depth: 0 }
    }

    /// Bytes not read yet.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    /// Calls `visit` with the number and kind of each field of a struct; it says whether it has read
    /// the value, which is skipped otherwise.
    pub(super) fn fields(
        &mut self,
        visit: &mut dyn FnMut(&mut Self, usize, Kind) -> Result<bool, ThriftError>,
    ) -> Result<(), ThriftError> {
        if self.depth == MOST_DEPTH {
            return Err(ThriftError::Depth);
        }
        self.depth += 1;
        let mut id = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                break;
            }
            id = if head >> 4 == 0 { self.zigzag()? } else { id + i64::from(head >> 4) };
            let number = usize::try_from(id).ok().filter(|&number| number <= MOST_FIELD);
            let number = number.ok_or(ThriftError::FieldNumber(id))?;
            let kind = Kind(head & 0xf);
            if !visit(self, number, kind)? {
                self.skip(kind)?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// The whole numbers and truth values of a struct, by the number of their field.
    pub(super) fn numbers(&mut self) -> Result<[Option<i64>; 10], ThriftError> {
        let mut numbers = [None; 10];
        self.fields(&mut |reader, id, kind| {
            match numbers.get_mut(id) {
                Some(place) if kind.0 <= Kind::LONG.0 => *place = Some(reader.number(kind)?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(numbers)
    }

    /// A whole number or, as 0 or 1, a truth value.
    pub(super) fn number(&mut self, kind: Kind) -> Result<i64, ThriftError> {
        match kind {
            Kind::TRUE => Ok(1),
            Kind::FALSE => Ok(0),
            Kind::BYTE => Ok(i64::from(self.byte()?.cast_signed())),
            Kind::SHORT | Kind::INT | Kind::LONG => self.zigzag(),
            _ => Err(ThriftError::NotANumber),
        }
    }

    pub(super) fn binary(&mut self, kind: Kind) -> Result<&'a [u8], ThriftError> {
        if kind != Kind::BINARY {
            return Err(ThriftError::NotAText);
        }
        let length = self.varint()?;
        self.take(length)
    }

    /// How many structs follow in a list of them.
    pub(super) fn structs(&mut self, kind: Kind) -> Result<u64, ThriftError> {
        match (kind, self.list()?) {
            (Kind::LIST, (count, Kind::STRUCT)) => Ok(count),
            _ => Err(ThriftError::NotAListOfStructs),
        }
    }

    fn list(&mut self) -> Result<(u64, Kind), ThriftError> {
        let head = self.byte()?;
        let count = if head >> 4 == 0xf { self.varint()? } else { u64::from(head >> 4) };
        Ok((count, Kind(head & 0xf)))
    }

    fn skip(&mut self, kind: Kind) -> Result<(), ThriftError> {
        match kind {
            Kind::TRUE | Kind::FALSE => {}
            Kind::BYTE => drop(self.byte()?),
            Kind::SHORT | Kind::INT | Kind::LONG => drop(self.varint()?),
            Kind::DOUBLE => drop(self.take(8)?),
            Kind::BINARY => drop(self.binary(kind)?),
            Kind::STRUCT => self.fields(&mut |_, _, _| Ok(false))?,
            Kind::LIST | Kind::SET => {
                let (count, element) = self.list()?;
                for _ in 0..count {
                    self.skip_element(element)?;
                }
            }
            Kind::MAP => {
                let count = self.varint()?;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                for _ in 0..count {
                    self.skip_element(Kind(kinds >> 4))?;
                    self.skip_element(Kind(kinds & 0xf))?;
                }
            }
            Kind(other) => return Err(ThriftError::Kind(other)),
        }
        Ok(())
    }

    /// Reads at least one byte, so that a loop over a claimed count stops at the end of the bytes.
    fn skip_element(&mut self, kind: Kind) -> Result<(), ThriftError> {
        match kind {
            Kind::TRUE | Kind::FALSE => self.byte().map(drop),
            // Only structs count their depth.
            Kind::LIST | Kind::SET | Kind::MAP => Err(ThriftError::ListInList),
            _ => self.skip(kind),
        }
    }

    fn zigzag(&mut self) -> Result<i64, ThriftError> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// An unsigned number, seven bits to a byte.
    pub(super) fn varint(&mut self) -> Result<u64, ThriftError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(ThriftError::TooManyBits)
    }

    fn byte(&mut self) -> Result<u8, ThriftError> {
        self.take(1).map(|taken| taken[0])
    }

    fn take(&mut self, count: u64) -> Result<&'a [u8], ThriftError> {
        let split = usize::try_from(count).ok().and_then(|count| self.rest.split_at_checked(count));
        let (taken, rest) = split.ok_or(ThriftError::EndsEarly)?;
        self.rest = rest;
        Ok(taken)
    }
}
