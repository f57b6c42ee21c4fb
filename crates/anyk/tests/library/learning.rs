//! Training from samples to a policy that works at other sizes; determinism and model files.

#![allow(clippy::unwrap_used)]

use std::sync::{Mutex, OnceLock};

use anyk::framework::{
    Method, ModelError, Observer, PretrainLoss, PretrainSettings, Schedule, Session, Silent,
    Stored, TrainError,
};
use anyk::network::{Aggregator, BandwidthLaw};
use anyk::problems::urllc::Recipe;
use anyk::problems::urllc::{Algorithm1, TrainSettings, measure_law, pretrain_law};
use anyk::problems::urllc::{CellPolicy, LearnedPolicy, Urllc, UrllcAllocation, UrllcProblem};
use anyk::problems::urllc::{TestSet, law_for, train_urllc};
use anyk::{Allocation, Config, Error, Instance, System};
use proptest::prelude::*;

fn paper() -> System {
    Config::default().validate().unwrap()
}

/// Uses a quarter of the epochs, which takes two seconds instead of seven.
fn small_pretraining() -> PretrainSettings {
    PretrainSettings { epochs: 100, ..PretrainSettings::default() }
}

fn small_law() -> &'static BandwidthLaw {
    static LAW: OnceLock<BandwidthLaw> = OnceLock::new();
    LAW.get_or_init(|| {
        let session = &mut Session::new(&Silent);
        pretrain_law(&paper(), 6e-6, &small_pretraining(), 1, session).unwrap()
    })
}

fn p_gnn(seed: u64) -> TrainSettings {
    TrainSettings { seed, ..TrainSettings::p_gnn(10, 500, 6e-6) }
}

fn m_gnn(steps: u64) -> TrainSettings {
    let recipe = Recipe { steps: Some(steps), ..Recipe::fast(10) };
    TrainSettings { method: Method::MGnn, epsilon_d: 5e-6, recipe, ..p_gnn(1) }
}

fn train(settings: &TrainSettings) -> LearnedPolicy {
    let system = paper();
    let law = (settings.method == Method::PGnn).then(small_law);
    let session = &mut Session::new(&Silent);
    train_urllc(&system, settings, (&small_pretraining(), law), session).unwrap()
}

#[test]
fn the_law_is_learned_with_and_without_labels() {
    let system = paper();
    let settings = small_pretraining();
    let error = measure_law(&system, 6e-6, small_law(), &settings, 99).unwrap();
    assert!(error.mean < 0.005 && error.percentile_99 < 0.02, "{error:?}");
    let unsupervised =
        PretrainSettings { loss: PretrainLoss::Unsupervised, epochs: 60, ..settings.clone() };
    let session = &mut Session::new(&Silent);
    let law = pretrain_law(&system, 6e-6, &unsupervised, 1, session).unwrap();
    let error = measure_law(&system, 6e-6, &law, &settings, 99).unwrap();
    assert!(error.mean < 0.02, "{error:?}");
}

/// Observer that records messages.
#[derive(Default)]
struct Listening(Mutex<Vec<String>>);

impl Observer for Listening {
    fn tell(&self, message: &str) {
        self.0.lock().unwrap().push(message.to_owned());
    }
}

/// Tests large cells, in which equal power cannot serve the farthest users: the other users are learned, and a
/// message says so. If equal power can serve almost no user, training is impossible.
#[test]
fn users_that_equal_power_cannot_serve_are_left_out() {
    let settings = PretrainSettings { epochs: 1, ..PretrainSettings::default() };
    let in_cell = |radius_m: f64, max_power_dbm: f64| {
        let mut config = Config::default();
        (config.road.cell_radius_m, config.cell.max_power_dbm) = (radius_m, max_power_dbm);
        let system = config.validate().unwrap();
        let listening = Listening::default();
        let law = pretrain_law(&system, 6e-6, &settings, 1, &mut Session::new(&listening));
        let error = law.as_ref().map(|law| measure_law(&system, 6e-6, law, &settings, 9).unwrap());
        (error.map_err(ToString::to_string), listening.0.into_inner().unwrap().concat())
    };
    let (error, said) = in_cell(250.0, 43.0);
    assert!(error.is_ok() && said.is_empty(), "{said}");
    let (error, said) = in_cell(500.0, 43.0);
    assert!(error.unwrap().mean.is_finite());
    assert!(said.contains("of 4000 users and sizes are left out"), "{said}");
    let (error, _) = in_cell(1000.0, 30.0);
    assert!(error.unwrap_err().contains("equal power cannot serve most users"));
}

