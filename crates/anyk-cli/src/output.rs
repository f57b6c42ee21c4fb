//! Tables and JSON on standard output.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::process::ExitCode;

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::failure::Failure;

/// Standard output, buffered; a reader that has gone is an error, not a panic.
pub(crate) fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// One JSON object on a line of its own.
pub(crate) fn json(out: &mut impl Write, value: &impl Serialize) -> Result<(), Failure> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)?;
    Ok(())
}

/// What a command has to say at its end: one JSON object, or what `text` writes.
pub(crate) fn report(
    as_json: bool,
    value: &impl Serialize,
    text: impl FnOnce(&mut BufWriter<StdoutLock<'static>>) -> io::Result<()>,
) -> Result<ExitCode, Failure> {
    let mut out = stdout();
    if as_json {
        json(&mut out, value)?;
    } else {
        text(&mut out)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// An aligned table: the first column to the left, numbers to the right.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header.iter().copied());
    for row in rows {
        table.add_row(row);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if index == 0 { 0 } else { 2 }, 0));
        if index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// A table of the library, without its heading and its note.
pub(crate) fn report_table(table: &anyk::framework::Table) -> String {
    let columns: Vec<&str> = table.columns.iter().map(String::as_str).collect();
    self::table(&columns, table.rows.iter().cloned())
}
