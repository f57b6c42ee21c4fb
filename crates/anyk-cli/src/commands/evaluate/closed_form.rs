//! Distance of a learned policy of qos-power or equal-bandwidth to the closed form.

use std::io::Write;
use std::process::ExitCode;

use anyk::problems::closed_forms::ClosedForm;
use anyk::problems::closed_forms::ClosedFormPolicy;
use anyk::problems::closed_forms::{ClosedFormResult, evaluate_closed_form};
use serde::Serialize;

use crate::args::{CellsArgs, EvaluateArgs};
use crate::failure::Failure;
use crate::output;

#[derive(Serialize)]
struct Evaluation {
    problem: ClosedForm,
    samples: u64,
    seed: u64,
    sizes: Vec<ClosedFormResult>,
}

pub(super) fn run(args: &EvaluateArgs, policy: &ClosedFormPolicy) -> Result<ExitCode, Failure> {
    let CellsArgs { k, samples, seed, json } = &args.cells;
    let sizes = evaluate_closed_form(policy, k, *samples, *seed)?;
    let problem = policy.record().training.problem;
    let mut out = output::stdout();
    if *json {
        output::json(&mut out, &Evaluation { problem, samples: *samples, seed: *seed, sizes })?;
    } else {
        let percent = |value: Option<f64>| value.map_or("–".into(), |v| format!("{v:.3}"));
        let (header, rows): (&[&str], Vec<Vec<String>>) = match problem {
            ClosedForm::QosPower { .. } => {
                let row = |row: &ClosedFormResult| {
                    vec![row.k.to_string(), percent(row.power_error_percent)]
                };
                (&["K", "power off by (%)"], sizes.iter().map(row).collect())
            }
            ClosedForm::EqualBandwidth { .. } => {
                let row = |row: &ClosedFormResult| {
                    vec![
                        row.k.to_string(),
                        percent(row.total_variation_percent),
                        row.bandwidth_gap_percent.map_or("–".into(), |gap| format!("{gap:+.3}")),
                        percent(row.bandwidth_error_percent),
                        row.infeasible.unwrap_or(0).to_string(),
                    ]
                };
                let header = &[
                    "K",
                    "power, total variation (%)",
                    "bandwidth, mean gap (%)",
                    "off by (%)",
                    "infeasible",
                ];
                (header, sizes.iter().map(row).collect())
            }
        };
        writeln!(out, "{}", output::table(header, rows))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
