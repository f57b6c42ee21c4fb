//! The page `report.html`.

use std::fmt::Write as _;

use anyk::framework::Table;

use super::chart::{GRID, INK, svg};
use crate::printable::is_obeyed;

/// How the page looks on a screen, a phone and paper.
const STYLE: &str = include_str!("report.css");

/// Text that can stand in an element or a quoted attribute of HTML and SVG.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // XML has no way to write one.
            c if is_obeyed(c) => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The whole page.
pub(super) fn page(title: &str, subtitle: &str, tables: &[Table]) -> String {
    let (title, subtitle) = (escape(title), escape(subtitle));
    let style = STYLE.replace("INK", INK).replace("GRID", GRID);
    let mut page = format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p>{subtitle}</p>
</header>
<nav aria-label="Contents">
<ol>
"#
    );
    for table in tables {
        let (name, title) = (escape(&table.name), escape(&table.title));
        let _ = writeln!(page, r##"<li><a href="#{name}">{title}</a></li>"##);
    }
    page.push_str("</ol>\n</nav>\n<main>\n");
    for table in tables {
        push_section(&mut page, table);
    }
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

/// A table with its heading, its note and its picture.
fn push_section(page: &mut String, table: &Table) {
    let (name, title) = (escape(&table.name), escape(&table.title));
    let _ = writeln!(page, "<section id=\"{name}\">\n<h2>{title}</h2>");
    if !table.note.is_empty() {
        let _ = writeln!(page, "<p>{}</p>", escape(&table.note));
    }
    if table.width() > 0 {
        // The box around the table scrolls where a screen is narrower than the table; with a tab
        // stop, the keyboard can scroll it too.
        let _ =
            writeln!(page, r#"<div class="wide" tabindex="0" role="region" aria-label="{title}">"#);
        page.push_str("<table>\n<thead>\n");
        push_row(page, ["<th scope=\"col\">", "</th>"], table.padded(&table.columns));
        page.push_str("</thead>\n<tbody>\n");
        for row in &table.rows {
            push_row(page, ["<td>", "</td>"], table.padded(row));
        }
        page.push_str("</tbody>\n</table>\n</div>\n");
    }
    if let Some(chart) = &table.chart {
        let _ = writeln!(page, "<figure class=\"wide\">\n{}</figure>", svg(chart));
    }
    page.push_str("</section>\n");
}

/// One row of cells between an opening and a closing tag.
fn push_row<'a>(page: &mut String, tags: [&str; 2], cells: impl Iterator<Item = &'a str>) {
    let [open, close] = tags;
    page.push_str("<tr>");
    for cell in cells {
        let _ = write!(page, "{open}{}{close}", escape(cell));
    }
    page.push_str("</tr>\n");
}
