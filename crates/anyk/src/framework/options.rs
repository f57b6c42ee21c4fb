//! Options by name: what a problem understands, and what a caller has given.
//!
//! A problem describes its options as data. The program makes flags and help pages of them, other callers
//! keyword arguments or fields of a request; a new problem needs no line in any of these.

use std::collections::BTreeMap;

use crate::invalid::Invalid;
use crate::limits::MOST_USERS;
use crate::network::Aggregator;

/// What the value of an option is.
#[derive(Debug, Clone, PartialEq)]
pub enum OptionValue {
    /// None: it is given or not.
    Switch,
    /// A number, in a unit.
    Number(&'static str),
    /// A number or several, separated by commas, or a file of them.
    Numbers(&'static str),
    /// A whole number of something.
    Whole(&'static str),
    /// Numbers of users, separated by commas.
    Sizes,
    /// One of some names, each with what it means; a former name, which no help shows, has no meaning.
    Choice(Vec<(&'static str, &'static str)>),
    /// A file to read.
    File,
    /// Any text, named by what it is.
    Text(&'static str),
}

/// One option of a problem.
#[derive(Debug, Clone, PartialEq)]
pub struct OptionSpec {
    /// Its name, words joined by dashes.
    pub name: &'static str,
    /// What its value is.
    pub value: OptionValue,
    /// What it does, in a sentence without a full stop.
    pub help: &'static str,
    /// What holds where it is not given, in words; empty where nothing does.
    pub default: &'static str,
    /// The group that it is shown in; empty for the problem's own.
    pub group: &'static str,
    /// Whether only the long help shows it.
    pub rare: bool,
    /// Section and field of the file for `--config` that sets it in the program, which has no flag for it.
    pub file: Option<(&'static str, &'static str)>,
}

impl OptionSpec {
    /// Without a default, in the problem's own group.
    pub const fn new(name: &'static str, value: OptionValue, help: &'static str) -> Self {
        Self { name, value, help, default: "", group: "", rare: false, file: None }
    }

    /// One of some names, each with what it means and its value.
    pub fn choice<T>(
        all: &[(&'static str, &'static str, T)],
        name: &'static str,
        help: &'static str,
    ) -> Self {
        let names = all.iter().map(|(name, help, _)| (*name, *help)).collect();
        Self::new(name, OptionValue::Choice(names), help)
    }

    /// The same without some of its choices.
    #[must_use]
    pub fn without(mut self, names: &[&str]) -> Self {
        if let OptionValue::Choice(choices) = &mut self.value {
            choices.retain(|(name, _)| !names.contains(name));
        }
        self
    }

    /// Whether its value may be the name of a file.
    pub fn may_be_file(&self) -> bool {
        match &self.value {
            OptionValue::File => true,
            OptionValue::Numbers(what) | OptionValue::Text(what) => what.contains("FILE"),
            _ => false,
        }
    }

    /// The same with a default.
    #[must_use]
    pub const fn or(mut self, default: &'static str) -> Self {
        self.default = default;
        self
    }

    /// Leaves the option to the long help.
    #[must_use]
    pub const fn rare(mut self) -> Self {
        self.rare = true;
        self
    }

    /// Gives the option a field of the file for `--config` instead of a flag.
    #[must_use]
    pub const fn in_file(mut self, section: &'static str, field: &'static str) -> Self {
        self.file = Some((section, field));
        self
    }

    /// The same in a group.
    #[must_use]
    pub const fn of(mut self, group: &'static str) -> Self {
        self.group = group;
        self
    }
}

/// The field that an option is, in errors: `max-power-dbm` is `max_power_dbm`.
pub(crate) fn field_of(name: &str) -> String {
    name.replace('-', "_")
}

/// What a caller has given, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options(BTreeMap<String, String>);

impl Options {
    /// Gives an option a value, as text; a switch has any.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }

    /// Takes an option away.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// The names of all that was given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether an option was given.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Refuses what has no meaning: an option without effect would mislead. `what` is what it was given for.
    pub fn refuse_others(&self, known: &[OptionSpec], what: &str) -> Result<(), Invalid> {
        match self.names().find(|name| !known.iter().any(|spec| spec.name == *name)) {
            None => Ok(()),
            Some(name) => Err(Invalid::stray(field_of(name), what)),
        }
    }

    /// Refuses some options by name.
    pub fn refuse(&self, names: &[&str], what: &str) -> Result<(), Invalid> {
        match names.iter().find(|name| self.has(name)) {
            None => Ok(()),
            Some(name) => Err(Invalid::stray(field_of(name), what)),
        }
    }

    /// What was given of some options.
    #[must_use]
    pub fn only(&self, known: &[OptionSpec]) -> Self {
        let known = |name: &str| known.iter().any(|spec| spec.name == name);
        let given = self.0.iter().filter(|(name, _)| known(name));
        Self(given.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// These options, and the others where these say nothing.
    #[must_use]
    pub fn over(&self, others: &Self) -> Self {
        let mut all = others.clone();
        all.0.extend(self.0.iter().map(|(name, value)| (name.clone(), value.clone())));
        all
    }

    /// The text of an option.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The number of an option; any finite one.
    pub fn number(&self, name: &str) -> Result<Option<f64>, Invalid> {
        self.parsed(name, "a number", |text| text.parse().ok().filter(|x: &f64| x.is_finite()))
    }

    /// The number of an option, which must be positive.
    pub fn positive(&self, name: &str) -> Result<Option<f64>, Invalid> {
        let positive = |text: &str| text.parse().ok().filter(|x: &f64| *x > 0.0 && x.is_finite());
        self.parsed(name, "a positive number", positive)
    }

    /// The whole number of an option, within bounds.
    pub fn whole(&self, name: &str, least: u64, most: u64) -> Result<Option<u64>, Invalid> {
        let expected = if most == u64::MAX {
            format!("a whole number from {least}")
        } else {
            format!("a whole number from {least} to {most}")
        };
        let within = |text: &str| text.parse().ok().filter(|x| (least..=most).contains(x));
        self.parsed(name, &expected, within)
    }

    /// A whole number of any size, with a value where it is not given: a seed.
    pub fn seed(&self, name: &str, default: u64) -> Result<u64, Invalid> {
        Ok(self.whole(name, 0, u64::MAX)?.unwrap_or(default))
    }

    /// Numbers of users.
    pub fn sizes(&self, name: &str) -> Result<Option<Vec<usize>>, Invalid> {
        let expected =
            format!("whole numbers of users from 1 to {MOST_USERS}, separated by commas");
        self.parsed(name, &expected, |text| {
            let size =
                |part: &str| part.trim().parse().ok().filter(|k| (1..=MOST_USERS).contains(k));
            text.split(',').map(size).collect()
        })
    }

    /// One of the values of a type, by its name.
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
    /// Names, what they mean, and values.
    pub const NAMES: &'static [(&'static str, &'static str, Self)] = &[
        ("mean", "Their mean", Self::Mean),
        ("sum", "Their sum", Self::Sum),
        ("max", "Their largest", Self::Max),
    ];
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
        assert_eq!(error, "rate has no meaning for a model of it; leave it out");
    }

    #[test]
    fn choices_can_be_left_out() {
        let spec = OptionSpec::choice(Aggregator::NAMES, "aggregator", "").without(&["max"]);
        let OptionValue::Choice(left) = spec.value else { unreachable!() };
        assert_eq!(left.iter().map(|choice| choice.0).collect::<Vec<_>>(), ["mean", "sum"]);
    }
}
