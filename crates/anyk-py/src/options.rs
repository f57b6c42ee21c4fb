//! Conversion of keyword arguments to options.

use anyk::Fault;
use anyk::framework::{Error, OptionSpec, OptionValue, Options};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyTuple};

use crate::errors::{InputError, exception};

/// Converts keyword arguments to options: `max_power_dbm=40` is `--max-power-dbm 40`. `None` and `False` mean that an
/// option is not set.
pub(crate) fn options(given: &Bound<'_, PyDict>) -> PyResult<Options> {
    let mut options = Options::default();
    for (name, value) in given {
        let name: String = name.extract()?;
        if let Some(text) = text(&name, &value)? {
            options.set(name.replace('_', "-"), text);
        }
    }
    Ok(options)
}

fn text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    if value.is_none() {
        return Ok(None);
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(value.extract::<bool>()?.then(String::new));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let mut parts = Vec::new();
        for part in value.try_iter()? {
            if let Some(part) = text(name, &part?)? {
                parts.push(part);
            }
        }
        return Ok(Some(parts.join(",")));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Some(value.extract::<f64>()?.to_string()));
    }
    if value.is_instance_of::<PyInt>() {
        // Python refuses to print integers with thousands of digits.
        let digits = value.str().map_err(|_| {
            InputError::new_err(format!("{name} has too many digits, expected a smaller number"))
        })?;
        return Ok(Some(digits.to_string()));
    }
    // Arrays come first, because they also have `__index__`.
    if value.hasattr("tolist")? && value.hasattr("ndim")? {
        let list = value.call_method0("tolist")?;
        if list.is_instance_of::<PyList>() {
            return text(name, &list);
        }
    }
    // NumPy integers: a conversion to a float would lose digits.
    if value.hasattr("__index__")? {
        return Ok(Some(value.call_method0("__index__")?.str()?.to_string()));
    }
    // NumPy floats, then paths and strings.
    if let Ok(number) = value.extract::<f64>() {
        return Ok(Some(number.to_string()));
    }
    if value.hasattr("__fspath__")? {
        return Ok(Some(value.call_method0("__fspath__")?.str()?.to_string()));
    }
    value.extract::<String>().map(Some).map_err(|_| {
        let kind = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
        InputError::new_err(format!(
            "{name} is of the type {kind}, expected a number, a string or a list of them"
        ))
    })
}

/// Converts keyword arguments to options and rejects those not in `specs`. The error says that they do not apply to
/// `what`, and suggests the option or the argument of the function (`arguments`) that was probably meant.
pub(crate) fn known(
    py: Python<'_>,
    given: &Bound<'_, PyDict>,
    specs: &[OptionSpec],
    arguments: &[&str],
    what: &str,
) -> PyResult<Options> {
    let options = options(given)?;
    let Err(stray) = options.refuse_others(specs, what) else { return Ok(options) };
    let mut names: Vec<String> = specs.iter().map(|spec| spec.name.replace('-', "_")).collect();
    names.extend(arguments.iter().map(|&name| name.to_owned()));
    match (hint(py, &stray.field, names), &stray.fault) {
        (hint, _) if hint.is_empty() => Err(exception(py, &Error::from(stray))),
        // The library's message suggests only options.
        (hint, Fault::Unknown { .. }) => {
            Err(InputError::new_err(format!("{} is unknown{hint}", stray.field)))
        }
        (hint, _) => Err(InputError::new_err(format!("{stray}{hint}"))),
    }
}

/// Returns a hint with the most similar of the known names; empty if none is similar.
pub(crate) fn hint(
    py: Python<'_>,
    name: &str,
    known: impl IntoIterator<Item: AsRef<str>>,
) -> String {
    let known: Vec<String> = known.into_iter().map(|one| one.as_ref().to_owned()).collect();
    // Without the module that compares names, the message has no hint.
    let ask = || py.import("anyk._names")?.call_method1("hint", (name, known))?.extract();
    ask().unwrap_or_default()
}

/// Returns the options as dicts with name, kind, unit or choices, help and default.
pub(crate) fn described<'py>(
    py: Python<'py>,
    specs: &[OptionSpec],
) -> PyResult<Bound<'py, PyList>> {
    let rows = PyList::empty(py);
    // Arrays contain the values of the classes.
    for spec in specs.iter().filter(|spec| spec.name != "classes") {
        let row = PyDict::new(py);
        let (kind, of): (&str, Vec<String>) = match &spec.value {
            OptionValue::Switch => ("switch", Vec::new()),
            OptionValue::Number(unit) => ("number", vec![(*unit).to_owned()]),
            OptionValue::Numbers(unit) => ("numbers", vec![(*unit).to_owned()]),
            OptionValue::Whole(unit) => ("whole", vec![(*unit).to_owned()]),
            OptionValue::Sizes => ("sizes", Vec::new()),
            OptionValue::Choice(names) => {
                let shown = names.iter().filter(|(_, help)| !help.is_empty());
                ("choice", shown.map(|(name, _)| (*name).to_owned()).collect())
            }
            OptionValue::File => ("file", Vec::new()),
            OptionValue::Text(what) => ("text", vec![(*what).to_owned()]),
        };
        row.set_item("name", spec.name.replace('-', "_"))?;
        row.set_item("kind", kind)?;
        row.set_item("of", of)?;
        row.set_item("help", spec.help)?;
        row.set_item("default", spec.default)?;
        rows.append(row)?;
    }
    Ok(rows)
}
