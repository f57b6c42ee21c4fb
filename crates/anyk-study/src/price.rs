//! The price policy compared with the paper's methods, equal power and the solver on the same cells. The paper has no
//! such table; the policy follows from its size laws if the output layer is that of the KKT conditions. Also the policy
//! for other costs.

use std::time::Instant;

use serde::Serialize;

use crate::entry::{BASELINE, OUR_TRAINING};
use crate::fading::policy_of_draw;
use crate::lab::SELECTION_SEED;
use crate::pictures::{self, MethodCurve};
use crate::price_costs;
use crate::shown::with_range;
use crate::{
    Entry, EntryResult, Lab, Measure, TEST_SEED, our_entries, policy_us, random_cell,
    short_price_policy, short_sampled_policy, solve_us, untrained_p_gnn,
};
use anyk::channel::{FadingLaw, sample_distances_m};
use anyk::framework::{
    CancelOnly, Chart, Claim, Error, Method, Objective, PretrainLoss, Series, Session, Silent,
    Table, Value,
};
use anyk::math::{median, second_worst};
use anyk::problems::urllc::{
    Algorithm1, CellPolicy as _, DEVIATIONS, EqualPower, PricePolicy, SizeResult, TestSet, Urllc,
    UrllcAllocation, finish, train_price_policy,
};
use anyk::row;

const SIZES: [usize; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
/// Number of users for which allocations are timed.
const TIMED: usize = 200;
/// Target for the price policy at every size: largest extra bandwidth in percent.
const TARGET_PERCENT: f64 = 0.2;

/// Number of gains in the paper's 2,000 training samples of ten users each.
const SAMPLES: usize = 20_000;

/// Number of users in the cells whose median price the softmax uses, as in the other methods' training cells.
const PRICED: usize = 10;

/// Labels of the price policy, and of the variant with a softmax instead of a price.
const LABELS: [&str; 2] = ["price", "price, softmax"];

fn sampled_label() -> String {
    format!("price, {SAMPLES} fading samples")
}

/// Figures of a method: size, availability and extra bandwidth in percent.
struct Row {
    label: String,
    figures: Vec<(usize, f64, f64)>,
    /// Lowest availability of all runs, and the range of their extra bandwidths, for each of the figures.
    ranges: Vec<(f64, [f64; 2])>,
    /// Microseconds of an allocation, without and with the certificate.
    us: Option<(f64, f64)>,
    train_seconds: Option<f64>,
}

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let test = TestSet::draw(&lab.system, &SIZES, lab.cells, TEST_SEED)?;
    let equal = test.evaluate(&EqualPower::default(), &Silent)?;
    let optimum: Vec<f64> = equal.iter().map(|size| size.optimum_mhz).collect();
    let mut rows = Vec::new();
    let runs = price_runs(lab, &test, &LABELS, |run| {
        let settings = lab.price_settings(100 + run);
        let quietly = CancelOnly(lab.observer);
        let policy = train_price_policy(&lab.system, &settings, &mut Session::new(&quietly))?;
        let softmax = with_softmax(lab, &policy)?;
        Ok([policy, softmax])
    })?;
    rows.extend(LABELS.iter().zip(&runs).map(|(label, runs)| Row::new(label, runs)));
    let label = sampled_label();
    let [runs] = price_runs(lab, &test, &(&label, DEVIATIONS), |run| {
        let way = PretrainLoss::Supervised;
        let policy = policy_of_draw(
            lab,
            &FadingLaw::Rayleigh,
            SAMPLES,
            way,
            100 + run,
            &CancelOnly(lab.observer),
        )?;
        Ok([policy.with_deviations(DEVIATIONS)?])
    })?;
    rows.push(Row::new(&label, &runs));
    let entries = our_entries(lab.effort);
    for entry in &entries {
        let EntryResult { runs, .. } = if entry.settings.method == Method::Fnn {
            // Table VI has all sizes that the FNN applies to except K = 20, which does not justify minutes of training.
            lab.results(entry)?
        } else {
            lab.results_on(entry, &test, "price")?
        };
        rows.push(Row::new(&format!("{}, preset fast", entry.label), &runs));
    }
    // One part more, for the solver's time.
    let parts = rows.len() as u64 + 1;
    let solve_us = lab.watched("policies timed", parts, || timed(lab, &entries, &mut rows))?;
    rows.push(Row {
        label: BASELINE.into(),
        figures: equal.iter().map(|row| (row.k, row.availability, row.gap_percent)).collect(),
        ranges: Vec::new(),
        us: None,
        train_seconds: None,
    });
    let pretrain_seconds = lab.pretrain_seconds(&entries[0])?.unwrap_or(f64::NAN);
    Ok(vec![
        comparison(lab, &optimum, &rows),
        times(&rows, solve_us, pretrain_seconds),
        price_costs::table(lab)?,
    ])
}

