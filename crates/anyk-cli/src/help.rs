//! Help pages: what a command does in a line, examples, and then the rest; as wide as the terminal.

use std::sync::OnceLock;

use anyk::framework::{Room, Verb};
use anyk::problems::ROOMS;
use clap::Command;

use crate::failure::EXIT_CODES;

/// A page where there is no terminal to measure.
const USUAL_WIDTH: usize = 100;
/// The narrowest page: on less than this, words are cut by the terminal rather than by us.
const LEAST_WIDTH: usize = 30;

/// What a page is made of, in its order.
const TEMPLATE: &str =
    "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

/// The width of help pages: that of the terminal, or what `COLUMNS` says where there is none.
pub(crate) fn width() -> usize {
    static WIDTH: OnceLock<usize> = OnceLock::new();
    *WIDTH.get_or_init(|| {
        let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let said = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let width = terminal.or_else(said).filter(|&width| width > 0);
        width.unwrap_or(USUAL_WIDTH).max(LEAST_WIDTH)
    })
}

/// A command line that can be pasted: one that is too long goes on below, after a backslash. What is in quotes stays
/// together.
fn example(line: &str, width: usize) -> String {
    let whole = format!("  anyk {line}");
    if whole.chars().count() <= width {
        return whole;
    }
    let mut shown = "  anyk".to_owned();
    let mut length = shown.len();
    for word in words(line) {
        // The blank before the word, and the two characters that end a line.
        if length + 1 + word.chars().count() + 2 > width && length > 6 {
            shown.push_str(" \\\n     ");
            length = 5;
        }
        shown.push(' ');
        shown.push_str(&word);
        length += 1 + word.chars().count();
    }
    shown
}

/// The parts of a command line that stay on one line: words as a shell has them, and a flag with its value.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut is_quoted, mut is_flag) = (false, false);
    for part in line.split(' ') {
        let is_value = is_flag && !part.starts_with('-') && part != "|";
        match words.last_mut().filter(|_| is_quoted || is_value) {
            Some(word) => *word = format!("{word} {part}"),
            None => words.push(part.to_owned()),
        }
        is_flag = !is_quoted && part.starts_with('-') && part.len() > 1;
        is_quoted ^= part.matches('\'').count() % 2 == 1;
    }
    words
}

/// Text in which lines that are indented keep that when they are wrapped, and lists (a word, blanks, what it means)
/// go on below what they mean. Paragraphs are left to whoever shows them.
fn laid_out(text: &str, width: usize) -> String {
    let lines = text.lines().map(|line| {
        let indent = line.len() - line.trim_start().len();
        if indent == 0 || line.chars().count() <= width {
            return line.to_owned();
        }
        let gap = line[indent..].find("  ").map(|gap| indent + gap);
        let below = gap.map_or(indent, |gap| {
            let blanks = line[gap..].len() - line[gap..].trim_start().len();
            line[..gap].chars().count() + blanks
        });
        // Where hardly anything would fit below, it goes on where the line began.
        let below = if below + 20 > width { indent } else { below };
        let mut shown = " ".repeat(indent);
        let (mut length, mut is_fresh) = (indent, true);
        for word in line[indent..].split(' ') {
            let letters = word.chars().count();
            if !is_fresh && letters > 0 && length + 1 + letters > width {
                shown.truncate(shown.trim_end().len());
                shown.push('\n');
                shown.push_str(&" ".repeat(below));
                (length, is_fresh) = (below, true);
            }
            if !is_fresh {
                shown.push(' ');
                length += 1;
            }
            shown.push_str(word);
            length += letters;
            is_fresh = false;
        }
        shown
    });
    lines.collect::<Vec<String>>().join("\n")
}

/// What there is to know about a training that is stopped.
const CONTINUES: &str = "\
Every two seconds the state is saved beside the model. Interrupted or killed, the same command continues there and \
ends with the same model.";

/// The help page of a command.
pub(crate) struct Page {
    about: String,
    /// Command lines, without the program's name.
    examples: Vec<&'static str>,
    details: String,
    last: &'static str,
}

