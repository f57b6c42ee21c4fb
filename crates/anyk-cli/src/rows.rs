//! The users or links of answers as rows of one CSV table, made of their JSON form, whatever problem they are of.

use std::fmt;

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
                    fields.push((name, plain(&value)));
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
fn plain(value: &RawValue) -> String {
    match value.get() {
        "null" => String::new(),
        text => serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()),
    }
}

/// The rows of one answer.
pub(crate) struct Rows {
    cell: Option<String>,
    status: String,
    rows: Vec<Row>,
}

impl Rows {
    /// Of an answer's JSON.
    pub(crate) fn of_json(json: &[u8]) -> Result<Self, serde_json::Error> {
        let mut form: Form = serde_json::from_slice(json)?;
        if form.objective.is_some() {
            let mut row: Row = serde_json::from_slice(json)?;
            row.0.retain(|(name, _)| !["cell", "objective", "missed"].contains(&name.as_str()));
            let missed = form.missed.iter().map(|miss| miss.id.as_str()).collect::<Vec<_>>();
            row.0.push(("missed".to_owned(), missed.join(" ")));
            let cell = form.cell.map(|name| plain(&name));
            return Ok(Self { cell, status: String::new(), rows: vec![row] });
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
        rows.extend(form.dropped.into_iter().map(|id| Row::of([("id", id)])));
        let cell = form.cell.map(|name| plain(&name));
        Ok(Self { cell, status: form.status.unwrap_or_default(), rows })
    }

    /// The columns of a table that starts with these.
    pub(crate) fn columns(&self) -> Vec<String> {
        let mut columns = vec!["cell".to_owned()];
        for (name, _) in self.rows.iter().flat_map(|row| &row.0) {
            if !columns.contains(name) {
                columns.push(name.clone());
            }
        }
        if !columns.iter().any(|name| name == "status") {
            columns.push("status".to_owned());
        }
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
        let mut left_out = None;
        for row in &self.rows {
            let field = |name: &String| match (name.as_str(), row.get(name)) {
                (_, Some(value)) => value.to_owned(),
                ("cell", None) => cell.to_owned(),
                ("status", None) => self.status.clone(),
                _ => String::new(),
            };
            let fields: Vec<String> = columns.iter().map(field).collect();
            put(csv_line(fields.iter().map(String::as_str)))?;
            let unknown = || row.0.iter().find(|(name, _)| !columns.contains(name));
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
