//! HTML page of a report, `report.html`.

use std::fmt::Write as _;

use anyk::framework::{Chart, Table};

use super::plot::svg;
use crate::printable::is_obeyed;

/// Template of the page. Its comments mark where text is inserted. Inserted text is escaped, so it has no comments.
const TEMPLATE: &str = include_str!("page.html");

/// Escapes text for an element or a quoted attribute of HTML and SVG.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // XML cannot represent control characters.
            c if is_obeyed(c) => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Table with an optional line that says how it was made.
pub(super) struct Entry<'a> {
    pub table: &'a Table,
    pub about: Option<String>,
}

/// Builds the whole page. `before` is HTML that precedes the table of contents.
pub(super) fn page(title: &str, subtitle: &str, before: &str, entries: &[Entry<'_>]) -> String {
    let mut body = format!("{before}<nav aria-label=\"Contents\">\n<ol>\n");
    for Entry { table, .. } in entries {
        let (name, title) = (escape(&table.name), escape(&table.title));
        let _ = writeln!(body, r##"<li><a href="#{name}">{title}</a></li>"##);
    }
    body.push_str("</ol>\n</nav>\n<main>\n");
    for entry in entries {
        push_section(&mut body, entry);
    }
    body.push_str("</main>");
    TEMPLATE
        .replace("<!--title-->", &escape(title))
        .replace("<!--subtitle-->", &escape(subtitle))
        .replace("<!--body-->", &body)
}

/// Appends a table with its heading, note and picture.
fn push_section(page: &mut String, Entry { table, about }: &Entry<'_>) {
    let (name, title) = (escape(&table.name), escape(&table.title));
    let _ = writeln!(page, "<section id=\"{name}\">\n<h2>{title}</h2>");
    if let Some(about) = about {
        let _ = writeln!(page, "<p class=\"about\">{}</p>", escape(about));
    }
    if !table.note.is_empty() {
        let _ = writeln!(page, "<p>{}</p>", escape(&table.note));
    }
    let (heads, rows) = table.text();
    if !heads.is_empty() {
        // A tab stop lets the keyboard scroll a wide table.
        let _ =
            writeln!(page, r#"<div class="wide" tabindex="0" role="region" aria-label="{title}">"#);
        page.push_str("<table>\n<thead>\n");
        push_row(page, ["<th scope=\"col\">", "</th>"], &heads);
        page.push_str("</thead>\n<tbody>\n");
        for row in &rows {
            push_row(page, ["<td>", "</td>"], row);
        }
        page.push_str("</tbody>\n</table>\n</div>\n");
    }
    if let Some(chart) = &table.chart {
        page.push_str(&figure(chart, ""));
    }
    page.push_str("</section>\n");
}

/// Returns a picture with its caption, which is HTML.
pub(super) fn figure(chart: &Chart, caption: &str) -> String {
    let mut html = format!("<figure>\n<div class=\"wide\">\n{}</div>\n", svg(chart));
    if !caption.is_empty() {
        let _ = writeln!(html, "<figcaption>{caption}</figcaption>");
    }
    html + "</figure>\n"
}

/// Appends one row of cells, each between an opening and a closing tag.
fn push_row(page: &mut String, [open, close]: [&str; 2], cells: &[String]) {
    page.push_str("<tr>");
    for cell in cells {
        let _ = write!(page, "{open}{}{close}", escape(cell));
    }
    page.push_str("</tr>\n");
}
