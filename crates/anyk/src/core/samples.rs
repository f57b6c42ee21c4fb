//! Random records in the formats that `solve` reads.

use std::io::Write;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::{About, Axis, Column, Problem, Record};
use crate::exchange::{npy_bytes, to_json};
use crate::framework::{Error, OptionSpec, OptionValue, Options};
use crate::invalid::Invalid;
use crate::limits::{MOST_DRAWN, MOST_LINKS, MOST_NUMBERS, MOST_USERS};

/// Output format of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Csv,
    Npy,
}

impl Format {
    /// Name, help text and value of each format.
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("json", "One JSON object for each instance, on a line by itself", Self::Json),
        ("csv", "One cell, with a header", Self::Csv),
        ("npy", "A NumPy array, N×K×K, float64", Self::Npy),
    ];
}

impl About {
    /// Returns the options for drawing random instances; `users` and `count` are the help texts of `k` and
    /// `count`.
    pub(crate) fn sample_options(
        &self,
        users: &'static str,
        count: &'static str,
    ) -> Vec<OptionSpec> {
        let format = OptionSpec::choice(Format::ALL, "format", "Format of the output").or("json");
        let other = if self.is_of_arrays() { "csv" } else { "npy" };
        vec![
            OptionSpec::new("k", OptionValue::Whole("K"), users),
            OptionSpec::new("count", OptionValue::Whole("N"), count).or("1"),
            OptionSpec::new("seed", OptionValue::Whole("SEED"), "Seed of the random numbers")
                .or("0"),
            format.without(&[other]),
        ]
    }
}

/// Returns an error if the instances have more values in total than one command may draw.
pub(crate) fn check_draws(
    about: &About,
    name: &'static str,
    count: u64,
    size: usize,
) -> Result<(), Invalid> {
    let (each, most, what) = match (about.is_of_arrays(), about.inputs) {
        (true, [array, ..]) => (size.saturating_mul(size), MOST_NUMBERS, array.name),
        _ => (size, MOST_DRAWN, "users"),
    };
    let fits = most / each.max(1);
    if count <= fits as u64 {
        return Ok(());
    }
    let expected = format!("at most {fits} with K = {size} ({most} {what} in all)");
    Err(Invalid::value(name, count, expected))
}

/// Reads size, count and seed from the options of [`Verb::Sample`](crate::framework::Verb::Sample).
fn requested(about: &About, options: &Options) -> Result<(usize, u64, u64), Invalid> {
    let is_of_arrays = about.is_of_arrays();
    let (most, what) = if is_of_arrays { (MOST_LINKS, "links") } else { (MOST_USERS, "users") };
    let size = options.whole("k", 1, most as u64)?;
    let size = size.ok_or_else(|| Invalid::missing("k", format!("a number of {what}")))?;
    #[allow(clippy::cast_possible_truncation)]
    let size = size as usize;
    let count = options.whole("count", 1, u64::MAX)?.unwrap_or(1);
    check_draws(about, "count", count, size)?;
    Ok((size, count, options.seed("seed", 0)?))
}

/// Draws random records for the options of [`Verb::Sample`](crate::framework::Verb::Sample).
pub fn draw_samples(problem: &dyn Problem, options: &Options) -> Result<Vec<Record>, Error> {
    let (size, count, seed) = requested(problem.about(), options)?;
    (0..count).map(|index| problem.draw(seed, size, index)).collect()
}

