//! Named facts.

use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

/// Named facts in the order in which they are shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts(Vec<(&'static str, Fact)>);

/// Value of a fact.
#[derive(Debug, Clone)]
pub enum Fact {
    /// Unknown value.
    Unknown,
    /// Single number.
    Number(f64),
    /// Number that all users share; tables repeat it for each of them.
    Shared(f64),
    /// Count of things.
    Count(usize),
    /// Truth value.
    Flag(bool),
    /// Truth value for each user.
    Flags(Vec<bool>),
    /// List of numbers, such as the value of each iteration.
    Numbers(Vec<f64>),
    /// List of texts, such as names of users.
    Texts(Vec<String>),
    /// JSON value of any other kind, with a sentence for people.
    Json(Box<RawValue>, String),
}

impl Facts {
    /// Adds a fact.
    pub fn push(&mut self, name: &'static str, fact: impl Into<Fact>) {
        self.0.push((name, fact.into()));
    }

    /// Returns the list with another fact.
    #[must_use]
    pub fn with(mut self, name: &'static str, fact: impl Into<Fact>) -> Self {
        self.push(name, fact);
        self
    }

    /// Adds all facts of another list.
    pub fn extend(&mut self, others: &Self) {
        self.0.extend(others.0.iter().cloned());
    }

    /// Removes all facts.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Iterates over the facts in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Fact)> {
        self.0.iter().map(|(name, fact)| (*name, fact))
    }

    /// Returns the first fact called `name`.
    pub fn get(&self, name: &str) -> Option<&Fact> {
        self.iter().find(|(known, _)| *known == name).map(|(_, fact)| fact)
    }

    /// Returns the number called `name`.
    pub fn number(&self, name: &str) -> Option<f64> {
        if let Some(Fact::Number(number)) = self.get(name) { Some(*number) } else { None }
    }

    /// Returns the name of a number that is not finite, if there is one.
    pub(crate) fn not_finite(&self) -> Option<&'static str> {
        let unfit = |fact: &Fact| match fact {
            Fact::Number(number) | Fact::Shared(number) => !number.is_finite(),
            Fact::Numbers(all) => all.iter().any(|number| !number.is_finite()),
            _ => false,
        };
        self.iter().find(|(_, fact)| unfit(fact)).map(|(name, _)| name)
    }
}

impl PartialEq for Fact {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Unknown, Self::Unknown) => true,
            (Self::Number(a), Self::Number(b)) | (Self::Shared(a), Self::Shared(b)) => a == b,
            (Self::Count(a), Self::Count(b)) => a == b,
            (Self::Flag(a), Self::Flag(b)) => a == b,
            (Self::Flags(a), Self::Flags(b)) => a == b,
            (Self::Numbers(a), Self::Numbers(b)) => a == b,
            (Self::Texts(a), Self::Texts(b)) => a == b,
            (Self::Json(a, _), Self::Json(b, _)) => a.get() == b.get(),
            _ => false,
        }
    }
}

impl Serialize for Fact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unknown => serializer.serialize_none(),
            Self::Number(number) | Self::Shared(number) => serializer.serialize_f64(*number),
            Self::Count(count) => count.serialize(serializer),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Flags(flags) => flags.serialize(serializer),
            Self::Numbers(numbers) => numbers.serialize(serializer),
            Self::Texts(texts) => texts.serialize(serializer),
            Self::Json(json, _) => RawValue::serialize(json, serializer),
        }
    }
}

impl From<f64> for Fact {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<Option<f64>> for Fact {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::Unknown, Self::Number)
    }
}

impl From<usize> for Fact {
    fn from(count: usize) -> Self {
        Self::Count(count)
    }
}

impl From<bool> for Fact {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<Vec<String>> for Fact {
    fn from(texts: Vec<String>) -> Self {
        Self::Texts(texts)
    }
}
