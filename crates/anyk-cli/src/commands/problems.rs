//! `anyk solve`, `anyk sample`: a subcommand names the problem.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyk::Invalid;
use anyk::core::{About, Answering, write_samples};
use anyk::exchange::{Input, fading_samples_to_npy, write_atomically};
use anyk::framework::{Options, Share, Verb};
use anyk::math::realization_rng;
use anyk::problems::{self, read_model, solving};
use clap::ArgMatches;
use serde::Serialize;

use super::answers::{self, Rest};
use super::parsed;
use crate::arguments::given;
use crate::cli::{FadingArgs, SampleArgs, SolveArgs};
use crate::failure::Failure;
use crate::output;

/// Returns the problem that a subcommand names, with its flags and the options that the user set.
pub(super) fn chosen(
    matches: &ArgMatches,
    verb: Verb,
) -> Result<Option<(&'static About, &ArgMatches, Options)>, Failure> {
    let Some((name, matches)) = matches.subcommand() else { return Ok(None) };
    let Some(about) = problems::named(name) else { return Ok(None) };
    let options = given(matches, &(about.flags)(verb))?;
    Ok(Some((about, matches, options)))
}

pub(super) fn solve(matches: &ArgMatches, share: &Share) -> Result<ExitCode, Failure> {
    let Some((about, matches, options)) = chosen(matches, Verb::Solve)? else {
        return Ok(ExitCode::SUCCESS);
    };
    let args: SolveArgs = parsed(matches);
    let mut answering = solving(about, &options)?;
    answers::prepare(&args, &mut answering);
    let answer = |worker: &mut Answering, input: Input<'_>| worker.answer_share(input, share);
    answers::run(&args, share, || answering.fork(), answer, || Ok(Rest::default()))
}

/// Checks that a model can be read back, then writes it atomically.
pub(super) fn save(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    read_model(bytes)?;
    write_atomically(path, bytes).map_err(|error| Failure::write(path, error))
}

pub(super) fn sample(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    if let Some(("fading", matches)) = matches.subcommand() {
        return sample_fading(matches);
    }
    let Some((about, matches, options)) = chosen(matches, Verb::Sample)? else {
        return Ok(ExitCode::SUCCESS);
    };
    let args: SampleArgs = parsed(matches);
    let array = options.text("format") == Some("npy");
    let problem = (about.drawing)(&options)?;
    write(&args, array, |out| Ok(write_samples(&*problem, &options, out)?))
}

/// Writes atomically to the output file, or to standard output if there is none.
fn write(
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
                let expected = "json on a terminal; write an array to a file (--out) or a pipe";
                return Err(Invalid::value("format", "npy", expected).into());
            }
            let mut out = output::stdout();
            make(&mut out)?;
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Draws samples of the small-scale gain, from which a model can be trained if the fading distribution is unknown.
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
    write(&args.sample, array, |out| {
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
