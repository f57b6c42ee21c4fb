//! Users of one cell, checked one by one as they are read.

use std::sync::Arc;

use serde::de::Error;
use serde_json::value::RawValue;

use super::place::quote;
use super::{CELL, CLASS, Named, Place, Reader};
use crate::core::parameters::{Claim, ParameterKind, Value, plain};
use crate::core::{ArrayView, Column, Need, Record, Size};
use crate::exchange::{
    Extra, ExtraEntries, InputError, MOST_FIELDS, comma_hint, is_finite_json, shorten,
};
use crate::limits::MOST_USERS;

/// Maximum length of the name of a user or a cell.
const MAX_NAME_CHARS: usize = 200;

/// Returns whether a name is short and printable enough for messages.
fn is_name(name: &str) -> bool {
    // Most names are short ASCII texts, for which a check of the bytes suffices.
    name.len() <= MAX_NAME_CHARS && name.bytes().all(|byte| byte.is_ascii_graphic())
        || name.chars().nth(MAX_NAME_CHARS).is_none() && !name.chars().any(char::is_control)
}

/// Checks the name of a cell.
pub(super) fn check_cell(name: &str) -> Result<(), String> {
    if is_name(name) {
        return Ok(());
    }
    let shown = quote(name);
    Err(format!("cell is {shown}, expected at most {MAX_NAME_CHARS} printable characters"))
}

/// Fields of one user as in the file.
pub(super) struct Fields<'a> {
    pub(super) id: Option<&'a str>,
    /// Numbers in the order of the reader's columns.
    pub(super) numbers: &'a [Option<&'a str>],
    pub(super) others: Others<'a>,
}

/// Field with the name of a parameter.
#[derive(Clone)]
pub(crate) struct Noted {
    option: &'static str,
    name: Box<str>,
    value: Value,
    kind: ParameterKind,
}

/// Unknown fields of an object while it is read.
pub(crate) struct Others<'a> {
    reader: &'a Reader,
    pub(super) entries: ExtraEntries,
    /// Parameters among the fields: option, name in the file, and value.
    pub(super) parameters: Vec<Noted>,
    /// Message about the first parameter that cannot be set, and about the first that may be a result.
    refused: [Option<String>; 2],
    /// Whether the object has an amount, as users of answers do.
    is_answer: bool,
}

impl<'a> Others<'a> {
    pub(crate) fn new(reader: &'a Reader) -> Self {
        let entries = ExtraEntries::default();
        Self { reader, entries, parameters: Vec::new(), refused: [None, None], is_answer: false }
    }

    pub(crate) fn push<E: Error>(&mut self, name: Box<str>, value: &RawValue) -> Result<(), E> {
        if self.entries.len() == MOST_FIELDS {
            let message = format!("an object has more than {MOST_FIELDS} unknown keys");
            return Err(E::custom(message));
        }
        if !is_finite_json(value) {
            let name = shorten(&name);
            return Err(E::custom(format!("a number in {name:?} is out of range")));
        }
        self.note(&name, value.get());
        self.entries.push(name, value).map_err(E::custom)
    }

    /// Adds a field of a whole cell. Rejects the name of a column of users, since the field would have no effect.
    pub(super) fn push_of_cell<E: Error>(
        &mut self,
        name: Box<str>,
        value: &RawValue,
    ) -> Result<(), E> {
        let column = self.reader.column_of_users(&plain(&name));
        if let Some(column) = column.filter(|column| self.reader.parameter(column).is_none()) {
            let value = shorten(value.get());
            self.refused[0].get_or_insert_with(|| {
                format!("{column} is {value} for the whole cell, expected a value for each user")
            });
        }
        self.push(name, value)
    }

    /// Adds the name of a cell.
    pub(crate) fn push_cell<E: Error>(&mut self, value: &RawValue) -> Result<(), E> {
        // Messages and tables repeat the name, so it must not be a list.
        match serde_json::from_str::<String>(value.get()) {
            Ok(name) => check_cell(&name).map_err(E::custom)?,
            Err(_) if value.get().parse::<u64>().is_ok() => {}
            Err(_) => {
                let value = shorten(value.get());
                let message = format!("cell is {value}, expected a name or a whole number");
                return Err(E::custom(message));
            }
        }
        self.entries.push(CELL.into(), value).map_err(E::custom)
    }

