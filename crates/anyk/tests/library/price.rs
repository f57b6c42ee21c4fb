//! Price policy and certified allocations: feasible for any learned parameters, and near the optimum for any number
//! of users.

#![allow(clippy::unwrap_used)]

use std::sync::LazyLock;

use anyk::Outcome;
use anyk::channel::{FadingLaw, sample_distances_m};
use anyk::framework::{CalibrationSettings, ModelError, Session, Silent, Stored};
use anyk::problems::read_model;
use anyk::problems::urllc::UrllcSolver;
use anyk::problems::urllc::{CellPolicy, Certifier, PricePolicy, Unserved};
use anyk::problems::urllc::{
    Judged, TestSet, calibrate, required_factors, train_price_policy, true_bandwidth,
};
use anyk::problems::urllc::{PriceSettings, Span};
use anyk::problems::urllc::{Urllc, UrllcAllocation};
use anyk::qos::BandwidthFunction;
use anyk::qos::RequiredBandwidth;
use anyk::qos::ServiceClass;
use anyk::{Config, System};
use proptest::prelude::*;

static SYSTEM: LazyLock<System> = LazyLock::new(|| Config::default().validate().unwrap());

fn short(seed: u64) -> PriceSettings {
    let mut settings = PriceSettings::preset(seed);
    (settings.samples, settings.steps) = (200, 300);
    settings
}

fn train(settings: &PriceSettings) -> PricePolicy {
    train_price_policy(&SYSTEM, settings, &mut Session::new(&Silent)).unwrap()
}

static POLICY: LazyLock<PricePolicy> = LazyLock::new(|| train(&short(1)));

/// Policy from a complete training run.
static FULL: LazyLock<PricePolicy> = LazyLock::new(|| train(&PriceSettings::preset(5)));

/// Returns the same policy with other parameters.
fn with_parameters(parameters: Vec<f64>) -> Result<PricePolicy, ModelError> {
    PricePolicy::new(POLICY.record().clone(), parameters, None)
}

fn classes() -> [ServiceClass; 3] {
    let usual = ServiceClass::default();
    [
        usual,
        ServiceClass { epsilon: 1e-7, packet_bits: 500.0, ..usual },
        ServiceClass { epsilon: 1e-3, arrival_rate: 0.01, ..usual },
    ]
}

