//! Fields of a file that AnyK does not use, copied unchanged to the answer.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::exchange::shorten;

/// Field with the name of a cell.
const CELL: &str = "cell";

/// Unused fields of a file: names and values in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Extra(Option<Arc<[Entry]>>);

type Entry = (Box<str>, Box<RawValue>);

/// Prefix for fields of a file whose names are also fields of answers.
const INPUT: &str = "input_";

impl Extra {
    fn new(entries: Vec<Entry>) -> Self {
        Self((!entries.is_empty()).then(|| entries.into()))
    }

    /// Returns the fields, of which those whose names are in `fields` are renamed.
    #[must_use]
    pub fn apart_from(self, fields: &[&str]) -> Self {
        if !self.iter().any(|(name, _)| fields.contains(&name)) {
            return self;
        }
        let mut entries: Vec<Entry> = self.0.iter().flat_map(|all| all.iter().cloned()).collect();
        set_apart(&mut entries, fields);
        Self::new(entries)
    }

    /// Returns whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Iterates over the names and the values, which are JSON.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|entries| entries.iter()).map(|(name, value)| (&**name, value.get()))
    }

    /// Returns the value of the field called `name`, as JSON.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Returns the name of the cell, if there is one: an unquoted text, or the digits of a number.
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

/// Fields of an [`Extra`] while an object is read.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExtraEntries {
    entries: Vec<Entry>,
    names: HashSet<Box<str>>,
}

impl ExtraEntries {
    /// Adds an entry; returns an error if the name occurs twice.
    pub(crate) fn push(&mut self, name: Box<str>, value: &RawValue) -> Result<(), String> {
        if !self.names.insert(name.clone()) {
            return Err(format!("duplicate field {}", shorten(&format!("`{name}`"))));
        }
        // An answer is one line, so line ends between tokens become blanks; JSON strings cannot contain raw ones.
        let value = match value.get().contains(['\n', '\r']) {
            true => RawValue::from_string(value.get().replace(['\n', '\r'], " "))
                .map_err(|error| error.to_string())?,
            false => value.to_owned(),
        };
        self.entries.push((name, value));
        Ok(())
    }

    /// Returns the number of entries, not counting the name of the cell.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - usize::from(self.has(CELL))
    }

    /// Returns whether there is an entry with this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Returns the name of the cell, as JSON.
    pub(crate) fn cell(&self) -> Option<&str> {
        self.entries.iter().find(|(name, _)| **name == *CELL).map(|(_, value)| value.get())
    }

    /// Returns all entries, renamed if necessary so that no name is in `fields`. The name of the cell comes
    /// first.
    pub(crate) fn finish(mut self, fields: &[&str]) -> Extra {
        set_apart(&mut self.entries, fields);
        self.entries.sort_by_key(|(name, _)| **name != *CELL);
        Extra::new(self.entries)
    }
}

/// Renames entries whose names are in `fields`: adds `input_` in front until the name is unique.
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

/// Converts a field of CSV to JSON: a number if possible, otherwise a text.
pub(crate) fn json_of_text(text: &str) -> serde_json::Result<Box<RawValue>> {
    let number = text.parse().is_ok_and(|number: f64| number.is_finite());
    match RawValue::from_string(text.to_owned()) {
        Ok(value) if number => Ok(value),
        _ => serde_json::value::to_raw_value(text),
    }
}

/// Returns whether all numbers in a value are finite; parsers read `1e999` as infinity.
pub(crate) fn is_finite_json(value: &RawValue) -> bool {
    let text = value.get();
    // Only an exponent or hundreds of digits give such a large number.
    let suspicious = text.len() > 300 || text.bytes().any(|byte| matches!(byte, b'e' | b'E'));
    !suspicious || serde_json::from_str::<serde_json::Value>(text).is_ok()
}

/// Returns the name of the cell in a JSON document, even if the rest of the document is invalid for its reader.
pub fn name_of(document: &[u8]) -> Option<&RawValue> {
    #[derive(serde::Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        cell: Option<&'a RawValue>,
    }
    let is_object = document.trim_ascii_start().starts_with(b"{");
    let named: Option<Named<'_>> =
        if is_object { serde_json::from_slice(document).ok() } else { None };
    // Other values are not names, and may span several lines. Messages repeat the name, so its length is limited
    // to the quotes and 200 characters, each of which takes at most six bytes as an escape.
    let is_name = |name: &&RawValue| {
        let text = name.get();
        text.len() <= 6 * 200 + 2
            && (text.starts_with('"') || text.bytes().all(|byte| byte.is_ascii_digit()))
    };
    named.and_then(|named| named.cell).filter(is_name)
}