impl Page {
    /// A page of a line and examples. Paragraphs of the details are lines: they are wrapped where they are shown.
    pub(crate) fn new(about: &str, examples: &[&'static str], details: &str) -> Self {
        let (about, details) = (about.to_owned(), details.to_owned());
        Self { about, examples: examples.to_vec(), details, last: "" }
    }

    /// The page of the program itself.
    pub(crate) fn of_program() -> Self {
        let page = Self::new(
            "Power and bandwidth for the users of a wireless cell, at any number of users",
            &[
                "sample urllc --k 10 --seed 1 | anyk solve urllc --input -",
                "train urllc --method any-gnn --out any.safetensors",
                "evaluate any.safetensors --k 1,10,100,1000",
            ],
            "AnyK finds the powers and bandwidths that meet every user's latency and reliability target with the \
             least total bandwidth, and proves that no less would do; it learns policies at one number of users \
             that serve any other. The same for users who all get one rate, and for links that share a band.",
        );
        Self { last: EXIT_CODES, ..page }
    }

    /// The page of a command that has a subcommand for each problem: the first example of each.
    pub(crate) fn of_verb(verb: Verb, about: &str) -> Self {
        let mut page = Self::new(about, &[], "");
        page.examples.extend(ROOMS.iter().filter_map(|room| room.examples(verb).first()));
        page.last = "Each problem has a page of its own: put --help behind its name.";
        page
    }

    /// The page of a problem's subcommand.
    pub(crate) fn of_room(room: &dyn Room, verb: Verb) -> Self {
        let details = match verb {
            Verb::Solve => format!("{}\n\n{}", room.statement(), room.input()),
            Verb::Train => format!("{}\n\n{CONTINUES}", room.statement()),
            _ => room.statement().to_owned(),
        };
        Self::new(room.about(), room.examples(verb), &details)
    }

    /// Puts it on a command: examples come before all else, in the long help and in the short one.
    pub(crate) fn on(self, command: Command) -> Command {
        let lines = self.examples.iter().map(|line| format!("\n{}", example(line, width())));
        let examples = if self.examples.is_empty() {
            String::new()
        } else {
            format!("Examples:{}", lines.collect::<String>())
        };
        let joined = |parts: &[&str]| {
            let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
            parts.join("\n\n")
        };
        let command = command
            .help_template(TEMPLATE)
            .about(self.about)
            .before_help(examples.clone())
            .before_long_help(joined(&[&examples, &laid_out(&self.details, width())]))
            .after_help(laid_out(self.last, width()));
        // On the line of the option, as those of the problems are, and not in a paragraph of its own.
        command.mut_args(|argument| {
            let values: Vec<_> =
                argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
            if values.is_empty() || argument.is_hide_default_value_set() {
                return argument;
            }
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let help = format!("{help} [default: {}]", values.join(","));
            argument.help(help).hide_default_value(true)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_examples_go_on_and_can_be_pasted() {
        let line =
            "evaluate a.st --command 'python3 my policy.py' --problem urllc | anyk solve --input -";
        for width in [30, 40, 60, 80, 200] {
            let shown = example(line, width);
            assert!(shown.starts_with("  anyk evaluate"), "{shown}");
            // What a shell makes of it is what was meant.
            assert_eq!(shown.replace(" \\\n      ", " "), format!("  anyk {line}"));
            let quoted = shown.lines().any(|line| line.contains("'python3 my policy.py'"));
            assert!(quoted, "{shown}");
            for line in shown.lines() {
                // A flag and a value that fill the line on their own.
                assert!(line.chars().count() <= width.max(40), "{width}: {line}");
                assert!(!line.ends_with("--problem \\"), "{line}");
            }
        }
    }

    #[test]
    fn lists_go_on_below_what_they_mean() {
        let list = "Said of\n\n  urllc            the share of users who are served\n  short  one";
        let shown = laid_out(list, 42);
        assert_eq!(
            shown,
            "Said of\n\n  urllc            the share of users who\n                   are served\n  short  one"
        );
        assert_eq!(laid_out(list, 100), list);
        // A command line in a text, and a list on a page too narrow for it.
        assert_eq!(laid_out("  a b c d", 6), "  a b\n  c d");
        assert_eq!(laid_out("    1  the machine failed", 30), "    1  the machine failed");
        assert_eq!(
            laid_out("    1  the machine failed: a full disk", 30),
            "    1  the machine failed: a\n       full disk"
        );
    }
}
