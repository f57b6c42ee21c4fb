//! Check that rejects results with NaN or infinity before they are written as text, JSON, CSV or a file.
//!
//! JSON cannot represent these numbers. `serde_json` writes them as `null`, which readers interpret as a
//! missing value. AnyK represents unknown results as an `Option`. A number that is not finite is therefore a
//! bug, and AnyK returns an error.

use std::fmt::Display;
use std::io::{self, Write};

use serde::ser::{self, Serialize};
use thiserror::Error;

/// Result that is NaN or infinite.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "the result {place} is {value}; AnyK has a bug or the model is damaged; nothing was written"
)]
pub struct NotFinite {
    /// Path of the result, such as `sizes[3].gap_percent`.
    pub place: String,
    /// Value: `NaN`, `inf` or `-inf`.
    pub value: String,
}

impl NotFinite {
    /// Builds the error for a result with a name.
    pub(crate) fn of(name: &str) -> Self {
        Self { place: name.to_owned(), value: "not finite".to_owned() }
    }
}

/// Text forms of NaN and infinity.
const WORDS: [&str; 3] = ["NaN", "inf", "-inf"];

/// Returns an error if the text contains NaN or infinity.
pub fn check_text(place: &str, text: &str) -> Result<(), NotFinite> {
    let word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    match text.split(|c| !word(c)).find(|part| WORDS.contains(part)) {
        None => Ok(()),
        Some(value) => Err(NotFinite { place: place.to_owned(), value: value.to_owned() }),
    }
}

/// Information from a successful check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    /// Whether a text looks like NaN or infinity, for example because a user is called "inf".
    pub has_such_words: bool,
}

/// Returns an error if the value contains NaN or infinity.
pub fn check_finite(value: &(impl Serialize + ?Sized)) -> Result<Checked, NotFinite> {
    let mut gate = Gate::default();
    match value.serialize(&mut gate) {
        Ok(()) => Ok(Checked { has_such_words: gate.has_such_words }),
        Err(Stop::NotFinite(why)) => Err(why),
        // A value that cannot be traversed causes another error when it is written.
        Err(Stop::Other) => Ok(Checked { has_such_words: gate.has_such_words }),
    }
}

/// Writes a value as JSON if all its numbers are finite.
pub fn write_json(out: impl Write, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    check_finite(value).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
    Ok(serde_json::to_writer(out, value)?)
}

/// Returns a value as JSON text if all its numbers are finite.
pub fn to_json(value: &(impl Serialize + ?Sized)) -> io::Result<String> {
    check_finite(value).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
    Ok(serde_json::to_string(value)?)
}

/// Serializer that traverses a value and checks its numbers.
#[derive(Default)]
struct Gate {
    place: Vec<Step>,
    has_such_words: bool,
}

enum Step {
    Field(String),
    Item(usize),
}

#[derive(Debug, Error)]
enum Stop {
    #[error(transparent)]
    NotFinite(NotFinite),
    #[error("it cannot be serialized")]
    Other,
}

impl ser::Error for Stop {
    fn custom<T: Display>(_: T) -> Self {
        Self::Other
    }
}

impl Gate {
    fn number(&self, value: f64) -> Result<(), Stop> {
        if value.is_finite() {
            return Ok(());
        }
        let mut place = String::new();
        for step in &self.place {
            match step {
                Step::Field(name) if place.is_empty() => place.push_str(name),
                Step::Field(name) => place.extend([".", name]),
                Step::Item(index) => place.push_str(&format!("[{index}]")),
            }
        }
        Err(Stop::NotFinite(NotFinite { place, value: value.to_string() }))
    }

    fn within(&mut self, step: Step, value: &(impl Serialize + ?Sized)) -> Result<(), Stop> {
        self.place.push(step);
        value.serialize(&mut *self)?;
        self.place.pop();
        Ok(())
    }

    fn field(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result<(), Stop> {
        self.within(Step::Field(name.to_owned()), value)
    }
}

/// Items of a list, or entries of a map.
struct Items<'a> {
    gate: &'a mut Gate,
    count: usize,
}

impl Items<'_> {
    fn next(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Stop> {
        self.count += 1;
        self.gate.within(Step::Item(self.count - 1), value)
    }
}

/// Methods for values that do not contain numbers.
macro_rules! nothing_to_see {
    ($($method:ident: $type:ty),* $(,)?) => {$(
        fn $method(self, _: $type) -> Result<(), Stop> {
            Ok(())
        }
    )*};
}

