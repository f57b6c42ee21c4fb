//! How a report looks: the library's tables and charts as CSV, Markdown, SVG and one HTML page that needs
//! nothing but itself.

mod axis;
mod chart;
mod files;
mod html;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use anyk::framework::{Chart, Table};

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
