//! `anyk sample`.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use anyk::channel::{GainMatrix, sample_distances_m};
use anyk::exchange::{gains_to_npy, write_atomically};
use anyk::problem::Scenario;
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
struct Network<'a> {
    gains: Vec<&'a [f64]>,
}

pub(crate) fn run(args: &SampleArgs) -> Result<ExitCode, Failure> {
    match args.scenario {
        None => users(args)?,
        Some(scenario) => gains(args, &scenario.into())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn users(args: &SampleArgs) -> Result<(), Failure> {
    let road = args.system.system()?.road();
    if args.format == Format::Csv && args.count > 1 {
        let message = "--count: a CSV file holds one cell; use --count 1 or --format json";
        return Err(Failure::input(message));
    }
    let mut out = output::stdout();
    for index in 0..args.count {
        let distances = sample_distances_m(&road, args.seed, args.k, index);
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

fn gains(args: &SampleArgs, scenario: &Scenario) -> Result<(), Failure> {
    if let Some((flag, _)) = args.system.flags().iter().find(|flag| flag.1) {
        return Err(Failure::input(format!("{flag} has no meaning for --scenario")));
    }
    let size = args.k as u128;
    if size * size * u128::from(args.count) > MOST_GAINS {
        let message = format!("--k, --count: over {MOST_GAINS} gains in all, expected fewer");
        return Err(Failure::input(message));
    }
    let to_terminal = args.out.is_none() && io::stdout().is_terminal();
    if args.format == Format::Npy && to_terminal {
        return Err(Failure::input("--format npy: not to a terminal; use --out or a pipe"));
    }
    let networks: Vec<GainMatrix> = (0..args.count)
        .map(|index| Ok(scenario.draw(args.seed, args.k, index)?.normalised().clone()))
        .collect::<Result<_, anyk::problem::InterferenceError>>()
        .map_err(Failure::input)?;
    let bytes = match args.format {
        Format::Npy => gains_to_npy(&networks)?,
        Format::Json => {
            let mut bytes = Vec::new();
            for network in &networks {
                let gains = network.as_slice().chunks(args.k).collect();
                output::json(&mut bytes, &Network { gains })?;
            }
            bytes
        }
        Format::Csv => {
            let message = "--format csv: it holds users; use json or npy with --scenario";
            return Err(Failure::input(message));
        }
    };
    match &args.out {
        Some(path) => write_atomically(path, &bytes)
            .map_err(|error| Failure::input(format!("{}: cannot write: {error}", path.display()))),
        None => {
            let mut out = output::stdout();
            out.write_all(&bytes)?;
            Ok(out.flush()?)
        }
    }
}
