//! Power control and link scheduling, learned at one size (paper, section III-B): networks with each aggregator and
//! output, compared with WMMSE, FPLinQ, greedy scheduling and the best schedule.

use rayon::prelude::*;

use crate::pictures::{self, DENSE_RATES, FIELD_RATES};
use crate::shown::with_range;
use crate::verdict::{Trend, covering, runs_words};
use crate::{Effort, Lab, TEST_SEED};
use anyk::channel::D2dField;
use anyk::framework::{
    Chart, Claim, Claimant, Counted, Error, Series, Stored, Table, Trials, Value,
};
use anyk::math::worst_but;
use anyk::network::{Aggregator, EdgeGnn};
use anyk::problems::interference::{
    BinaryGap, PASSES, PowerLoss, PowerOutput, PowerPolicy, PowerSizeResult, PowerTrainSettings,
    Scenario, WmmseSettings, binary_gap, power_over_sizes,
};
use anyk::row;

/// Number of runs from which the second worst is shown instead of the worst.
const SECOND_WORST_FROM: u64 = 5;
const RANKED: PowerOutput = PowerOutput::Ranked { passes: PASSES };
/// Number of links for the comparison of WMMSE's powers with the best schedule.
const BINARY_SIZE: usize = 10;

/// Row of a table: a network, its training, and its output.
struct Row {
    label: String,
    settings: PowerTrainSettings,
    output: PowerOutput,
}

impl Row {
    fn new(
        scenario: Scenario,
        label: &str,
        aggregator: Aggregator,
        loss: PowerLoss,
        output: PowerOutput,
    ) -> Self {
        let preset = PowerTrainSettings::preset(scenario, 0);
        let network = EdgeGnn { aggregator, ..preset.network };
        let settings = PowerTrainSettings { network, loss, ..preset };
        Self { label: label.to_owned(), settings, output }
    }

    /// Returns the settings of one run.
    fn settings_of_run(&self, effort: Effort, run: u64) -> PowerTrainSettings {
        let (samples, steps) = effort.of_training((self.settings.samples, self.settings.steps));
        PowerTrainSettings { samples, steps, seed: 100 + run, ..self.settings.clone() }
    }
}

/// Measurements in a scenario.
struct Plan {
    name: &'static str,
    title: &'static str,
    scenario: Scenario,
    /// Sizes, and the number of random networks of each: with full effort, and by default.
    sizes: &'static [(usize, [u64; 2])],
    rows: Vec<Row>,
}

fn dense() -> Plan {
    let scenario = Scenario::Dense;
    let row = |label, aggregator, loss, output| Row::new(scenario, label, aggregator, loss, output);
    use Aggregator::{Max, Mean, Sum};
    use PowerLoss::{Fplinq, SumRate, Wmmse};
    use PowerOutput::{Classifier, Sigmoid};
    Plan {
        name: "dense",
        title: "Sum rates on dense networks relative to WMMSE (%), trained at K = 10",
        scenario: Scenario::Dense,
        sizes: &[
            (5, [1000, 200]),
            (10, [1000, 200]),
            (20, [1000, 100]),
            (30, [1000, 100]),
            (50, [1000, 100]),
            (100, [1000, 100]),
        ],
        rows: vec![
            row("max, sigmoid", Max, SumRate, Sigmoid),
            row("sum, sigmoid", Sum, SumRate, Sigmoid),
            row("sum, classifier, FPLinQ labels", Sum, Fplinq, Classifier),
            row("mean, sigmoid", Mean, SumRate, Sigmoid),
            row("mean, sigmoid, WMMSE labels", Mean, Wmmse, Sigmoid),
            row("max, ranked", Max, SumRate, RANKED),
            row("mean, ranked, WMMSE labels", Mean, Wmmse, RANKED),
            row("mean, ranked", Mean, SumRate, RANKED),
        ],
    }
}

