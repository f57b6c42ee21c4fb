//! The start of the report of `reproduce`: what of the paper reproduces, what does not, what is new, and the pictures
//! that matter. The verdicts are the library's.

use std::fmt::Write as _;

use anyk::framework::Holds;
use anyk_study::{Said, Section, Shown, Study, Summary};

use super::html::{escape, figure};

/// How `reproduce` is called to add to this report.
pub(super) struct Command<'a> {
    /// The folder, if it is not the usual one.
    pub out: Option<&'a str>,
}

impl Command<'_> {
    /// The command line that runs these studies into this folder.
    fn line(&self, studies: &[&str]) -> String {
        let out = self.out.map_or_else(String::new, |out| format!(" --out {}", quoted(out)));
        format!("<code>{}</code>", escape(&format!("anyk reproduce {}{out}", studies.join(" "))))
    }
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain =
        |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '+' | ':' | ',' | '=');
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The summary as HTML.
pub(super) fn html(sections: &[Section], command: &Command<'_>) -> String {
    let summary = Summary::of(sections);
    let mut html = "<section id=\"summary\">\n<h2>Summary</h2>\n".to_owned();
    let _ = writeln!(html, "<p>{}</p>", lead(&summary));
    for caution in cautions(sections, command) {
        let _ = writeln!(html, "<p class=\"caution\">{caution}</p>");
    }
    html.push_str("<div class=\"verdicts\">\n");
    let none = "No statement of the paper that was tested.";
    let lists: [(&str, Vec<Said<'_>>, &str); 4] = [
        ("What reproduces", summary.reproduced.clone(), none),
        ("What reproduces partly", summary.partly.clone(), none),
        (
            "What does not",
            summary.contradicted.iter().chain(&summary.undecided).copied().collect(),
            none,
        ),
        ("What is new", summary.new.clone(), "No study of our own was run."),
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
        ("Not run of the paper", &summary.missing),
        ("Not run of our own studies", &summary.missing_own),
    ] {
        push_missing(&mut html, what, missing, command);
    }
    html.push_str("</section>\n");
    html
}

/// How many statements hold.
fn lead(summary: &Summary<'_>) -> String {
    let Summary { reproduced, partly, contradicted, undecided, .. } = summary;
    let [yes, some, no, open] = [reproduced, partly, contradicted, undecided].map(Vec::len);
    let all = yes + some + no + open;
    if all == 0 {
        return "None of the studies that were run here tests a statement of the paper.".to_owned();
    }
    let mut text = format!(
        "Of {all} statement{} of the paper that the studies below test, {yes} {}, {some} {} partly and {no} {} not",
        if all == 1 { "" } else { "s" },
        if yes == 1 { "reproduces" } else { "reproduce" },
        if some == 1 { "does" } else { "do" },
        if no == 1 { "does" } else { "do" },
    );
    if open > 0 {
        let _ = write!(text, "; the numbers do not decide {open}");
    }
    text.push_str(
        ". Each verdict is computed from the numbers of the table that it links to, and covers the sizes and the budget in \
         its brackets.",
    );
    text
}

/// What to know before any of it is believed.
fn cautions(sections: &[Section], command: &Command<'_>) -> Vec<String> {
    let named = |of: fn(&Section) -> bool| -> Vec<&str> {
        sections.iter().filter(|section| of(section)).map(Section::study).collect()
    };
    let mut all = Vec::new();
    let trials = named(Section::is_trial);
    if !trials.is_empty() {
        all.push(format!(
            "On trial, with a few cells and steps: {}. These figures mean nothing, nor do the verdicts on them.",
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

/// One verdict.
fn push_said(html: &mut String, Said { table, claim, .. }: Said<'_>) {
    // The mark says the same as the list for the paper's statements; for our own it is all that does.
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

/// A picture, if a study has drawn it.
fn push_picture(
    html: &mut String,
    Shown { picture, better, .. }: Shown<'_>,
    command: &Command<'_>,
) {
    let Some((study, picture)) = picture else { return };
    let mut caption = format!("{} From {}.", escape(&picture.caption), escape(study));
    if let Some(better) = better {
        let line = command.line(&[better]);
        let _ = write!(caption, " {} shows more and was not run: {line}", escape(better));
    }
    html.push_str(&figure(&picture.chart, &caption));
}

/// Pictures that no study has drawn, and how to get them.
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
        "<p>Not drawn, because their studies were not run: {}. To draw them: {}</p>",
        escape(&about.join(", ")),
        command.line(&studies)
    );
}

/// Studies that were not run, and how to run them.
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
