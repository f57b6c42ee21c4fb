//! Training on the closed forms of qos-power and equal-bandwidth.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use anyk::network::Output;
use anyk::problems::closed_forms::closed_form_to_bytes;
use anyk::problems::closed_forms::train_closed_form;
use anyk::problems::closed_forms::{
    CLOSED_FORM_PROGRESS, ClosedForm, ClosedFormSettings, common_pretraining,
};
use anyk::problems::urllc::Method;
use serde::Serialize;

use crate::args::{OutputArg, TrainArgs};
use crate::commands::train::save;
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;

#[derive(Serialize)]
struct Report<'a> {
    model: String,
    training: &'a ClosedFormSettings,
    train_seconds: f64,
    /// On a validation set of the training sizes.
    power_error_percent: f64,
    bandwidth_error_percent: Option<f64>,
}

pub(super) fn run(args: &TrainArgs) -> Result<ExitCode, Failure> {
    let settings = settings(args)?;
    let system = args.system.system()?;
    settings.validate(&system)?;
    let networks = match settings.problem {
        ClosedForm::QosPower { .. } => 1,
        ClosedForm::EqualBandwidth { .. } => 2,
    };
    let epochs = if settings.method == Method::PGnn { common_pretraining().epochs } else { 0 };
    let parts = networks * CLOSED_FORM_PROGRESS + epochs as u64;
    let progress = Progress::new("training, parts", parts);
    let started = Instant::now();
    let policy = train_closed_form(&system, &settings, || progress.step())?;
    let train_seconds = started.elapsed().as_secs_f64();
    progress.finish();
    save(&args.out, &closed_form_to_bytes(&policy).map_err(Failure::input)?)?;
    let metrics = policy.record().metrics;
    let report = Report {
        model: args.out.display().to_string(),
        training: &settings,
        train_seconds,
        power_error_percent: metrics.power_error_percent,
        bandwidth_error_percent: metrics.bandwidth_error_percent,
    };
    output::report(args.json, &report, |out| {
        writeln!(
            out,
            "{}: {} steps for each network at K = {:?} in {train_seconds:.1} s",
            report.model, settings.steps, settings.train_k
        )?;
        write!(out, "validation: powers off by {:.3} %", report.power_error_percent)?;
        if let Some(percent) = report.bandwidth_error_percent {
            write!(out, ", bandwidth by {percent:.3} %")?;
        }
        writeln!(out)
    })
}

fn settings(args: &TrainArgs) -> Result<ClosedFormSettings, Failure> {
    args.problem.refuse(&args.links.flags())?;
    args.problem.refuse(&[
        ("--epsilon-d", args.epsilon_d.is_some()),
        ("--preset", args.preset.is_some()),
        ("--pretraining", args.pretraining.is_some()),
    ])?;
    let problem = args.rate.closed_form(args.problem, &args.system)?;
    let problem = problem.ok_or_else(|| Failure::input("--problem: expected a closed form"))?;
    if matches!(problem, ClosedForm::QosPower { .. }) {
        args.problem.refuse(&[("--output", args.output.is_some())])?;
    }
    let mut settings = ClosedFormSettings::new(problem, args.seed);
    (settings.train_k, settings.samples) = args.cells();
    settings.aggregator = args.users_aggregator();
    if let Some(method) = args.paper_method()? {
        settings.method = method;
    }
    if let Some(output) = args.output {
        settings.output = match output {
            OutputArg::Softmax => Output::Softmax,
            OutputArg::SumNormalisation => Output::SumNormalisation,
            _ => {
                let message = "--output: expected softmax or sum-normalisation for this problem";
                return Err(Failure::input(message));
            }
        };
    }
    Ok(settings)
}
