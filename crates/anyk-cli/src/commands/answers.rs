//! Output of `solve`, `allocate` and `assess`: answers to the instances of an input, written while the input arrives.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Write};
use std::process::ExitCode;

use anyk::Invalid;
use anyk::core::{Answer, Answering, Answers, Rows, Standing, Summary, in_order, plain_json};
use anyk::exchange::{Documents, Input, NewFile, fingerprint, name_of, to_json};
use anyk::framework::{Error, Share};
use anyk::limits::MOST_CSV_COLUMNS;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::cli::SolveArgs;
use crate::failure::{Failure, Fault, INFEASIBLE, message};
use crate::files;
use crate::output;
use crate::printable::{printable, printable_cell};
use crate::rows::csv_line;

/// Maximum number of errors that are printed one by one if the answers are tables or CSV.
const MOST_TOLD: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Table,
    Json,
    Csv,
}

/// Output for one instance.
#[derive(Serialize, Deserialize)]
struct Part {
    /// Name of the cell.
    name: Option<String>,
    content: Content,
    /// Verdict of `assess`, or an instance without an answer.
    summary: Option<Summary>,
    warning: Option<String>,
}

#[derive(Serialize, Deserialize)]
enum Content {
    /// Table, or a line of JSON, and whether every user is served.
    Text(String, bool),
    /// Rows of a CSV table, and whether every user is served.
    Rows(Rows, bool),
    /// Error, and the line of JSON that reports it.
    Refused(Fault, String),
}

/// Unit with the [`End`] of the input; each shard has its own.
const END: u64 = 1 << 62;

/// Number and fingerprint of the units of an input, and the allocations of `assess` that are left.
#[derive(Default, Serialize, Deserialize)]
struct End {
    units: u64,
    print: u64,
    rest: Rest,
}

/// Allocations of `assess` that no cell has taken. Up to `unread` of them may belong to cells that cannot be read.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Rest {
    pub(super) file: String,
    pub(super) waiting: usize,
    pub(super) unread: usize,
    /// Error if several cells share a name, and the error if allocations are left.
    pub(super) repeated: Option<Fault>,
    pub(super) surplus: Option<Fault>,
}

/// Returns whether an input is a stream: a program that waits for an answer before it sends the next instance writes
/// to a pipe.
fn is_stream(input: &str) -> bool {
    input == "-" || std::fs::metadata(input).is_ok_and(|found| !found.is_file())
}

/// Prepares the tables if the input is a stream, whose sender waits for each answer. The first answer then takes no
/// longer than the rest.
pub(super) fn prepare(args: &SolveArgs, answering: &mut Answering) {
    if is_stream(args.input()) {
        answering.prepare();
    }
}

