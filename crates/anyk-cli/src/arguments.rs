//! From the options that a room describes to flags and help pages, and back.

use anyk::framework::{OptionSpec, OptionValue, Options, Room, Verb};
use anyk::problems::ROOMS;
use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, ArgMatches, Command};

/// The flag of an option.
fn argument(spec: &OptionSpec, heading: &str) -> Arg {
    let mut help = spec.help.to_owned();
    if !spec.default.is_empty() {
        help.push_str(&format!(" [default: {}]", spec.default));
    }
    let argument = Arg::new(spec.name).long(spec.name).help(help).help_heading(heading.to_owned());
    match &spec.value {
        OptionValue::Switch => argument.action(ArgAction::SetTrue),
        OptionValue::Number(unit) => argument.value_name(*unit).allow_negative_numbers(true),
        OptionValue::Whole(what) => argument.value_name(*what).allow_negative_numbers(true),
        OptionValue::Sizes => argument.value_name("K,…"),
        OptionValue::File => argument.value_name("FILE"),
        OptionValue::Text(what) => argument.value_name(*what),
        OptionValue::Choice(names) => {
            let values: Vec<PossibleValue> =
                names.iter().map(|(name, help)| PossibleValue::new(*name).help(*help)).collect();
            argument.value_name("NAME").value_parser(values)
        }
    }
}

/// Adds the flags of options, each in its group or under `own`.
pub(crate) fn with_options(mut command: Command, specs: &[OptionSpec], own: &str) -> Command {
    for spec in specs {
        let heading = if spec.group.is_empty() { own } else { spec.group };
        command = command.arg(argument(spec, heading));
    }
    command
}

/// What was given of some options.
pub(crate) fn given(matches: &ArgMatches, specs: &[OptionSpec]) -> Options {
    let mut options = Options::default();
    for spec in specs {
        if spec.value == OptionValue::Switch {
            if matches.get_flag(spec.name) {
                options.set(spec.name, "");
            }
        } else if let Some(value) = matches.get_one::<String>(spec.name) {
            options.set(spec.name, value);
        }
    }
    options
}

/// The options of a verb on models, whatever the model: of several rooms with an option of one name, the first
/// describes it.
pub(crate) fn model_options(verb: Verb) -> Vec<OptionSpec> {
    let mut all: Vec<OptionSpec> = Vec::new();
    for room in ROOMS {
        for spec in room.options(verb) {
            if !all.iter().any(|known| known.name == spec.name) {
                let group = if spec.group.is_empty() { room.name() } else { spec.group };
                all.push(spec.of(group));
            }
        }
    }
    all
}

/// The examples of a room, for a help page.
pub(crate) fn examples(room: &dyn Room, verb: Verb) -> String {
    let lines = room.examples(verb).iter().map(|line| format!("\n  anyk {line}"));
    format!("Examples:{}", lines.collect::<String>())
}
