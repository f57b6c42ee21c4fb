//! Answers for the instances of a document, as JSON, as a table, or as rows of CSV.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};

use super::{About, Detail, Fact, Facts, Record, Report, Status, Text, Verdict};
use crate::exchange::{Extra, to_json};
use crate::framework::{Error, Infeasibility};

/// Fields that the answers of all problems may have.
pub(super) const FIELDS: [&str; 10] = [
    "status",
    "required_power_w",
    "shortfall_w",
    "admissible_count",
    "admissible_at_most",
    "dropped",
    "admissible",
    "instances",
    "error",
    WARNING,
];

/// Field for a warning about an allocation.
pub(super) const WARNING: &str = "warning";

/// Answer for one instance, or for all instances of a document of arrays.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Allocation in which every user has its amounts.
    Served(Box<Served>),
    /// Budgets that cannot serve every user.
    Infeasible(Box<Denied>),
    /// Instances of a document of arrays, and the other fields of the document.
    Instances(Extra, Vec<Served>),
    /// Verdict on an allocation that AnyK did not compute.
    Judged(Box<Verdict>),
}

/// Allocation of an instance.
#[derive(Debug, Clone)]
pub struct Served {
    /// Status of the allocation.
    pub status: Status,
    /// Data of the instance.
    pub record: Record,
    /// Report on the allocation.
    pub report: Report,
}

/// Reason why the budgets cannot serve every user of an instance, and the users that they can serve.
#[derive(Debug, Clone)]
pub struct Denied {
    /// Problem of the instance.
    pub about: &'static About,
    /// Data of the instance.
    pub record: Record,
    /// Budgets of the instance.
    pub budgets: Facts,
    /// Description of the shortfall.
    pub shortfall: String,
    /// Shortfall, and the users who can be served.
    pub why: Infeasibility,
    /// Allocation of the users who can be served, if there are any.
    pub admissible: Option<Served>,
}

/// Formats a number as in JSON.
fn number(value: f64) -> String {
    to_json(&value).unwrap_or_default()
}

impl Report {
    /// Returns the names and values of a user's fields for JSON and CSV.
    fn fields(&self, user: usize) -> impl Iterator<Item = (&'static str, Field)> {
        let numbers = self.details.iter().filter(|detail| !detail.name.is_empty());
        let numbers = numbers.filter_map(move |detail| {
            Some((detail.name, Field::Number(*detail.values.get(user)?)))
        });
        let flags = self.facts.iter().filter_map(move |(name, fact)| match fact {
            Fact::Flags(flags) => Some((name, Field::Flag(*flags.get(user)?))),
            _ => None,
        });
        numbers.chain(flags)
    }
}

/// Value of a user's field.
#[derive(Debug, Clone, Copy)]
enum Field {
    Number(f64),
    Flag(bool),
}

impl Serialize for Field {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
        }
    }
}

/// Users of an allocation as a list of objects.
struct Users<'a>(&'a Served);

impl Serialize for Users<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let count = self.0.record.size().users;
        let mut list = serializer.serialize_seq(Some(count))?;
        (0..count).try_for_each(|user| list.serialize_element(&OneUser(self.0, user)))?;
        list.end()
    }
}

struct OneUser<'a>(&'a Served, usize);

impl Serialize for OneUser<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(Served { record, report, .. }, user) = self;
        let mut map = serializer.serialize_map(None)?;
        match record.ids.get(*user) {
            Some(id) => map.serialize_entry("id", id)?,
            None => map.serialize_entry("id", &record.id(*user))?,
        }
        for (name, value) in report.fields(*user) {
            map.serialize_entry(name, &value)?;
        }
        if let Some(extra) = record.user_extra.get(*user) {
            extra.write_fields(&mut map)?;
        }
        map.end()
    }
}

impl Served {
    fn write_fields<M: SerializeMap>(
        &self,
        is_of_arrays: bool,
        map: &mut M,
    ) -> Result<(), M::Error> {
        map.serialize_entry("status", self.status.name())?;
        write_facts(&self.report.facts, map)?;
        if !is_of_arrays {
            return map.serialize_entry("users", &Users(self));
        }
        let mut details = self.report.details.iter().filter(|detail| !detail.name.is_empty());
        details.try_for_each(|detail| map.serialize_entry(detail.name, &detail.values))
    }

