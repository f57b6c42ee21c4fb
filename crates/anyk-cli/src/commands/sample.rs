//! `anyk sample`.

use std::io::Write;
use std::process::ExitCode;

use anyk::channel::sample_distances_m;
use serde::Serialize;

use crate::args::{Format, SampleArgs};
use crate::failure::Failure;
use crate::output;

#[derive(Serialize)]
struct Cell {
    users: Vec<User>,
}

#[derive(Serialize)]
struct User {
    id: String,
    distance_m: f64,
}

pub(crate) fn run(args: &SampleArgs) -> Result<ExitCode, Failure> {
    let road = args.system.system()?.road();
    if matches!(args.format, Format::Csv) && args.count > 1 {
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
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
