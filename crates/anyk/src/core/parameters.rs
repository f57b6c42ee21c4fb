//! Options of a problem in input data: the budget of a cell, its antennas, its band.
//!
//! A field with the name of an option of the problem sets it for its record. A field with the name of an option
//! of another problem is rejected, since it would look as if it had been applied.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Instance, Problem, Record};
use crate::config::Config;
use crate::exchange::shorten;
use crate::framework::{CellOptions, Error, Options, field_of};
use crate::invalid::Invalid;
use crate::tolerance;
use std::sync::Arc;

/// Option of a problem that a record may set.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Name of the option.
    pub option: &'static str,
    /// Whether answers have a field with this name. Such a field is a result and does not set the option.
    pub is_result: bool,
    /// Whether the name has another meaning in other problems. Those problems therefore do not reject it.
    pub is_own_name: bool,
    /// Kind of its value.
    pub kind: ParameterKind,
}

/// Kind of the value of a [`Parameter`].
#[derive(Debug, Clone, Copy)]
pub enum ParameterKind {
    /// Number in the unit of the option.
    Number,
    /// Number in another unit.
    Converted(fn(f64) -> f64),
    /// Name that the function accepts; any other value is unrelated to the option.
    Word(fn(&str) -> bool),
    /// Name of a choice. A record can set the choices that the function accepts. It can only repeat all others,
    /// such as names of files, since data must not decide which files are read.
    Choice(fn(&str) -> bool),
    /// Name of a choice, as for `Choice`, but values other than names are an error.
    Name(fn(&str) -> bool),
    /// Value without effect on the users of a file: a file may only repeat the value in effect.
    NoEffect,
}

/// Option that a record contains but cannot set; its value must be the value in effect.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    /// User who has the field, if it does not belong to the whole record.
    pub(crate) user: Option<usize>,
    pub(crate) option: &'static str,
    /// Name in the file.
    pub(crate) name: Box<str>,
    pub(crate) value: Value,
    pub(crate) kind: ParameterKind,
    /// Reason why the record cannot set it.
    pub(crate) because: &'static str,
}

/// Value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Value {
    /// Value as text, in the unit of the option.
    pub(crate) text: String,
    number: Option<f64>,
    /// Value as it appears in the file, if the file uses another unit.
    in_file: Option<Box<str>>,
}

impl ParameterKind {
    /// Describes the expected value, for the error about a value that differs from the value in effect.
    pub(crate) fn expected(
        self,
        option: &'static str,
        value: &Value,
        options: &Options,
    ) -> Option<String> {
        let Some(text) = CellOptions::in_effect(options, option) else {
            return Some("none, as in effect".to_owned());
        };
        let of_unit = match self {
            Self::Converted(_) => format!("{} ", field_of(option)),
            _ => String::new(),
        };
        let expected = format!("{of_unit}{text}, the value in effect");
        (!Value::new(text).is_same(value)).then_some(expected)
    }

    /// Returns whether a record can set the option to this value. If not, the record may only repeat the value
    /// in effect.
    pub(crate) fn sets(self, value: &Value) -> bool {
        match self {
            Self::NoEffect => false,
            Self::Choice(is_known) | Self::Name(is_known) => is_known(&value.text),
            Self::Number | Self::Converted(_) | Self::Word(_) => true,
        }
    }
}

impl Value {
    pub(crate) fn new(text: String) -> Self {
        Self { number: text.parse().ok(), text, in_file: None }
    }

    /// Returns the value as it appears in the file.
    pub(crate) fn shown(&self) -> String {
        shorten(self.in_file.as_deref().unwrap_or(&self.text))
    }

    /// Returns whether two values are equal, up to the digits that are lost in files.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self.number, other.number) {
            (Some(a), Some(b)) if a.is_finite() && b.is_finite() => {
                (a - b).abs() <= tolerance::SAME_PARAMETER * a.abs().max(b.abs())
            }
            _ => self.text == other.text,
        }
    }
}

impl Claim {
    /// Returns an error if the value differs from the value in effect.
    fn refused(&self, options: &Options) -> Option<Invalid> {
        let Self { user, option, name, value, kind, because } = self;
        let expected = format!("{}: {because}", kind.expected(option, value, options)?);
        let wrong = Invalid::value(shorten(name), value.shown(), expected);
        Some(match user {
            Some(user) => wrong.of_user(*user),
            None => wrong,
        })
    }
}

impl Parameter {
    /// Builds a numeric parameter that has the same name as its option.
    pub fn number(option: &'static str) -> Self {
        Self { option, is_result: false, is_own_name: false, kind: ParameterKind::Number }
    }

    /// Marks the parameter as having no effect on the users of a file.
    #[must_use]
    pub fn without_effect(mut self) -> Self {
        self.kind = ParameterKind::NoEffect;
        self
    }

    /// Marks the name as having another meaning in other problems.
    #[must_use]
    pub fn own_name(mut self) -> Self {
        self.is_own_name = true;
        self
    }

    /// Marks the name as that of a field in answers.
    #[must_use]
    pub fn also_a_result(mut self) -> Self {
        self.is_result = true;
        self
    }

