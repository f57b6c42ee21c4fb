//! Optimum of (P1): feasible, optimal by its KKT residual and its certificate, independent of the order of users, and
//! monotone in load and budget. If the budget is too small, the solver must say so.

// Clippy's exception for tests does not cover helpers of integration tests.
#![allow(clippy::unwrap_used)]

use anyk::Config;
use anyk::Outcome;
use anyk::problems::urllc::UrllcSolver;
use anyk::problems::urllc::{Urllc, UrllcAllocation};
use anyk::qos::RequiredBandwidth;
use anyk::qos::ServiceClass;
use anyk::{System, tolerance};
use proptest::prelude::*;

fn paper() -> System {
    Config::default().validate().unwrap()
}

/// Returns the classes from which users are drawn: few, as in a real cell.
fn classes() -> [ServiceClass; 4] {
    let paper = ServiceClass::default();
    [
        paper,
        ServiceClass { epsilon: 1e-7, ..paper },
        ServiceClass { packet_bits: 400.0, ..paper },
        ServiceClass { epsilon: 1e-3, packet_bits: 96.0, arrival_rate: 0.05 },
    ]
}

/// Returns users as (gain, class).
fn arbitrary_users() -> impl Strategy<Value = Vec<(f64, ServiceClass)>> {
    let user = (-135.0f64..-80.0, 0usize..4)
        .prop_map(|(gain_db, class)| (10f64.powf(gain_db / 10.0), classes()[class]));
    prop::collection::vec(user, 1..60)
}

/// Returns the problem of these users with a budget of `factor` times the smallest power that can serve them.
fn problem_with_load(users: &[(f64, ServiceClass)], factor: f64) -> Urllc {
    let system = paper();
    let problem = Urllc::new(&system, users.iter().copied()).unwrap();
    let least = least_power_w(&problem);
    problem.with_max_power_w(least * factor).unwrap()
}

