//! Default networks for links on the fields of published networks, compared with many starts of WMMSE.

use std::hint::black_box;

use rayon::prelude::*;

use crate::power_control::{FULL_POWER, full_power_percent};
use crate::{Lab, TEST_SEED, median_seconds};
use anyk::channel::D2dField;
use anyk::framework::{Claim, Counted, Error, Holds, Stored, Table, Trials, Value};
use anyk::problems::interference::{
    PASSES, PowerOutput, PowerPolicy, PowerSizeResult, Scenario, SparseInterference, Wmmse,
    WmmseSettings, power_over_sizes,
};
use anyk::row;

/// Number of starting points of WMMSE: full power, and random ones.
const STARTS: u64 = 60;
/// Size at which one pass of the network and all starts of WMMSE are timed.
const TIMED: usize = 50;

/// Settings of a comparison: where the networks are trained, and where they are measured.
struct Plan {
    name: &'static str,
    title: &'static str,
    trained_on: Scenario,
    measured_on: Scenario,
    output: PowerOutput,
    /// Sizes, and the number of networks of each: in a trial, by default, and with full effort.
    sizes: &'static [(usize, [u64; 3])],
    /// Result of a published network on such networks, as an independent audit reports it.
    published: &'static str,
}

static PLANS: [Plan; 2] = [
    Plan {
        name: "d2d-published",
        title: "published D2D field, policies trained on AnyK's D2D field at K = 50",
        trained_on: Scenario::D2d(D2dField::DEFAULT),
        measured_on: Scenario::D2d(D2dField::PUBLISHED),
        output: PowerOutput::Priced { steps: 1 },
        sizes: &[
            (20, [2, 100, 500]),
            (50, [2, 100, 500]),
            (100, [2, 40, 200]),
            (200, [1, 20, 100]),
        ],
        published: "95.6 to 96.1 % at K = 20 to 200",
    },
    Plan {
        name: "dense-published",
        title: "dense networks with a tenth of the noise, policies trained with the usual noise at K = 10",
        trained_on: Scenario::Dense,
        measured_on: Scenario::DensePublished,
        output: PowerOutput::Ranked { passes: PASSES },
        sizes: &[
            (10, [2, 200, 1000]),
            (20, [2, 200, 1000]),
            (30, [2, 100, 500]),
            (50, [1, 100, 500]),
        ],
        published: "101, 96, 86 and 71 % at K = 10, 20, 30 and 50",
    },
];

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    PLANS.iter().map(|plan| table(lab, plan)).collect()
}

fn table(lab: &Lab<'_>, plan: &Plan) -> Result<Table, Error> {
    let runs = lab.trainings_or(10, 5);
    let policies = lab.watched("links, training runs", runs, || {
        let settings = |run| lab.links_settings(plan.trained_on, 100 + run);
        let train = |run| lab.links_policy(&settings(run), plan.output);
        (0..runs).into_par_iter().map(train).collect::<Result<Vec<_>, Error>>()
    })?;
    let counts: Vec<(usize, u64)> =
        plan.sizes.iter().map(|&(size, counts)| (size, lab.effort.of(counts))).collect();
    let all = counts.iter().map(|count| count.1).sum();
    let results = lab.watched("networks measured", all, || {
        let measure = |&count| measure(lab, plan, &policies, count);
        counts.iter().map(measure).collect::<Result<Vec<_>, Error>>()
    })?;
    let (pass_us, starts_us) = times(plan, &policies)?;
    let mut table = shown(plan, &results, (runs, pass_us, starts_us));
    let full = results
        .iter()
        .zip(&counts)
        .map(|((result, _), &(_, samples))| full_power_percent(&plan.measured_on, result, samples));
    table.rows.push(row![FULL_POWER; full.collect::<Result<Vec<f64>, Error>>()?]);
    Ok(table)
}

/// Measures all policies at a size. Also returns the mean sum rate of the best of many starts of WMMSE, in percent of
/// that of one start.
fn measure(
    lab: &Lab<'_>,
    plan: &Plan,
    policies: &[PowerPolicy],
    (size, samples): (usize, u64),
) -> Result<(PowerSizeResult, f64), Error> {
    let records: Vec<_> = policies.iter().map(Stored::record).collect();
    let key = (plan.name, records, size, samples, STARTS);
    lab.cache.get_or("links, published", &key, || {
        lab.go_on()?;
        let scenario = &plan.measured_on;
        let counted = Counted(lab.observer);
        let trials = Trials::new(vec![size], samples, TEST_SEED);
        let results =
            power_over_sizes(scenario, policies, &trials, &counted).map_err(Error::other)?;
        let result = results.into_iter().next().ok_or(Error::Interrupted)?;
        let best = |index: u64| -> Result<f64, Error> {
            lab.go_on()?;
            let problem = scenario.draw(TEST_SEED, size, index).map_err(Error::other)?;
            Ok(Wmmse::new(many_starts()).solve(&problem).sum_rate_bits)
        };
        let best = (0..samples).into_par_iter().map(best).collect::<Result<Vec<f64>, Error>>()?;
        let mean = best.iter().sum::<f64>() / samples as f64;
        let percent = 100.0 * mean / result.wmmse_bits;
        Ok((result, percent))
    })
}

fn many_starts() -> WmmseSettings {
    WmmseSettings { random_starts: STARTS - 1, ..WmmseSettings::default() }
}

