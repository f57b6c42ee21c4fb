//! Conversion of library errors to Python exceptions.

use anyk::framework::{Error, ErrorKind, Infeasibility};
use anyk::{Fault, Invalid};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::options::hint;

create_exception!(
    anyk,
    InputError,
    PyValueError,
    "AnyK cannot use an argument. The message names it and says what is expected."
);
create_exception!(
    anyk,
    Infeasible,
    PyException,
    "The budget cannot serve every user.\n\n\
     Attributes\n----------\n\
     required_power_w\n    Power that would serve every user, in W; None if no power is enough.\n\n\
     shortfall_w\n    Power that is missing, in W; None if no power is enough.\n\n\
     admissible\n    Positions of the users in the largest set that can be served.\n\n\
     dropped\n    Positions of the other users, the most expensive first.\n\n\
     cell\n    Index of the cell in a batch; None for a single cell.\n"
);

/// Converts an error to the exception of its kind.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    if let Error::Infeasible(why) = error {
        return infeasible(py, why);
    }
    let mut text = format!("{error}{}", of_choices(py, error));
    // The reasons of errors in files and tables are text.
    if text.contains("gain is -") {
        text.push_str("; pass gains in dB as gains_db (in a table, gain_db)");
    }
    match error.kind() {
        ErrorKind::Input => InputError::new_err(text),
        ErrorKind::Infeasible => Infeasible::new_err(text),
        ErrorKind::Machine => PyOSError::new_err(text),
        ErrorKind::Interrupted => PyKeyboardInterrupt::new_err(text),
    }
}

/// Returns the hint for an invalid value that resembles one of the expected names.
fn of_choices(py: Python<'_>, error: &Error) -> String {
    let Error::Invalid(Invalid { fault: Fault::Value { value, expected }, .. }) = error else {
        return String::new();
    };
    let names = expected.trim_start_matches("one of ").split(", ");
    hint(py, value, names.filter(|name| !name.contains(' ')))
}

/// Builds an `Infeasible` exception with the required power and the users that can be served.
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

/// Extension of `Result` that turns library errors into exceptions.
pub(crate) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T, E: Into<Error>> OrRaise<T> for Result<T, E> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error.into()))
    }
}
