//! (P5) and (P6): closed forms must be feasible and optimal, and networks must learn them at one size for all others.

#![allow(clippy::unwrap_used)]

use std::sync::OnceLock;

use anyk::core::Answer;
use anyk::exchange::Input;
use anyk::framework::{Method, ModelError, Session, Silent, Stored, TrainError, Trials};
use anyk::network::{Aggregator, Output};
use anyk::problems::closed_forms::ClosedFormPolicy;
use anyk::problems::closed_forms::EQUAL_BANDWIDTH;
use anyk::problems::closed_forms::{ClosedForm, ClosedFormSettings};
use anyk::problems::closed_forms::{CommonAllocation, EqualBandwidth, QosPower, RateTarget};
use anyk::problems::closed_forms::{evaluate_closed_form, train_closed_form};
use anyk::problems::closed_forms::{required_bandwidth_hz, solve_equal_bandwidth, solve_qos_power};
use anyk::problems::urllc::LearnedPolicy;
use anyk::problems::{read_model, solving};
use anyk::{Config, Invalid, Model, Options, Outcome, System};
use proptest::prelude::*;

fn paper() -> System {
    Config::default().validate().unwrap()
}

fn with_noise(noise_density_dbm_hz: f64) -> System {
    let mut config = Config::default();
    config.cell.noise_density_dbm_hz = noise_density_dbm_hz;
    config.validate().unwrap()
}

fn gains_of(gains_db: &[f64]) -> Vec<f64> {
    gains_db.iter().map(|db| 10f64.powf(db / 10.0)).collect()
}

/// Returns a problem with a budget of `load` times the smallest power that can serve these users.
fn with_load(gains: &[f64], rate_bps: f64, load: f64) -> EqualBandwidth {
    let system = paper();
    let least = RateTarget::new(&system, rate_bps).unwrap().least_received_w();
    let required_w: f64 = gains.iter().map(|gain| least / gain).sum();
    let mut config = system.config().clone();
    config.cell.max_power_dbm = 10.0 * (load * required_w).log10() + 30.0;
    EqualBandwidth::new(&config.validate().unwrap(), rate_bps, gains.iter().copied()).unwrap()
}

