//! `anyk calibrate`.

use std::io::Write;
use std::process::ExitCode;

use anyk::framework::Guarantee;
use anyk::problems::urllc::{CalibrationError, CalibrationSettings, calibrate};
use anyk::problems::urllc::{Model, any_to_bytes, model_to_bytes};
use serde::Serialize;

use crate::args::CalibrateArgs;
use crate::commands::train::save;
use crate::failure::Failure;
use crate::{input, output};

#[derive(Serialize)]
struct Report {
    model: String,
    guarantee: Option<Guarantee>,
}

pub(crate) fn run(args: &CalibrateArgs) -> Result<ExitCode, Failure> {
    let settings = CalibrationSettings {
        k: args.k.clone(),
        cells: args.cells,
        beta: args.beta,
        delta: args.delta,
        seed: args.seed,
        shrink: args.shrink,
    };
    let fading = args.judge.fading.as_deref();
    let fail = |error: CalibrationError| Failure::input(format!("{}: {error}", args.model));
    let (bytes, guarantee) = match input::model(&args.model)? {
        Model::Urllc(policy) => {
            input::refuse_fading(fading, &args.model)?;
            let policy = calibrate(policy.as_ref(), None, &settings).map_err(fail)?;
            (model_to_bytes(&policy), policy.record().guarantee.clone())
        }
        Model::Any(policy) => {
            let judge = input::judge_of(&policy, fading, &args.model, policy.system())?;
            let policy = calibrate(policy.as_ref(), judge.as_ref(), &settings).map_err(fail)?;
            (any_to_bytes(&policy), policy.record().guarantee.clone())
        }
        Model::ClosedForm(_) | Model::Power(_) => {
            return Err(Failure::input(format!(
                "{}: has no loss target, and so nothing to calibrate; expected a model of p-gnn, m-gnn, fnn or \
                 any-gnn",
                args.model
            )));
        }
    };
    save(&args.out, &bytes.map_err(Failure::input)?)?;
    let report = Report { model: args.out.display().to_string(), guarantee };
    output::report(args.json, &report, |out| {
        report.guarantee.iter().try_for_each(|guarantee| writeln!(out, "{}", sentence(guarantee)))
    })
}

/// What a guarantee says.
pub(crate) fn sentence(guarantee: &Guarantee) -> String {
    let Guarantee { margin, beta, delta, k, cells, fading, .. } = guarantee;
    let under = fading.as_ref().map_or(String::new(), |fading| format!(" under {fading}"));
    let sizes: Vec<String> = k.iter().map(usize::to_string).collect();
    format!(
        "guarantee: at K = {}{under}, at most {} % of users miss their QoS, at a confidence of {} % over the \
         {cells} calibration cells; bandwidths times {margin:.6}",
        sizes.join(", "),
        percent(*beta),
        percent(1.0 - delta)
    )
}

/// Without zeros that say nothing.
fn percent(share: f64) -> String {
    let digits = format!("{:.4}", 100.0 * share);
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}
