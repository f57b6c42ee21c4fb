//! The paper's figures and propositions on small counts: rates, closed forms, and no dependence on the
//! number of threads.

#![allow(clippy::unwrap_used)]

use anyk::Config;
use anyk::math::Input;
use anyk::network::{Activation, Aggregator};
use anyk_study::{
    EquivariantPolicy, ExactPower, Family, GainBin, SizeLaw, asymptotic_forms, decoupling,
    full_power, largest_size, power_spread, size_law,
};

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

#[test]
fn simulated_power_is_the_integrated_one() {
    let sizes = [2, 10, 60];
    let measure = || power_spread(&sizes, 20_000, 5, || ());
    let rows = on_threads(1, measure);
    assert_eq!(rows, on_threads(3, measure));
    let exact = ExactPower::new(1);
    for row in rows {
        let (mean, deviation) = exact.in_window(row.k as f64);
        // Users of one realization share their sum, so that the error is larger than that of
        // independent ones.
        let error = row.power.standard_error() * 2.0;
        assert!((row.power.mean - mean).abs() < 4.0 * error, "{row:?} {mean}");
        assert!((row.power.deviation() / deviation - 1.0).abs() < 0.05, "{row:?} {deviation}");
    }
}

/// Two users of gain 1 and g: the share is g/(1 + g), and E[g/(1+g)] = 1 − e·E₁(1) for g exponential.
#[test]
fn integrated_power_against_the_exponential_integral() {
    let (mean, _) = ExactPower::new(1).given(2.0, 1.0);
    // e·E₁(1), Abramowitz and Stegun, table 5.1.
    assert!((mean - (1.0 - 0.596_347_362_323_194)).abs() < 1e-10, "{mean}");
    // Eight antennas: E(1/g) = 1/7, so that K·g_k·P_k tends to 7.
    let (mean, deviation) = ExactPower::new(8).given(1e6, 1.0);
    assert!((1e6 * mean / 7.0 - 1.0).abs() < 1e-5, "{mean}");
    assert!(deviation < 1e-3 * mean);
}

fn law(aggregator: Aggregator, input: Input) -> SizeLaw {
    let (hidden, output) = (Activation::LeakyRelu, Activation::Identity);
    let family = Family { aggregator, hidden, output, input };
    size_law(family, &[4, 16, 32, 64, 128], (9, 400), 11, || ())
}

#[test]
fn mean_networks_settle_and_sum_and_max_do_not() {
    let mean = on_threads(1, || law(Aggregator::Mean, Input::Gaussian));
    assert_eq!(mean, on_threads(3, || law(Aggregator::Mean, Input::Gaussian)));
    let rates =
        |law: &SizeLaw| (law.movement_exponent.unwrap().value, law.spread_exponent.unwrap().value);
    let (movement, spread) = rates(&mean);
    assert!((movement + 1.0).abs() < 0.4 && (spread + 0.5).abs() < 0.1, "{mean:?}");

    let sum = law(Aggregator::Sum, Input::Gaussian);
    let (movement, spread) = rates(&sum);
    assert!(movement > 0.5 && spread > 0.3, "{sum:?}");

    // Unbounded inputs: no end of the movement, nor of the spread. Bounded ones: both vanish.
    let unbounded = law(Aggregator::Max, Input::Exponential);
    let (movement, spread) = rates(&unbounded);
    assert!(movement.abs() < 0.25 && spread.abs() < 0.25, "{unbounded:?}");
    let bounded = law(Aggregator::Max, Input::Uniform);
    let (movement, spread) = rates(&bounded);
    assert!((movement + 1.0).abs() < 0.3 && (spread + 1.0).abs() < 0.3, "{bounded:?}");
}

#[test]
fn full_power_is_a_probability_and_rises_with_the_own_gain() {
    let measure = || full_power(20, 300, 7, || ()).unwrap();
    let measured = on_threads(1, measure);
    assert_eq!(measured, on_threads(3, measure));
    assert!((0.0..=1.0).contains(&measured.full.mean) && measured.binary.mean > 0.95);
    let probability = |gain: f64| {
        let index = (0..measured.bins.len()).find(|&i| (GainBin::gain(i) - gain).abs() < 1e-9);
        measured.bins[index.unwrap()].probability().unwrap()
    };
    assert!(probability(1.0) < 0.2 && probability(3.0) > 0.5);
    let links: u64 = measured.bins.iter().map(|bin| bin.links).sum();
    // The bins cover gains from 0.1 to 4.1.
    let expected = 300.0 * 20.0 * ((-0.1f64).exp() - (-4.1f64).exp());
    assert!((links as f64 / expected - 1.0).abs() < 0.03, "{links}");
    assert_eq!(full_power(20, 0, 7, || ()).unwrap().bins[0].probability(), None);
}

#[test]
fn policies_decouple_at_their_rates() {
    let sizes = [16, 64, 256, 1024];
    let rate = |policy| decoupling(policy, &sizes, 2000, 9).relative_exponent.unwrap().value;
    assert!((rate(EquivariantPolicy::Power { antennas: 8 }) + 0.5).abs() < 0.05);
    let rayleigh = rate(EquivariantPolicy::Power { antennas: 1 });
    assert!((-0.2..0.0).contains(&rayleigh), "{rayleigh}");
    let spread = |policy| decoupling(policy, &sizes, 2000, 9).exponent.unwrap().value;
    // The largest of exponentials keeps the spread of a Gumbel variable, π/√6.
    assert!(spread(EquivariantPolicy::Largest).abs() < 0.05);
    assert!(spread(EquivariantPolicy::Fluctuation).abs() < 0.05);
}

#[test]
fn asymptotic_forms_are_approached_until_no_bandwidth_serves_so_many() {
    let system = Config::default().validate().unwrap();
    let most = largest_size(&system, 1e6).unwrap();
    assert!((1e3..1e5).contains(&most), "{most}");
    let measure = || asymptotic_forms(&system, 1e6, &[4, 64, 1024, 100_000], (100, 2)).unwrap();
    let forms = on_threads(1, measure);
    assert_eq!(forms, on_threads(3, measure));
    let off = forms[..3].iter().map(|form| {
        let power = (form.power_ratio.mean - 1.0).abs();
        power.max((form.bandwidth_hz.mean / form.asymptotic_hz.unwrap() - 1.0).abs())
    });
    let off: Vec<f64> = off.collect();
    assert!(off[1] < 0.1 && off[2] < 0.01 && off[0] > off[1], "{off:?}");
    assert!(forms[3].asymptotic_hz.is_none() && forms[3].bandwidth_hz.count == 0);
    assert!(asymptotic_forms(&system, f64::NAN, &[2], (1, 1)).is_err());
}
