//! Training of any-gnn for URLLC, with a law of fading or with samples of it: seconds, without checkpoints.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use anyk::System;
use anyk::exchange::read_fading_samples;
use anyk::network::SplitRule;
use anyk::problems::urllc::any_to_bytes;
use anyk::problems::urllc::{
    ANY_PROGRESS, AnySettings, DEVIATIONS, LEARN_PROGRESS, PretrainLoss, SampledSettings,
    TrainRanges, TrainedRanges,
};
use anyk::problems::urllc::{AnyPolicy, SampledRecord};
use anyk::problems::urllc::{train_any_policy, train_sampled_policy};
use serde::Serialize;

use crate::args::{OutputArg, Pretraining, RangesArg, TrainArgs};
use crate::commands::train::save;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::{input, output};

#[derive(Serialize)]
struct Report<'a> {
    model: String,
    training: &'a AnySettings,
    train_seconds: f64,
    ranges: &'a TrainedRanges,
    /// On a validation set of the training sizes, in the cell's own ranges; under the law of the samples if
    /// there is no other.
    availability: f64,
    gap_percent: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampled: Option<Sampled<'a>>,
}

#[derive(Serialize)]
struct Sampled<'a> {
    #[serde(flatten)]
    record: &'a SampledRecord,
    /// Largest relative standard error of the bandwidth, over the received powers learned.
    largest_standard_error: f64,
}

pub(super) fn run(args: &TrainArgs) -> Result<ExitCode, Failure> {
    let settings = settings(args)?;
    settings.validate()?;
    let system = args.system.system()?;
    let started = Instant::now();
    let policy = match &args.fading {
        Some(file) => from_samples(args, file, &system, &settings)?,
        None => {
            let progress = Progress::new("training, parts", ANY_PROGRESS);
            let policy = train_any_policy(&system, &settings, || progress.step())?;
            progress.finish();
            policy
        }
    };
    let train_seconds = started.elapsed().as_secs_f64();
    save(&args.out, &any_to_bytes(&policy).map_err(Failure::input)?)?;
    let record = policy.record();
    let errors = policy.bandwidth().map_or(&[][..], |bandwidth| &bandwidth.errors);
    let report = Report {
        model: args.out.display().to_string(),
        training: &settings,
        train_seconds,
        ranges: &record.ranges,
        availability: record.metrics.availability,
        gap_percent: record.metrics.gap_percent,
        sampled: record.sampled.as_ref().map(|record| Sampled {
            record,
            largest_standard_error: errors
                .iter()
                .fold(0.0, |most, point| most.max(point.standard_error)),
        }),
    };
    output::report(args.json, &report, |out| {
        writeln!(
            out,
            "{}: {} steps at K = {:?} in {train_seconds:.1} s",
            report.model, settings.steps, settings.train_k
        )?;
        if let Some(Sampled { record, largest_standard_error }) = &report.sampled {
            writeln!(
                out,
                "bandwidth from {} samples of fading: its standard error is at most {:.2} %, and {} of them are \
                 added; judge it with `anyk evaluate --fading`",
                record.samples,
                100.0 * largest_standard_error,
                record.deviations
            )?;
        }
        writeln!(
            out,
            "validation{}: {:.2} % of users meet ε = {}; bandwidth {:.4} % over the optimum",
            if report.sampled.is_some() { ", under the law of the samples" } else { "" },
            100.0 * report.availability,
            system.service().epsilon,
            report.gap_percent
        )
    })
}

/// Learns the bandwidth from samples of fading first.
fn from_samples(
    args: &TrainArgs,
    file: &str,
    system: &System,
    settings: &AnySettings,
) -> Result<AnyPolicy, Failure> {
    let deviations = args.deviations.unwrap_or(DEVIATIONS);
    if !(0.0..=100.0).contains(&deviations) {
        let message = format!("--deviations is {deviations}, expected a number from 0 to 100");
        return Err(Failure::input(message));
    }
    let samples = read_fading_samples(&input::read(file)?, input::name(file))?;
    let loss = match args.pretraining.unwrap_or(Pretraining::Supervised) {
        Pretraining::Supervised => PretrainLoss::Supervised,
        Pretraining::Unsupervised => PretrainLoss::Unsupervised,
    };
    let learning = SampledSettings::new(loss, args.seed);
    let progress = Progress::new("training, parts", LEARN_PROGRESS + ANY_PROGRESS);
    let step = || progress.step();
    let policy = train_sampled_policy(system, &samples, &learning, settings, deviations, step)?;
    progress.finish();
    Ok(policy)
}

fn settings(args: &TrainArgs) -> Result<AnySettings, Failure> {
    let stray = [
        ("--epsilon-d", args.epsilon_d.is_some()),
        ("--aggregator", args.aggregator.is_some()),
        ("--preset", args.preset.is_some()),
        ("--pretraining", args.pretraining.is_some() && args.fading.is_none()),
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
        RangesArg::Wide if args.fading.is_some() => {
            return Err(Failure::input(
                "--train-ranges wide: with --fading the bandwidth of one service class is learned, in one cell; \
                 expected paper",
            ));
        }
        RangesArg::Wide => TrainRanges::Wide,
    };
    let mut settings = AnySettings::preset(ranges, output, args.seed);
    (settings.train_k, settings.samples) = args.cells();
    Ok(settings)
}