/// Answers all instances of an input with workers from `make`; `answer` turns a document into the answers to its units
/// of work. The exit code says whether every instance was answered and every user is served.
pub(super) fn run<W: Send>(
    args: &SolveArgs,
    share: &Share,
    make: impl Fn() -> Result<W, Error> + Sync,
    answer: impl Fn(&mut W, Input<'_>) -> (Vec<(u64, Answers)>, u64) + Sync,
    rest: impl Fn() -> Result<Rest, Failure>,
) -> Result<ExitCode, Failure> {
    let format = format(args);
    let input = args.input();
    let name = files::name(input);
    let unread = |source| Error::Read { path: name.into(), source };
    let reader: Box<dyn Read + Send> = if input == "-" {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(input).map_err(unread)?)
    };
    let work = |worker: &mut W, input: Input<'_>| -> (Vec<(u64, Vec<Part>)>, u64, u64) {
        let told = |answer: Result<Answer, Error>| Part::of(answer, format, input);
        let (answers, end) = answer(worker, input);
        let told =
            |(unit, answers): (u64, Answers)| (unit, answers.into_iter().map(told).collect());
        let print = if share.is_part() { fingerprint(input.bytes) } else { 0 };
        (answers.into_iter().map(told).collect(), end, print)
    };
    if share.is_part() {
        let mut all = End::default();
        in_order(Documents::new(reader), name, make, work, |done| {
            for (units, end, print) in done {
                all.units = end.max(all.units);
                all.print = fingerprint(format!("{:x} {print:x}", all.print));
                units.iter().try_for_each(|(unit, parts)| share.keep(*unit, parts))?;
            }
            Ok(true)
        })?;
        all.rest = rest()?;
        let end = END + share.slice().first;
        if share.known::<End>(end)?.is_none() {
            share.keep(end, &all)?;
        }
        share.complete()?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut sink = Sink::new(args, format, is_stream(input))?;
    let mut failure = None;
    in_order(Documents::new(reader), name, make, work, |done| {
        let units = done.into_iter().flat_map(|(units, ..)| units);
        match sink.write(units.flat_map(|(_, parts)| parts).collect(), args.fail_fast) {
            Ok(()) => Ok(true),
            Err(why) => {
                failure = Some(why);
                Ok(false)
            }
        }
    })?;
    match failure {
        None => {
            let exit = sink.finish()?;
            rest()?.report()?;
            Ok(exit)
        }
        // Earlier answers stay on standard output; an output file is not written.
        Some(why) => {
            sink.give_up()?;
            Err(why)
        }
    }
}

/// Prints the answers from the parts of all shards, as one run would.
pub(super) fn merged(args: &SolveArgs, share: &Share) -> Result<ExitCode, Failure> {
    /// Number of units in memory at a time.
    const AT_ONCE: usize = 64;
    let different = || {
        Error::Other(
            "the shards read different inputs; compute them again from the same input".into(),
        )
    };
    let End { units: all, print, mut rest } = share.known(END)?.ok_or_else(different)?;
    for shard in 1..share.slice().step {
        let other: End = share.known(END + shard)?.ok_or_else(different)?;
        if (other.units, other.print) != (all, print) {
            return Err(different().into());
        }
        rest.unread += other.rest.unread;
    }
    let mut sink = Sink::new(args, format(args), false)?;
    for first in (0..all).step_by(AT_ONCE) {
        let units = first..all.min(first + AT_ONCE as u64);
        let parts = units.map(|unit| share.known::<Vec<Part>>(unit)?.ok_or_else(different));
        let parts = parts.collect::<Result<Vec<Vec<Part>>, Error>>()?;
        sink.write(parts.into_iter().flatten().collect(), false)?;
    }
    let exit = sink.finish()?;
    rest.report()?;
    Ok(exit)
}

impl Rest {
    /// Reports allocations that belong to no cell.
    fn report(self) -> Result<(), Failure> {
        let surplus = self.waiting.saturating_sub(self.unread);
        match (self.repeated, self.surplus) {
            (Some(fault), _) => Err(Failure::Fault(fault)),
            (None, _) if surplus == 0 => Ok(()),
            (None, Some(fault)) => Err(Failure::Fault(fault)),
            (None, None) => {
                output::note(&format!("{}: {surplus} more allocations than cells", self.file));
                Ok(())
            }
        }
    }
}

fn format(args: &SolveArgs) -> Format {
    match args.format.as_deref() {
        Some("json") => Format::Json,
        Some("csv") => Format::Csv,
        _ if args.json => Format::Json,
        _ => Format::Table,
    }
}

impl Part {
    /// Formats an answer.
    fn of(answer: Result<Answer, Error>, format: Format, input: Input<'_>) -> Self {
        match answer.and_then(|answer| Self::answered(&answer, format)) {
            Ok(part) => part,
            Err(error) => Self::refused(&error, format, input),
        }
    }

