//! Fading that is known only by samples: the price policy with a bandwidth that is learned from them.

#![allow(clippy::unwrap_used)]

use anyk::Config;
use anyk::channel::{FadingLaw, FadingSamples, sample_distances_m};
use anyk::framework::{CalibrationSettings, Guarantee, PretrainLoss, Session, Silent, Stored};
use anyk::problems::urllc::{CellPolicy, PricePolicy, Unserved};
use anyk::problems::urllc::{
    Judge, TestSet, calibrate, draw_fading, train_sampled_policy, true_bandwidth,
};
use anyk::problems::urllc::{PriceSettings, SampledSettings, learn_bandwidth};
use anyk::problems::urllc::{Urllc, UrllcAllocation};
use anyk::qos::RequiredBandwidth;
use anyk::qos::ServiceClass;
use approx::assert_relative_eq;

fn draw(law: &FadingLaw, count: usize, seed: u64) -> Vec<f64> {
    draw_fading(&Config::default().validate().unwrap(), law, count, seed)
}

/// Trains the price policy from samples in the paper's cell.
fn train(samples: &FadingSamples, loss: PretrainLoss, deviations: f64) -> PricePolicy {
    let system = Config::default().validate().unwrap();
    let learning = SampledSettings::new(loss, 1);
    let settings = PriceSettings::preset(1);
    let session = &mut Session::new(&Silent);
    train_sampled_policy(&system, samples, &learning, &settings, deviations, session).unwrap()
}

/// Tests that the learned bandwidth is close to the true one, with and without labels, and that it reports its error.
#[test]
fn bandwidth_is_learned_from_samples() {
    let system = Config::default().validate().unwrap();
    let places = [2e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9];
    for law in [FadingLaw::Rayleigh, FadingLaw::Mixture { share: 0.1, loss_db: 10.0 }] {
        let truth = true_bandwidth(&system, &law).unwrap();
        let samples = FadingSamples::new(draw(&law, 2000, 21)).unwrap();
        let empirical = system.qos(system.service()).unwrap().with_fading(samples.rule());
        let labels = RequiredBandwidth::new(empirical);
        for loss in [PretrainLoss::Supervised, PretrainLoss::Unsupervised] {
            let policy = train(&samples, loss, 4.0);
            let bandwidth = policy.bandwidth().unwrap();
            for u in places {
                let learned = bandwidth.law.at(u).0;
                // The network follows the empirical root …
                let fit = learned / labels.at(u).unwrap().bandwidth_hz - 1.0;
                assert!(fit.abs() < 7e-3, "{law}, {loss:?}, {u}: {fit}");
                // … reports its shortfall where it is below the root …
                let shortfall = bandwidth.errors_at(u).1;
                assert!((shortfall - (-fit).max(0.0)).abs() < 3e-4, "{fit} {shortfall}");
                // … and the root is within five standard errors of the truth, plus the error of the network.
                let error = bandwidth.errors_at(u).0;
                let off = learned / truth.at(u).unwrap().bandwidth_hz - 1.0;
                assert!(off.abs() < 5.0 * error + 3e-3, "{law}, {loss:?}, {u}: {off} {error}");
            }
            // At any size the whole budget is used, and every allocation is finite.
            for size in [1, 3, 400] {
                let distances = sample_distances_m(&system.road(), 5, size, 0);
                let gains = distances.iter().map(|&d| system.path_loss().gain(d));
                let problem = Urllc::uniform(&system, gains).unwrap();
                let mut allocation = UrllcAllocation::default();
                policy.allocator().serve(&problem, &mut allocation).unwrap();
                assert_relative_eq!(
                    allocation.total_power_w(),
                    system.max_power_w(),
                    max_relative = 1e-12
                );
                let numbers = allocation.power_w.iter().chain(&allocation.bandwidth_hz);
                assert!(numbers.into_iter().all(|&value| value > 0.0 && value.is_finite()));
            }
        }
    }
}

