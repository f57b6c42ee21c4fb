//! Answers to the instances of an input, written while it arrives: what `solve`, `allocate` and `assess` share.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Write};
use std::process::ExitCode;

use anyk::exchange::{Documents, Input, NewFile, write_json};
use anyk::framework::{Answer, Answers, Counter, Error, Options, Standing, Summary, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::cli::SolveArgs;
use crate::failure::{Failure, INFEASIBLE};
use crate::files::{self, Kind};
use crate::output;
use crate::printable::printable;
use crate::rows::{Rows, csv_line};

/// Reasons that are told one by one where answers are tables.
const MOST_TOLD: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Table,
    Json,
    Csv,
}

/// What is to be written of one instance.
enum Part {
    /// Text, or a line of JSON, and whether everyone is served.
    Text {
        name: Option<String>,
        text: Vec<u8>,
        served: bool,
        verdict: Option<Verdict>,
    },
    Rows {
        rows: Rows,
        served: bool,
    },
    /// Why there is no answer; the line that says so.
    Refused(Error, Vec<u8>),
}

/// Answers all of an input; the exit code says whether everyone is served, and every instance answered.
pub(super) fn run(
    args: &SolveArgs,
    options: &Options,
    counter: &dyn Counter,
) -> Result<ExitCode, Failure> {
    through(args, options, || counter.desk(), |desk, input| desk.answer(input))
}

/// The same with anything that turns a document into answers.
pub(super) fn through<W: Send>(
    args: &SolveArgs,
    options: &Options,
    make: impl Fn() -> Result<W, Error> + Sync,
    answer: impl Fn(&mut W, Input<'_>) -> Answers + Sync,
) -> Result<ExitCode, Failure> {
    let format = match args.format.as_deref() {
        Some("json") => Format::Json,
        Some("csv") => Format::Csv,
        _ if args.json => Format::Json,
        _ => Format::Table,
    };
    let name = files::name(&args.input);
    let unread = |source| Error::Read { path: name.into(), source };
    let reader: Box<dyn Read + Send> = if args.input == "-" {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(&args.input).map_err(unread)?)
    };
    let mut sink = Sink::new(args, format)?;
    let mut failure = None;
    let work = |worker: &mut W, input: Input<'_>| -> Vec<Part> {
        let told = |answer: Result<Box<dyn Answer>, Error>| {
            part(answer.map_err(|error| options.blame(error)), format, input)
        };
        answer(worker, input).into_iter().map(told).collect()
    };
    anyk::framework::in_order(Documents::new(reader), name, make, work, |done| {
        match sink.write(done.into_iter().flatten(), args.fail_fast) {
            Ok(()) => Ok(true),
            Err(why) => {
                failure = Some(why);
                Ok(false)
            }
        }
    })?;
    match failure {
        None => sink.finish(),
        // What came before it is there to be read, unless it was to be a file.
        Some(why) => {
            sink.give_up()?;
            Err(why)
        }
    }
}

/// What is to be written of an answer.
fn part(answer: Result<Box<dyn Answer>, Error>, format: Format, input: Input<'_>) -> Part {
    let refused = |error: Error| {
        let line = if format == Format::Json { refusal(&error, input) } else { Vec::new() };
        Part::Refused(error, line)
    };
    let written = |answer: &dyn Answer| -> Result<Part, Error> {
        let (name, served) = (answer.cell(), answer.is_served());
        // Without what grows with the cell.
        let brief = |verdict: &Verdict| Verdict {
            missed: Vec::new(),
            pairs: (Vec::new(), Vec::new()),
            ..verdict.clone()
        };
        let verdict = answer.verdict().map(brief);
        let cannot = |source: io::Error| Error::write("standard output".as_ref(), source);
        Ok(match format {
            Format::Json => {
                answer.check()?;
                let mut text = Vec::new();
                answer.write_json(&mut text).map_err(cannot)?;
                text.push(b'\n');
                Part::Text { name, text, served, verdict }
            }
            Format::Table => {
                let mut text = Vec::new();
                output::text(&mut text, &answer.text()?).map_err(|failure| match failure {
                    Failure::Error(error) => error,
                    Failure::PipeClosed => Error::Interrupted,
                })?;
                Part::Text { name, text, served, verdict }
            }
            Format::Csv => {
                answer.check()?;
                let mut text = Vec::new();
                answer.write_json(&mut text).map_err(cannot)?;
                Part::Rows { rows: Rows::of_json(&text).map_err(Error::other)?, served }
            }
        })
    };
    answer.and_then(|answer| written(&*answer)).unwrap_or_else(refused)
}

/// The line of an instance that is not answered: why, where it stands, and its name, if that can be read.
fn refusal(error: &Error, input: Input<'_>) -> Vec<u8> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        cell: Option<&'a RawValue>,
    }
    #[derive(Serialize)]
    struct Line<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        cell: Option<&'a RawValue>,
        line: usize,
        error: String,
    }
    let is_object = input.bytes.trim_ascii_start().starts_with(b"{");
    let named: Option<Named<'_>> =
        serde_json::from_slice(input.bytes).ok().filter(|_: &Named<'_>| is_object);
    let cell = named.and_then(|named| named.cell);
    let line = Line { cell, line: input.lines + 1, error: error.to_string() };
    let mut text = Vec::new();
    // Into memory: nothing can fail.
    let _ = write_json(&mut text, &line);
    text.push(b'\n');
    text
}