    fn answered(answer: &Answer, format: Format) -> Result<Self, Error> {
        let served = answer.is_served();
        let summary = answer.verdict().map(|verdict| {
            let mut summary = Summary::default();
            summary.add(verdict);
            summary
        });
        let content = match format {
            Format::Json => Content::Text(answer.json()? + "\n", served),
            Format::Table => {
                let mut text = Vec::new();
                output::text(&mut text, &answer.text()).map_err(|failure| match failure {
                    Failure::Error(error) => error,
                    _ => Error::Interrupted,
                })?;
                Content::Text(String::from_utf8_lossy(&text).into_owned(), served)
            }
            Format::Csv => Content::Rows(answer.rows(), served),
        };
        let summary = summary.filter(|_| format != Format::Csv);
        let warning = answer.warning().map(str::to_owned);
        Ok(Self { name: answer.cell(), content, summary, warning })
    }

    fn refused(error: &Error, format: Format, input: Input<'_>) -> Self {
        let cell = error.cell();
        let name = cell
            .and_then(|cell| RawValue::from_string(cell.name.clone()).ok())
            .or_else(|| name_of(input.bytes).map(RawValue::to_owned));
        let at = cell.map_or(input.lines as u64 + 1, |cell| cell.line);
        let line = match format {
            Format::Json => refusal(error, name.as_deref(), at),
            _ => String::new(),
        };
        let mut summary = Summary::default();
        summary.fail(error);
        let name = name.map(|name| plain_json(name.get()));
        let content = Content::Refused(Fault::of(error), line);
        Self { name, content, summary: Some(summary), warning: None }
    }
}

/// Formats the JSON line of an instance without an answer: the error, the line number and, if known, the name of the
/// cell.
fn refusal(error: &Error, cell: Option<&RawValue>, line: u64) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        cell: Option<&'a RawValue>,
        line: u64,
        error: String,
    }
    let line = Line { cell, line, error: message(error) };
    // Writing to memory cannot fail.
    to_json(&line).unwrap_or_default() + "\n"
}

// Serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

enum Out {
    Standard(io::BufWriter<output::Stdout>),
    File(io::BufWriter<NewFile>),
}

/// Destination of the answers, with the state of the output.
struct Sink<'a> {
    args: &'a SolveArgs,
    format: Format,
    out: Out,
    /// Number of instances so far; of those, `refused` have no answer and `unserved` are not served.
    count: usize,
    refused: usize,
    unserved: usize,
    exit: ExitCode,
    /// Whether a program may wait for an answer before it sends more input.
    is_stream: bool,
    /// Whether several instances arrived together.
    together: bool,
    /// First table of a file. It gets a heading only if a second table follows.
    first: Option<Vec<u8>>,
    /// Number of tables written.
    shown: usize,
    /// Columns of the CSV table, once they are known. Until then, the cells without an answer wait with their errors.
    columns: Option<Vec<String>>,
    waiting: Vec<(String, String)>,
    /// Whether the output is a terminal, so that control characters must be escaped.
    careful: bool,
    /// Whether a message about a column that was left out has been printed.
    left_out: bool,
    /// Whether a warning has been printed; later ones are only in JSON.
    warned: bool,
    /// Summary of the verdicts for each number of users.
    summary: Summary,
}

impl<'a> Sink<'a> {
    fn new(args: &'a SolveArgs, format: Format, is_stream: bool) -> Result<Self, Failure> {
        let out = match &args.out {
            None => Out::Standard(output::stdout()),
            Some(path) => {
                let file = NewFile::begin(path).map_err(|error| Failure::write(path, error))?;
                Out::File(io::BufWriter::with_capacity(1 << 16, file))
            }
        };
        Ok(Self {
            args,
            format,
            is_stream,
            together: false,
            shown: 0,
            waiting: Vec::new(),
            careful: matches!(out, Out::Standard(_)) && io::stdout().is_terminal(),
            out,
            count: 0,
            refused: 0,
            unserved: 0,
            exit: ExitCode::SUCCESS,
            first: None,
            columns: None,
            left_out: false,
            warned: false,
            summary: Summary::default(),
        })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match &mut self.out {
            Out::Standard(out) => out.write_all(bytes),
            Out::File(out) => out.write_all(bytes),
        };
        written.map_err(|error| self.cannot(error))
    }

