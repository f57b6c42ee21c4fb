//! `anyk sweep`, `anyk config`, `anyk completions`.

use std::io::Write;
use std::process::ExitCode;

use anyk::Config;
use anyk::core::{Page, Text};
use anyk::framework::{CellOptions, Trials};
use anyk::math::Mean;
use anyk::problems::urllc::{OptimumRow, optimum_over_sizes};
use anyk::{System, framework::Observer};
use clap::ArgMatches;
use serde::Serialize;

use super::parsed;
use crate::arguments::given;
use crate::cli::{self, CellsArgs, CompletionsArgs, SweepArgs};
use crate::failure::Failure;
use crate::output;
use crate::progress::Watcher;

/// The cell that the flags of a command describe.
pub(super) fn system(matches: &ArgMatches) -> Result<System, Failure> {
    let options = given(matches, &CellOptions::ALL.specs());
    let system = CellOptions::ALL.system(&options, &Config::default());
    Ok(system?)
}

#[derive(Serialize)]
struct Sweep {
    samples: u64,
    seed: u64,
    sizes: Vec<OptimumRow>,
}

impl Sweep {
    fn text(&self) -> Text {
        let value =
            |mean: Option<Mean>| mean.map_or("–".into(), |mean| format!("{:.4}", mean.mean));
        let rows = self.sizes.iter().map(|row| {
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
        let mut text = Text::default();
        text.table(&header, rows);
        text
    }
}

pub(super) fn sweep(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let args: SweepArgs = parsed(matches);
    let system = system(matches)?;
    let CellsArgs { k, samples, seed, json } = args.cells;
    let trials = Trials { sizes: k, samples, seed };
    trials.check()?;
    let Trials { sizes: k, .. } = trials;
    let watcher = Watcher::default();
    watcher.begin("cells solved", samples * k.len() as u64);
    let sizes = optimum_over_sizes(&system, &k, samples, seed, &watcher)?;
    watcher.end();
    let sweep = Sweep { samples, seed, sizes };
    output::page(&Page::new(&sweep, sweep.text())?, json)
}

pub(super) fn config(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let options = given(matches, &CellOptions::specs_of_files());
    let system = CellOptions::ALL.system_of_file(&options, &Config::default());
    let system = system?;
    let config = system.config();
    let config = Config { path_loss: config.path_loss.filled(), ..config.clone() };
    let toml = config.to_toml().map_err(anyk::framework::Error::other)?;
    let mut out = output::stdout();
    write!(out, "{toml}")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn completions(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    // Into memory first: the generator panics on a reader that has gone.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli::command(), "anyk", &mut script);
    let mut out = output::stdout();
    out.write_all(&script)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
