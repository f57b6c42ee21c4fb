//! Log-normal shadowing of random users.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::invalid::Invalid;

/// Standard deviation of the losses of users at the same distance, which are normal in dB.
///
/// ```
/// use anyk::channel::Shadowing;
/// assert_eq!("standard".parse(), Ok(Shadowing::Standard));
/// assert_eq!("6.5".parse(), Ok(Shadowing::Deviation(6.5)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shadowing {
    /// Standard deviation that TR 38.901 defines for the scenario and the line of sight.
    Standard,
    /// Given standard deviation, in dB.
    Deviation(f64),
}

impl Shadowing {
    /// Description of the accepted values, for errors.
    pub const EXPECTED: &'static str = "standard, or a standard deviation in dB from 0.1 to 20";

    fn deviation(deviation_db: f64) -> Result<Self, Invalid> {
        if (0.1..=20.0).contains(&deviation_db) {
            return Ok(Self::Deviation(deviation_db));
        }
        Err(Invalid::number("shadowing", deviation_db, Self::EXPECTED))
    }
}

impl FromStr for Shadowing {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.trim() {
            "standard" => Ok(Self::Standard),
            text => match text.parse() {
                Ok(number) => Self::deviation(number),
                Err(_) => {
                    let short: String = text.chars().take(40).collect();
                    Err(Invalid::value("shadowing", format!("{short:?}"), Self::EXPECTED))
                }
            },
        }
    }
}

impl fmt::Display for Shadowing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standard => formatter.write_str("standard"),
            Self::Deviation(deviation_db) => write!(formatter, "{deviation_db}"),
        }
    }
}

impl Serialize for Shadowing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Standard => serializer.serialize_str("standard"),
            Self::Deviation(deviation_db) => serializer.serialize_f64(*deviation_db),
        }
    }
}

impl<'de> Deserialize<'de> for Shadowing {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Text(String),
        }
        match Written::deserialize(deserializer) {
            Ok(Written::Number(number)) => {
                Self::deviation(number).map_err(serde::de::Error::custom)
            }
            Ok(Written::Text(text)) => text.parse().map_err(serde::de::Error::custom),
            Err(_) => Err(serde::de::Error::custom(format_args!(
                "the shadowing is neither text nor a number, expected {}",
                Self::EXPECTED
            ))),
        }
    }
}
