//! Calibrated margins over many repetitions: how often the guarantee fails, and its cost in bandwidth.

use crate::fading::policy_of_draw;
use crate::{Entry, Lab, TEST_SEED};
use anyk::channel::FadingLaw;
use anyk::framework::{
    CancelOnly, Chart, Claim, Error, Guarantee, PretrainLoss, Series, Silent, Table,
};
use anyk::problems::urllc::{CellPolicy, Judged, TestSet, required_factors, true_bandwidth};
use anyk::qos::BandwidthTable;
use anyk::row;

const SIZES: [usize; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
/// Guarantee: at most a share β of users is missed, with confidence 1 − δ.
const BETA: f64 = 1e-3;
const DELTA: f64 = 0.05;
/// Loss targets of P-GNN's training: a strict one that serves every user, and the users' own, which serves few.
const STRICT: f64 = 6e-6;
const OWN: f64 = 1e-5;
/// Fading samples from which the price policy learns the bandwidth.
const SAMPLES: usize = 2000;
/// Smallest numbers of users and cells of each size that represent all users. Calibrated sizes have more.
const POOL: usize = 200_000;
const OWN_POOL: usize = 2_000_000;
const OWN_CELLS: usize = 40_000;
/// Seeds of these users and of the repetitions.
const POOL_SEED: u64 = 7_000_001;
const FIRST_SEED: u64 = 9_000_000;
/// Number of cells of each size on which the bandwidth is measured.
const TEST_CELLS: u64 = 20;

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let test = TestSet::draw(&lab.system, &SIZES, TEST_CELLS, TEST_SEED)?;
    let judge = true_bandwidth(&lab.system, &FadingLaw::Rayleigh)?;
    let mut tables = Vec::new();
    let cases: [(f64, &[usize]); 3] =
        [(STRICT, &[10]), (OWN, &[10]), (OWN, &[1, 2, 5, 10, 20, 50, 100, 200])];
    for (epsilon, sizes) in cases {
        let entry = Entry::p_gnn(10, 2000, epsilon);
        lab.prepare_laws(std::slice::from_ref(&entry))?;
        let law = lab.law(&entry);
        let (policy, _) =
            lab.shortened(&entry).train(&lab.system, 0, law, &CancelOnly(lab.observer))?;
        let case = Case {
            name: format!("calibration-{epsilon:e}-{}", sizes.len()),
            subject: format!("P-GNN, preset fast, trained at K = 10 with ε_D = {epsilon:e}"),
            sizes,
        };
        tables.push(table(lab, &case, &policy, (&test, &judge))?);
    }
    let (law, way) = (FadingLaw::Rayleigh, PretrainLoss::Supervised);
    let policy = policy_of_draw(lab, &law, SAMPLES, way, 0, &CancelOnly(lab.observer))?;
    for sizes in [&[10][..], &[1, 10, 200]] {
        let case = Case {
            name: format!("calibration-sampled-{}", sizes.len()),
            subject: format!(
                "Price policy trained at K = 10 on {SAMPLES} fading samples, no standard error added"
            ),
            sizes,
        };
        tables.push(table(lab, &case, &policy, (&test, &judge))?);
    }
    Ok(tables)
}

/// Calibration of a policy.
struct Case<'a> {
    name: String,
    subject: String,
    /// Sizes at which the policy is calibrated.
    sizes: &'a [usize],
}

/// Returns the share of a sorted pool that a margin does not cover.
fn missed(pool: &[f64], margin: f64) -> f64 {
    let within = pool.partition_point(|&factor| factor <= margin);
    (pool.len() - within) as f64 / pool.len() as f64
}

