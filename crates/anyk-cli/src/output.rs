//! Tables and JSON on standard output, remarks on standard error.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::process::ExitCode;

use anyk::Invalid;
use anyk::exchange::check_finite;
use anyk::framework::{Answer, Text, TextPart};
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::closed::stdout_was_closed;
use crate::failure::{Failure, INFEASIBLE};
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

/// One answer or report; the exit code says whether everyone is served.
pub(crate) fn answer(answer: &dyn Answer, as_json: bool) -> Result<ExitCode, Failure> {
    // Before any of it is written: an answer that is none must not look like a part of one.
    answer.check()?;
    let mut out = stdout();
    if as_json {
        answer.write_json(&mut out)?;
        writeln!(out)?;
    } else {
        text(&mut out, &answer.text()?)?;
    }
    out.flush()?;
    Ok(if answer.is_served() { ExitCode::SUCCESS } else { ExitCode::from(INFEASIBLE) })
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
                let header: Vec<&str> = header.iter().map(String::as_str).collect();
                writeln!(out, "{}", table(&header, rows.iter().cloned()))?;
            }
        }
    }
    Ok(())
}

/// An aligned table: the first column to the left, numbers to the right.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header.iter().map(|head| printable_cell(head)));
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
    let columns: Vec<&str> = table.columns.iter().map(String::as_str).collect();
    self::table(&columns, table.rows.iter().cloned())
}