/// Measures the time of an allocation for each row, and returns the time of an exact solve.
fn timed(lab: &Lab<'_>, entries: &[Entry], rows: &mut [Row]) -> Result<f64, Error> {
    let cell = random_cell(&lab.system, TIMED)?;
    let mut times = Vec::new();
    let policy = short_price_policy(&lab.system)?;
    for policy in [&policy, &with_softmax(lab, &policy)?] {
        times.push(policy_us(policy, &cell));
        lab.observer.done(1);
    }
    let (us, _) = policy_us(&short_sampled_policy(&lab.system)?, &cell);
    // Without a known distribution, this policy cannot be certified.
    times.push((us, f64::NAN));
    lab.observer.done(1);
    for entry in entries {
        lab.go_on()?;
        times.push(paper_us(lab, entry, &cell)?);
        lab.observer.done(1);
    }
    rows.iter_mut().zip(times).for_each(|(row, us)| row.us = Some(us));
    let solve_us = solve_us(&cell);
    lab.observer.done(1);
    Ok(solve_us)
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
        let ends = |index: usize| {
            let all = runs.iter().filter_map(|run| run.sizes.get(index));
            let start = (f64::INFINITY, [f64::INFINITY, f64::NEG_INFINITY]);
            all.fold(start, |(lowest, [least, most]), size| {
                let gap = size.gap_percent;
                (lowest.min(size.availability), [least.min(gap), most.max(gap)])
            })
        };
        Self {
            label: label.to_owned(),
            figures: figures.collect(),
            ranges: (0..sizes.len()).map(ends).collect(),
            us: None,
            train_seconds: Some(seconds / runs.len().max(1) as f64),
        }
    }

    /// Returns the lowest availability and the largest extra bandwidth over the sizes.
    fn worst(&self) -> (f64, f64) {
        self.figures.iter().fold((1.0, 0.0), |worst: (f64, f64), figure| {
            (worst.0.min(figure.1), worst.1.max(figure.2))
        })
    }
}

/// Returns a policy with a softmax at the median price that `policy` finds for [`PRICED`] users.
fn with_softmax(lab: &Lab<'_>, policy: &PricePolicy) -> Result<PricePolicy, Error> {
    let mut allocator = policy.allocator();
    let mut allocation = UrllcAllocation::default();
    let mut price = |index: u64| {
        let distances =
            sample_distances_m(&lab.system.road(), SELECTION_SEED, PRICED, index).into_iter();
        let gains = distances.map(|distance| lab.system.path_loss().gain(distance));
        let cell = Urllc::uniform(&lab.system, gains)?;
        allocator.serve(&cell, &mut allocation).map_err(Error::other)?;
        Ok(allocator.ln_price())
    };
    let prices = (0..lab.cells).map(&mut price).collect::<Result<Vec<f64>, Error>>()?;
    Ok(policy.with_fixed_price(median(prices))?)
}

