//! Service classes from a CSV file. A user then gives the name of its class instead of the values.

use std::collections::BTreeMap;

use super::users_csv::{Lines, each_once, table};
use crate::core::answer::plain_json;
use crate::core::{About, Column, Need};
use crate::exchange::{InputError, check_fields, comma_hint, decode, separator, shorten, slip_of};
use crate::qos::ServiceClass;

/// Field of a user, and column of the file, with the name of the class.
pub(super) const CLASS: &str = "class";

const FORMAT: &str = "CSV such as class,epsilon,packet_bits,arrival_rate";

/// Values of a class: columns of users with their numbers.
type Values = Vec<(usize, f64)>;

/// Service classes of a file.
#[derive(Debug)]
pub(super) struct Classes {
    file: String,
    by_name: BTreeMap<String, Values>,
}

impl Classes {
    /// Reads the classes of a file. The columns of the file are the name and any of the optional columns of users.
    /// Each class needs a value in every column.
    pub(super) fn read(about: &About, bytes: &[u8], file: &str) -> Result<Self, InputError> {
        let text = decode(bytes, file, FORMAT)?;
        check_fields(text, separator(text), file)?;
        let fail = |place: &str, message: String| InputError::at(file, place, message);
        let mut rows = table(text);
        let header = rows.headers().map_err(|error| fail("the header", error.to_string()))?.clone();
        let heads = heads(&header, about.inputs).map_err(|message| fail("the header", message))?;
        let mut by_name = BTreeMap::new();
        let (mut lines, mut row) = (Lines::new(text), csv::StringRecord::new());
        while rows.read_record(&mut row).map_err(|error| fail("", error.to_string()))? {
            let place = format!("line {}", lines.at(row.position().map_or(0, csv::Position::byte)));
            let (name, values) =
                class(&row, &heads, about.inputs).map_err(|message| fail(&place, message))?;
            if by_name.insert(name.clone(), values).is_some() {
                let message = format!("the class {} appears twice, expected once", shorten(&name));
                return Err(fail(&place, message));
            }
        }
        if by_name.is_empty() {
            return Err(fail("", format!("there are no classes, expected {FORMAT}")));
        }
        Ok(Self { file: file.to_owned(), by_name })
    }

    /// Returns the values of a user's class, given the JSON value of the field with its name.
    pub(super) fn of_user(&self, json: Option<&str>) -> Result<&Values, String> {
        let names: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
        let expected = || format!("one of {} from {}", shorten(&names.join(", ")), self.file);
        let given = json.filter(|json| !matches!(*json, "null" | "\"\"")).map(plain_json);
        let Some(name) = given else {
            return Err(format!("{CLASS} is missing, expected {}", expected()));
        };
        self.by_name.get(&name).ok_or_else(|| {
            let meant = slip_of(&name, &names).map(|meant| format!("; did you mean {meant}?"));
            let (name, meant) = (shorten(&name), meant.unwrap_or_default());
            format!("{CLASS} is {name}, expected {}{meant}", expected())
        })
    }
}

/// Returns the columns of users in a header, and `None` for the column with the name of the class.
fn heads(header: &csv::StringRecord, inputs: &[Column]) -> Result<Vec<Option<usize>>, String> {
    each_once(header)?;
    let is_of_class = |column: &&Column| column.need == Need::Optional && column.is_each();
    let known: Vec<&str> =
        [CLASS].into_iter().chain(inputs.iter().filter(is_of_class).map(|one| one.name)).collect();
    let one = |name: &str| {
        if !known.contains(&name) {
            let meant = slip_of(name, &known).map(|meant| format!("; did you mean {meant}?"));
            let (name, meant) = (shorten(&format!("{name:?}")), meant.unwrap_or_default());
            return Err(format!(
                "the column {name} is unknown, expected {}{meant}",
                known.join(", ")
            ));
        }
        Ok(inputs.iter().position(|column| column.name == name))
    };
    let heads: Vec<Option<usize>> = header.iter().map(one).collect::<Result<_, String>>()?;
    if heads.contains(&None) {
        return Ok(heads);
    }
    Err(format!("there is no column {CLASS:?}, expected {FORMAT}"))
}

/// Returns the name and the values of a row.
fn class(
    row: &csv::StringRecord,
    heads: &[Option<usize>],
    inputs: &[Column],
) -> Result<(String, Values), String> {
    if row.len() != heads.len() {
        return Err(format!("{} fields, expected {} as in the header", row.len(), heads.len()));
    }
    let (mut name, mut values, mut service) = ("", Vec::new(), ServiceClass::default());
    for (head, text) in heads.iter().zip(row) {
        let field = head.map_or(CLASS, |column| inputs[column].name);
        if text.is_empty() {
            return Err(format!("{field} is missing, expected a value for each class"));
        }
        let Some(column) = *head else {
            name = text;
            continue;
        };
        let value = text.parse().map_err(|_| {
            format!("{field} is {}, expected a number{}", shorten(text), comma_hint(text))
        })?;
        match field {
            "epsilon" => service.epsilon = value,
            "packet_bits" => service.packet_bits = value,
            _ => service.arrival_rate = value,
        }
        values.push((column, value));
    }
    service.validate().map_err(|wrong| wrong.to_string())?;
    Ok((name.to_owned(), values))
}
