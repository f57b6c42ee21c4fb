//! The one way to say that a value is wrong.

use std::borrow::Cow;
use std::fmt;

/// A value that was refused: which it is, what was given, and what is accepted.
///
/// An option has the name of its field (`max_power_dbm`), as in Python. The program prints it as a flag.
///
/// ```
/// use anyk::Invalid;
/// let error = Invalid::number("epsilon", 0.5, "a probability from 1e-15 to 0.1");
/// assert_eq!(error.to_string(), "epsilon is 0.5, expected a probability from 1e-15 to 0.1");
/// assert_eq!(error.of_user(2).to_string(), "user 2: epsilon is 0.5, expected a probability from 1e-15 to 0.1");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// Position of the user with the wrong value, from 0; `None` if the value belongs to no single user.
    pub user: Option<usize>,
    /// The field or option, words joined by underscores.
    pub field: Cow<'static, str>,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A value that is not accepted.
    Value {
        /// What was given.
        value: String,
        /// What is accepted.
        expected: Cow<'static, str>,
    },
    /// A value that is not given.
    Missing {
        /// What is accepted.
        expected: Cow<'static, str>,
    },
    /// A value that has no effect.
    Stray {
        /// What it was given for.
        what: String,
    },
}

impl Invalid {
    /// A value that is not accepted.
    // By value, since numbers and literals are given.
    #[allow(clippy::needless_pass_by_value)]
    pub fn value(
        field: impl Into<Cow<'static, str>>,
        value: impl ToString,
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        let fault = Fault::Value { value: value.to_string(), expected: expected.into() };
        Self { user: None, field: field.into(), fault }
    }

    /// A number that is not accepted.
    pub fn number(
        field: impl Into<Cow<'static, str>>,
        value: f64,
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        // Not hundreds of zeros.
        let is_short = value == 0.0 || (1e-6..1e10).contains(&value.abs());
        let value = if is_short { value.to_string() } else { format!("{value:e}") };
        Self::value(field, value, expected)
    }

    /// A value that is not given.
    pub fn missing(
        field: impl Into<Cow<'static, str>>,
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        let fault = Fault::Missing { expected: expected.into() };
        Self { user: None, field: field.into(), fault }
    }

    /// A value that has no effect on `what` it was given for.
    pub fn stray(field: impl Into<Cow<'static, str>>, what: impl Into<String>) -> Self {
        Self { user: None, field: field.into(), fault: Fault::Stray { what: what.into() } }
    }

    /// Adds the position of the user.
    #[must_use]
    pub fn of_user(self, user: usize) -> Self {
        Self { user: Some(user), ..self }
    }

    /// Replaces the value by the text in which it was given.
    #[must_use]
    pub fn given(mut self, text: impl Into<String>) -> Self {
        if let Fault::Value { value, .. } = &mut self.fault {
            *value = text.into();
        }
        self
    }

    /// Puts the section of a file before the field.
    #[must_use]
    pub fn within(self, section: &str) -> Self {
        Self { field: format!("{section}.{}", self.field).into(), ..self }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(user) = self.user {
            write!(out, "user {user}: ")?;
        }
        write!(out, "{} {}", self.field, self.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { value, expected } => write!(out, "is {value}, expected {expected}"),
            Self::Missing { expected } => write!(out, "is missing, expected {expected}"),
            Self::Stray { what } => write!(out, "has no meaning for {what}; leave it out"),
        }
    }
}

impl std::error::Error for Invalid {}
