//! What comes back: as JSON for programs, as tables and sentences for people.

use std::io::{self, Write};

use serde::Serialize;

use crate::exchange::{NotFinite, UserRecord, check_finite, check_text, write_json};
use crate::framework::{Infeasibility, Verdict};

/// An answer or a report.
pub trait Answer: Send {
    /// Writes it as one JSON object.
    fn write_json(&self, out: &mut dyn Write) -> io::Result<()>;

    /// As people read it; an error if a number in it is none.
    fn text(&self) -> Result<Text, NotFinite>;

    /// Whether everyone is served.
    fn is_served(&self) -> bool;

    /// The name of the cell that it is for, if the file had one.
    fn cell(&self) -> Option<String>;

    /// The judge's verdict, where that is what it is.
    fn verdict(&self) -> Option<&Verdict>;

    /// All users of a cell, in their order, where the answer may leave some out.
    fn everyone(&self) -> &[UserRecord];

    /// What it says of each user that it serves, by the names in its JSON.
    fn user_fields(&self) -> &'static [&'static str];

    /// Refuses an answer in which a number is NaN or infinite: none leaves this library. [`Text::check`] does the same
    /// for numbers that are made for the text alone.
    fn check(&self) -> Result<(), NotFinite>;
}

/// How something that has a JSON form reads.
pub trait Show {
    /// What is said of each user that is served, by the names in JSON.
    const USER_FIELDS: &'static [&'static str] = &[];

    /// As people read it.
    fn show(&self) -> Text;

    /// Whether everyone is served.
    fn serves_all(&self) -> bool {
        true
    }

    /// The name of the cell that it is for, if the file had one.
    fn cell(&self) -> Option<String> {
        None
    }

    /// The judge's verdict, where that is what it is.
    fn verdict(&self) -> Option<&Verdict> {
        None
    }

    /// All users of a cell, in their order, where some may be left out.
    fn everyone(&self) -> &[UserRecord] {
        &[]
    }
}

impl<T: Serialize + Show + Send> Answer for T {
    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(out, self)
    }

    fn text(&self) -> Result<Text, NotFinite> {
        // Numbers that are made for the text alone (ratios, percentages) are found in it; not so where a
        // user's own name looks like one.
        let (checked, text) = (check_finite(self)?, self.show());
        if !checked.has_such_words {
            text.check()?;
        }
        Ok(text)
    }

    fn is_served(&self) -> bool {
        self.serves_all()
    }

    fn cell(&self) -> Option<String> {
        Show::cell(self)
    }

    fn verdict(&self) -> Option<&Verdict> {
        Show::verdict(self)
    }

    fn everyone(&self) -> &[UserRecord] {
        Show::everyone(self)
    }

    fn user_fields(&self) -> &'static [&'static str] {
        T::USER_FIELDS
    }

    fn check(&self) -> Result<(), NotFinite> {
        check_finite(self).map(drop)
    }
}

/// Tables and lines, one after the other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Text {
    /// In their order.
    pub parts: Vec<TextPart>,
}

/// A part of a [`Text`].
#[derive(Debug, Clone, PartialEq)]
pub enum TextPart {
    /// A table: heads and rows.
    Table(Vec<String>, Vec<Vec<String>>),
    /// A line.
    Line(String),
}

impl Text {
    /// A text of one line.
    pub fn line(line: impl Into<String>) -> Self {
        let mut text = Self::default();
        text.push(line);
        text
    }

    /// Adds a line.
    pub fn push(&mut self, line: impl Into<String>) {
        self.parts.push(TextPart::Line(line.into()));
    }

    /// Adds a table.
    pub fn table(&mut self, header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
        let header = header.iter().map(|&head| head.to_owned()).collect();
        self.parts.push(TextPart::Table(header, rows.into_iter().collect()));
    }

    /// Refuses a number that is none.
    pub fn check(&self) -> Result<(), NotFinite> {
        self.parts.iter().try_for_each(|part| match part {
            TextPart::Line(line) => check_text(line, line),
            TextPart::Table(header, rows) => rows.iter().try_for_each(|row| {
                let mut cells = header.iter().zip(row);
                cells.try_for_each(|(head, cell)| check_text(head, cell))
            }),
        })
    }

    /// Adds another text.
    pub fn append(&mut self, other: Self) {
        self.parts.extend(other.parts);
    }
}

/// An answer for the users of one cell, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum CellAnswer<S> {
    /// Every user has an allocation.
    Served(S),
    /// The budget does not reach everyone.
    Denied(Denied<S>),
}

/// Why a cell cannot be served, and what part of it can.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Denied<S> {
    /// `infeasible`.
    pub status: &'static str,
    /// The budget, W.
    pub max_power_w: f64,
    /// Least power that could serve everyone, W.
    pub required_power_w: f64,
    /// What is missing, W.
    pub shortfall_w: f64,
    /// Users in the largest set that can be served.
    pub admissible_count: usize,
    /// Ids of the users dropped, the most expensive first.
    pub dropped: Vec<String>,
    /// The answer for the users that can be served; absent if there is none.
    pub admissible: Option<S>,
}

impl<S> Denied<S> {
    /// From what the solver says, with the answer for those who can be served.
    pub fn new(
        max_power_w: f64,
        why: &Infeasibility,
        records: &[UserRecord],
        admissible: Option<S>,
    ) -> Self {
        Self {
            status: "infeasible",
            max_power_w,
            required_power_w: why.required_power_w,
            shortfall_w: why.shortfall_w,
            admissible_count: why.admissible.len(),
            dropped: names(&why.dropped, records),
            admissible,
        }
    }
}

/// The ids of users, given by position.
pub(crate) fn names(positions: &[usize], records: &[UserRecord]) -> Vec<String> {
    let record = |&index: &usize| records.get(index).map(|record| record.id.clone());
    positions.iter().filter_map(record).collect()
}

/// A line that says who is dropped, at most twenty by name.
pub(crate) fn dropped_line(admissible: usize, dropped: &[String]) -> String {
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

impl<S: Show> Show for CellAnswer<S> {
    const USER_FIELDS: &'static [&'static str] = S::USER_FIELDS;

    fn show(&self) -> Text {
        let denied = match self {
            Self::Served(served) => return served.show(),
            Self::Denied(denied) => denied,
        };
        let mut text = Text::line(format!(
            "infeasible: serving everyone takes at least {:.6} W, {:.6} W more than the budget of {:.6} W",
            denied.required_power_w, denied.shortfall_w, denied.max_power_w
        ));
        text.push(dropped_line(denied.admissible_count, &denied.dropped));
        if let Some(admissible) = &denied.admissible {
            text.push("");
            text.push("the answer without them:");
            text.append(admissible.show());
        }
        text
    }

    fn serves_all(&self) -> bool {
        matches!(self, Self::Served(_))
    }
}