    fn cannot(&self, error: io::Error) -> Failure {
        match &self.args.out {
            None => error.into(),
            Some(path) => Failure::write(path, error),
        }
    }

    /// Writes the output for documents that arrived together, and flushes it.
    fn write(&mut self, parts: Vec<Part>, fail_fast: bool) -> Result<(), Failure> {
        self.together |= parts.len() > 1;
        for part in parts {
            self.count += 1;
            let Part { name, content, summary, warning } = part;
            self.warn(warning);
            if let Some(summary) = &summary {
                self.summary.merge(summary);
            }
            match content {
                Content::Text(text, served) => {
                    self.unserved += usize::from(!served);
                    self.text(name, text.into_bytes())?;
                }
                Content::Rows(rows, served) => {
                    self.unserved += usize::from(!served);
                    self.rows(&rows)?;
                }
                Content::Refused(fault, _) if fail_fast => return Err(Failure::Fault(fault)),
                Content::Refused(fault, line) => {
                    self.put(line.as_bytes())?;
                    if self.format == Format::Csv {
                        let cell = name.unwrap_or_else(|| self.count.to_string());
                        self.waiting.push((cell, format!("error: {}", fault.message)));
                        self.write_waiting()?;
                    }
                    self.refused += 1;
                    let first = self.refused == 1;
                    // Later errors are only in their lines of JSON; the first is always printed.
                    if first || self.format != Format::Json && self.refused <= MOST_TOLD {
                        let exit = Failure::Fault(fault).report();
                        self.exit = if first { exit } else { self.exit };
                    }
                }
            }
        }
        if let Out::Standard(out) = &mut self.out {
            out.flush()?;
        }
        Ok(())
    }

    /// Prints the first warning of the run.
    fn warn(&mut self, warning: Option<String>) {
        if let Some(warning) = warning.filter(|_| !self.warned) {
            self.warned = true;
            output::note(&format!("warning: {warning}"));
        }
    }

    fn text(&mut self, name: Option<String>, text: Vec<u8>) -> Result<(), Failure> {
        if self.format == Format::Json {
            return self.put(&text);
        }
        // A single cell without a name has no heading. In a file, only the end shows whether the cell is the only one.
        if self.count == 1 && name.is_none() && !self.together {
            if !self.is_stream {
                self.first = Some(text);
                return Ok(());
            }
            self.shown += 1;
            return self.put(&text);
        }
        self.first()?;
        self.table(name, self.count, &text)
    }

    /// Writes the first table if it was held back, with a heading because it is not the only table.
    fn first(&mut self) -> Result<(), Failure> {
        match self.first.take() {
            None => Ok(()),
            Some(text) => self.table(None, 1, &text),
        }
    }

    fn table(&mut self, name: Option<String>, count: usize, text: &[u8]) -> Result<(), Failure> {
        let mut heading = Vec::new();
        if self.shown > 0 {
            heading.push(b'\n');
        }
        self.shown += 1;
        let name = name.unwrap_or_else(|| count.to_string());
        output::line(&mut heading, &format!("cell {}", printable_cell(&name)))?;
        self.put(&heading)?;
        self.put(text)
    }

    /// Writes the rows of cells without an answer, if the columns are known.
    fn write_waiting(&mut self) -> Result<(), Failure> {
        let Some(columns) = self.columns.take() else { return Ok(()) };
        for (cell, why) in std::mem::take(&mut self.waiting) {
            let field = |name: &String| match name.as_str() {
                "cell" => cell.as_str(),
                "status" => why.as_str(),
                _ => "",
            };
            self.put_row(&csv_line(columns.iter().map(field)))?;
        }
        self.columns = Some(columns);
        Ok(())
    }

