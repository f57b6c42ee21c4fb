//! Calibrated margins: the guarantee holds, and the test would detect a guarantee that is too strong.

#![allow(clippy::unwrap_used)]

use anyk::channel::{FadingLaw, sample_distances_m};
use anyk::framework::{
    CalibrationSettings, Guarantee, Method, ModelError, PretrainSettings, Session, Silent, Stored,
};
use anyk::math::realization_rng;
use anyk::network::Aggregator;
use anyk::problems::urllc::Recipe;
use anyk::problems::urllc::{CellPolicy, LearnedPolicy, Urllc};
use anyk::problems::urllc::{
    Judged, TestSet, calibrate, required_factors, train_urllc, true_bandwidth,
};
use anyk::problems::urllc::{TrainSettings, UserInputs};
use anyk::{Allocation, Config, Error, Instance, Outcome, Policy, Status, System};
use rand::RngExt;

const REPETITIONS: usize = 4000;
const DELTA: f64 = 0.05;

/// Returns how often the guarantee fails if `extra` more users than allowed are left out. The factors are uniform on
/// [0, 1), so a share `1 − margin` of users misses its QoS.
fn broken_share(cells: usize, beta: f64, extra: usize) -> f64 {
    let missed = Guarantee::missed_allowed(cells, beta, DELTA, 1).unwrap();
    let broken = (0..REPETITIONS).filter(|&repetition| {
        let mut rng = realization_rng(5, cells, repetition as u64);
        let factors: Vec<f64> = (0..cells).map(|_| rng.random()).collect();
        1.0 - Guarantee::order_statistic(factors, missed + extra).unwrap() > beta
    });
    broken.count() as f64 / REPETITIONS as f64
}

/// Returns whether the failure rate is within four standard errors of the guaranteed one.
fn is_kept(broken: f64) -> bool {
    broken <= DELTA + 4.0 * (DELTA * (1.0 - DELTA) / REPETITIONS as f64).sqrt()
}

#[test]
fn the_promise_is_kept_and_off_by_one_would_be_found() {
    for (cells, beta) in [(299, 0.01), (500, 0.01), (1000, 0.01), (90, 0.05)] {
        let broken = broken_share(cells, beta, 0);
        assert!(is_kept(broken), "{cells} cells: {broken}");
        // The bound is exact, so the permitted failure rate is almost reached.
        assert!(broken > 0.01, "{cells} cells: {broken}");
        assert!(!is_kept(broken_share(cells, beta, 1)), "{cells} cells, one too many");
    }
}

/// Tests factors with ties, as for a policy that treats many users alike: the guarantee still holds.
#[test]
fn ties_do_not_break_it() {
    let (cells, beta) = (299, 0.01);
    let missed = Guarantee::missed_allowed(cells, beta, DELTA, 1).unwrap();
    let broken = (0..REPETITIONS).filter(|&repetition| {
        let mut rng = realization_rng(6, cells, repetition as u64);
        // The factor is 1 for a share 0.989 of users and 2 for the others, so only 2 is sufficient.
        let factors = (0..cells).map(|_| if rng.random::<f64>() < 0.989 { 1.0 } else { 2.0 });
        Guarantee::order_statistic(factors.collect(), missed).unwrap() < 1.5
    });
    assert!(is_kept(broken.count() as f64 / REPETITIONS as f64));
}

fn m_gnn() -> LearnedPolicy {
    let system = Config::default().validate().unwrap();
    let settings = TrainSettings {
        method: Method::MGnn,
        train_k: vec![10],
        samples: 200,
        epsilon_d: 1e-5,
        aggregator: Aggregator::Mean,
        inputs: UserInputs::Gain,
        hidden: vec![4],
        recipe: Recipe { steps: Some(3000), ..Recipe::fast(10) },
        seed: 1,
    };
    let pretraining = (&PretrainSettings::default(), None);
    train_urllc(&system, &settings, pretraining, &mut Session::new(&Silent)).unwrap()
}

