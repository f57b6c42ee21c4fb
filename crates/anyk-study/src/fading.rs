//! Unknown fading distributions: the price policy is learned from samples and judged under the true distribution.

use rayon::prelude::*;

use crate::entry::BASELINE;
use crate::{Lab, TEST_SEED};
use anyk::channel::{FadingLaw, FadingSamples};
use anyk::framework::{
    CancelOnly, Claim, Error, Holds, Observer, PretrainLoss, Session, Silent, Table, Value,
};
use anyk::problems::urllc::{
    CellPolicy as _, DEVIATIONS, EqualPower, PricePolicy, SampledSettings, SizeResult, TestSet,
    bandwidth_errors, draw_fading, train_sampled_policy, true_bandwidth,
};
use anyk::qos::BandwidthTable;
use anyk::row;

const SIZES: [usize; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
/// Numbers of gains: the minimum, 2,000, and those of the paper's 2,000 training samples with ten users each.
const COUNTS: [usize; 3] = [500, 2000, 20_000];
/// Numbers of gains for which the results by size and the trade-off are shown.
const SHOWN: [usize; 2] = [2000, 20_000];
/// Smallest size at which the policy is compared with equal power.
const LARGE: usize = 10;
/// Number of cells of each size.
const TEST_CELLS: u64 = 20;
/// Received powers, in W, at which `b̂` is compared with `b`.
const RECEIVED_W: [f64; 7] = [2e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 2e-9];
/// Numbers of standard errors added to `b̂` in the trade-off.
const TRADE_OFF: [f64; 6] = [0.0, 1.0, 2.0, 3.0, DEVIATIONS, 5.0];
/// Seed of the first draw of samples.
const FIRST_SEED: u64 = 1000;

const WAYS: [PretrainLoss; 2] = [PretrainLoss::Supervised, PretrainLoss::Unsupervised];

fn name(way: PretrainLoss) -> &'static str {
    match way {
        PretrainLoss::Supervised => "supervised",
        PretrainLoss::Unsupervised => "unsupervised",
    }
}

/// Numbers of samples to learn from.
fn counts(lab: &Lab<'_>) -> &'static [usize] {
    lab.effort.of([&SHOWN[..1], &COUNTS, &COUNTS])
}

/// Number of draws of the samples. The default way of learning, which is fast, has more.
fn draws(lab: &Lab<'_>, way: PretrainLoss) -> u64 {
    lab.effort.of(match way {
        PretrainLoss::Supervised => [1, 4, 40],
        PretrainLoss::Unsupervised => [1, 4, 10],
    })
}

/// Fading distribution with its exact bandwidths and test cells.
struct Truth {
    law: FadingLaw,
    table: BandwidthTable,
    test: TestSet,
}

/// Result of learning from one draw of samples.
struct Run {
    errors: Vec<f64>,
    plain: Vec<SizeResult>,
    widened: Vec<SizeResult>,
    policy: PricePolicy,
}

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let each: u64 = WAYS.iter().map(|&way| draws(lab, way)).sum();
    let count = (FadingLaw::SHOWN.len() * counts(lab).len()) as u64 * each;
    let rows = lab.watched("fading, runs", count, || rows(lab))?;
    Ok(shown(rows))
}

/// Rows of the three tables.
#[derive(Default)]
struct Rows {
    errors: Vec<Vec<Value>>,
    trade_off: Vec<Vec<Value>>,
    sizes: Vec<Vec<Value>>,
    /// Number of draws that miss a user although `b̂` is widened, and of all draws, for each row of errors.
    missed: Vec<(usize, usize)>,
    /// Extra bandwidths in percent at each size ≥ [`LARGE`]: learned from the most samples, and of equal power.
    beside: Vec<(f64, f64)>,
}

/// Learns from every distribution, number of samples and way of learning, and measures the results.
fn rows(lab: &Lab<'_>) -> Result<Rows, Error> {
    let mut rows = Rows::default();
    for law in FadingLaw::SHOWN {
        let rule = lab.system.fading_rule(&law);
        let test =
            TestSet::draw_under(&lab.system, Some(&rule), &SIZES, TEST_CELLS, TEST_SEED, &Silent)?;
        let truth = Truth { law, table: true_bandwidth(&lab.system, &law)?, test };
        let equal = truth.test.evaluate(&EqualPower::default(), &Silent)?;
        let figures = equal.iter().map(|size| [size.availability, size.gap_percent]);
        let baseline = row![truth.law.to_string(), (), BASELINE; figures];
        for &samples in counts(lab) {
            for way in WAYS {
                let runs = (0..draws(lab, way))
                    .into_par_iter()
                    .map(|draw| {
                        lab.go_on()?;
                        let run = learn(lab, &truth, samples, way, draw)?;
                        lab.observer.done(1);
                        Ok(run)
                    })
                    .collect::<Result<Vec<Run>, Error>>()?;
                rows.missed.push((misses(&runs), runs.len()));
                if samples == SHOWN[SHOWN.len() - 1] {
                    let both = by_size(&runs).into_iter().zip(&equal);
                    let large = both.filter(|(_, equal)| equal.k >= LARGE);
                    rows.beside.extend(large.map(|([_, gap], equal)| (gap, equal.gap_percent)));
                }
                let (law, way) = (truth.law.to_string(), name(way));
                rows.errors.push(row![law.clone(), samples, way; error_values(&runs)]);
                if SHOWN.contains(&samples) {
                    let trade_off = trade_off(&truth, &runs)?;
                    rows.trade_off.push(row![law.clone(), samples, way; trade_off]);
                    rows.sizes.push(row![law, samples, way; by_size(&runs)]);
                }
            }
        }
        rows.sizes.push(baseline);
    }
    Ok(rows)
}