/// Tests the main result: a policy trained at 10 users serves 1 to 200 users with a few percent more bandwidth than
/// the optimum.
#[test]
fn trained_at_ten_users_it_serves_any() {
    let system = paper();
    let policy = train(&p_gnn(1));
    let test = TestSet::draw(&system, &[1, 2, 5, 10, 50, 100, 200], 20, 4242).unwrap();
    for result in test.evaluate(&policy.allocator(), &Silent).unwrap() {
        assert!(result.availability > 0.98, "{result:?}");
        assert!((0.0..9.0).contains(&result.gap_percent), "{result:?}");
    }
    assert!(policy.record().metrics.availability > 0.995);
}

/// Tests that the size law is missing without the outer function: the paper's M-GNN trained at 10 users.
#[test]
fn without_the_outer_function_it_does_not_generalize() {
    let policy = train(&m_gnn(30_000));
    let test = TestSet::draw(&paper(), &[10, 50, 200], 20, 4242).unwrap();
    let results = test.evaluate(&policy.allocator(), &Silent).unwrap();
    assert!(results[0].availability > 0.98, "{results:?}");
    assert!(results[1].availability < 0.05 && results[2].availability < 0.01, "{results:?}");
}

#[test]
fn every_aggregator_and_a_set_of_sizes_can_be_trained() {
    let system = paper();
    for aggregator in Aggregator::ALL {
        let recipe = Recipe { steps: Some(300), ..Recipe::fast(10) };
        let settings = TrainSettings { aggregator, train_k: vec![4, 9], recipe, ..p_gnn(1) };
        let policy = train(&settings);
        let test = TestSet::draw(&system, &[7], 3, 1).unwrap();
        let result = test.evaluate(&policy.allocator(), &Silent).unwrap()[0];
        assert!(result.total_bandwidth_mhz.is_finite() && result.total_bandwidth_mhz > 0.0);
    }
}

#[test]
fn fully_connected_networks_train_and_refuse_larger_cells() {
    let recipe = Recipe { steps: Some(400), ..Recipe::fast_fnn() };
    let settings = TrainSettings {
        method: Method::Fnn,
        train_k: vec![20],
        samples: 1000,
        hidden: vec![40],
        epsilon_d: 4e-6,
        recipe,
        ..p_gnn(1)
    };
    let policy = train(&settings);
    let system = paper();
    let test = TestSet::draw(&system, &[20], 20, 1).unwrap();
    let result = test.evaluate(&policy.allocator(), &Silent).unwrap()[0];
    assert!(result.gap_percent.abs() < 30.0, "{result:?}");
    let (mut allocator, mut allocation) = (policy.allocator(), UrllcAllocation::default());
    assert_eq!(allocator.serve(&[1e-10; 3], &mut allocation), Ok(()));
    let too_large = Err(ModelError::TooLarge { size: 21, most: 20 });
    assert_eq!(allocator.serve(&[1e-10; 21], &mut allocation), too_large);
    let large = TestSet::draw(&system, &[21], 1, 1).unwrap();
    let error = large.evaluate(&allocator, &Silent).unwrap_err();
    assert!(matches!(&error, Error::Model(why) if Err(why.clone()) == too_large), "{error}");
    // The general interface reports the same error.
    let cell = Urllc::uniform(&system, [1e-10; 21]).unwrap();
    let instance = Instance::of(&UrllcProblem::in_cell(&system), 21, cell);
    let error = instance.allocate(&mut allocator, &mut Allocation::default()).unwrap_err();
    assert!(matches!(&error, Error::Model(why) if Err(why.clone()) == too_large), "{error}");
}

#[test]
fn divergence_is_an_error_never_a_model() {
    let recipe = Recipe { rate: Schedule::Cosine { rate: 1e6, last: 1e6 }, ..Recipe::fast(10) };
    let settings = TrainSettings { recipe, ..m_gnn(1000) };
    let pretraining = (&small_pretraining(), None);
    let session = &mut Session::new(&Silent);
    let error = train_urllc(&paper(), &settings, pretraining, session).unwrap_err();
    assert!(matches!(error, TrainError::Diverged { attempts: 5, .. }), "{error}");
}

#[test]
fn settings_are_checked() {
    let system = paper();
    for settings in [
        TrainSettings { train_k: vec![], ..m_gnn(1) },
        TrainSettings { train_k: vec![0], ..m_gnn(1) },
        TrainSettings { samples: 0, ..m_gnn(1) },
        TrainSettings { hidden: vec![], ..m_gnn(1) },
        TrainSettings { epsilon_d: f64::NAN, ..m_gnn(1) },
        TrainSettings { recipe: Recipe { batch: 0, ..Recipe::paper() }, ..m_gnn(1) },
        TrainSettings { recipe: Recipe { draws: 2, ..Recipe::paper() }, ..m_gnn(1) },
    ] {
        assert!(Algorithm1::new(&system, &settings, None).is_err());
    }
    assert!(Algorithm1::new(&system, &p_gnn(1), None).is_err(), "p-gnn needs its law");
    let session = &mut Session::new(&Silent);
    assert!(law_for(&system, &m_gnn(1), &small_pretraining(), session).unwrap().is_none());
}