/// Returns the microseconds of one pass of the policy, and of all starts of WMMSE, at one size.
fn times(plan: &Plan, policies: &[PowerPolicy]) -> Result<(f64, f64), Error> {
    let problem = plan.measured_on.draw(TEST_SEED, TIMED, 0).map_err(Error::other)?;
    let sparse = SparseInterference::new(&problem, plan.measured_on.threshold());
    let Some(policy) = policies.first() else { return Ok((0.0, 0.0)) };
    let mut allocator = policy.allocator();
    let pass = median_seconds(|| allocator.shares(black_box(&sparse)).len());
    let mut wmmse = Wmmse::new(many_starts());
    let starts = median_seconds(|| wmmse.solve(black_box(&problem)).sum_rate_bits);
    Ok((1e6 * pass, 1e6 * starts))
}

fn shown(
    plan: &Plan,
    results: &[(PowerSizeResult, f64)],
    (runs, pass_us, starts_us): (u64, f64, f64),
) -> Table {
    let sizes: Vec<String> = results.iter().map(|(result, _)| result.k.to_string()).collect();
    let sorted = |result: &PowerSizeResult| {
        let mut percents: Vec<f64> =
            result.policies.iter().map(|policy| policy.sum_rate_percent).collect();
        percents.sort_by(f64::total_cmp);
        percents
    };
    type Figure<'a> = &'a dyn Fn(&PowerSizeResult, f64) -> f64;
    let row = |label: String, figure: Figure<'_>| -> Vec<Value> {
        row![label; results.iter().map(|(result, best)| figure(result, *best))]
    };
    // From the worst at 0 to the best at 1.
    let at = |result: &PowerSizeResult, share: (usize, usize)| {
        let sorted = sorted(result);
        let place = sorted.len().saturating_sub(1) * share.0 / share.1;
        sorted.get(place).copied().unwrap_or(f64::NAN)
    };
    let (worst, middle, best) = ((0, 1), (1, 2), (1, 1));
    let rows = vec![
        row(format!("policy, worst of {runs} runs"), &|result, _| at(result, worst)),
        row("policy, median".into(), &|result, _| at(result, middle)),
        row("policy, best".into(), &|result, _| at(result, best)),
        row(format!("WMMSE, best of {STARTS} starts"), &|_, best| best),
        row("FPLinQ".into(), &|result, _| result.fplinq_percent),
        row("greedy, links tried again".into(), &|result, _| result.greedy_improved_percent),
    ];
    let reached = results.iter().filter(|(result, best)| at(result, middle) >= *best);
    let reached: Vec<String> = reached.map(|(result, _)| result.k.to_string()).collect();
    let as_good = results.iter().map(|(result, best)| at(result, middle) >= *best);
    let holds = Holds::in_all(as_good);
    let reached = match reached.len() {
        0 => "at none of these sizes".to_owned(),
        count if count == results.len() => "at every size".to_owned(),
        _ => format!("at K = {}", reached.join(", ")),
    };
    Table {
        name: plan.name.into(),
        title: format!("Sum rates relative to WMMSE (%): {}", plan.title),
        note: format!(
            "WMMSE runs 100 iterations from full power, then from {} random points; the test networks have seed \
             {TEST_SEED}. Times are for the {STARTS} starts and for one pass of a policy at K = {TIMED}. An \
             independent audit measured a published network at {} in this setting.",
            STARTS - 1,
            plan.published,
        ),
        columns: row![
            "% of WMMSE's mean sum rate";
            results.iter().map(|(result, _)| (format!("K = {}", result.k), "{:.2}"))
        ],
        rows,
        claims: vec![Claim::own(
            format!(
                "One pass of the policy (median run) is as good as the best of {STARTS} starts of WMMSE ({})",
                plan.title
            ),
            format!(
                "{reached}. At K = {TIMED}, it takes {pass_us:.0} µs, compared with {:.1} ms ({:.0} times as fast)",
                1e-3 * starts_us,
                starts_us / pass_us.max(1e-9)
            ),
            holds,
        )
        .covering(format!("K = {}; {runs} runs", sizes.join(", ")))],
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyk::problems::interference::PowerPolicyResult;

    fn result(k: usize, percents: [f64; 3]) -> PowerSizeResult {
        let policy = |sum_rate_percent| PowerPolicyResult {
            sum_rate_bits: 1.0,
            sum_rate_percent,
            power_share: 0.5,
        };
        PowerSizeResult {
            k,
            wmmse_bits: 1.0,
            standard_error_bits: 0.0,
            fplinq_percent: 97.0,
            greedy_percent: 96.0,
            greedy_improved_percent: 98.0,
            exact_percent: None,
            wmmse_power_share: 0.5,
            policies: percents.map(policy).to_vec(),
        }
    }

    /// The words name the sizes at which the policy is as good as many starts.
    #[test]
    fn the_words_follow_the_figures() {
        let claim = |best: [f64; 2]| {
            let results = [
                (result(20, [99.0, 101.0, 102.0]), best[0]),
                (result(50, [99.0, 101.0, 102.0]), best[1]),
            ];
            shown(&PLANS[0], &results, (3, 10.0, 1000.0)).claims.remove(0)
        };
        let one = claim([102.0, 100.5]);
        assert_eq!(
            one.measured,
            "at K = 50. At K = 50, it takes 10 µs, compared with 1.0 ms (100 times as fast)"
        );
        assert_eq!(one.holds, Holds::Partly);
        assert!(claim([102.0, 101.5]).measured.starts_with("at none of these sizes."));
        assert!(claim([100.0, 100.0]).measured.starts_with("at every size."));
        assert_eq!(claim([100.0, 100.0]).holds, Holds::Yes);
    }
}
