//! Options by name: those that a problem accepts, and those that a caller has set.
//!
//! A problem describes its options as data. The program derives flags and help pages from them; other callers derive
//! keyword arguments or fields of a request. A new problem therefore needs no code in the callers.

use std::collections::BTreeMap;

use super::unit_values;
use crate::exchange::slip_of;
use crate::invalid::Invalid;
use crate::limits::MOST_USERS;
use crate::network::Aggregator;

/// Type of the value of an option.
#[derive(Debug, Clone, PartialEq)]
pub enum OptionValue {
    /// No value: the option is set or not.
    Switch,
    /// Number with a unit.
    Number(&'static str),
    /// One or more numbers, separated by commas, or a file of numbers.
    Numbers(&'static str),
    /// Whole number, with a name for help.
    Whole(&'static str),
    /// Numbers of users, separated by commas.
    Sizes,
    /// One of several names, each with its description. A former name has an empty description and is not shown in
    /// help.
    Choice(Vec<(&'static str, &'static str)>),
    /// File to read.
    File,
    /// Any text, with a name for help.
    Text(&'static str),
}

/// Option of a problem.
#[derive(Debug, Clone, PartialEq)]
pub struct OptionSpec {
    /// Name, with words joined by dashes.
    pub name: &'static str,
    /// Type of the value.
    pub value: OptionValue,
    /// Description, as one sentence without a full stop.
    pub help: &'static str,
    /// Default value as shown in help; empty if there is none.
    pub default: &'static str,
    /// Heading in help; empty for the problem's own options.
    pub group: &'static str,
    /// Whether only the long help shows the option.
    pub rare: bool,
    /// Section and field of the `--config` file that set the option. Such an option has no flag.
    pub file: Option<(&'static str, &'static str)>,
}

impl OptionSpec {
    /// Creates an option without a default, in the problem's own group.
    pub const fn new(name: &'static str, value: OptionValue, help: &'static str) -> Self {
        Self { name, value, help, default: "", group: "", rare: false, file: None }
    }

    /// Creates an option whose value is one of several names, each with a description and a value.
    pub fn choice<T>(
        all: &[(&'static str, &'static str, T)],
        name: &'static str,
        help: &'static str,
    ) -> Self {
        let names = all.iter().map(|(name, help, _)| (*name, *help)).collect();
        Self::new(name, OptionValue::Choice(names), help)
    }

    /// Removes some of the choices.
    #[must_use]
    pub fn without(mut self, names: &[&str]) -> Self {
        if let OptionValue::Choice(choices) = &mut self.value {
            choices.retain(|(name, _)| !names.contains(name));
        }
        self
    }

    /// Returns whether the value may be the name of a file.
    pub fn may_be_file(&self) -> bool {
        match &self.value {
            OptionValue::File => true,
            OptionValue::Numbers(what) | OptionValue::Text(what) => what.contains("FILE"),
            _ => false,
        }
    }

    /// Converts the text of a flag to the unit of the option: `20MHz` to `20000000` for a number of Hz. A number without a
    /// unit and the values of other options are returned unchanged.
    pub fn in_own_unit(&self, text: &str) -> Result<String, Invalid> {
        let (OptionValue::Number(unit) | OptionValue::Text(unit)) = self.value else {
            return Ok(text.to_owned());
        };
        match unit_values::convert(text, unit) {
            None => Ok(text.to_owned()),
            Some(Ok(value)) => Ok(value.to_string()),
            Some(Err(expected)) => Err(Invalid::value(field_of(self.name), text, expected)),
        }
    }

    /// Sets the default as shown in help.
    #[must_use]
    pub const fn or(mut self, default: &'static str) -> Self {
        self.default = default;
        self
    }

    /// Shows the option only in the long help.
    #[must_use]
    pub const fn rare(mut self) -> Self {
        self.rare = true;
        self
    }

    /// Replaces the flag of the option by a field of the `--config` file.
    #[must_use]
    pub const fn in_file(mut self, section: &'static str, field: &'static str) -> Self {
        self.file = Some((section, field));
        self
    }

    /// Sets the heading in help.
    #[must_use]
    pub const fn of(mut self, group: &'static str) -> Self {
        self.group = group;
        self
    }
}

/// Returns the field name of an option in errors: `max_power_dbm` for `max-power-dbm`.
pub(crate) fn field_of(name: &str) -> String {
    name.replace('-', "_")
}

/// Options that a caller has set, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options(BTreeMap<String, String>);

impl Options {
    /// Sets an option to a value, given as text. The value of a switch is ignored.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }

    /// Removes an option.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Returns the names of all options that are set.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns whether an option is set.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns an error if an option is set that is not in `known`, since the option would silently have no effect.
    /// `what` names the target of the options in the error.
    pub fn refuse_others(&self, known: &[OptionSpec], what: &str) -> Result<(), Invalid> {
        match self.names().find(|name| !known.iter().any(|spec| spec.name == *name)) {
            None => Ok(()),
            Some(name) => {
                let fields: Vec<String> = known.iter().map(|spec| field_of(spec.name)).collect();
                let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
                let field = field_of(name);
                Err(match slip_of(&field, &fields) {
                    Some(meant) => Invalid::unknown(field, meant),
                    None => Invalid::stray(field, what),
                })
            }
        }
    }

    /// Returns an error if one of the named options is set.
    pub fn refuse(&self, names: &[&str], what: &str) -> Result<(), Invalid> {
        match names.iter().find(|name| self.has(name)) {
            None => Ok(()),
            Some(name) => Err(Invalid::stray(field_of(name), what)),
        }
    }

    /// Returns only the options that are in `known`.
    #[must_use]
    pub fn only(&self, known: &[OptionSpec]) -> Self {
        let known = |name: &str| known.iter().any(|spec| spec.name == name);
        let given = self.0.iter().filter(|(name, _)| known(name));
        Self(given.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// Returns these options, with missing ones taken from `others`.
    #[must_use]
    pub fn over(&self, others: &Self) -> Self {
        let mut all = others.clone();
        all.0.extend(self.0.iter().map(|(name, value)| (name.clone(), value.clone())));
        all
    }

    /// Returns the text of an option.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns the value of an option as a finite number.
    pub fn number(&self, name: &str) -> Result<Option<f64>, Invalid> {
        self.parsed(name, "a number", |text| text.parse().ok().filter(|x: &f64| x.is_finite()))
    }

    /// Returns the value of an option as a positive number.
    pub fn positive(&self, name: &str) -> Result<Option<f64>, Invalid> {
        let positive = |text: &str| text.parse().ok().filter(|x: &f64| *x > 0.0 && x.is_finite());
        self.parsed(name, "a positive number", positive)
    }

    /// Returns the value of an option as a whole number within bounds.
    pub fn whole(&self, name: &str, least: u64, most: u64) -> Result<Option<u64>, Invalid> {
        let expected = if most == u64::MAX {
            format!("a whole number from {least}")
        } else {
            format!("a whole number from {least} to {most}")
        };
        let within = |text: &str| text.parse().ok().filter(|x| (least..=most).contains(x));
        self.parsed(name, &expected, within)
    }

    /// Returns the value of an option as a seed: any whole number, or the default.
    pub fn seed(&self, name: &str, default: u64) -> Result<u64, Invalid> {
        Ok(self.whole(name, 0, u64::MAX)?.unwrap_or(default))
    }

    /// Returns the value of an option as numbers of users.
    pub fn sizes(&self, name: &str) -> Result<Option<Vec<usize>>, Invalid> {
        let expected =
            format!("whole numbers of users from 1 to {MOST_USERS}, separated by commas");
        self.parsed(name, &expected, |text| {
            let size =
                |part: &str| part.trim().parse().ok().filter(|k| (1..=MOST_USERS).contains(k));
            text.split(',').map(size).collect()
        })
    }

    /// Returns the value of an option as one of the named values of a type.
    pub fn choice<T: Copy>(
        &self,
        all: &[(&str, &str, T)],
        name: &str,
    ) -> Result<Option<T>, Invalid> {
        let shown = all.iter().filter(|(_, help, _)| !help.is_empty());
        let names: Vec<&str> = shown.map(|choice| choice.0).collect();
        self.parsed(name, &names.join(", "), |text| {
            all.iter().find(|choice| choice.0 == text).map(|choice| choice.2)
        })
    }

    fn parsed<T>(
        &self,
        name: &str,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Invalid> {
        let Some(text) = self.text(name) else { return Ok(None) };
        parse(text.trim())
            .map(Some)
            .ok_or_else(|| Invalid::value(field_of(name), text, expected.to_owned()))
    }
}

impl Aggregator {
    /// Names with their descriptions and values.
    pub const NAMES: &'static [(&'static str, &'static str, Self)] =
        &[("mean", "Mean", Self::Mean), ("sum", "Sum", Self::Sum), ("max", "Maximum", Self::Max)];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_checked_and_named() {
        let mut options = Options::default();
        options.set("k", "1, 20");
        options.set("rate", "-3");
        options.set("steps", "1e3");
        assert_eq!(options.sizes("k"), Ok(Some(vec![1, 20])));
        assert_eq!(options.sizes("absent"), Ok(None));
        assert_eq!(options.number("rate"), Ok(Some(-3.0)));
        let error = options.positive("rate").unwrap_err().to_string();
        assert_eq!(error, "rate is -3, expected a positive number");
        let error = options.whole("steps", 1, 10).unwrap_err().to_string();
        assert_eq!(error, "steps is 1e3, expected a whole number from 1 to 10");
        let known = [OptionSpec::new("k", OptionValue::Sizes, "")];
        let error = options.refuse_others(&known, "a model of it").unwrap_err().to_string();
        assert_eq!(error, "rate does not apply to a model of it; remove it");
        let known = [OptionSpec::new("train-k", OptionValue::Sizes, "")];
        options = Options::default();
        options.set("trian-k", "1");
        let error = options.refuse_others(&known, "a model of it").unwrap_err().to_string();
        assert_eq!(error, "trian_k is unknown; did you mean train_k?");
    }

    #[test]
    fn choices_can_be_left_out() {
        let spec = OptionSpec::choice(Aggregator::NAMES, "aggregator", "").without(&["max"]);
        let OptionValue::Choice(left) = spec.value else { unreachable!() };
        assert_eq!(left.iter().map(|choice| choice.0).collect::<Vec<_>>(), ["mean", "sum"]);
    }
}