fn least_power_w(problem: &Urllc) -> f64 {
    let received: Vec<f64> = problem
        .classes()
        .iter()
        .map(|qos| RequiredBandwidth::new(qos.clone()).min_received_w())
        .collect();
    problem.users().iter().map(|user| received[user.class] / user.gain).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn feasible_and_optimal(users in arbitrary_users(), log_load in 0.05f64..5.0) {
        let problem = problem_with_load(&users, 10f64.powf(log_load));
        let solution = UrllcSolver::default().solve(&problem);
        prop_assert!(solution.outcome.is_optimal());
        prop_assert!((0.0..=tolerance::DUALITY_GAP).contains(&solution.duality_gap));
        // Newton's method from a good guess; bisection would need fifty steps.
        prop_assert!(solution.iterations <= 8, "{} prices", solution.iterations);
        let judged = problem.assess(&solution.allocation).unwrap();
        prop_assert!(judged.is_feasible(), "{judged:?}");
        prop_assert!(judged.kkt_residual < 1e-8, "{judged:?}");
        let losses = problem.packet_losses(&solution.allocation).unwrap();
        prop_assert_eq!(losses.len(), users.len());
        for (loss, user) in losses.iter().zip(&users) {
            prop_assert!(*loss <= user.1.epsilon && *loss > user.1.epsilon * (1.0 - 1e-6));
        }
    }

    /// Tests that the certificate holds close to the limit of feasibility.
    #[test]
    fn tight_budgets(users in arbitrary_users(), log_slack in -9.0f64..-1.0) {
        let problem = problem_with_load(&users, 1.0 + 10f64.powf(log_slack));
        let solution = UrllcSolver::default().solve(&problem);
        // For users close to their smallest power, the share of 5e-13 that is held back for rounding corresponds to a
        // noticeable bandwidth.
        let alone = |i: usize| least_power_w(&problem.subset(&[i]));
        let powers = solution.allocation.power_w.iter().enumerate();
        let nearest = powers.map(|(i, w)| w / alone(i) - 1.0).fold(f64::INFINITY, f64::min);
        if nearest > 1e-6 {
            prop_assert!(solution.outcome.is_optimal());
        }
        prop_assert!(solution.duality_gap < 1e-3, "{solution:?}");
        let judged = problem.assess(&solution.allocation).unwrap();
        prop_assert!(judged.is_feasible(), "{judged:?}");
    }

    /// Tests that moving power between two users never gives a better feasible allocation.
    #[test]
    fn no_exchange_of_power_helps(
        users in arbitrary_users(), log_load in 0.1f64..3.0, share in 0.001f64..0.2,
        from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>(),
    ) {
        let problem = problem_with_load(&users, 10f64.powf(log_load));
        let mut solver = UrllcSolver::default();
        let solution = solver.solve(&problem);
        let (from, to) = (from.index(users.len()), to.index(users.len()));
        let mut power_w = solution.allocation.power_w.clone();
        let moved = share * power_w[from];
        power_w[from] -= moved;
        power_w[to] += moved;
        let bandwidth: Option<f64> = problem.users().iter().zip(&power_w).map(|(user, &power_w)| {
            let table = solver.table(&problem.classes()[user.class]);
            table.at(user.gain * power_w).ok().map(|point| point.bandwidth_hz)
        }).sum();
        if let Some(total) = bandwidth {
            let optimum = solution.allocation.total_bandwidth_hz();
            prop_assert!(total >= optimum * (1.0 - 1e-9), "{total} under {optimum}");
        }
    }

    #[test]
    fn permuting_users_permutes_the_answer(
        users in arbitrary_users(), log_load in 0.1f64..4.0, seed in any::<u64>(),
    ) {
        use rand::{SeedableRng, seq::SliceRandom};
        let mut order: Vec<usize> = (0..users.len()).collect();
        order.shuffle(&mut rand_chacha::ChaCha8Rng::seed_from_u64(seed));
        let shuffled: Vec<_> = order.iter().map(|&i| users[i]).collect();
        let factor = 10f64.powf(log_load);
        let mut solver = UrllcSolver::default();
        let straight = solver.solve(&problem_with_load(&users, factor));
        let budget = problem_with_load(&users, factor).max_power_w();
        let permuted =
            problem_with_load(&shuffled, factor).with_max_power_w(budget).unwrap();
        let permuted = solver.solve(&permuted);
        for (position, &user) in order.iter().enumerate() {
            let (a, b) = (&straight.allocation, &permuted.allocation);
            for (one, other) in [
                (a.power_w[user], b.power_w[position]),
                (a.bandwidth_hz[user], b.bandwidth_hz[position]),
            ] {
                prop_assert!((one / other - 1.0).abs() < 1e-11, "{one} {other}");
            }
        }
    }

    #[test]
    fn another_user_or_less_power_never_lowers_the_total(
        users in arbitrary_users(), extra in (-120.0f64..-80.0, 0usize..4), log_load in 0.3f64..4.0,
    ) {
        let mut solver = UrllcSolver::default();
        let mut more = users.clone();
        more.push((10f64.powf(extra.0 / 10.0), classes()[extra.1]));
        let larger = problem_with_load(&more, 10f64.powf(log_load));
        let budget = larger.max_power_w();
        let smaller = problem_with_load(&users, 2.0).with_max_power_w(budget).unwrap();
        let poorer = smaller.clone().with_max_power_w(0.9 * budget).unwrap();
        let total = |solution: anyk::problems::urllc::Solution| solution.allocation.total_bandwidth_hz();
        let base = total(solver.solve(&smaller));
        prop_assert!(total(solver.solve(&larger)) > base);
        let poorer = solver.solve(&poorer);
        if poorer.outcome.is_optimal() {
            prop_assert!(total(poorer) > base);
        }
    }

    #[test]
    fn infeasible_says_what_is_missing_and_what_can_be_served(
        users in arbitrary_users(), factor in 0.01f64..0.999,
    ) {
        let problem = problem_with_load(&users, factor);
        let mut solver = UrllcSolver::default();
        let Outcome::Infeasible(why) = solver.solve(&problem).outcome else {
            return Err(TestCaseError::fail("expected infeasible"));
        };
        let least = least_power_w(&problem);
        prop_assert!((why.required_power_w.unwrap() / least - 1.0).abs() < 1e-9);
        prop_assert!((why.shortfall_w.unwrap() / (least - problem.max_power_w()) - 1.0).abs() < 1e-6);
        prop_assert_eq!(why.admissible.len() + why.dropped.len(), users.len());
        let alone = |i: usize| problem_with_load(&users[i..=i], 1.0).max_power_w();
        let kept: f64 = why.admissible.iter().map(|&i| alone(i)).sum();
        prop_assert!(kept <= problem.max_power_w());
        // One more user would not fit, and no dropped user needs less than a kept one.
        let next = why.dropped.iter().map(|&i| alone(i)).fold(f64::INFINITY, f64::min);
        prop_assert!(kept + next >= problem.max_power_w() * (1.0 - 1e-9));
        for &i in &why.admissible {
            prop_assert!(alone(i) <= next * (1.0 + 1e-9));
        }
        if !why.admissible.is_empty() {
            let part = problem_with_load(
                &why.admissible.iter().map(|&i| users[i]).collect::<Vec<_>>(), 2.0,
            ).with_max_power_w(problem.max_power_w()).unwrap();
            let served = solver.solve(&part);
            prop_assert!(served.outcome.infeasible().is_none());
        }
    }
}