    /// Returns the table of users and the summary below it.
    fn text(&self, is_of_arrays: bool) -> Text {
        let details: Vec<&Detail> =
            self.report.details.iter().filter(|detail| !detail.head.is_empty()).collect();
        let who = if is_of_arrays { "link" } else { "user" };
        let header: Vec<&str> =
            [who].into_iter().chain(details.iter().map(|detail| detail.head)).collect();
        let row = |user: usize| {
            let id = if is_of_arrays { user.to_string() } else { self.record.id(user) };
            let cell = |detail: &&Detail| match detail.values.get(user) {
                Some(value) => (detail.show)(*value),
                None => "–".to_owned(),
            };
            [id].into_iter().chain(details.iter().map(cell)).collect()
        };
        let total = |detail: &&Detail| detail.total.map_or_else(String::new, detail.show);
        let total = ["total".to_owned()].into_iter().chain(details.iter().map(total)).collect();
        let mut text = Text::default();
        text.table(&header, (0..self.record.size().users).map(row).chain([total]));
        text.append(self.report.text.clone());
        text
    }
}

fn write_facts<M: SerializeMap>(facts: &Facts, map: &mut M) -> Result<(), M::Error> {
    let whole = facts.iter().filter(|(_, fact)| !matches!(fact, Fact::Flags(_)));
    whole.into_iter().try_for_each(|(name, fact)| map.serialize_entry(name, fact))
}

/// Instance of a document of arrays.
struct OneInstance<'a>(&'a Served);

impl Serialize for OneInstance<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0.write_fields(true, &mut map)?;
        map.end()
    }
}

/// Allocation of the users who can be served.
struct Part<'a>(&'a Served);

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0.write_fields(false, &mut map)?;
        map.end()
    }
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = match self {
            Self::Judged(verdict) => return verdict.serialize(serializer),
            _ => serializer.serialize_map(None)?,
        };
        match self {
            Self::Served(served) => {
                served.record.extra.write_fields(&mut map)?;
                served.write_fields(false, &mut map)?;
            }
            Self::Instances(extra, all) => {
                extra.write_fields(&mut map)?;
                let all: Vec<OneInstance<'_>> = all.iter().map(OneInstance).collect();
                map.serialize_entry("instances", &all)?;
            }
            Self::Infeasible(denied) => {
                let Denied { record, budgets, why, admissible, .. } = &**denied;
                record.extra.write_fields(&mut map)?;
                map.serialize_entry("status", "infeasible")?;
                write_facts(budgets, &mut map)?;
                map.serialize_entry("required_power_w", &why.required_power_w)?;
                map.serialize_entry("shortfall_w", &why.shortfall_w)?;
                map.serialize_entry("admissible_count", &why.admissible.len())?;
                if let Some(most) = why.at_most {
                    map.serialize_entry("admissible_at_most", &most)?;
                }
                map.serialize_entry("dropped", &denied.dropped())?;
                map.serialize_entry("admissible", &admissible.as_ref().map(Part))?;
            }
            Self::Judged(_) => {}
        }
        map.end()
    }
}

impl Denied {
    /// Returns the names of the dropped users, the most expensive first.
    fn dropped(&self) -> Vec<String> {
        self.why.dropped.iter().map(|&user| self.record.id(user)).collect()
    }

    fn text(&self) -> Text {
        let Self { why, admissible, .. } = self;
        let mut text = Text::line(format!("infeasible: {}", self.shortfall));
        text.push(dropped_line(why.admissible.len(), &self.dropped()));
        if let Some(most) = why.at_most {
            text.push(if most == why.admissible.len() {
                "no larger set fits".to_owned()
            } else {
                format!("a larger set may fit: at most {most}")
            });
        }
        if let Some(admissible) = admissible {
            text.push("");
            text.push("the answer without them:");
            text.append(admissible.text(false));
        }
        text
    }
}

/// Returns the line that names the dropped users, at most twenty of them.
fn dropped_line(admissible: usize, dropped: &[String]) -> String {
    const SHOWN: usize = 20;
    let mut named: Vec<&str> = dropped.iter().map(String::as_str).take(SHOWN).collect();
    if dropped.len() > SHOWN {
        named.push("…");
    }
    format!(
        "{admissible} of {} users can be served; drop {}: {}",
        admissible + dropped.len(),
        dropped.len(),
        named.join(", ")
    )
}

impl Answer {
    /// Returns one JSON object.
    pub fn json(&self) -> Result<String, Error> {
        to_json(self).map_err(Error::other)
    }

