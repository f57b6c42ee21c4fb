//! How a report looks: the library's tables and charts as CSV, Markdown, SVG and one HTML page that needs
//! nothing but itself.

mod axis;
mod chart;
mod files;
mod html;
mod marker;
mod style;
mod summary;
#[cfg(test)]
mod tests;
mod typeset;

use std::io;
use std::path::Path;

use anyk::framework::{Chart, Table};
use anyk::study::{Section, Summary};

use self::html::Entry;

/// Writes `NAME.csv`, `NAME.md` and, with a chart, `NAME.svg` into `dir`, which is made if it is
/// not there. A reader sees each file whole or not at all.
pub(crate) fn write_table(dir: &Path, table: &Table) -> io::Result<()> {
    files::check_name(table)?;
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
    let entries: Vec<Entry<'_>> = tables.iter().map(|table| Entry { table, about: None }).collect();
    write_page(dir, title, subtitle, "", &entries)
}

/// The same for the studies of a folder, with a summary at the start; `out` is how the folder is named on the command
/// line, if it has to be. The pictures of the summary are files as well.
pub(crate) fn write_studies(
    dir: &Path,
    title: &str,
    sections: &[Section],
    out: Option<&str>,
) -> io::Result<()> {
    let version = format!("anyk {}", env!("CARGO_PKG_VERSION"));
    // How it was made is said once where it is the same for all.
    let first = sections.first().map_or("", Section::about);
    let alike = sections.iter().all(|section| section.about() == first && section.is_current());
    let subtitle = if alike { format!("{version} · {first}") } else { version };
    let entries = sections.iter().flat_map(|section| {
        let about = || {
            let older =
                if section.is_current() { "" } else { " · by another version of the program" };
            format!("{}{older}", section.about())
        };
        section
            .tables()
            .iter()
            .enumerate()
            .map(move |(place, table)| Entry { table, about: (place == 0 && !alike).then(about) })
    });
    let entries: Vec<Entry<'_>> = entries.collect();
    for shown in Summary::of(sections).pictures {
        if let Some((_, picture)) = shown.picture {
            let path = dir.join(format!("summary-{}.svg", shown.subject));
            files::write(&path, svg(&picture.chart).as_bytes())?;
        }
    }
    let before = summary::html(sections, &summary::Command { out });
    write_page(dir, title, &subtitle, &before, &entries)
}

fn write_page(
    dir: &Path,
    title: &str,
    subtitle: &str,
    before: &str,
    entries: &[Entry<'_>],
) -> io::Result<()> {
    for entry in entries {
        files::check_name(entry.table)?;
    }
    let page = html::page(title, subtitle, before, entries);
    files::write(&dir.join("report.html"), page.as_bytes())
}

/// The SVG text of a chart, complete in itself.
pub(crate) fn svg(chart: &Chart) -> String {
    chart::svg(chart, chart::Form::Alone)
}
