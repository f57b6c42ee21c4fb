//! Interference networks: the judge compared with brute force, and the solvers with each other.

#![allow(clippy::unwrap_used)]

use anyk::Status;
use anyk::channel::{D2dField, GainMatrix};
use anyk::math::realization_rng;
use anyk::problems::interference::binary_gap;
use anyk::problems::interference::{Interference, Scenario};
use anyk::problems::interference::{
    PowerSolution, Wmmse, WmmseSettings, binary_optimum, fplinq, greedy,
};
use rand::RngExt;
use rand::seq::SliceRandom;

fn scenarios() -> [Scenario; 2] {
    [Scenario::Dense, Scenario::D2d(D2dField::default())]
}

/// Draws random networks of both kinds.
fn networks(sizes: &[usize], count: u64) -> Vec<Interference> {
    let mut networks = Vec::new();
    for scenario in scenarios() {
        for &size in sizes {
            networks.extend((0..count).map(|index| scenario.draw(11, size, index).unwrap()));
        }
    }
    networks
}

fn random_shares(size: usize, index: u64) -> Vec<f64> {
    let mut rng = realization_rng(12, size, index);
    (0..size).map(|_| rng.random()).collect()
}

#[test]
fn the_objective_of_wmmse_never_falls() {
    let settings = WmmseSettings { trace: true, random_starts: 1, ..WmmseSettings::default() };
    for problem in networks(&[1, 2, 3, 8, 13, 40], 10) {
        let solution = Wmmse::new(settings).solve(&problem);
        assert_eq!(solution.trace_bits.len(), solution.iterations + 1);
        for pair in solution.trace_bits.windows(2) {
            assert!(pair[1] >= pair[0] * (1.0 - 1e-12), "{pair:?}");
        }
        let judged = problem.assess(&solution.powers(&problem)).unwrap();
        assert!(judged.feasible && judged.sum_rate_bits.is_finite());
        assert!(
            (judged.sum_rate_bits - solution.sum_rate_bits).abs() <= 1e-9 * judged.sum_rate_bits
        );
    }
}

/// Computes the updates of WMMSE as in the literature, in plain loops.
fn plain_wmmse(problem: &Interference, iterations: usize) -> Vec<f64> {
    let (gains, size) = (problem.normalised(), problem.size());
    let mut v = vec![1.0f64; size];
    for _ in 0..iterations {
        let total = |k: usize| 1.0 + (0..size).map(|j| gains.row(k)[j] * v[j] * v[j]).sum::<f64>();
        let h: Vec<f64> = (0..size).map(|k| gains.direct(k).sqrt()).collect();
        let u: Vec<f64> = (0..size).map(|k| h[k] * v[k] / total(k)).collect();
        let w: Vec<f64> =
            (0..size).map(|k| total(k) / (total(k) - gains.direct(k) * v[k] * v[k])).collect();
        v = (0..size)
            .map(|k| {
                let below: f64 = (0..size).map(|j| w[j] * u[j] * u[j] * gains.row(j)[k]).sum();
                (w[k] * u[k] * h[k] / below).min(1.0)
            })
            .collect();
    }
    v.iter().map(|v| v * v).collect()
}

#[test]
fn the_kernel_is_the_plain_loop() {
    for problem in networks(&[1, 2, 7, 8, 9, 33, 100], 3) {
        let settings = WmmseSettings { iterations: 20, ..WmmseSettings::default() };
        let mut wmmse = Wmmse::new(settings);
        let shares = wmmse.shares(&problem).to_vec();
        for (ours, plain) in shares.iter().zip(plain_wmmse(&problem, 20)) {
            assert!((ours - plain).abs() < 1e-9, "{ours} {plain}");
        }
        assert_eq!(wmmse.solve(&problem).shares, shares);
    }
}

#[test]
fn the_best_schedule_by_enumeration() {
    for problem in networks(&[1, 2, 3, 5, 8, 12], 4) {
        let size = problem.size();
        let schedule =
            |on: u32| -> Vec<f64> { (0..size).map(|link| f64::from(on >> link & 1)).collect() };
        let rates = (0..1u32 << size).map(|on| problem.sum_rate_bits(&schedule(on)));
        let best = rates.fold(0.0, f64::max);
        let exact = binary_optimum(&problem).unwrap();
        assert_eq!(exact.status, Status::Optimal);
        assert!((exact.sum_rate_bits / best - 1.0).abs() < 1e-12);
        for solution in [&exact, &greedy(&problem, 0), &greedy(&problem, 5), &fplinq(&problem, 100)]
        {
            let judged = problem.assess(&solution.powers(&problem)).unwrap();
            assert!(judged.binary && judged.feasible);
            assert!(judged.sum_rate_bits <= best * (1.0 + 1e-12));
            assert!((judged.sum_rate_bits - solution.sum_rate_bits).abs() <= 1e-9 * best);
        }
    }
    // The largest size of the exhaustive search, compared with random schedules.
    for problem in networks(&[20], 2) {
        let exact = binary_optimum(&problem).unwrap();
        assert!(exact.sum_rate_bits >= greedy(&problem, 0).sum_rate_bits * (1.0 - 1e-12));
        for index in 0..200 {
            let shares: Vec<f64> = random_shares(20, index).iter().map(|s| s.round()).collect();
            assert!(exact.sum_rate_bits >= problem.sum_rate_bits(&shares) * (1.0 - 1e-12));
        }
    }
    let large = Scenario::Dense.draw(1, 21, 0).unwrap();
    assert!(binary_optimum(&large).is_err());
}

