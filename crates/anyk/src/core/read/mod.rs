//! Reader of records from files. It reads users of a cell for every problem whose inputs are one number for each
//! user. A problem with other inputs has its own reader ([`About::read`]).
//!
//! AnyK copies all unknown fields of a file to the answer. It rejects names that look like a typo, since it
//! would silently use the default of a misspelled column.

mod allocations;
mod classes;
mod place;
mod user_json;
mod users;
mod users_csv;

pub use allocations::{Allotment, Allotments};
pub use place::{Ids, Place};
pub(crate) use users::Others;

use classes::{CLASS, Classes};

use std::collections::HashMap;

use super::cells::CLASSES;
use super::parameters::plain;
use super::{About, ArrayView, Column, Parameter, Record};
use crate::exchange::{Input, InputError, decode};
use crate::framework::{Error, Verb};

/// Reader of the records of a problem.
#[derive(Debug)]
pub struct Reader {
    about: &'static About,
    /// Parameters that files may set, under each of their names in files.
    parameters: HashMap<String, Named>,
    /// Names of a user's fields: `id`, and the columns with one number for each user.
    fields: Vec<&'static str>,
    /// Position of the column for each of these fields except the id.
    columns: Vec<usize>,
    /// Names that answers use, starting with the name of the cell. In answers, users' fields with one of these
    /// names are renamed.
    reserved: Vec<&'static str>,
    /// Format of a document of users for messages.
    format: String,
    /// Service classes that users name.
    classes: Option<Classes>,
    /// Whether the problem has service classes.
    has_classes: bool,
}

/// Parameter under one of its names.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) parameter: Parameter,
    /// Whether this problem has the parameter.
    pub(super) is_own: bool,
}

/// Fields with the name of a cell and with the names of users.
pub(super) const CELL: &str = "cell";
pub(super) const ID: &str = "id";

