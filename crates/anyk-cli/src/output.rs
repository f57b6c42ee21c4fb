//! Tables and JSON on standard output, notes on standard error.

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

/// Maximum number of rows in a printed table. A table is held in memory, since the width of a column depends on all
/// rows.
const MOST_ROWS: usize = 1_000_000;

/// Standard output that returns an error on writing if it was closed when the program started.
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

/// Returns an error if standard output was closed when the program started.
pub(crate) fn check_stdout() -> io::Result<()> {
    if stdout_was_closed() { Err(io::Error::other("it is closed")) } else { Ok(()) }
}

/// Returns a buffered standard output. Writing to it returns an error, and does not panic, if the reader has exited.
pub(crate) fn stdout() -> BufWriter<Stdout> {
    BufWriter::with_capacity(1 << 16, Stdout(io::stdout().lock()))
}

/// Prints a line to standard error. Errors are ignored: a closed or full standard error does not stop the command.
pub(crate) fn note(line: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(line));
}

/// Writes a JSON object and a line break; returns an error if it contains NaN or infinity.
pub(crate) fn json(out: &mut (impl Write + ?Sized), value: &impl Serialize) -> Result<(), Failure> {
    check_finite(value)?;
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)?;
    Ok(())
}

/// Prints a report as JSON or text.
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

/// Writes text with escaped control characters and a line break.
pub(crate) fn line(out: &mut impl Write, line: &str) -> io::Result<()> {
    writeln!(out, "{}", printable(line))
}

/// Writes text that consists of tables and lines.
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

/// Formats a table: the first column is aligned left, the others right.
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

/// Formats a table of the library without its title and note.
pub(crate) fn report_table(table: &anyk::framework::Table) -> String {
    let (heads, rows) = table.text();
    self::table(&heads, &rows)
}
