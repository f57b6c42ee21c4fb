//! Reader of users in JSON. Each user is checked as soon as it is read, since a parsed document would take many
//! times the memory of its text.

use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::users::{Cell, Fields, Noted, Others};
use super::{CELL, Reader};
use crate::core::Record;
use crate::exchange::{Extra, Input, InputError, Refused, each_document, shorten, slip_of};

/// Keys of a cell.
const KEYS: [&str; 2] = ["users", CELL];

pub(super) fn read(
    reader: &Reader,
    text: &str,
    input: Input<'_>,
) -> Result<Vec<Record>, InputError> {
    let mut cells = Vec::new();
    let file: Arc<str> = input.name.into();
    each_document((text, input, &reader.format), |document| {
        let index = input.part + cells.len();
        // If a file contains several cells, a user's number is not sufficient.
        let place = if index == 0 { String::new() } else { format!("cell {}", index + 1) };
        let comma = if place.is_empty() { "" } else { ", " };
        let mut cell = Cell::new(reader, &file, &format!("{place}{comma}user "));
        cell.record.place.index = index;
        cell.record.place.line = input.lines as u64 + 1;
        let mut refused = None;
        let object = CellObject { reader, cell: &mut cell, place: &place, refused: &mut refused };
        let read = object.deserialize(document);
        if let Some(error) = refused {
            return Err(Refused::Input(error));
        }
        let about_cell = read.map_err(Refused::Json)?;
        cells.push(cell.finish(&place, about_cell).map_err(Refused::Input)?);
        Ok(())
    })?;
    Ok(cells)
}

/// Key of an object.
enum Key {
    /// Index among the known keys.
    Known(usize),
    Other(Box<str>),
}

/// Visitor of a key, given the known keys.
struct KeyOf<'k>(&'k [&'static str]);

impl<'de> DeserializeSeed<'de> for KeyOf<'_> {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyOf<'_> {
    type Value = Key;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Key, E> {
        if let Some(known) = self.0.iter().position(|known| *known == name) {
            return Ok(Key::Known(known));
        }
        match slip_of(name, self.0) {
            Some(meant) => {
                let name = shorten(&format!("{name:?}"));
                Err(E::custom(format!("the key {name} looks like a typo of {meant:?}")))
            }
            None => Ok(Key::Other(name.into())),
        }
    }
}

/// Visitor of a cell, `{"users":[…]}`.
struct CellObject<'c, 'a> {
    reader: &'a Reader,
    cell: &'c mut Cell<'a>,
    /// Position of the cell for messages.
    place: &'c str,
    /// Error of the cell or of a user; the rest of the document is then skipped.
    refused: &'c mut Option<InputError>,
}

/// Fields of a document about the whole cell: those to keep, and parameters.
type AboutCell = (Extra, Vec<Noted>);

impl<'de> DeserializeSeed<'de> for CellObject<'_, '_> {
    type Value = AboutCell;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<AboutCell, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for CellObject<'_, '_> {
    type Value = AboutCell;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object with users")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AboutCell, A::Error> {
        let mut seen = false;
        let mut others = Others::new(self.reader);
        while let Some(key) = map.next_key_seed(KeyOf(&KEYS))? {
            match key {
                Key::Known(0) => {
                    if std::mem::replace(&mut seen, true) {
                        return Err(A::Error::duplicate_field("users"));
                    }
                    let list =
                        UserList { reader: self.reader, cell: self.cell, refused: self.refused };
                    map.next_value_seed(list)?;
                }
                Key::Known(_) => others.push_cell(map.next_value()?)?,
                Key::Other(name) => others.push_of_cell(name, map.next_value()?)?,
            }
        }
        if !seen {
            return Err(A::Error::missing_field("users"));
        }
        let place = others.entries.cell().map(|name| format!("cell {}", shorten(name)));
        others.finish().map_err(|message| {
            let place = place.as_deref().unwrap_or(self.place);
            *self.refused = Some(InputError::at(&self.cell.record.place.file, place, message));
            A::Error::custom("a cell is rejected")
        })
    }
}

/// Visitor of the users of a [`CellObject`].
struct UserList<'c, 'a> {
    reader: &'a Reader,
    cell: &'c mut Cell<'a>,
    refused: &'c mut Option<InputError>,
}

impl<'de> DeserializeSeed<'de> for UserList<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for UserList<'_, '_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of users")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut users: A) -> Result<(), A::Error> {
        let Self { reader, cell, refused } = self;
        while users.next_element_seed(User { reader, cell, refused })?.is_some() {}
        Ok(())
    }
}

/// Visitor of one user. Values stay raw, so that messages can show the text of the file (`1e400`, not `inf`).
struct User<'c, 'a> {
    reader: &'a Reader,
    cell: &'c mut Cell<'a>,
    refused: &'c mut Option<InputError>,
}

impl<'de> DeserializeSeed<'de> for User<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for User<'_, '_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a user")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let fields = &self.reader.fields;
        let mut values: Vec<Option<&'de str>> = vec![None; fields.len()];
        let mut others = Others::new(self.reader);
        while let Some(key) = map.next_key_seed(KeyOf(fields))? {
            match key {
                Key::Known(field) => {
                    let value: &'de RawValue = map.next_value()?;
                    if values[field].replace(value.get()).is_some() {
                        return Err(A::Error::duplicate_field(fields[field]));
                    }
                }
                Key::Other(name) => others.push(name, map.next_value()?)?,
            }
        }
        // Treat null as absent.
        values.iter_mut().for_each(|value| *value = value.filter(|text| *text != "null"));
        if let Err(error) = push(self.cell, &values, others) {
            *self.refused = Some(error);
            return Err(A::Error::custom("a user is rejected"));
        }
        Ok(())
    }
}

fn push(
    cell: &mut Cell<'_>,
    values: &[Option<&str>],
    others: Others<'_>,
) -> Result<(), InputError> {
    let (id, numbers) = values.split_first().map_or((None, values), |(id, rest)| (*id, rest));
    let number = cell.record.size().users as u64 + 1;
    let Some(raw) = id else {
        return cell.push((number, None), Fields { id: None, numbers, others });
    };
    // In most cases there are no escapes, and the text between the quotes is the name.
    let plain = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let decoded;
    let id = match plain {
        Some(plain) if !plain.contains('\\') => plain,
        _ if raw.bytes().all(|byte| byte.is_ascii_digit()) => raw,
        _ => match serde_json::from_str::<String>(raw) {
            Ok(id) => {
                decoded = id;
                &decoded
            }
            Err(_) => {
                let message =
                    format!("id is {}, expected a string or a whole number", shorten(raw));
                return Err(cell.fail((number, None), None, message));
            }
        },
    };
    cell.push((number, None), Fields { id: Some(id), numbers, others })
}
