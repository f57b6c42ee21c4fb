//! URLLC in a fixed band: the optimum compared with its certificate, the mirrored problem and brute force; admission
//! under two budgets; and the learned policy at any size.

#![allow(clippy::unwrap_used)]

use anyk::Outcome;
use anyk::framework::{Session, Silent, Stored};
use anyk::math::realization_rng;
use anyk::problems::urllc::{PriceSettings, Urllc, UrllcAllocation, UrllcSolver};
use anyk::problems::urllc_power::{BandPricePolicy, BandSolver, EqualBand, UrllcPower};
use anyk::qos::ServiceClass;
use anyk::{Config, System};
use rand::RngExt;

fn paper() -> System {
    Config::default().validate().unwrap()
}

fn gains(system: &System, size: usize, seed: u64) -> Vec<f64> {
    let mut rng = realization_rng(seed, size, 0);
    (0..size).map(|_| system.path_loss().gain(system.road().sample_distance_m(&mut rng))).collect()
}

/// Returns users of three classes.
fn mixed(system: &System, size: usize, seed: u64) -> Vec<(f64, ServiceClass)> {
    let own = system.service();
    let classes = [
        own,
        ServiceClass { epsilon: 1e-6, ..own },
        ServiceClass { packet_bits: 400.0, arrival_rate: 0.05, ..own },
    ];
    let mut rng = realization_rng(seed, size, 1);
    gains(system, size, seed)
        .into_iter()
        .map(|gain| (gain, classes[rng.random_range(0..classes.len())]))
        .collect()
}

/// Compares with the shared reference (independent computation, f64, 64-point generalized Gauss–Laguerre): the five
/// users whose optimum with 19.9526 W takes 778450.15 Hz. In that band, the solver must find the same power.
#[test]
fn the_golden_cell_from_the_other_side() {
    let system = paper();
    let gains = [60.0, 90.0, 120.0, 180.0, 240.0].map(|d| system.path_loss().gain(d));
    let problem = UrllcPower::uniform(&system, gains, 778_450.15).unwrap();
    let solution = BandSolver::default().solve(&problem);
    assert!(solution.outcome.is_optimal());
    let golden_w = [2.451935, 3.072302, 3.660303, 4.806896, 5.961188];
    for (power_w, golden_w) in solution.allocation.power_w.iter().zip(golden_w) {
        assert!((power_w / golden_w - 1.0).abs() < 2e-6, "{power_w} {golden_w}");
    }
}

/// Tests the strong duality with (P1): in the band that (P1) needs for a power, that power is the minimum. This must
/// hold for one class and for several, from one user to a thousand.
#[test]
fn mirrors_p1() {
    let system = paper();
    let (mut first, mut second) = (UrllcSolver::default(), BandSolver::default());
    for (size, seed) in [(1, 1), (2, 2), (3, 3), (10, 4), (37, 5), (200, 6), (1000, 7)] {
        for users in [
            gains(&system, size, seed).into_iter().map(|g| (g, system.service())).collect(),
            mixed(&system, size, seed),
        ] {
            for power_w in [0.05 * size as f64, 2.0 * size as f64] {
                let cell = Urllc::new(&system, users.clone()).unwrap();
                let solved = first.solve(&cell.with_max_power_w(power_w).unwrap());
                assert!(solved.outcome.is_optimal());
                let band_hz = solved.allocation.total_bandwidth_hz();
                let problem = UrllcPower::new(&system, users.clone(), band_hz).unwrap();
                let solution = second.solve(&problem);
                assert!(solution.outcome.is_optimal(), "{size}");
                assert!(solution.duality_gap < 1e-8);
                let found_w = solution.allocation.total_power_w();
                assert!((found_w / power_w - 1.0).abs() < 1e-8, "{size}: {found_w} {power_w}");
                let price = solution.price_w_per_hz * solved.price_hz_per_w;
                assert!((price - 1.0).abs() < 1e-6, "{price}");
                let judged = problem.assess(&solution.allocation).unwrap();
                assert!(judged.is_feasible(), "{judged:?}");
                assert!(judged.kkt_residual < 1e-7, "{judged:?}");
            }
        }
    }
}

/// Compares two users with brute force over the split of the band.
#[test]
fn no_split_of_the_band_is_better() {
    let system = paper();
    let gains = [120.0, 230.0].map(|d| system.path_loss().gain(d));
    for band_hz in [2.2e5, 3.5e5, 9e5, 5e6] {
        let mut solver = BandSolver::default();
        let mut solve = |gain: f64, hz: f64| -> Option<f64> {
            let problem = UrllcPower::uniform(&system, [gain], hz).ok()?;
            let solution = solver.solve(&problem);
            (solution.outcome.is_optimal()).then(|| solution.allocation.total_power_w())
        };
        let best = (1..400)
            .filter_map(|i| {
                let share = f64::from(i) / 400.0;
                Some(solve(gains[0], share * band_hz)? + solve(gains[1], (1.0 - share) * band_hz)?)
            })
            .fold(f64::INFINITY, f64::min);
        let problem = UrllcPower::uniform(&system, gains, band_hz).unwrap();
        let found = BandSolver::default().solve(&problem).allocation.total_power_w();
        assert!(found <= best * (1.0 + 1e-9) && found >= 0.99 * best, "{band_hz}: {found} {best}");
    }
}

