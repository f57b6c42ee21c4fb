//! Tables of a report as CSV and Markdown.

use std::fmt::Write as _;
use std::io;

use anyk::framework::Table;

use crate::printable::is_obeyed;

/// Rejects a table name that could point outside the folder or would need quotes in a link.
pub(super) fn check_name(table: &Table) -> io::Result<()> {
    if !table.has_plain_name() {
        let message = format!("{:?} is not a valid table name", table.name);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Ok(())
}

/// Returns the table as CSV: the heads, then the rows.
pub(super) fn csv(table: &Table) -> io::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let (heads, rows) = table.text();
    // CSV cannot represent a record without fields.
    for row in std::iter::once(&heads).chain(&rows).filter(|row| !row.is_empty()) {
        writer.write_record(row).map_err(io::Error::from)?;
    }
    writer.into_inner().map_err(|error| io::Error::other(error.to_string()))
}

/// Returns the table as Markdown, with its heading, note, claims and a link to its picture.
pub(super) fn markdown(table: &Table) -> String {
    let mut text = format!("## {}\n\n", escape_markdown(&table.title));
    if !table.note.is_empty() {
        let _ = writeln!(text, "{}\n", escape_markdown(&table.note));
    }
    let (heads, rows) = table.text();
    if !heads.is_empty() {
        push_row(&mut text, &heads);
        text.push_str("| :--- |");
        text.push_str(&" ---: |".repeat(heads.len() - 1));
        text.push('\n');
        for row in &rows {
            push_row(&mut text, row);
        }
    }
    if !table.claims.is_empty() {
        text.push('\n');
    }
    for claim in &table.claims {
        let _ = writeln!(text, "- {}", escape_markdown(&claim.to_string()));
    }
    if let Some(chart) = &table.chart {
        let _ = writeln!(text, "\n![{}]({}.svg)", escape_markdown(&chart.title), table.name);
    }
    text
}

/// Appends one line of a Markdown table.
fn push_row(text: &mut String, cells: &[String]) {
    text.push('|');
    for cell in cells {
        let _ = write!(text, " {} |", escape_markdown(cell));
    }
    text.push('\n');
}

/// Escapes text so that Markdown shows it unchanged: it cannot end a cell or begin emphasis, a link or a tag.
fn escape_markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '|' | '<' | '&' | '*' | '_' | '`' | '[' | ']' | '$' => escaped.extend(['\\', c]),
            // A line break would end the row.
            c if is_obeyed(c) => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