/// Builds the tables from their rows.
fn shown(rows: Rows) -> Vec<Table> {
    let claims = claims(&rows.missed, &rows.beside);
    vec![
        Table {
            name: "fading".into(),
            title: "Price policy from fading samples: error of b̂, availability and extra bandwidth".into(),
            note: format!(
                "The policy is trained at K = 10, with a separate budget for each training cell. Errors of b̂ are \
                 relative to the exact b at seven received powers: the mean (bias), the standard deviation over draws \
                 of the samples (spread), and the largest. Availability and extra bandwidth are the worst of ten sizes \
                 from K = 1 to 1000, each a mean over draws and {TEST_CELLS} cells under the true distribution. \
                 “Plain” uses b̂ unchanged; “widened” adds {DEVIATIONS} standard errors, which follow from the \
                 samples. The last column counts the draws for which a user at any size misses its QoS although b̂ is \
                 widened. 20,000 gains are those of the paper's 2,000 training samples, which have ten users each."
            ),
            columns: row![
                "distribution",
                "samples",
                "training of b̂",
                "draws",
                ("bias of b̂", "%", "{:+.3}"),
                ("spread of b̂", "%", "{:.3}"),
                ("largest error of b̂", "%", "{:.3}"),
                ("availability, plain", "{:.4}"),
                ("extra bandwidth, plain", "%", "{:+.2}"),
                ("availability, widened", "{:.6}"),
                ("extra bandwidth, widened", "%", "{:+.2}"),
                "draws with a miss",
            ],
            rows: rows.errors,
            claims,
            ..Table::default()
        },
        Table {
            name: "fading-trade-off".into(),
            title: "Unknown fading distribution: availability and extra bandwidth by standard errors".into(),
            note: "Each cell shows the worst availability over the sizes and, in brackets, the largest extra bandwidth \
                   in percent; σ is the standard error of b̂. All users share one b̂, so a draw of samples that gives \
                   too little bandwidth affects many of them."
                .into(),
            columns: row![
                "distribution", "samples", "training of b̂";
                TRADE_OFF.map(|deviations| (format!("{deviations} σ"), "{:.4} ({:+.2})"))
            ],
            rows: rows.trade_off,
            chart: None,
            ..Table::default()
        },
        Table {
            name: "fading-sizes".into(),
            title: format!(
                "Unknown fading distribution, {DEVIATIONS} standard errors: availability and extra bandwidth by K"
            ),
            note: "Each cell shows the availability and the extra bandwidth in percent, on average over draws. Equal \
                   power with the exact b needs the true distribution."
                .into(),
            columns: row![
                "distribution", "samples", "training of b̂"; SIZES.map(|k| (format!("K = {k}"), "{:.4}, {:+.2}"))
            ],
            rows: rows.sizes,
            chart: None,
            ..Table::default()
        },
    ]
}

/// Trains the policy for one draw of the samples, with `b̂` unchanged.
pub(crate) fn policy_of_draw(
    lab: &Lab<'_>,
    law: &FadingLaw,
    samples: usize,
    way: PretrainLoss,
    draw: u64,
    observer: &dyn Observer,
) -> Result<PricePolicy, Error> {
    let seed = FIRST_SEED + draw;
    // Both ways of learning use the same samples.
    let gains = draw_fading(&lab.system, law, samples, seed ^ samples as u64);
    let gains = FadingSamples::new(gains).map_err(Error::other)?;
    let mut learning = SampledSettings::new(way, seed);
    learning.steps = lab.effort.of_training((samples, learning.steps)).1;
    let settings = lab.price_settings(seed);
    let mut session = Session::new(observer);
    Ok(train_sampled_policy(&lab.system, &gains, &learning, &settings, 0.0, &mut session)?)
}

