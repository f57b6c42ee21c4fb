//! Sum rate of a learned policy for interference networks, beside WMMSE.

use std::io::Write;
use std::process::ExitCode;

use anyk::problems::interference::PowerPolicy;
use anyk::problems::interference::{PowerSizeResult, power_over_sizes};
use serde::Serialize;

use crate::args::{CellsArgs, EvaluateArgs};
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;

#[derive(Serialize)]
struct Evaluation {
    scenario: &'static str,
    output: &'static str,
    samples: u64,
    seed: u64,
    sizes: Vec<Size>,
}

/// One size. Percentages are of the mean sum rate of WMMSE.
#[derive(Serialize)]
struct Size {
    k: usize,
    sum_rate_bits: f64,
    sum_rate_percent: f64,
    wmmse_bits: f64,
    fplinq_percent: f64,
    greedy_percent: f64,
    greedy_improved_percent: f64,
    exact_percent: Option<f64>,
    power_share: f64,
    wmmse_power_share: f64,
}

impl Size {
    fn new(result: &PowerSizeResult) -> Self {
        let policy = result.policies[0];
        Self {
            k: result.k,
            sum_rate_bits: policy.sum_rate_bits,
            sum_rate_percent: policy.sum_rate_percent,
            wmmse_bits: result.wmmse_bits,
            fplinq_percent: result.fplinq_percent,
            greedy_percent: result.greedy_percent,
            greedy_improved_percent: result.greedy_improved_percent,
            exact_percent: result.exact_percent,
            power_share: policy.power_share,
            wmmse_power_share: result.wmmse_power_share,
        }
    }
}

pub(super) fn run(args: &EvaluateArgs, policy: &PowerPolicy) -> Result<ExitCode, Failure> {
    let CellsArgs { k, samples, seed, json } = &args.cells;
    let record = policy.record();
    if let Some(size) = k.iter().find(|&&size| size > 4000) {
        return Err(Failure::input(format!(
            "--k {size}: a network of so many links has {} gains, expected at most 4000 links",
            size * size
        )));
    }
    let progress = Progress::new("networks", samples * k.len() as u64);
    let policies = std::slice::from_ref(policy);
    let results =
        power_over_sizes(&record.training.scenario, policies, k, *samples, *seed, || {
            progress.step();
        })?;
    progress.finish();
    let sizes: Vec<Size> = results.iter().map(Size::new).collect();
    let mut out = output::stdout();
    if *json {
        let (scenario, output) = (record.training.scenario.name(), record.output.name());
        let evaluation = Evaluation { scenario, output, samples: *samples, seed: *seed, sizes };
        output::json(&mut out, &evaluation)?;
    } else {
        let percent = |value: f64| format!("{value:.2}");
        let rows = sizes.iter().map(|size| {
            vec![
                size.k.to_string(),
                percent(size.sum_rate_percent),
                format!("{:.4}", size.sum_rate_bits),
                format!("{:.4}", size.wmmse_bits),
                percent(size.fplinq_percent),
                percent(size.greedy_percent),
                percent(size.greedy_improved_percent),
                size.exact_percent.map_or("–".to_owned(), percent),
            ]
        });
        let header = [
            "K",
            "of WMMSE (%)",
            "sum rate (bit/s/Hz)",
            "WMMSE",
            "FPLinQ (%)",
            "greedy (%)",
            "improved (%)",
            "best schedule (%)",
        ];
        writeln!(out, "{}", output::table(&header, rows))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
