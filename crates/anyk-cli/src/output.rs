//! Tables and JSON on standard output, remarks on standard error.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::process::ExitCode;

use anyk::Invalid;
use anyk::core::{Page, Text, TextPart};
use anyk::exchange::check_finite;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::closed::stdout_was_closed;
use crate::failure::Failure;
use crate::printable::{printable, printable_cell};

/// Rows of a table, which is held whole: the width of each cell decides that of its column.
const MOST_ROWS: usize = 1_000_000;

/// Standard output; writing to it is an error if it was closed when the program started.
pub(crate) struct Stdout(StdoutLock<'static>);

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        check_stdout()?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// An error if standard output was closed when the program started.
pub(crate) fn check_stdout() -> io::Result<()> {
    if stdout_was_closed() { Err(io::Error::other("it is closed")) } else { Ok(()) }
}

/// Standard output, buffered; a reader that has gone is an error, not a panic.
pub(crate) fn stdout() -> BufWriter<Stdout> {
    BufWriter::with_capacity(1 << 16, Stdout(io::stdout().lock()))
}

/// A line on standard error. It may be closed or full: a remark that nobody reads is no reason to stop.
pub(crate) fn note(line: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(line));
}

/// One JSON object on a line of its own.
pub(crate) fn json(out: &mut (impl Write + ?Sized), value: &impl Serialize) -> Result<(), Failure> {
    check_finite(value)?;
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)?;
    Ok(())
}

/// One report.
pub(crate) fn page(page: &Page, as_json: bool) -> Result<ExitCode, Failure> {
    let mut out = stdout();
    if as_json {
        writeln!(out, "{}", page.json)?;
    } else {
        text(&mut out, &page.text)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// A line, or several.
pub(crate) fn line(out: &mut impl Write, line: &str) -> io::Result<()> {
    writeln!(out, "{}", printable(line))
}

/// Tables and lines.
pub(crate) fn text(out: &mut impl Write, text: &Text) -> Result<(), Failure> {
    for part in &text.parts {
        match part {
            TextPart::Line(line) => self::line(out, line)?,
            TextPart::Table(header, rows) => {
                if rows.len() > MOST_ROWS {
                    let value = format!("a table of {} rows", rows.len());
                    let expected = format!("json or csv for more than {MOST_ROWS} rows");
                    return Err(Invalid::value("format", value, expected).into());
                }
                writeln!(out, "{}", table(header, rows))?;
            }
        }
    }
    Ok(())
}

/// An aligned table: the first column to the left, numbers to the right.
pub(crate) fn table(header: &[impl AsRef<str>], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header.iter().map(|head| printable_cell(head.as_ref())));
    for row in rows {
        table.add_row(row.iter().map(|cell| printable_cell(cell)));
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
    let (heads, rows) = table.text();
    self::table(&heads, &rows)
}
