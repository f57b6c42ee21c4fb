//! Fading of unknown law: what is learned from samples, judged under the true law.

use anyk::channel::{FadingLaw, FadingSamples};
use anyk::evaluation::{
    SizeResult, TestSet, bandwidth_errors, draw_fading, train_sampled, true_bandwidth,
};
use anyk::paper::TEST_SEED;
use anyk::policy::SampledPolicy;
use anyk::solver::BandwidthTable;
use anyk::training::{PretrainLoss, SampledSettings};
use rayon::prelude::*;

use super::Lab;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::report::Table;

const SIZES: [usize; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
const COUNTS: [usize; 3] = [500, 2000, 10_000];
/// Cells of each size.
const TEST_CELLS: u64 = 20;
/// Received powers at which `b̂` is compared with `b`, W.
const RECEIVED_W: [f64; 7] = [2e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 2e-9];
/// Standard errors that are added to `b̂` in the tables, and in the trade-off.
const DEVIATIONS: f64 = 4.0;
const TRADE_OFF: [f64; 7] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
/// Samples of the paper, for which the trade-off is shown.
const PAPER_COUNT: usize = 2000;
/// Share of the samples that the smoothed variant replaces.
const SMOOTHED: f64 = 0.1;

/// How `b̂` is learned.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Supervised,
    Smoothed,
    Unsupervised,
}

impl Way {
    const ALL: [Self; 3] = [Self::Supervised, Self::Smoothed, Self::Unsupervised];

    fn name(self) -> &'static str {
        match self {
            Self::Supervised => "supervised",
            Self::Smoothed => "supervised, smoothed tail",
            Self::Unsupervised => "unsupervised",
        }
    }

    fn settings(self, seed: u64) -> SampledSettings {
        let new = SampledSettings::new;
        match self {
            Self::Supervised => new(PretrainLoss::Supervised, seed),
            Self::Smoothed => {
                SampledSettings { smoothed_share: SMOOTHED, ..new(PretrainLoss::Supervised, seed) }
            }
            Self::Unsupervised => new(PretrainLoss::Unsupervised, seed),
        }
    }
}

/// One law, with the truth about it.
struct Truth {
    law: FadingLaw,
    table: BandwidthTable,
    test: TestSet,
}

/// One draw of samples, learned from.
struct Run {
    errors: Vec<f64>,
    plain: Vec<SizeResult>,
    widened: Vec<SizeResult>,
    policy: SampledPolicy,
}

