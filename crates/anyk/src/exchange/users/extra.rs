//! What a file says beside what is known: kept as it stands, to come back with the answer.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;
use serde::de::Error;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::{CELL, OF_ANSWERS};
use crate::exchange::Parameters;
use crate::exchange::input_error::{MOST_FIELDS, shorten};
use crate::exchange::parameters::POWER;

/// Names and values, in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Extra(Option<Arc<[Entry]>>);

type Entry = (Box<str>, Box<RawValue>);

/// What goes before a name that answers have, too.
const INPUT: &str = "input_";

impl Extra {
    pub(super) fn new(entries: Vec<Entry>) -> Self {
        Self((!entries.is_empty()).then(|| entries.into()))
    }

    /// The same beside some fields: what has the name of one of them gets another.
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

/// What is kept of a map beside what is known, while it is read.
pub(in crate::exchange) struct Others<'a> {
    parameters: &'a Parameters,
    entries: Vec<Entry>,
    names: HashSet<Box<str>>,
    /// The first parameter that is not the one in effect, in words; and the first that may be a result.
    refused: [Option<String>; 2],
}

impl<'a> Others<'a> {
    pub(in crate::exchange) fn new(parameters: &'a Parameters) -> Self {
        Self { parameters, entries: Vec::new(), names: HashSet::new(), refused: [None, None] }
    }

    pub(in crate::exchange) fn push<E: Error>(
        &mut self,
        name: Box<str>,
        value: &RawValue,
    ) -> Result<(), E> {
        if self.entries.len() == MOST_FIELDS + usize::from(self.names.contains(CELL)) {
            let message = format!("an object has more than {MOST_FIELDS} unknown keys");
            return Err(E::custom(message));
        }
        if !self.names.insert(name.clone()) {
            return Err(E::custom(format!("duplicate field {}", shorten(&format!("`{name}`")))));
        }
        if !is_finite(value) {
            let name = shorten(&name);
            return Err(E::custom(format!("a number in {name:?} is out of range")));
        }
        // An answer stands on one line, however its input was spread; in a text there is no end of a line.
        let value = match value.get().contains(['\n', '\r']) {
            true => {
                RawValue::from_string(value.get().replace(['\n', '\r'], " ")).map_err(E::custom)?
            }
            false => value.to_owned(),
        };
        let refused = &mut self.refused[usize::from(Parameters::is_result(&name))];
        if refused.is_none() {
            *refused = self.parameters.check(&name, value.get()).err();
        }
        self.entries.push((name, value));
        Ok(())
    }

    /// The name of a cell.
    pub(in crate::exchange) fn push_cell<E: Error>(&mut self, value: &RawValue) -> Result<(), E> {
        // A list as a name would be repeated in every message and table.
        if !value.get().starts_with('"') && value.get().parse::<u64>().is_err() {
            let value = shorten(value.get());
            let message = format!("cell is {value}, expected a name or a whole number");
            return Err(E::custom(message));
        }
        self.push(CELL.into(), value)
    }

    /// The name of the cell, as JSON.
    pub(in crate::exchange) fn cell(&self) -> Option<&str> {
        self.entries.iter().find(|(name, _)| **name == *CELL).map(|(_, value)| value.get())
    }

    /// All of it, under names that answers do not have; the cell's goes first, wherever it stands. An error says which
    /// parameter is not the one in effect.
    pub(in crate::exchange) fn finish(mut self) -> Result<Extra, String> {
        let [refused, result] = self.refused;
        if let Some(refused) = refused.or(result.filter(|_| !self.names.contains(POWER))) {
            return Err(refused);
        }
        set_apart(&mut self.entries, &OF_ANSWERS);
        self.entries.sort_by_key(|(name, _)| **name != *CELL);
        Ok(Extra::new(self.entries))
    }
}

/// The name under which something comes back that is called like one of some fields: `input_` before it, until nothing
/// else is called so. None where it keeps its own.
pub(super) fn name_apart(
    name: &str,
    fields: &[&str],
    is_taken: impl Fn(&str) -> bool,
) -> Option<Box<str>> {
    if !fields.contains(&name) {
        return None;
    }
    let mut free = format!("{INPUT}{name}");
    while is_taken(&free) {
        free.insert_str(0, INPUT);
    }
    Some(free.into())
}

/// Gives entries that are called like one of some fields another name.
fn set_apart(entries: &mut [Entry], fields: &[&str]) {
    for at in 0..entries.len() {
        let is_taken = |free: &str| entries.iter().any(|(name, _)| **name == *free);
        if let Some(free) = name_apart(&entries[at].0, fields, is_taken) {
            entries[at].0 = free;
        }
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
fn is_finite(value: &RawValue) -> bool {
    let text = value.get();
    // Only an exponent, or hundreds of digits, makes a number that large.
    let suspicious = text.len() > 300 || text.bytes().any(|byte| matches!(byte, b'e' | b'E'));
    !suspicious || serde_json::from_str::<serde_json::Value>(text).is_ok()
}
