//! What studies and diagnoses return: tables of text with charts of numbers. How they look, on a terminal or in
//! a file, is for whoever shows them.

use serde::Serialize;

use crate::exchange::{NotFinite, check_text};

/// One table of a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
}

/// A line chart with optional log axes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// The name in the legend.
    pub label: String,
    /// The points, joined in this order. Those an axis cannot show are dropped.
    pub points: Vec<(f64, f64)>,
    /// Whether the line is dashed, as for the paper's own figures.
    pub dashed: bool,
    /// The lower end of the interval around each point, as many as there are points.
    pub lower: Option<Vec<f64>>,
    /// The upper end of the interval around each point, as many as there are points.
    pub upper: Option<Vec<f64>>,
}

impl Table {
    /// The number of columns, counting cells that have no head.
    pub fn width(&self) -> usize {
        self.rows.iter().map(Vec::len).fold(self.columns.len(), usize::max)
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

/// Cells or heads from literals.
pub(crate) fn strings<const N: usize>(row: [&str; N]) -> Vec<String> {
    row.map(str::to_owned).to_vec()
}
