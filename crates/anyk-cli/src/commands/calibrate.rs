//! `anyk calibrate`.

use std::io::Write;
use std::process::ExitCode;

use anyk::evaluation::{CalibrationSettings, calibrate};
use anyk::exchange::{Model, model_to_bytes};
use anyk::policy::Guarantee;
use serde::Serialize;

use crate::args::CalibrateArgs;
use crate::commands::train::save;
use crate::failure::Failure;
use crate::{input, output};

#[derive(Serialize)]
struct Report<'a> {
    model: String,
    guarantee: &'a Guarantee,
}

pub(crate) fn run(args: &CalibrateArgs) -> Result<ExitCode, Failure> {
    let Model::Urllc(policy) = input::model(&args.model)? else {
        return Err(Failure::input(format!(
            "{}: not a p-gnn, m-gnn or fnn for URLLC, which are the models that are calibrated",
            args.model
        )));
    };
    let settings = CalibrationSettings {
        k: args.k.clone(),
        cells: args.cells,
        beta: args.beta,
        delta: args.delta,
        seed: args.seed,
        shrink: args.shrink,
    };
    let calibrated = calibrate(&policy, &settings)
        .map_err(|error| Failure::input(format!("{}: {error}", args.model)))?;
    save(&args.out, &model_to_bytes(&calibrated).map_err(Failure::input)?)?;
    let Some(guarantee) = &calibrated.record().guarantee else {
        return Ok(ExitCode::SUCCESS);
    };
    let mut out = output::stdout();
    if args.json {
        let model = args.out.display().to_string();
        output::json(&mut out, &Report { model, guarantee })?;
    } else {
        writeln!(out, "{}", sentence(guarantee))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// What a guarantee says.
pub(crate) fn sentence(guarantee: &Guarantee) -> String {
    let Guarantee { margin, beta, delta, k, cells, .. } = guarantee;
    let sizes: Vec<String> = k.iter().map(usize::to_string).collect();
    format!(
        "guarantee: at K = {}, at most {:.4} % of users miss their QoS, at a confidence of {:.4} % over the \
         {cells} calibration cells; bandwidths times {margin:.6}",
        sizes.join(", "),
        100.0 * beta,
        100.0 * (1.0 - delta)
    )
}