    /// Returns the answer as text.
    pub fn text(&self) -> Text {
        match self {
            Self::Served(served) => served.text(false),
            Self::Infeasible(denied) => denied.text(),
            Self::Judged(verdict) => verdict.text(),
            Self::Instances(_, all) => match all.as_slice() {
                [one] => one.text(true),
                all => {
                    let first = all.first().map_or(&[][..], |one| &one.report.row);
                    let heads: Vec<&str> =
                        ["instance"].into_iter().chain(first.iter().map(|cell| cell.0)).collect();
                    let row = |(index, one): (usize, &Served)| {
                        let cells = one.report.row.iter().map(|cell| cell.1.clone());
                        [index.to_string()].into_iter().chain(cells).collect()
                    };
                    let mut text = Text::default();
                    text.table(&heads, all.iter().enumerate().map(row));
                    text
                }
            },
        }
    }

    /// Returns whether every user is served.
    pub fn is_served(&self) -> bool {
        match self {
            Self::Served(_) | Self::Instances(..) => true,
            Self::Infeasible(_) => false,
            Self::Judged(verdict) => verdict.is_feasible(),
        }
    }

    /// Returns the name of the answer's cell if the file contains one.
    pub fn cell(&self) -> Option<String> {
        match self {
            Self::Served(served) => served.record.extra.cell(),
            Self::Infeasible(denied) => denied.record.extra.cell(),
            Self::Instances(extra, _) => extra.cell(),
            Self::Judged(verdict) => verdict.extra.cell(),
        }
    }

    /// Returns the warning that an allocation is outside the valid range of the problem's model, if there is
    /// one.
    pub fn warning(&self) -> Option<&str> {
        fn of(served: &Served) -> Option<&str> {
            match served.report.facts.get(WARNING) {
                Some(Fact::Json(_, warning)) => Some(warning.as_str()),
                _ => None,
            }
        }
        match self {
            Self::Served(served) => of(served),
            Self::Instances(_, all) => all.iter().find_map(of),
            Self::Infeasible(denied) => denied.admissible.as_ref().and_then(of),
            Self::Judged(verdict) => verdict.warning.as_deref(),
        }
    }

    /// Returns the verdict in the answer, if there is one.
    pub fn verdict(&self) -> Option<&Verdict> {
        if let Self::Judged(verdict) = self { Some(verdict) } else { None }
    }

    /// Returns the answer's rows in a CSV table.
    pub fn rows(&self) -> Rows {
        let row = |served: &Served, user: usize| {
            let Served { record, report, .. } = served;
            let mut row = vec![("id".to_owned(), record.id(user))];
            for (name, field) in report.fields(user) {
                let text = match field {
                    Field::Number(value) => number(value),
                    Field::Flag(flag) => flag.to_string(),
                };
                row.push((name.to_owned(), text));
            }
            row.extend(record.user_extra.get(user).into_iter().flat_map(plain_fields));
            for (name, fact) in report.facts.iter() {
                if let Fact::Shared(value) = fact {
                    row.push((name.to_owned(), value.to_string()));
                }
            }
            Row(row)
        };
        let all = |served: &Served| -> Vec<Row> {
            (0..served.record.size().users).map(|user| row(served, user)).collect()
        };
        let cell = self.cell();
        match self {
            Self::Served(served) => {
                let (rows, status) = (all(served), served.status.name().into());
                Rows { cell, status, order: (0..rows.len()).collect(), rows, ..Rows::default() }
            }
            Self::Instances(_, instances) => {
                let mut rows = Vec::new();
                for (index, served) in instances.iter().enumerate() {
                    for link in 0..served.record.size().users {
                        let mut row = vec![
                            ("instance".to_owned(), index.to_string()),
                            ("link".to_owned(), link.to_string()),
                        ];
                        for detail in
                            served.report.details.iter().filter(|one| !one.name.is_empty())
                        {
                            let value = detail.values.get(link).copied().unwrap_or_default();
                            row.push((detail.name.to_owned(), value.to_string()));
                        }
                        row.push(("status".to_owned(), served.status.name().to_owned()));
                        rows.push(Row(row));
                    }
                }
                Rows { cell, order: (0..rows.len()).collect(), rows, ..Rows::default() }
            }
            Self::Infeasible(denied) => {
                let rows = denied.admissible.as_ref().map(all).unwrap_or_default();
                let place_of: HashMap<usize, usize> = denied
                    .why
                    .admissible
                    .iter()
                    .enumerate()
                    .map(|(at, &user)| (user, at))
                    .collect();
                // Dropped users keep their positions and all fields of the input.
                let mut others = Vec::new();
                let mut place = |user: usize| match place_of.get(&user) {
                    Some(&at) if at < rows.len() => at,
                    _ => {
                        let extra = denied.record.user_extra.get(user);
                        let id = ("id".to_owned(), denied.record.id(user));
                        let extra = extra.into_iter().flat_map(plain_fields);
                        others.push(Row([id].into_iter().chain(extra).collect()));
                        rows.len() + others.len() - 1
                    }
                };
                let order = (0..denied.record.size().users).map(&mut place).collect();
                let fields = if rows.is_empty() { denied.about.user_fields } else { &[] };
                let fields = fields.iter().map(|&field| field.into()).collect();
                Rows { cell, status: "infeasible".into(), rows, others, order, fields }
            }
            Self::Judged(verdict) => {
                let mut row = vec![
                    ("status".to_owned(), verdict.status.to_owned()),
                    ("k".to_owned(), verdict.k.to_string()),
                ];
                let shown = |value: Option<f64>| value.map_or_else(String::new, number);
                let optional = [
                    ("availability", verdict.availability, verdict.availability.is_some()),
                    ("value", verdict.value, true),
                    ("reference", verdict.reference, true),
                    ("gap_percent", verdict.gap_percent, true),
                    ("budget_used", verdict.budget_used, verdict.budget_used.is_some()),
                    ("kkt_residual", verdict.kkt_residual, true),
                ];
                let given = optional.into_iter().filter(|(.., is_given)| *is_given);
                row.extend(given.map(|(name, value, _)| (name.to_owned(), shown(value))));
                row.extend(plain_fields(&verdict.extra).filter(|(name, _)| name != "cell"));
                let missed: Vec<&str> =
                    verdict.missed.iter().map(|miss| miss.id.as_str()).collect();
                row.push(("missed".to_owned(), missed.join(" ")));
                Rows { cell, rows: vec![Row(row)], order: vec![0], ..Rows::default() }
            }
        }
    }
}