/// Tests that the same seed gives the same bytes for any number of threads, and that another seed gives another
/// model.
#[test]
fn training_is_deterministic() {
    let settings = p_gnn(3);
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let bytes = |threads: usize, settings: &TrainSettings| {
        pool(threads).install(|| train(settings).to_bytes().unwrap())
    };
    let one = bytes(1, &settings);
    assert_eq!(one, bytes(4, &settings));
    assert_ne!(one, bytes(1, &p_gnn(4)));
}

#[test]
fn a_model_survives_its_file() {
    let policy = train(&TrainSettings {
        recipe: Recipe { steps: Some(500), ..Recipe::fast(10) },
        ..p_gnn(1)
    });
    let bytes = policy.to_bytes().unwrap();
    let read = LearnedPolicy::from_bytes(&bytes).unwrap();
    assert_eq!(read.record(), policy.record());
    assert_eq!(read.to_bytes().unwrap(), bytes);
}

/// Tests that every truncation and every flipped bit is rejected, so that a damaged model never allocates.
#[test]
fn damaged_models_are_refused() {
    let bytes = train(&m_gnn(10)).to_bytes().unwrap();
    for length in 0..bytes.len() {
        assert!(LearnedPolicy::from_bytes(&bytes[..length]).is_err(), "cut at {length}");
    }
    for bit in 0..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(LearnedPolicy::from_bytes(&damaged).is_err(), "bit {bit} of byte {}", bit / 8);
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(LearnedPolicy::from_bytes(&longer).is_err());
    for foreign in [&b""[..], b"{}", b"PK\x03\x04", &[0xff; 64]] {
        assert!(matches!(LearnedPolicy::from_bytes(foreign), Err(ModelError::Format(_))));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Tests that the vectorized allocation equals the plain one, and that permuting users permutes it.
    #[test]
    fn allocation_is_fast_and_equivariant(
        distances in prop::collection::vec(50.0f64..250.0, 1..70), seed in any::<u64>(),
    ) {
        use rand::{SeedableRng, seq::SliceRandom};
        static POLICIES: OnceLock<Vec<LearnedPolicy>> = OnceLock::new();
        let policies = POLICIES.get_or_init(|| {
            let recipe = Recipe { steps: Some(2000), ..Recipe::fast(10) };
            let p_gnn = TrainSettings { recipe, ..p_gnn(1) };
            let sum = TrainSettings { aggregator: Aggregator::Sum, ..p_gnn.clone() };
            let max = TrainSettings { aggregator: Aggregator::Max, samples: 50, ..m_gnn(100) };
            vec![train(&p_gnn), train(&sum), train(&m_gnn(2000)), train(&max)]
        });
        let system = paper();
        let gains: Vec<f64> = distances.iter().map(|&d| system.path_loss().gain(d)).collect();
        let mut order: Vec<usize> = (0..gains.len()).collect();
        order.shuffle(&mut rand_chacha::ChaCha8Rng::seed_from_u64(seed));
        let shuffled: Vec<f64> = order.iter().map(|&user| gains[user]).collect();
        for policy in policies {
            let mut allocator = policy.allocator();
            let (mut fast, mut plain) = (UrllcAllocation::default(), UrllcAllocation::default());
            allocator.serve(&gains, &mut fast).unwrap();
            allocator.serve_plainly(&gains, &mut plain).unwrap();
            let close = |a: f64, b: f64, tolerance: f64| (a / b - 1.0).abs() < tolerance;
            prop_assert!(close(fast.total_power_w(), system.max_power_w(), 1e-12));
            for user in 0..gains.len() {
                prop_assert!(close(fast.power_w[user], plain.power_w[user], 1e-5));
                prop_assert!(close(fast.bandwidth_hz[user], plain.bandwidth_hz[user], 1e-5));
            }
            let mut permuted = UrllcAllocation::default();
            allocator.serve(&shuffled, &mut permuted).unwrap();
            for (position, &user) in order.iter().enumerate() {
                prop_assert!(close(permuted.power_w[position], fast.power_w[user], 1e-5));
                prop_assert!(close(permuted.bandwidth_hz[position], fast.bandwidth_hz[user], 1e-5));
            }
            // After a cell of another size, the answer has the same bits.
            allocator.serve(&[gains[0]; 80], &mut permuted).unwrap();
            allocator.serve(&gains, &mut permuted).unwrap();
            prop_assert_eq!(&permuted, &fast);
        }
    }
}
