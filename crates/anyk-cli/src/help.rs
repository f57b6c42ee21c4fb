//! Help pages: what a command does in a line, examples, and then the rest.

use anyk::framework::{Room, Verb};
use anyk::problems::ROOMS;
use clap::Command;

use crate::failure::EXIT_CODES;

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

    /// Puts it on a command: examples come first in the long help, and last in the short one.
    pub(crate) fn on(self, command: Command) -> Command {
        let lines = self.examples.iter().map(|line| format!("\n  anyk {line}"));
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
            .long_about(joined(&[&self.about, &examples, &self.details]))
            .after_help(joined(&[&examples, self.last]))
            .after_long_help(self.last)
            .about(self.about);
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
