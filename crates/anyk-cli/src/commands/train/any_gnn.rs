//! Training of any-gnn for URLLC: seconds, without labels and without checkpoints.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use anyk::evaluation::train_any_policy;
use anyk::exchange::any_to_bytes;
use anyk::network::SplitRule;
use anyk::training::{ANY_PROGRESS, AnySettings, TrainRanges, TrainedRanges};
use serde::Serialize;

use crate::args::{OutputArg, RangesArg, TrainArgs};
use crate::commands::train::save;
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;

#[derive(Serialize)]
struct Report<'a> {
    model: String,
    training: &'a AnySettings,
    train_seconds: f64,
    ranges: &'a TrainedRanges,
    /// On a validation set of the training sizes, in the cell's own ranges.
    availability: f64,
    gap_percent: f64,
}

pub(super) fn run(args: &TrainArgs) -> Result<ExitCode, Failure> {
    let settings = settings(args)?;
    settings.validate()?;
    let system = args.system.system()?;
    let progress = Progress::new("training, parts", ANY_PROGRESS);
    let started = Instant::now();
    let policy = train_any_policy(&system, &settings, || progress.step())?;
    let train_seconds = started.elapsed().as_secs_f64();
    progress.finish();
    save(&args.out, &any_to_bytes(&policy).map_err(Failure::input)?)?;
    let record = policy.record();
    let report = Report {
        model: args.out.display().to_string(),
        training: &settings,
        train_seconds,
        ranges: &record.ranges,
        availability: record.metrics.availability,
        gap_percent: record.metrics.gap_percent,
    };
    let mut out = output::stdout();
    if args.json {
        output::json(&mut out, &report)?;
    } else {
        writeln!(
            out,
            "{}: {} steps at K = {:?} in {train_seconds:.1} s",
            report.model, settings.steps, settings.train_k
        )?;
        writeln!(
            out,
            "validation: {:.2} % of users meet ε = {}; bandwidth {:.4} % over the optimum",
            100.0 * report.availability,
            system.service().epsilon,
            report.gap_percent
        )?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn settings(args: &TrainArgs) -> Result<AnySettings, Failure> {
    let stray = [
        ("--epsilon-d", args.epsilon_d.is_some()),
        ("--aggregator", args.aggregator.is_some()),
        ("--preset", args.preset.is_some()),
        ("--pretraining", args.pretraining.is_some()),
    ];
    if let Some((flag, _)) = stray.iter().find(|flag| flag.1) {
        return Err(Failure::input(format!(
            "{flag}: has no meaning for --method any-gnn; leave it out, or choose another method"
        )));
    }
    let output = match args.output {
        None | Some(OutputArg::Kkt) => SplitRule::Kkt,
        Some(OutputArg::Softmax) => SplitRule::Softmax,
        Some(_) => return Err(Failure::input("--output: expected kkt or softmax for any-gnn")),
    };
    let ranges = match args.train_ranges.unwrap_or(RangesArg::Paper) {
        RangesArg::Paper => TrainRanges::Paper,
        RangesArg::Wide => TrainRanges::Wide,
    };
    let mut settings = AnySettings::preset(ranges, output, args.seed);
    (settings.train_k, settings.samples) = args.cells();
    Ok(settings)
}
