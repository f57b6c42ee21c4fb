//! Error for a wrong value or option.

use std::borrow::Cow;
use std::fmt;

/// Error for a rejected value: the field, the given value, and the accepted values.
///
/// Options have the names of fields (`max_power_dbm`), as in Python. The program prints them as flags.
///
/// ```
/// use anyk::Invalid;
/// let error = Invalid::number("epsilon", 0.5, "a probability from 1e-15 to 0.1");
/// assert_eq!(error.to_string(), "epsilon is 0.5, expected a probability from 1e-15 to 0.1");
/// assert_eq!(error.of_user(2).to_string(), "user 2: epsilon is 0.5, expected a probability from 1e-15 to 0.1");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// Index of the user with the wrong value, from 0; `None` if the value does not belong to a single user.
    pub user: Option<usize>,
    /// Name of the field or option, with words joined by underscores.
    pub field: Cow<'static, str>,
    /// Fault of the field.
    pub fault: Fault,
}

/// Fault of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The value is not accepted.
    Value {
        /// Given value.
        value: String,
        /// Accepted values.
        expected: Cow<'static, str>,
    },
    /// The value is missing.
    Missing {
        /// Accepted values.
        expected: Cow<'static, str>,
    },
    /// The option is unknown, but its name resembles that of a known one.
    Unknown {
        /// Known option.
        meant: String,
    },
    /// The option does not apply.
    Stray {
        /// Problem, model or method to which the option does not apply.
        what: String,
    },
}

impl Invalid {
    /// Returns the error for a value that is not accepted.
    // The argument is taken by value, since callers pass numbers and literals.
    #[allow(clippy::needless_pass_by_value)]
    pub fn value(
        field: impl Into<Cow<'static, str>>,
        value: impl ToString,
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        let fault = Fault::Value { value: value.to_string(), expected: expected.into() };
        Self { user: None, field: field.into(), fault }
    }

    /// Returns the error for a number that is not accepted.
    pub fn number(
        field: impl Into<Cow<'static, str>>,
        value: f64,
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        // Scientific notation avoids hundreds of zeros.
        let is_short = value == 0.0 || (1e-6..1e10).contains(&value.abs());
        let value = if is_short { value.to_string() } else { format!("{value:e}") };
        Self::value(field, value, expected)
    }

    /// Returns the error for a missing value.
    pub fn missing(
        field: impl Into<Cow<'static, str>>,
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        let fault = Fault::Missing { expected: expected.into() };
        Self { user: None, field: field.into(), fault }
    }

    /// Returns the error for an unknown option that resembles a known one.
    pub fn unknown(field: impl Into<Cow<'static, str>>, meant: impl Into<String>) -> Self {
        Self { user: None, field: field.into(), fault: Fault::Unknown { meant: meant.into() } }
    }

    /// Returns the error for an option that does not apply to `what`.
    pub fn stray(field: impl Into<Cow<'static, str>>, what: impl Into<String>) -> Self {
        Self { user: None, field: field.into(), fault: Fault::Stray { what: what.into() } }
    }

    /// Adds the index of the user.
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
            Self::Unknown { meant } => write!(out, "is unknown; did you mean {meant}?"),
            Self::Stray { what } => write!(out, "does not apply to {what}; remove it"),
        }
    }
}

impl std::error::Error for Invalid {}