/// Tests more classes than the solver tabulates: the path without tables gives the same allocations.
#[test]
fn a_class_for_each_user() {
    let system = paper();
    let users: Vec<(f64, ServiceClass)> = (0..80)
        .map(|i| {
            let class = ServiceClass {
                epsilon: 1e-5 * (1.0 + 1e-3 * f64::from(i)),
                ..ServiceClass::default()
            };
            (system.path_loss().gain(50.0 + 2.5 * f64::from(i)), class)
        })
        .collect();
    let problem = Urllc::new(&system, users.iter().copied()).unwrap();
    assert_eq!(problem.classes().len(), 80);
    let exact = UrllcSolver::default().solve(&problem);
    assert!(exact.outcome.is_optimal());
    let judged = problem.assess(&exact.allocation).unwrap();
    assert!(judged.is_feasible() && judged.kkt_residual < 1e-9, "{judged:?}");
    // The same users in cells of few classes, at the price found: the table of each class must agree with the exact
    // path.
    let mut solver = UrllcSolver::default();
    for (index, (gain, _)) in users.iter().enumerate() {
        let table = solver.table(&problem.classes()[index]);
        let point = table.at(gain * exact.allocation.power_w[index]).unwrap();
        let price = -gain * point.slope_hz_per_w;
        assert!((point.bandwidth_hz / exact.allocation.bandwidth_hz[index] - 1.0).abs() < 1e-10);
        assert!((price / exact.price_hz_per_w - 1.0).abs() < 1e-9);
    }
}

#[test]
fn one_user_gets_everything() {
    let system = paper();
    let problem = Urllc::uniform(&system, [1e-12]).unwrap();
    let solution = UrllcSolver::default().solve(&problem);
    assert!((solution.allocation.power_w[0] / system.max_power_w() - 1.0).abs() < 1e-14);
    // If all users are equal, the first guess of the price is almost exact.
    for count in [1, 7] {
        let problem = Urllc::uniform(&system, vec![1e-12; count]).unwrap();
        let prices = UrllcSolver::default().solve(&problem).iterations;
        assert!(prices <= 2, "{count} users: {prices} prices");
    }
}

#[test]
fn a_solver_keeps_cells_apart() {
    let mut solver = UrllcSolver::default();
    let mut config = Config::default();
    let eight = Urllc::uniform(&config.validate().unwrap(), [1e-12, 1e-11]).unwrap();
    config.cell.antennas = 2;
    let two = Urllc::uniform(&config.validate().unwrap(), [1e-12, 1e-11]).unwrap();
    let first = solver.solve(&eight);
    let other = solver.solve(&two);
    assert!(other.allocation.total_bandwidth_hz() > 1.1 * first.allocation.total_bandwidth_hz());
    assert_eq!(solver.solve(&eight), first);
}

