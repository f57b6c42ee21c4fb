//! The report of a reproduction: tables of a paper beside our measurements, as CSV, Markdown, SVG
//! and one HTML page that needs nothing but itself.

mod axis;
mod chart;
mod files;
mod html;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

/// One table of the report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// The stem of its files and its anchor in the page, such as `table3`: letters, digits, `-`,
    /// `_` and `.` only.
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
#[derive(Clone, Debug, Default)]
pub(crate) struct Chart {
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
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
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
    fn width(&self) -> usize {
        self.rows.iter().map(Vec::len).fold(self.columns.len(), usize::max)
    }

    /// The cells of a row, filled up to the width of the table.
    fn padded<'a>(&self, row: &'a [String]) -> impl Iterator<Item = &'a str> + use<'a> {
        row.iter().map(String::as_str).chain(std::iter::repeat("")).take(self.width())
    }
}

/// Writes `NAME.csv`, `NAME.md` and, with a chart, `NAME.svg` into `dir`, which is made if it is
/// not there. A reader sees each file whole or not at all.
pub(crate) fn write_table(dir: &Path, table: &Table) -> io::Result<()> {
    files::check_name(&table.name)?;
    let path = |extension: &str| dir.join(format!("{}.{extension}", table.name));
    files::write(&path("csv"), &files::csv(table)?)?;
    if let Some(chart) = &table.chart {
        files::write(&path("svg"), svg(chart).as_bytes())?;
    }
    // Last, because it shows the picture.
    files::write(&path("md"), files::markdown(table).as_bytes())
}

/// Writes `report.html` into `dir`: a heading, a table of contents, and every table with its note
/// and its chart. The page holds its style and its pictures, and asks for nothing from outside.
pub(crate) fn write_report(
    dir: &Path,
    title: &str,
    subtitle: &str,
    tables: &[Table],
) -> io::Result<()> {
    for table in tables {
        files::check_name(&table.name)?;
    }
    files::write(&dir.join("report.html"), html::page(title, subtitle, tables).as_bytes())
}

/// The SVG text of a chart, complete in itself.
pub(crate) fn svg(chart: &Chart) -> String {
    chart::svg(chart)
}
