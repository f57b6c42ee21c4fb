//! Output of commands: tables and lines for people, JSON for programs.

use serde::Serialize;

use crate::exchange::{NotFinite, check_finite, check_text, to_json};
use crate::framework::Error;

/// Sequence of tables and lines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Text {
    /// Parts in order.
    pub parts: Vec<TextPart>,
}

/// Part of a [`Text`].
#[derive(Debug, Clone, PartialEq)]
pub enum TextPart {
    /// Table with headings and rows.
    Table(Vec<String>, Vec<Vec<String>>),
    /// Single line.
    Line(String),
}

impl Text {
    /// Builds a text of one line.
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
    pub fn table<H: ToString>(
        &mut self,
        header: &[H],
        rows: impl IntoIterator<Item = Vec<String>>,
    ) {
        let header = header.iter().map(ToString::to_string).collect();
        self.parts.push(TextPart::Table(header, rows.into_iter().collect()));
    }

    /// Returns an error if the text contains a number that is not finite.
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

/// Report as JSON for programs and as text for people.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// One JSON object.
    pub json: String,
    /// Tables and lines.
    pub text: Text,
}

impl Page {
    /// Builds a page; returns an error if a number is not finite.
    pub fn new(json: &impl Serialize, text: Text) -> Result<Self, Error> {
        // The check of the text finds numbers that the JSON does not contain (ratios, percentages). It is
        // skipped if a text from the user looks like NaN or infinity.
        if !check_finite(json)?.has_such_words {
            text.check()?;
        }
        Ok(Self { json: to_json(json).map_err(Error::other)?, text })
    }
}
