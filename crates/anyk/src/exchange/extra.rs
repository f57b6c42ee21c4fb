//! What a file says next to what is known: kept as it stands, to come back with the answer.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::exchange::shorten;

/// The name of a cell.
const CELL: &str = "cell";

/// Names and values, in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Extra(Option<Arc<[Entry]>>);

type Entry = (Box<str>, Box<RawValue>);

/// What goes before a name that answers have, too.
const INPUT: &str = "input_";

impl Extra {
    fn new(entries: Vec<Entry>) -> Self {
        Self((!entries.is_empty()).then(|| entries.into()))
    }

    /// The same next to some fields: what has the name of one of them gets another.
    #[must_use]
    pub fn apart_from(self, fields: &[&str]) -> Self {
        if !self.iter().any(|(name, _)| fields.contains(&name)) {
            return self;
        }
        let mut entries: Vec<Entry> = self.0.iter().flat_map(|all| all.iter().cloned()).collect();
        set_apart(&mut entries, fields);
        Self::new(entries)
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Names, and values as JSON.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|entries| entries.iter()).map(|(name, value)| (&**name, value.get()))
    }

    /// A value by its name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The cell's name, if there is one: a text as it reads, or the digits of a number.
    pub fn cell(&self) -> Option<String> {
        let value = self.get(CELL)?;
        Some(serde_json::from_str(value).unwrap_or_else(|_| value.to_owned()))
    }

    /// Writes the fields into an object.
    pub(crate) fn write_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let mut entries = self.0.iter().flat_map(|entries| entries.iter());
        entries.try_for_each(|(name, value)| map.serialize_entry(name, value))
    }
}

impl PartialEq for Extra {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Serialize for Extra {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.write_fields(&mut map)?;
        map.end()
    }
}

/// The entries of an [`Extra`] while an object is read.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExtraEntries {
    entries: Vec<Entry>,
    names: HashSet<Box<str>>,
}

impl ExtraEntries {
    /// Adds an entry; an error says that it is there already.
    pub(crate) fn push(&mut self, name: Box<str>, value: &RawValue) -> Result<(), String> {
        if !self.names.insert(name.clone()) {
            return Err(format!("duplicate field {}", shorten(&format!("`{name}`"))));
        }
        // An answer stands on one line, however its input was spread; in a text there is no end of a line.
        let value = match value.get().contains(['\n', '\r']) {
            true => RawValue::from_string(value.get().replace(['\n', '\r'], " "))
                .map_err(|error| error.to_string())?,
            false => value.to_owned(),
        };
        self.entries.push((name, value));
        Ok(())
    }

    /// How many there are, without the name of the cell.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - usize::from(self.has(CELL))
    }

    /// Whether there is one of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// The name of the cell, as JSON.
    pub(crate) fn cell(&self) -> Option<&str> {
        self.entries.iter().find(|(name, _)| **name == *CELL).map(|(_, value)| value.get())
    }

    /// All of it, under names that these fields do not have; the cell's name goes first, wherever it stands.
    pub(crate) fn finish(mut self, fields: &[&str]) -> Extra {
        set_apart(&mut self.entries, fields);
        self.entries.sort_by_key(|(name, _)| **name != *CELL);
        Extra::new(self.entries)
    }
}

/// Gives entries that are called like one of some fields another name: `input_` before it, until nothing else is called
/// so.
fn set_apart(entries: &mut [Entry], fields: &[&str]) {
    for at in 0..entries.len() {
        if !fields.contains(&&*entries[at].0) {
            continue;
        }
        let mut free = format!("{INPUT}{}", entries[at].0);
        while entries.iter().any(|(name, _)| **name == *free) {
            free.insert_str(0, INPUT);
        }
        entries[at].0 = free.into();
    }
}

/// A field of CSV as JSON: a number if it is one, else a text.
pub(crate) fn json_of_text(text: &str) -> serde_json::Result<Box<RawValue>> {
    let number = text.parse().is_ok_and(|number: f64| number.is_finite());
    match RawValue::from_string(text.to_owned()) {
        Ok(value) if number => Ok(value),
        _ => serde_json::value::to_raw_value(text),
    }
}

/// Whether all numbers in a value are in the range of numbers: what reads `1e999` finds an infinity.
pub(crate) fn is_finite_json(value: &RawValue) -> bool {
    let text = value.get();
    // Only an exponent, or hundreds of digits, makes a number that large.
    let suspicious = text.len() > 300 || text.bytes().any(|byte| matches!(byte, b'e' | b'E'));
    !suspicious || serde_json::from_str::<serde_json::Value>(text).is_ok()
}

/// The name of the cell in a document of JSON, of which nothing else may be readable by any other rule.
pub fn name_of(document: &[u8]) -> Option<&RawValue> {
    #[derive(serde::Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        cell: Option<&'a RawValue>,
    }
    let is_object = document.trim_ascii_start().starts_with(b"{");
    let named: Option<Named<'_>> =
        if is_object { serde_json::from_slice(document).ok() } else { None };
    // Anything else is not a name, and may be spread over lines. Messages repeat the name, so it must be short: 200
    // characters, each at most six bytes as an escape, and the quotes.
    let is_name = |name: &&RawValue| {
        let text = name.get();
        text.len() <= 6 * 200 + 2
            && (text.starts_with('"') || text.bytes().all(|byte| byte.is_ascii_digit()))
    };
    named.and_then(|named| named.cell).filter(is_name)
}
