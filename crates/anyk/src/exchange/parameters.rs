//! Parameters of cells and problems that people write into their data.
//!
//! Data describe users and links; parameters come as options. A parameter in the data that was only echoed would look as
//! if it had been applied. Hence it must repeat the value in effect, or the data are rejected.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::channel::PathLossModel;
use crate::config::{Config, ParameterValue, System};
use crate::exchange::input_error::shorten;
use crate::tolerance;
use crate::units::{Dbm, Watt};

/// Parameters of problems that the config file does not have. `bandwidth_hz` and `cost` are missing, since they are
/// parameters of some problems and results of others: those problems add them by [`Parameters::set`].
const OF_PROBLEMS: [&str; 7] = [
    "rate_bps",
    "max_bandwidth_hz",
    "noise",
    "p_max",
    "max_power",
    "reference_power_dbm",
    "reference_bandwidth_hz",
];
/// Those of [`OF_PROBLEMS`], and of single problems, that are results in an answer, where they stand beside [`POWER`].
const RESULTS: [&str; 2] = ["rate_bps", "bandwidth_hz"];
/// What every answer gives a user.
pub(crate) const POWER: &str = "power_w";
/// The budget in watts, as answers have it.
const MAX_POWER_W: &str = "max_power_w";
/// No name of a parameter is as long.
const LONGEST: usize = 64;

/// The parameters that data may name, each with what is in effect.
#[derive(Debug, Clone)]
pub struct Parameters(HashMap<Cow<'static, str>, Parameter>);

#[derive(Debug, Clone)]
struct Parameter {
    /// Whether the config file may set it.
    in_config: bool,
    state: State,
}

#[derive(Debug, Clone)]
enum State {
    Is(ParameterValue),
    /// An option could set it.
    Unset,
    /// The problem has no use for it.
    Unused,
}

impl From<Option<ParameterValue>> for State {
    fn from(value: Option<ParameterValue>) -> Self {
        value.map_or(Self::Unset, Self::Is)
    }
}

/// The names under which files have a field of a section of the config file.
fn spellings(section: &'static str, field: &'static str) -> Vec<Cow<'static, str>> {
    let mut names = vec![
        field.into(),
        format!("{section}_{field}").into(),
        format!("{section}.{field}").into(),
    ];
    match field {
        // Its option.
        "model" => names.push(section.into()),
        "max_power_dbm" => names.push(MAX_POWER_W.into()),
        _ => {}
    }
    names
}

impl Parameters {
    /// Returns the parameters of cells, none of which applies to links. Those of links are read from the data.
    pub(crate) fn of_links() -> &'static Self {
        static ALL: LazyLock<Parameters> = LazyLock::new(|| {
            let mut all = Parameters::of_config(&Config::default());
            all.0.values_mut().for_each(|parameter| parameter.state = State::Unused);
            all
        });
        &ALL
    }

    /// Returns the parameters of a cell, for a problem that uses all of them and has none of its own.
    pub fn of(system: &System) -> Self {
        let config = system.config();
        Self::of_config(&Config { path_loss: config.path_loss.filled(), ..config.clone() })
    }

    fn of_config(config: &Config) -> Self {
        let mut all = Self(HashMap::new());
        for name in OF_PROBLEMS {
            all.put(vec![name.into()], false, &State::Unused);
        }
        for (section, field, value) in config.parameters() {
            all.put(spellings(section, field), true, &value.into());
        }
        all
    }

    /// Sets the value in effect; `None` if an option could set one but did not.
    pub fn set(&mut self, name: &'static str, value: Option<ParameterValue>) {
        self.change(name, &value.into());
    }

    /// Marks a parameter that the problem does not use.
    pub fn leave_out(&mut self, name: &'static str) {
        self.change(name, &State::Unused);
    }

    fn change(&mut self, name: &'static str, state: &State) {
        let of_config = Config::default().parameters();
        match of_config.into_iter().find(|(_, field, _)| *field == name) {
            Some((section, ..)) => self.put(spellings(section, name), true, state),
            None => self.put(vec![name.into()], false, state),
        }
    }

    fn put(&mut self, names: Vec<Cow<'static, str>>, in_config: bool, state: &State) {
        for name in names {
            let state = match (&*name, state) {
                (MAX_POWER_W, State::Is(ParameterValue::Number(dbm))) => {
                    State::Is(Watt::from(Dbm(*dbm)).0.into())
                }
                _ => state.clone(),
            };
            self.0.insert(name, Parameter { in_config, state });
        }
    }

    /// Whether a field is called like a parameter. What stands beside the power of a user may be a result.
    pub fn is_one(&self, name: &str, is_beside_power: bool) -> bool {
        self.find(&plain(name)).is_some() && !(is_beside_power && Self::is_result(name))
    }

    /// Whether answers give users a field of this name.
    pub(crate) fn is_result(name: &str) -> bool {
        RESULTS.contains(&name)
    }

    fn find(&self, plain: &str) -> Option<&Parameter> {
        if plain.len() > LONGEST { None } else { self.0.get(plain) }
    }

    /// Rejects a field, whose value is JSON, that is a parameter and says something else than what is in effect.
    pub fn check(&self, name: &str, value: &str) -> Result<(), String> {
        let plain = plain(name);
        if value.starts_with('{') && Config::SECTIONS.contains(&&*plain) {
            let fields: Fields<'_> =
                serde_json::from_str(value).map_err(|error| format!("{plain}: {error}"))?;
            return fields.0.into_iter().try_for_each(|(field, value)| {
                self.check(&format!("{plain}.{}", shorten(&field)), value.get())
            });
        }
        match self.find(&plain) {
            Some(parameter) if !is_unrelated(&plain, value) => parameter.check(name, value),
            _ => Ok(()),
        }
    }
}

