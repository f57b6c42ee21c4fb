//! The price policy for other costs than the paper's: its gap to the optimum for any number of users.

use std::sync::Arc;
use std::time::Instant;

use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::Lab;
use anyk::System;
use anyk::framework::{Claim, Error, Silent, Table, Trials};
use anyk::math::{median, realization_rng};
use anyk::problems::separable::{
    Cost, CostError, SeparablePrice, SeparableSettings, evaluate_separable,
};
use anyk::qos::RequiredBandwidth;
use anyk::row;

const SIZES: [usize; 8] = [1, 2, 5, 10, 30, 100, 300, 1000];
/// Numbers of seeds, and of instances for each size and seed: in a trial, by default, and with full effort.
const SEEDS: [u64; 3] = [2, 20, 20];
const INSTANCES: [u64; 3] = [5, 100, 100];
/// Target for every cost: largest gap to the optimum in percent.
const TARGET_PERCENT: f64 = 0.1;

/// Costs, with the gains and the budget of their instances.
struct Case {
    name: &'static str,
    /// Cost of each class. The seeds use the lists in turn.
    costs: Vec<Vec<Arc<Cost>>>,
    gain: (f64, f64),
    budget: f64,
}

/// Result of a case.
#[derive(Serialize, Deserialize)]
struct Found {
    /// Largest mean gap to the optimum over seeds and sizes, percent.
    gap_percent: f64,
    /// Size at which it occurs.
    k: usize,
    /// Smallest and largest mean gap of equal shares.
    equal: [String; 2],
    /// Number of prices of the responses.
    prices: usize,
    /// Median milliseconds of a training run.
    train_ms: f64,
}

/// Result of a case, or the reason why the policy was rejected.
type Outcome = Result<Found, String>;

/// Builds a cost from a function.
fn of(f: impl Fn(f64) -> f64) -> Result<Arc<Cost>, CostError> {
    Ok(Arc::new(Cost::from_fn((0.0, 1e5), f)?))
}

/// Builds a sum of five `max(1 − u/b, 0)` with random weights and kinks.
fn pieces(seed: u64) -> Result<Arc<Cost>, CostError> {
    let mut rng = realization_rng(seed, 1, 0);
    let mut decades = |low: f64, high: f64| 10f64.powf(rng.random_range(low..high));
    let kinks: Vec<[f64; 2]> = (0..5).map(|_| [decades(-1.0, 1.0), decades(-1.0, 0.0)]).collect();
    of(|u| kinks.iter().map(|[place, weight]| weight * (1.0 - u / place).max(0.0)).sum())
}

/// Builds a hundred costs: four families with 25 scales each. None vanishes exponentially, because the optimum of a
/// cell with only such costs is smaller than its rounding errors.
fn hundred() -> Result<Vec<Arc<Cost>>, CostError> {
    let scale = |class: u32| 10f64.powf(f64::from(class / 4) / 12.0 - 1.0);
    let cost = |class: u32| {
        let scale = scale(class);
        of(move |u| match class % 4 {
            0 => 1.0 / (scale + u),
            1 => (1.0 + scale * u).powi(-2),
            2 => -(scale * u).ln_1p(),
            _ => (1.0 - u / scale).max(0.0).powi(2),
        })
    };
    (0..100).map(cost).collect()
}

/// Builds the bandwidth of (P1) as a function of the received power.
fn bandwidth(system: &System) -> Result<Arc<Cost>, Error> {
    let required = RequiredBandwidth::new(system.qos(system.service())?);
    let least_w = required.min_received_w();
    let hz = |u: f64| required.at(u).map_or(f64::INFINITY, |point| point.bandwidth_hz);
    Ok(Arc::new(Cost::from_fn((least_w, 1e8 * least_w), hz).map_err(Error::other)?))
}