fn d2d() -> Plan {
    let scenario = Scenario::D2d(D2dField::default());
    let row = |label, aggregator, loss, output| Row::new(scenario, label, aggregator, loss, output);
    use Aggregator::{Max, Mean, Sum};
    use PowerLoss::{Fplinq, SumRate, Wmmse};
    use PowerOutput::{Classifier, Priced, Sigmoid};
    Plan {
        name: "d2d",
        title: "Sum rates on D2D fields relative to WMMSE (%), trained at K = 50 on 2,000 layouts",
        scenario,
        sizes: &[
            (20, [200, 40]),
            (50, [200, 40]),
            (100, [100, 20]),
            (200, [100, 10]),
            (500, [50, 4]),
            (1000, [50, 2]),
        ],
        rows: vec![
            row("max, sigmoid", Max, SumRate, Sigmoid),
            row("mean, sigmoid", Mean, SumRate, Sigmoid),
            row("sum, sigmoid, WMMSE labels", Sum, Wmmse, Sigmoid),
            row("sum, classifier, FPLinQ labels", Sum, Fplinq, Classifier),
            row("sum, ranked (schedule)", Sum, SumRate, RANKED),
            row("sum, sigmoid", Sum, SumRate, Sigmoid),
            row("sum, priced", Sum, SumRate, Priced { steps: 1 }),
        ],
    }
}

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let runs = lab.trainings_or(SECOND_WORST_FROM, 1);
    Ok(vec![table(lab, &dense(), runs)?, table(lab, &d2d(), runs)?, binary(lab)?])
}

fn table(lab: &Lab<'_>, plan: &Plan, runs: u64) -> Result<Table, Error> {
    let policies = train(lab, plan, runs)?;
    let results = measure(lab, plan, &policies)?;
    let skipped = usize::from(runs >= SECOND_WORST_FROM);
    let all = |row: usize, result: &PowerSizeResult| -> Vec<f64> {
        let first = row * policies.len() / plan.rows.len();
        let figures = result.policies[first..].iter().take(policies.len() / plan.rows.len());
        figures.map(|figure| figure.sum_rate_percent).collect()
    };
    // The worst sum rate is the lowest.
    let shown = |row: usize, result: &PowerSizeResult| -> f64 {
        let negative = all(row, result).into_iter().map(|percent| -percent).collect();
        -worst_but(negative, skipped).unwrap_or(f64::NAN)
    };
    type Figure = fn(&PowerSizeResult) -> Option<f64>;
    let baselines: [(&str, Figure); 4] = [
        ("FPLinQ", |result| Some(result.fplinq_percent)),
        ("greedy", |result| Some(result.greedy_percent)),
        ("greedy, then every link again", |result| Some(result.greedy_improved_percent)),
        ("best schedule", |result| result.exact_percent),
    ];
    let (mut rows, mut curves) = (vec![], vec![]);
    for (row, plan_row) in plan.rows.iter().enumerate() {
        let figures: Vec<f64> = results.iter().map(|result| shown(row, result)).collect();
        let cells = results.iter().zip(&figures);
        let cells = cells.map(|(result, &figure)| with_range(figure, &all(row, result)));
        rows.push(row![plan_row.label.clone(); cells]);
        let points =
            results.iter().zip(&figures).map(|(result, &figure)| (result.k as f64, figure));
        curves.push(Series::solid(plan_row.label.clone(), points.collect()));
    }
    let counts = counts(lab, plan);
    let full = results.iter().zip(&counts).map(|(result, &(_, samples))| {
        lab.go_on()?;
        full_power_percent(&plan.scenario, result, samples)
    });
    rows.push(row![FULL_POWER; full.collect::<Result<Vec<f64>, Error>>()?]);
    let mut others = Vec::new();
    for (label, figure) in baselines {
        let points = results.iter().filter_map(|result| Some((result.k as f64, figure(result)?)));
        others.push(Series::dashed(label, points.collect()));
        rows.push(row![label; results.iter().map(figure)]);
    }
    let bits = |result: &PowerSizeResult| Value::formatted([result.wmmse_bits], "{:.3}");
    rows.push(row!["WMMSE: bit/s/Hz"; results.iter().map(bits)]);
    let share = |result: &PowerSizeResult| Value::formatted([result.wmmse_power_share], "{:.4}");
    rows.push(row!["WMMSE: share of P_max used"; results.iter().map(share)]);
    let (subject, picture) = if plan.scenario == Scenario::Dense {
        (DENSE_RATES, "Sum rate on dense networks, trained at K = 10")
    } else {
        (FIELD_RATES, "Sum rate on D2D fields, trained at K = 50")
    };
    Ok(Table {
        name: plan.name.into(),
        title: plan.title.into(),
        pictures: vec![pictures::of_rates(subject, picture, &curves, others)],
        claims: covering(
            claims(plan, &results, &shown),
            &format!("{}; {} of each network", sizes(&results), runs_words(runs)),
        )
        .into_iter()
        // The paper's claim is about WMMSE, which is not trained.
        .map(|claim| match claim.by {
            Claimant::Paper => claim.covering(sizes(&results)),
            Claimant::Own => claim,
        })
        .collect(),
        note: note(plan, &results, runs),
        columns: row![
            "% of WMMSE's mean sum rate";
            results.iter().map(|result| (format!("K = {}", result.k), "{:.2} ({:.2}–{:.2})"))
        ],
        rows,
        chart: Some(Chart {
            title: "Sum rate relative to WMMSE against the number of links K".into(),
            x_label: "number of links K".into(),
            y_label: "sum rate (% of WMMSE)".into(),
            log_x: true,
            log_y: false,
            series: curves,
        }),
    })
}

