//! Many runs of every kind of training with the usual settings, to see whether one fails.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::entry::{AVAILABLE, BASELINE, OUR_TRAINING};
use crate::fading::policy_of_draw;
use crate::{Lab, our_entries};
use anyk::channel::{D2dField, FadingLaw};
use anyk::core::Policy;
use anyk::framework::{
    Claim, Error, Holds, Observer, PretrainLoss, Session, Silent, Stored, Table, Trials, Value,
};
use anyk::math::median;
use anyk::problems::closed_forms::{
    ClosedForm, ClosedFormResult, ClosedFormSettings, evaluate_closed_form, train_closed_form,
};
use anyk::problems::interference::{PASSES, PowerOutput, Scenario, train_power};
use anyk::problems::urllc::{CellPolicy, DEVIATIONS, EqualPower, TestSet, train_price_policy};
use anyk::row;

/// Number of runs of each kind: in a trial, by default, and with full effort.
const SEEDS: [u64; 3] = [2, 20, 50];
/// Seed of the test sets, and cells of each size.
const TEST: (u64, u64) = (7, 20);
/// Sizes at which URLLC policies are measured: the training size, and one of the largest.
const SIZES: [usize; 2] = [10, 200];
const TRAINED: [usize; 1] = [SIZES[0]];
/// Largest distance below the median, in percent, of a run that does not fail.
const NEAR_PERCENT: f64 = 1.0;

/// Result of one run.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Reached {
    /// Percentage of which more is better; the lowest over the sizes.
    percent: f64,
    /// Lowest share of users whose QoS is met, if the kind has one.
    availability: Option<f64>,
    /// Number of restarts.
    restarts: u64,
}

/// Percentage and availability of a run.
type Figures = (f64, Option<f64>);

