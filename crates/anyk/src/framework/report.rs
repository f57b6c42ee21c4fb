//! What studies and diagnoses return: tables of text with charts of numbers. How they look, on a terminal or in
//! a file, is for whoever shows them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::exchange::{NotFinite, check_text};

/// One table of a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The stem of its files and its anchor in a page, such as `table3`: letters, digits, `-`, `_` and `.`
    /// only.
    pub name: String,
    /// The heading.
    pub title: String,
    /// One or two sentences: what is seen, how it was made.
    pub note: String,
    /// The column heads.
    pub columns: Vec<String>,
    /// The cells, row by row; a short row is filled up with empty cells.
    pub rows: Vec<Vec<String>>,
    /// The picture that goes with the numbers.
    pub chart: Option<Chart>,
    /// What the numbers say about statements of the paper, and of our own: what a summary is made of.
    pub claims: Vec<Claim>,
    /// Pictures that a summary of several tables shows.
    pub pictures: Vec<Picture>,
}

/// A statement, and what the numbers of a table say about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Whose statement it is.
    pub by: Claimant,
    /// What is said, as a sentence without its full stop.
    pub statement: String,
    /// What was measured, as a part of a sentence.
    pub measured: String,
    /// Whether what was measured is what is said; `None` where the numbers do not tell.
    pub holds: Option<bool>,
}

/// Whose statement a [`Claim`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claimant {
    /// The paper's, which is reproduced or not.
    Paper,
    /// Our own, of which the paper says nothing.
    Own,
}

/// A picture of a summary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// What it is of, the same for all tables that can draw it.
    pub subject: String,
    /// A sentence or two: what to look at.
    pub caption: String,
    /// The picture.
    pub chart: Chart,
}

/// A figure: curves over two axes, each linear or logarithmic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// The heading inside the picture.
    pub title: String,
    /// What runs to the right, with its unit.
    pub x_label: String,
    /// What runs upwards, with its unit.
    pub y_label: String,
    /// Whether the horizontal axis is logarithmic.
    pub log_x: bool,
    /// Whether the vertical axis is logarithmic.
    pub log_y: bool,
    /// The curves, in the order of the legend.
    pub series: Vec<Series>,
}

/// One curve of a [`Chart`].
///
/// With as many dashed as solid series, the n-th dashed one takes the colour of the n-th solid one:
/// a paper's curve and ours are then read as a pair.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The name in the legend.
    pub label: String,
    /// The points, joined in this order. Those an axis cannot show are dropped.
    pub points: Vec<(f64, f64)>,
    /// Whether the line is dashed, as for the paper's own figures.
    pub dashed: bool,
    /// The lower and upper end of the interval around each point, one pair per point.
    pub spread: Option<Vec<(f64, f64)>>,
}

impl Table {
    /// The number of columns, counting cells that have no head.
    pub fn width(&self) -> usize {
        self.rows.iter().map(Vec::len).fold(self.columns.len(), usize::max)
    }

    /// Whether its name can be the stem of a file and an anchor: it leaves no folder, and needs no quoting.
    pub fn has_plain_name(&self) -> bool {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !self.name.is_empty() && !self.name.starts_with('.') && self.name.chars().all(plain)
    }

    /// Refuses a cell in which a number is none.
    pub fn check(&self) -> Result<(), NotFinite> {
        self.rows.iter().enumerate().try_for_each(|(row, cells)| {
            cells.iter().enumerate().try_for_each(|(column, cell)| {
                let head = self.columns.get(column).map_or("", String::as_str);
                check_text(&format!("{}, row {}, {head:?}", self.name, row + 1), cell)
            })
        })
    }

    /// The cells of a row, filled up to the width of the table.
    pub fn padded<'a>(&self, row: &'a [String]) -> impl Iterator<Item = &'a str> + use<'a> {
        row.iter().map(String::as_str).chain(std::iter::repeat("")).take(self.width())
    }
}

impl Series {
    /// A solid line: what was measured.
    pub fn solid(label: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { label: label.into(), points, ..Self::default() }
    }

    /// A dashed line: what a paper or a formula says.
    pub fn dashed(label: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { dashed: true, ..Self::solid(label, points) }
    }
}

impl Claim {
    /// What the paper says, and whether it was measured.
    pub fn paper(
        statement: impl Into<String>,
        measured: impl Into<String>,
        holds: impl Into<Option<bool>>,
    ) -> Self {
        let (statement, measured, holds) = (statement.into(), measured.into(), holds.into());
        Self { by: Claimant::Paper, statement, measured, holds }
    }

    /// What we say, and whether it was measured.
    pub fn own(
        statement: impl Into<String>,
        measured: impl Into<String>,
        holds: impl Into<Option<bool>>,
    ) -> Self {
        Self { by: Claimant::Own, ..Self::paper(statement, measured, holds) }
    }
}

/// A line of text: the verdict in brackets, then the statement and what was measured.
impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match (self.by, self.holds) {
            (_, None) => "undecided",
            (Claimant::Paper, Some(true)) => "reproduces",
            (Claimant::Paper, Some(false)) => "does not reproduce",
            (Claimant::Own, Some(true)) => "holds",
            (Claimant::Own, Some(false)) => "does not hold",
        };
        write!(f, "[{verdict}] {}: {}.", self.statement, self.measured.trim_end_matches('.'))
    }
}
