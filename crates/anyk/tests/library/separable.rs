//! User-defined problems: optima compared with closed forms, nested bisection and the paper's own problems; invalid
//! costs; weights; and the price policy at any size.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use anyk::framework::{Silent, Stored, Trials};
use anyk::math::realization_rng;
use anyk::problems::closed_forms::{QosPower, solve_qos_power};
use anyk::problems::separable::{
    BuiltInCost, Cost, CostError, EqualShares, OwnSeparable, Separable, SeparableAllocator,
    SeparableAssessment, SeparablePrice, SeparableSettings, SeparableSolution, SeparableSolver,
    evaluate_separable, separable_instance,
};
use anyk::problems::urllc::{Urllc, UrllcSolver};
use anyk::qos::RequiredBandwidth;
use anyk::{Allocation, ArrayView, Instance, Outcome, Problem, Status};
use anyk::{Config, System};
use approx::assert_relative_eq;
use proptest::prelude::*;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

fn paper() -> System {
    Config::default().validate().unwrap()
}

/// Returns gains over this many decades, uniform in their logarithm.
fn gains(size: usize, decades: f64, seed: u64) -> Vec<f64> {
    let mut rng = realization_rng(seed, size, 0);
    (0..size).map(|_| 10f64.powf(decades * (rng.random::<f64>() - 0.5))).collect()
}

/// Solves a problem, and returns the solution with the judge's verdict on it.
fn judged(problem: &Separable) -> (SeparableSolution, SeparableAssessment) {
    let solution = SeparableSolver::default().solve(problem);
    assert!(solution.duality_gap >= 0.0);
    separable_instance(problem.clone())
        .check(&Allocation::of(vec![solution.amounts.clone()]))
        .unwrap();
    let verdict = problem.assess(&solution.amounts).unwrap();
    assert!(verdict.is_feasible(), "{verdict:?}");
    assert!((verdict.objective - solution.objective).abs() <= 1e-11 * verdict.objective.abs());
    (solution, verdict)
}

/// Solves a problem, and asserts that the solution is optimal and its marginal costs are equal to 1e-6.
fn solved(problem: &Separable) -> SeparableSolution {
    let (solution, verdict) = judged(problem);
    assert!(solution.outcome.is_optimal(), "{}", solution.duality_gap);
    assert!(verdict.kkt_residual < 1e-6, "{verdict:?}");
    solution
}