/// Lists the sizes that were measured.
fn sizes(results: &[PowerSizeResult]) -> String {
    let all: Vec<String> = results.iter().map(|result| result.k.to_string()).collect();
    format!("K = {}", all.join(", "))
}

/// Returns claims about a scenario for the summary.
fn claims(
    plan: &Plan,
    results: &[PowerSizeResult],
    shown: &impl Fn(usize, &PowerSizeResult) -> f64,
) -> Vec<Claim> {
    let last = plan.rows.len() - 1;
    // Lowest rate of a row over all sizes.
    let lowest =
        |row: usize| results.iter().map(|result| shown(row, result)).fold(f64::INFINITY, f64::min);
    if plan.scenario == Scenario::Dense {
        let shares: Vec<(f64, f64)> =
            results.iter().map(|result| (result.k as f64, result.wmmse_power_share)).collect();
        dense_claims(&shares, [lowest(0), lowest(3), lowest(1)], lowest(last))
    } else {
        let best = results.iter().find_map(|result| result.exact_percent).unwrap_or(f64::NAN);
        let plain = [lowest(last - 1), lowest(0), lowest(1)];
        vec![field_claim(plain), schedules_claim(lowest(last), lowest(last - 2), best)]
    }
}

/// Returns claims about dense networks. `shares` is the share of power that WMMSE uses, by K. The other numbers are the
/// lowest sum rates relative to WMMSE, in percent, of networks with a sigmoid (max, mean, sum) and with outputs that
/// only rank the links.
fn dense_claims(shares: &[(f64, f64)], sigmoids: [f64; 3], ranked: f64) -> Vec<Claim> {
    let [max, mean, sum] = sigmoids;
    let trend = Trend::fit(shares);
    let share = |at: Option<&(f64, f64)>| at.map_or(f64::NAN, |point| point.1);
    vec![
        Claim::paper(
            "Power control by WMMSE on dense networks is size-invariant",
            format!(
                "the share of power in use {}, from {:.3} to {:.3}",
                trend.word(),
                share(shares.first()),
                share(shares.last())
            ),
            trend == Trend::Stays,
        ),
        Claim::own(
            "With a sigmoid output, not every aggregator trained at K = 10 generalizes on dense networks",
            format!(
                "lowest sum rates: {max:.0} % of WMMSE with max, {mean:.0} % with mean, {sum:.0} % with sum"
            ),
            !sigmoids.into_iter().all(generalizes),
        ),
        Claim::own(
            "A network that only ranks the links, trained at K = 10, generalizes on dense networks",
            format!("lowest sum rate: {ranked:.1} % of WMMSE"),
            generalizes(ranked),
        ),
    ]
}

/// Returns the claim about fields, by the lowest rates without an outer function: sum, max, mean.
fn field_claim(plain: [f64; 3]) -> Claim {
    let [sum, max, mean] = plain;
    Claim::own(
        "On fields of constant density, every aggregator trained at K = 50 generalizes without an outer function",
        format!(
            "lowest sum rates: {sum:.1} % of WMMSE with sum, {max:.1} % with max, {mean:.1} % with mean"
        ),
        plain.into_iter().all(generalizes),
    )
}

/// Returns the claim that powers between 0 and P_max reach higher sum rates than schedules on fields. The numbers are
/// sum rates relative to WMMSE in percent: the lowest of learned powers after one step to the prices, the lowest of
/// learned schedules, and that of the best schedules.
fn schedules_claim(priced: f64, scheduled: f64, best: f64) -> Claim {
    Claim::own(
        "On fields of constant density, schedules reach lower sum rates than powers between 0 and P_max",
        format!(
            "the lowest sum rate is {scheduled:.1} % of WMMSE's for learned schedules, and {priced:.1} % for learned \
             powers. The best schedules reach {best:.1} % at K = 20"
        ),
        scheduled < priced && best < 100.0,
    )
}