impl Reader {
    /// Builds the reader for a problem's files. It rejects parameters of the other problems.
    pub fn new(about: &'static About, others: &[&'static About]) -> Self {
        let mut parameters = HashMap::new();
        let others = others.iter().copied().filter(|other| other.name != about.name);
        // The problem's own parameters come last, so that they take precedence.
        for (owner, is_own) in others.map(|other| (other, false)).chain([(about, true)]) {
            let all = (owner.parameters)().into_iter();
            for (parameter, names) in all.filter(|(one, _)| is_own || !one.is_own_name) {
                for name in names {
                    let named = Named { parameter: parameter.clone(), is_own };
                    parameters.insert(name, named);
                }
            }
        }
        let is_of_file = |column: &Column| column.is_each() && !column.arrays_only;
        let columns: Vec<usize> =
            (0..about.inputs.len()).filter(|&at| is_of_file(&about.inputs[at])).collect();
        let example = about.needed().next().or(about.inputs.first()).map_or("", |one| one.name);
        let format =
            format!("JSON {{\"users\":[{{\"id\":\"a\",\"{example}\":60}}]}} or CSV with a header");
        let names = columns.iter().map(|&at| about.inputs[at].name);
        let fields = [ID].into_iter().chain(names).collect();
        let amounts = about.amounts.iter().map(|amount| amount.name);
        let own = about.answer_fields.iter().chain(about.user_fields).copied();
        let reserved = [CELL].into_iter().chain(super::answer::FIELDS);
        let reserved = reserved.chain(own).chain(amounts).collect();
        let has_classes = (about.flags)(Verb::Solve).iter().any(|spec| spec.name == CLASSES);
        Self { about, parameters, fields, columns, reserved, format, classes: None, has_classes }
    }

    /// Reads service classes from a CSV file. Each user must then name a class in its field `class`. Values of the
    /// user itself take precedence.
    pub fn with_classes(self, bytes: &[u8], file: &str) -> Result<Self, InputError> {
        let classes = Some(Classes::read(self.about, bytes, file)?);
        Ok(Self { classes, ..self })
    }

    /// Returns the problem of the records.
    pub fn about(&self) -> &'static About {
        self.about
    }

    /// Reads the records of a document, each of which may be an error. An error of the whole document is returned
    /// as the only record.
    pub fn read(&self, input: Input<'_>) -> Vec<Result<Record, InputError>> {
        let read = self.about.read.unwrap_or(read_users);
        read(self, input).unwrap_or_else(|error| vec![Err(error)])
    }

    /// Returns whether a field has the name of a parameter of this or another problem. A field that may be a
    /// result does not count if the table also contains amounts.
    pub fn is_parameter(&self, name: &str, is_beside_amounts: bool) -> bool {
        let known = self.parameter(&plain(name));
        known.is_some_and(|known| !(is_beside_amounts && known.parameter.is_result))
    }

    /// Builds the record for rows of a table. `given` contains arrays of the users' numbers. `fields` contains
    /// the fields with the names of parameters ([`is_parameter`](Self::is_parameter)), each with a JSON value
    /// for each row. The record sets a parameter if all rows have equal values.
    pub fn of_table(
        &self,
        rows: &[usize],
        given: &[(&str, ArrayView<'_>)],
        fields: &[(&str, Vec<&str>)],
    ) -> Result<Record, Error> {
        users::of_table(self, rows, given, fields)
    }

    /// Returns the parameter of this problem that differs from a field's name in one letter. A misspelled budget
    /// that is only copied to the answer would look as if it had been applied. Names of two or three letters are
    /// similar to too many others.
    pub(super) fn slip_of_parameter(&self, plain: &str) -> Option<&str> {
        const SHORTEST: usize = 4;
        if !(SHORTEST..LONGEST).contains(&plain.len()) {
            return None;
        }
        let own = self.parameters.iter().filter(|(_, named)| named.is_own);
        // One edit leaves the start or the end unchanged, so comparing both excludes most names.
        let is_near = |name: &&str| {
            let (a, b) = (plain.as_bytes(), name.as_bytes());
            b.len() > SHORTEST
                && a.len().abs_diff(b.len()) <= 1
                && (a[..3] == b[..3] || a[a.len() - 3..] == b[b.len() - 3..])
        };
        let mut names = own.map(|(name, _)| name.as_str()).filter(is_near);
        names.find(|name| strsim::osa_distance(plain, name) == 1)
    }

    /// Returns the column of users that has the same name as a field of a cell, if there is one.
    pub(super) fn column_of_users(&self, plain: &str) -> Option<&'static str> {
        let mut names = self.columns.iter().map(|&at| self.about.inputs[at].name);
        names.find(|name| *name == plain)
    }

    /// Returns the parameter with the name of a field, if there is one.
    pub(super) fn parameter(&self, plain: &str) -> Option<&Named> {
        if plain.len() > LONGEST { None } else { self.parameters.get(plain) }
    }
}

/// Upper bound on the length of a parameter's name.
const LONGEST: usize = 64;

type Records = Result<Vec<Result<Record, InputError>>, InputError>;

/// Function that reads the records of a document, each of which may be an error.
pub type ReadRecords = fn(&Reader, Input<'_>) -> Records;

/// Reads users of cells. JSON: consecutive objects `{"users":[…]}`, one for each cell. CSV: one cell, or several
/// that a column `cell` distinguishes. The first character determines the format.
fn read_users(reader: &Reader, input: Input<'_>) -> Records {
    let format = &reader.format;
    let text = decode(input.bytes, input.name, format)?;
    match text.trim_start().chars().next() {
        None => {
            let message = format!("the file is empty, expected {format}");
            Err(InputError::at(input.name, "", message))
        }
        // Parts of a JSON stream after the first are read as JSON in any case.
        Some(first) if input.part > 0 || matches!(first, '{' | '[') => {
            Ok(user_json::read(reader, text, input)?.into_iter().map(Ok).collect())
        }
        Some(_) => users_csv::read(reader, text, input.name),
    }
}
