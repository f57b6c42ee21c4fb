//! What a Parquet file needs of Thrift's compact protocol: the fields of structs, one after another.

/// Deeper structs are refused: reading them takes stack.
const MOST_DEPTH: usize = 16;
/// Largest number of a field.
const MOST_FIELD: usize = i16::MAX as usize;

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

/// Bytes that are read from the front; an error says what is wrong with them.
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
        visit: &mut dyn FnMut(&mut Self, usize, Kind) -> Result<bool, String>,
    ) -> Result<(), String> {
        if self.depth == MOST_DEPTH {
            return Err("its structs are too deep".to_owned());
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
            let number = number.ok_or_else(|| format!("a field has the number {id}"))?;
            let kind = Kind(head & 0xf);
            if !visit(self, number, kind)? {
                self.skip(kind)?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// The whole numbers and truth values of a struct, by the number of their field.
    pub(super) fn numbers(&mut self) -> Result<[Option<i64>; 10], String> {
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
    pub(super) fn number(&mut self, kind: Kind) -> Result<i64, String> {
        match kind {
            Kind::TRUE => Ok(1),
            Kind::FALSE => Ok(0),
            Kind::BYTE => Ok(i64::from(self.byte()?.cast_signed())),
            Kind::SHORT | Kind::INT | Kind::LONG => self.zigzag(),
            _ => Err("a field is no number".to_owned()),
        }
    }

    pub(super) fn binary(&mut self, kind: Kind) -> Result<&'a [u8], String> {
        if kind != Kind::BINARY {
            return Err("a field is no text".to_owned());
        }
        let length = self.varint()?;
        self.take(length)
    }

    /// How many structs follow in a list of them.
    pub(super) fn structs(&mut self, kind: Kind) -> Result<u64, String> {
        match (kind, self.list()?) {
            (Kind::LIST, (count, Kind::STRUCT)) => Ok(count),
            _ => Err("a field is no list of structs".to_owned()),
        }
    }

    fn list(&mut self) -> Result<(u64, Kind), String> {
        let head = self.byte()?;
        let count = if head >> 4 == 0xf { self.varint()? } else { u64::from(head >> 4) };
        Ok((count, Kind(head & 0xf)))
    }

    fn skip(&mut self, kind: Kind) -> Result<(), String> {
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
            Kind(other) => return Err(format!("a field is of the unknown kind {other}")),
        }
        Ok(())
    }

    /// Takes a byte or more, so that no count can keep a loop busy past the end.
    fn skip_element(&mut self, kind: Kind) -> Result<(), String> {
        match kind {
            Kind::TRUE | Kind::FALSE => self.byte().map(drop),
            // Only structs count their depth.
            Kind::LIST | Kind::SET | Kind::MAP => Err("it has lists in lists".to_owned()),
            _ => self.skip(kind),
        }
    }

    fn zigzag(&mut self) -> Result<i64, String> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// A number without a sign, seven bits to a byte.
    pub(super) fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("a number has more than 64 bits".to_owned())
    }

    fn byte(&mut self) -> Result<u8, String> {
        self.take(1).map(|taken| taken[0])
    }

    fn take(&mut self, count: u64) -> Result<&'a [u8], String> {
        let split = usize::try_from(count).ok().and_then(|count| self.rest.split_at_checked(count));
        let (taken, rest) = split.ok_or_else(|| "it ends early".to_owned())?;
        self.rest = rest;
        Ok(taken)
    }
}
