//! What a file says beside what is known: kept as it stands, to come back with the answer.

use std::sync::Arc;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;

/// Names and values, in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Extra(Option<Arc<[Entry]>>);

type Entry = (Box<str>, Box<RawValue>);

impl Extra {
    pub(super) fn new(entries: Vec<Entry>) -> Self {
        Self((!entries.is_empty()).then(|| entries.into()))
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
        let value = self.get(super::CELL)?;
        Some(serde_json::from_str(value).unwrap_or_else(|_| value.to_owned()))
    }

    /// Memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.iter().map(|(name, value)| 64 + name.len() + value.len()).sum()
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
        for (name, value) in self.0.iter().flat_map(|entries| entries.iter()) {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// A field of CSV as JSON: a number if it is one, else a text.
pub(super) fn of_text(text: &str) -> serde_json::Result<Box<RawValue>> {
    let number = text.parse().is_ok_and(|number: f64| number.is_finite());
    match RawValue::from_string(text.to_owned()) {
        Ok(value) if number => Ok(value),
        _ => serde_json::value::to_raw_value(text),
    }
}

/// Whether all numbers in a value are in the range of numbers: what reads `1e999` finds an infinity.
pub(super) fn is_finite(value: &RawValue) -> bool {
    let text = value.get();
    // Only an exponent, or hundreds of digits, makes a number that large.
    let suspicious = text.len() > 300 || text.bytes().any(|byte| matches!(byte, b'e' | b'E'));
    !suspicious || serde_json::from_str::<serde_json::Value>(text).is_ok()
}
