//! The users or links of answers as rows of one CSV table, made of their JSON form, whatever problem they are of.

use std::collections::{HashMap, HashSet};
use std::fmt;

use anyk::exchange::UserRecord;
use anyk::framework::Answer;
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::failure::Failure;

/// What a table is made of, of any answer.
#[derive(Deserialize)]
struct Form {
    cell: Option<Box<RawValue>>,
    status: Option<String>,
    /// Of all users alike.
    bandwidth_hz: Option<f64>,
    #[serde(default)]
    users: Vec<Row>,
    #[serde(default)]
    instances: Vec<Network>,
    admissible: Option<Box<Form>>,
    /// A verdict, which is a row itself.
    objective: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    dropped: Vec<String>,
    #[serde(default)]
    missed: Vec<Missed>,
}

#[derive(Deserialize)]
struct Missed {
    id: String,
}

#[derive(Deserialize)]
struct Network {
    status: String,
    power: Vec<f64>,
}

/// Names and values in the order of the answer.
struct Row(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Row;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Row, A::Error> {
                let mut fields = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    fields.push((name, plain(value.get())));
                }
                Ok(Row(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

impl Row {
    fn of(fields: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        Self(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A value without the quotes of a text; nothing for null.
pub(crate) fn plain(json: &str) -> String {
    match json {
        "null" => String::new(),
        text => serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()),
    }
}

/// The rows of one answer.
pub(crate) struct Rows {
    cell: Option<String>,
    status: String,
    /// Of those who are served, or are links, or verdicts.
    rows: Vec<Row>,
    /// Of those who are not served.
    others: Vec<Row>,
    /// Places of both, rows first, in the order of the input.
    order: Vec<usize>,
    /// What is said of whoever is served, beside an id.
    fields: &'static [&'static str],
}

impl Rows {
    /// Of an answer, and its JSON.
    pub(crate) fn of(answer: &dyn Answer, json: &[u8]) -> Result<Self, serde_json::Error> {
        let mut form: Form = serde_json::from_slice(json)?;
        if form.objective.is_some() {
            let mut row: Row = serde_json::from_slice(json)?;
            // The status says as much as a reason does.
            let left_out = ["cell", "objective", "reason", "missed"];
            row.0.retain(|(name, _)| !left_out.contains(&name.as_str()));
            let missed = form.missed.iter().map(|miss| miss.id.as_str()).collect::<Vec<_>>();
            row.0.push(("missed".to_owned(), missed.join(" ")));
            let cell = form.cell.map(|name| plain(name.get()));
            let (rows, others, fields) = (vec![row], Vec::new(), answer.user_fields());
            return Ok(Self { cell, status: String::new(), rows, others, order: vec![0], fields });
        }
        // Of a cell that cannot be served, those who can, and then the others, who get nothing.
        let part = form.admissible.take();
        let (mut rows, instances, bandwidth_hz) = match part {
            Some(part) => (part.users, part.instances, part.bandwidth_hz),
            None => (form.users, form.instances, form.bandwidth_hz),
        };
        if let Some(bandwidth_hz) = bandwidth_hz {
            for row in rows.iter_mut().filter(|row| row.get("bandwidth_hz").is_none()) {
                row.0.push(("bandwidth_hz".to_owned(), bandwidth_hz.to_string()));
            }
        }
        for (instance, network) in instances.into_iter().enumerate() {
            rows.extend(network.power.into_iter().enumerate().map(|(link, power)| {
                Row::of([
                    ("instance", instance.to_string()),
                    ("link", link.to_string()),
                    ("power", power.to_string()),
                    ("status", network.status.clone()),
                ])
            }));
        }
        // Those who are dropped stand where they stood, with all that the input said of them.
        let mut others: Vec<Row> = Vec::new();
        let order = if answer.everyone().is_empty() {
            others.extend(form.dropped.into_iter().map(|id| Row::of([("id", id)])));
            (0..rows.len() + others.len()).collect()
        } else {
            let served = rows.iter().enumerate();
            let place_of: HashMap<&str, usize> =
                served.filter_map(|(at, row)| Some((row.get("id")?, at))).collect();
            let mut place = |user: &UserRecord| {
                if let Some(&at) = place_of.get(user.id.as_str()) {
                    return at;
                }
                let mut row = Row::of([("id", user.id.clone())]);
                let extra = user.extra.iter();
                row.0.extend(extra.map(|(name, value)| (name.to_owned(), plain(value))));
                others.push(row);
                rows.len() + others.len() - 1
            };
            answer.everyone().iter().map(&mut place).collect()
        };
        let cell = form.cell.map(|name| plain(name.get()));
        let (status, fields) = (form.status.unwrap_or_default(), answer.user_fields());
        Ok(Self { cell, status, rows, others, order, fields })
    }

    /// The columns of a table that starts with these.
    pub(crate) fn columns(&self) -> Vec<String> {
        let (mut columns, mut known) = (Vec::new(), HashSet::new());
        let mut add = |name: &str| {
            if known.insert(name.to_owned()) {
                columns.push(name.to_owned());
            }
        };
        add("cell");
        self.rows.iter().flat_map(|row| &row.0).for_each(|(name, _)| add(name));
        // Nobody may be served here, and many in the next cell.
        if self.rows.is_empty() && !self.others.is_empty() {
            add("id");
            self.fields.iter().for_each(|name| add(name));
        }
        self.others.iter().flat_map(|row| &row.0).for_each(|(name, _)| add(name));
        add("status");
        columns
    }

    /// Writes each row under these columns; the name of a column that is not among them, if there is one.
    pub(crate) fn write(
        &self,
        columns: &[String],
        number: &str,
        put: &mut dyn FnMut(Vec<u8>) -> Result<(), Failure>,
    ) -> Result<Option<&str>, Failure> {
        let cell = self.cell.as_deref().unwrap_or(number);
        let known: HashSet<&str> = columns.iter().map(String::as_str).collect();
        let mut left_out = None;
        let all = |&at: &usize| self.rows.get(at).or_else(|| self.others.get(at - self.rows.len()));
        for row in self.order.iter().filter_map(all) {
            let values: HashMap<&str, &str> =
                row.0.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let field = |name: &String| match (name.as_str(), values.get(name.as_str())) {
                (_, Some(value)) => *value,
                ("cell", None) => cell,
                ("status", None) => &self.status,
                _ => "",
            };
            put(csv_line(columns.iter().map(field)))?;
            let unknown = || row.0.iter().find(|(name, _)| !known.contains(name.as_str()));
            left_out = left_out.or_else(|| unknown().map(|(name, _)| name.as_str()));
        }
        Ok(left_out)
    }
}

/// One line of CSV.
pub(crate) fn csv_line<'a>(fields: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Into memory: nothing can fail.
    let _ = writer.write_record(fields);
    writer.into_inner().unwrap_or_default()
}