fn cases(system: &System) -> Result<Vec<Case>, Error> {
    let road = system.road();
    let cell_gain = [road.cell_radius_m, road.min_distance_m].map(|d| system.path_loss().gain(d));
    let p1 = bandwidth(system)?;
    let plain = || -> Result<Vec<Case>, CostError> {
        let case = |name, costs| Case { name, costs, gain: (0.03, 30.0), budget: 20.0 };
        let one = |name, f: fn(f64) -> f64| Ok(case(name, vec![vec![of(f)?]]));
        let flat = |name, f: fn(f64) -> f64| {
            Ok(case(name, vec![vec![Arc::new(Cost::from_fn((0.0, 3.0), f)?)]]))
        };
        let samples = (0..300).map(|i| 1e4 * (f64::from(i) / 299.0).powi(4));
        let samples: Vec<(f64, f64)> = samples.map(|u| (u, 1.0 / (1.0 + u))).collect();
        let energy =
            one("u(2^{1/u} − 1), energy at a deadline", |u| u * ((1.0 / u).exp2() - 1.0))?;
        let random = (0..SEEDS[2]).map(|seed| Ok(vec![pieces(seed)?]));
        Ok(vec![
            one("−ln(1+u), water-filling", |u| -u.ln_1p())?,
            one("−ln ln(1+u), proportionally fair rates", |u| -u.ln_1p().ln())?,
            Case { budget: 200.0, ..energy },
            Case {
                name: "b(u), (P1)",
                costs: vec![vec![p1]],
                gain: (cell_gain[0], cell_gain[1]),
                budget: system.max_power_w(),
            },
            one("1/u", |u| 1.0 / u)?,
            one("−√u", |u| -u.sqrt())?,
            one("1/(1+u)", |u| 1.0 / (1.0 + u))?,
            case("1/(1+u) as 300 samples", vec![vec![Arc::new(Cost::from_samples(&samples)?)]]),
            one("exp(−u)", |u| (-u).exp())?,
            one("ln(1+e^{3−u})", |u| (3.0 - u).exp().ln_1p())?,
            one("max(1−u, 0)²", |u| (1.0 - u).max(0.0).powi(2))?,
            one("max(1−u, 0)", |u| (1.0 - u).max(0.0))?,
            flat("max(1−u, 0)⁴ up to u = 3", |u| (1.0 - u).max(0.0).powi(4))?,
            flat("max(1−u, 0) up to u = 3", |u| (1.0 - u).max(0.0))?,
            case("five random pieces, different for each seed", random.collect::<Result<_, _>>()?),
            case(
                "two classes: −ln(1+u), 1/(0.1+u)",
                vec![vec![of(|u| -u.ln_1p())?, of(|u| 1.0 / (0.1 + u))?]],
            ),
            case("100 classes", vec![hundred()?]),
        ])
    };
    plain().map_err(Error::other)
}

pub(crate) fn table(lab: &Lab<'_>) -> Result<Table, Error> {
    lab.go_on()?;
    let cases = cases(&lab.system)?;
    let (seeds, instances) = (lab.effort.of(SEEDS), lab.effort.of(INSTANCES));
    let measured = |case: &Case| {
        lab.go_on()?;
        let key = (case.name, seeds, instances);
        let outcome = lab.cache.get_or("costs", &key, || measure(case, seeds, instances))?;
        lab.observer.done(1);
        Ok((case.name, outcome))
    };
    let outcomes: Vec<(&str, Outcome)> =
        lab.watched("price policy, costs", cases.len() as u64, || {
            cases.iter().map(measured).collect::<Result<_, Error>>()
        })?;
    Ok(shown(&outcomes, seeds, instances))
}

/// Trains for each seed and measures at every size.
fn measure(case: &Case, seeds: u64, instances: u64) -> Result<Outcome, Error> {
    let mut found =
        Found { gap_percent: 0.0, k: 1, equal: Default::default(), prices: 0, train_ms: 0.0 };
    let (mut times, mut equal) = (Vec::new(), (f64::INFINITY, 0.0f64));
    for (seed, costs) in (1..=seeds).zip(case.costs.iter().cycle()) {
        let settings = SeparableSettings::new(case.gain, case.budget, seed);
        let started = Instant::now();
        let policy = match SeparablePrice::train(costs, &settings, None) {
            Ok(policy) => policy,
            Err(error) => return Ok(Err(error.to_string())),
        };
        times.push(1e3 * started.elapsed().as_secs_f64());
        found.prices = found.prices.max(policy.prices());
        let trials = Trials::new(SIZES.to_vec(), instances, 100 + seed);
        for row in evaluate_separable(&policy, &trials, &Silent)? {
            if row.infeasible > 0 {
                return Ok(Err(format!("{} instances without an answer", row.infeasible)));
            }
            if row.gap_percent > found.gap_percent {
                (found.gap_percent, found.k) = (row.gap_percent, row.k);
            }
            // A single user gets the whole budget in any case, and so does every user if the budget is not scarce.
            if row.k > 1 && (row.spare as u64) < instances {
                let gap = row.equal_gap_percent.unwrap_or(f64::INFINITY);
                equal = (equal.0.min(gap), equal.1.max(gap));
            }
        }
    }
    found.equal = [equal.0, equal.1].map(percent);
    found.train_ms = median(times);
    Ok(Ok(found))
}