/// Tests that in a band wider than all users can use, each user has its smallest power, and additional bandwidth has
/// no value.
#[test]
fn a_wide_band_and_a_narrow_one() {
    let system = paper();
    let gains = gains(&system, 20, 9);
    let wide = UrllcPower::uniform(&system, gains.iter().copied(), 1e9).unwrap();
    let solution = BandSolver::default().solve(&wide);
    assert!(solution.outcome.is_optimal());
    assert!(solution.price_w_per_hz < 1e-300 && solution.duality_gap < 1e-9);
    let judged = wide.assess(&solution.allocation).unwrap();
    assert!(judged.is_feasible() && judged.kkt_residual < 1e-3, "{judged:?}");
    // No power serves 20 users in 100 Hz: the result is infeasibility, not an infinite power.
    let narrow = UrllcPower::uniform(&system, gains, 100.0).unwrap();
    let Outcome::Infeasible(why) = BandSolver::default().solve(&narrow).outcome else {
        unreachable!("100 Hz for 20 users");
    };
    assert_eq!(why.required_power_w, None);
    assert_eq!(why.admissible.len() + why.dropped.len(), 20);
}

/// Compares the largest set under two budgets with all subsets; with several classes, only the bound is tested.
#[test]
fn admission_against_all_subsets() {
    let system = paper();
    let mut proved = 0;
    for seed in 0..12 {
        let one: Vec<_> =
            gains(&system, 7, seed).into_iter().map(|g| (g, system.service())).collect();
        for (users, classes) in [(one, 1), (mixed(&system, 7, seed), 3)] {
            for (band_hz, power_w) in [(7e5, 0.8), (1.2e6, 0.2), (4e5, 15.0)] {
                let problem = UrllcPower::new(&system, users.clone(), band_hz).unwrap();
                let problem = problem.with_max_power_w(power_w).unwrap();
                let mut solver = BandSolver::default();
                let largest = (0u32..1 << 7)
                    .filter(|set| {
                        let set: Vec<usize> = (0..7).filter(|user| set >> user & 1 == 1).collect();
                        set.is_empty() || solver.solve(&problem.subset(&set)).outcome.is_optimal()
                    })
                    .map(u32::count_ones)
                    .max()
                    .unwrap() as usize;
                match solver.solve(&problem).outcome {
                    Outcome::Infeasible(why) => {
                        let (found, most) = (why.admissible.len(), why.at_most.unwrap());
                        assert!(found <= largest && largest <= most, "{found} {largest}");
                        if classes == 1 {
                            assert_eq!(found, largest);
                        }
                        proved += usize::from(found == most);
                        assert_eq!(found + why.dropped.len(), 7);
                        let served = solver.solve(&problem.subset(&why.admissible));
                        assert!(why.admissible.is_empty() || served.outcome.is_optimal());
                    }
                    _ => assert_eq!(largest, 7),
                }
            }
        }
    }
    assert!(proved > 30, "{proved}");
}

/// Tests policies trained at K = 10: within 0.1 % of the optimum from one user to a thousand and in narrow and wide
/// bands, with every user served within the band. Users in another order get the same allocations.
#[test]
fn the_learned_policy_at_any_size_and_band() {
    let system = paper();
    let mut worst = 0.0f64;
    for seed in [1, 2] {
        let mut session = Session::new(&Silent);
        let policy =
            BandPricePolicy::train(&system, &PriceSettings::preset(seed), &mut session).unwrap();
        let bytes = policy.to_bytes().unwrap();
        let policy = BandPricePolicy::from_bytes(&bytes).unwrap();
        assert_eq!(policy.to_bytes().unwrap(), bytes);
        let mut solver = BandSolver::default();
        let mut allocator = policy.allocator();
        let mut answer = UrllcAllocation::default();
        for size in [1, 2, 5, 10, 50, 200, 1000] {
            for each_hz in [1.2e5, 2e5, 5e5, 2e6] {
                let gains = gains(&system, size, 77);
                let band_hz = each_hz * size as f64;
                let problem = UrllcPower::uniform(&system, gains, band_hz).unwrap();
                allocator.serve(&problem, &mut answer).unwrap();
                let judged = problem.assess(&answer).unwrap();
                assert!(judged.is_feasible(), "{size} {each_hz}: {judged:?}");
                let optimum_w = solver.solve(&problem).allocation.total_power_w();
                worst = worst.max(judged.total_power_w / optimum_w - 1.0);
                let order: Vec<usize> = (0..size).rev().collect();
                let mut moved = UrllcAllocation::default();
                allocator.serve(&problem.subset(&order), &mut moved).unwrap();
                for (user, power_w) in order.iter().zip(&moved.power_w) {
                    assert!((power_w / answer.power_w[*user] - 1.0).abs() < 1e-9);
                }
            }
        }
    }
    assert!(worst < 1e-3, "{worst}");
}

/// Tests that the baseline is feasible and needs more power.
#[test]
fn equal_bandwidths_are_feasible_and_dearer() {
    let system = paper();
    let problem = UrllcPower::uniform(&system, gains(&system, 30, 3), 6e6).unwrap();
    let answer = EqualBand::default().serve(&problem).unwrap();
    let judged = problem.assess(&answer).unwrap();
    assert!(judged.is_feasible(), "{judged:?}");
    let optimum_w = BandSolver::default().solve(&problem).allocation.total_power_w();
    assert!(judged.total_power_w > 1.2 * optimum_w);
}