/// Returns gains and rates for which every load in the tests below gives a power that the config accepts.
fn arbitrary_cell() -> impl Strategy<Value = (Vec<f64>, f64)> {
    let gains = prop::collection::vec(-125.0f64..-85.0, 1..40);
    (gains, 4.5f64..6.5).prop_map(|(gains_db, log)| (gains_of(&gains_db), 10f64.powf(log)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn qos_power_is_feasible_and_optimal(
        gains_db in prop::collection::vec(-300.0f64..0.0, 1..40), log_rate in 0.0f64..12.0,
        efficiency in -9.0f64..2.6, noise in -250.0f64..-50.0, cut in 1e-9f64..0.5,
        user in any::<prop::sample::Index>(),
    ) {
        let rate_bps = 10f64.powf(log_rate);
        let bandwidth_hz = (rate_bps / 10f64.powf(efficiency)).clamp(1.0, 1e12);
        let gains = gains_of(&gains_db);
        let user = user.index(gains.len());
        let problem = QosPower::new(&with_noise(noise), rate_bps, bandwidth_hz, gains).unwrap();
        let mut power_w = solve_qos_power(&problem);
        let judged = problem.assess(&power_w).unwrap();
        prop_assert!(judged.is_feasible(), "{judged:?}");
        prop_assert!(judged.kkt_residual < 1e-12, "{judged:?}");
        prop_assert!(judged.total_power_w.is_finite() && judged.total_power_w > 0.0);
        // With less power for any user, its rate is missed.
        power_w[user] *= 1.0 - cut.max(1e-6);
        prop_assert!(!problem.assess(&power_w).unwrap().is_feasible());
    }

    #[test]
    fn equal_bandwidth_is_feasible_and_optimal(
        (gains, rate_bps) in arbitrary_cell(), log_over in -9.0f64..4.0,
    ) {
        let problem = with_load(&gains, rate_bps, 1.0 + 10f64.powf(log_over));
        let solution = solve_equal_bandwidth(&problem);
        prop_assert!(solution.outcome.is_optimal());
        let judged = problem.assess(&solution.allocation).unwrap();
        prop_assert!(judged.is_feasible(), "{judged:?}");
        prop_assert!(judged.kkt_residual < 1e-12, "{judged:?}");
        // The residual of the equation that the bandwidth solves.
        let inverse: f64 = gains.iter().map(|gain| 1.0 / gain).sum();
        let received_w = problem.max_power_w() / inverse;
        let off = problem.target().received_w(solution.allocation.bandwidth_hz) / received_w - 1.0;
        prop_assert!(off.abs() < 1e-12, "{off}");
    }

    /// Tests that no other split of the power serves all users with less bandwidth.
    #[test]
    fn no_exchange_of_power_lowers_the_bandwidth(
        (gains, rate_bps) in arbitrary_cell(), log_load in 0.1f64..3.0, share in 1e-3f64..0.5,
        less in 1e-6f64..0.3, from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>(),
    ) {
        let problem = with_load(&gains, rate_bps, 10f64.powf(log_load));
        let optimum = solve_equal_bandwidth(&problem).allocation;
        let (from, to) = (from.index(gains.len()), to.index(gains.len()));
        let mut other = optimum.clone();
        let moved = share * other.power_w[from];
        other.power_w[from] -= moved;
        other.power_w[to] += moved;
        other.bandwidth_hz *= 1.0 - less;
        prop_assert!(!problem.assess(&other).unwrap().is_feasible());
        // Bandwidth that the split needs: the maximum over all users.
        let needs = gains.iter().zip(&other.power_w).map(|(gain, power_w)| {
            required_bandwidth_hz(problem.target(), gain * power_w).unwrap_or(f64::INFINITY)
        });
        let needed = needs.fold(0.0, f64::max);
        prop_assert!(needed >= optimum.bandwidth_hz * (1.0 - 1e-9));
    }

    #[test]
    fn permuting_users_permutes_the_answers(
        (gains, rate_bps) in arbitrary_cell(), log_load in 0.1f64..3.0, seed in any::<u64>(),
    ) {
        use rand::{SeedableRng, seq::SliceRandom};
        let mut order: Vec<usize> = (0..gains.len()).collect();
        order.shuffle(&mut rand_chacha::ChaCha8Rng::seed_from_u64(seed));
        let shuffled: Vec<f64> = order.iter().map(|&user| gains[user]).collect();
        let load = 10f64.powf(log_load);
        let close = |a: f64, b: f64, tolerance: f64| (a / b - 1.0).abs() < tolerance;
        let straight = solve_equal_bandwidth(&with_load(&gains, rate_bps, load)).allocation;
        let permuted = solve_equal_bandwidth(&with_load(&shuffled, rate_bps, load)).allocation;
        prop_assert!(close(straight.bandwidth_hz, permuted.bandwidth_hz, 1e-10));
        for policy in policies() {
            let mut allocator = policy.allocator();
            let (one, other) = (allocator.serve(&gains), allocator.serve(&shuffled));
            prop_assert!(close(one.bandwidth_hz, other.bandwidth_hz, 1e-9));
            for (position, &user) in order.iter().enumerate() {
                prop_assert!(close(one.power_w[user], other.power_w[position], 1e-9));
            }
        }
        for (position, &user) in order.iter().enumerate() {
            prop_assert!(close(straight.power_w[user], permuted.power_w[position], 1e-10));
        }
    }

    #[test]
    fn infeasible_says_what_is_missing_and_what_can_be_served(
        (gains, rate_bps) in arbitrary_cell(), load in 0.01f64..0.999,
    ) {
        let problem = with_load(&gains, rate_bps, load);
        let Outcome::Infeasible(why) = solve_equal_bandwidth(&problem).outcome else {
            return Err(TestCaseError::fail("expected infeasible"));
        };
        let budget_w = problem.max_power_w();
        let (required_w, missing_w) = (why.required_power_w.unwrap(), why.shortfall_w.unwrap());
        prop_assert!((required_w * load / budget_w - 1.0).abs() < 1e-9);
        prop_assert!((missing_w - required_w + budget_w).abs() < 1e-9 * budget_w);
        prop_assert!(why.is_exact && why.at_most.is_none());
        prop_assert_eq!(why.admissible.len() + why.dropped.len(), gains.len());
        let weakest_kept = why.admissible.iter().fold(1.0f64, |least, &i| least.min(gains[i]));
        prop_assert!(why.dropped.iter().all(|&i| gains[i] <= weakest_kept));
        let Answer::Infeasible(denied) = answer_by_file(&gains, rate_bps, budget_w) else {
            return Err(TestCaseError::fail("expected infeasible"));
        };
        prop_assert_eq!((&denied.why.admissible, &denied.why.dropped), (&why.admissible, &why.dropped));
        prop_assert_eq!(denied.admissible.is_none(), why.admissible.is_empty());
        if let Some(served) = denied.admissible {
            prop_assert_eq!(served.record.size().users, why.admissible.len());
            let residual = served.report.facts.number("kkt_residual").unwrap();
            prop_assert!(residual < 1e-12);
            // One more user would exceed the budget.
            let least = problem.target().least_received_w();
            let needed: f64 = why.admissible.iter().map(|&i| least / gains[i]).sum();
            let next = why.dropped.last().map_or(0.0, |&i| least / gains[i]);
            prop_assert!(needed < budget_w && needed + next > budget_w * (1.0 - 1e-9));
        }
    }
}

/// Returns the answer for a file with these users.
fn answer_by_file(gains: &[f64], rate_bps: f64, budget_w: f64) -> Answer {
    let users: Vec<String> =
        gains.iter().map(|gain| format!("{{\"gain_db\":{}}}", 10.0 * gain.log10())).collect();
    let file = format!("{{\"users\":[{}]}}", users.join(","));
    let mut options = Options::default();
    options.set("rate-bps", rate_bps.to_string());
    options.set("max-power-dbm", (10.0 * budget_w.log10() + 30.0).to_string());
    let mut answering = solving(&EQUAL_BANDWIDTH, &options).unwrap();
    answering.answer_all(Input::new(file.as_bytes(), "users")).unwrap().remove(0)
}

/// Compares with a bisection on the constraints, independent of the closed forms.
#[test]
fn closed_forms_agree_with_a_search() {
    let system = paper();
    let gains = [1e-10, 3e-12, 2e-13];
    let target = RateTarget::new(&system, 1e6).unwrap();
    let least = |meets: &dyn Fn(f64) -> bool, mut low: f64, mut high: f64| {
        for _ in 0..200 {
            let middle = (low * high).sqrt();
            if meets(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    };
    let power = |gain: f64, bandwidth_hz: f64| {
        least(&|power_w| target.achieved_bps(gain * power_w, bandwidth_hz) >= 1e6, 1e-12, 1e12)
    };
    let problem = QosPower::new(&system, 1e6, 4e5, gains).unwrap();
    for (power_w, gain) in solve_qos_power(&problem).iter().zip(gains) {
        assert!((power_w / power(gain, 4e5) - 1.0).abs() < 1e-12);
    }
    let total =
        |bandwidth_hz: f64| gains.iter().map(|&gain| power(gain, bandwidth_hz)).sum::<f64>();
    let bandwidth = least(&|hz| total(hz) <= system.max_power_w(), 2e4, 1e8);
    let solution = solve_equal_bandwidth(&EqualBandwidth::new(&system, 1e6, gains).unwrap());
    assert!((solution.allocation.bandwidth_hz / bandwidth - 1.0).abs() < 1e-10);
}

#[test]
fn plenty_of_bandwidth_and_none_left_over() {
    let system = paper();
    // With a large bandwidth the power is s_0 N_0 ln 2/g, to all digits.
    let problem = QosPower::new(&system, 1.0, 1e12, [1e-12]).unwrap();
    let expected = system.noise_w_hz() * std::f64::consts::LN_2 / 1e-12;
    assert!((solve_qos_power(&problem)[0] / expected - 1.0).abs() < 1e-12);
    let target = RateTarget::new(&system, 1e6).unwrap();
    for factor in [0.0, 0.5, 1.0, 1.0 + 1e-13, f64::NAN, f64::INFINITY] {
        let received_w = factor * target.least_received_w();
        assert_eq!(required_bandwidth_hz(&target, received_w), None, "{factor}");
    }
    assert!(required_bandwidth_hz(&target, 1.0001 * target.least_received_w()).unwrap() > 1e9);
    let one = solve_equal_bandwidth(&EqualBandwidth::new(&system, 1e6, [1e-12]).unwrap());
    assert!((one.allocation.power_w[0] / system.max_power_w() - 1.0).abs() < 1e-15);
}

#[test]
fn bad_numbers_are_refused_by_name() {
    let system = paper();
    let message = |result: Result<QosPower, Invalid>| result.unwrap_err().to_string();
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 2e12] {
        let error = message(QosPower::new(&system, rate, 1e6, [0.5]));
        assert!(error.starts_with("rate_bps is ") && error.contains("1 to 1e12"), "{error}");
        assert!(EqualBandwidth::new(&system, rate, [0.5]).is_err());
    }
    for bandwidth in [0.0, -1.0, f64::NAN, f64::INFINITY, 1999.0] {
        let error = message(QosPower::new(&system, 1e6, bandwidth, [0.5]));
        assert!(error.starts_with("bandwidth_hz is ") && error.contains("from 2000"), "{error}");
    }
    for gain in [0.0, -1.0, f64::NAN, 2.0] {
        assert!(QosPower::new(&system, 1e6, 1e6, [0.5, gain]).is_err());
        assert!(EqualBandwidth::new(&system, 1e6, [0.5, gain]).is_err());
    }
    let none = message(QosPower::new(&system, 1e6, 1e6, []));
    assert_eq!(none, "the number of users is 0, expected at least 1");
    let problem = QosPower::new(&system, 1e6, 1e6, [0.5]).unwrap();
    assert!(problem.assess(&[1.0, 2.0]).is_err());
    assert!(!problem.assess(&[0.0]).unwrap().is_feasible());
    let problem = EqualBandwidth::new(&system, 1e6, [0.5]).unwrap();
    let nothing = CommonAllocation { power_w: vec![1.0], bandwidth_hz: 0.0 };
    assert!(!problem.assess(&nothing).unwrap().is_feasible());
}

const POWER: ClosedForm = ClosedForm::QosPower { rate_bps: 1e6, bandwidth_hz: 1e6 };
/// Rate that the budget serves in cells of a thousand users.
const BANDWIDTH: ClosedForm = ClosedForm::EqualBandwidth { rate_bps: 1e5 };

fn train(settings: &ClosedFormSettings) -> Result<ClosedFormPolicy, TrainError> {
    train_closed_form(&paper(), settings, &mut Session::new(&Silent))
}

/// Returns policies of short training runs of every kind.
fn policies() -> &'static [ClosedFormPolicy] {
    static POLICIES: OnceLock<Vec<ClosedFormPolicy>> = OnceLock::new();
    POLICIES.get_or_init(|| {
        let small = |problem| ClosedFormSettings {
            samples: 500,
            steps: 2500,
            bandwidth_hidden: vec![8, 8],
            ..ClosedFormSettings::new(problem, 1)
        };
        let without = ClosedFormSettings {
            method: Method::MGnn,
            output: Output::SumNormalisation,
            ..small(BANDWIDTH)
        };
        let settings = [small(POWER), small(BANDWIDTH), without];
        settings.map(|settings| train(&settings).unwrap()).to_vec()
    })
}

/// Tests that policies trained at ten users are accurate from one to five hundred, except for the bandwidth without
/// its size law.
#[test]
fn trained_at_ten_users_it_holds_at_any() {
    let trials = Trials::new(vec![1, 2, 10, 50, 500], 40, 4242);
    let results: Vec<_> = policies()
        .iter()
        .map(|policy| evaluate_closed_form(policy, &trials, &Silent).unwrap())
        .collect();
    for result in results[0].iter().chain(&results[1]) {
        assert!(result.power_percent() < 1.0, "{result:?}");
    }
    let off = |policy: usize, size: usize| results[policy][size].bandwidth_error_percent.unwrap();
    assert!(off(2, 2) < 5.0 && off(2, 4) > 25.0, "{:?}", results[2]);
    assert!(off(1, 4) < off(2, 4), "{:?}", results[1]);
}

#[test]
fn models_survive_their_files_and_damage_is_refused() {
    for policy in policies() {
        let bytes = policy.to_bytes().unwrap();
        let read = ClosedFormPolicy::from_bytes(&bytes).unwrap();
        assert_eq!(read.record(), policy.record());
        assert_eq!(read.to_bytes().unwrap(), bytes);
        let gains = [1e-10, 1e-12, 3e-13];
        assert_eq!(read.allocator().serve(&gains), policy.allocator().serve(&gains));
        let loaded = read_model(&bytes).unwrap();
        assert_eq!(loaded.describe(), policy.describe());
        assert_eq!(loaded.bytes().unwrap(), bytes);
        assert!(matches!(LearnedPolicy::from_bytes(&bytes), Err(ModelError::Format(_))));
    }
    let bytes = policies()[0].to_bytes().unwrap();
    for length in 0..bytes.len() {
        assert!(read_model(&bytes[..length]).is_err(), "cut at {length}");
    }
    for bit in 0..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(read_model(&damaged).is_err(), "bit {bit} of byte {}", bit / 8);
    }
    for foreign in [&b""[..], b"{}", b"PK\x03\x04", &[0xff; 64]] {
        assert!(matches!(read_model(foreign), Err(ModelError::Format(_))));
    }
    // Parts that do not belong together.
    let (power, shared) = (&policies()[0], &policies()[1]);
    let parameters = power.power_parameters().to_vec();
    let refused = |result: Result<ClosedFormPolicy, ModelError>| {
        assert!(matches!(result, Err(ModelError::Content(_))), "{result:?}");
    };
    let record = || power.record().clone();
    refused(ClosedFormPolicy::new(record(), vec![], None, None));
    refused(ClosedFormPolicy::new(record(), vec![f64::NAN; parameters.len()], None, None));
    refused(ClosedFormPolicy::new(record(), parameters.clone(), Some(vec![0.0]), None));
    refused(ClosedFormPolicy::new(record(), parameters.clone(), None, Some(vec![0.0])));
    refused(ClosedFormPolicy::new(shared.record().clone(), parameters, None, None));
}

#[test]
fn training_is_deterministic_and_checked() {
    let quick = |seed: u64| ClosedFormSettings {
        samples: 30,
        steps: 40,
        method: Method::MGnn,
        aggregator: Aggregator::Sum,
        train_k: vec![3, 6],
        ..ClosedFormSettings::new(BANDWIDTH, seed)
    };
    let bytes = |settings: &ClosedFormSettings| train(settings).unwrap().to_bytes().unwrap();
    assert_eq!(bytes(&quick(1)), bytes(&quick(1)));
    assert_ne!(bytes(&quick(1)), bytes(&quick(2)));
    let power = ClosedFormSettings::new(POWER, 1);
    let rate = |rate_bps| ClosedForm::EqualBandwidth { rate_bps };
    for settings in [
        ClosedFormSettings { method: Method::PGnn, ..power.clone() },
        ClosedFormSettings { output: Output::Softmax, ..power.clone() },
        ClosedFormSettings { method: Method::Fnn, ..quick(1) },
        ClosedFormSettings { output: power.output, ..quick(1) },
        ClosedFormSettings { train_k: vec![], ..quick(1) },
        ClosedFormSettings { train_k: vec![0], ..quick(1) },
        ClosedFormSettings { samples: 0, ..quick(1) },
        ClosedFormSettings { batch: 0, ..quick(1) },
        ClosedFormSettings { rate: f64::NAN, ..quick(1) },
        ClosedFormSettings { power_hidden: vec![], ..quick(1) },
        ClosedFormSettings { power_penalty: -1.0, ..quick(1) },
        ClosedFormSettings { problem: rate(f64::NAN), ..quick(1) },
        // No cell can be served at this rate.
        ClosedFormSettings { problem: rate(1e11), ..quick(1) },
    ] {
        assert!(train(&settings).is_err(), "{settings:?}");
    }
    // An overflowing loss is an error and never gives a model.
    let wild = ClosedFormSettings { rate: 1e300, ..quick(1) };
    let error = train(&wild).unwrap_err();
    assert!(matches!(error, TrainError::Diverged { attempts: 5, .. }), "{error}");
}
