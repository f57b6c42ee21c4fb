//! any-gnn beside the paper's methods, equal power and the solver, on the same cells: no table of the paper,
//! but what its size laws lead to when the output layer is that of the KKT conditions.

use std::hint::black_box;
use std::time::Instant;

use anyk::evaluation::{SizeResult, TestSet, finish, train_any_policy};
use anyk::exchange::write_atomically;
use anyk::network::SplitRule;
use anyk::paper::{Entry, EntryResult, Measure, TEST_SEED, paper_entries, second_worst};
use anyk::policy::LearnedPolicy;
use anyk::problem::Allocation;
use anyk::solver::{Solution, UrllcSolver};
use anyk::training::{AnySettings, Method, TrainRanges, Trainer};

use super::tables::{series, strings};
use super::{Lab, TEST_SAMPLES, cached};
use crate::commands::bench::{any_us, learned, median_seconds, random_cell};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::report::{Chart, Table};

const SIZES: [usize; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
/// Size at which allocations are timed.
const TIMED: usize = 200;
/// What any-gnn is to reach at every size: percent over the optimum.
const TARGET_PERCENT: f64 = 0.2;

/// A method's figures at the sizes that it is for: availability and percent over the optimum.
struct Row {
    label: String,
    figures: Vec<(usize, f64, f64)>,
    allocate_us: Option<f64>,
    train_seconds: Option<f64>,
}

pub(super) fn tables(lab: &mut Lab) -> Result<Vec<Table>, Failure> {
    let test = TestSet::draw(&lab.system, &SIZES, TEST_SAMPLES, TEST_SEED)?;
    let equal = test.evaluate_equal_power().map_err(Failure::input)?;
    let optimum: Vec<f64> = equal.iter().map(|size| size.optimum_mhz).collect();
    let progress = Progress::new("allocations timed", 10);
    let mut rows = Vec::new();
    for (label, output) in
        [("any-gnn, kkt", SplitRule::Kkt), ("any-gnn, softmax", SplitRule::Softmax)]
    {
        let runs = any_runs(lab, &test, output)?;
        let mut row = Row::new(label, &runs);
        row.allocate_us = Some(any_us(&lab.system, output, TIMED, &progress)?.1);
        rows.push(row);
    }
    for entry in paper_entries(lab.full) {
        let EntryResult { runs, .. } = if entry.settings.method == Method::Fnn {
            // Table VI has all sizes that it is for, but K = 20: not worth minutes of training.
            lab.results(&entry, false)?
        } else {
            lab.results_on(&entry, &test, &("any-gnn", SIZES))?
        };
        let mut row = Row::new(&entry.label, &runs);
        row.allocate_us = Some(paper_us(lab, &entry, &progress)?);
        rows.push(row);
    }
    rows.push(Row {
        label: "equal power, exact b".into(),
        figures: equal.iter().map(|row| (row.k, row.availability, row.gap_percent)).collect(),
        allocate_us: None,
        train_seconds: None,
    });
    let solve_us = solve_us(lab, &progress)?;
    progress.finish();
    Ok(vec![comparison(lab, &optimum, &rows), times(&rows, solve_us)])
}

impl Row {
    fn new(label: &str, runs: &[Measure]) -> Self {
        let sizes = runs.first().map(|run| run.sizes.as_slice()).unwrap_or_default();
        let column = |index: usize, value: fn(&SizeResult) -> f64| {
            let values = runs.iter().filter_map(|run| run.sizes.get(index)).map(value).collect();
            second_worst(values).unwrap_or(f64::NAN)
        };
        let figures = sizes.iter().enumerate().map(|(index, size)| {
            let availability = -column(index, |size| -size.availability);
            (size.k, availability, column(index, |size| size.gap_percent))
        });
        let seconds = runs.iter().map(|run| run.train_seconds).sum::<f64>();
        Self {
            label: label.to_owned(),
            figures: figures.collect(),
            allocate_us: None,
            train_seconds: Some(seconds / runs.len().max(1) as f64),
        }
    }

    /// Smallest availability and largest distance to the optimum over the sizes.
    fn worst(&self) -> (f64, f64) {
        self.figures.iter().fold((1.0, 0.0), |worst: (f64, f64), figure| {
            (worst.0.min(figure.1), worst.1.max(figure.2))
        })
    }
}

/// Trainings of any-gnn, measured, one after the other: each has one core.
fn any_runs(lab: &Lab, test: &TestSet, output: SplitRule) -> Result<Vec<Measure>, Failure> {
    let progress = Progress::new("any-gnn, trainings", lab.runs);
    let runs = (0..lab.runs).map(|run| {
        let settings = AnySettings::preset(TrainRanges::Paper, output, 100 + run);
        let file = lab.cache_file(&(env!("CARGO_PKG_VERSION"), "any-gnn", &settings))?;
        let measure = match cached(&file) {
            Some(known) => known,
            None => {
                let started = Instant::now();
                let policy = train_any_policy(&lab.system, &settings, || ())?;
                let train_seconds = started.elapsed().as_secs_f64();
                let sizes = test.evaluate(&policy).map_err(Failure::input)?;
                let measure = Measure { train_seconds, sizes };
                write_atomically(&file, &serde_json::to_vec(&measure)?)?;
                measure
            }
        };
        progress.step();
        Ok(measure)
    });
    let runs = runs.collect();
    progress.finish();
    runs
}

/// Microseconds of an allocation by one of the paper's methods, without a certificate. What it has learned
/// does not change how long it takes.
fn paper_us(lab: &Lab, entry: &Entry, progress: &Progress) -> Result<f64, Failure> {
    let mut settings = entry.settings.clone();
    (settings.samples, settings.train_k) = (20, vec![TIMED]);
    let law = lab.laws.values().next();
    let law = law.filter(|_| settings.method == Method::PGnn);
    if law.is_none() && settings.method == Method::PGnn {
        // All its trainings were in the cache: any outer function of the shape does.
        let (_, policy) = learned(&lab.system)?;
        return policy_us(lab, &policy, progress);
    }
    let trainer = Trainer::new(&lab.system, &settings, law)?;
    let policy = finish(&lab.system, &trainer, &lab.pretraining, law)?;
    policy_us(lab, &policy, progress)
}

fn policy_us(lab: &Lab, policy: &LearnedPolicy, progress: &Progress) -> Result<f64, Failure> {
    let problem = random_cell(&lab.system, TIMED)?;
    let gains: Vec<f64> = problem.users().iter().map(|user| user.gain).collect();
    let mut sized = policy.at_size(TIMED).map_err(Failure::input)?;
    let mut allocation = Allocation::default();
    Ok(1e6 * median_seconds(progress, || sized.allocate(black_box(&gains), &mut allocation)))
}

fn solve_us(lab: &Lab, progress: &Progress) -> Result<f64, Failure> {
    let problem = random_cell(&lab.system, TIMED)?;
    let (mut solver, mut solution) = (UrllcSolver::default(), Solution::default());
    let solve = || solver.solve_into(black_box(&problem), &mut solution);
    Ok(1e6 * median_seconds(progress, solve))
}

fn comparison(lab: &Lab, optimum: &[f64], rows: &[Row]) -> Table {
    let mut cells = vec![vec!["exact optimum (MHz)".to_owned()]];
    cells[0].extend(optimum.iter().map(|mhz| format!("{mhz:.4}")));
    let mut curves = Vec::new();
    for row in rows {
        let mut line = vec![row.label.clone()];
        line.extend(SIZES.iter().map(|&k| match row.figures.iter().find(|f| f.0 == k) {
            None => "–".to_owned(),
            Some(&(_, availability, gap)) => {
                // Rounding is not less than nothing.
                let gap = if gap.abs() < 5e-5 { 0.0 } else { gap };
                format!("{availability:.2}, {gap:+.4}")
            }
        }));
        cells.push(line);
        let points = row.figures.iter().filter(|figure| figure.2 > 1e-6);
        let points = points.map(|&(k, _, gap)| (k as f64, gap)).collect();
        curves.push(series(row.label.clone(), points, false));
    }
    let (availability, gap) = rows.first().map_or((f64::NAN, f64::NAN), Row::worst);
    let reached = if availability >= 1.0 && gap <= TARGET_PERCENT { "reached" } else { "missed" };
    let mut columns = vec!["availability, over the optimum (%)".to_owned()];
    columns.extend(SIZES.map(|k| format!("K = {k}")));
    Table {
        name: "any-gnn".into(),
        title: "any-gnn, trained at K = 10, beside the paper's methods on the same cells".into(),
        note: format!(
            "Each figure is the {}, on {TEST_SAMPLES} cells of each size (seed {TEST_SEED}). any-gnn with the \
             price as its output layer: availability {availability:.4} and at most {gap:.4} % over the \
             optimum at every K; the target of 1.00 and {TARGET_PERCENT} % is {reached}. Its bandwidth is \
             b(α_k P_k) from the certified table, so that its availability does not depend on what was learned. \
             With a softmax the powers keep the shape that they had at K = 10. A negative distance goes \
             with an availability under 1.00: bandwidth that users lack.",
            lab.rule(),
        ),
        columns,
        rows: cells,
        chart: Some(Chart {
            title: "Bandwidth over the optimum".into(),
            x_label: "users K".into(),
            y_label: "over the optimum (%)".into(),
            log_x: true,
            log_y: true,
            series: curves,
        }),
    }
}

fn times(rows: &[Row], solve_us: f64) -> Table {
    let number = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"))
    };
    let timed = rows.iter().filter(|row| row.allocate_us.is_some());
    let mut cells: Vec<Vec<String>> = timed
        .map(|row| {
            vec![row.label.clone(), number(row.allocate_us, 1), number(row.train_seconds, 2)]
        })
        .collect();
    cells.push(vec!["solver, exact".into(), format!("{solve_us:.1}"), "–".into()]);
    let of = |index: usize| rows.get(index).and_then(|row| row.allocate_us).unwrap_or(f64::NAN);
    let (any_us, p_gnn_us) = (of(0), of(2));
    let gap = rows.first().map_or(f64::NAN, |row| row.worst().1);
    let verdict = if any_us < 0.8 * solve_us {
        "is faster than the solver, though both take microseconds"
    } else {
        "is no faster than the solver"
    };
    Table {
        name: "any-gnn-times".into(),
        title: format!("Time of an allocation at K = {TIMED}, and of a training"),
        note: format!(
            "One thread, median; any-gnn with the certificate of every user, the paper's methods without one. \
             The outer function of P-GNN (seven seconds of pre-training) is not in its training time. With a \
             known law of fading and one cell the solver is the better choice: it is exact, it takes \
             {solve_us:.0} µs, and any-gnn, at {any_us:.0} µs and up to {gap:.4} % more bandwidth, {verdict}. \
             P-GNN takes {p_gnn_us:.0} µs, but has no certificate and pays percents of bandwidth. A network \
             is the better choice where b is not known and has to be learned from samples of the \
             fading (there is nothing for the solver to tabulate then, while the price layer stays as it is), \
             where the allocation has to be differentiated as a part of something larger, or where \
             microseconds matter more than percents.",
        ),
        columns: strings(["method", "allocation (µs)", "training (s)"]),
        rows: cells,
        chart: None,
    }
}