    /// Records a field that has the name of a parameter, or is an object of parameters.
    pub(super) fn note(&mut self, name: &str, value: &str) {
        let amount = self.reader.about.amounts.first();
        let is_amount = amount.is_some_and(|amount| amount.name == name);
        self.is_answer |= is_amount && value.parse::<f64>().is_ok();
        for (field, value) in crate::core::parameters::fields(name, value) {
            let plain = plain(&field);
            let Some(Named { parameter, is_own }) = self.reader.parameter(&plain) else {
                if let Some(meant) = self.reader.slip_of_parameter(&plain) {
                    let field = shorten(&field);
                    let message =
                        format!("{field} looks like a typo of {meant}, expected that name");
                    self.refused[0].get_or_insert(message);
                }
                continue;
            };
            let refused = &mut self.refused[usize::from(parameter.is_result)];
            match parameter.value(&field, &value) {
                Ok(None) => {}
                Ok(Some(value)) if *is_own => self.parameters.push(Noted {
                    option: parameter.option,
                    name: field.into(),
                    value,
                    kind: parameter.kind,
                }),
                Ok(Some(value)) => {
                    refused.get_or_insert_with(|| {
                        let (field, value) = (shorten(&field), value.shown());
                        format!(
                            "{field} is {value}, but this problem does not have this parameter; remove it"
                        )
                    });
                }
                Err(message) => {
                    refused.get_or_insert(message);
                }
            }
        }
    }

    /// Returns the fields to keep of a whole cell, and the parameters that it sets.
    pub(crate) fn finish(self) -> Result<(Extra, Vec<Noted>), String> {
        let of_cells = &self.reader.reserved[1..];
        self.apart_from(of_cells)
    }

    /// Returns the fields to keep of a user, and the parameters that they set. Next to an amount, a field that
    /// answers also use is a result.
    fn finish_user(mut self) -> Result<(Extra, Vec<Noted>), String> {
        let reader = self.reader;
        if self.is_answer {
            let is_result = |name: &str| {
                reader.parameter(&plain(name)).is_some_and(|known| known.parameter.is_result)
            };
            self.parameters.retain(|noted| !is_result(&noted.name));
            self.refused[1] = None;
        }
        self.apart_from(&reader.reserved)
    }

    fn apart_from(self, reserved: &[&str]) -> Result<(Extra, Vec<Noted>), String> {
        match self.refused.into_iter().flatten().next() {
            Some(refused) => Err(refused),
            None => Ok((self.entries.finish(reserved), self.parameters)),
        }
    }
}

/// Users of one cell while it is read.
pub(super) struct Cell<'a> {
    reader: &'a Reader,
    pub(super) record: Record,
    /// Whether some user has additional fields.
    has_extra: bool,
    /// Parameters in the fields of users.
    parameters: Vec<(usize, Noted)>,
}

impl<'a> Cell<'a> {
    pub(super) fn new(reader: &'a Reader, file: &Arc<str>, label: &str) -> Self {
        let mut record = Record::new(reader.about.inputs, Size::default());
        record.place = Place { file: Arc::clone(file), label: label.into(), ..Place::default() };
        Self { reader, record, has_extra: false, parameters: Vec::new() }
    }

    pub(super) fn fail(
        &self,
        (number, line): (u64, Option<u64>),
        id: Option<&str>,
        message: String,
    ) -> InputError {
        let place = Place {
            lines: line.into_iter().collect(),
            numbers: vec![number],
            ..self.record.place.clone()
        };
        InputError::at(&place.file, &place.of_user(0, id), message)
    }

