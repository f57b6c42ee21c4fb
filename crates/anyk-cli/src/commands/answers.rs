//! Output of `solve`, `allocate` and `assess`: answers to the instances of an input, written while the input arrives.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Write};
use std::process::ExitCode;

use anyk::Invalid;
use anyk::core::{
    Answer, Answering, Answers, Rows, Standing, Summary, Verdict, in_order, plain_json,
};
use anyk::exchange::{Documents, Input, NewFile, name_of, write_json};
use anyk::framework::Error;
use anyk::limits::MOST_CSV_COLUMNS;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::cli::SolveArgs;
use crate::failure::{Failure, INFEASIBLE, message};
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
enum Part {
    /// Text or a line of JSON, and whether every user is served.
    Text {
        name: Option<String>,
        text: Vec<u8>,
        served: bool,
        verdict: Option<Verdict>,
        warning: Option<String>,
    },
    Rows {
        rows: Rows,
        served: bool,
        warning: Option<String>,
    },
    /// Error, name of the cell, and the JSON line that reports the error.
    Refused {
        error: Error,
        name: Option<String>,
        line: Vec<u8>,
    },
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

/// Answers all instances of an input. The exit code says whether every instance was answered and every user is served.
pub(super) fn run(args: &SolveArgs, answering: &Answering) -> Result<ExitCode, Failure> {
    through(args, || answering.fork(), Answering::answer)
}

/// Answers all instances of an input with workers from `make`; `answer` turns a document into answers.
pub(super) fn through<W: Send>(
    args: &SolveArgs,
    make: impl Fn() -> Result<W, Error> + Sync,
    answer: impl Fn(&mut W, Input<'_>) -> Answers + Sync,
) -> Result<ExitCode, Failure> {
    let format = match args.format.as_deref() {
        Some("json") => Format::Json,
        Some("csv") => Format::Csv,
        _ if args.json => Format::Json,
        _ => Format::Table,
    };
    let input = args.input();
    let name = files::name(input);
    let unread = |source| Error::Read { path: name.into(), source };
    let reader: Box<dyn Read + Send> = if input == "-" {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(input).map_err(unread)?)
    };
    let mut sink = Sink::new(args, format, is_stream(input))?;
    let mut failure = None;
    let work = |worker: &mut W, input: Input<'_>| -> Vec<Part> {
        let told = |answer: Result<Answer, Error>| part(answer, format, input);
        answer(worker, input).into_iter().map(told).collect()
    };
    in_order(Documents::new(reader), name, make, work, |done| {
        match sink.write(done.into_iter().flatten().collect(), args.fail_fast) {
            Ok(()) => Ok(true),
            Err(why) => {
                failure = Some(why);
                Ok(false)
            }
        }
    })?;
    match failure {
        None => sink.finish(),
        // Earlier answers stay on standard output; an output file is not written.
        Some(why) => {
            sink.give_up()?;
            Err(why)
        }
    }
}

/// Formats an answer.
fn part(answer: Result<Answer, Error>, format: Format, input: Input<'_>) -> Part {
    let refused = |error: Error| {
        let cell = error.cell();
        let name = cell
            .and_then(|cell| RawValue::from_string(cell.name.clone()).ok())
            .or_else(|| name_of(input.bytes).map(RawValue::to_owned));
        let at = cell.map_or(input.lines as u64 + 1, |cell| cell.line);
        let line = match format {
            Format::Json => refusal(&error, name.as_deref(), at),
            _ => Vec::new(),
        };
        Part::Refused { error, name: name.map(|name| plain_json(name.get())), line }
    };
    let written = |answer: &Answer| -> Result<Part, Error> {
        let (name, served) = (answer.cell(), answer.is_served());
        // Leave out the list of missed users, which grows with the cell.
        let brief = |verdict: &Verdict| Verdict { missed: Vec::new(), ..verdict.clone() };
        let verdict = answer.verdict().map(brief);
        let warning = answer.warning().map(str::to_owned);
        Ok(match format {
            Format::Json => {
                let text = (answer.json()? + "\n").into_bytes();
                Part::Text { name, text, served, verdict, warning }
            }
            Format::Table => {
                let mut text = Vec::new();
                output::text(&mut text, &answer.text()).map_err(|failure| match failure {
                    Failure::Error(error) => error,
                    Failure::PipeClosed => Error::Interrupted,
                })?;
                Part::Text { name, text, served, verdict, warning }
            }
            Format::Csv => Part::Rows { rows: answer.rows(), served, warning },
        })
    };
    answer.and_then(|answer| written(&answer)).unwrap_or_else(refused)
}

/// Formats the JSON line of an instance without an answer: the error, the line number and, if known, the name of the
/// cell.
fn refusal(error: &Error, cell: Option<&RawValue>, line: u64) -> Vec<u8> {
    #[derive(Serialize)]
    struct Line<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        cell: Option<&'a RawValue>,
        line: u64,
        error: String,
    }
    let line = Line { cell, line, error: message(error) };
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = write_json(&mut text, &line);
    text.push(b'\n');
    text
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
            match part {
                Part::Text { name, text, served, verdict, warning } => {
                    self.warn(warning);
                    self.unserved += usize::from(!served);
                    if let Some(verdict) = &verdict {
                        self.summary.add(verdict);
                    }
                    self.text(name, text)?;
                }
                Part::Rows { rows, served, warning } => {
                    self.warn(warning);
                    self.unserved += usize::from(!served);
                    self.rows(&rows)?;
                }
                Part::Refused { error, .. } if fail_fast => return Err(error.into()),
                Part::Refused { error, name, line } => {
                    self.summary.fail(&error);
                    self.put(&line)?;
                    if self.format == Format::Csv {
                        let cell = name.unwrap_or_else(|| self.count.to_string());
                        self.waiting.push((cell, format!("error: {}", message(&error))));
                        self.write_waiting()?;
                    }
                    self.refused += 1;
                    let first = self.refused == 1;
                    // Later errors are only in their lines of JSON; the first is always printed.
                    if first || self.format != Format::Json && self.refused <= MOST_TOLD {
                        let exit = Failure::from(error).report();
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