/// Trains and measures runs one after the other, each on one core. A run gives one or more policies; the result
/// contains the runs of each of them.
pub(crate) fn price_runs<const N: usize>(
    lab: &Lab<'_>,
    test: &TestSet,
    key: &impl Serialize,
    train: impl Fn(u64) -> Result<[PricePolicy; N], Error>,
) -> Result<[Vec<Measure>; N], Error> {
    let measure = |run: u64| {
        lab.go_on()?;
        let key = (lab.system.config(), key, lab.effort, run);
        let measures: Vec<Measure> = lab.cache.get_or("price", &key, || {
            let started = Instant::now();
            let policies = train(run)?;
            let train_seconds = started.elapsed().as_secs_f64();
            let of = |policy: &PricePolicy| {
                Ok(Measure { train_seconds, sizes: test.evaluate(&policy.allocator(), &Silent)? })
            };
            policies.iter().map(of).collect()
        })?;
        lab.observer.done(1);
        Ok(measures)
    };
    let runs = lab.runs();
    let runs = lab.watched("price policy, runs", runs, || {
        (0..runs).map(measure).collect::<Result<Vec<_>, Error>>()
    })?;
    Ok(std::array::from_fn(|policy| {
        runs.iter().filter_map(|measures| measures.get(policy).cloned()).collect()
    }))
}

/// Returns the microseconds of an allocation with one of the paper's methods. The time does not depend on the weights.
fn paper_us(lab: &Lab<'_>, entry: &Entry, cell: &Urllc) -> Result<(f64, f64), Error> {
    let mut settings = entry.settings.clone();
    (settings.samples, settings.train_k) = (20, vec![TIMED]);
    let law = lab.law(entry);
    if law.is_none() && settings.method == Method::PGnn {
        // All runs came from the cache. Any outer function of this shape takes the same time.
        return Ok(policy_us(&untrained_p_gnn(&lab.system)?.1, cell));
    }
    let mut objective = Algorithm1::new(&lab.system, &settings, law)?;
    let start = objective.start(0);
    let policy = finish(&lab.system, &objective, &start, (&entry.pretraining, law))?;
    Ok(policy_us(&policy, cell))
}

fn comparison(lab: &Lab<'_>, optimum: &[f64], rows: &[Row]) -> Table {
    let mhz = |&mhz: &f64| Value::formatted([mhz], "{:.4}");
    let mut cells = vec![row!["exact optimum (MHz)"; optimum.iter().map(mhz)]];
    let mut curves = Vec::new();
    for row in rows {
        let at = |&k: &usize| {
            let place = row.figures.iter().position(|figure| figure.0 == k)?;
            let (_, availability, gap) = row.figures[place];
            let range = row.ranges.get(place);
            let mut numbers = with_range(gap, range.map_or(&[], |range| &range.1));
            numbers.insert(0, availability);
            Some(match range {
                // A smaller difference disappears with two decimals.
                Some((lowest, _)) if availability - lowest >= 5e-3 => {
                    numbers.insert(1, *lowest);
                    Value::formatted(numbers, "{:.2} ({:.2}), {:.4} ({:.4}–{:.4})")
                }
                _ => numbers.into(),
            })
        };
        cells.push(row![row.label.clone(); SIZES.iter().map(at)]);
        let points = row.figures.iter().filter(|figure| figure.2 > 1e-6);
        let points = points.map(|&(k, _, gap)| (k as f64, gap)).collect();
        curves.push(Series::solid(row.label.clone(), points));
    }
    let (availability, gap) = rows.first().map_or((f64::NAN, f64::NAN), Row::worst);
    let curve = |label: &str, row: &Row| MethodCurve {
        label: label.to_owned(),
        figures: row.figures.clone(),
    };
    let all: Vec<MethodCurve> = rows.iter().map(|row| curve(&row.label, row)).collect();
    let sampled = sampled_label();
    let shown = rows.iter().filter_map(|row| {
        let name = match row.label.as_str() {
            label if label == sampled => "price policy, trained on samples of the fading",
            "P-GNN, preset fast" => "P-GNN, the paper's network",
            "M-GNN^10, preset fast" => "M-GNN, the paper's network",
            BASELINE => "equal power, nothing trained",
            _ => return None,
        };
        Some(curve(name, row))
    });
    let shown: Vec<MethodCurve> = shown.collect();
    Table {
        name: "price".into(),
        title: "Availability and extra bandwidth of the price policy and the paper's methods on the same cells".into(),
        note: format!(
            "P-GNN, M-GNN and FNN are {OUR_TRAINING}. Each figure is the {} on {} cells for each K (seed {TEST_SEED}); \
             brackets show the lowest availability and the range of the extra bandwidth over all runs. The bandwidth \
             of the price policy is b(α_k P_k) from the certified table, so its availability does not depend on what \
             the network learned. “Softmax” uses a fixed price instead of the one that spends the budget, so the \
             powers keep the shape that they have at K = {PRICED}. The policy from fading samples learns from as many \
             gains as the paper trains on, drawn separately for each run. It does not know the distribution of the test \
             cells. A negative extra bandwidth comes with an availability below 1.00: some users lack \
             bandwidth.",
            lab.rule(),
            lab.cells,
        ),
        columns: row![
            "availability, extra bandwidth (%)";
            SIZES.map(|k| (format!("K = {k}"), "{:.2}, {:.4} ({:.4}–{:.4})"))
        ],
        rows: cells,
        chart: Some(Chart {
            title: "Extra bandwidth against the number of users K (paper's networks: preset fast)".into(),
            x_label: "number of users K".into(),
            y_label: "extra bandwidth (%)".into(),
            log_x: true,
            log_y: true,
            series: curves,
        }),
        claims: vec![Claim::own(
            format!(
                "The price policy serves every user with at most {TARGET_PERCENT} % more bandwidth than the \
                 optimum at every K from {} to {}",
                SIZES[0],
                SIZES[SIZES.len() - 1],
            ),
            format!(
                "availability at least {availability:.4}, extra bandwidth at most {gap:.1e} %"
            ),
            availability >= 1.0 && gap <= TARGET_PERCENT,
        )
        .covering(format!("{}, {} cells for each K", lab.trainings_words(), lab.cells))],
        pictures: pictures::of_methods(&shown, &all),
    }
}