#[test]
fn a_calibrated_policy_serves_its_users() {
    let policy = m_gnn();
    let settings = CalibrationSettings {
        k: vec![10],
        cells: 598,
        beta: 0.01,
        delta: DELTA,
        seed: 3,
        shrink: false,
    };
    let calibrated = calibrate(&policy, None, &settings).unwrap();
    let guarantee = calibrated.record().guarantee.clone().unwrap();
    assert!(guarantee.margin >= 1.0 && guarantee.k == [10] && guarantee.missed == 1);
    // The file keeps the guarantee and gives the same allocations.
    let loaded = LearnedPolicy::from_bytes(&calibrated.to_bytes().unwrap()).unwrap();
    assert_eq!(loaded.record(), calibrated.record());
    let set = TestSet::draw(policy.system(), &[10], 400, 99).unwrap();
    let (before, after) = (
        set.evaluate(&policy.allocator(), &Silent).unwrap(),
        set.evaluate(&loaded.allocator(), &Silent).unwrap(),
    );
    // Twice the share is allowed: the guarantee has a confidence of 95 % and is checked on 4000 users.
    assert!(after[0].availability >= 0.98, "{:?}", after[0]);
    assert!(after[0].availability >= before[0].availability);
    let price = after[0].total_bandwidth_mhz / before[0].total_bandwidth_mhz;
    assert!((price / guarantee.margin - 1.0).abs() < 1e-9, "{price}");
    let judge = true_bandwidth(policy.system(), &FadingLaw::Rayleigh).unwrap();
    // The share of users above the margin, counted from their factors, is the share that misses its QoS.
    let factors = required_factors(&policy, &judge, 10, 2000, 17, Judged::All).unwrap();
    assert_eq!(factors.len(), 20_000);
    let over = factors.iter().filter(|&&factor| factor > guarantee.margin).count();
    let missed = 1.0 - set.evaluate(&loaded.allocator(), &Silent).unwrap()[0].availability;
    assert!((over as f64 / 2e4 - missed).abs() < 0.01);
    // A second calibration starts from the policy itself, not from the first margin.
    assert_eq!(calibrate(&calibrated, None, &settings).unwrap().record(), calibrated.record());
    // All sizes share δ, so more sizes never lower the margin.
    let both = CalibrationSettings { k: vec![10, 20], cells: 1000, ..settings.clone() };
    let both = calibrate(&policy, None, &both).unwrap().record().guarantee.clone().unwrap();
    assert_eq!(both.k, [10, 20]);
    // A margin that may be below 1 is not larger.
    let free = CalibrationSettings { shrink: true, ..settings.clone() };
    let free = calibrate(&policy, None, &free).unwrap().record().guarantee.clone().unwrap();
    assert!(free.margin <= guarantee.margin);
    let few = CalibrationSettings { cells: 298, ..settings };
    let error = calibrate(&policy, None, &few).unwrap_err().to_string();
    assert!(error.starts_with("cells is 298, expected at least 299: "), "{error}");
}

#[test]
fn a_certificate_that_promises_too_much_is_refused() {
    let policy = m_gnn();
    let honest = Guarantee {
        margin: 1.02,
        beta: 1e-3,
        delta: 0.05,
        k: vec![10],
        cells: 2995,
        missed: 0,
        seed: 1,
        fading: None,
    };
    assert!(policy.with_guarantee(honest.clone()).is_ok());
    for forged in [
        Guarantee { missed: 1, ..honest.clone() },
        Guarantee { cells: 2994, ..honest.clone() },
        Guarantee { beta: 1e-4, ..honest.clone() },
        Guarantee { delta: 0.01, ..honest.clone() },
        Guarantee { k: vec![], ..honest.clone() },
        Guarantee { k: vec![1, 10], ..honest.clone() },
        Guarantee { margin: f64::NAN, ..honest.clone() },
        Guarantee { margin: 0.0, ..honest.clone() },
        Guarantee { margin: f64::INFINITY, ..honest.clone() },
        Guarantee { margin: -1.0, ..honest },
    ] {
        assert!(policy.with_guarantee(forged.clone()).is_err(), "{forged:?}");
    }
}

/// Policy that gives its only user all the power and 1 Hz, and can widen this up to a limit.
#[derive(Clone)]
struct Meagre {
    system: System,
    most_hz: f64,
}

impl Policy for Meagre {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let problem: &Urllc = instance.formulation()?;
        into.amounts = vec![vec![problem.max_power_w()], vec![1.0]];
        Ok(Outcome::Served(Status::Learned))
    }
}

impl CellPolicy for Meagre {
    type Allocator = Self;

    fn allocator(&self) -> Self {
        self.clone()
    }

    fn system(&self) -> &System {
        &self.system
    }

    fn knows_fading(&self) -> bool {
        true
    }

    fn most_hz(&self) -> Result<f64, ModelError> {
        Ok(self.most_hz)
    }

    fn guarantee(&self) -> Option<&Guarantee> {
        None
    }

    fn set_guarantee(&mut self, _guarantee: Option<Guarantee>) {}
}

/// Tests that a factor is finite only if the required bandwidth is within the reach of the policy, and the whole
/// reach still serves the user.
#[test]
fn a_factor_ends_where_the_policy_does() {
    let system = Config::default().validate().unwrap();
    let table = true_bandwidth(&system, &FadingLaw::Rayleigh).unwrap();
    let fold_hz = table.exact().max_bandwidth_hz();
    let distance_m = sample_distances_m(&system.road(), 3, 1, 0)[0];
    let received_w = system.path_loss().gain(distance_m) * system.max_power_w();
    let needed_hz = table.at(received_w).unwrap().bandwidth_hz;
    assert!(needed_hz < 0.9 * fold_hz);
    let factor = |most_hz: f64| {
        let policy = Meagre { system: system.clone(), most_hz };
        let found = required_factors(&policy, &table, 1, 1, 3, Judged::First).unwrap();
        assert_eq!(found.len(), 1);
        found[0]
    };
    // Just within reach, up to rounding; at the fold; beyond the fold, where this user is still served.
    for most_hz in [needed_hz * (1.0 - 0.5e-9), needed_hz, fold_hz, 2.0 * fold_hz] {
        let found = factor(most_hz);
        assert!((1e-10..1e-8).contains(&(found / needed_hz - 1.0)), "{most_hz}: {found}");
    }
    // Out of reach, and so wide that the finite blocklength costs more than the bandwidth gains.
    for most_hz in [needed_hz * (1.0 - 2e-9), 1e9 * fold_hz] {
        assert!(factor(most_hz).is_infinite(), "{most_hz}");
    }
}
