//! What the program prints: tables and lines for people, JSON for programs.

use serde::Serialize;

use crate::exchange::{NotFinite, check_finite, check_text, to_json};
use crate::framework::Error;

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
    pub fn table<H: ToString>(
        &mut self,
        header: &[H],
        rows: impl IntoIterator<Item = Vec<String>>,
    ) {
        let header = header.iter().map(ToString::to_string).collect();
        self.parts.push(TextPart::Table(header, rows.into_iter().collect()));
    }

    /// Rejects a text with a number that is not finite.
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

/// A report: JSON for programs, and the same as people read it.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// One object.
    pub json: String,
    /// Tables and lines.
    pub text: Text,
}

impl Page {
    /// A page, whose numbers must be finite.
    pub fn new(json: &impl Serialize, text: Text) -> Result<Self, Error> {
        // Numbers that are made for the text alone (ratios, percentages) are found in it; not so where somebody's own words
        // look like one.
        if !check_finite(json)?.has_such_words {
            text.check()?;
        }
        Ok(Self { json: to_json(json).map_err(Error::other)?, text })
    }
}