/// All fields of an object. A map would keep only the last of two with the same name.
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

/// Whether a field with the name of a parameter does not set it: the value is empty, or the name has another meaning (the
/// model of a phone, a path loss in dB, the cost of a user in an answer).
fn is_unrelated(plain: &str, value: &str) -> bool {
    match plain {
        _ if matches!(value, "null" | "\"\"") => true,
        "model" => word(value).is_none_or(|word| PathLossModel::by_name(&word).is_none()),
        "cost" | "path_loss" => word(value).is_none(),
        _ => false,
    }
}

/// A name in the form of those that are known: small letters, joined by underscores.
fn plain(name: &str) -> Cow<'_, str> {
    let name = name.trim();
    let is_plain = |byte: u8| !byte.is_ascii_uppercase() && !matches!(byte, b' ' | b'-');
    if name.len() > LONGEST || name.bytes().all(is_plain) {
        return name.into();
    }
    name.to_ascii_lowercase().replace([' ', '-'], "_").into()
}

/// The text that a value of JSON is.
fn word(value: &str) -> Option<String> {
    if value.starts_with('"') { serde_json::from_str(value).ok() } else { None }
}

impl Parameter {
    fn check(&self, name: &str, value: &str) -> Result<(), String> {
        let expected = match &self.state {
            State::Is(in_effect) if is_same(in_effect, value) => return Ok(()),
            State::Is(in_effect) => format!("{in_effect}, the value in effect"),
            State::Unset => "none, as in effect".to_owned(),
            State::Unused => "no such field".to_owned(),
        };
        let (of, by) = match self.in_config {
            true => ("cell", "as an option or in the config file"),
            false => ("problem", "as an option"),
        };
        let reason = match self.state {
            State::Unused => "it is a parameter that this problem does not have; remove it".into(),
            _ => format!(
                "it is a parameter of the {of}, which the data cannot set; pass it {by}, or remove it"
            ),
        };
        let (name, value) = (shorten(name), shorten(value));
        Err(format!("{name} is {value}, expected {expected}: {reason}"))
    }
}

/// Whether a value of JSON is the one in effect, up to the digits that files lose.
fn is_same(in_effect: &ParameterValue, value: &str) -> bool {
    let word = word(value);
    match in_effect {
        ParameterValue::Word(in_effect) => word.as_ref() == Some(in_effect),
        ParameterValue::Number(in_effect) => {
            let number = word.as_deref().unwrap_or(value).trim().parse();
            let close = |number: f64| {
                (number - in_effect).abs() <= tolerance::SAME_PARAMETER * in_effect.abs()
            };
            number.is_ok_and(close)
        }
    }
}

impl fmt::Display for ParameterValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(out, "{number}"),
            Self::Word(word) => out.write_str(word),
        }
    }
}