/// Tests that the standard error computed from the samples equals the spread over repeated draws.
#[test]
fn standard_errors_are_honest() {
    let system = Config::default().validate().unwrap();
    let (law, u) = (FadingLaw::Shadowed { sigma_db: 4.0 }, 1e-12);
    let truth = true_bandwidth(&system, &law).unwrap().at(u).unwrap().bandwidth_hz;
    let qos = system.qos(system.service()).unwrap();
    let runs = 60;
    let mut offs = Vec::new();
    let mut claimed = 0.0;
    for seed in 0..runs {
        let samples = FadingSamples::new(draw(&law, 1000, 300 + seed)).unwrap();
        let labels = RequiredBandwidth::new(qos.with_fading(samples.compressed_rule()));
        offs.push(labels.at(u).unwrap().bandwidth_hz / truth - 1.0);
        if seed == 0 {
            let settings = SampledSettings::new(PretrainLoss::Supervised, 1);
            let session = &mut Session::new(&Silent);
            let learned = learn_bandwidth(&system, &qos, &samples, &settings, session).unwrap();
            claimed = learned.errors_at(u).0;
        }
    }
    let count = runs as f64;
    let mean = offs.iter().sum::<f64>() / count;
    let spread = (offs.iter().map(|off| (off - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
    assert!((claimed / spread - 1.0).abs() < 0.4, "{claimed} {spread}");
    assert!(mean.abs() < 4.0 * spread / count.sqrt() + 1e-3, "{mean} {spread}");
}

/// Tests that, under the distribution of the samples, powers and bandwidths are those of the optimum at any size,
/// except for the error of the samples.
#[test]
fn powers_are_optimal_for_the_learned_bandwidth() {
    let system = Config::default().validate().unwrap();
    let law = FadingLaw::Shadowed { sigma_db: 4.0 };
    let samples = FadingSamples::new(draw(&law, 500, 3)).unwrap();
    let policy = train(&samples, PretrainLoss::Supervised, 0.0);
    let rule = samples.compressed_rule();
    let sizes = [1, 10, 100, 1000];
    let set = TestSet::draw_under(&system, Some(&rule), &sizes, 5, 99, &Silent).unwrap();
    for size in set.evaluate(&policy.allocator(), &Silent).unwrap() {
        assert!(size.gap_percent.abs() < 0.1, "{size:?}");
    }
}

/// Tests that a learned bandwidth is valid only for the class, the noise and the frame of its training, while powers
/// and roads may change. If the power is too small for the learned range, the cell is rejected with the users to
/// drop.
#[test]
fn what_was_not_learned_is_refused() {
    let system = Config::default().validate().unwrap();
    let samples = FadingSamples::new(draw(&FadingLaw::Rayleigh, 500, 4)).unwrap();
    let policy = train(&samples, PretrainLoss::Supervised, 4.0);
    let usual = system.service();
    let gain = system.path_loss().gain(100.0);
    let mut allocation = UrllcAllocation::default();
    let mut allocator = policy.allocator();
    let strict = ServiceClass { epsilon: 1e-7, ..usual };
    let mixed = Urllc::new(&system, [(gain, usual), (gain, strict)]).unwrap();
    let refused = allocator.serve(&mixed, &mut allocation);
    let Err(Unserved::Unfit(why)) = refused else { panic!("{refused:?}") };
    assert_eq!(why.field, "epsilon");
    let mut noisy = Config::default();
    noisy.cell.noise_density_dbm_hz += 3.0;
    let noisy = Urllc::uniform(&noisy.validate().unwrap(), [gain]).unwrap();
    assert!(matches!(allocator.serve(&noisy, &mut allocation), Err(Unserved::Unfit(_))));
    let two = Urllc::uniform(&system, [gain, 1e-20 * gain]).unwrap();
    let Err(Unserved::Infeasible(why)) = allocator.serve(&two, &mut allocation) else {
        unreachable!("nobody is that strong")
    };
    assert_eq!((why.admissible, why.dropped), (vec![0], vec![1]));
    let rich = Urllc::uniform(&system, [gain; 3]).unwrap().with_max_power_w(1e6).unwrap();
    allocator.serve(&rich, &mut allocation).unwrap();
    assert!(allocation.bandwidth_hz.iter().all(|&hz| hz > 0.0 && hz.is_finite()));
    assert!(!allocator.out_of_range(&rich).is_empty());
}

#[test]
fn models_round_trip_and_damaged_ones_are_refused() {
    let samples = FadingSamples::new(draw(&FadingLaw::Rayleigh, 500, 5)).unwrap();
    let policy = train(&samples, PretrainLoss::Supervised, 2.5);
    let bytes = policy.to_bytes().unwrap();
    let read = PricePolicy::from_bytes(&bytes).unwrap();
    assert_eq!(read.record(), policy.record());
    assert_eq!(read.bandwidth(), policy.bandwidth());
    assert_eq!(read.to_bytes().unwrap(), bytes);
    for byte in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[byte] ^= 1 << (byte % 8);
        assert!(PricePolicy::from_bytes(&damaged).is_err(), "byte {byte}");
    }
    // Parts that do not belong together.
    let record = policy.record().clone();
    let parameters = policy.parameters().to_vec();
    assert!(PricePolicy::new(record.clone(), parameters.clone(), None).is_err());
    let mut crooked = policy.bandwidth().unwrap().clone();
    crooked.errors[3].standard_error = f64::NAN;
    assert!(PricePolicy::new(record, parameters, Some(crooked)).is_err());
}

/// Tests that a calibration multiplies a learned bandwidth by the smallest factor for which the guarantee holds under
/// the judge's distribution.
#[test]
fn a_learned_bandwidth_is_calibrated() {
    let system = Config::default().validate().unwrap();
    let law = FadingLaw::Rayleigh;
    let samples = FadingSamples::new(draw(&law, 500, 6)).unwrap();
    let policy = train(&samples, PretrainLoss::Supervised, 0.0);
    let judge = Judge { name: law.to_string(), rule: system.fading_rule(&law) };
    let settings = CalibrationSettings {
        k: vec![200],
        cells: 299,
        beta: 0.01,
        delta: 0.05,
        seed: 3,
        shrink: true,
    };
    // The model contains no distribution that the judge could use.
    let error = calibrate(&policy, None, &settings).unwrap_err();
    assert_eq!(error.invalid().unwrap().field, "fading");
    let calibrated = calibrate(&policy, Some(&judge), &settings).unwrap();
    let guarantee = calibrated.record().guarantee.clone().unwrap();
    assert_eq!(guarantee.fading.as_deref(), Some("rayleigh"));
    assert!((0.9..1.1).contains(&guarantee.margin), "{guarantee:?}");
    let set = TestSet::draw_under(&system, Some(&judge.rule), &[200], 10, 77, &Silent).unwrap();
    assert!(set.evaluate(&calibrated.allocator(), &Silent).unwrap()[0].availability > 0.97);
    let less = Guarantee { margin: 0.99 * guarantee.margin, ..guarantee };
    let short = policy.with_guarantee(less).unwrap();
    assert!(set.evaluate(&short.allocator(), &Silent).unwrap()[0].availability < 0.5);
    // Other standard errors give another policy.
    assert!(calibrated.with_deviations(1.0).unwrap().record().guarantee.is_none());
}