impl<'a> ser::Serializer for &'a mut Gate {
    type Ok = ();
    type Error = Stop;
    type SerializeSeq = Items<'a>;
    type SerializeTuple = Items<'a>;
    type SerializeTupleStruct = Items<'a>;
    type SerializeTupleVariant = Items<'a>;
    type SerializeMap = Items<'a>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    nothing_to_see! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_char: char,
        serialize_bytes: &[u8], serialize_unit_struct: &'static str,
    }

    fn serialize_f32(self, value: f32) -> Result<(), Stop> {
        self.number(f64::from(value))
    }

    fn serialize_f64(self, value: f64) -> Result<(), Stop> {
        self.number(value)
    }

    fn serialize_str(self, text: &str) -> Result<(), Stop> {
        self.has_such_words |= check_text("", text).is_err();
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Stop> {
        Ok(())
    }

    fn serialize_unit(self) -> Result<(), Stop> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Stop> {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &str, _: u32, _: &str) -> Result<(), Stop> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Stop> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Result<(), Stop> {
        self.field(name, value)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'a>, Stop> {
        Ok(Items { gate: self, count: 0 })
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'a>, Stop> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items<'a>, Stop> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Items<'a>, Stop> {
        self.serialize_seq(None)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Items<'a>, Stop> {
        self.serialize_seq(None)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Stop> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Stop> {
        Ok(self)
    }
}

/// Implementations for lists, tuples and similar types.
macro_rules! items {
    ($($trait:ident: $method:ident),* $(,)?) => {$(
        impl ser::$trait for Items<'_> {
            type Ok = ();
            type Error = Stop;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
                self.next(value)
            }

            fn end(self) -> Result<(), Stop> {
                Ok(())
            }
        }
    )*};
}
items! {
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field,
}

impl ser::SerializeMap for Items<'_> {
    type Ok = ();
    type Error = Stop;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Stop> {
        key.serialize(&mut *self.gate)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
        self.next(value)
    }

    fn end(self) -> Result<(), Stop> {
        Ok(())
    }
}

/// Implementations for structs, with the names of their fields.
macro_rules! fields {
    ($($trait:ident),*) => {$(
        impl ser::$trait for &mut Gate {
            type Ok = ();
            type Error = Stop;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), Stop> {
                self.field(name, value)
            }

            fn end(self) -> Result<(), Stop> {
                Ok(())
            }
        }
    )*};
}
fields!(SerializeStruct, SerializeStructVariant);

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Serialize;

    use super::*;

    #[derive(Serialize)]
    struct Row {
        k: usize,
        gap: Option<f64>,
    }

    #[derive(Serialize)]
    enum Kind {
        Plain,
        Wrapped(f64),
        Pair(f64, f64),
        Named { at: f32 },
    }

    #[derive(Serialize)]
    struct Report {
        name: &'static str,
        rows: Vec<Row>,
        kinds: Vec<Kind>,
        map: BTreeMap<&'static str, (f64, f64)>,
    }

    fn report(gap: Option<f64>, kind: Kind, inner: f64) -> Report {
        Report {
            name: "r",
            rows: vec![Row { k: 1, gap: None }, Row { k: 2, gap }],
            kinds: vec![Kind::Plain, kind],
            map: BTreeMap::from([("a", (0.0, inner))]),
        }
    }

    #[test]
    fn numbers_pass_and_what_is_none_is_named() {
        let fine = report(Some(f64::MAX), Kind::Wrapped(-0.0), f64::MIN_POSITIVE);
        assert_eq!(check_finite(&fine), Ok(Checked { has_such_words: false }));
        let json = to_json(&fine).unwrap();
        let mut written = Vec::new();
        write_json(&mut written, &fine).unwrap();
        assert_eq!(written, json.as_bytes());
        for (report, place, value) in [
            (report(Some(f64::NAN), Kind::Plain, 0.0), "rows[1].gap", "NaN"),
            (report(None, Kind::Wrapped(f64::INFINITY), 0.0), "kinds[1].Wrapped", "inf"),
            (report(None, Kind::Pair(0.0, f64::NAN), 0.0), "kinds[1][1]", "NaN"),
            (report(None, Kind::Named { at: f32::NEG_INFINITY }, 0.0), "kinds[1].at", "-inf"),
            (report(None, Kind::Plain, f64::NAN), "map[0][1]", "NaN"),
        ] {
            let found = check_finite(&report).unwrap_err();
            assert_eq!((found.place.as_str(), found.value.as_str()), (place, value));
            let mut out = Vec::new();
            assert!(write_json(&mut out, &report).is_err() && out.is_empty());
            assert!(to_json(&report).unwrap_err().to_string().contains(place));
        }
    }

    #[test]
    fn words_in_texts_are_found_and_words_that_hold_them_are_not() {
        for text in ["NaN", "over by NaN %", "-inf", "x=inf", "(inf)", "1 NaN 2"] {
            assert!(check_text("x", text).is_err(), "{text}");
        }
        for text in ["", "1.5", "infeasible", "information", "NaNs", "inf.csv", "–"] {
            assert!(check_text("x", text).is_ok(), "{text}");
        }
        let named = Report { name: "inf", ..report(None, Kind::Plain, 0.0) };
        assert_eq!(check_finite(&named), Ok(Checked { has_such_words: true }));
    }
}