/// Tests that links in another order get the same powers in that order.
#[test]
fn solvers_are_equivariant() {
    type Solver = fn(&Interference) -> PowerSolution;
    let solvers: [(Solver, f64); 4] = [
        (|problem| Wmmse::default().solve(problem), 1e-6),
        (|problem| fplinq(problem, 100), 0.0),
        (|problem| greedy(problem, 0), 0.0),
        (|problem| binary_optimum(problem).unwrap(), 0.0),
    ];
    for (index, problem) in networks(&[2, 5, 11], 5).into_iter().enumerate() {
        let size = problem.size();
        let mut order: Vec<usize> = (0..size).collect();
        order.shuffle(&mut realization_rng(13, size, index as u64));
        let gains = problem.normalised().reordered(&order);
        let reordered = Interference::new(gains, 1.0, 1.0).unwrap();
        for (which, (solver, within)) in solvers.iter().enumerate() {
            let (here, there) = (solver(&problem), solver(&reordered));
            for (place, &link) in order.iter().enumerate() {
                let off = (there.shares[place] - here.shares[link]).abs();
                assert!(off <= *within, "solver {which}, K = {size}: off by {off}");
            }
            assert!((there.sum_rate_bits / here.sum_rate_bits - 1.0).abs() < 1e-6);
        }
    }
}

#[test]
fn gradient_by_finite_differences() {
    for (index, problem) in networks(&[1, 2, 6, 17], 4).into_iter().enumerate() {
        let size = problem.size();
        let shares = random_shares(size, index as u64);
        let mut gradient = vec![0.0; size];
        let value = problem.value_and_gradient(&shares, &mut gradient);
        let nats = |shares: &[f64]| problem.sum_rate_bits(shares) * std::f64::consts::LN_2;
        assert!((value - nats(&shares)).abs() < 1e-12 * value);
        for link in 0..size {
            let step = 1e-5 * shares[link];
            let moved = |by: f64| {
                let mut shares = shares.clone();
                shares[link] += by;
                nats(&shares)
            };
            let numeric = (moved(step) - moved(-step)) / (2.0 * step);
            // Rounding of the objective, amplified by a small step.
            let within = 1e-6 * gradient[link].abs() + 1e-14 * value / step;
            assert!((gradient[link] - numeric).abs() < within, "{} {numeric}", gradient[link]);
        }
    }
}

#[test]
fn the_best_switch_by_brute_force() {
    for (index, problem) in networks(&[1, 2, 6, 17], 4).into_iter().enumerate() {
        let size = problem.size();
        let relaxed = random_shares(size, index as u64);
        let schedule: Vec<f64> = relaxed.iter().map(|share| share.round()).collect();
        for shares in [relaxed, schedule] {
            let before = problem.sum_rate_bits(&shares);
            let mut best = f64::NEG_INFINITY;
            for link in 0..size {
                for share in [0.0, 1.0] {
                    let mut switched = shares.clone();
                    switched[link] = share;
                    if (share - shares[link]).abs() > 1e-3 {
                        best = best.max(problem.sum_rate_bits(&switched) - before);
                    }
                }
            }
            let powers: Vec<f64> = shares.iter().map(|s| s * problem.max_power()[0]).collect();
            let judged = problem.assess(&powers).unwrap();
            assert!((judged.best_switch_bits - best).abs() < 1e-9 * before.max(1.0));
        }
    }
}

#[test]
fn extreme_gains_never_give_nan() {
    let values = [0.0, 1e-300, 1e-9, 1.0, 1e9, 1e99];
    for size in [1usize, 2, 5, 9] {
        for index in 0..60 {
            let mut rng = realization_rng(14, size, index);
            let gains: Vec<f64> =
                (0..size * size).map(|_| values[rng.random_range(0..values.len())]).collect();
            let gains = GainMatrix::new(size, gains).unwrap();
            let problem = Interference::new(gains, 1.0, 1.0).unwrap();
            for solution in [
                Wmmse::default().solve(&problem),
                fplinq(&problem, 100),
                greedy(&problem, 0),
                greedy(&problem, 5),
                binary_optimum(&problem).unwrap(),
            ] {
                let judged = problem.assess(&solution.powers(&problem)).unwrap();
                assert!(judged.feasible && solution.sum_rate_bits.is_finite(), "{judged:?}");
                assert!(judged.kkt_residual.is_finite(), "{judged:?}");
                assert!(judged.best_switch_bits.is_finite(), "{judged:?}");
                assert!(solution.shares.iter().all(|share| (0.0..=1.0).contains(share)));
            }
        }
    }
}

/// Prints the benefit of powers between 0 and `P_max` (`cargo test -- --nocapture`). It is an observation and not a
/// guarantee.
#[test]
fn wmmse_beside_the_best_schedule() {
    for scenario in scenarios() {
        for iterations in [100, 2000] {
            let settings = WmmseSettings { iterations, ..WmmseSettings::default() };
            let gap = binary_gap(&scenario, 10, 500, 1, settings).unwrap();
            println!("{}, {iterations} iterations: {gap:?}", scenario.name());
            assert!((0.0..=1.0).contains(&gap.share_binary_powers));
            assert!(gap.mean_gain_percent <= gap.max_gain_percent);
            assert!(gap.wmmse_percent_of_best_schedule > 80.0);
        }
    }
    let none = binary_gap(&Scenario::Dense, 10, 0, 1, WmmseSettings::default()).unwrap();
    assert!(none.mean_gain_percent.abs() < 1e-300);
}
