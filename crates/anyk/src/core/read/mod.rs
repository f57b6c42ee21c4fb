//! Records from files. Users of a cell are read here, for every problem whose inputs are one number for each user. A
//! problem with other inputs has a reader of its own ([`About::read`]).
//!
//! Files are people's own: AnyK keeps what is next to the columns that are known, and returns it with the answer. It
//! rejects what looks like a typing error, since a misspelt column would silently be a default.

mod allocations;
mod place;
mod user_json;
mod users;
mod users_csv;

pub use allocations::{Allotment, Allotments};
pub use place::{Ids, Place};
pub(crate) use users::Others;

use std::collections::HashMap;

use super::parameters::plain;
use super::{About, ArrayView, Column, Parameter, Record};
use crate::exchange::{Input, InputError, decode};
use crate::framework::Error;

/// What reads the records of a problem.
#[derive(Debug)]
pub struct Reader {
    about: &'static About,
    /// The parameters that files may name, by every name that files have for them.
    parameters: HashMap<String, Named>,
    /// The names of a user's fields: `id`, and the columns with one number for each user.
    fields: Vec<&'static str>,
    /// For each of these but the id, the position of its column.
    columns: Vec<usize>,
    /// Names that answers have, the name of the cell first: what users have under one of them comes back under another.
    reserved: Vec<&'static str>,
    /// What a document of users looks like, in words.
    format: String,
}

/// A parameter under one of its names.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) parameter: Parameter,
    /// Whether this problem has it.
    pub(super) is_own: bool,
}

/// The name of a cell, and the names of users.
pub(super) const CELL: &str = "cell";
pub(super) const ID: &str = "id";

impl Reader {
    /// The reader of a problem's files. It rejects parameters of the other problems.
    pub fn new(about: &'static About, others: &[&'static About]) -> Self {
        let mut parameters = HashMap::new();
        let others = others.iter().copied().filter(|other| other.name != about.name);
        // Its own last, so that they win.
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
        Self { about, parameters, fields, columns, reserved, format }
    }

    /// The problem.
    pub fn about(&self) -> &'static About {
        self.about
    }

    /// Reads the records of a document, each with what is wrong with it. What is wrong with the whole document is the
    /// error of a record that is the only one.
    pub fn read(&self, input: Input<'_>) -> Vec<Result<Record, InputError>> {
        let read = self.about.read.unwrap_or(read_users);
        read(self, input).unwrap_or_else(|error| vec![Err(error)])
    }

    /// Whether a field is called like a parameter of this problem or of another. Next to the amounts of an answer, it may
    /// be a result.
    pub fn is_parameter(&self, name: &str, is_beside_amounts: bool) -> bool {
        let known = self.parameter(&plain(name));
        known.is_some_and(|known| !(is_beside_amounts && known.parameter.is_result))
    }

    /// The record of some rows of a table: arrays of the users' numbers, and for each row the fields that are called like
    /// a parameter ([`is_parameter`](Self::is_parameter)), by name, as JSON. What all rows say alike is set for the record.
    pub fn of_table(
        &self,
        rows: &[usize],
        given: &[(&str, ArrayView<'_>)],
        fields: &[(&str, Vec<&str>)],
    ) -> Result<Record, Error> {
        users::of_table(self, rows, given, fields)
    }

    /// The parameter of this problem that a field is one letter off: a budget that is only echoed would look as if it had
    /// been applied. Names of two or three letters are too close to everything.
    pub(super) fn slip_of_parameter(&self, plain: &str) -> Option<&str> {
        const SHORTEST: usize = 4;
        if !(SHORTEST..LONGEST).contains(&plain.len()) {
            return None;
        }
        let own = self.parameters.iter().filter(|(_, named)| named.is_own);
        // One edit leaves the start or the end as it is: most names are told apart by a look at both.
        let is_near = |name: &&str| {
            let (a, b) = (plain.as_bytes(), name.as_bytes());
            b.len() > SHORTEST
                && a.len().abs_diff(b.len()) <= 1
                && (a[..3] == b[..3] || a[a.len() - 3..] == b[b.len() - 3..])
        };
        let mut names = own.map(|(name, _)| name.as_str()).filter(is_near);
        names.find(|name| strsim::osa_distance(plain, name) == 1)
    }

    /// The column with a number for each user that a field of a cell is called like.
    pub(super) fn column_of_users(&self, plain: &str) -> Option<&'static str> {
        let mut names = self.columns.iter().map(|&at| self.about.inputs[at].name);
        names.find(|name| *name == plain)
    }

    /// The parameter that a field is called like.
    pub(super) fn parameter(&self, plain: &str) -> Option<&Named> {
        if plain.len() > LONGEST { None } else { self.parameters.get(plain) }
    }
}

/// No name of a parameter is as long.
const LONGEST: usize = 64;

type Records = Result<Vec<Result<Record, InputError>>, InputError>;

/// Reads users of cells. JSON: one `{"users":[…]}` after the other, each a cell. CSV: one cell, or several that a column
/// `cell` tells apart. Which of the two it is follows from the first character.
fn read_users(reader: &Reader, input: Input<'_>) -> Records {
    let format = &reader.format;
    let text = decode(input.bytes, input.name, format)?;
    match text.trim_start().chars().next() {
        None => {
            let message = format!("the file is empty, expected {format}");
            Err(InputError::at(input.name, "", message))
        }
        // What stands in a stream of JSON is meant to be JSON.
        Some(first) if input.part > 0 || matches!(first, '{' | '[') => {
            Ok(user_json::read(reader, text, input)?.into_iter().map(Ok).collect())
        }
        Some(_) => users_csv::read(reader, text, input.name),
    }
}