/// Formats a percentage with few digits.
fn percent(value: f64) -> String {
    match value {
        value if value.is_infinite() => "∞".to_owned(),
        value if value >= 1e4 => format!("{value:.0e}"),
        value => format!("{value:.2}"),
    }
}

fn shown(outcomes: &[(&str, Outcome)], seeds: u64, instances: u64) -> Table {
    let row = |(name, outcome): &(&str, Outcome)| match outcome {
        Ok(Found { gap_percent, k, equal: [low, high], prices, train_ms }) => {
            row![*name, *gap_percent, *k, format!("{low} to {high}"), *prices, *train_ms]
        }
        Err(why) => row![*name, format!("rejected: {why}")],
    };
    Table {
        name: "price-costs".into(),
        title: "Gap of the price policy to the optimum for other costs, K = 1 to 1000".into(),
        note: format!(
            "The gap is the cost above the optimum, in percent of |optimum| + price·X. The table shows the largest \
             mean over {instances} instances of one size, K = {SIZES:?}, for any of {seeds} seeds. The policy depends \
             only on the cost; the seed determines the instances. Gains are uniform in their logarithm, over three decades, \
             or for (P1) over the range of the paper's cell. The budget is the same at every K. Equal shares are for K \
             ≥ 2. The training time includes the fit of the responses and the 200 instances on which the policy is \
             measured. “100 classes” has 25 each of 1/(a+u), (1+au)⁻², −ln(1+au) and max(1−u/a, 0)², with a from 0.1 \
             to 10, at random in one cell."
        ),
        columns: row![
            "cost",
            ("largest gap", "%", "{:.1e}"),
            "at K",
            "gap of equal shares (%)",
            "prices",
            ("training", "ms", "{:.1}"),
        ],
        rows: outcomes.iter().map(row).collect(),
        claims: vec![
            claim(outcomes).covering(format!(
                "K = 1 to 1000, {seeds} seeds, {instances} instances for each K"
            )),
        ],
        ..Table::default()
    }
}

fn claim(outcomes: &[(&str, Outcome)]) -> Claim {
    let gaps = outcomes.iter().filter_map(|(name, outcome)| {
        outcome.as_ref().ok().map(|found| (found.gap_percent, found.k, name))
    });
    let worst = gaps.max_by(|a, b| a.0.total_cmp(&b.0));
    let rejected = outcomes.iter().filter(|(_, outcome)| outcome.is_err()).count();
    let measured = worst.map_or_else(String::new, |(gap, k, name)| {
        format!("the largest gap is {gap:.1e} %, for the cost “{name}” at K = {k}. ")
    });
    Claim::own(
        format!(
            "The gap of the price policy is at most {TARGET_PERCENT} % for each of {} costs at every K from {} to {}",
            outcomes.len(),
            SIZES[0],
            SIZES[SIZES.len() - 1],
        ),
        format!("{measured}The policy rejects {rejected} of the costs"),
        rejected == 0 && worst.is_some_and(|worst| worst.0 <= TARGET_PERCENT),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyk::framework::Holds;

    #[test]
    fn a_cost_that_is_rejected_is_shown_and_counted() {
        let good = |gap_percent| {
            let equal = [1.5, 2e17].map(percent);
            Ok(Found { gap_percent, k: 30, equal, prices: 9, train_ms: 2.0 })
        };
        let held = claim(&[("a", good(0.01)), ("b", good(0.1))]);
        assert_eq!(held.holds, Holds::Yes);
        assert_eq!(
            held.measured,
            "the largest gap is 1.0e-1 %, for the cost “b” at K = 30. The policy rejects 0 of the costs"
        );
        assert_eq!(claim(&[("a", good(0.2))]).holds, Holds::No);
        let outcomes = [("a", good(0.01)), ("b", Err("too rough".to_owned()))];
        assert_eq!(claim(&outcomes).holds, Holds::No);
        let (_, rows) = shown(&outcomes, 1, 1).text();
        assert_eq!(rows[0], ["a", "1.0e-2", "30", "1.50 to 2e17", "9", "2.0"]);
        assert_eq!(rows[1][1], "rejected: too rough");
        assert_eq!(percent(f64::INFINITY), "∞");
    }
}
