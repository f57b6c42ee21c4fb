//! CSV and Markdown, and files that appear whole.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use super::Table;

/// Refuses a name that could leave the folder or would need quoting in a link.
pub(super) fn check_name(name: &str) -> io::Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        let message = format!("not a name for a table's files: {name:?}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Ok(())
}

/// Writes a file under another name in the same folder and then gives it its own, so that a run
/// that is stopped halfway leaves the old file or the new one.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    // Two processes that write the same report must not share the unfinished file.
    name.push(format!(".{}.tmp", std::process::id()));
    let unfinished = path.with_file_name(name);
    let outcome = File::create(&unfinished)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            // Without this, a power cut can leave the new name with no content.
            file.sync_all()
        })
        .and_then(|()| fs::rename(&unfinished, path));
    if outcome.is_err() {
        // The first error is the one to tell; what is left behind is only a temporary file.
        let _ = fs::remove_file(&unfinished);
    }
    outcome
}

/// The table as CSV: the heads, then the rows.
pub(super) fn csv(table: &Table) -> io::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in std::iter::once(&table.columns).chain(&table.rows) {
        // The format has no way to write a record of no fields.
        if table.width() > 0 {
            writer.write_record(table.padded(row)).map_err(io::Error::from)?;
        }
    }
    writer.into_inner().map_err(|error| io::Error::other(error.to_string()))
}

/// The table as Markdown, with its heading, its note and a link to its picture.
pub(super) fn markdown(table: &Table) -> String {
    let mut text = format!("## {}\n\n", escape_markdown(&table.title));
    if !table.note.is_empty() {
        let _ = writeln!(text, "{}\n", escape_markdown(&table.note));
    }
    if table.width() > 0 {
        push_row(&mut text, table.padded(&table.columns));
        text.push_str("| :--- |");
        text.push_str(&" ---: |".repeat(table.width() - 1));
        text.push('\n');
        for row in &table.rows {
            push_row(&mut text, table.padded(row));
        }
    }
    if let Some(chart) = &table.chart {
        let _ = writeln!(text, "\n![{}]({}.svg)", escape_markdown(&chart.title), table.name);
    }
    text
}

/// One line of a Markdown table.
fn push_row<'a>(text: &mut String, cells: impl Iterator<Item = &'a str>) {
    text.push('|');
    for cell in cells {
        let _ = write!(text, " {} |", escape_markdown(cell));
    }
    text.push('\n');
}

/// Text that Markdown shows as it is: no cell ends early, no emphasis, link or tag begins.
fn escape_markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '|' | '<' | '&' | '*' | '_' | '`' | '[' | ']' | '$' => escaped.extend(['\\', c]),
            // A line break would end the row.
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
