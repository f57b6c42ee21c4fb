//! `anyk solve`, `anyk sample`: the problem is a subcommand.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyk::Invalid;
use anyk::exchange::{fading_samples_to_npy, write_atomically};
use anyk::framework::{Options, Room, Verb};
use anyk::math::realization_rng;
use anyk::problems::{read_model, room};
use clap::ArgMatches;
use serde::Serialize;

use super::{answers, parsed};
use crate::arguments::given;
use crate::cli::{FadingArgs, SampleArgs, SolveArgs};
use crate::failure::Failure;
use crate::output;

/// The room that a subcommand names, with its flags and what was given of its options.
pub(super) fn chosen(
    matches: &ArgMatches,
    verb: Verb,
) -> Option<(&'static dyn Room, &ArgMatches, Options)> {
    let (name, matches) = matches.subcommand()?;
    let room = room(name)?;
    let options = given(matches, &room.options(verb));
    Some((room, matches, options))
}

pub(super) fn solve(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let Some((room, matches, options)) = chosen(matches, Verb::Solve) else {
        return Ok(ExitCode::SUCCESS);
    };
    let args: SolveArgs = parsed(matches);
    let counter = room.solve(&options)?;
    answers::run(&args, &*counter)
}

/// Writes a model whole or not at all, once it reads back.
pub(super) fn save(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    read_model(bytes)?;
    write_atomically(path, bytes).map_err(|error| Failure::write(path, error))
}

pub(super) fn sample(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    if let Some(("fading", matches)) = matches.subcommand() {
        return sample_fading(matches);
    }
    let Some((room, matches, options)) = chosen(matches, Verb::Sample) else {
        return Ok(ExitCode::SUCCESS);
    };
    let args: SampleArgs = parsed(matches);
    let array = options.text("format") == Some("npy");
    write_samples(&args, array, |out| Ok(room.sample(&options, out)?))
}

/// Writes to the file that was named, whole or not at all, or to standard output.
fn write_samples(
    args: &SampleArgs,
    array: bool,
    make: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<ExitCode, Failure> {
    match &args.out {
        Some(path) => {
            let mut bytes = Vec::new();
            make(&mut bytes)?;
            write_atomically(path, &bytes).map_err(|error| Failure::write(path, error))?;
        }
        None => {
            if array && io::stdout().is_terminal() {
                let expected = "json on a terminal; an array goes to a file or a pipe";
                return Err(Invalid::value("format", "npy", expected).into());
            }
            let mut out = output::stdout();
            make(&mut out)?;
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Small-scale gains: what is known of fading where its law is not.
fn sample_fading(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    #[derive(Serialize)]
    struct Gains {
        fading: String,
        gains: Vec<f64>,
    }
    let args: FadingArgs = parsed(matches);
    let mut rng = realization_rng(args.seed, 1, 0);
    let antennas = u32::try_from(args.antennas).unwrap_or(u32::MAX);
    let draw = |_| args.law.sample(antennas, &mut rng);
    let gains: Vec<f64> = (0..args.count).map(draw).collect();
    let array = args.format == "npy";
    write_samples(&args.sample, array, |out| {
        if array {
            let bytes = fading_samples_to_npy(&gains);
            out.write_all(&bytes)?;
        } else {
            let gains = Gains { fading: args.law.to_string(), gains };
            output::json(out, &gains)?;
        }
        Ok(())
    })
}
