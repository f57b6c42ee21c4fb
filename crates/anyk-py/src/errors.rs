//! Errors of the library as exceptions.

use anyk::framework::{Error, ErrorKind, Infeasibility};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyOSError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    anyk,
    InputError,
    PyValueError,
    "Something that was given cannot be used; the message says what was expected."
);
create_exception!(
    anyk,
    Infeasible,
    PyException,
    "The budget cannot serve every user.\n\nAttributes: `required_power_w` and `shortfall_w` (W; None where no power \
     would do), `admissible` (positions of the users in the largest set that can be served) and `dropped` (the others, \
     the most expensive first); `cell` is its number in a batch, None for one cell."
);

/// The exception of an error.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    if let Error::Infeasible(why) = error {
        return infeasible(py, why);
    }
    let text = error.to_string();
    match error.kind() {
        ErrorKind::Input => InputError::new_err(text),
        ErrorKind::Infeasible => Infeasible::new_err(text),
        ErrorKind::Machine => PyOSError::new_err(text),
        ErrorKind::Interrupted => PyKeyboardInterrupt::new_err(text),
    }
}

/// A cell that the budget does not serve, with the part of it that it would.
pub(crate) fn infeasible(py: Python<'_>, why: &Infeasibility) -> PyErr {
    let Infeasibility { required_power_w, shortfall_w, admissible, dropped, .. } = why;
    let served = admissible.len();
    let all = served + dropped.len();
    let error = Infeasible::new_err(format!(
        "infeasible: {why}; {served} of {all} users can be served (`admissible` has their positions)"
    ));
    let value = error.value(py);
    let set = || -> PyResult<()> {
        value.setattr("required_power_w", *required_power_w)?;
        value.setattr("shortfall_w", *shortfall_w)?;
        value.setattr("admissible", admissible.clone())?;
        value.setattr("dropped", dropped.clone())?;
        value.setattr("cell", None::<usize>)
    };
    match set() {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// Errors of the library in functions that return to Python.
pub(crate) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T, E: Into<Error>> OrRaise<T> for Result<T, E> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error.into()))
    }
}
