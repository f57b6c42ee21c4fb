//! `anyk sample`.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use anyk::channel::{FadingLaw, GainMatrix, sample_distances_m};
use anyk::exchange::{fading_samples_to_npy, gains_to_npy, write_atomically};
use anyk::math::realization_rng;
use anyk::problems::interference::Scenario;
use serde::Serialize;

use crate::args::{Format, SampleArgs};
use crate::failure::Failure;
use crate::output;

/// Most gains in one call: as many as `solve` reads from a file.
const MOST_GAINS: u128 = 1 << 27;

#[derive(Serialize)]
struct Cell {
    users: Vec<User>,
}

#[derive(Serialize)]
struct User {
    id: String,
    distance_m: f64,
}

#[derive(Serialize)]
struct Gains {
    fading: String,
    gains: Vec<f64>,
}

#[derive(Serialize)]
struct Network<'a> {
    gains: Vec<&'a [f64]>,
}

pub(crate) fn run(args: &SampleArgs) -> Result<ExitCode, Failure> {
    match (args.scenario, &args.fading, args.k) {
        (_, Some(law), _) => fading(args, law)?,
        (Some(scenario), _, Some(size)) => gains(args, size, &scenario.into())?,
        (None, _, Some(size)) => users(args, size)?,
        (_, None, None) => return Err(Failure::input("--k: expected a number of users")),
    }
    Ok(ExitCode::SUCCESS)
}

/// Small-scale gains: what is known of fading where its law is not.
fn fading(args: &SampleArgs, law: &FadingLaw) -> Result<(), Failure> {
    let antennas = args.system.system()?.config().cell.antennas;
    let mut rng = realization_rng(args.seed, 1, 0);
    let samples: Vec<f64> = (0..args.count).map(|_| law.sample(antennas, &mut rng)).collect();
    let bytes = match args.format {
        Format::Npy => {
            refuse_terminal(args)?;
            fading_samples_to_npy(&samples)?
        }
        Format::Json => {
            let mut bytes = Vec::new();
            output::json(&mut bytes, &Gains { fading: law.to_string(), gains: samples })?;
            bytes
        }
        Format::Csv => {
            let message = "--format csv: it holds users; use json or npy with --fading";
            return Err(Failure::input(message));
        }
    };
    write(args, &bytes)
}

fn refuse_terminal(args: &SampleArgs) -> Result<(), Failure> {
    if args.out.is_none() && io::stdout().is_terminal() {
        return Err(Failure::input("--format npy: not to a terminal; use --out or a pipe"));
    }
    Ok(())
}

fn write(args: &SampleArgs, bytes: &[u8]) -> Result<(), Failure> {
    match &args.out {
        Some(path) => write_atomically(path, bytes)
            .map_err(|error| Failure::input(format!("{}: cannot write: {error}", path.display()))),
        None => {
            let mut out = output::stdout();
            out.write_all(bytes)?;
            Ok(out.flush()?)
        }
    }
}

fn users(args: &SampleArgs, size: usize) -> Result<(), Failure> {
    if args.out.is_some() {
        return Err(Failure::input(
            "--out: users go to standard output; it is for --scenario and --fading",
        ));
    }
    let road = args.system.system()?.road();
    if args.format == Format::Csv && args.count > 1 {
        let message = "--count: a CSV file holds one cell; use --count 1 or --format json";
        return Err(Failure::input(message));
    }
    let mut out = output::stdout();
    for index in 0..args.count {
        let distances = sample_distances_m(&road, args.seed, size, index);
        let users = distances
            .into_iter()
            .enumerate()
            .map(|(i, distance_m)| User { id: format!("u{}", i + 1), distance_m });
        match args.format {
            Format::Json => output::json(&mut out, &Cell { users: users.collect() })?,
            Format::Csv => {
                writeln!(out, "id,distance_m")?;
                for user in users {
                    writeln!(out, "{},{}", user.id, user.distance_m)?;
                }
            }
            Format::Npy => {
                let message = "--format npy: users are no array; use json or csv, or --scenario";
                return Err(Failure::input(message));
            }
        }
    }
    out.flush()?;
    Ok(())
}

fn gains(args: &SampleArgs, size: usize, scenario: &Scenario) -> Result<(), Failure> {
    if let Some((flag, _)) = args.system.flags().iter().find(|flag| flag.1) {
        return Err(Failure::input(format!("{flag} has no meaning for --scenario")));
    }
    let gains_each = size as u128 * size as u128;
    if gains_each * u128::from(args.count) > MOST_GAINS {
        let message = format!("--k, --count: over {MOST_GAINS} gains in all, expected fewer");
        return Err(Failure::input(message));
    }
    if args.format == Format::Npy {
        refuse_terminal(args)?;
    }
    let networks: Vec<GainMatrix> = (0..args.count)
        .map(|index| Ok(scenario.draw(args.seed, size, index)?.normalised().clone()))
        .collect::<Result<_, anyk::problems::interference::InterferenceError>>()
        .map_err(Failure::input)?;
    let bytes = match args.format {
        Format::Npy => gains_to_npy(&networks)?,
        Format::Json => {
            let mut bytes = Vec::new();
            for network in &networks {
                let gains = network.as_slice().chunks(size).collect();
                output::json(&mut bytes, &Network { gains })?;
            }
            bytes
        }
        Format::Csv => {
            let message = "--format csv: it holds users; use json or npy with --scenario";
            return Err(Failure::input(message));
        }
    };
    write(args, &bytes)
}