/// Returns the point at which a decreasing function has a value.
fn falling(value: f64, (mut low, mut high): (f64, f64), f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let middle = if low > 0.0 { (low * high).sqrt() } else { 0.5 * (low + high) };
        if f(middle) > value { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Computes the optimum of costs with a known derivative by bisection over the price and over each user's amount.
fn by_bisection(
    (gains, budget): (&[f64], f64),
    range: (f64, f64),
    marginal: impl Fn(f64) -> f64,
) -> Vec<f64> {
    let answer = |price: f64| -> Vec<f64> {
        let own = |gain: &f64| falling(price / gain, range, &marginal) / gain;
        gains.iter().map(own).collect()
    };
    let price = falling(budget, (1e-30, 1e30), |price| answer(price).iter().sum());
    answer(price)
}

/// Computes the optimal powers for the sum rate: up to a common water level, and 0 for users above it.
fn water_filling(gains: &[f64], budget: f64) -> Vec<f64> {
    let mut sorted = gains.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let mut level = 0.0;
    let mut floors = 0.0;
    for (index, gain) in sorted.iter().enumerate() {
        floors += 1.0 / gain;
        let with_it = (budget + floors) / (index + 1) as f64;
        if with_it <= 1.0 / gain {
            break;
        }
        level = with_it;
    }
    gains.iter().map(|gain| (level - 1.0 / gain).max(0.0)).collect()
}

#[test]
fn water_filling_with_dry_channels() {
    for (size, decades) in [(1, 2.0), (2, 2.0), (10, 3.0), (200, 4.0), (3000, 2.0)] {
        for budget in [1e-3, 0.1, 1.0, 30.0, 1e4] {
            let gains = gains(size, decades, 7);
            let range = (0.0, Separable::reach(&gains, budget));
            let cost = Arc::new(Cost::from_fn(range, |u| -u.ln_1p()).unwrap());
            assert!(cost.error_bound() < 1e-7, "{}", cost.error_bound());
            let problem = Separable::uniform(cost, gains.clone(), budget).unwrap();
            let solution = solved(&problem);
            let exact = water_filling(&gains, budget);
            let rate = |amounts: &[f64]| -> f64 {
                amounts.iter().zip(&gains).map(|(x, gain)| (gain * x).ln_1p()).sum()
            };
            let off = rate(&exact) / rate(&solution.amounts) - 1.0;
            assert!(off.abs() < 1e-11, "K = {size}, {budget}: {off}");
            let dry = |amounts: &[f64]| amounts.iter().filter(|x| **x <= 0.0).count();
            assert_eq!(dry(&exact), dry(&solution.amounts), "K = {size}, {budget}");
            for (x, exact) in solution.amounts.iter().zip(&exact) {
                assert!((x - exact).abs() < 1e-8 * budget, "K = {size}, {budget}: {x} {exact}");
            }
        }
    }
}

/// Tests proportionally fair rates: −ln ln(1 + u), which is infinite for a user without power.
#[test]
fn proportionally_fair_rates() {
    let marginal = |u: f64| 1.0 / ((1.0 + u) * u.ln_1p());
    for (size, budget) in [(1, 1.0), (7, 0.01), (50, 20.0)] {
        let gains = gains(size, 3.0, 3);
        let range = (0.0, Separable::reach(&gains, budget));
        let cost = Arc::new(Cost::from_fn(range, |u| -u.ln_1p().ln()).unwrap());
        let problem = Separable::uniform(cost, gains.clone(), budget).unwrap();
        let solution = solved(&problem);
        let mut starving = solution.amounts.clone();
        starving[0] = 0.0;
        let verdict = problem.assess(&starving).unwrap();
        assert!(verdict.starved == 1 && !verdict.is_feasible() && verdict.objective.is_infinite());
        let exact = by_bisection((&gains, budget), (1e-40, 1e9), marginal);
        for (x, exact) in solution.amounts.iter().zip(&exact) {
            assert!((x / exact - 1.0).abs() < 1e-7, "{x} {exact}");
        }
        let objective: f64 = exact.iter().zip(&gains).map(|(x, a)| -(a * x).ln_1p().ln()).sum();
        assert!((solution.objective - objective).abs() < 1e-8 * (1.0 + objective.abs()));
    }
}

/// Tests the energy per bit of users that take turns until a deadline: `u·(2^(1/u) − 1)` for the time `u`.
#[test]
fn energy_at_a_deadline() {
    let energy = |u: f64| u * ((1.0 / u).exp2() - 1.0);
    let marginal = |u: f64| {
        let power = (1.0 / u).exp2();
        power * (std::f64::consts::LN_2 / u) - (power - 1.0)
    };
    for (size, budget) in [(1, 1.0), (5, 0.5), (40, 12.0)] {
        let gains = gains(size, 1.0, 5);
        let range = (0.0, Separable::reach(&gains, budget));
        let cost = Arc::new(Cost::from_fn(range, energy).unwrap());
        let solution = solved(&Separable::uniform(cost, gains.clone(), budget).unwrap());
        let exact = by_bisection((&gains, budget), (1e-2, 1e3), marginal);
        let objective: f64 = exact.iter().zip(&gains).map(|(x, gain)| energy(gain * x)).sum();
        assert!((solution.objective / objective - 1.0).abs() < 1e-8);
        for (x, exact) in solution.amounts.iter().zip(&exact) {
            assert!((x / exact - 1.0).abs() < 1e-6, "{x} {exact}");
        }
    }
}

/// Tests (P1) as a special case, with the required bandwidth at a received power as the cost. Below the fold, no
/// bandwidth is sufficient.
#[test]
fn p1_is_a_special_case() {
    let system = paper();
    let required = RequiredBandwidth::new(system.qos(system.service()).unwrap());
    let least_w = required.min_received_w();
    let hz = |u: f64| required.at(u).map_or(f64::INFINITY, |point| point.bandwidth_hz);
    let cost = Arc::new(Cost::from_fn((least_w, 1e6 * least_w), hz).unwrap());
    let (mut solver, mut urllc) = (SeparableSolver::default(), UrllcSolver::default());
    for (size, share) in [(1, 1.0), (5, 1.0), (10, 0.5), (100, 1.0), (1000, 10.0)] {
        let mut rng = realization_rng(11, size, 0);
        let gains: Vec<f64> = (0..size)
            .map(|_| system.path_loss().gain(system.road().sample_distance_m(&mut rng)))
            .collect();
        let budget_w = share * system.max_power_w();
        let cell = Urllc::uniform(&system, gains.clone()).unwrap();
        let cell = cell.with_max_power_w(budget_w).unwrap();
        let exact = urllc.solve(&cell);
        assert!(exact.outcome.is_optimal());
        let problem = Separable::uniform(Arc::clone(&cost), gains, budget_w).unwrap();
        let solution = solver.solve(&problem);
        assert!(solution.outcome.is_optimal(), "{}", solution.duality_gap);
        let off = solution.objective / exact.allocation.total_bandwidth_hz() - 1.0;
        assert!(off.abs() < 1e-8, "K = {size}: {off}");
        assert!((solution.price / exact.price_hz_per_w - 1.0).abs() < 1e-6);
        for (x, power_w) in solution.amounts.iter().zip(&exact.allocation.power_w) {
            assert!((x / power_w - 1.0).abs() < 1e-5, "K = {size}: {x} {power_w}");
        }
    }
    // Half of the smallest power: the solver reports this and the users that can be served.
    let problem = Separable::uniform(cost, [1e-10, 1e-13], 1.5 * least_w / 1e-13).unwrap();
    assert!(solver.solve(&problem).outcome.is_optimal());
    let problem =
        Separable::uniform(Arc::clone(&problem.costs()[0]), [1e-10, 1e-13], 0.5 * least_w / 1e-13);
    match solver.solve(&problem.unwrap()).outcome {
        Outcome::Infeasible(why) => {
            assert_eq!((why.admissible, why.dropped), (vec![0], vec![1]));
        }
        other => panic!("{other:?}"),
    }
}

/// Tests (P5) as a special case, with the missing rate as the cost. It is flat at 0, and if the budget is not used
/// up, each user gets only the power that it needs.
#[test]
fn p5_is_a_special_case() {
    let system = paper();
    let (rate_bps, bandwidth_hz) = (1e6, 5e5);
    let mut rng = realization_rng(13, 30, 0);
    let gains: Vec<f64> = (0..30)
        .map(|_| system.path_loss().gain(system.road().sample_distance_m(&mut rng)))
        .collect();
    let noise_w = system.noise_w_hz() * bandwidth_hz;
    let missing = |u: f64| (rate_bps - bandwidth_hz * (u / noise_w).ln_1p() / 2f64.ln()).max(0.0);
    let exact = solve_qos_power(
        &QosPower::new(&system, rate_bps, bandwidth_hz, gains.iter().copied()).unwrap(),
    );
    let needed_w: f64 = exact.iter().sum();
    let cost = Arc::new(Cost::from_fn((0.0, 100.0 * noise_w), missing).unwrap());
    let problem = Separable::uniform(cost, gains, 3.0 * needed_w).unwrap();
    let solution = SeparableSolver::default().solve(&problem);
    assert!(solution.price.abs() <= 0.0 && solution.iterations == 0);
    for (x, power_w) in solution.amounts.iter().zip(&exact) {
        assert!((x / power_w - 1.0).abs() < 1e-11, "{x} {power_w}");
    }
    let verdict = problem.assess(&solution.amounts).unwrap();
    assert!(verdict.kkt_residual < 1e-9 && verdict.objective.abs() < 1e-3, "{verdict:?}");
}

/// Tests linear costs, for which the amounts jump with the price. The users with the best gains are filled first.
#[test]
fn straight_costs_are_filled_in_order() {
    let line = Arc::new(Cost::from_fn((0.0, 5.0), |u| (1.0 - u).max(0.0)).unwrap());
    let sampled = Arc::new(Cost::from_samples(&[(5.0, 0.0), (0.0, 1.0), (1.0, 0.0)]).unwrap());
    let two = Arc::new(Cost::from_samples(&[(0.0, 1.0), (1.0, 0.0)]).unwrap());
    assert!((line.range().1 - 1.0).abs() < 1e-11 && sampled.range().1 <= 5.0);
    for cost in [line, two] {
        for size in [1, 3, 100] {
            let gains = gains(size, 2.0, 17);
            let all: f64 = gains.iter().map(|gain| 1.0 / gain).sum();
            for share in [0.01, 0.5, 0.99, 2.0] {
                let budget = share * all;
                let problem = Separable::uniform(Arc::clone(&cost), gains.clone(), budget).unwrap();
                let solution = SeparableSolver::default().solve(&problem);
                let mut sorted = gains.clone();
                sorted.sort_by(|a, b| b.total_cmp(a));
                let (mut left, mut missing) = (budget, 0.0);
                for gain in sorted {
                    let own = left.min(1.0 / gain);
                    left -= own;
                    missing += 1.0 - gain * own;
                }
                let off = (solution.objective - missing).abs();
                assert!(off < 1e-9 * size as f64, "K = {size}, {share}: {off}");
                assert!(solution.amounts.iter().sum::<f64>() <= budget * (1.0 + 1e-12));
            }
        }
    }
}

/// Tests that sampled costs pass through the samples in any order, are as close to the function as convexity
/// requires, and have the same optimum.
#[test]
fn samples_stand_for_their_function() {
    let f = |u: f64| 1.0 / (1.0 + u);
    let mut samples: Vec<(f64, f64)> = (0..200)
        .map(|i| {
            let u = 100.0 * (f64::from(i) / 199.0).powi(2);
            (u, f(u))
        })
        .collect();
    samples.reverse();
    let sampled = Arc::new(Cost::from_samples(&samples).unwrap());
    for &(u, value) in &samples {
        // From both sides.
        let before = sampled.value(u * (1.0 - 1e-13));
        assert!((sampled.value(u) - value).abs() < 1e-13 && (before - value).abs() < 1e-12, "{u}");
    }
    let apart = sampled.between_samples().unwrap();
    assert!(apart > 1e-6 && apart < 1e-2, "{apart}");
    let mut least = f64::INFINITY;
    for i in 0..5000 {
        let u = 0.02 * f64::from(i);
        assert!((sampled.value(u) - f(u)).abs() <= apart, "{u}");
        let marginal = sampled.marginal(u);
        assert!(marginal <= least + 1e-12, "{u}");
        least = marginal;
    }
    // Computed by hand: from 0 to 1 the cost may drop immediately to the line through the other two samples, which is
    // lower by 0.3 at the start of the interval.
    let three = Cost::from_samples(&[(0.0, 1.0), (1.0, 0.5), (2.0, 0.3)]).unwrap();
    assert!((three.between_samples().unwrap() - 0.3 / 0.7).abs() < 1e-12);
    let whole = Arc::new(Cost::from_fn((0.0, 100.0), f).unwrap());
    let gains = gains(30, 1.0, 2);
    let [a, b] = [sampled, whole]
        .map(|cost| solved(&Separable::uniform(cost, gains.clone(), 10.0).unwrap()).objective);
    assert!((a / b - 1.0).abs() < 1e-4, "{a} {b}");
}

/// Tests two kinds of costs in one problem: users of both have the same price.
#[test]
fn classes_share_a_price() {
    let rate = Arc::new(Cost::from_fn((0.0, 1e3), |u| -u.ln_1p()).unwrap());
    let delay = Arc::new(Cost::from_fn((0.0, 1e3), |u| 1.0 / u).unwrap());
    let users = gains(40, 2.0, 23).into_iter().enumerate().map(|(user, gain)| (gain, user % 2));
    let problem = Separable::new(vec![rate, delay], users, 10.0).unwrap();
    let solution = solved(&problem);
    for (user, x) in solution.amounts.iter().enumerate() {
        let gain = problem.gains()[user];
        let exact = match problem.classes()[user] {
            0 => (1.0 / solution.price - 1.0 / gain).max(0.0),
            _ => (solution.price * gain).sqrt().recip(),
        };
        assert!((x - exact).abs() < 1e-7, "{x} {exact}");
    }
    // Equal amounts are worse, and within the budget.
    let mut equal = Vec::new();
    assert!(EqualShares.serve(&problem, &mut equal).is_served());
    let verdict = problem.assess(&equal).unwrap();
    assert!(verdict.is_feasible() && verdict.objective > solution.objective);
    assert!(verdict.kkt_residual > 0.1);
}

/// Tests that a cost is the same after [`Cost::to_values`], and that other numbers are rejected.
#[test]
fn a_cost_is_rebuilt_from_its_values() {
    let tabulated = Cost::from_fn((0.0, 1e4), |u| -u.ln_1p()).unwrap();
    let sampled = Cost::from_samples(&[(0.0, 1.0), (1.0, 0.5), (2.0, 0.3)]).unwrap();
    for cost in [tabulated, sampled] {
        let values = cost.to_values();
        assert_eq!(Cost::from_values(&values).unwrap(), cost);
        assert!(Cost::from_values(&values[1..]).is_err());
        for at in [0, 2, 3, values.len() - 1] {
            let mut wrong = values.clone();
            wrong[at] = f64::NAN;
            assert!(Cost::from_values(&wrong).is_err(), "{at}");
        }
    }
    assert!(Cost::from_values(&[]).is_err());
}

/// Tests that an invalid cost is rejected with the points and values that show the fault, and that nothing panics.
#[test]
fn what_is_no_cost_is_refused() {
    let of = |range: (f64, f64), f: fn(f64) -> f64| Cost::from_fn(range, f).unwrap_err();
    let unit = (0.0, 1.0);
    assert!(matches!(of(unit, |_| f64::NAN), CostError::NotFinite { .. }));
    assert!(matches!(
        of(unit, |u| if u > 0.3 { f64::NAN } else { -u }),
        CostError::NotFinite { .. }
    ));
    assert!(matches!(of(unit, |_| f64::INFINITY), CostError::NotFinite { .. }));
    assert!(matches!(of(unit, |_| f64::NEG_INFINITY), CostError::NotFinite { .. }));
    assert!(matches!(
        of(unit, |u| if u > 0.9 { f64::INFINITY } else { 1.0 - u }),
        CostError::NotFinite { .. }
    ));
    assert!(matches!(of(unit, |_| 3.0), CostError::Constant { .. }));
    assert!(matches!(of(unit, |u| u), CostError::NotDecreasing { .. }));
    assert!(matches!(
        of(unit, |u| (1.0 - u).min(0.8 - 0.1 * u).min(0.75)),
        CostError::NotConvex { .. }
    ));
    assert!(matches!(of(unit, |u| -u * u), CostError::NotConvex { .. }));
    assert!(matches!(of(unit, |u| if u < 0.5 { 1.0 } else { 0.0 }), CostError::NotConvex { .. }));
    let wild = of(unit, |u| -u + 1e-3 * (1e5 * u).sin());
    assert!(
        matches!(wild, CostError::NotConvex { .. } | CostError::NotDecreasing { .. }),
        "{wild}"
    );
    for range in
        [(1.0, 1.0), (2.0, 1.0), (-1.0, 1.0), (0.0, f64::NAN), (0.0, f64::INFINITY), (0.0, 1e200)]
    {
        assert!(matches!(of(range, |u| -u), CostError::Range { .. }), "{range:?}");
    }
    let message = of((0.0, 3.0), f64::cos).to_string();
    assert!(
        message.contains("not convex: at u = ")
            && message.contains("the second lies above the line")
    );
    let samples = |rows: &[(f64, f64)]| Cost::from_samples(rows).unwrap_err();
    assert!(matches!(samples(&[]), CostError::Count(0)));
    assert!(matches!(samples(&[(0.0, 1.0)]), CostError::Count(1)));
    assert!(matches!(samples(&[(0.0, 1.0), (1.0, 0.0), (0.0, 2.0)]), CostError::Duplicate { .. }));
    assert!(matches!(samples(&[(0.0, 1.0), (1.0, f64::NAN)]), CostError::NotFinite { .. }));
    assert!(matches!(samples(&[(-1.0, 1.0), (1.0, 0.0)]), CostError::Range { .. }));
    let bent = samples(&[(0.0, 1.0), (1.0, 0.9), (2.0, 0.0)]);
    assert_eq!(bent, CostError::NotConvex { u: [0.0, 1.0, 2.0], value: [1.0, 0.9, 0.0] });
}

/// Tests ranges and costs of many decades.
#[test]
fn wide_ranges() {
    let cost = Arc::new(Cost::from_fn((0.0, 1e90), |u| 1.0 / (1.0 + u)).unwrap());
    let gains = gains(50, 12.0, 31);
    let solution = solved(&Separable::uniform(cost, gains.clone(), 1e9).unwrap());
    let marginal = |u: f64| (1.0 + u).powi(-2);
    let exact = by_bisection((&gains, 1e9), (1e-40, 1e90), marginal);
    for (x, exact) in solution.amounts.iter().zip(&exact) {
        assert!((x - exact).abs() < 1e-7 * exact.max(1.0), "{x} {exact}");
    }
    let steep = Arc::new(Cost::from_fn((0.0, 1e6), |u| (-u).exp()).unwrap());
    let range = steep.range();
    assert!(range.1 < 1e3, "{range:?}");
    let solution = solved(&Separable::uniform(steep, [0.1, 1.0, 10.0], 20.0).unwrap());
    assert!((solution.amounts.iter().sum::<f64>() - 20.0).abs() < 1e-10);
}

/// Returns a random convex, decreasing function with kinks, flat parts and steep ends, and the positions of its
/// kinks.
fn random_convex(rng: &mut ChaCha8Rng, high: f64) -> (impl Fn(f64) -> f64 + use<>, Vec<f64>) {
    let mut place = || high * 10f64.powf(-6.0 * rng.random::<f64>());
    let kinks: Vec<f64> = (0..4).map(|_| place()).collect();
    let places = kinks.clone();
    let unit = place();
    let weights: Vec<f64> = (0..kinks.len() + 2)
        .map(|_| if rng.random() { 10f64.powf(4.0 * rng.random::<f64>() - 2.0) } else { 0.0 })
        .collect();
    let (kind, power, offset) = (rng.random_range(0..40), rng.random::<f64>(), rng.random::<f64>());
    let f = move |u: f64| {
        let smooth = match kind {
            0 => -(u / unit).ln_1p(),
            1 => (u / unit).powf(-3.0 * power),
            2 => -(u / unit).powf(power),
            3 => (-u / unit).exp(),
            4 => offset * (1.0 - u / high),
            _ => 0.0,
        };
        let bent: f64 = kinks.iter().zip(&weights).map(|(b, w)| w * (1.0 - u / b).max(0.0)).sum();
        let square = weights[4] * (1.0 - u / kinks[0]).max(0.0).powi(2);
        // At least one part decreases.
        let first = if weights[..5].iter().all(|w| *w <= 0.0) || kind > 4 { 1.0 } else { 0.0 };
        weights[5] * offset + smooth + bent + square + first * (1.0 - u / kinks[1]).max(0.0)
    };
    (f, places)
}

/// Tabulates and solves a random case, and returns an error if something exceeds its bound.
fn random_case(case: u64) -> Result<(), String> {
    let mut rng = realization_rng(case, 1, 0);
    let high = 10f64.powf(8.0 * rng.random::<f64>() - 3.0);
    let (f, kinks) = random_convex(&mut rng, high);
    let cost = Cost::from_fn((0.0, high), &f).map_err(|error| error.to_string())?;
    let (first, last) = cost.range();
    let near = [0.0, 1e-14, 1e-12, 1e-9, 1e-6, 1e-4, 1e-2, 0.1];
    let around = kinks.iter().flat_map(|b| near.map(|d| [b * (1.0 - d), b * (1.0 + d)]));
    let anywhere: Vec<f64> =
        (0..100).map(|_| last * 10f64.powf(-8.0 * rng.random::<f64>())).collect();
    for u in around.flatten().chain(anywhere).filter(|u| (first..=high).contains(u)) {
        let (off, bound) = ((cost.value(u) - f(u)).abs(), cost.error_at(u));
        if off > bound {
            return Err(format!("the table is off by {off:e} at {u}, its bound is {bound:e}"));
        }
    }
    let size = rng.random_range(1..8);
    let gains: Vec<f64> = (0..size).map(|_| 10f64.powf(2.0 * rng.random::<f64>())).collect();
    let most: f64 = gains.iter().map(|gain| last / gain).sum();
    let least: f64 = gains.iter().map(|gain| first / gain).sum();
    let budget = least + (most - least) * rng.random::<f64>();
    let problem = Separable::uniform(Arc::new(cost), gains.clone(), budget).unwrap();
    let solution = SeparableSolver::default().solve(&problem);
    if solution.duality_gap > 1e-6 {
        return Err(format!("the gap is {:e}", solution.duality_gap));
    }
    // Moves some of one user's amount to another, with the exact function.
    let scale = solution.objective.abs() + solution.price * budget;
    let allowed = (solution.duality_gap + 1e-14 * size as f64) * scale;
    for _ in 0..50 {
        let (from, to) = (rng.random_range(0..size), rng.random_range(0..size));
        let mut moved = solution.amounts.clone();
        let share = 10f64.powf(-8.0 * rng.random::<f64>());
        let amount = share * (moved[from] - first / gains[from]);
        moved[from] -= amount;
        moved[to] += amount;
        let total: f64 = moved.iter().zip(&gains).map(|(x, gain)| f((gain * x).min(high))).sum();
        let saved = solution.objective - total;
        if saved > allowed {
            return Err(format!("an exchange saves {saved:e}, the gap allows {allowed:e}"));
        }
    }
    Ok(())
}

/// Tests that the table of every random convex function is within its bound, and that no random exchange improves a
/// solution by more than its gap. The long version runs 10,000 cases.
#[test]
fn tables_and_gaps_bound_random_convex_functions() {
    let cases = if std::env::var_os("ANYK_LONG").is_some() { 10_000u64 } else { 1000 };
    let failed: Vec<String> = (0..cases)
        .into_par_iter()
        .filter_map(|case| random_case(case).err().map(|why| format!("case {case}: {why}")))
        .collect();
    assert!(
        failed.is_empty(),
        "{} cases, the first are {:#?}",
        failed.len(),
        &failed[..failed.len().min(10)]
    );
}

/// Tests kinks in the last percent of a piece of the table, which interpolation points and check points once missed.
#[test]
fn kinks_anywhere_are_found() {
    let (b, high) = (0.391_121_704_095_970_75, 99.798_708_505_736_02);
    let cost = Cost::from_fn((0.0, high), |u| (b - u).max(0.0)).unwrap();
    assert!((cost.value(0.389_838_8) - (b - 0.389_838_8)).abs() < 1e-12);
    assert!((cost.range().1 - b).abs() < 1e-11);
    // Users with the best gains are filled first.
    let mut gains = gains(10, 2.0, 1);
    gains.sort_by(|a, b| b.total_cmp(a));
    let all: f64 = gains.iter().map(|gain| 1.0 / gain).sum();
    for share in [0.1, 0.255_75, 0.6, 0.9] {
        let budget = share * all;
        let range = (0.0, Separable::reach(&gains, budget));
        let cost = Arc::new(Cost::from_fn(range, |u| (1.0 - u).max(0.0)).unwrap());
        let solution = solved(&Separable::uniform(cost, gains.clone(), budget).unwrap());
        let (mut left, mut missing) = (budget, 0.0);
        for gain in &gains {
            let own = f64::min(left, 1.0 / gain);
            left -= own;
            missing += 1.0 - gain * own;
        }
        let off = (solution.objective - missing).abs();
        assert!(off <= 1e-10 * missing, "{share}: {off:e}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Tests any cost of a family with any gains: the gap is a bound, the judge agrees, no exchange is better, and
    /// the order of the users does not matter.
    #[test]
    fn optimal_and_equivariant(
        (kind, power) in (0..4usize, 0.2..3.0f64),
        spread in 0.0..6.0f64,
        (size, seed) in (1..40usize, 0..1000u64),
        budget in -4.0..4.0f64,
    ) {
        let (gains, budget) = (gains(size, spread, seed), 10f64.powf(budget));
        let range = (0.0, Separable::reach(&gains, budget));
        let cost = Cost::from_fn(range, |u| match kind {
            0 => (1.0 + u).powf(-power),
            1 => -u.powf(0.3 * power),
            2 => u.powf(-power),
            _ => (-power * u).exp(),
        });
        let cost = Arc::new(cost.unwrap());
        let problem = Separable::uniform(cost, gains, budget).unwrap();
        // Only the gap is guaranteed. Marginal costs may differ more for users whose amount is almost 0.
        let (solution, _) = judged(&problem);
        // A cost that has decreased to almost 0, such as e^(−u), is not known to a relative error of 1e-6, and the
        // status says so.
        let is_nothing = kind == 3 && solution.objective < 1e-9 * size as f64;
        let is_optimal = solution.outcome.is_optimal();
        prop_assert!(is_optimal || is_nothing, "{}", solution.duality_gap);
        let mut rng = realization_rng(seed, size, 1);
        let mut order: Vec<usize> = (0..size).collect();
        order.shuffle(&mut rng);
        let (other, _) = judged(&problem.subset(&order));
        for (place, &user) in order.iter().enumerate() {
            let off = (other.amounts[place] - solution.amounts[user]).abs();
            prop_assert!(off < 1e-7 * budget);
        }
        // Moving some of one user's amount to another is never better than the gap allows.
        let gap = solution.duality_gap.max(1e-8);
        let allowed = gap * (solution.objective.abs() + solution.price * budget);
        for _ in 0..10 {
            let (from, to) = (rng.random_range(0..size), rng.random_range(0..size));
            let mut moved = solution.amounts.clone();
            let amount = moved[from] * 10f64.powf(-4.0 * rng.random::<f64>());
            moved[from] -= amount;
            moved[to] += amount;
            let verdict = problem.assess(&moved).unwrap();
            prop_assert!(verdict.objective >= solution.objective - allowed);
        }
    }
}

/// Returns the required bandwidth as a cost, and the range of its gains.
fn p1_cost(system: &System) -> (Arc<Cost>, (f64, f64)) {
    let required = RequiredBandwidth::new(system.qos(system.service()).unwrap());
    let least_w = required.min_received_w();
    let hz = |u: f64| required.at(u).map_or(f64::INFINITY, |point| point.bandwidth_hz);
    let road = system.road();
    let gain = |distance_m| system.path_loss().gain(distance_m);
    let cost = Cost::from_fn((least_w, 1e8 * least_w), hz).unwrap();
    (Arc::new(cost), (gain(road.cell_radius_m), gain(road.min_distance_m)))
}

fn served(allocator: &mut SeparableAllocator, problem: &Separable) -> Vec<f64> {
    let mut amounts = Vec::new();
    let outcome = allocator.serve(problem, &mut amounts);
    assert_eq!(outcome, Outcome::Served(Status::Learned));
    amounts
}

/// Returns the excess cost of an allocation over the optimum, relative to `|optimum| + price·X`. It is 0 if the
/// budget is not used up and each user has all that is useful. Asserts that the allocation is within the budget and
/// that every cost is finite.
fn over_optimum(problem: &Separable, amounts: &[f64]) -> f64 {
    over_solution(problem, &SeparableSolver::default().solve(problem), amounts)
}

fn over_solution(problem: &Separable, solution: &SeparableSolution, amounts: &[f64]) -> f64 {
    assert!(solution.outcome.is_served());
    let verdict = problem.assess(amounts).unwrap();
    assert!(verdict.is_feasible(), "{verdict:?}");
    let size = solution.objective.abs() + solution.price * problem.budget();
    let over = verdict.objective - solution.objective;
    if solution.price > 0.0 {
        assert!(verdict.budget_excess > -1e-9, "{verdict:?}");
        over / size
    } else {
        assert_eq!(amounts, solution.amounts);
        0.0
    }
}

/// Tests policies that were measured at K = 10 from one user to 300: within 0.1 % of `|optimum| + price·X` on the
/// worst of 30 instances, also with budgets outside the settings.
#[test]
fn the_price_policy_at_any_size() {
    let system = paper();
    let of = |f: fn(f64) -> f64| Arc::new(Cost::from_fn((0.0, 1e5), f).unwrap());
    let named = |cost: BuiltInCost| vec![Arc::new(cost.cost(1e12).unwrap())];
    let samples: Vec<(f64, f64)> = (0..300)
        .map(|i| 1e4 * (f64::from(i) / 299.0).powi(4))
        .map(|u| (u, 1.0 / (1.0 + u)))
        .collect();
    let sampled = Arc::new(Cost::from_samples(&samples).unwrap());
    let (p1, cell) = p1_cost(&system);
    let unit = (0.03, 30.0);
    let mut rows = vec![
        ("b(u), (P1)", vec![p1], cell, system.max_power_w()),
        ("u(2^(1/u)-1)", vec![of(|u| u * ((1.0 / u).exp2() - 1.0))], unit, 200.0),
        ("samples", vec![sampled], unit, 20.0),
        ("-sqrt(u)", vec![of(|u| -u.sqrt())], unit, 20.0),
        ("max(1-u,0)^2", vec![of(|u| (1.0 - u).max(0.0).powi(2))], unit, 2.0),
        ("max(1-u,0)", vec![of(|u| (1.0 - u).max(0.0))], unit, 2.0),
        ("two costs", vec![of(|u| -u.ln_1p()), of(|u| 1.0 / (0.1 + u))], unit, 20.0),
    ];
    rows.extend(BuiltInCost::ALL.iter().map(|&(name, _, cost)| (name, named(cost), unit, 20.0)));
    for (name, costs, gain, budget) in rows {
        let settings = SeparableSettings::new(gain, budget, 1);
        let policy = SeparablePrice::train(&costs, &settings, None).unwrap();
        assert!(policy.record().metrics.gap_percent < 0.1, "{name}");
        let trials = Trials::new(vec![1, 2, 10, 300], 30, 5);
        for row in evaluate_separable(&policy, &trials, &Silent).unwrap() {
            assert!(row.worst_gap_percent < 0.1 && row.infeasible == 0, "{name}: {row:?}");
            assert!(row.gap_percent > -1e-4, "{name}: {row:?}");
        }
        let mut allocator = policy.allocator();
        for factor in [1e-3, 0.1, 30.0] {
            let other = SeparableSettings { budget: factor * budget, ..settings.clone() };
            for size in [1, 2, 10, 300] {
                let problem = other.draw(&costs, 6, size, 0).unwrap();
                let over = over_optimum(&problem, &served(&mut allocator, &problem));
                assert!((-1e-6..1e-3).contains(&over), "{name}: K = {size}, {factor}: {over:e}");
            }
        }
    }
}

/// Tests that the order of users and the model file make no difference, and that other costs are rejected.
#[test]
fn the_price_policy_has_its_costs_with_it() {
    let rate = Arc::new(Cost::from_fn((0.0, 1e3), |u| -u.ln_1p()).unwrap());
    let delay = Arc::new(Cost::from_fn((0.0, 1e3), |u| 1.0 / (0.1 + u)).unwrap());
    let costs = [rate, delay];
    let settings = SeparableSettings::new((0.1, 10.0), 20.0, 1);
    let policy = SeparablePrice::train(&costs, &settings, None).unwrap();
    assert!(policy.record().metrics.equal_gap_percent > 2.0);
    let mut allocator = policy.allocator();
    let problem = settings.draw(&costs, 9, 50, 0).unwrap();
    let amounts = served(&mut allocator, &problem);
    assert!((amounts.iter().sum::<f64>() / problem.budget() - 1.0).abs() < 1e-12);
    let order: Vec<usize> = (0..50).rev().collect();
    let reversed = served(&mut allocator, &problem.subset(&order));
    for (a, b) in amounts.iter().zip(reversed.iter().rev()) {
        assert!((a - b).abs() < 1e-5 * problem.budget(), "{a} {b}");
    }
    let bytes = policy.to_bytes().unwrap();
    let loaded = SeparablePrice::from_bytes(&bytes).unwrap();
    assert_eq!((loaded.record(), loaded.costs()), (policy.record(), policy.costs()));
    assert_eq!(loaded.prices(), policy.prices());
    assert_eq!(served(&mut loaded.allocator(), &problem), amounts);
    assert_eq!(loaded.to_bytes().unwrap(), bytes);
    // A single cost is another problem.
    let other = Separable::uniform(Arc::clone(&costs[0]), [1.0, 2.0], 3.0).unwrap();
    let refused = allocator.serve(&other, &mut Vec::new());
    assert!(matches!(refused, Outcome::Refused(why) if why.contains("has 1 costs")));
    let record = policy.record().clone();
    assert!(SeparablePrice::new(record.clone(), costs[..1].to_vec()).is_err());
    assert!(SeparablePrice::new(record, Vec::new()).is_err());
    let settings = SeparableSettings { budget: f64::NAN, ..settings };
    let error = SeparablePrice::train(&costs, &settings, None).unwrap_err().to_string();
    assert!(error.contains("budget"), "{error}");
}

/// Tests 100 classes with weights over four decades: each user responds to its own cost.
#[test]
fn the_price_policy_of_100_classes() {
    let of = |weight: f64| Cost::from_fn((0.0, 1e3), move |u| -weight * (u / weight).ln_1p());
    let costs: Vec<Arc<Cost>> =
        (0..100).map(|i| Arc::new(of(10f64.powf(0.04 * f64::from(i) - 2.0)).unwrap())).collect();
    let settings = SeparableSettings::new((0.1, 10.0), 20.0, 1);
    let policy = SeparablePrice::train(&costs, &settings, None).unwrap();
    assert!(policy.record().metrics.equal_gap_percent > 1.0, "{:?}", policy.record().metrics);
    let mut allocator = policy.allocator();
    for size in [1, 10, 300] {
        for index in 0..10 {
            let problem = settings.draw(&costs, 3, size, index).unwrap();
            let over = over_optimum(&problem, &served(&mut allocator, &problem));
            assert!((-1e-6..1e-3).contains(&over), "K = {size}: {over:e}");
        }
    }
}

/// Tests a cost that flattens out, whose prices decrease to 0 at the end of its range. A barely sufficient budget is
/// shared well, and with more than enough no user gets more than is useful.
#[test]
fn the_price_policy_for_a_cost_with_a_flat_end() {
    let cost = Arc::new(Cost::from_fn((0.0, 3.0), |u| (1.0 - u).max(0.0).powi(4)).unwrap());
    let costs = [Arc::clone(&cost)];
    let settings = SeparableSettings::new((0.1, 10.0), 5.0, 1);
    let policy = SeparablePrice::train(&costs, &settings, None).unwrap();
    let mut allocator = policy.allocator();
    let end = cost.range().1;
    for size in [1, 2, 10, 300] {
        let gains = gains(size, 2.0, 4);
        let all: f64 = gains.iter().map(|gain| end / gain).sum();
        for share in [1e-6, 0.01, 0.5, 0.9, 0.99] {
            let problem =
                Separable::uniform(Arc::clone(&cost), gains.clone(), share * all).unwrap();
            let over = over_optimum(&problem, &served(&mut allocator, &problem));
            assert!((-1e-6..1e-3).contains(&over), "K = {size}, {share}: {over:e}");
        }
        for share in [1.0 + 1e-9, 2.0, 1e6] {
            let problem =
                Separable::uniform(Arc::clone(&cost), gains.clone(), share * all).unwrap();
            let amounts = served(&mut allocator, &problem);
            for (x, gain) in amounts.iter().zip(&gains) {
                assert!((gain * x / end - 1.0).abs() < 1e-12, "K = {size}, {share}: {x}");
            }
        }
    }
}

/// Tests prices whose products overflow or underflow: the price of `e^(−u)` at 400 is 1e-174, and the marginal cost
/// of `1/u` at 1e-85 is 1e170.
#[test]
fn the_price_policy_at_prices_of_any_magnitude() {
    let fall = Arc::new(Cost::from_fn((0.0, 600.0), |u| (-u).exp()).unwrap());
    let steep = Arc::new(Cost::from_fn((0.0, 1e-60), |u| 1.0 / u).unwrap());
    for (cost, unit, amounts) in
        [(fall, 1.0, [100.0, 300.0, 400.0]), (steep, 1e-40, [1e-88, 1e-85, 1e-75])]
    {
        let settings =
            SeparableSettings::new((0.1 * unit, 10.0 * unit), 10.0 * amounts[0] / unit, 1);
        let policy = SeparablePrice::train(&[Arc::clone(&cost)], &settings, None).unwrap();
        let mut allocator = policy.allocator();
        for amount in amounts {
            for size in [2, 10, 300] {
                let gains: Vec<f64> = gains(size, 1.0, 9).iter().map(|gain| unit * gain).collect();
                let budget = gains.iter().map(|gain| amount / gain).sum();
                let problem = Separable::uniform(Arc::clone(&cost), gains, budget).unwrap();
                let over = over_optimum(&problem, &served(&mut allocator, &problem));
                assert!((-1e-6..1e-3).contains(&over), "{amount:e}, K = {size}: {over:e}");
            }
        }
    }
}

/// Trains a policy for a random cost. Returns `Ok(false)` if the cost is rejected with a reason, and an error if an
/// allocation is too far from the optimum.
fn random_price_policy(case: u64) -> Result<bool, String> {
    let mut rng = realization_rng(case, 2, 0);
    let high = 10f64.powf(8.0 * rng.random::<f64>() - 3.0);
    let costs: Vec<Arc<Cost>> = (0..rng.random_range(1..4))
        .map(|_| {
            let (f, _) = random_convex(&mut rng, high);
            Cost::from_fn((0.0, high), f).map(Arc::new).map_err(|error| error.to_string())
        })
        .collect::<Result<_, _>>()?;
    let low = 10f64.powf(4.0 * rng.random::<f64>() - 2.0);
    let spread = 10f64.powf(3.0 * rng.random::<f64>());
    let budget = high / low * 10f64.powf(-4.0 * rng.random::<f64>());
    let settings = SeparableSettings {
        samples: 50,
        ..SeparableSettings::new((low, spread * low), budget, case)
    };
    let policy = match SeparablePrice::train(&costs, &settings, None) {
        Ok(policy) => policy,
        Err(error) if error.to_string().contains("use the exact solver") => return Ok(false),
        Err(error) => return Err(format!("rejected without a way out: {error}")),
    };
    let mut allocator = policy.allocator();
    for size in [1, 2, 7, 40, 300] {
        for factor in [1e-6, 1e-3, 0.03, 1.0, 30.0, 1e3] {
            let other = SeparableSettings { budget: factor * budget, ..settings.clone() };
            let problem = other.draw(&costs, case, size, 1).unwrap();
            let solution = SeparableSolver::default().solve(&problem);
            let amounts = served(&mut allocator, &problem);
            let over = over_solution(&problem, &solution, &amounts);
            // A cost that has decreased to almost 0 is not known to a relative error of 0.1 %, and the solver's gap
            // says so.
            let gap = solution.duality_gap;
            if over < -(gap + 1e-9) || (over > 1e-3 && gap < 1e-4) {
                return Err(format!("K = {size}, {factor} of the budget: {over:e}, gap {gap:e}"));
            }
        }
    }
    Ok(true)
}

/// Tests any convex cost with kinks, linear and flat parts and steep ends, alone or with others. The policy is within
/// 0.1 % at sizes and budgets far from those at which it was measured, or the cost is rejected with a reason. The
/// long version runs 3000 cases.
#[test]
fn the_price_policy_of_random_convex_costs() {
    let cases = if std::env::var_os("ANYK_LONG").is_some() { 3000u64 } else { 150 };
    let found: Vec<(u64, Result<bool, String>)> =
        (0..cases).into_par_iter().map(|case| (case, random_price_policy(case))).collect();
    let failed: Vec<_> = found.iter().filter(|(_, found)| found.is_err()).collect();
    assert!(
        failed.is_empty(),
        "{} cases, the first are {:#?}",
        failed.len(),
        &failed[..failed.len().min(10)]
    );
    let trained = found.iter().filter(|(_, found)| *found == Ok(true)).count() as u64;
    assert!(50 * trained >= 49 * cases, "{trained} of {cases}");
}

/// Returns weights over this many decades.
fn weights(size: usize, decades: f64, seed: u64) -> Vec<f64> {
    gains(size, decades, seed ^ 0x77)
}

/// Tests the solver and the price policy for known optima: `−w√u` shares the budget in proportion to `w²α`, and
/// `−w ln(1 + u)` is water-filling with the levels `w/ν`.
#[test]
fn weighted_costs_against_closed_forms_and_bisection() {
    let root = Arc::new(Cost::from_fn((0.0, 1e9), |u| -u.sqrt()).unwrap());
    let rate = Arc::new(Cost::from_fn((0.0, 1e9), |u| -u.ln_1p()).unwrap());
    let policy = |cost: &Arc<Cost>| {
        let settings = SeparableSettings::new((0.03, 30.0), 20.0, 1);
        SeparablePrice::train(&[Arc::clone(cost)], &settings, None).unwrap().allocator()
    };
    let (mut of_root, mut of_rate) = (policy(&root), policy(&rate));
    for (seed, (size, budget)) in
        [(1, 3.0), (2, 0.1), (7, 20.0), (50, 5.0), (1000, 1e4)].into_iter().enumerate()
    {
        let gains = gains(size, 2.0, seed as u64);
        let weights = weights(size, 3.0, seed as u64);
        let weighted = |cost: &Arc<Cost>| {
            let problem = Separable::uniform(Arc::clone(cost), gains.clone(), budget).unwrap();
            problem.with_weights(weights.clone()).unwrap()
        };
        let users = || gains.iter().zip(&weights);
        let shares: Vec<f64> = users().map(|(gain, weight)| weight * weight * gain).collect();
        let sum: f64 = shares.iter().sum();
        let by_share = shares.iter().map(|share| share / sum * budget).collect();
        let filled = |price: f64| -> Vec<f64> {
            users().map(|(gain, weight)| (weight / price - 1.0 / gain).max(0.0)).collect()
        };
        let price = falling(budget, (1e-30, 1e30), |price| filled(price).iter().sum());
        for (problem, exact, allocator) in [
            (weighted(&root), by_share, &mut of_root),
            (weighted(&rate), filled(price), &mut of_rate),
        ] {
            let solution = solved(&problem);
            for (x, exact) in solution.amounts.iter().zip(&exact) {
                assert!((x - exact).abs() < 1e-7 * budget, "K = {size}: {x} {exact}");
            }
            let best = problem.assess(&exact).unwrap();
            let off = solution.objective - best.objective;
            assert!(off.abs() < 1e-9 * best.objective.abs(), "K = {size}: {off:e}");
            let amounts = served(allocator, &problem);
            let over = over_optimum(&problem, &amounts);
            assert!((-1e-9..3e-4).contains(&over), "K = {size}: {over:e}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Tests two or three users with costs of two kinds: no split of the budget on a grid is better than the
    /// solver's, and none is better than the price policy's by more than 0.1 %.
    #[test]
    fn no_split_is_better_with_weights(
        kinds in prop::collection::vec(0..2usize, 2..4),
        seed in 0..1000u64,
        budget in -2.0..3.0f64,
    ) {
        let (size, budget) = (kinds.len(), 10f64.powf(budget));
        let value = |kind: usize, u: f64| if kind == 0 { -u.ln_1p() } else { 1.0 / (0.1 + u) };
        let (gains, weights) = (gains(size, 2.0, seed), weights(size, 3.0, seed));
        let range = (0.0, Separable::reach(&gains, budget));
        let costs = [0, 1].map(|kind| Arc::new(Cost::from_fn(range, |u| value(kind, u)).unwrap()));
        let users = gains.iter().copied().zip(kinds.iter().copied());
        let problem = Separable::new(costs.to_vec(), users, budget).unwrap();
        let problem = problem.with_weights(weights.clone()).unwrap();
        let solution = solved(&problem);
        let total = |amounts: &[f64]| -> f64 {
            (0..size).map(|k| weights[k] * value(kinds[k], gains[k] * amounts[k])).sum()
        };
        prop_assert!((total(&solution.amounts) - solution.objective).abs() <= 1e-9 * solution.objective.abs());
        let settings = SeparableSettings { samples: 10, ..SeparableSettings::like(&problem, 1) };
        let policy = SeparablePrice::train(&costs, &settings, None).unwrap();
        let amounts = served(&mut policy.allocator(), &problem);
        let scale = solution.objective.abs() + solution.price * budget;
        prop_assert!(total(&amounts) <= solution.objective + 1e-3 * scale);
        let steps = if size == 2 { 2000 } else { 80 };
        let each = budget / f64::from(steps);
        for first in 0..=steps {
            let seconds = if size == 2 { steps - first..=steps - first } else { 0..=steps - first };
            for second in seconds {
                let split = [first, second, steps - first - second].map(|part| f64::from(part) * each);
                let found = total(&split[..size]);
                prop_assert!(found >= solution.objective - 1e-9 * scale, "{split:?}");
            }
        }
    }

    /// Tests any weights: the judge confirms the KKT conditions, the order of the users does not matter, and a common
    /// weight changes only the objective and the price.
    #[test]
    fn weights_belong_to_their_users(
        (size, seed) in (1..40usize, 0..1000u64),
        (budget, decades, common) in (-3.0..3.0f64, 0.0..6.0f64, -6.0..6.0f64),
    ) {
        let (budget, common) = (10f64.powf(budget), 10f64.powf(common));
        let (gains, weights) = (gains(size, 3.0, seed), weights(size, decades, seed));
        // The range is wide enough that a single user still has a price.
        let range = (0.0, 2.0 * Separable::reach(&gains, budget));
        let cost = Arc::new(Cost::from_fn(range, |u| -u.ln_1p()).unwrap());
        let of = |gains: &[f64], weights: &[f64]| {
            let problem = Separable::uniform(Arc::clone(&cost), gains.to_vec(), budget).unwrap();
            problem.with_weights(weights.to_vec()).unwrap()
        };
        let problem = of(&gains, &weights);
        let solution = solved(&problem);
        prop_assert!(problem.weights() == weights);
        // A subset equals the problem formulated from only its users.
        let mut order: Vec<usize> = (0..size).collect();
        order.shuffle(&mut realization_rng(seed, size, 1));
        order.truncate(size.div_ceil(2));
        let part = |values: &[f64]| -> Vec<f64> { order.iter().map(|&user| values[user]).collect() };
        let subset = problem.subset(&order);
        prop_assert!(subset == of(&part(&gains), &part(&weights)));
        let mut all: Vec<usize> = (0..size).collect();
        all.rotate_left(size / 3);
        let moved = solved(&problem.subset(&all));
        for (place, &user) in all.iter().enumerate() {
            let off = (moved.amounts[place] - solution.amounts[user]).abs();
            prop_assert!(off < 1e-7 * budget);
        }
        let scaled: Vec<f64> = weights.iter().map(|weight| common * weight).collect();
        let scaled = solved(&of(&gains, &scaled));
        for (a, b) in scaled.amounts.iter().zip(&solution.amounts) {
            prop_assert!((a - b).abs() < 1e-7 * budget);
        }
        prop_assert!((scaled.objective / (common * solution.objective) - 1.0).abs() < 1e-8);
        prop_assert!((scaled.price / (common * solution.price) - 1.0).abs() < 1e-6);
    }
}

/// Compares weights of 1 with no weights, to the last bit, for solver, price policy and judge.
#[test]
fn weights_of_1_are_none() {
    let settings = SeparableSettings::new((0.1, 10.0), 20.0, 1);
    for cost in [BuiltInCost::Log1p, BuiltInCost::Inverse, BuiltInCost::Exponential] {
        let costs = [Arc::new(cost.cost(1e6).unwrap())];
        let policy = SeparablePrice::train(&costs, &settings, None).unwrap();
        let mut allocator = policy.allocator();
        for size in [1, 10, 200] {
            let plain = settings.draw(&costs, 3, size, 0).unwrap();
            let weighted = plain.clone().with_weights(vec![1.0; size]).unwrap();
            assert_eq!(plain, weighted);
            let solve = |problem: &Separable| SeparableSolver::default().solve(problem);
            assert_eq!(solve(&plain), solve(&weighted));
            let amounts = served(&mut allocator, &plain);
            assert_eq!(amounts, served(&mut allocator, &weighted));
            assert_eq!(plain.assess(&amounts).unwrap(), weighted.assess(&amounts).unwrap());
        }
    }
}

#[test]
fn wrong_weights_are_rejected() {
    let cost = Arc::new(Cost::from_fn((0.0, 100.0), |u| -u.ln_1p()).unwrap());
    let problem = Separable::uniform(cost, [1.0, 2.0, 3.0], 4.0).unwrap();
    let told =
        |weights: &[f64]| problem.clone().with_weights(weights.to_vec()).unwrap_err().to_string();
    for weights in [&[][..], &[1.0], &[1.0; 4]] {
        let error = told(weights);
        assert!(error.contains("weights") && error.contains("each of the 3 users"), "{error}");
    }
    for wrong in [0.0, -1.0, 1e-13, 1e13, f64::NAN, f64::INFINITY] {
        let error = told(&[1.0, wrong, 1.0]);
        assert!(error.contains("weight") && error.contains("1e-12 to 1e12"), "{error}");
    }
    for most in [1e-12, 1e12] {
        solved(&problem.clone().with_weights(vec![1.0, most, 1.0]).unwrap());
    }
}

/// Tests that the arrays of an instance give the same problem and the same allocations.
#[test]
fn weights_of_an_instance_are_those_of_the_problem() {
    let cost = Arc::new(Cost::from_fn((0.0, 1e6), |u| -u.ln_1p()).unwrap());
    let of: Arc<dyn Problem> = Arc::new(OwnSeparable::new(&[Arc::clone(&cost)]));
    let (gains, weights) = (gains(5, 2.0, 8), weights(5, 2.0, 8));
    let users = |values| ArrayView { shape: &[5], values };
    let budget = ArrayView { shape: &[], values: &[3.0] };
    let answer = |arrays: &[(&str, ArrayView<'_>)]| {
        let instance = Instance::of_arrays(&of, arrays).unwrap();
        let mut found = Allocation::default();
        instance.allocate(&mut *of.best().unwrap(), &mut found).unwrap();
        let verdict = instance.judge(&found, None).unwrap();
        assert!(verdict.missed.is_empty() && verdict.kkt_residual.unwrap() < 1e-6, "{verdict:?}");
        (found.amounts.remove(0), found.objective.unwrap())
    };
    let plain = Separable::uniform(cost, gains.clone(), 3.0).unwrap();
    let weighted = plain.clone().with_weights(weights.clone()).unwrap();
    for (problem, arrays) in [
        (plain, vec![("gains", users(&gains)), ("budget", budget)]),
        (
            weighted,
            vec![("gains", users(&gains)), ("weights", users(&weights)), ("budget", budget)],
        ),
    ] {
        let solution = solved(&problem);
        assert_eq!(answer(&arrays), (solution.amounts, solution.objective));
    }
    let wrong = [("gains", users(&gains)), ("weights", users(&[0.0; 5])), ("budget", budget)];
    assert!(Instance::of_arrays(&of, &wrong).is_err());
}

#[test]
fn samples_that_only_rounding_hides_from_the_neighbours_are_checked_along_the_whole_line() {
    // Flat, then lower by a third: compared with its neighbours, the third sample is wrong by less than rounding.
    let samples = [(0.0, 1.0), (2147483648.0, 0.5), (92233720363648.0, 0.5), (9.2e26, 0.29)];
    let cost = Cost::from_samples(&samples).unwrap();
    for (u, value) in samples {
        assert_relative_eq!(cost.value(u), value, max_relative = 1e-9);
    }
    // A piecewise linear cost keeps its kink, regardless of rounding in the slopes.
    let samples: Vec<(f64, f64)> =
        (0..400).map(|i| f64::from(i) / 99.7).map(|u| (u, (3.0 - u / 3.0).max(2.0))).collect();
    let cost = Cost::from_samples(&samples).unwrap();
    for (u, value) in samples {
        assert_relative_eq!(cost.value(u), value, max_relative = 1e-12);
    }
}