    /// Checks and adds a user. The number is its position in the file, from 1.
    pub(super) fn push(
        &mut self,
        (number, line): (u64, Option<u64>),
        fields: Fields<'_>,
    ) -> Result<(), InputError> {
        let Fields { id, numbers, others } = fields;
        let at = (number, line);
        let user = self.record.size().users;
        if user == MOST_USERS {
            let message = format!("there are more users, expected at most {MOST_USERS}");
            return Err(self.fail(at, None, message));
        }
        let kept = others.finish_user();
        let (extra, parameters) = kept.map_err(|message| self.fail(at, id, message))?;
        if let Some(id) = id.filter(|id| id.is_empty() || !is_name(id)) {
            let shown = quote(id);
            let expected = format!("1 to {MAX_NAME_CHARS} printable characters");
            return Err(self.fail(at, Some(id), format!("id is {shown}, expected {expected}")));
        }
        let mut values = vec![None; self.reader.about.inputs.len()];
        for (&column, text) in self.reader.columns.iter().zip(numbers) {
            let Some(text) = *text else { continue };
            let number = text.parse().ok().filter(|number: &f64| number.is_finite());
            values[column] = Some(number.ok_or_else(|| {
                let Column { name, what, .. } = self.reader.about.inputs[column];
                let (shown, hint) = (shorten(text), comma_hint(text));
                self.fail(at, id, format!("{name} is {shown}, expected {what}{hint}"))
            })?);
        }
        if let Some(classes) = &self.reader.classes {
            let own =
                classes.of_user(extra.get(CLASS)).map_err(|message| self.fail(at, id, message))?;
            for &(column, value) in own {
                values[column].get_or_insert(value);
            }
        } else if self.reader.has_classes && extra.get(CLASS).is_some_and(|json| json != "null") {
            // Without the table, the user would silently get the default class.
            let message = format!(
                "{CLASS} is {}, expected a table of service classes (classes), or another name for the field",
                shorten(extra.get(CLASS).unwrap_or_default())
            );
            return Err(self.fail(at, id, message));
        }
        self.one_of(numbers).map_err(|message| self.fail(at, id, message))?;
        self.record.push_user(values.into_iter());
        // A user without a name is named by its number; names are stored once a user has one.
        match id {
            Some(id) => {
                self.name_until(user);
                self.record.ids.push(id);
            }
            None if self.record.ids.is_empty() => {}
            None => self.record.ids.push(&number.to_string()),
        }
        if let Some(line) = line {
            self.record.place.lines.push(line);
        }
        let numbers = &mut self.record.place.numbers;
        if !numbers.is_empty() || number != user as u64 + 1 {
            (numbers.len()..user).for_each(|before| numbers.push(before as u64 + 1));
            numbers.push(number);
        }
        if !extra.is_empty() && !self.has_extra {
            self.has_extra = true;
            self.record.user_extra.resize(user, Extra::default());
        }
        if self.has_extra {
            self.record.user_extra.push(extra);
        }
        self.parameters.extend(parameters.into_iter().map(|noted| (user, noted)));
        Ok(())
    }

    /// Rejects a user that has none of the columns of which it needs one, or more than one of them. This check
    /// runs for each user at once, since any number of users may follow.
    fn one_of(&self, numbers: &[Option<&str>]) -> Result<(), String> {
        let inputs = self.reader.about.inputs;
        let columns = self.reader.columns.iter().zip(numbers);
        let mut places = columns.filter(|(column, _)| inputs[**column].need == Need::OneOf);
        let mut given = places.clone().filter_map(|(&column, text)| Some((column, (*text)?)));
        match (given.next(), given.next()) {
            (Some((one, first)), Some((two, second))) => Err(format!(
                "{} is {} and {} is {}, expected only one of them",
                inputs[one].name,
                shorten(first),
                inputs[two].name,
                shorten(second)
            )),
            (None, _) if places.next().is_some() => {
                let is_place = |column: &&usize| inputs[**column].need == Need::OneOf;
                let names = self.reader.columns.iter().filter(is_place);
                let names: Vec<&str> = names.map(|&column| inputs[column].name).collect();
                Err(format!("none of {} is given, expected one of them", names.join(", ")))
            }
            _ => Ok(()),
        }
    }

    /// Names all users that were added so far by their numbers.
    fn name_until(&mut self, user: usize) {
        if self.record.ids.is_empty() {
            for before in 0..user {
                let number = self.record.place.number(before).to_string();
                self.record.ids.push(&number);
            }
        }
    }

    /// Returns the record, with the fields of the whole cell.
    pub(super) fn finish(
        self,
        place: &str,
        (extra, parameters): (Extra, Vec<Noted>),
    ) -> Result<Record, InputError> {
        let Self { mut record, parameters: of_users, .. } = self;
        let file = Arc::clone(&record.place.file);
        if record.size().users == 0 {
            let message =
                format!("there are no users, expected at least one: {}", self.reader.format);
            return Err(InputError::at(&file, place, message));
        }
        unique_ids(&record)?;
        settle(&mut record, parameters, &of_users)
            .map_err(|message| InputError::at(&file, place, message))?;
        record.extra = extra;
        Ok(record)
    }
}

impl Noted {
    /// Converts the parameter into a claim that it must already be in effect, since the record does not set it.
    fn claim(self, user: Option<usize>) -> Claim {
        let Self { option, name, value, kind } = self;
        let because = match (user, kind) {
            (_, ParameterKind::NoEffect) => {
                "it is a parameter of random users, and has no effect on these; remove it"
            }
            (Some(_), _) if kind.sets(&value) => {
                "it is a parameter of the whole cell; set it once for the cell, or give all users the same value"
            }
            _ => "it is a parameter; pass it as an option",
        };
        Claim { user, option, name, value, kind, because }
    }
}