/// Returns the note, which says how the figures were measured.
fn note(plan: &Plan, results: &[PowerSizeResult], runs: u64) -> String {
    let rule = match runs {
        1 => "from one run".to_owned(),
        SECOND_WORST_FROM.. => {
            format!("the second worst of {runs} runs, with the worst and the best in brackets")
        }
        _ => format!("the worst of {runs} runs, with the worst and the best in brackets"),
    };
    let more = if plan.scenario == Scenario::Dense {
        let improved = results.iter().map(|result| result.greedy_improved_percent);
        format!(
            "With the greedy order instead of the network's, the same outer function stays above {:.1} %. Trends over K: \
             {}.",
            improved.fold(f64::INFINITY, f64::min),
            Trend::RULE,
        )
    } else {
        "At constant density, the number of neighbors of a link does not depend on K.".to_owned()
    };
    format!(
        "Each figure is {rule}, on networks of seed \
         {TEST_SEED}. WMMSE runs 100 iterations from full power. A network generalizes if its sum rate is at least \
         {GENERALIZES_PERCENT:.0} % of WMMSE's. {more}"
    )
}

/// Lowest sum rate of a network that generalizes, in percent of WMMSE's.
const GENERALIZES_PERCENT: f64 = 95.0;

fn generalizes(percent: f64) -> bool {
    percent >= GENERALIZES_PERCENT
}

/// Trains all runs of all rows, ordered by row and run. Rows that share a network train it once; trained networks are
/// cached.
fn train(lab: &Lab<'_>, plan: &Plan, runs: u64) -> Result<Vec<PowerPolicy>, Error> {
    let mut wanted: Vec<PowerTrainSettings> = Vec::new();
    for row in &plan.rows {
        for run in 0..runs {
            let settings = row.settings_of_run(lab.effort, run);
            if !wanted.contains(&settings) {
                wanted.push(settings);
            }
        }
    }
    let trained = lab.watched("power control, runs", wanted.len() as u64, || {
        let train = |settings| lab.links_policy(settings, PowerOutput::Sigmoid);
        wanted.par_iter().map(train).collect::<Result<Vec<_>, Error>>()
    })?;
    let mut policies = Vec::new();
    for row in &plan.rows {
        for run in 0..runs {
            let settings = row.settings_of_run(lab.effort, run);
            let found = wanted.iter().position(|other| *other == settings);
            policies.extend(found.map(|index| trained[index].with_output(row.output)));
        }
    }
    Ok(policies)
}

/// Sizes, and the number of networks of each.
fn counts(lab: &Lab<'_>, plan: &Plan) -> Vec<(usize, u64)> {
    let count =
        |&(size, counts): &(usize, [u64; 2])| (size, lab.effort.of([2, counts[1], counts[0]]));
    plan.sizes.iter().map(count).collect()
}

/// Label of the trivial baseline.
pub(crate) const FULL_POWER: &str = "full power";

/// Returns the mean sum rate of full power on the networks of a result, in percent of WMMSE's.
pub(crate) fn full_power_percent(
    scenario: &Scenario,
    result: &PowerSizeResult,
    samples: u64,
) -> Result<f64, Error> {
    let rate = |index: u64| -> Result<f64, Error> {
        let network = scenario.draw(TEST_SEED, result.k, index).map_err(Error::other)?;
        Ok(network.sum_rate_bits(&vec![1.0; result.k]))
    };
    let rates = (0..samples).into_par_iter().map(rate).collect::<Result<Vec<f64>, Error>>()?;
    Ok(100.0 * rates.iter().sum::<f64>() / (samples as f64 * result.wmmse_bits))
}

/// Measures all policies at each size; results of each size are cached.
fn measure(
    lab: &Lab<'_>,
    plan: &Plan,
    policies: &[PowerPolicy],
) -> Result<Vec<PowerSizeResult>, Error> {
    let counts = counts(lab, plan);
    let all = counts.iter().map(|count| count.1).sum();
    let records: Vec<_> = policies.iter().map(Stored::record).collect();
    let measure = |&(size, samples): &(usize, u64)| -> Result<Vec<PowerSizeResult>, Error> {
        const WORK: &str = "power control, sizes";
        let key = (&records, size, samples, TEST_SEED);
        if let Some(known) = lab.cache.find(WORK, &key)? {
            lab.observer.done(samples);
            return Ok(known);
        }
        lab.go_on()?;
        let counted = Counted(lab.observer);
        let trials = Trials::new(vec![size], samples, TEST_SEED);
        let made =
            power_over_sizes(&plan.scenario, policies, &trials, &counted).map_err(Error::other)?;
        lab.cache.keep(WORK, &key, &made)?;
        Ok(made)
    };
    let results = lab.watched("power control, networks", all, || {
        counts.iter().map(measure).collect::<Result<Vec<_>, Error>>()
    })?;
    Ok(results.into_iter().flatten().collect())
}

