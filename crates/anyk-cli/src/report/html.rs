//! The page `report.html`.

use std::fmt::Write as _;

use anyk::framework::{Chart, Table};

use super::chart::{Form, svg};
use super::style::{DARK_GRID, DARK_GROUND, DARK_INK, GRID, HOLLOW, INK, dark_rules};
use super::typeset::{Medium, typeset};
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

/// Text of an element, with its symbols typeset.
pub(super) fn shown(text: &str) -> String {
    typeset(&escape(text), Medium::Html)
}

/// A table with the anchor of the page and the line that says how it was made, where it has one.
pub(super) struct Entry<'a> {
    pub table: &'a Table,
    pub about: Option<String>,
}

/// The whole page. What comes before the contents is HTML already.
pub(super) fn page(title: &str, subtitle: &str, before: &str, entries: &[Entry<'_>]) -> String {
    let (plain, title, subtitle) = (escape(title), shown(title), shown(subtitle));
    let style = style();
    let mut page = format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{plain}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p>{subtitle}</p>
</header>
{before}<nav aria-label="Contents">
<ol>
"#
    );
    for Entry { table, .. } in entries {
        let (name, title) = (escape(&table.name), shown(&table.title));
        let _ = writeln!(page, r##"<li><a href="#{name}">{title}</a></li>"##);
    }
    page.push_str("</ol>\n</nav>\n<main>\n");
    for entry in entries {
        push_section(&mut page, entry);
    }
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

/// The style sheet, with the colours that pictures have.
fn style() -> String {
    let colours = [
        ("DARK_INK", DARK_INK),
        ("DARK_GRID", DARK_GRID),
        ("DARK_GROUND", DARK_GROUND),
        ("INK", INK),
        ("GRID", GRID),
        ("HOLLOW", HOLLOW),
    ];
    let style =
        colours.iter().fold(STYLE.to_owned(), |style, (name, colour)| style.replace(name, colour));
    // On paper the pictures keep the colours of a light screen.
    let dark = dark_rules("figure svg");
    format!("{style}@media screen and (prefers-color-scheme: dark) {{\n{dark}}}\n")
}

/// A table with its heading, its note and its picture.
fn push_section(page: &mut String, Entry { table, about }: &Entry<'_>) {
    let (name, title) = (escape(&table.name), shown(&table.title));
    let _ = writeln!(page, "<section id=\"{name}\">\n<h2>{title}</h2>");
    if let Some(about) = about {
        let _ = writeln!(page, "<p class=\"about\">{}</p>", shown(about));
    }
    if !table.note.is_empty() {
        let _ = writeln!(page, "<p>{}</p>", shown(&table.note));
    }
    if table.width() > 0 {
        // The box around the table scrolls where a screen is narrower than the table; with a tab
        // stop, the keyboard can scroll it too.
        let plain = escape(&table.title);
        let _ =
            writeln!(page, r#"<div class="wide" tabindex="0" role="region" aria-label="{plain}">"#);
        page.push_str("<table>\n<thead>\n");
        push_row(page, ["<th scope=\"col\">", "</th>"], table.padded(&table.columns));
        page.push_str("</thead>\n<tbody>\n");
        for row in &table.rows {
            push_row(page, ["<td>", "</td>"], table.padded(row));
        }
        page.push_str("</tbody>\n</table>\n</div>\n");
    }
    if let Some(chart) = &table.chart {
        page.push_str(&figure(chart, ""));
    }
    page.push_str("</section>\n");
}

/// A picture, drawn for a screen and for a phone, of which the style sheet shows one; its caption is HTML.
pub(super) fn figure(chart: &Chart, caption: &str) -> String {
    let [screen, phone] = [Form::Page, Form::Phone].map(|form| svg(chart, form));
    let caption = if caption.is_empty() {
        String::new()
    } else {
        format!("<figcaption>{caption}</figcaption>\n")
    };
    format!(
        "<figure>\n<div class=\"screen\">\n{screen}</div>\n<div class=\"phone\">\n{phone}</div>\n{caption}</figure>\n"
    )
}

/// One row of cells between an opening and a closing tag.
fn push_row<'a>(page: &mut String, tags: [&str; 2], cells: impl Iterator<Item = &'a str>) {
    let [open, close] = tags;
    page.push_str("<tr>");
    for cell in cells {
        // A range may go on below its dash where a table is wide.
        let _ = write!(page, "{open}{}{close}", shown(cell).replace('–', "–<wbr>"));
    }
    page.push_str("</tr>\n");
}
