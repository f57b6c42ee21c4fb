//! Training for URLLC: the paper's Algorithm 1.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use anyk::System;
use anyk::framework::Recipe;
use anyk::network::BandwidthLaw;
use anyk::problems::urllc::{
    Method, PretrainLoss, PretrainSettings, RelativeError, TrainSettings, Trainer, measure_law,
};
use anyk::problems::urllc::{checkpoint_from_bytes, checkpoint_to_bytes, model_to_bytes};
use anyk::problems::urllc::{finish, law_for};
use serde::Serialize;

use crate::args::{Preset, Pretraining, TrainArgs};
use crate::commands::train::checkpoint::{self, Checkpoint};
use crate::commands::train::save;
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;

/// Steps between looks at the clock.
const STEPS_AT_ONCE: u64 = 1000;

#[derive(Serialize)]
struct Report<'a> {
    model: String,
    training: &'a TrainSettings,
    pretrain_seconds: f64,
    train_seconds: f64,
    resumed_at_step: u64,
    /// Relative error of the outer function on held-out (α, K), for P-GNN.
    law_error: Option<RelativeError>,
    availability: f64,
    gap_percent: f64,
}

pub(super) fn run(args: &TrainArgs) -> Result<ExitCode, Failure> {
    args.problem.refuse(&[("--output", args.output.is_some())])?;
    let system = args.system.system()?;
    let settings = settings(args)?;
    settings.validate()?;
    let pretraining = PretrainSettings {
        loss: match args.pretraining.unwrap_or(Pretraining::Supervised) {
            Pretraining::Supervised => PretrainLoss::Supervised,
            Pretraining::Unsupervised => PretrainLoss::Unsupervised,
        },
        ..PretrainSettings::default()
    };
    let checkpoint = Checkpoint::beside(&args.out);
    let started = Instant::now();
    let pretrained = (settings.method == Method::PGnn).then_some(&pretraining);
    let saved = checkpoint
        .load(|bytes| checkpoint_from_bytes(bytes, &settings, pretrained), |saved| saved.1.step);
    let resumed_at_step = saved.as_ref().map_or(0, |saved| saved.1.step);
    let (law, state) = match saved {
        Some((law, state)) => (law, Some(state)),
        None => {
            let progress = Progress::new("pre-training, epochs", pretraining.epochs as u64);
            let law = law_for(&system, &settings, &pretraining, || progress.step())?;
            progress.finish();
            (law, None)
        }
    };
    let pretrain_seconds = started.elapsed().as_secs_f64();
    let mut trainer = Trainer::new(&system, &settings, law.as_ref())?;
    if let Some(state) = state
        && !trainer.resume(state)
    {
        checkpoint.unfit();
    }
    let started = Instant::now();
    advance(&mut trainer, &pretraining, law.as_ref(), &checkpoint)?;
    let train_seconds = started.elapsed().as_secs_f64();
    let policy = finish(&system, &trainer, &pretraining, law.as_ref())?;
    save(&args.out, &model_to_bytes(&policy).map_err(Failure::input)?)?;
    checkpoint.remove();
    let metrics = policy.record().metrics;
    // Held out: other cells than those of the pre-training, whose seed is the training's.
    let held_out = !settings.seed;
    let law_error = law
        .as_ref()
        .map(|law| measure_law(&system, settings.epsilon_d, law, &pretraining, held_out))
        .transpose()
        .map_err(Failure::input)?;
    let report = Report {
        model: args.out.display().to_string(),
        training: &settings,
        pretrain_seconds,
        train_seconds,
        resumed_at_step,
        law_error,
        availability: metrics.availability,
        gap_percent: metrics.gap_percent,
    };
    output::report(args.json, &report, |out| print(out, &report, &system))
}

fn settings(args: &TrainArgs) -> Result<TrainSettings, Failure> {
    let method = args.paper_method()?.unwrap_or(Method::PGnn);
    let (train_k, samples) = args.cells();
    let largest = train_k.iter().copied().max().unwrap_or(1);
    Ok(TrainSettings {
        method,
        train_k,
        samples,
        epsilon_d: args.epsilon_d.unwrap_or(6e-6),
        aggregator: args.users_aggregator(),
        hidden: if method == Method::Fnn { vec![300] } else { vec![4] },
        recipe: match args.preset.unwrap_or(Preset::Fast) {
            Preset::Fast => match method {
                Method::Fnn => Recipe::fast_fnn(),
                Method::PGnn | Method::MGnn => Recipe::fast(largest),
            },
            Preset::Paper => match method {
                Method::Fnn => Recipe::paper_fnn(),
                Method::PGnn | Method::MGnn => Recipe::paper(),
            },
        },
        seed: args.seed,
    })
}

fn advance(
    trainer: &mut Trainer,
    pretraining: &PretrainSettings,
    law: Option<&BandwidthLaw>,
    checkpoint: &Checkpoint,
) -> Result<(), Failure> {
    let blocks = trainer.settings().steps().div_ceil(STEPS_AT_ONCE);
    let progress = Progress::new("training, thousands of steps", blocks);
    progress.skip(trainer.state().step / STEPS_AT_ONCE);
    let mut saved = Instant::now();
    let mut attempt = trainer.state().attempt;
    while !trainer.is_done() {
        trainer.advance(STEPS_AT_ONCE)?;
        if trainer.state().attempt > attempt {
            attempt = trainer.state().attempt;
            eprintln!("the loss diverged; starting over from initialization {}", attempt + 1);
        }
        progress.step();
        if saved.elapsed() > checkpoint::EVERY {
            let law = law.map(|law| (pretraining, law));
            checkpoint.save(checkpoint_to_bytes(trainer.settings(), law, trainer.state()))?;
            saved = Instant::now();
        }
    }
    progress.finish();
    Ok(())
}

fn print(out: &mut impl Write, report: &Report<'_>, system: &System) -> io::Result<()> {
    writeln!(
        out,
        "{}: {} steps at K = {:?} in {:.1} s, after {:.1} s of pre-training",
        report.model,
        report.training.steps(),
        report.training.train_k,
        report.train_seconds,
        report.pretrain_seconds
    )?;
    if let Some(RelativeError { mean, percentile_99, max }) = report.law_error {
        writeln!(
            out,
            "outer function, held-out: off by {:.2} % on average, {:.2} % at the 99th percentile, {:.2} % at \
             most",
            100.0 * mean,
            100.0 * percentile_99,
            100.0 * max
        )?;
    }
    writeln!(
        out,
        "validation: {:.2} % of users meet ε = {}; bandwidth {:.2} % over the optimum",
        100.0 * report.availability,
        system.service().epsilon,
        report.gap_percent
    )
}