/// Measures how often, and by how much, WMMSE with powers between 0 and P_max beats the best schedule.
fn binary(lab: &Lab<'_>) -> Result<Table, Error> {
    let samples = lab.effort.of([20, 500, 10_000]);
    let mut rows = Vec::new();
    let mut gaps = Vec::new();
    let starts = [("full power", 0), ("full power and 10 random starts", 10)];
    for scenario in [Scenario::Dense, Scenario::D2d(D2dField::default())] {
        for (label, random_starts) in starts {
            let settings = WmmseSettings { random_starts, ..WmmseSettings::default() };
            lab.go_on()?;
            let gap = binary_gap(&scenario, BINARY_SIZE, samples, TEST_SEED, settings)
                .map_err(Error::other)?;
            rows.push(row![
                scenario.name(),
                label,
                gap.share_binary_powers,
                gap.share_of_instances_where_wmmse_beats,
                gap.mean_gain_percent,
                gap.max_gain_percent,
                gap.wmmse_percent_of_best_schedule,
            ]);
            gaps.push(gap);
        }
    }
    Ok(Table {
        name: "binary".into(),
        title: format!("WMMSE compared with the best schedule at K = {BINARY_SIZE}"),
        note: format!(
            "{samples} networks of each scenario, seed {TEST_SEED}. “Nearly all” means at least {:.0} %, as in the \
             paper.",
            100.0 * NEARLY_ALL,
        ),
        columns: row![
            "scenario",
            "start",
            ("share of powers that are 0 or P_max", "{:.4}"),
            ("share of networks where WMMSE beats the best schedule", "{:.4}"),
            ("mean gain", "%", "{:.2}"),
            ("largest gain", "%", "{:.2}"),
            ("mean sum rate relative to the best schedule's", "%", "{:.2}"),
        ],
        rows,
        claims: vec![
            binary_claim(&gaps[0]).covering(format!("K = {BINARY_SIZE}, {samples} networks")),
        ],
        ..Table::default()
    })
}

/// Share of powers that counts as nearly all, as in the paper.
const NEARLY_ALL: f64 = 0.95;

/// Returns the claim that nearly all powers on dense networks are 0 or P_max.
fn binary_claim(dense: &BinaryGap) -> Claim {
    let percent = 100.0 * dense.share_binary_powers;
    Claim::paper(
        "On dense networks nearly all powers of WMMSE are 0 or P_max",
        format!("{percent:.1} % of them at K = {BINARY_SIZE}"),
        dense.share_binary_powers >= NEARLY_ALL,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyk::framework::Holds;

    #[test]
    fn claims_follow_the_numbers() {
        let shares = |exponent: f64| [5.0f64, 10.0, 50.0, 100.0].map(|k| (k, k.powf(exponent)));
        let held = |claims: &[Claim]| claims.iter().map(|claim| claim.holds).collect::<Vec<_>>();
        let falling = dense_claims(&shares(-0.8), [90.0, 64.0, 25.0], 100.3);
        assert_eq!(held(&falling), [Holds::No, Holds::Yes, Holds::Yes]);
        let steady = dense_claims(&shares(0.0), [99.0, 98.0, 97.0], 90.0);
        assert_eq!(held(&steady), [Holds::Yes, Holds::No, Holds::No]);
        assert_eq!(field_claim([99.3, 99.0, 99.0]).holds, Holds::Yes);
        assert_eq!(field_claim([99.3, 91.0, 99.0]).holds, Holds::No);
        assert_eq!(schedules_claim(101.0, 97.0, 96.0).holds, Holds::Yes);
        assert_eq!(schedules_claim(96.0, 97.0, 101.0).holds, Holds::No);
    }

    #[test]
    fn binary_or_not_by_the_numbers() {
        let gap = |share_binary_powers: f64| BinaryGap {
            k: 10,
            samples: 1,
            share_binary_powers,
            share_of_instances_where_wmmse_beats: 0.1,
            mean_gain_percent: 1.0,
            max_gain_percent: 1.0,
            wmmse_percent_of_best_schedule: 99.0,
        };
        assert_eq!(binary_claim(&gap(0.99)).holds, Holds::Yes);
        assert_eq!(binary_claim(&gap(0.6)).holds, Holds::No);
    }
}