/// Draws random records for the options of [`Verb::Sample`](crate::framework::Verb::Sample), and writes them.
pub fn write_samples(
    problem: &dyn Problem,
    options: &Options,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let (size, count, seed) = requested(problem.about(), options)?;
    let format = options.choice(Format::ALL, "format")?.unwrap_or(Format::Json);
    if format == Format::Csv && count > 1 {
        let expected = "1 for CSV, which contains a single cell; use JSON for several";
        return Err(Invalid::value("count", count, expected).into());
    }
    let failed = |error| Error::write("standard output".as_ref(), error);
    let draw = |index| problem.draw(seed, size, index);
    match format {
        Format::Json => (0..count)
            .try_for_each(|index| writeln!(out, "{}", record_json(&draw(index)?)?).map_err(failed)),
        Format::Csv => {
            let record = draw(0)?;
            let columns: Vec<(&Column, &[f64])> = record.arrays().collect();
            let names: Vec<&str> = columns.iter().map(|(column, _)| column.name).collect();
            writeln!(out, "id,{}", names.join(",")).map_err(failed)?;
            (0..size).try_for_each(|user| {
                let values = columns.iter().map(|(_, values)| values[user].to_string());
                let values: Vec<String> = values.collect();
                writeln!(out, "{},{}", record.id(user), values.join(",")).map_err(failed)
            })
        }
        Format::Npy => {
            let mut all = Vec::new();
            for index in 0..count {
                let record = draw(index)?;
                let mut columns = record.arrays();
                let (_, values) = columns.next().ok_or(Error::OtherProblem)?;
                if let Some((other, _)) = columns.next() {
                    let (own, other) = (problem.about().inputs[0].name, other.name);
                    let expected = format!("json for {other}: a .npy file contains only {own}");
                    return Err(Invalid::value("format", "npy", expected).into());
                }
                all.extend_from_slice(values);
            }
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            out.write_all(&npy_bytes(&[count, size, size], &all)).map_err(failed)
        }
    }
}

/// Returns a record as one JSON object in the form of input files.
pub fn record_json(record: &Record) -> Result<String, Error> {
    to_json(&AsFile(record)).map_err(Error::other)
}

struct AsFile<'a>(&'a Record);

impl Serialize for AsFile<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let record = self.0;
        let mut map = serializer.serialize_map(None)?;
        if record.is_of_users() {
            map.serialize_entry("users", &Users(record))?;
        } else {
            for (column, values) in record.arrays() {
                map.serialize_entry(column.name, &Nested(column, values, record))?;
            }
        }
        for name in record.parameters().names() {
            let text = record.parameters().text(name).unwrap_or_default();
            let name = name.replace('-', "_");
            match text.parse::<f64>() {
                Ok(number) => map.serialize_entry(&name, &number)?,
                Err(_) => map.serialize_entry(&name, text)?,
            }
        }
        map.end()
    }
}

struct Users<'a>(&'a Record);

impl Serialize for Users<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        (0..self.0.size().users)
            .try_for_each(|user| list.serialize_element(&User(self.0, user)))?;
        list.end()
    }
}

struct User<'a>(&'a Record, usize);

impl Serialize for User<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(record, user) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &record.id(*user))?;
        for (name, value) in record.of_user(*user) {
            map.serialize_entry(name, &value)?;
        }
        map.end()
    }
}

/// Array that is serialized as nested lists.
struct Nested<'a>(&'a Column, &'a [f64], &'a Record);

impl Serialize for Nested<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(column, values, record) = self;
        lists(values, &column.shape(record.size()), serializer)
    }
}

fn lists<S: Serializer>(values: &[f64], shape: &[usize], serializer: S) -> Result<S::Ok, S::Error> {
    struct Part<'a>(&'a [f64], &'a [usize]);
    impl Serialize for Part<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            lists(self.0, self.1, serializer)
        }
    }
    match shape.split_first() {
        None => values.first().copied().unwrap_or_default().serialize(serializer),
        Some((_, [])) => values.serialize(serializer),
        Some((&count, rest)) => {
            let mut list = serializer.serialize_seq(Some(count))?;
            let step = values.len() / count.max(1);
            values
                .chunks(step.max(1))
                .try_for_each(|part| list.serialize_element(&Part(part, rest)))?;
            list.end()
        }
    }
}

impl Record {
    /// Returns whether all columns have one number for each user, or one for all.
    pub(super) fn is_of_users(&self) -> bool {
        let is_of_users =
            |column: &Column| !column.complex && matches!(column.axes, [] | [Axis::Users]);
        self.columns.iter().all(is_of_users)
    }

    /// Returns the names and values of a user.
    fn of_user(&self, user: usize) -> impl Iterator<Item = (&'static str, f64)> {
        let columns = self.columns.iter().enumerate().filter(|(_, column)| column.is_each());
        columns.filter_map(move |(at, column)| Some((column.name, self.at(at, user)?)))
    }
}
