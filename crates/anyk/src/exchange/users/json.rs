//! Users as JSON, each checked as soon as it is read: a list of what the text says would take many times the memory of
//! the text.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::spelling::slip_of;
use super::{CELL, COLUMNS, Cell, CellRecord, Extra, FORMAT, Fields, Others, UserReader};
use crate::exchange::documents::{Refused, each_document};
use crate::exchange::input_error::shorten;
use crate::exchange::{Input, InputError};
use crate::limits::MOST_USERS;

/// The keys of a cell.
const KEYS: [&str; 2] = ["users", CELL];

pub(super) fn read(
    reader: &UserReader<'_>,
    text: &str,
    input: Input<'_>,
) -> Result<Vec<CellRecord>, InputError> {
    let mut cells = Vec::new();
    each_document((text, input, FORMAT), |document| {
        // With several cells in a file, a user's number alone does not say where it is.
        let place = match input.part + cells.len() {
            0 => String::new(),
            before => format!("cell {}", before + 1),
        };
        let comma = if place.is_empty() { "" } else { ", " };
        let label = format!("{place}{comma}user ");
        let mut cell = Cell::new(reader, input.name, label);
        let mut refused = None;
        let object = CellObject { cell: &mut cell, place: &place, refused: &mut refused };
        let read = object.deserialize(document);
        if let Some(error) = refused {
            return Err(Refused::Input(error));
        }
        let extra = read.map_err(Refused::Json)?;
        let users = cell.finish(&place).map_err(Refused::Input)?;
        cells.push(CellRecord { users, extra });
        Ok(())
    })?;
    Ok(cells)
}

/// A key of an object.
enum Key {
    /// Its place among those that are known.
    Known(usize),
    Other(Box<str>),
}

/// The key of a map that knows these.
struct KeyOf(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for KeyOf {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyOf {
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
                Err(E::custom(format!("the key {name} looks like a slip of {meant:?}")))
            }
            None => Ok(Key::Other(name.into())),
        }
    }
}

/// `{"users":[…]}`.
struct CellObject<'c, 'a> {
    cell: &'c mut Cell<'a>,
    /// Where it is, for messages.
    place: &'c str,
    /// Why it or a user was refused; the document is then not read on.
    refused: &'c mut Option<InputError>,
}

impl<'de> DeserializeSeed<'de> for CellObject<'_, '_> {
    type Value = Extra;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Extra, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for CellObject<'_, '_> {
    type Value = Extra;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object with users")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Extra, A::Error> {
        let mut seen = false;
        let mut others = Others::new(self.cell.reader.parameters);
        while let Some(key) = map.next_key_seed(KeyOf(&KEYS))? {
            match key {
                Key::Known(0) => {
                    if std::mem::replace(&mut seen, true) {
                        return Err(A::Error::duplicate_field("users"));
                    }
                    map.next_value_seed(UserList(self.cell, self.refused))?;
                }
                Key::Known(_) => others.push_cell(map.next_value()?)?,
                Key::Other(name) => others.push(name, map.next_value()?)?,
            }
        }
        if !seen {
            return Err(A::Error::missing_field("users"));
        }
        let place = others.cell().map(|name| format!("cell {}", shorten(name)));
        others.finish().map_err(|message| {
            let place = place.as_deref().unwrap_or(self.place);
            *self.refused = Some(InputError::new(self.cell.file, place, message));
            A::Error::custom("a cell is refused")
        })
    }
}

/// The users of a [`CellObject`].
struct UserList<'c, 'a>(&'c mut Cell<'a>, &'c mut Option<InputError>);

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
        let Self(cell, refused) = self;
        while users.next_element_seed(User { cell, refused })?.is_some() {}
        Ok(())
    }
}

/// One user. Values stay raw, so that a message can show what the file says (`1e400`, not `inf`).
struct User<'c, 'a> {
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
        let mut values: [Option<&'de str>; COLUMNS.len()] = [None; COLUMNS.len()];
        let mut others = Others::new(self.cell.reader.parameters);
        while let Some(key) = map.next_key_seed(KeyOf(&COLUMNS))? {
            match key {
                Key::Known(column) => {
                    let value: &'de RawValue = map.next_value()?;
                    if values[column].replace(value.get()).is_some() {
                        return Err(A::Error::duplicate_field(COLUMNS[column]));
                    }
                }
                Key::Other(name) => others.push(name, map.next_value()?)?,
            }
        }
        // null is as good as absent.
        let values = values.map(|value| value.filter(|text| *text != "null"));
        if let Err(error) = push(self.cell, values, others.finish()) {
            *self.refused = Some(error);
            return Err(A::Error::custom("a user is refused"));
        }
        Ok(())
    }
}

fn push(
    cell: &mut Cell<'_>,
    [id, numbers @ ..]: [Option<&str>; COLUMNS.len()],
    extra: Result<Extra, String>,
) -> Result<(), InputError> {
    let number = cell.records.len() as u64 + 1;
    if cell.records.len() == MOST_USERS {
        let message = format!("there are more users, expected at most {MOST_USERS}");
        return Err(InputError::new(cell.file, &format!("{}{number}", cell.label), message));
    }
    let Some(raw) = id else {
        let record = cell.record(Fields { number, id: None, numbers, extra })?;
        cell.keep(number, record);
        return Ok(());
    };
    // Without escapes, as most are, the text between the quotes is the name.
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
                let place = format!("{}{number}", cell.label);
                let message =
                    format!("id is {}, expected a string or a whole number", shorten(raw));
                return Err(InputError::new(cell.file, &place, message));
            }
        },
    };
    let record = cell.record(Fields { number, id: Some(id), numbers, extra })?;
    cell.keep(number, record);
    Ok(())
}
