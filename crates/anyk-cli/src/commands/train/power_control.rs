//! Training of powers or schedules for interference networks.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use anyk::network::EdgeGnn;
use anyk::problems::interference::PowerOutput;
use anyk::problems::interference::{PASSES, finish_power};
use anyk::problems::interference::{PowerLoss, PowerTrainSettings, PowerTrainer};
use anyk::problems::interference::{
    power_checkpoint_from_bytes, power_checkpoint_to_bytes, power_to_bytes,
};
use serde::Serialize;

use crate::args::{OutputArg, ProblemArg, TrainArgs};
use crate::commands::train::checkpoint::{self, Checkpoint};
use crate::commands::train::save;
use crate::failure::Failure;
use crate::link_args::{LabelsArg, ScenarioArg};
use crate::output;
use crate::progress::Progress;

/// Steps between looks at the clock.
const STEPS_AT_ONCE: u64 = 100;

#[derive(Serialize)]
struct Report<'a> {
    model: String,
    training: &'a PowerTrainSettings,
    output: PowerOutput,
    train_seconds: f64,
    resumed_at_step: u64,
    /// Sum rate over that of WMMSE, on a validation set of the training size.
    sum_rate_percent: f64,
}

pub(super) fn run(args: &TrainArgs) -> Result<ExitCode, Failure> {
    let (settings, shown_as) = settings(args)?;
    settings.validate()?;
    let checkpoint = Checkpoint::beside(&args.out);
    let started = Instant::now();
    let mut trainer = PowerTrainer::new(&settings)?;
    let saved =
        checkpoint.load(|bytes| power_checkpoint_from_bytes(bytes, &settings), |state| state.step);
    if let Some(state) = saved
        && !trainer.resume(state)
    {
        checkpoint.unfit();
    }
    let resumed_at_step = trainer.state().step;
    advance(&mut trainer, &checkpoint)?;
    let train_seconds = started.elapsed().as_secs_f64();
    let policy = finish_power(&trainer, shown_as).map_err(Failure::input)?;
    save(&args.out, &power_to_bytes(&policy).map_err(Failure::input)?)?;
    checkpoint.remove();
    let report = Report {
        model: args.out.display().to_string(),
        training: &settings,
        output: shown_as,
        train_seconds,
        resumed_at_step,
        sum_rate_percent: policy.record().sum_rate_percent,
    };
    output::report(args.json, &report, |out| {
        writeln!(
            out,
            "{}: {} steps at K = {} ({}) in {train_seconds:.1} s",
            report.model,
            settings.steps,
            settings.train_k,
            settings.scenario.name()
        )?;
        writeln!(
            out,
            "validation, output {}: {:.2} % of the sum rate of WMMSE",
            shown_as.name(),
            report.sum_rate_percent
        )
    })
}

fn settings(args: &TrainArgs) -> Result<(PowerTrainSettings, PowerOutput), Failure> {
    let problem = args.problem;
    problem.refuse(&args.system.flags())?;
    problem.refuse(&args.rate.flags())?;
    problem.refuse(&[
        ("--method", args.method.is_some()),
        ("--epsilon-d", args.epsilon_d.is_some()),
        ("--preset", args.preset.is_some()),
        ("--pretraining", args.pretraining.is_some()),
    ])?;
    let scenario = args.links.scenario.unwrap_or(ScenarioArg::Dense).into();
    let mut settings = PowerTrainSettings::preset(scenario, args.seed);
    match args.train_k.as_slice() {
        [] => (),
        [size] => settings.train_k = *size,
        _ => return Err(Failure::input("--train-k: expected one size for this problem")),
    }
    settings.samples = args.samples.unwrap_or(settings.samples);
    settings.steps = args.links.steps.unwrap_or(settings.steps);
    let network = settings.network;
    settings = settings.with_network(EdgeGnn {
        aggregator: args.aggregator.map_or(network.aggregator, Into::into),
        hidden: args.links.hidden.unwrap_or(network.hidden),
        rounds: args.links.rounds.unwrap_or(network.rounds),
    });
    settings.loss = match args.links.labels.unwrap_or(LabelsArg::None) {
        LabelsArg::None => PowerLoss::SumRate,
        LabelsArg::Wmmse => PowerLoss::Wmmse,
        LabelsArg::Fplinq => PowerLoss::Fplinq,
    };
    let scheduling = problem == ProblemArg::LinkScheduling;
    let ranked = PowerOutput::Ranked { passes: PASSES };
    let output = match args.output {
        None if scheduling
            || settings.scenario == anyk::problems::interference::Scenario::Dense =>
        {
            ranked
        }
        None | Some(OutputArg::Priced) => PowerOutput::Priced { steps: 1 },
        Some(OutputArg::Sigmoid) => PowerOutput::Sigmoid,
        Some(OutputArg::Classifier) => PowerOutput::Classifier,
        Some(OutputArg::Ranked) => ranked,
        Some(OutputArg::Kkt | OutputArg::Softmax | OutputArg::SumNormalisation) => {
            let message = "--output: expected sigmoid, classifier, ranked or priced";
            return Err(Failure::input(message));
        }
    };
    if scheduling && !output.is_schedule() {
        return Err(Failure::input(format!(
            "--output {}: its powers are no schedule; expected classifier or ranked, or --problem \
             interference",
            output.name()
        )));
    }
    Ok((settings, output))
}

fn advance(trainer: &mut PowerTrainer, checkpoint: &Checkpoint) -> Result<(), Failure> {
    let blocks = trainer.settings().steps.div_ceil(STEPS_AT_ONCE);
    let progress = Progress::new("training, hundreds of steps", blocks);
    progress.skip(trainer.state().step / STEPS_AT_ONCE);
    let mut saved = Instant::now();
    while !trainer.is_done() {
        trainer.advance(STEPS_AT_ONCE)?;
        progress.step();
        if saved.elapsed() > checkpoint::EVERY {
            checkpoint.save(power_checkpoint_to_bytes(trainer.settings(), trainer.state()))?;
            saved = Instant::now();
        }
    }
    progress.finish();
    Ok(())
}
