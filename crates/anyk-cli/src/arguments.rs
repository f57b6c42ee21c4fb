//! Translation between the options that a problem describes and the flags of the program.

use anyk::Invalid;
use anyk::framework::{OptionSpec, OptionValue, Options, Verb};
use anyk::problems;
use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, ArgMatches, Command};

/// Builds the flag of an option.
fn argument(spec: &OptionSpec) -> Arg {
    let mut help = spec.help.to_owned();
    if !spec.default.is_empty() {
        help.push_str(&format!(" [default: {}]", spec.default));
    }
    let heading = (!spec.group.is_empty()).then_some(spec.group);
    let argument = Arg::new(spec.name).long(spec.name).help(help).help_heading(heading);
    let argument = argument.hide_short_help(spec.rare);
    match &spec.value {
        OptionValue::Switch => argument.action(ArgAction::SetTrue),
        OptionValue::Number(unit) => argument.value_name(*unit).allow_hyphen_values(true),
        // clap would reject a list that starts with a negative number. Let it pass, so that the message of the library
        // says what is expected.
        OptionValue::Numbers(unit) => argument.value_name(*unit).allow_hyphen_values(true),
        OptionValue::Whole(what) => argument.value_name(*what).allow_negative_numbers(true),
        OptionValue::Sizes => argument.value_name("K,…").allow_hyphen_values(true),
        OptionValue::File => argument.value_name("FILE"),
        OptionValue::Text(what) => argument.value_name(*what),
        OptionValue::Choice(names) => {
            let value = |(name, help): &(&'static str, &'static str)| {
                PossibleValue::new(*name).help(*help).hide(help.is_empty())
            };
            let values: Vec<PossibleValue> = names.iter().map(value).collect();
            argument.value_name("NAME").value_parser(values)
        }
    }
}

/// Adds the flags of options to a command, each in its group.
pub(crate) fn with_options(command: Command, specs: &[OptionSpec]) -> Command {
    command.args(specs.iter().filter(|spec| spec.file.is_none()).map(argument))
}

/// Returns the options that the user set, in their units.
pub(crate) fn given(matches: &ArgMatches, specs: &[OptionSpec]) -> Result<Options, Invalid> {
    let mut options = Options::default();
    for spec in specs.iter().filter(|spec| spec.file.is_none()) {
        if spec.value == OptionValue::Switch {
            if matches.get_flag(spec.name) {
                options.set(spec.name, "");
            }
        } else if let Some(value) = matches.get_one::<String>(spec.name) {
            options.set(spec.name, spec.in_own_unit(value)?);
        }
    }
    Ok(options)
}

/// Returns the options that a verb has for models of any problem. If problems share the name of an option, the help is
/// that of the first problem.
pub(crate) fn model_options(verb: Verb) -> Vec<OptionSpec> {
    let mut all: Vec<OptionSpec> = Vec::new();
    for spec in problems::all().into_iter().flat_map(|about| (about.flags)(verb)) {
        if !all.iter().any(|known| known.name == spec.name) {
            all.push(spec);
        }
    }
    all
}
