//! Report writer: tables and charts as CSV, Markdown, SVG and one self-contained HTML page.

mod files;
mod html;
mod plot;
mod summary;
#[cfg(test)]
mod tests;

use anyk::framework::Table;
use anyk_study::{Section, Summary};

use self::html::Entry;
pub(crate) use self::plot::svg;
use crate::failure::Failure;
use crate::outputs::{ReportFile, ReportFolder};

/// File name of the page of a report.
pub(crate) const PAGE: &str = "report.html";

/// Writes `NAME.csv`, `NAME.md` and, if the table has a chart, `NAME.svg` into a folder. Readers never see a partial
/// file.
pub(crate) fn write_table(folder: &ReportFolder<'_>, table: &Table) -> Result<(), Failure> {
    files::check_name(table).map_err(|error| folder.cannot(error))?;
    let file = |extension: &str, bytes: Vec<u8>| (format!("{}.{extension}", table.name), bytes);
    let mut made = vec![file("csv", files::csv(table).map_err(|error| folder.cannot(error))?)];
    made.extend(table.chart.as_ref().map(|chart| file("svg", svg(chart).into_bytes())));
    // The Markdown file links to the picture, so it comes last.
    made.push(file("md", files::markdown(table).into_bytes()));
    folder.write(&made)
}

/// Writes `report.html` into a folder: a heading, a table of contents, and every table with its note and chart. The
/// page contains its styles and pictures and loads nothing from outside.
pub(crate) fn write_report(
    folder: &ReportFolder<'_>,
    title: &str,
    subtitle: &str,
    tables: &[Table],
) -> Result<(), Failure> {
    let entries: Vec<Entry<'_>> = tables.iter().map(|table| Entry { table, about: None }).collect();
    write_page(folder, Vec::new(), title, subtitle, "", &entries)
}

/// Writes `report.html` for the studies of a folder, with a summary at the start. The pictures of the summary are also
/// written as files. `out` is the folder as given on the command line, unless it is the default.
pub(crate) fn write_studies(
    folder: &ReportFolder<'_>,
    title: &str,
    sections: &[Section],
    out: Option<&str>,
) -> Result<(), Failure> {
    let version = format!("anyk {}", env!("CARGO_PKG_VERSION"));
    // If all sections were made in the same way, the subtitle says how.
    let first = sections.first().map_or("", Section::about);
    let alike = sections.iter().all(|section| section.about() == first && section.is_current());
    let subtitle = if alike { format!("{version} · {first}") } else { version };
    let entries = sections.iter().flat_map(|section| {
        let about = || {
            let older = if section.is_current() {
                ""
            } else {
                " · measured by another version of the program"
            };
            format!("{}{older}", section.about())
        };
        section
            .tables()
            .iter()
            .enumerate()
            .map(move |(place, table)| Entry { table, about: (place == 0 && !alike).then(about) })
    });
    let entries: Vec<Entry<'_>> = entries.collect();
    let pictures = Summary::of(sections).pictures.into_iter().filter_map(|shown| {
        let (_, picture) = shown.picture?;
        Some((format!("summary-{}.svg", shown.subject), svg(&picture.chart).into_bytes()))
    });
    let before = summary::html(sections, &summary::Command { out });
    write_page(folder, pictures.collect(), title, &subtitle, &before, &entries)
}

fn write_page(
    folder: &ReportFolder<'_>,
    mut files: Vec<ReportFile>,
    title: &str,
    subtitle: &str,
    before: &str,
    entries: &[Entry<'_>],
) -> Result<(), Failure> {
    for entry in entries {
        files::check_name(entry.table).map_err(|error| folder.cannot(error))?;
    }
    files.push((PAGE.to_owned(), html::page(title, subtitle, before, entries).into_bytes()));
    folder.write(&files)
}
