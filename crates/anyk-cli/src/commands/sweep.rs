//! `anyk sweep`.

use std::io::Write;
use std::process::ExitCode;

use anyk::math::Mean;
use anyk::problems::urllc::{OptimumRow, optimum_over_sizes};
use serde::Serialize;

use crate::args::{CellsArgs, SweepArgs};
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;

#[derive(Serialize)]
struct Sweep {
    samples: u64,
    seed: u64,
    sizes: Vec<OptimumRow>,
}

pub(crate) fn run(args: &SweepArgs) -> Result<ExitCode, Failure> {
    let system = args.system.system()?;
    let CellsArgs { k, samples, seed, json } = &args.cells;
    let progress = Progress::new("cells solved", samples * k.len() as u64);
    let sizes = optimum_over_sizes(&system, k, *samples, *seed, || {
        progress.step();
    })?;
    progress.finish();
    let mut out = output::stdout();
    if *json {
        output::json(&mut out, &Sweep { samples: *samples, seed: *seed, sizes })?;
    } else {
        let value =
            |mean: Option<Mean>| mean.map_or("–".into(), |mean| format!("{:.4}", mean.mean));
        let rows = sizes.iter().map(|row| {
            let error =
                row.optimum_mhz.map_or("–".into(), |m| format!("{:.4}", m.standard_error));
            let over = match (row.optimum_mhz, row.equal_power_mhz) {
                (Some(optimum), Some(equal)) => {
                    // At K = 1 the two are the same, but for the last bits.
                    format!("{:.2}", (100.0 * (equal.mean / optimum.mean - 1.0)).max(0.0))
                }
                _ => "–".into(),
            };
            vec![
                row.k.to_string(),
                value(row.optimum_mhz),
                error,
                value(row.equal_power_mhz),
                over,
                row.infeasible.to_string(),
                format!("{:.1e}", row.worst_gap),
            ]
        });
        let header = [
            "K",
            "optimum (MHz)",
            "± s.e.",
            "equal power (MHz)",
            "over (%)",
            "infeasible",
            "worst gap",
        ];
        writeln!(out, "{}", output::table(&header, rows))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