    /// Writes one line of CSV; escapes control characters if the output is a terminal.
    fn put_row(&mut self, line: &[u8]) -> Result<(), Failure> {
        match self.careful {
            true => self.put(printable(&String::from_utf8_lossy(line)).as_bytes()),
            false => self.put(line),
        }
    }

    /// Writes the header of the CSV table, and the rows that waited for it.
    fn begin(&mut self, columns: Vec<String>) -> Result<(), Failure> {
        if columns.len() > MOST_CSV_COLUMNS {
            let expected =
                format!("at most {MOST_CSV_COLUMNS}; use --json, which has no such limit");
            return Err(Invalid::value("the number of CSV columns", columns.len(), expected).into());
        }
        self.put_row(&csv_line(columns.iter().map(String::as_str)))?;
        self.columns = Some(columns);
        self.write_waiting()
    }

    fn rows(&mut self, rows: &Rows) -> Result<(), Failure> {
        let cell = self.count.to_string();
        if self.columns.is_none() {
            self.begin(rows.columns())?;
        }
        let columns = self.columns.take().unwrap_or_default();
        let mut put = |row: Vec<&str>| self.put_row(&csv_line(row.into_iter()));
        let left_out = rows.write(&columns, &cell, &mut put)?;
        if let Some(name) = left_out.filter(|_| !self.left_out) {
            self.left_out = true;
            output::note(&format!(
                "cell {cell} has {name:?}, which the first cell does not have; columns that are not in the header are left out"
            ));
        }
        self.columns = Some(columns);
        Ok(())
    }

    /// Writes a summary for each number of users if there are several verdicts.
    fn sum_up(&mut self) -> Result<(), Failure> {
        #[derive(Serialize)]
        struct Line {
            summary: Vec<Standing>,
            /// Number of instances of unknown size.
            #[serde(skip_serializing_if = "is_zero")]
            unread: usize,
        }
        if self.summary.is_empty() || self.count < 2 {
            return Ok(());
        }
        let mut text = Vec::new();
        match self.format {
            Format::Json => {
                let (summary, unread) = (self.summary.rows(""), self.summary.unread());
                output::json(&mut text, &Line { summary, unread })?;
            }
            Format::Table => {
                text.push(b'\n');
                output::text(&mut text, &self.summary.text("all"))?;
            }
            Format::Csv => {}
        }
        self.put(&text)
    }

    /// Writes the output that was held back in case more instances would arrive.
    fn catch_up(&mut self) -> Result<(), Failure> {
        if self.count > 1 {
            self.first()?;
        } else if let Some(text) = self.first.take() {
            self.put(&text)?;
        }
        if !self.waiting.is_empty() {
            self.begin(["cell", "status"].map(str::to_owned).into())?;
        }
        Ok(())
    }

    /// Completes the output at the end of the input and returns the exit code.
    fn finish(mut self) -> Result<ExitCode, Failure> {
        self.catch_up()?;
        self.sum_up()?;
        if self.refused > 0 && self.count > 1 {
            let Self { refused, count, .. } = self;
            output::note(&format!("{refused} of {count} instances were not answered"));
        }
        let exit = match (self.refused, self.unserved) {
            (0, 0) => ExitCode::SUCCESS,
            (0, _) => ExitCode::from(INFEASIBLE),
            _ => self.exit,
        };
        let path = self.args.out.as_deref();
        match self.out {
            Out::Standard(mut out) => out.flush()?,
            Out::File(out) => {
                let cannot = |error| match path {
                    None => Failure::from(error),
                    Some(path) => Failure::write(path, error),
                };
                let file = out.into_inner().map_err(|error| cannot(error.into_error()))?;
                file.finish().map_err(cannot)?;
            }
        }
        Ok(exit)
    }

    /// Ends the output early: standard output gets all earlier answers, an output file is not written.
    fn give_up(mut self) -> Result<(), Failure> {
        self.catch_up()?;
        if let Out::Standard(out) = &mut self.out {
            out.flush()?;
        }
        Ok(())
    }
}