#[test]
fn the_judge_is_not_fooled() {
    let system = paper();
    let problem = Urllc::uniform(&system, [1e-12, 1e-11, 1e-10]).unwrap();
    let good = UrllcSolver::default().solve(&problem).allocation;
    let judge = |allocation: &UrllcAllocation| problem.assess(allocation).unwrap();
    assert!(judge(&good).is_feasible());
    let mut greedy = good.clone();
    greedy.power_w[0] *= 1.01;
    assert!(!judge(&greedy).is_feasible());
    let mut short = good.clone();
    short.bandwidth_hz[1] *= 0.99;
    assert!((judge(&short).availability - 2.0 / 3.0).abs() < 1e-12);
    let mut wasteful = good.clone();
    wasteful.bandwidth_hz[1] *= 1.01;
    assert!(judge(&wasteful).is_feasible() && judge(&wasteful).kkt_residual > 1e-4);
    let nothing = UrllcAllocation { power_w: vec![0.0; 3], bandwidth_hz: vec![0.0; 3] };
    assert!(judge(&nothing).availability.abs() < 1e-12);
    let another = UrllcAllocation { power_w: vec![1.0], bandwidth_hz: vec![1.0] };
    assert!(problem.assess(&another).is_err());
    for gain in [0.0, -1.0, f64::NAN, 2.0] {
        assert!(Urllc::uniform(&system, [gain]).is_err());
    }
    assert!(Urllc::uniform(&system, []).is_err());
}

/// Tests the numbers of the judge, each computed in another way.
#[test]
fn what_the_judge_says_by_hand() {
    let system = paper();
    let problem = Urllc::uniform(&system, [1e-12, 1e-11, 1e-10]).unwrap();
    let exact = RequiredBandwidth::new(problem.classes()[0].clone());
    // Equal power with exact bandwidths: only the prices differ from the optimum.
    let power_w = problem.max_power_w() / 3.0;
    let points: Vec<_> =
        problem.users().iter().map(|user| exact.at(user.gain * power_w).unwrap()).collect();
    let equal = UrllcAllocation {
        power_w: vec![power_w; 3],
        bandwidth_hz: points.iter().map(|point| point.bandwidth_hz * (1.0 + 1e-10)).collect(),
    };
    let judged = problem.assess(&equal).unwrap();
    let prices: Vec<f64> = problem
        .users()
        .iter()
        .zip(&points)
        .map(|(user, b)| -user.gain * b.slope_hz_per_w)
        .collect();
    let most = prices.iter().copied().fold(0.0, f64::max);
    let least = prices.iter().copied().fold(f64::INFINITY, f64::min);
    assert!((judged.kkt_residual / (most / least - 1.0) - 1.0).abs() < 1e-6, "{judged:?}");
    assert!((judged.total_power_w / problem.max_power_w() - 1.0).abs() < 1e-14);
    let total_hz: f64 = equal.bandwidth_hz.iter().sum();
    assert!((judged.total_bandwidth_hz / total_hz - 1.0).abs() < 1e-14);
    assert!(judged.is_feasible() && (0.0..1e-8).contains(&judged.worst_margin), "{judged:?}");

    // With one user there is only one price. The residual then measures how tight the QoS is and how much of the
    // budget is used.
    let alone = Urllc::uniform(&system, [1e-11]).unwrap();
    let qos = &alone.classes()[0];
    let judge = |power_w: f64, widened: f64| {
        let bandwidth_hz = widened * exact.at(1e-11 * power_w).unwrap().bandwidth_hz;
        let allocation =
            UrllcAllocation { power_w: vec![power_w], bandwidth_hz: vec![bandwidth_hz] };
        (alone.assess(&allocation).unwrap(), bandwidth_hz)
    };
    for widened in [0.99, 1.01] {
        let (judged, bandwidth_hz) = judge(alone.max_power_w(), widened);
        let margin = qos.margin((1e-11 * alone.max_power_w()).ln(), bandwidth_hz.ln()).value;
        assert!((judged.worst_margin / margin - 1.0).abs() < 1e-9, "{judged:?}");
        let tightness = margin.abs() / (qos.theta() * qos.effective_bandwidth());
        assert!((judged.kkt_residual / tightness - 1.0).abs() < 1e-9, "{judged:?}");
        assert_eq!(judged.is_feasible(), widened > 1.0);
    }
    for share in [0.5, 1.25] {
        let (judged, _) = judge(share * alone.max_power_w(), 1.0 + 1e-10);
        assert!((judged.power_excess - (share - 1.0)).abs() < 1e-12, "{judged:?}");
        assert!((judged.kkt_residual - (share - 1.0).abs()).abs() < 1e-12, "{judged:?}");
        assert_eq!(judged.is_feasible(), share < 1.0);
    }

    // Without power or without bandwidth, a user is not served.
    for (power, bandwidth) in [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (1.0, f64::NAN)] {
        let mut nothing = equal.clone();
        nothing.power_w[1] *= power;
        nothing.bandwidth_hz[1] *= bandwidth;
        let judged = problem.assess(&nothing).unwrap();
        assert!(judged.worst_margin.total_cmp(&f64::NEG_INFINITY).is_eq(), "{judged:?}");
        assert!((judged.availability - 2.0 / 3.0).abs() < 1e-12, "{judged:?}");
        assert!(judged.kkt_residual.is_infinite(), "{judged:?}");
    }
}

