//! Reader of networks of links in JSON.
//!
//! Numbers go directly into one list per matrix, and the shape is checked row by row. A malicious file therefore
//! needs no more memory than its gains.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use thiserror::Error;

use super::{CELL, LinkField, LinkValues, NetworkRecord, slip_of_field};
use crate::channel::GainMatrix;
use crate::core::{Others, Reader};
use crate::exchange::{Extra, Input, InputError, Refused, each_document, shorten};
use crate::invalid::Invalid;
use crate::limits::{MOST_LINKS, MOST_USERS};

/// Reads the networks of all documents in a text.
pub(super) fn read(
    reader: &Reader,
    text: &str,
    input: Input<'_>,
    format: &str,
) -> Result<Vec<NetworkRecord>, InputError> {
    let mut all = Document::default();
    each_document((text, input, format), |document| {
        document.deserialize_any(Top(&mut all, reader)).map_err(Refused::Json)?;
        match &all.failure {
            None => Ok(()),
            Some(error) => {
                let index = all.failed_at.unwrap_or(all.networks.len());
                let place = format!("instance {}", input.part + index);
                Err(Refused::Input(InputError::at(input.name, &place, error.to_string())))
            }
        }
    })?;
    Ok(all.networks)
}

/// Reason why a matrix of gains was rejected.
#[derive(Debug, Error)]
enum MatrixError {
    #[error("the list of matrices is empty; expected at least one matrix")]
    NoInstance,
    #[error("row {row} has {length} gains, expected {width} as in row 0")]
    Row { row: usize, length: usize, width: usize },
    #[error("there are more rows than the {width} columns, expected a square matrix")]
    MoreRows { width: usize },
    #[error("{rows} rows of {width} gains, expected as many rows as columns")]
    NotSquare { rows: usize, width: usize },
    #[error("the gain matrix is empty; expected at least one link")]
    NoLink,
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error("{0}")]
    Parameter(String),
    #[error("row {row} has more gains, expected at most {MOST_LINKS}")]
    Wide { row: usize },
    #[error("there are more instances, expected at most {MOST_USERS}")]
    Many,
}

/// Networks read so far: a document is a matrix, a list of matrices, or an object with either as `gains`.
#[derive(Default)]
struct Document {
    /// Networks whose matrices are complete.
    networks: Vec<NetworkRecord>,
    /// Error in the next network. The rest of the document is then skipped.
    failure: Option<MatrixError>,
    /// Index of the network with the error, if it is not the next one.
    failed_at: Option<usize>,
    /// Gains of the matrix that is being read, its number of rows, and the length of its first row.
    current: Vec<f64>,
    rows: usize,
    width: usize,
}

impl Document {
    fn fail(&mut self, error: MatrixError) {
        self.failure.get_or_insert(error);
        self.current = Vec::new();
    }

    fn number(&mut self, value: f64) {
        if self.failure.is_some() {
            return;
        }
        if self.current.len() == self.rows * self.width + MOST_LINKS {
            return self.fail(MatrixError::Wide { row: self.rows });
        }
        self.current.push(value);
    }

    fn end_row(&mut self, length: usize) {
        if self.rows == 0 {
            self.width = length;
        }
        let (row, width) = (self.rows, self.width);
        self.rows += 1;
        if width == 0 {
            self.fail(MatrixError::NoLink);
        } else if length != width {
            self.fail(MatrixError::Row { row, length, width });
        } else if row >= width {
            // Check now, since any number of rows may follow.
            self.fail(MatrixError::MoreRows { width });
        }
    }

    fn end_matrix(&mut self) {
        let (rows, width) = (self.rows, self.width);
        if self.failure.is_none() && rows != width {
            self.fail(MatrixError::NotSquare { rows, width });
        }
        if self.networks.len() == MOST_USERS {
            self.fail(MatrixError::Many);
        }
        if self.failure.is_none() {
            match GainMatrix::new(rows, std::mem::take(&mut self.current)) {
                Ok(matrix) => self.networks.push(matrix.into()),
                Err(error) => self.fail(error.into()),
            }
        }
        (self.rows, self.width) = (0, 0);
    }

    /// Adds the other fields of a document to its networks, which are those from index `first` upwards.
    fn keep(&mut self, first: usize, extra: &Extra) {
        for network in &mut self.networks[first..] {
            network.extra = extra.clone();
        }
    }

    /// Sets a field of the links in the networks from index `first` upwards.
    fn set(&mut self, first: usize, field: LinkField, values: &LinkValues) {
        if self.failure.is_some() {
            return;
        }
        let count = self.networks.len() - first;
        for index in 0..count {
            let network = &mut self.networks[first + index];
            match values.of_network((index, Some(count)), network.gains.size(), field) {
                Ok(values) => network.set(field, values),
                Err(error) => {
                    self.failed_at = Some(first + index);
                    return self.fail(error.into());
                }
            }
        }
    }
}

/// Visitor of a document: an object or its array.
struct Top<'a>(&'a mut Document, &'a Reader);