/// Kind of training: its label, what is measured, and the training with a seed.
struct Kind {
    label: &'static str,
    measured: &'static str,
    /// Sizes at which equal power is the baseline, if it applies.
    baseline: &'static [usize],
    train: fn(&Lab<'_>, u64, &dyn Observer) -> Result<Figures, Error>,
}

const OF_WMMSE: &str = "sum rate relative to WMMSE";
const OF_BANDWIDTH: &str = "optimum / total bandwidth, K = 10 and 200";
const RANKED: PowerOutput = PowerOutput::Ranked { passes: PASSES };

static KINDS: [Kind; 8] = [
    Kind {
        label: "interference, dense",
        measured: OF_WMMSE,
        baseline: &[],
        train: |lab, seed, observer| links(lab, Scenario::Dense, RANKED, seed, observer),
    },
    Kind {
        label: "interference, d2d",
        measured: OF_WMMSE,
        baseline: &[],
        train: |lab, seed, observer| {
            links(lab, FIELD, PowerOutput::Priced { steps: 1 }, seed, observer)
        },
    },
    Kind {
        label: "link-scheduling, d2d",
        measured: OF_WMMSE,
        baseline: &[],
        train: |lab, seed, observer| links(lab, FIELD, RANKED, seed, observer),
    },
    Kind {
        label: "p-gnn",
        measured: OF_BANDWIDTH,
        baseline: &SIZES,
        train: |lab, seed, observer| learned(lab, P_GNN, &SIZES, seed, observer),
    },
    Kind {
        label: "m-gnn",
        measured: "optimum / total bandwidth, K = 10",
        baseline: &TRAINED,
        train: |lab, seed, observer| learned(lab, M_GNN, &SIZES[..1], seed, observer),
    },
    Kind {
        label: "price",
        measured: OF_BANDWIDTH,
        baseline: &SIZES,
        train: |lab, seed, observer| {
            let settings = lab.price_settings(seed);
            let policy = train_price_policy(&lab.system, &settings, &mut Session::new(observer))?;
            on_cells(lab, &policy, &SIZES)
        },
    },
    Kind {
        label: "price, 2000 fading samples",
        measured: OF_BANDWIDTH,
        baseline: &SIZES,
        train: |lab, seed, observer| {
            let way = PretrainLoss::Supervised;
            let policy = policy_of_draw(lab, &FadingLaw::Rayleigh, 2000, way, seed, observer)?;
            on_cells(lab, &policy.with_deviations(DEVIATIONS)?, &SIZES)
        },
    },
    Kind {
        label: "closed forms, powers of (P6)",
        measured: "100 − error of the shares, K = 10 and 200",
        baseline: &[],
        train: |lab, seed, observer| {
            let form = ClosedForm::EqualBandwidth { rate_bps: 1e5 };
            let mut settings = ClosedFormSettings::new(form, seed);
            (settings.samples, settings.steps) =
                lab.effort.of_training((settings.samples, settings.steps));
            let mut session = Session::new(observer);
            let policy = train_closed_form(&lab.system, &settings, &mut session)?;
            let trials = Trials::new(SIZES.into(), TEST.1, TEST.0);
            let results = evaluate_closed_form(&policy, &trials, &Silent)?;
            let worst = results.iter().map(ClosedFormResult::power_percent).fold(0.0, f64::max);
            Ok((100.0 - worst, None))
        },
    },
];

const FIELD: Scenario = Scenario::D2d(D2dField::DEFAULT);

/// Indices of entries in table VI.
const P_GNN: usize = 0;
const M_GNN: usize = 1;

fn links(
    lab: &Lab<'_>,
    scenario: Scenario,
    output: PowerOutput,
    seed: u64,
    observer: &dyn Observer,
) -> Result<Figures, Error> {
    let settings = lab.links_settings(scenario, seed);
    let policy = train_power(&settings, output, &mut Session::new(observer))?;
    Ok((policy.record().sum_rate_percent, None))
}

/// Trains an entry of table VI.
fn learned(
    lab: &Lab<'_>,
    place: usize,
    sizes: &[usize],
    seed: u64,
    observer: &dyn Observer,
) -> Result<Figures, Error> {
    let entry = lab.shortened(&our_entries(lab.effort)[place]);
    let (policy, _) = entry.train(&lab.system, seed, lab.law(&entry), observer)?;
    on_cells(lab, &policy, sizes)
}

/// Returns the lowest ratio of the optimum to the total bandwidth over the sizes, in percent, and the lowest
/// availability.
fn on_cells(
    lab: &Lab<'_>,
    policy: &(impl CellPolicy + Sync),
    sizes: &[usize],
) -> Result<Figures, Error> {
    reached_by(lab, &policy.allocator(), sizes)
}

/// Measures a policy as [`on_cells`] does.
fn reached_by(lab: &Lab<'_>, policy: &dyn Policy, sizes: &[usize]) -> Result<Figures, Error> {
    let test = TestSet::draw(&lab.system, sizes, TEST.1, TEST.0)?;
    let results = test.evaluate(policy, &Silent)?;
    let lowest = |values: Vec<f64>| values.into_iter().fold(f64::INFINITY, f64::min);
    let over = results.iter().map(|size| 100.0 / (1.0 + size.gap_percent / 100.0)).collect();
    let availability = results.iter().map(|size| size.availability).collect();
    Ok((lowest(over), Some(lowest(availability))))
}

/// Observer that counts restarts.
struct Counting<'a> {
    lab: &'a Lab<'a>,
    restarts: AtomicU64,
}

impl Observer for Counting<'_> {
    fn tell(&self, message: &str) {
        if message.contains("starting over") {
            self.restarts.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn stop(&self) -> bool {
        self.lab.observer.stop()
    }
}

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let count = lab.effort.of(SEEDS);
    lab.prepare_laws(&[our_entries(lab.effort)[P_GNN].clone()])?;
    let all = count * KINDS.len() as u64;
    let reached = lab.watched("training runs", all, || {
        KINDS.iter().map(|kind| train(lab, kind, count)).collect::<Result<Vec<_>, Error>>()
    })?;
    let equal = |kind: &Kind| -> Result<Option<f64>, Error> {
        let is_known = !kind.baseline.is_empty();
        let measured = is_known.then(|| reached_by(lab, &EqualPower::default(), kind.baseline));
        Ok(measured.transpose()?.map(|(percent, _)| percent))
    };
    let baselines = KINDS.iter().map(equal).collect::<Result<Vec<_>, Error>>()?;
    Ok(vec![table(count, &reached, &baselines)])
}

/// Trains all runs of a kind; each is cached when it is done.
fn train(lab: &Lab<'_>, kind: &Kind, count: u64) -> Result<Vec<Reached>, Error> {
    let one = |seed: u64| {
        lab.go_on()?;
        let reached = lab.cache.get_or("seeds", &(kind.label, lab.effort, seed), || {
            let counting = Counting { lab, restarts: AtomicU64::new(0) };
            let (percent, availability) = (kind.train)(lab, seed, &counting)?;
            let restarts = counting.restarts.into_inner();
            Ok(Reached { percent, availability, restarts })
        })?;
        lab.observer.done(1);
        Ok(reached)
    };
    (1..=count).into_par_iter().map(one).collect()
}