fn arbitrary_cell() -> impl Strategy<Value = Urllc> {
    let user = (-140.0f64..-60.0, 0usize..3);
    (prop::collection::vec(user, 1..60), 0.0f64..60.0).prop_map(|(users, dbm)| {
        let classes = classes();
        let users = users.into_iter().map(|(db, class)| (10f64.powf(db / 10.0), classes[class]));
        let problem = Urllc::new(&SYSTEM, users).unwrap();
        problem.with_max_power_w(10f64.powf((dbm - 30.0) / 10.0)).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Tests at random parameters that the policy serves whenever the solver does, within the budget and certified.
    #[test]
    fn feasible_whatever_was_learned(
        problem in arbitrary_cell(), noise in prop::collection::vec(-3.0f64..3.0, 200), wild in any::<bool>(),
    ) {
        let parameters = POLICY.parameters().iter().zip(noise.iter().cycle());
        let factor = if wild { 100.0 } else { 0.1 };
        let policy = with_parameters(parameters.map(|(p, n)| p + factor * n).collect()).unwrap();
        let mut allocation = UrllcAllocation::default();
        let served = policy.allocator().serve(&problem, &mut allocation);
        let solution = UrllcSolver::default().solve(&problem);
        match (served, &solution.outcome) {
            (Err(Unserved::Infeasible(why)), Outcome::Infeasible(exact)) => {
                prop_assert_eq!(&why.dropped, &exact.dropped);
                prop_assert_eq!(&why.admissible, &exact.admissible);
            }
            (Ok(()), Outcome::Served(_)) => {
                let judged = problem.assess(&allocation).unwrap();
                prop_assert!(judged.is_feasible(), "{:?}", judged);
                prop_assert!(judged.power_excess.abs() < 1e-12);
                let total_hz = solution.allocation.total_bandwidth_hz();
                prop_assert!(judged.total_bandwidth_hz > total_hz * (1.0 - 1e-7));
            }
            (served, status) => prop_assert!(false, "{served:?} but {status:?}"),
        }
    }

    /// Tests that permuting users permutes their allocations.
    #[test]
    fn equivariant(problem in arbitrary_cell(), seed in any::<u64>()) {
        let size = problem.size();
        let mut order: Vec<usize> = (0..size).collect();
        order.sort_by_key(|&index| (index as u64 + 1).wrapping_mul(seed | 1));
        let user = |index: usize| {
            let user = problem.users()[index];
            (user.gain, problem.classes()[user.class].service())
        };
        let permuted = Urllc::new(&SYSTEM, order.iter().map(|&index| user(index))).unwrap();
        let permuted = permuted.with_max_power_w(problem.max_power_w()).unwrap();
        let (mut straight, mut mixed) = (UrllcAllocation::default(), UrllcAllocation::default());
        let mut allocator = POLICY.allocator();
        let served = allocator.serve(&problem, &mut straight).is_ok();
        prop_assert_eq!(allocator.serve(&permuted, &mut mixed).is_ok(), served);
        if served {
            for (place, &index) in order.iter().enumerate() {
                let off = mixed.power_w[place] / straight.power_w[index] - 1.0;
                prop_assert!(off.abs() < 1e-8, "{off}");
                let off = mixed.bandwidth_hz[place] / straight.bandwidth_hz[index] - 1.0;
                prop_assert!(off.abs() < 1e-6, "{off}");
            }
        }
    }

    /// Tests arbitrary powers and bandwidths. The judge confirms what is certified, no bandwidth is raised more than
    /// needed, and users without a certificate cannot be certified.
    #[test]
    fn certificates_are_never_wrong(
        problem in arbitrary_cell(),
        draws in prop::collection::vec((-3.0f64..6.0, -3.0f64..4.0), 60),
    ) {
        let exact: Vec<RequiredBandwidth> =
            problem.classes().iter().map(|qos| RequiredBandwidth::new(qos.clone())).collect();
        let mut allocation = UrllcAllocation::default();
        for (user, &(excess, factor)) in problem.users().iter().zip(&draws) {
            let required = &exact[user.class];
            allocation.power_w.push(required.min_received_w() / user.gain * excess.exp());
            allocation.bandwidth_hz.push(required.max_bandwidth_hz() * factor.exp());
        }
        let before = allocation.clone();
        let certificate = Certifier::default().certify(&problem, &mut allocation);
        prop_assert_eq!(&allocation.power_w, &before.power_w);
        let (mut raised, mut lowered, mut added_hz) = (0, 0, 0.0);
        for (index, user) in problem.users().iter().enumerate() {
            let received_w = user.gain * allocation.power_w[index];
            let (given, now) = (before.bandwidth_hz[index], allocation.bandwidth_hz[index]);
            let needed = exact[user.class].at(received_w);
            if certificate.too_weak.contains(&index) {
                let least = exact[user.class].min_received_w() * (1.0 + 1e-12);
                prop_assert!(received_w < least && now.total_cmp(&given).is_eq());
                continue;
            }
            let margin = problem.classes()[user.class].margin(received_w.ln(), now.ln());
            prop_assert!(margin.value >= 0.0, "{}", margin.value);
            if now > given {
                raised += 1;
                let needed = needed.unwrap().bandwidth_hz;
                prop_assert!(given < needed * (1.0 + 1e-9) && now <= needed * (1.0 + 1e-7));
            }
            lowered += usize::from(now < given);
            added_hz += now - given;
        }
        prop_assert_eq!(raised, certificate.raised_users);
        prop_assert_eq!(lowered, certificate.lowered_users);
        prop_assert!((added_hz - certificate.added_bandwidth_hz).abs() <= 1e-9 * (1.0 + added_hz.abs()));
        prop_assert_eq!(certificate.is_complete(), certificate.too_weak.is_empty());
        // A second certification changes nothing.
        let again = Certifier::default().certify(&problem, &mut allocation);
        prop_assert_eq!((again.raised_users, again.lowered_users), (0, 0));
    }
}

/// Tests that a certifier that has seen other cells works like a new one and repeats only the necessary steps.
#[test]
fn a_certifier_keeps_cells_apart() {
    let [usual, strict, rare] = classes();
    let cell = |system: &System, classes: &[ServiceClass]| {
        Urllc::new(system, classes.iter().map(|class| (1e-11, *class))).unwrap()
    };
    let mut config = Config::default();
    config.cell.antennas = 2;
    let two_antennas = config.validate().unwrap();
    let cells = [
        cell(&SYSTEM, &[usual]),
        cell(&SYSTEM, &[strict]),
        cell(&two_antennas, &[strict]),
        cell(&two_antennas, &[strict, usual]),
        cell(&SYSTEM, &[strict, usual]),
        cell(&SYSTEM, &[rare, usual, strict]),
        cell(&SYSTEM, &[usual]),
    ];
    let mut certifier = Certifier::default();
    for problem in &cells {
        let exact = problem.classes().iter().map(|qos| RequiredBandwidth::new(qos.clone()));
        let least_w: f64 = exact.map(|exact| exact.min_received_w() / 1e-11).sum();
        assert!(certifier.prepare(problem), "{:?}", problem.classes());
        assert!(!certifier.prepare(problem));
        assert_eq!(certifier.bandwidths().len(), problem.classes().len());
        assert!((certifier.least_power_w(problem) / least_w - 1.0).abs() < 1e-9);
    }
}

#[test]
fn from_one_user_to_a_hundred_thousand() {
    let mut allocator = POLICY.allocator();
    let mut allocation = UrllcAllocation::default();
    for size in [1, 2, 3, 1000, 100_000] {
        let gains = sample_distances_m(&SYSTEM.road(), 3, size, 0);
        let gains = gains.into_iter().map(|d| SYSTEM.path_loss().gain(d));
        let budget_w = SYSTEM.max_power_w() * (size as f64 / 200.0).max(1.0);
        let problem = Urllc::uniform(&SYSTEM, gains).unwrap().with_max_power_w(budget_w).unwrap();
        allocator.serve(&problem, &mut allocation).unwrap();
        let judged = problem.assess(&allocation).unwrap();
        assert!(judged.is_feasible() && judged.power_excess.abs() < 1e-12, "{size}: {judged:?}");
    }
}

#[test]
fn extreme_gains_and_budgets() {
    let mut allocation = UrllcAllocation::default();
    for (gains, budget_w) in [
        (vec![1.0, 1e-13, 1e-10], 20.0),
        (vec![1.0; 4], 1e7),
        (vec![1e-59, 1.0], 1e46),
        (vec![1e-13], 1e7),
    ] {
        let problem = Urllc::uniform(&SYSTEM, gains).unwrap().with_max_power_w(budget_w).unwrap();
        POLICY.allocator().serve(&problem, &mut allocation).unwrap();
        let judged = problem.assess(&allocation).unwrap();
        assert!(judged.is_feasible(), "{judged:?}");
    }
}

/// Tests budgets that are barely sufficient, to the last digits.
#[test]
fn the_edge_of_feasibility_is_the_solvers() {
    let gains = [60.0, 90.0, 240.0].map(|d| SYSTEM.path_loss().gain(d));
    let problem = Urllc::uniform(&SYSTEM, gains).unwrap();
    let least_w = Certifier::default().least_power_w(&problem);
    let mut solver = UrllcSolver::default();
    for over in [-1e-3, -1e-13, 1e-13, 9e-13, 2e-12, 1e-10, 1e-6, 1e-2] {
        let problem = problem.clone().with_max_power_w(least_w * (1.0 + over)).unwrap();
        let mut allocation = UrllcAllocation::default();
        let served = POLICY.allocator().serve(&problem, &mut allocation).is_ok();
        let exact = solver.solve(&problem).outcome.infeasible().is_none();
        assert_eq!(served, exact, "{over}");
        assert!(!served || problem.assess(&allocation).unwrap().is_feasible(), "{over}");
    }
}

/// Tests the targets on cells with another seed than the test set.
#[test]
fn near_the_optimum_at_every_size() {
    let sizes = [1, 2, 5, 10, 50, 200, 1000];
    let set = TestSet::draw(&SYSTEM, &sizes, 10, 99).unwrap();
    for (policy, most_percent) in [(&*FULL, 0.002), (&*POLICY, 0.2)] {
        for result in set.evaluate(&policy.allocator(), &Silent).unwrap() {
            assert!(result.availability >= 1.0, "{result:?}");
            assert!((-1e-6..most_percent).contains(&result.gap_percent), "{result:?}");
        }
    }
}

/// Tests the price of ten users, kept for any number of them: the powers keep the distribution of ten users.
#[test]
fn a_fixed_price_is_right_at_its_own_size_alone() {
    let sizes = [10, 1000];
    let ten: Vec<f64> = sample_distances_m(&SYSTEM.road(), 3, 10, 0);
    let ten = ten.into_iter().map(|distance_m| SYSTEM.path_loss().gain(distance_m));
    let mut allocator = FULL.allocator();
    allocator
        .serve(&Urllc::uniform(&SYSTEM, ten).unwrap(), &mut UrllcAllocation::default())
        .unwrap();
    let softmax = FULL.with_fixed_price(allocator.ln_price()).unwrap();
    let set = TestSet::draw(&SYSTEM, &sizes, 10, 99).unwrap();
    let results = set.evaluate(&softmax.allocator(), &Silent).unwrap();
    assert!(results[0].gap_percent < 0.1 && results[1].gap_percent > 0.3, "{results:?}");
    // The model file keeps the price.
    let read = PricePolicy::from_bytes(&softmax.to_bytes().unwrap()).unwrap();
    assert_eq!(read.record(), softmax.record());
    for price in [f64::NAN, f64::INFINITY, -201.0] {
        let error = FULL.with_fixed_price(price).unwrap_err().to_string();
        assert!(error.contains("fixed_ln_price"), "{error}");
    }
}

/// Tests one model, trained in the paper's cell, in cells with other antennas, budgets and service classes.
#[test]
fn one_training_follows_the_optimum_under_other_conditions() {
    let policy = &*FULL;
    let changes: [fn(&mut Config); 7] = [
        |config| config.cell.antennas = 1,
        |config| config.cell.antennas = 64,
        |config| config.cell.max_power_dbm = 60.0,
        |config| (config.road.cell_radius_m, config.cell.max_power_dbm) = (1000.0, 63.0),
        |config| config.cell.max_power_dbm = 30.0,
        |config| config.service.epsilon = 1e-3,
        |config| config.service.packet_bits = 1000.0,
    ];
    for (index, change) in changes.iter().enumerate() {
        let mut config = Config::default();
        change(&mut config);
        let set = TestSet::draw(&config.validate().unwrap(), &[10, 200], 10, 7).unwrap();
        for result in set.evaluate(&policy.allocator(), &Silent).unwrap() {
            assert!(result.availability >= 1.0, "{index}: {result:?}");
            assert!(result.gap_percent < 0.02, "{index}: {result:?}");
        }
    }
    let users = (0..60).map(|place| {
        (10f64.powf(-9.0 - f64::from(place % 20) / 10.0), classes()[place as usize % 3])
    });
    let mixed = Urllc::new(&SYSTEM, users).unwrap();
    let mut allocation = UrllcAllocation::default();
    policy.allocator().serve(&mixed, &mut allocation).unwrap();
    let least_hz = UrllcSolver::default().solve(&mixed).allocation.total_bandwidth_hz();
    let gap = allocation.total_bandwidth_hz() / least_hz - 1.0;
    assert!(mixed.assess(&allocation).unwrap().is_feasible() && gap < 2e-4, "{gap}");
}

#[test]
fn trainings_are_reproducible_and_models_round_trip() {
    let settings = short(1);
    let bytes = POLICY.to_bytes().unwrap();
    assert_eq!(train(&settings).to_bytes().unwrap(), bytes);
    assert_ne!(train(&short(2)).to_bytes().unwrap(), bytes);
    // Read with the registry, and as a price policy.
    let loaded = read_model(&bytes).unwrap();
    let said = loaded.describe();
    assert!(said.contains("urllc") && said.contains("price"), "{said}");
    assert_eq!(loaded.bytes().unwrap(), bytes);
    let read = PricePolicy::from_bytes(&bytes).unwrap();
    assert_eq!(read.record(), POLICY.record());
    assert_eq!(read.parameters(), POLICY.parameters());
    assert_eq!(read.to_bytes().unwrap(), bytes);
}

#[test]
fn damaged_models_are_refused() {
    let bytes = POLICY.to_bytes().unwrap();
    for length in 0..bytes.len() {
        assert!(PricePolicy::from_bytes(&bytes[..length]).is_err(), "cut at {length}");
    }
    for byte in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[byte] ^= 1 << (byte % 8);
        assert!(read_model(&damaged).is_err(), "byte {byte}");
    }
    let count = POLICY.parameters().len();
    assert!(with_parameters(vec![0.0; count - 1]).is_err());
    let mut parameters = POLICY.parameters().to_vec();
    parameters[3] = f64::NAN;
    assert!(with_parameters(parameters).is_err());
    let mut record = POLICY.record().clone();
    record.ranges.0.insert("excess".to_owned(), Span(0.0, f64::INFINITY));
    assert!(PricePolicy::new(record, POLICY.parameters().to_vec(), None).is_err());
}

#[test]
fn what_was_not_trained_on_is_flagged() {
    let near = SYSTEM.path_loss().gain(100.0);
    let outside = |budget_w: f64, service: ServiceClass, antennas: u32| {
        let mut config = Config::default();
        config.cell.antennas = antennas;
        let problem = Urllc::new(&config.validate().unwrap(), [(near, service); 10]).unwrap();
        let problem = problem.with_max_power_w(budget_w).unwrap();
        let mut allocator = POLICY.allocator();
        allocator.serve(&problem, &mut UrllcAllocation::default()).unwrap();
        allocator.out_of_range(&problem)
    };
    let usual = ServiceClass::default();
    let other = ServiceClass { epsilon: 2e-7, packet_bits: 1000.0, arrival_rate: 0.05 };
    // Ten users, with any budget from a barely sufficient one.
    let problem = Urllc::uniform(&SYSTEM, [near; 10]).unwrap();
    let least_w = Certifier::default().least_power_w(&problem);
    for budget_w in [1.01 * least_w, SYSTEM.max_power_w(), 1e6 * least_w] {
        assert_eq!(outside(budget_w, usual, 8), Vec::<String>::new());
    }
    assert_eq!(outside(1e3, other, 2), Vec::<String>::new());
    let scarce = outside(least_w * (1.0 + 1e-4), usual, 8);
    assert!(scarce.len() == 1 && scarce[0].starts_with("excess 1.00e-4, trained"), "{scarce:?}");
    let plenty = outside(1e9 * least_w, usual, 8);
    assert!(plenty.len() == 1 && plenty[0].starts_with("excess 1.00e9, trained"), "{plenty:?}");
    let strict = outside(1e3, ServiceClass { epsilon: 1e-8, ..usual }, 128);
    assert!(strict.len() == 2 && strict[0].starts_with("epsilon 1.00e-8"), "{strict:?}");
    assert_eq!(strict[1], "antennas 128.00, trained 1.00 to 64.00");
}

/// Tests that with a known distribution no user needs more than it gets, at any size: a calibration gives a margin of
/// 1, and its guarantee for one size holds at the others.
#[test]
fn a_calibration_has_nothing_to_add() {
    let settings = CalibrationSettings {
        k: vec![10],
        cells: 299,
        beta: 0.01,
        delta: 0.05,
        seed: 3,
        shrink: false,
    };
    let calibrated = calibrate(&*POLICY, None, &settings).unwrap();
    let margin = calibrated.guarantee().unwrap().margin;
    assert!((1.0..1.0 + 1e-8).contains(&margin), "{margin}");
    let judge = true_bandwidth(&SYSTEM, &FadingLaw::Rayleigh).unwrap();
    for (size, cells) in [(1, 200), (100, 20), (1000, 5)] {
        let factors = required_factors(&*POLICY, &judge, size, cells, 5, Judged::All).unwrap();
        // Up to the amount by which the judge rounds up.
        let most = factors.iter().fold(0.0f64, |most, factor| most.max(*factor));
        assert!(most < 1.0 + 1e-8, "{size}: {most}");
    }
}

/// Tests the interface of a learned `b`: it decreases and starts at the fold.
#[test]
fn known_bandwidths_fall_and_end_at_the_fold() {
    let problem = Urllc::uniform(&SYSTEM, [1e-10]).unwrap();
    let mut certifier = Certifier::default();
    assert!(certifier.prepare(&problem) && !certifier.prepare(&problem));
    let known = &certifier.bandwidths()[0];
    let least_w = known.min_received_w();
    assert!(known.at(0.999 * least_w).is_none() && known.at(f64::NAN).is_none());
    let mut last = known.at(least_w).unwrap().0;
    assert!((last / known.max_bandwidth_hz() - 1.0).abs() < 1e-9);
    for power in 1..60 {
        let (bandwidth_hz, elasticity) = known.at(least_w * 1.5f64.powi(power)).unwrap();
        assert!(bandwidth_hz < last && elasticity > 0.0);
        last = bandwidth_hz;
    }
}