impl<'de> Visitor<'de> for Top<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a matrix of gains")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let first = self.0.networks.len();
        let mut seen = false;
        let mut fields: [Option<LinkValues>; LinkField::ALL.len()] = Default::default();
        let mut others = Others::new(self.1);
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if key == "gains" {
                if std::mem::replace(&mut seen, true) {
                    return Err(A::Error::duplicate_field("gains"));
                }
                map.next_value_seed(Array(self.0))?;
                continue;
            }
            let Some(at) = LinkField::ALL.iter().position(|field| field.name() == key) else {
                if key == CELL {
                    others.push_cell(map.next_value()?)?;
                } else if let Some(meant) = slip_of_field(&key) {
                    let key = shorten(&format!("{key:?}"));
                    let message = format!("the key {key} looks like a typo of {meant:?}");
                    return Err(A::Error::custom(message));
                } else {
                    others.push(key.into(), map.next_value()?)?;
                }
                continue;
            };
            if fields[at].is_some() {
                return Err(A::Error::duplicate_field(LinkField::ALL[at].name()));
            }
            fields[at] = Some(map.next_value_seed(Values)?);
        }
        if !seen {
            return Err(A::Error::missing_field("gains"));
        }
        for (field, values) in LinkField::ALL.into_iter().zip(&fields) {
            if let Some(values) = values {
                self.0.set(first, field, values);
            }
        }
        match others.finish() {
            Ok((extra, _)) => self.0.keep(first, &extra),
            Err(message) if self.0.failure.is_none() => {
                self.0.failed_at = Some(first);
                self.0.fail(MatrixError::Parameter(message));
            }
            Err(_) => {}
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        Array(self.0).visit_seq(seq)
    }
}

/// Visitor of a matrix or a list of matrices.
struct Array<'a>(&'a mut Document);

impl<'de> DeserializeSeed<'de> for Array<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Array<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a matrix of gains, or a list of matrices")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut kind = None;
        while let Some(part) = seq.next_element_seed(Part(self.0))? {
            match (part, *kind.get_or_insert(part)) {
                (Kind::Row, Kind::Row) | (Kind::Matrix, Kind::Matrix) => {}
                _ => return Err(A::Error::custom("a row of gains and a matrix in one list")),
            }
        }
        match kind {
            None => self.0.fail(MatrixError::NoInstance),
            Some(Kind::Row) => self.0.end_matrix(),
            Some(Kind::Matrix) => {}
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Row,
    Matrix,
}

/// Visitor of a row of a matrix, or of a matrix in a list.
struct Part<'a>(&'a mut Document);

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = Kind;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kind, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Part<'_> {
    type Value = Kind;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a row of gains, or a matrix")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Kind, A::Error> {
        let mut length = 0;
        let mut kind = None;
        while let Some(item) = seq.next_element_seed(Item(self.0))? {
            // A number belongs to this row; a list was a row of this matrix.
            match (item, *kind.get_or_insert(item)) {
                (Kind::Row, Kind::Row) => length += 1,
                (Kind::Matrix, Kind::Matrix) => {}
                _ => return Err(A::Error::custom("a gain and a row of gains in one list")),
            }
        }
        let kind = kind.unwrap_or(Kind::Row);
        match kind {
            Kind::Row => self.0.end_row(length),
            Kind::Matrix => self.0.end_matrix(),
        }
        Ok(kind)
    }
}

/// Visitor of a gain, or of a row of a matrix in a list. Its kind determines the kind of the surrounding part.
struct Item<'a>(&'a mut Document);

impl<'de> DeserializeSeed<'de> for Item<'_> {
    type Value = Kind;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kind, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Item<'_> {
    type Value = Kind;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a gain, or a row of gains")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Kind, E> {
        self.0.number(value);
        Ok(Kind::Row)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Kind, E> {
        self.visit_f64(value as f64)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Kind, E> {
        self.visit_f64(value as f64)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Kind, A::Error> {
        let mut length = 0;
        while self.0.failure.is_none() {
            let Some(value) = seq.next_element()? else {
                break;
            };
            self.0.number(value);
            length += 1;
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        self.0.end_row(length);
        Ok(Kind::Matrix)
    }
}

/// Visitor of values for links: a number, a list, or a list of lists.
struct Values;

impl<'de> DeserializeSeed<'de> for Values {
    type Value = LinkValues;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<LinkValues, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Values {
    type Value = LinkValues;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a number, a list of numbers, or a list of such lists")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<LinkValues, E> {
        Ok(LinkValues::One(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<LinkValues, E> {
        self.visit_f64(value as f64)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<LinkValues, E> {
        self.visit_f64(value as f64)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<LinkValues, A::Error> {
        let (mut each, mut rows) = (Vec::new(), Vec::new());
        while let Some(value) = seq.next_element_seed(Values)? {
            match value {
                LinkValues::One(value) if rows.is_empty() => each.push(value),
                LinkValues::Each(row) if each.is_empty() => rows.push(row),
                LinkValues::Rows(_) => {
                    return Err(A::Error::custom("a list of lists of lists of numbers"));
                }
                _ => return Err(A::Error::custom("a number and a list in one list")),
            }
        }
        Ok(if rows.is_empty() { LinkValues::Each(each) } else { LinkValues::Rows(rows) })
    }
}