/// Sets the parameters of a cell or of all its users. Parameters that only some users have must already be in
/// effect.
fn settle(
    record: &mut Record,
    of_cell: Vec<Noted>,
    of_users: &[(usize, Noted)],
) -> Result<(), String> {
    let users = record.size().users;
    // Parameters with equal values for all users apply to their cell.
    let mut set = of_cell;
    let (mut claims, mut seen): (Vec<(usize, Noted)>, Vec<&'static str>) = Default::default();
    for (_, first) in of_users {
        if seen.contains(&first.option) {
            continue;
        }
        seen.push(first.option);
        let same = of_users.iter().filter(|(_, other)| other.option == first.option);
        let is_same = |(_, other): &(usize, Noted)| other.value.is_same(&first.value);
        let mut named: Vec<usize> = same.clone().map(|(user, _)| *user).collect();
        named.dedup();
        if named.len() == users && same.clone().all(is_same) {
            set.push(first.clone());
        } else {
            claims.extend(same.cloned());
        }
    }
    for (at, noted) in set.iter().enumerate() {
        let Noted { option, name, value, kind } = noted;
        match set[..at].iter().find(|before| before.option == *option) {
            Some(before) if !before.value.is_same(value) => {
                let elsewhere = match before.name == noted.name {
                    true => before.value.shown(),
                    false => format!("{} {}", shorten(&before.name), before.value.shown()),
                };
                let (name, value) = (shorten(name), value.shown());
                return Err(format!(
                    "{name} is {value}, expected {elsewhere}, as elsewhere in the file"
                ));
            }
            Some(_) => {}
            None if kind.sets(value) => record.set_parameter(option, &value.text),
            None => record.claim(noted.clone().claim(None)),
        }
    }
    claims.into_iter().for_each(|(user, noted)| record.claim(noted.claim(Some(user))));
    Ok(())
}

/// Builds the record for rows of a table. `given` contains arrays of the users' numbers. `fields` contains the
/// fields with the names of parameters, each with a JSON value for each row.
pub(super) fn of_table(
    reader: &Reader,
    rows: &[usize],
    given: &[(&str, ArrayView<'_>)],
    fields: &[(&str, Vec<&str>)],
) -> Result<Record, crate::framework::Error> {
    let inputs = reader.about.inputs;
    let blank = || Record { place: Place::of_table(rows), ..Record::new(inputs, Size::default()) };
    let made = Record::of_arrays(inputs, given);
    let made = made.map_err(|wrong| blank().locate(wrong.into()))?;
    let mut record = Record { place: Place::of_table(rows), ..made };
    let note = |user: usize, fields: &[&(&str, Vec<&str>)]| {
        let mut others = Others::new(reader);
        for (name, values) in fields {
            others.note(name, values.get(user).copied().unwrap_or("null"));
        }
        let (_, noted) = others.finish_user().map_err(|message| {
            InputError::at(&record.place.file, &record.place.of_user(user, None), message)
        })?;
        Ok::<_, InputError>(noted)
    };
    // Parse values that are equal in all rows only once.
    let is_same = |(_, values): &&(&str, Vec<&str>)| values.iter().all(|text| *text == values[0]);
    let (same, different): (Vec<_>, Vec<_>) = fields.iter().partition(is_same);
    let of_cell = note(0, &same)?;
    let mut of_users = Vec::new();
    if !different.is_empty() {
        for user in 0..rows.len() {
            of_users.extend(note(user, &different)?.into_iter().map(|noted| (user, noted)));
        }
    }
    let file = Arc::clone(&record.place.file);
    settle(&mut record, of_cell, &of_users)
        .map_err(|message| InputError::at(&file, "", message))?;
    Ok(record)
}

/// Rejects a name that two users share.
fn unique_ids(record: &Record) -> Result<(), InputError> {
    let ids = &record.ids;
    if ids.is_empty() {
        return Ok(());
    }
    // After sorting, equal ids are adjacent, in the order of the file. This avoids a second copy of all ids.
    let mut order: Vec<usize> = (0..record.size().users).collect();
    order.sort_unstable_by(|&a, &b| ids.get(a).cmp(&ids.get(b)).then(a.cmp(&b)));
    let twice = order.windows(2).filter(|pair| ids.get(pair[0]) == ids.get(pair[1]));
    match twice.min_by_key(|pair| pair[1]) {
        None => Ok(()),
        Some(pair) => {
            let place = |user: usize| record.place.of_user(user, None);
            let message = format!(
                "id is {}, which {} already has; expected a different id for each user",
                quote(ids.get(pair[1]).unwrap_or_default()),
                place(pair[0])
            );
            Err(InputError::at(&record.place.file, &place(pair[1]), message))
        }
    }
}
