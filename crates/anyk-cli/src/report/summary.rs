//! Summary at the start of the report of `reproduce`: which statements of the paper reproduce, which do not, what is
//! new, and the main pictures. The studies compute the verdicts.

use std::fmt::Write as _;

use anyk::framework::Holds;
use anyk_study::{CitedClaim, Section, Shown, Study, Summary};

use super::html::{escape, figure};

/// Question of the paper, and the terms of the report.
const OPENING: &str = include_str!("opening.html");

/// Command line of `reproduce` that adds to this report.
pub(super) struct Command<'a> {
    /// Folder of the report, unless it is the default.
    pub out: Option<&'a str>,
}

impl Command<'_> {
    /// Returns the command line that runs these studies into the folder.
    fn line(&self, studies: &[&str]) -> String {
        let out = self.out.map_or_else(String::new, |out| format!(" --out {}", quoted(out)));
        format!("<code>{}</code>", escape(&format!("anyk reproduce {}{out}", studies.join(" "))))
    }
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let plain =
        |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '+' | ':' | ',' | '=');
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Returns the summary as HTML.
pub(super) fn html(sections: &[Section], command: &Command<'_>) -> String {
    let summary = Summary::of(sections);
    let mut html = OPENING.to_owned();
    html.push_str("<section id=\"summary\">\n<h2>Summary</h2>\n");
    let _ = writeln!(html, "<p>{}</p>", lead(&summary));
    for caution in cautions(sections, command) {
        let _ = writeln!(html, "<p class=\"caution\">{caution}</p>");
    }
    html.push_str("<div class=\"verdicts\">\n");
    let none = "None of the tested statements of the paper.";
    let lists: [(&str, Vec<CitedClaim<'_>>, &str); 4] = [
        ("Reproduced", summary.reproduced.clone(), none),
        ("Reproduced in part", summary.partly.clone(), none),
        (
            "Not reproduced, or undecided",
            summary.contradicted.iter().chain(&summary.undecided).copied().collect(),
            none,
        ),
        ("Beyond the paper", summary.new.clone(), "No additional study was run."),
    ];
    for (head, said, none) in lists {
        let _ = writeln!(html, "<div>\n<h3>{head}</h3>");
        if said.is_empty() {
            let _ = writeln!(html, "<p>{none}</p>");
        } else {
            html.push_str("<ul>\n");
            said.iter().for_each(|said| push_said(&mut html, *said));
            html.push_str("</ul>\n");
        }
        html.push_str("</div>\n");
    }
    html.push_str("</div>\n<div class=\"pictures\">\n");
    for shown in &summary.pictures {
        push_picture(&mut html, *shown, command);
    }
    html.push_str("</div>\n");
    push_undrawn(&mut html, &summary.pictures, command);
    for (what, missing) in [
        ("Studies of the paper that were not run", &summary.missing),
        ("Additional studies that were not run", &summary.missing_own),
    ] {
        push_missing(&mut html, what, missing, command);
    }
    html.push_str("</section>\n");
    html
}

/// Returns a sentence on how many statements hold.
fn lead(summary: &Summary<'_>) -> String {
    let Summary { reproduced, partly, contradicted, undecided, .. } = summary;
    let [yes, some, no, open] = [reproduced, partly, contradicted, undecided].map(Vec::len);
    let all = yes + some + no + open;
    if all == 0 {
        return "No study that was run tests a statement of the paper.".to_owned();
    }
    let mut text = format!(
        "Of {all} statement{} of the paper tested below, {yes} {}, {some} {} partly, and {no} {} not",
        if all == 1 { "" } else { "s" },
        if yes == 1 { "reproduces" } else { "reproduce" },
        if some == 1 { "reproduces" } else { "reproduce" },
        if no == 1 { "does" } else { "do" },
    );
    if open > 0 {
        let _ = write!(text, "; {open} cannot be decided from the numbers");
    }
    text.push_str(
        ". Each verdict is computed from the numbers of the table that it links to. It covers the sizes and runs named \
         in brackets.",
    );
    text
}

/// Returns warnings about trials and outdated results.
fn cautions(sections: &[Section], command: &Command<'_>) -> Vec<String> {
    let named = |of: fn(&Section) -> bool| -> Vec<&str> {
        sections.iter().filter(|section| of(section)).map(Section::study).collect()
    };
    let mut all = Vec::new();
    let trials = named(Section::is_trial);
    if !trials.is_empty() {
        all.push(format!(
            "Run with --trial (few cells and steps): {}. Ignore these figures and verdicts.",
            escape(&trials.join(", "))
        ));
    }
    let older = named(|section| !section.is_current());
    if !older.is_empty() {
        all.push(format!(
            "Measured by another version of the program: {}. To measure again: {}",
            escape(&older.join(", ")),
            command.line(&older)
        ));
    }
    all
}

/// Appends one verdict.
fn push_said(html: &mut String, CitedClaim { table, claim, .. }: CitedClaim<'_>) {
    // For statements of the paper, the mark repeats the heading of the list; for others, only the mark shows the
    // verdict.
    let (class, mark, word) = match claim.holds {
        Holds::Yes => ("yes", "✓", "holds"),
        Holds::Partly => ("partly", "◐", "partly holds"),
        Holds::No => ("no", "✗", "does not hold"),
        Holds::Undecided => ("open", "?", "undecided"),
    };
    let covers = match claim.covers.as_str() {
        "" => String::new(),
        covers => format!(" <span class=\"covers\">({})</span>", escape(covers)),
    };
    let table = escape(table);
    let _ = writeln!(
        html,
        "<li class=\"{class}\"><span class=\"mark\" role=\"img\" aria-label=\"{word}\">{mark}</span> {}: <span class=\"measured\">{}{covers}.</span> \
         <a href=\"#{table}\">{table}</a></li>",
        escape(&claim.statement),
        escape(claim.measured.trim_end_matches('.')),
    );
}

/// Appends a picture, if a study has drawn it.
fn push_picture(
    html: &mut String,
    Shown { picture, better, .. }: Shown<'_>,
    command: &Command<'_>,
) {
    let Some((study, picture)) = picture else { return };
    let mut caption = format!("{} Source: {}.", escape(&picture.caption), escape(study));
    if let Some(better) = better {
        let line = command.line(&[better]);
        let _ =
            write!(caption, " The study {} shows more, but was not run: {line}", escape(better));
    }
    html.push_str(&figure(&picture.chart, &caption));
}

/// Appends a line that names pictures that were not drawn, and the command that draws them.
fn push_undrawn(html: &mut String, pictures: &[Shown<'_>], command: &Command<'_>) {
    let undrawn: Vec<&Shown<'_>> =
        pictures.iter().filter(|shown| shown.picture.is_none()).collect();
    if undrawn.is_empty() {
        return;
    }
    let mut studies: Vec<&str> = undrawn.iter().filter_map(|shown| shown.better).collect();
    studies.dedup();
    let about: Vec<&str> = undrawn.iter().map(|shown| shown.about).collect();
    let _ = writeln!(
        html,
        "<p>Pictures that were not drawn, because their studies were not run: {}. To draw them: {}</p>",
        escape(&about.join(", ")),
        command.line(&studies)
    );
}

/// Appends the studies that were not run, and the command that runs them.
fn push_missing(html: &mut String, what: &str, missing: &[&'static Study], command: &Command<'_>) {
    if missing.is_empty() {
        return;
    }
    let words: Vec<String> = missing
        .iter()
        .map(|study| format!("{} ({})", escape(study.name), escape(study.about)))
        .collect();
    let names: Vec<&str> = missing.iter().map(|study| study.name).collect();
    let _ = writeln!(
        html,
        "<details>\n<summary>{what}: {}</summary>\n<p>{}.</p>\n<p>To run them: {}</p>\n</details>",
        escape(&names.join(", ")),
        words.join("; "),
        command.line(&names)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_pasted() {
        let usual = Command { out: None };
        assert_eq!(usual.line(&["table3", "fig1"]), "<code>anyk reproduce table3 fig1</code>");
        let own = Command { out: Some("my/results") };
        assert_eq!(own.line(&["fig1"]), "<code>anyk reproduce fig1 --out my/results</code>");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's; rm"), r"'it'\''s; rm'");
        assert_eq!(quoted(""), "''");
        let hostile = Command { out: Some("<b>$(x)") };
        assert_eq!(
            hostile.line(&["fig1"]),
            "<code>anyk reproduce fig1 --out &#39;&lt;b&gt;$(x)&#39;</code>"
        );
    }
}
