//! Learning from samples of fading whose law is unknown.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use anyk::evaluation::train_sampled;
use anyk::exchange::{read_fading_samples, sampled_to_bytes};
use anyk::training::{PretrainLoss, SampledSettings};
use serde::Serialize;

use crate::args::{Pretraining, TrainArgs};
use crate::commands::train::save;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::{input, output};

/// Standard errors added to what is learned, unless the command line says otherwise.
const DEVIATIONS: f64 = 4.0;

#[derive(Serialize)]
struct Report {
    model: String,
    samples: usize,
    training: SampledSettings,
    deviations: f64,
    train_seconds: f64,
    /// Largest relative standard error of the bandwidth, over the received powers learned.
    largest_standard_error: f64,
}

pub(super) fn run(args: &TrainArgs) -> Result<ExitCode, Failure> {
    args.problem.refuse(&args.rate.flags())?;
    args.problem.refuse(&args.links.flags())?;
    // One function of one variable is learned: there are no cells, no networks over users, no outer function.
    let given = [
        ("--method", args.method.is_some()),
        ("--train-k", !args.train_k.is_empty()),
        ("--samples", args.samples.is_some()),
        ("--epsilon-d", args.epsilon_d.is_some()),
        ("--aggregator", args.aggregator.is_some()),
        ("--preset", args.preset.is_some()),
        ("--output", args.output.is_some()),
    ];
    if let Some((flag, _)) = given.iter().find(|flag| flag.1) {
        return Err(Failure::input(format!("{flag}: has no meaning with --fading; leave it out")));
    }
    let deviations = args.deviations.unwrap_or(DEVIATIONS);
    if !(0.0..=100.0).contains(&deviations) {
        let message = format!("--deviations is {deviations}, expected a number from 0 to 100");
        return Err(Failure::input(message));
    }
    let system = args.system.system()?;
    let file = args.fading.as_deref().unwrap_or_default();
    let samples = read_fading_samples(&input::read(file)?, input::name(file))?;
    let loss = match args.pretraining.unwrap_or(Pretraining::Supervised) {
        Pretraining::Supervised => PretrainLoss::Supervised,
        Pretraining::Unsupervised => PretrainLoss::Unsupervised,
    };
    let training = SampledSettings::new(loss, args.seed);
    let started = Instant::now();
    let progress = Progress::new("training, percent", 100);
    let policy = train_sampled(&system, &samples, &training, deviations, || progress.step())?;
    progress.finish();
    let train_seconds = started.elapsed().as_secs_f64();
    save(&args.out, &sampled_to_bytes(&policy).map_err(Failure::input)?)?;
    let errors = policy.bandwidth().errors.iter();
    let report = Report {
        model: args.out.display().to_string(),
        samples: samples.as_slice().len(),
        training,
        deviations,
        train_seconds,
        largest_standard_error: errors.fold(0.0, |most, point| most.max(point.standard_error)),
    };
    let mut out = output::stdout();
    if args.json {
        output::json(&mut out, &report)?;
    } else {
        writeln!(
            out,
            "{}: from {} samples in {:.1} s; standard error of the bandwidth at most {:.2} %, of which \
             {deviations} are added; judge it with `anyk evaluate --fading`",
            report.model,
            report.samples,
            report.train_seconds,
            100.0 * report.largest_standard_error
        )?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