/// Returns the names and values of a file's fields, with texts unquoted.
fn plain_fields(extra: &Extra) -> impl Iterator<Item = (String, String)> {
    extra.iter().map(|(name, value)| (name.to_owned(), plain_json(value)))
}

/// Returns a JSON value with texts unquoted; empty for null.
pub fn plain_json(json: &str) -> String {
    match json {
        "null" => String::new(),
        text => serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()),
    }
}

/// Row of a table: names and values in the order of the answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Row(Vec<(String, String)>);

/// Rows of one answer in a table.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Rows {
    cell: Option<String>,
    status: Cow<'static, str>,
    /// Rows of users who are served, of links, or of verdicts.
    rows: Vec<Row>,
    /// Rows of users who are not served.
    others: Vec<Row>,
    /// Indices into `rows` followed by `others`, in the order of the input.
    order: Vec<usize>,
    /// Fields of users who are served, in addition to an id, if no user of the cell is served.
    fields: Vec<Cow<'static, str>>,
}

impl Rows {
    /// Returns the columns of a table that starts with these rows.
    pub fn columns(&self) -> Vec<String> {
        let (mut columns, mut known) = (Vec::new(), HashSet::new());
        let mut add = |name: &str| {
            if known.insert(name.to_owned()) {
                columns.push(name.to_owned());
            }
        };
        add("cell");
        self.rows.iter().flat_map(|row| &row.0).for_each(|(name, _)| add(name));
        // Even if this cell serves no user, the next one may.
        if self.rows.is_empty() && !self.others.is_empty() {
            add("id");
            self.fields.iter().for_each(|name| add(name));
        }
        self.others.iter().flat_map(|row| &row.0).for_each(|(name, _)| add(name));
        add("status");
        columns
    }

    /// Passes the fields of each row under these columns to `put`. Returns the name of a field without a column,
    /// if there is one.
    pub fn write<E>(
        &self,
        columns: &[String],
        number: &str,
        put: &mut dyn FnMut(Vec<&str>) -> Result<(), E>,
    ) -> Result<Option<&str>, E> {
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
            put(columns.iter().map(field).collect())?;
            let unknown = || row.0.iter().find(|(name, _)| !known.contains(name.as_str()));
            left_out = left_out.or_else(|| unknown().map(|(name, _)| name.as_str()));
        }
        Ok(left_out)
    }
}
