//! Options with one or several values, and their combinations.

use toml::Value as Toml;

use crate::exchange::{fingerprint, read_file, shorten};
use crate::framework::{Error, OptionSpec, OptionValue, Options, Value, field_of};
use crate::invalid::Invalid;

/// Largest number of combinations of the values of options.
pub(super) const MOST_COMBINATIONS: usize = 10_000;

/// Option of a sweep with its values.
#[derive(Debug, Clone)]
pub(super) struct Dimension {
    /// Name of the option.
    pub(super) option: &'static str,
    /// Values in order.
    values: Vec<Setting>,
    /// Whether the values were given as an array, so that the table has a column for them.
    pub(super) is_swept: bool,
}

/// Value of an option.
#[derive(Debug, Clone)]
struct Setting {
    /// Value for [`Options`]; `None` for a switch that is off.
    text: Option<String>,
    shown: Value,
}

/// Combination of values, one for each dimension.
#[derive(Debug, Clone, Default)]
pub(super) struct Combination {
    /// Options that the combination sets.
    pub(super) options: Options,
    /// Values of the swept options, with their names.
    pub(super) swept: Vec<(&'static str, Value)>,
}

impl Dimension {
    /// Reads the value of an option, or an array of its values.
    fn of(spec: &OptionSpec, given: &Toml) -> Result<Self, Invalid> {
        let field = || field_of(spec.name);
        let (all, is_swept) = match given {
            Toml::Array(all) => (all.as_slice(), true),
            one => (std::slice::from_ref(one), false),
        };
        if all.is_empty() {
            return Err(Invalid::value(field(), "an empty array", "at least one value"));
        }
        let values = all.iter().map(|value| Setting::of(spec, value));
        let values = values.collect::<Result<Vec<Setting>, Invalid>>()?;
        for (place, value) in values.iter().enumerate() {
            if values[..place].iter().any(|before| before.text == value.text) {
                return Err(Invalid::value(field(), &all[place], "each value only once"));
            }
        }
        Ok(Self { option: spec.name, values, is_swept })
    }

    /// Reads all options of a table. The error about another option says that it does not apply to `what`.
    pub(super) fn all<'t>(
        given: impl IntoIterator<Item = (&'t String, &'t Toml)>,
        specs: &[OptionSpec],
        what: &str,
    ) -> Result<Vec<Self>, Invalid> {
        let mut all: Vec<Self> = Vec::new();
        for (key, value) in given {
            let name = key.replace('_', "-");
            let Some(spec) = specs.iter().find(|spec| spec.name == name) else {
                let mut stray = Options::default();
                stray.set(shorten(&name), "");
                stray.refuse_others(specs, what)?;
                return Err(Invalid::stray(shorten(key), what));
            };
            if all.iter().any(|known| known.option == spec.name) {
                return Err(Invalid::value(
                    field_of(spec.name),
                    "given twice",
                    "one value or array",
                ));
            }
            all.push(Self::of(spec, value)?);
        }
        Ok(all)
    }
}

impl Setting {
    fn of(spec: &OptionSpec, given: &Toml) -> Result<Self, Invalid> {
        let field = || field_of(spec.name);
        let is_switch = spec.value == OptionValue::Switch;
        Ok(match given {
            Toml::Boolean(on) if is_switch => {
                Self { text: on.then(String::new), shown: Value::Text(on.to_string()) }
            }
            _ if is_switch => {
                return Err(Invalid::value(field(), shorten(&given.to_string()), "true or false"));
            }
            Toml::String(text) => {
                Self { text: Some(spec.in_own_unit(text)?), shown: Value::Text(text.clone()) }
            }
            Toml::Integer(number) => {
                let shown = u64::try_from(*number).map(Value::Whole);
                #[allow(clippy::cast_precision_loss)]
                let shown = shown.unwrap_or(Value::Number(*number as f64));
                Self { text: Some(number.to_string()), shown }
            }
            Toml::Float(number) if number.is_finite() => {
                Self { text: Some(number.to_string()), shown: Value::Number(*number) }
            }
            other => {
                let expected = "a number, a string, or an array of them";
                return Err(Invalid::value(field(), shorten(&other.to_string()), expected));
            }
        })
    }
}

impl Combination {
    /// Returns all combinations of the values of these options. The last option changes fastest.
    pub(super) fn all(dimensions: &[Dimension]) -> Result<Vec<Self>, Invalid> {
        let counts = dimensions.iter().map(|dimension| dimension.values.len());
        let count = counts.fold(1usize, usize::saturating_mul);
        if count > MOST_COMBINATIONS {
            let expected = format!("at most {MOST_COMBINATIONS}");
            return Err(Invalid::value("the number of combinations of options", count, expected));
        }
        let mut all = vec![Self::default()];
        for Dimension { option, values, is_swept } in dimensions {
            let with = |before: &Self, value: &Setting| {
                let mut next = before.clone();
                if let Some(text) = &value.text {
                    next.options.set(*option, text);
                }
                if *is_swept {
                    next.swept.push((option, value.shown.clone()));
                }
                next
            };
            all = all
                .iter()
                .flat_map(|before| values.iter().map(move |value| with(before, value)))
                .collect();
        }
        Ok(all)
    }
}

/// Returns the fingerprints of the files that options name, since the files determine results as well.
pub(super) fn files(options: &Options, specs: &[OptionSpec]) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    for spec in specs.iter().filter(|spec| spec.may_be_file()) {
        let Some(path) = options.text(spec.name) else { continue };
        let is_file = std::path::Path::new(path).is_file();
        if is_file || spec.value == OptionValue::File {
            let unread = |source| Error::Read { path: path.into(), source };
            let bytes = read_file(path.as_ref()).map_err(unread)?;
            found.push(format!("{path} {:016x}", fingerprint(bytes)));
        }
    }
    Ok(found)
}