pub(super) fn tables(lab: &Lab) -> Result<Vec<Table>, Failure> {
    let repetitions = if lab.full { 10 } else { 4 };
    let count = FadingLaw::SHOWN.len() * COUNTS.len() * Way::ALL.len();
    let progress = Progress::new("fading, trainings", count as u64 * repetitions);
    let (mut errors, mut trade_off, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    for law in FadingLaw::SHOWN {
        let rule = lab.system.fading_rule(&law);
        let test = TestSet::draw_under(&lab.system, Some(&rule), &SIZES, TEST_CELLS, TEST_SEED)?;
        let truth = Truth { law, table: true_bandwidth(&lab.system, &law)?, test };
        for samples in COUNTS {
            for way in Way::ALL {
                let runs = (0..repetitions)
                    .into_par_iter()
                    .map(|repetition| {
                        let run = learn(lab, &truth, samples, way, repetition)?;
                        progress.step();
                        Ok(run)
                    })
                    .collect::<Result<Vec<Run>, Failure>>()?;
                errors.push(error_row(&truth, samples, way, &runs));
                if samples == PAPER_COUNT && way != Way::Smoothed {
                    trade_off.push(trade_off_row(&truth, way, &runs)?);
                    sizes.extend(size_rows(&truth, way, &runs));
                }
            }
        }
    }
    progress.finish();
    let text = |columns: &[&str]| columns.iter().map(|&column| column.to_owned()).collect();
    let mut by_size: Vec<String> = text(&["law", "b̂", ""]);
    by_size.extend(SIZES.map(|k| format!("K = {k}")));
    let mut by_deviations: Vec<String> = text(&["law", "b̂"]);
    by_deviations.extend(TRADE_OFF.map(|deviations| format!("{deviations} σ")));
    Ok(vec![
        Table {
            name: "fading".into(),
            title: "Fading of unknown law: b̂ learned from samples, judged under the true law"
                .into(),
            note: format!(
                "{repetitions} draws of the samples in each row. Error of b̂ against the exact b at seven received \
                 powers: its mean (bias), its standard deviation over draws, its largest. Availability (share of \
                 users whose QoS is met) and total bandwidth over the exact optimum: the worst of ten sizes from \
                 K = 1 to 1000, each a mean over draws and {TEST_CELLS} cells, with b̂ as it is and with \
                 {DEVIATIONS} standard errors added, which the samples themselves give."
            ),
            columns: text(&[
                "law",
                "samples",
                "b̂",
                "bias (%)",
                "spread (%)",
                "largest (%)",
                "availability, plain",
                "over (%), plain",
                "availability, widened",
                "over (%), widened",
            ]),
            rows: errors,
            chart: None,
        },
        Table {
            name: "fading-trade-off".into(),
            title: format!("{PAPER_COUNT} samples: availability against bandwidth"),
            note: format!(
                "Worst availability over the sizes, and in brackets the largest bandwidth over the optimum in \
                 percent, by the number of standard errors added to b̂. {repetitions} draws: an availability that \
                 is short of 1 by 1/{repetitions} says that one draw of them misses all of its users, since all \
                 users share one b̂."
            ),
            columns: by_deviations,
            rows: trade_off,
            chart: None,
        },
        Table {
            name: "fading-sizes".into(),
            title: format!("{PAPER_COUNT} samples, {DEVIATIONS} standard errors added: by size"),
            note: "Availability, and total bandwidth over the exact optimum in percent.".into(),
            columns: by_size,
            rows: sizes,
            chart: None,
        },
    ])
}

fn learn(
    lab: &Lab,
    truth: &Truth,
    samples: usize,
    way: Way,
    repetition: u64,
) -> Result<Run, Failure> {
    let seed = 1000 + repetition;
    // The same samples for each way to learn from them.
    let gains = draw_fading(&lab.system, &truth.law, samples, seed ^ samples as u64);
    let gains = FadingSamples::new(gains).map_err(Failure::input)?;
    let policy = train_sampled(&lab.system, &gains, &way.settings(seed), 0.0, || ())?;
    let errors = bandwidth_errors(policy.bandwidth(), &truth.table, &RECEIVED_W);
    let plain = truth.test.evaluate_sampled(&policy).map_err(Failure::input)?;
    let widened = widened(truth, &policy, DEVIATIONS)?;
    Ok(Run { errors, plain, widened, policy })
}

fn widened(
    truth: &Truth,
    policy: &SampledPolicy,
    deviations: f64,
) -> Result<Vec<SizeResult>, Failure> {
    let wide = policy.with_deviations(deviations).map_err(Failure::input)?;
    truth.test.evaluate_sampled(&wide).map_err(Failure::input)
}

/// Mean over runs of a figure at each size.
fn means(runs: &[&[SizeResult]], figure: fn(&SizeResult) -> f64) -> Vec<f64> {
    let count = runs.len().max(1) as f64;
    (0..SIZES.len())
        .map(|size| runs.iter().map(|run| figure(&run[size])).sum::<f64>() / count)
        .collect()
}

/// Worst availability and largest gap over the sizes.
fn worst(runs: &[&[SizeResult]]) -> (f64, f64) {
    let availability = means(runs, |result| result.availability);
    let gap = means(runs, |result| result.gap_percent);
    (
        availability.into_iter().fold(1.0, f64::min),
        gap.into_iter().fold(f64::NEG_INFINITY, f64::max),
    )
}

fn error_row(truth: &Truth, samples: usize, way: Way, runs: &[Run]) -> Vec<String> {
    let count = runs.len() as f64;
    let places = RECEIVED_W.len();
    let mean_at = |place: usize| runs.iter().map(|run| run.errors[place]).sum::<f64>() / count;
    let bias = (0..places).map(mean_at).sum::<f64>() / places as f64;
    let squares = (0..places)
        .flat_map(|place| runs.iter().map(move |run| (run.errors[place] - mean_at(place)).powi(2)));
    let spread = (squares.sum::<f64>() / (places as f64 * (count - 1.0).max(1.0))).sqrt();
    let largest = runs.iter().flat_map(|run| &run.errors).fold(0.0f64, |most, e| most.max(e.abs()));
    let plain: Vec<&[SizeResult]> = runs.iter().map(|run| &run.plain[..]).collect();
    let wide: Vec<&[SizeResult]> = runs.iter().map(|run| &run.widened[..]).collect();
    let (plain, wide) = (worst(&plain), worst(&wide));
    vec![
        truth.law.to_string(),
        samples.to_string(),
        way.name().to_owned(),
        format!("{:+.3}", 100.0 * bias),
        format!("{:.3}", 100.0 * spread),
        format!("{:.3}", 100.0 * largest),
        format!("{:.4}", plain.0),
        format!("{:+.2}", plain.1),
        format!("{:.4}", wide.0),
        format!("{:+.2}", wide.1),
    ]
}

fn trade_off_row(truth: &Truth, way: Way, runs: &[Run]) -> Result<Vec<String>, Failure> {
    let mut row = vec![truth.law.to_string(), way.name().to_owned()];
    for deviations in TRADE_OFF {
        let results = runs
            .par_iter()
            .map(|run| widened(truth, &run.policy, deviations))
            .collect::<Result<Vec<_>, Failure>>()?;
        let results: Vec<&[SizeResult]> = results.iter().map(Vec::as_slice).collect();
        let (availability, gap) = worst(&results);
        row.push(format!("{availability:.4} ({gap:+.2})"));
    }
    Ok(row)
}

fn size_rows(truth: &Truth, way: Way, runs: &[Run]) -> [Vec<String>; 2] {
    let wide: Vec<&[SizeResult]> = runs.iter().map(|run| &run.widened[..]).collect();
    let row = |name: &str, cells: Vec<String>| {
        let mut row = vec![truth.law.to_string(), way.name().to_owned(), name.to_owned()];
        row.extend(cells);
        row
    };
    let availability = means(&wide, |result| result.availability);
    let gap = means(&wide, |result| result.gap_percent);
    [
        row("availability", availability.iter().map(|value| format!("{value:.4}")).collect()),
        row("over (%)", gap.iter().map(|value| format!("{value:+.2}")).collect()),
    ]
}