#[test]
fn problems_say_what_they_were_made_of() {
    let mut config = Config::default();
    config.cell.antennas = 2;
    let system = config.validate().unwrap();
    let problem = Urllc::uniform(&system, [1e-12, 1e-11, 1e-10]).unwrap();
    assert_eq!((problem.antennas(), problem.size(), problem.classes().len()), (2, 3, 1));
    let gains = |problem: &Urllc| problem.users().iter().map(|u| u.gain).collect::<Vec<_>>();
    assert_eq!(gains(&problem.subset(&[2, 0, 7])), [1e-10, 1e-12]);
    for refused in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(problem.clone().with_max_power_w(refused).is_err(), "{refused}");
    }
    let other = problem.clone().with_max_power_w(3.5).unwrap();
    assert!(other.max_power_w().total_cmp(&3.5).is_eq());
    let of_one = UrllcAllocation { power_w: vec![1.0], bandwidth_hz: vec![1e6] };
    assert!(problem.packet_losses(&of_one).is_err());
}

/// Returns a value between two ends, uniform in its logarithm.
fn log_uniform(low: f64, high: f64) -> impl Strategy<Value = f64> {
    (low.ln()..=high.ln()).prop_map(move |ln| ln.exp().clamp(low, high))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Tests every parameter over the whole range that the config accepts. The result is an allocation that the judge
    /// accepts, or infeasibility with finite numbers, but never NaN or an endless loop.
    #[test]
    fn the_whole_accepted_range(
        epsilon in log_uniform(1e-15, 0.1), packet_bits in log_uniform(1.0, 1e6),
        arrival_rate in log_uniform(1e-4, 100.0), antennas in prop::sample::select(vec![1u32, 2, 3, 8, 20, 64, 250, 1024]),
        log_load in -0.3f64..8.0, noise in -250.0f64..-50.0,
        frame_ms in log_uniform(1e-4, 1e3), transmission in log_uniform(0.1, 1.0),
        delay_frames in log_uniform(1.0, 1e3), gains in prop::collection::vec(-300.0f64..0.0, 1..5),
    ) {
        let mut config = Config::default();
        config.cell.noise_density_dbm_hz = noise;
        config.cell.antennas = antennas;
        config.frame.frame_ms = frame_ms;
        config.frame.transmission_ms = (frame_ms * transmission).max(1e-5);
        config.frame.queueing_delay_ms = frame_ms * delay_frames;
        config.service = ServiceClass { epsilon, packet_bits, arrival_rate };
        let system = config.validate().unwrap();
        let gains = gains.iter().map(|db| 10f64.powf(db / 10.0));
        let problem = Urllc::uniform(&system, gains).unwrap();
        let budget = least_power_w(&problem) * 10f64.powf(log_load);
        let problem = problem.with_max_power_w(budget).unwrap();
        let solution = UrllcSolver::default().solve(&problem);
        if let Some(why) = solution.outcome.infeasible() {
            let powers_w = [why.required_power_w, why.shortfall_w];
            prop_assert!(powers_w.iter().all(|power_w| power_w.is_some_and(f64::is_finite)));
            return Ok(());
        }
         prop_assert!(solution.duality_gap.is_finite() && solution.price_hz_per_w.is_finite());
        let judged = problem.assess(&solution.allocation).unwrap();
        prop_assert!(judged.is_feasible(), "{solution:?} {judged:?}");
        prop_assert!(solution.outcome.is_optimal(), "{:?} {:?}", solution, judged);
    }
}