fn table<P: CellPolicy + Sync>(
    lab: &Lab<'_>,
    case: &Case<'_>,
    policy: &P,
    (test, judge): (&TestSet, &BandwidthTable),
) -> Result<Table, Error> {
    let Case { name, subject, sizes: own } = case;
    // Repetitions at one size take little time.
    let is_one = own.len() == 1;
    let repetitions: u64 = lab.effort.of(if is_one { [1, 1000, 4000] } else { [1, 200, 1000] });
    let factors = |size: usize, cells: usize, seed: u64, judged: Judged| {
        required_factors(policy, judge, size, cells, seed, judged)
    };
    // The smallest number of cells that allows a guarantee.
    let cells = Guarantee::least_cells(BETA, DELTA, own.len());
    let allowed = Guarantee::missed_allowed(cells, BETA, DELTA, own.len())?;
    let margin = |repetition: u64| -> Result<f64, Error> {
        lab.go_on()?;
        let mut margin = 0.0f64;
        for &size in *own {
            let drawn = factors(size, cells, FIRST_SEED + repetition, Judged::First)?;
            let least = Guarantee::order_statistic(drawn, allowed);
            margin = margin.max(least.unwrap_or(f64::INFINITY));
        }
        lab.observer.done(1);
        Ok(margin)
    };
    let margins = lab.watched("calibration, repetitions", repetitions, || {
        (0..repetitions).map(margin).collect::<Result<Vec<f64>, Error>>()
    })?;
    let count = margins.len().max(1) as f64;
    let mean = margins.iter().sum::<f64>() / count;
    let before = test.evaluate(&policy.allocator(), &Silent)?;
    let (mut rows, mut curve) = (Vec::new(), Vec::new());
    // Margins that break the guarantee at a calibrated size: unchanged, and raised to at least 1.
    let mut broken_at_own = [vec![false; margins.len()], vec![false; margins.len()]];
    for (row, &size) in before.iter().zip(&SIZES) {
        lab.go_on()?;
        let calibrated = own.contains(&size);
        let users = if calibrated { OWN_POOL.max(OWN_CELLS * size) } else { POOL };
        let users = lab.effort.of([users / 1000, users, users]);
        let mut pool = factors(size, users.div_ceil(size), POOL_SEED, Judged::All)?;
        pool.sort_by(f64::total_cmp);
        let (mut cells, mut missed_shares) = (Vec::new(), Vec::new());
        for (least, broken_at_own) in [0.0, 1.0].into_iter().zip(&mut broken_at_own) {
            let (mut share, mut broken) = (0.0, 0.0);
            for (margin, broken_at_own) in margins.iter().zip(broken_at_own) {
                let left = missed(&pool, margin.max(least));
                share += left / count;
                broken += f64::from(u8::from(left > BETA)) / count;
                *broken_at_own |= calibrated && left > BETA;
            }
            missed_shares.push(share);
            cells.extend([100.0 * share, 100.0 * broken]);
        }
        curve.push((size as f64, 100.0 * missed_shares[0]));
        let over = |factor: f64| (100.0 + row.gap_percent) * factor - 100.0;
        cells.extend([over(1.0), over(mean), over(mean.max(1.0))]);
        rows.push(row![size, 100.0 * missed(&pool, 1.0); cells]);
    }
    let [broken, cautious] = broken_at_own
        .map(|broken| broken.into_iter().filter(|&broken| broken).count() as f64 / count);
    // Two standard errors would call one of 40 guarantees broken that are kept.
    let bound = DELTA + 3.0 * (DELTA * (1.0 - DELTA) / count).sqrt();
    let is_kept = broken <= bound;
    let names: Vec<String> = own.iter().map(usize::to_string).collect();
    let names = names.join(", ");
    Ok(Table {
        name: name.clone(),
        title: format!("Users missed and extra bandwidth after calibration at K = {names}: {subject}"),
        note: format!(
            "{repetitions} calibrations of one trained policy, each on {cells} cells of each of these K, with one user \
             judged in each cell. The guarantee is that at most {} % of users miss their QoS; it may fail in at most \
             {} % of calibrations. The mean margin is {mean:.5}, that is {:+.2} % of bandwidth. Nothing is guaranteed \
             at other K. With “margin ≥ 1”, the default, margins below 1 are raised to 1; the other columns apply to \
             `--shrink`. Missed users are counted among at least {OWN_POOL} users at the calibrated K, and {POOL} at \
             the others.",
            100.0 * BETA,
            100.0 * DELTA,
            100.0 * (mean - 1.0),
        ),
        columns: row![
            "K",
            ("missed before", "%", "{:.4}"),
            ("missed after", "%", "{:.4}"),
            ("guarantee broken", "%", "{:.1}"),
            ("missed, margin ≥ 1", "%", "{:.4}"),
            ("guarantee broken, margin ≥ 1", "%", "{:.1}"),
            ("extra bandwidth before", "%", "{:.2}"),
            ("extra bandwidth after", "%", "{:.2}"),
            ("extra bandwidth, margin ≥ 1", "%", "{:.2}"),
        ],
        rows,
        claims: vec![Claim::own(
            format!(
                "The guarantee of a calibration at K = {names} holds within three standard errors ({subject})"
            ),
            format!(
                "broken in {:.1} % of calibrations, where {} % are allowed and {:.1} % with three standard errors. \
                 With margins of at least 1, it is broken in {:.1} %",
                100.0 * broken,
                100.0 * DELTA,
                100.0 * bound,
                100.0 * cautious
            ),
            is_kept,
        )
        .covering(format!("one training run, {repetitions} calibrations"))],
        chart: Some(Chart {
            title: format!("Users who miss their QoS after calibration at K = {names}"),
            x_label: "number of users K".into(),
            y_label: "users missed (%)".into(),
            log_x: true,
            log_y: false,
            series: vec![
                Series::solid("missed", curve),
                Series::dashed("guaranteed", SIZES.map(|size| (size as f64, 100.0 * BETA)).to_vec()),
            ],
        }),
        ..Table::default()
    })
}