/// Describes after how many cells a network is faster than the solver, including its training time.
fn repaid(train_seconds: f64, us: f64, solve_us: f64) -> String {
    if us < solve_us {
        let cells = 1e6 * train_seconds / (solve_us - us);
        format!("Its {train_seconds:.1} s of training pay off after {cells:.0} cells")
    } else {
        "Its training never pays off".to_owned()
    }
}

fn times(rows: &[Row], solve_us: f64, pretrain_seconds: f64) -> Table {
    let timed = rows.iter().filter_map(|row| Some((row, row.us?)));
    let times = timed.map(|(row, (us, certified_us))| {
        let known = Some(certified_us).filter(|us| us.is_finite());
        row![row.label.clone(), us, known, row.train_seconds]
    });
    let exact = row!["solver, exact", solve_us, solve_us, ()];
    let price = rows.first();
    let price_us = price.and_then(|row| row.us).map_or(f64::NAN, |us| us.0);
    let train_seconds = price.and_then(|row| row.train_seconds).unwrap_or(f64::NAN);
    let verdict = repaid(train_seconds, price_us, solve_us);
    Table {
        name: "price-times".into(),
        title: format!("Time of an allocation at K = {TIMED} (µs) and of a training run (s)"),
        note: format!(
            "Medians on one thread. The price policy with a known distribution is certified by construction; “with \
             certificate” adds the check of every user, which certifies the allocations of the paper's methods as \
             well. The training time of P-GNN does not include its outer function ({pretrain_seconds:.1} s of \
             pre-training). If the fading distribution is known, the solver is exact and needs no training. If it is \
             unknown, the solver cannot tabulate the required bandwidth, so use the network. Also use the network to \
             differentiate through the allocation."
        ),
        columns: row![
            "method",
            ("allocation", "µs", "{:.1}"),
            ("allocation with certificate", "µs", "{:.1}"),
            ("training", "s", "{:.2}"),
        ],
        rows: times.chain([exact]).collect(),
        claims: vec![
            Claim::own(
                format!("The price policy allocates faster than the exact solver at K = {TIMED}"),
                format!("{price_us:.0} µs, compared with {solve_us:.0} µs. {verdict}"),
                price_us < solve_us,
            )
            .covering(format!("K = {TIMED}, one cell, one thread")),
        ],
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_training_is_repaid_by_a_faster_allocation_alone() {
        assert_eq!(repaid(0.2, 15.0, 25.0), "Its 0.2 s of training pay off after 20000 cells");
        assert_eq!(repaid(0.2, 25.0, 25.0), "Its training never pays off");
    }
}
