//! Calibrated margins over many repetitions: how often the promise is broken, and what it costs.

use anyk::evaluation::{CalibrationError, Judged, TestSet, required_factors};
use anyk::paper::{Entry, TEST_SEED};
use anyk::policy::{Guarantee, LearnedPolicy};

use super::Lab;
use super::tables::series;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::report::{Chart, Table};

const SIZES: [usize; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
/// Size that is calibrated at, cells, and what is promised.
const SIZE: usize = 10;
const CELLS: usize = 2995;
const BETA: f64 = 1e-3;
const DELTA: f64 = 0.05;
/// Loss targets of training: the one that serves everyone, and the users' own, which serves few.
const EPSILONS: [f64; 2] = [6e-6, 1e-5];
/// Users of each size that stand for all users, at least; ten times as many at the size calibrated at.
const POOL: usize = 200_000;
/// Seeds of those users, and of the repetitions.
const POOL_SEED: u64 = 7_000_001;
const FIRST_SEED: u64 = 9_000_000;
/// Cells of each size for the bandwidth.
const TEST_CELLS: u64 = 20;

pub(super) fn tables(lab: &mut Lab) -> Result<Vec<Table>, Failure> {
    let repetitions = if lab.full { 1000 } else { 200 };
    let test = TestSet::draw(&lab.system, &SIZES, TEST_CELLS, TEST_SEED)?;
    EPSILONS
        .iter()
        .map(|&epsilon| {
            let entry = Entry::p_gnn(SIZE, 2000, epsilon);
            lab.prepare_law(&entry)?;
            let law = lab.laws.get(&epsilon.to_bits());
            let (policy, _) = entry.train(&lab.system, 0, (&lab.pretraining, law), || ())?;
            table(&policy, epsilon, repetitions, &test)
        })
        .collect()
}

/// Share of a sorted pool that a margin leaves out.
fn missed(pool: &[f64], margin: f64) -> f64 {
    let within = pool.partition_point(|&factor| factor <= margin);
    (pool.len() - within) as f64 / pool.len() as f64
}

fn table(
    policy: &LearnedPolicy,
    epsilon: f64,
    repetitions: u64,
    test: &TestSet,
) -> Result<Table, Failure> {
    let fail = |error: CalibrationError| Failure::input(error);
    let progress = Progress::new("calibration, repetitions", repetitions);
    let allowed = Guarantee::missed_allowed(CELLS, BETA, DELTA, 1).map_err(Failure::input)?;
    let mut margins = Vec::new();
    for repetition in 0..repetitions {
        let seed = FIRST_SEED + repetition;
        let factors = required_factors(policy, SIZE, CELLS, seed, Judged::First).map_err(fail)?;
        margins.extend(Guarantee::order_statistic(factors, allowed));
        progress.step();
    }
    progress.finish();
    let mean = margins.iter().sum::<f64>() / margins.len().max(1) as f64;
    let before = test.evaluate(policy).map_err(Failure::input)?;
    let (mut rows, mut curve, mut at_size) = (Vec::new(), Vec::new(), (0.0, 0.0));
    for (row, &size) in before.iter().zip(&SIZES) {
        let users = if size == SIZE { 10 * POOL } else { POOL };
        let cells = users.div_ceil(size);
        let mut pool =
            required_factors(policy, size, cells, POOL_SEED, Judged::All).map_err(fail)?;
        pool.sort_by(f64::total_cmp);
        let share = |shown: &dyn Fn(f64) -> bool| {
            margins.iter().filter(|&&margin| shown(margin)).count() as f64 / margins.len() as f64
        };
        let left = |margin: f64| missed(&pool, margin);
        let average = |shown: &dyn Fn(f64) -> f64| {
            margins.iter().map(|&margin| shown(margin)).sum::<f64>() / margins.len() as f64
        };
        let broken = share(&|margin| left(margin) > BETA);
        let cautious = share(&|margin| left(margin.max(1.0)) > BETA);
        let over = |factor: f64| (100.0 + row.gap_percent) * factor - 100.0;
        if size == SIZE {
            at_size = (broken, cautious);
        }
        let left_out = average(&left);
        curve.push((size as f64, 100.0 * left_out));
        rows.push(vec![
            size.to_string(),
            format!("{:.4}", 100.0 * left(1.0)),
            format!("{:.4}", 100.0 * left_out),
            format!("{:.1}", 100.0 * broken),
            format!("{:.4}", 100.0 * average(&|margin| left(margin.max(1.0)))),
            format!("{:.1}", 100.0 * cautious),
            format!("{:.2}", over(1.0)),
            format!("{:.2}", over(mean)),
        ]);
    }
    let bound = DELTA + 2.0 * (DELTA * (1.0 - DELTA) / repetitions as f64).sqrt();
    let kept = if at_size.0 <= bound { "is kept" } else { "is NOT kept" };
    let columns = [
        "K",
        "missed before (%)",
        "missed after (%)",
        "promise broken (%)",
        "missed, margin ≥ 1 (%)",
        "promise broken, margin ≥ 1 (%)",
        "over the optimum before (%)",
        "over the optimum after (%)",
    ];
    Ok(Table {
        name: format!("calibration-{epsilon:e}"),
        title: format!(
            "P-GNN trained at K = {SIZE} with ε_D = {epsilon:e}, calibrated at K = {SIZE}"
        ),
        note: format!(
            "{repetitions} calibrations of one training, each on {CELLS} cells of {SIZE} users, one user of each \
             judged: promised is that at most {} % of users miss their QoS, in all but {} % of calibrations. At \
             K = {SIZE} the promise is broken in {:.1} % ({:.1} % if the margin may not be below 1): it {kept}. \
             Mean margin {mean:.5}, that is {:+.2} % of bandwidth. Users missed are counted on {} \
             users at K = {SIZE} and {POOL} at the other sizes, where nothing is promised.",
            100.0 * BETA,
            100.0 * DELTA,
            100.0 * at_size.0,
            100.0 * at_size.1,
            100.0 * (mean - 1.0),
            10 * POOL,
        ),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
        chart: Some(Chart {
            title: "Users who miss their QoS after calibration at K = 10".into(),
            x_label: "users K".into(),
            y_label: "users missed (%)".into(),
            log_x: true,
            log_y: false,
            series: vec![
                series("missed".into(), curve, false),
                series(
                    "promised at K = 10".into(),
                    SIZES.map(|size| (size as f64, 100.0 * BETA)).to_vec(),
                    true,
                ),
            ],
        }),
    })
}