/// Builds the table: worst, second worst, median and best run of each kind, and the number of runs that fail.
fn table(count: u64, reached: &[Vec<Reached>], baselines: &[Option<f64>]) -> Table {
    let mut failing = 0;
    let rows = KINDS.iter().zip(reached).zip(baselines).map(|((kind, runs), baseline)| {
        let mut percents: Vec<f64> = runs.iter().map(|run| run.percent).collect();
        percents.sort_by(f64::total_cmp);
        let middle = median(percents.clone());
        let fails = |run: &&Reached| {
            run.percent < middle * (1.0 - NEAR_PERCENT / 100.0)
                || run.availability.is_some_and(|lowest| lowest < AVAILABLE)
        };
        let far = runs.iter().filter(fails).count();
        failing += usize::from(far > 0);
        let at = |place: usize| percents.get(place).copied();
        let availability = runs.iter().filter_map(|run| run.availability).reduce(f64::min);
        let restarts: u64 = runs.iter().map(|run| run.restarts).sum();
        row![
            kind.label,
            kind.measured,
            at(0),
            at(1),
            middle,
            at(percents.len().saturating_sub(1)),
            *baseline,
            availability,
            far,
            restarts,
        ]
    });
    let rows: Vec<Vec<Value>> = rows.collect();
    let verdict = match failing {
        0 => "no run fails".to_owned(),
        some => format!("runs fail in {some} of {} kinds", KINDS.len()),
    };
    Table {
        name: "seeds".into(),
        title: format!(
            "Worst, median and best of {count} training runs of every kind (%), seeds 1 to {count}"
        ),
        note: format!(
            "Usual settings; p-gnn and m-gnn are {OUR_TRAINING}. Of each measured percentage, more is better. A run \
             fails if it is more than {NEAR_PERCENT} % below the median of its kind, or if its availability rounds to \
             less than 1.00. Links are measured on validation networks of the training size, as printed by `anyk \
             train`, where WMMSE is 100; the others on {} cells for each K (seed {}). “{BASELINE}” is \
             the same figure without training.",
            TEST.1, TEST.0,
        ),
        columns: row![
            "kind of training",
            "measured (%)",
            ("worst", "{:.2}"),
            ("second worst", "{:.2}"),
            ("median", "{:.2}"),
            ("best", "{:.2}"),
            (BASELINE, "{:.2}"),
            ("lowest availability", "{:.3}"),
            "runs that fail",
            "restarts",
        ],
        rows,
        claims: vec![
            Claim::own(
                format!("None of {count} runs of any kind fails"),
                verdict,
                if failing == KINDS.len() {
                    Holds::No
                } else {
                    Holds::in_all([true, failing == 0])
                },
            )
            .covering(format!("K = 10 and 200, {count} runs, {} cells for each K", TEST.1)),
        ],
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [Option<f64>; 8] = [None; 8];

    fn all(percents: &[f64]) -> Vec<Vec<Reached>> {
        let runs: Vec<Reached> = percents
            .iter()
            .map(|&percent| Reached { percent, availability: None, restarts: 0 })
            .collect();
        KINDS.iter().map(|_| runs.clone()).collect()
    }

    #[test]
    fn one_training_that_fails_is_told() {
        let fine = table(4, &all(&[101.0, 100.5, 101.2, 101.1]), &NONE);
        assert_eq!(fine.claims[0].measured, "no run fails");
        let failing = table(4, &all(&[101.0, 91.4, 101.2, 101.1]), &NONE);
        assert_eq!(failing.claims[0].measured, "runs fail in 8 of 8 kinds");
        assert_eq!(failing.text().1[0][8], "1");
        assert_eq!(failing.text().1[0][2..8], ["91.40", "101.00", "101.05", "101.20", "–", "–"]);
        // A run near the median that does not serve every user.
        let mut unserved = all(&[95.5, 95.4, 95.6]);
        unserved[3][0].availability = Some(0.876);
        let unserved = table(3, &unserved, &NONE);
        assert_eq!(unserved.claims[0].measured, "runs fail in 1 of 8 kinds");
        assert_eq!(unserved.rows[3][8], Value::Whole(1));
    }
}