    /// Returns the value that a JSON field sets; `None` if it is empty or has another meaning.
    pub(crate) fn value(&self, name: &str, json: &str) -> Result<Option<Value>, String> {
        if matches!(json, "null" | "\"\"") {
            return Ok(None);
        }
        let word: Option<String> =
            if json.starts_with('"') { serde_json::from_str(json).ok() } else { None };
        if let ParameterKind::Word(is_known) = self.kind {
            return Ok(word.filter(|word| is_known(word)).map(Value::new));
        }
        match (self.kind, word) {
            // A number is not a name, even in quotes.
            (ParameterKind::Choice(_), word) => {
                Ok(word.map(Value::new).filter(|value| value.number.is_none()))
            }
            (ParameterKind::Name(_), Some(word)) => Ok(Some(Value::new(word))),
            (ParameterKind::Name(_), None) => {
                let (name, value) = (shorten(name), shorten(json));
                Err(format!(
                    "{name} is {value}, expected a name; this field is a parameter of the problem"
                ))
            }
            (_, word) => self.number_or_text(name, json, word.as_deref()),
        }
    }

    /// Parses a value of any other kind.
    fn number_or_text(
        &self,
        name: &str,
        json: &str,
        word: Option<&str>,
    ) -> Result<Option<Value>, String> {
        let text = word.unwrap_or(json).trim();
        if matches!(self.kind, ParameterKind::NoEffect) {
            return Ok(Some(Value::new(text.to_owned())));
        }
        let Some(number) = text.parse().ok().filter(|number: &f64| number.is_finite()) else {
            let (name, value) = (shorten(name), shorten(json));
            return Err(format!(
                "{name} is {value}, expected a number; this field is a parameter of the problem"
            ));
        };
        let ParameterKind::Converted(convert) = self.kind else {
            return Ok(Some(Value::new(text.to_owned())));
        };
        // A value of 0 or less may have no counterpart in the unit of the option: 0 W cannot be expressed in
        // dBm.
        let converted = convert(number);
        if !converted.is_finite() {
            let (name, value) = (shorten(name), shorten(json));
            return Err(format!(
                "{name} is {value}, expected a positive number; this field is a parameter of the problem"
            ));
        }
        let in_file = Some(text.into());
        Ok(Some(Value { in_file, ..Value::new(converted.to_string()) }))
    }
}

/// Normalizes a name: small letters, joined by underscores.
pub(crate) fn plain(name: &str) -> Cow<'_, str> {
    let name = name.trim();
    let is_plain = |byte: u8| !byte.is_ascii_uppercase() && !matches!(byte, b' ' | b'-');
    if name.bytes().all(is_plain) {
        return name.into();
    }
    name.to_ascii_lowercase().replace([' ', '-'], "_").into()
}

/// Splits a JSON field into parts: the field itself, or its fields if it is a section of the config file.
pub(crate) fn fields<'a>(name: &'a str, json: &'a str) -> Vec<(Cow<'a, str>, Cow<'a, str>)> {
    let section = plain(name);
    if !(json.starts_with('{') && Config::SECTIONS.contains(&&*section)) {
        return vec![(name.into(), json.into())];
    }
    let Ok(Fields(all)) = serde_json::from_str::<Fields<'_>>(json) else { return Vec::new() };
    let field = |(field, value): (String, &RawValue)| {
        (format!("{section}.{}", shorten(&field)).into(), value.get().to_owned().into())
    };
    all.into_iter().map(field).collect()
}

/// All fields of an object. A map would keep only the last of two fields with one name.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Fields<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut all = Vec::new();
                while let Some(field) = map.next_entry()? {
                    all.push(field);
                }
                Ok(Fields(all))
            }
        }
        deserializer.deserialize_map(All)
    }
}

/// Builder of instances, each with the options that its record sets.
#[derive(Clone)]
pub struct Formulating {
    problem: Arc<dyn Problem>,
    /// Options that the last record set, and the problem for them. Adjacent records mostly have the same
    /// options.
    last: Option<(Options, Arc<dyn Problem>)>,
}

impl Formulating {
    /// Creates a builder for instances of a problem.
    pub fn new(problem: Arc<dyn Problem>) -> Self {
        Self { problem, last: None }
    }

    /// Returns the problem without options from records.
    pub fn problem(&self) -> &Arc<dyn Problem> {
        &self.problem
    }

    /// Builds the instance of a record.
    pub fn instance(&mut self, record: Record) -> Result<Instance, Error> {
        let made = self.problem_of(&record);
        // An invalid claim may be the reason why the problem cannot be built, so report it first.
        let options = made.as_ref().map_or(self.problem.options(), |made| made.options());
        let is_told = |claim: &&Claim| made.is_ok() || !record.parameters().has(claim.option);
        let mut claims = record.claims().iter().filter(is_told);
        match (claims.find_map(|claim| claim.refused(options)), made) {
            (Some(wrong), _) => Err(record.locate(wrong.into())),
            (None, Err(error)) => Err(record.locate(error)),
            (None, Ok(problem)) => Instance::new(&problem, record),
        }
    }

    fn problem_of(&mut self, record: &Record) -> Result<Arc<dyn Problem>, Error> {
        let own = self.problem.options();
        let mut set = Options::default();
        for name in record.parameters().names() {
            let Some(text) = record.parameters().text(name) else { continue };
            let is_same =
                |known: &str| Value::new(known.to_owned()).is_same(&Value::new(text.to_owned()));
            if !own.text(name).is_some_and(is_same) {
                set.set(name, text);
            }
        }
        if set == Options::default() {
            return Ok(Arc::clone(&self.problem));
        }
        match &self.last {
            Some((known, problem)) if *known == set => Ok(Arc::clone(problem)),
            _ => {
                let own = CellOptions::before_path_loss(own, set.text("path-loss"));
                let problem = self.problem.with_options(&set.over(&own))?;
                self.last = Some((set, Arc::clone(&problem)));
                Ok(problem)
            }
        }
    }
}