enum Out {
    Standard(io::BufWriter<io::StdoutLock<'static>>),
    File(io::BufWriter<NewFile>),
}

/// Where answers go, and what has been said so far.
struct Sink<'a> {
    args: &'a SolveArgs,
    format: Format,
    out: Out,
    /// Instances so far, and how many of them were not answered, or not served.
    count: usize,
    refused: usize,
    unserved: usize,
    exit: ExitCode,
    /// The first table: whether it needs a heading is known with the second.
    first: Option<(Option<String>, Vec<u8>)>,
    /// The columns of a table of all users.
    columns: Option<Vec<String>>,
    /// A column was left out, and that was said.
    left_out: bool,
    /// Of verdicts, by size.
    summary: Summary,
}

impl<'a> Sink<'a> {
    fn new(args: &'a SolveArgs, format: Format) -> Result<Self, Failure> {
        let out = match &args.out {
            None => Out::Standard(output::stdout()),
            Some(path) => {
                files::claim(path, Kind::Text, args.force)?;
                let file = NewFile::begin(path).map_err(|error| Failure::write(path, error))?;
                Out::File(io::BufWriter::with_capacity(1 << 16, file))
            }
        };
        Ok(Self {
            args,
            format,
            out,
            count: 0,
            refused: 0,
            unserved: 0,
            exit: ExitCode::SUCCESS,
            first: None,
            columns: None,
            left_out: false,
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

    /// What came of documents that arrived together: all of it is on its way when this returns.
    fn write(&mut self, parts: impl Iterator<Item = Part>, fail_fast: bool) -> Result<(), Failure> {
        for part in parts {
            self.count += 1;
            match part {
                Part::Text { name, text, served, verdict } => {
                    self.unserved += usize::from(!served);
                    if let Some(verdict) = &verdict {
                        self.summary.add(verdict);
                    }
                    self.text(name, text)?;
                }
                Part::Rows { rows, served } => {
                    self.unserved += usize::from(!served);
                    self.rows(&rows)?;
                }
                Part::Refused(error, _) if fail_fast => return Err(error.into()),
                Part::Refused(error, line) => {
                    self.put(&line)?;
                    self.refused += 1;
                    let first = self.refused == 1;
                    // A line of JSON says it already; the first is told in any case.
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

    fn text(&mut self, name: Option<String>, text: Vec<u8>) -> Result<(), Failure> {
        if self.format == Format::Json {
            return self.put(&text);
        }
        if self.count == 1 {
            self.first = Some((name, text));
            return Ok(());
        }
        if let Some((name, text)) = self.first.take() {
            self.table(name, 1, &text)?;
        }
        self.put(b"\n")?;
        self.table(name, self.count, &text)
    }

    fn table(&mut self, name: Option<String>, count: usize, text: &[u8]) -> Result<(), Failure> {
        let mut heading = Vec::new();
        let name = name.unwrap_or_else(|| count.to_string());
        output::line(&mut heading, &format!("cell {name}"))?;
        self.put(&heading)?;
        self.put(text)
    }

    fn rows(&mut self, rows: &Rows) -> Result<(), Failure> {
        let cell = self.count.to_string();
        let columns = match self.columns.take() {
            Some(columns) => columns,
            None => {
                let columns = rows.columns();
                self.put(&csv_line(columns.iter().map(String::as_str)))?;
                columns
            }
        };
        // What people's files hold may be obeyed by a terminal.
        let careful = matches!(self.out, Out::Standard(_)) && io::stdout().is_terminal();
        let left_out = rows.write(&columns, &cell, &mut |line| match careful {
            true => self.put(printable(&String::from_utf8_lossy(&line)).as_bytes()),
            false => self.put(&line),
        })?;
        if let Some(name) = left_out.filter(|_| !self.left_out) {
            self.left_out = true;
            output::note(&format!(
                "cell {cell} has {name:?}, which the first has not: left out, as is all that is not in the header"
            ));
        }
        self.columns = Some(columns);
        Ok(())
    }

    /// Of several verdicts, what they come to at each size.
    fn sum_up(&mut self) -> Result<(), Failure> {
        #[derive(Serialize)]
        struct Line {
            summary: Vec<Standing>,
        }
        if self.summary.is_empty() || self.count < 2 {
            return Ok(());
        }
        let mut text = Vec::new();
        match self.format {
            Format::Json => {
                output::json(&mut text, &Line { summary: self.summary.rows("") })?;
            }
            Format::Table => {
                text.push(b'\n');
                output::text(&mut text, &self.summary.text("all"))?;
            }
            Format::Csv => {}
        }
        self.put(&text)
    }

    /// The end of the input.
    fn finish(mut self) -> Result<ExitCode, Failure> {
        if let Some((_, text)) = self.first.take() {
            self.put(&text)?;
        }
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

    /// The end before that of the input: answers that are tables or lines are complete, a file is not written.
    fn give_up(mut self) -> Result<(), Failure> {
        if let Some((_, text)) = self.first.take() {
            self.put(&text)?;
        }
        if let Out::Standard(out) = &mut self.out {
            out.flush()?;
        }
        Ok(())
    }
}
