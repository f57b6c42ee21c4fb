//! `anyk sweep`: trains and evaluates policies over sizes, options and seeds.

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use anyk::Invalid;
use anyk::core::{Page, Text};
use anyk::exchange::{read_start, write_atomically};
use anyk::framework::{CellOptions, Error, Share, Table, Value};
use anyk::sweep::Sweep;
use serde::{Serialize, Serializer};

use crate::cli::SweepArgs;
use crate::failure::Failure;
use crate::files;
use crate::progress::Watcher;
use crate::rows::csv_line;
use crate::{output, report};

/// Columns that the printed table leaves out.
const HIDDEN: [&str; 6] = [
    "problem",
    "instances",
    "availability_low",
    "availability_high",
    "reference",
    "reorder_change",
];

pub(super) fn run(args: &SweepArgs, share: &Share) -> Result<ExitCode, Failure> {
    if args.spec == "-" && (share.is_part() || share.is_merged()) {
        let expected = "the name of a file with --shard, since `anyk merge` reads it again";
        return Err(Invalid::value("FILE", "-", expected).into());
    }
    let spec = read(&args.spec)?;
    let sweep = Sweep::parse(&spec).map_err(|error| error.in_file(files::name(&args.spec)))?;
    let table = sweep.run_all(share, &Watcher::interruptible()).map_err(|error| match error {
        Error::Invalid(_) => error.in_file(files::name(&args.spec)),
        error => error,
    })?;
    if let Some(path) = &args.csv {
        write_atomically(path, &csv(&table)).map_err(|error| Failure::write(path, error))?;
    }
    if let (Some(path), Some(chart)) = (&args.plot, &table.chart) {
        let svg = report::svg(chart);
        write_atomically(path, svg.as_bytes()).map_err(|error| Failure::write(path, error))?;
    }
    output::page(&Page::new(&Rows(&table), text(&table))?, args.json)
}

/// Reads the specification; `-` is standard input. A longer text than allowed is rejected later.
fn read(path: &str) -> Result<String, Failure> {
    let most = CellOptions::MOST_BYTES + 1;
    let bytes = if path == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().take(most as u64).read_to_end(&mut bytes).map(|_| bytes)
    } else {
        read_start(Path::new(path), most)
    };
    let unread = |source| Error::Read { path: path.into(), source };
    let bytes = bytes.map_err(unread)?;
    String::from_utf8(bytes).map_err(|_| Error::NotText.in_file(files::name(path)).into())
}

/// Table as a JSON object with its title and its rows, each an object by column.
struct Rows<'a>(&'a Table);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Content<'a> {
            title: &'a str,
            rows: Vec<Row<'a>>,
        }
        let Table { title, columns, rows, .. } = self.0;
        let row = |row| Row { columns, row };
        Content { title, rows: rows.iter().map(row).collect() }.serialize(serializer)
    }
}

struct Row<'a> {
    columns: &'a [anyk::framework::Head],
    row: &'a Vec<Value>,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.columns.iter().map(|column| &column.head).zip(self.row))
    }
}

/// Returns the table as CSV with all digits; a field without a value is empty.
fn csv(table: &Table) -> Vec<u8> {
    let mut bytes = csv_line(table.columns.iter().map(|column| column.head.as_str()));
    for row in &table.rows {
        let fields = row.iter().map(|value| match value {
            Value::Empty => String::new(),
            value => value.text("{}"),
        });
        let fields: Vec<String> = fields.collect();
        bytes.extend(csv_line(fields.iter().map(String::as_str)));
    }
    bytes
}

/// Returns the most important columns as text, without columns of the same dull value.
fn text(table: &Table) -> Text {
    let (heads, rows) = table.text();
    let is_dull = |column: usize| {
        let all_are = |dull: &str| rows.iter().all(|row| row[column] == dull);
        match heads[column].as_str() {
            "status" => all_are("ok"),
            "infeasible" | "failed" | "over_budget" => all_are("0"),
            "policy" | "k" => false,
            head => HIDDEN.contains(&head) || all_are("–"),
        }
    };
    let shown: Vec<usize> = (0..heads.len()).filter(|&column| !is_dull(column)).collect();
    let only = |row: &Vec<String>| shown.iter().map(|&column| row[column].clone()).collect();
    let mut text = Text::line(&table.title);
    let heads: Vec<String> = only(&heads);
    text.table(&heads, rows.iter().map(only));
    text
}
