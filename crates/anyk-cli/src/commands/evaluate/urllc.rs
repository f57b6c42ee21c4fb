//! Availability and bandwidth of a URLLC policy.

use std::io::Write;
use std::process::ExitCode;

use anyk::framework::Guarantee;
use anyk::problems::urllc::LearnedPolicy;
use anyk::problems::urllc::{SizeResult, TestSet};
use serde::Serialize;

use crate::args::{CellsArgs, EvaluateArgs};
use crate::commands::calibrate;
use crate::failure::Failure;
use crate::output;

#[derive(Serialize)]
struct Evaluation<'a> {
    samples: u64,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    guarantee: Option<&'a Guarantee>,
    sizes: Vec<SizeResult>,
}

pub(super) fn run(args: &EvaluateArgs, policy: &LearnedPolicy) -> Result<ExitCode, Failure> {
    let CellsArgs { k, samples, seed, .. } = &args.cells;
    let set = TestSet::draw(policy.system(), k, *samples, *seed)?;
    let sizes =
        set.evaluate(policy).map_err(|error| Failure::input(format!("{}: {error}", args.model)))?;
    print_sizes(args, sizes, policy.record().guarantee.as_ref())
}

pub(super) fn print_sizes(
    args: &EvaluateArgs,
    sizes: Vec<SizeResult>,
    guarantee: Option<&Guarantee>,
) -> Result<ExitCode, Failure> {
    let CellsArgs { samples, seed, json, .. } = &args.cells;
    let mut out = output::stdout();
    if *json {
        output::json(&mut out, &Evaluation { samples: *samples, seed: *seed, guarantee, sizes })?;
    } else {
        let rows = sizes.iter().map(|row| {
            vec![
                row.k.to_string(),
                format!("{:.4}", row.availability),
                format!("{:.4}", row.total_bandwidth_mhz),
                format!("{:.4}", row.optimum_mhz),
                // Rounding is not less than nothing.
                format!("{:.2}", if row.gap_percent.abs() < 5e-3 { 0.0 } else { row.gap_percent }),
            ]
        });
        let header = ["K", "availability", "bandwidth (MHz)", "optimum (MHz)", "over (%)"];
        writeln!(out, "{}", output::table(&header, rows))?;
        if let Some(guarantee) = guarantee {
            writeln!(out, "{}", calibrate::sentence(guarantee))?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