fn learn(
    lab: &Lab<'_>,
    truth: &Truth,
    samples: usize,
    way: PretrainLoss,
    draw: u64,
) -> Result<Run, Error> {
    let policy = policy_of_draw(lab, &truth.law, samples, way, draw, &CancelOnly(lab.observer))?;
    let errors = policy
        .bandwidth()
        .map_or_else(Vec::new, |learned| bandwidth_errors(learned, &truth.table, &RECEIVED_W));
    let plain = truth.test.evaluate(&policy.allocator(), &Silent)?;
    let widened = widened(truth, &policy, DEVIATIONS)?;
    Ok(Run { errors, plain, widened, policy })
}

fn widened(truth: &Truth, policy: &PricePolicy, deviations: f64) -> Result<Vec<SizeResult>, Error> {
    let wide = policy.with_deviations(deviations)?;
    truth.test.evaluate(&wide.allocator(), &Silent)
}

/// Returns the mean over runs of a figure at each size.
fn means(runs: &[&[SizeResult]], figure: fn(&SizeResult) -> f64) -> Vec<f64> {
    let count = runs.len().max(1) as f64;
    (0..SIZES.len())
        .map(|size| runs.iter().map(|run| figure(&run[size])).sum::<f64>() / count)
        .collect()
}

/// Returns the lowest mean availability and the largest mean extra bandwidth over the sizes.
fn worst(runs: &[&[SizeResult]]) -> (f64, f64) {
    let availability = means(runs, |result| result.availability);
    let gap = means(runs, |result| result.gap_percent);
    (
        availability.into_iter().fold(1.0, f64::min),
        gap.into_iter().fold(f64::NEG_INFINITY, f64::max),
    )
}

fn error_values(runs: &[Run]) -> Vec<Value> {
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
    let short = misses(runs);
    let (plain, wide) = (worst(&plain), worst(&wide));
    row![
        runs.len(),
        100.0 * bias,
        100.0 * spread,
        100.0 * largest,
        plain.0,
        plain.1,
        wide.0,
        wide.1,
        short,
    ]
}

/// Number of draws that miss a user at some size although `b̂` is widened.
fn misses(runs: &[Run]) -> usize {
    runs.iter().filter(|run| run.widened.iter().any(|size| size.availability < 1.0)).count()
}

/// Returns the claims that widening suffices in every draw, and that the policy needs less bandwidth than equal power.
fn claims(missed: &[(usize, usize)], beside: &[(f64, f64)]) -> Vec<Claim> {
    let count = |of: fn(&(usize, usize)) -> usize| missed.iter().map(of).sum::<usize>();
    let (short, all) = (count(|one| one.0), count(|one| one.1));
    let draws = missed.iter().map(|one| one.1).min().unwrap_or_default();
    let less = beside.iter().filter(|(own, equal)| own < equal).count();
    let cases = beside.len();
    let most = beside.iter().map(|one| one.0).fold(0.0, f64::max);
    vec![
        Claim::own(
            format!(
                "Widened by {DEVIATIONS} standard errors, b̂ serves every user in every draw of the samples"
            ),
            format!("a user is missed in {short} of {all} draws"),
            Holds::in_all(missed.iter().map(|(short, _)| *short == 0)),
        )
        .covering(format!(
            "K = 1 to 1000, at least {draws} draws for each number of samples, {TEST_CELLS} cells for each K"
        )),
        Claim::own(
            format!(
                "Learned from {} samples, the price policy needs less bandwidth than equal power, which needs the \
                 true distribution",
                SHOWN[SHOWN.len() - 1]
            ),
            format!(
                "in {less} of {cases} cases, one for each distribution, training method and K ≥ {LARGE}. Its mean extra \
                 bandwidth is at most {most:.2} % in any case"
            ),
            Holds::in_all(beside.iter().map(|(own, equal)| own < equal)),
        )
        .covering(format!("K = {LARGE} to 1000, {TEST_CELLS} cells for each K")),
    ]
}

fn trade_off(truth: &Truth, runs: &[Run]) -> Result<Vec<[f64; 2]>, Error> {
    TRADE_OFF
        .iter()
        .map(|&deviations| {
            let results = runs
                .par_iter()
                .map(|run| widened(truth, &run.policy, deviations))
                .collect::<Result<Vec<_>, Error>>()?;
            let results: Vec<&[SizeResult]> = results.iter().map(Vec::as_slice).collect();
            let (availability, gap) = worst(&results);
            Ok([availability, gap])
        })
        .collect()
}

fn by_size(runs: &[Run]) -> Vec<[f64; 2]> {
    let wide: Vec<&[SizeResult]> = runs.iter().map(|run| &run.widened[..]).collect();
    let availability = means(&wide, |result| result.availability);
    let gap = means(&wide, |result| result.gap_percent);
    availability.into_iter().zip(gap).map(<[f64; 2]>::from).collect()
}
