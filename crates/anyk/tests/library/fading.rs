//! Fading distributions other than the paper's: quadrature, samplers, and empirical distributions.

#![allow(clippy::unwrap_used)]

use anyk::Config;
use anyk::channel::{FadingLaw, FadingSamples};
use anyk::math::realization_rng;
use approx::assert_relative_eq;

fn laws() -> Vec<FadingLaw> {
    let more = [
        "nakagami:m=0.5",
        "rician:k=0",
        "rician:k=50",
        "shadowed:sigma_db=0.1",
        "mixture:share=0.5,loss_db=40",
    ];
    FadingLaw::SHOWN.into_iter().chain(more.map(|name| name.parse().unwrap())).collect()
}

fn draw(law: &FadingLaw, antennas: u32, count: usize, seed: u64) -> Vec<f64> {
    let mut rng = realization_rng(seed, 1, 0);
    (0..count).map(|_| law.sample(antennas, &mut rng)).collect()
}

/// Tests that the mean, the variance and `E[(1 + xg)^(−c)]` of samples agree with the quadrature within five standard
/// errors.
#[test]
fn samplers_agree_with_the_quadrature() {
    let functions: [fn(f64) -> f64; 4] =
        [|g| g, |g| g * g, |g| (1.0 + 100.0 * g).powf(-0.2), |g| (-g).exp()];
    for law in laws() {
        for antennas in [1, 8] {
            let samples = draw(&law, antennas, 40_000, 3);
            let rule = law.quadrature(antennas, 20.0);
            for (index, f) in functions.iter().enumerate() {
                let (mean, square) = (rule.expectation(f), rule.expectation(|g| f(g) * f(g)));
                let error = ((square - mean * mean).max(0.0) / samples.len() as f64).sqrt();
                let found = samples.iter().map(|&g| f(g)).sum::<f64>() / samples.len() as f64;
                assert!(
                    (found - mean).abs() < 5.0 * error + 1e-12,
                    "{law}, {antennas} antennas, {index}: {found} {mean} {error}"
                );
            }
        }
    }
}

/// Tests that every mean is `N_t` and that the variances are the closed forms of each distribution.
#[test]
fn moments_are_those_of_the_laws() {
    for law in laws() {
        for antennas in [1, 2, 8, 64] {
            let n = f64::from(antennas);
            let rule = law.quadrature(antennas, 20.0);
            assert_relative_eq!(rule.expectation(|g| g), n, max_relative = 1e-11);
            let square = match law {
                FadingLaw::Rayleigh => n * (n + 1.0),
                FadingLaw::Nakagami { m } => n * (n + 1.0 / m),
                FadingLaw::Rician { k } => n * n + n * (1.0 + 2.0 * k) / (1.0 + k).powi(2),
                FadingLaw::Shadowed { sigma_db } => {
                    let sigma = sigma_db * std::f64::consts::LN_10 / 10.0;
                    n * (n + 1.0) * (sigma * sigma).exp()
                }
                FadingLaw::Mixture { share, loss_db } => {
                    let blocked = 10f64.powf(-loss_db / 10.0);
                    let mean = 1.0 - share + share * blocked;
                    n * (n + 1.0) * (1.0 - share + share * blocked * blocked) / (mean * mean)
                }
            };
            assert_relative_eq!(rule.expectation(|g| g * g), square, max_relative = 1e-10);
        }
    }
}

/// Compares with an independent rule: the midpoint rule on the textbook densities (its own error is 2e-8), in
/// variables other than `ln g`.
#[test]
fn quadrature_agrees_with_a_fine_rule() {
    let f = |g: f64| (1.0 + 300.0 * g).powf(-0.3);
    let midpoint = |low: f64, high: f64, density: &dyn Fn(f64) -> f64| {
        let count = 200_000;
        let width = (high - low) / f64::from(count);
        (0..count).map(|i| density(low + (f64::from(i) + 0.5) * width)).sum::<f64>() * width
    };
    // Two antennas: the density of Gamma(2, 1) is g e^(−g).
    let erlang = |g: f64| g * (-g).exp();
    let plain = |scale: f64| midpoint(0.0, 60.0, &|g| erlang(g) * f(scale * g));
    let rule = |name: &str| name.parse::<FadingLaw>().unwrap().quadrature(2, 20.0).expectation(f);
    assert_relative_eq!(rule("rayleigh"), plain(1.0), max_relative = 1e-7);
    let mean = 0.9 + 0.1 * 0.1;
    let mixture = 0.9 * plain(1.0 / mean) + 0.1 * plain(0.1 / mean);
    assert_relative_eq!(rule("mixture:share=0.1,loss_db=10"), mixture, max_relative = 1e-7);
    let nakagami = midpoint(0.0, 60.0, &|g| g.powi(3) * (-g).exp() / 6.0 * f(g / 2.0));
    assert_relative_eq!(rule("nakagami:m=2"), nakagami, max_relative = 1e-7);
    // Rician, two antennas: g·4·Σ over the series of the Bessel function in the density.
    let rician = midpoint(0.0, 30.0, &|g| {
        let (shape, rate, sight) = (2.0, 4.0, 6.0);
        let y: f64 = rate * g;
        // e^(−y−s)·(y/s)^((N−1)/2)·I_{N−1}(2√(sy)), with the Bessel function as a series.
        let mut term = y.powf(shape - 1.0) * (-y - sight).exp();
        let mut sum = 0.0;
        for j in 0..400 {
            sum += term;
            let j = f64::from(j);
            term *= y * sight / ((j + 1.0) * (j + shape));
        }
        rate * sum * f(g)
    });
    assert_relative_eq!(rule("rician:k=3"), rician, max_relative = 1e-7);
}

#[test]
fn names_come_back_and_nonsense_does_not() {
    for law in laws() {
        assert_eq!(law.to_string().parse::<FadingLaw>().unwrap(), law);
    }
    for text in [
        "",
        "gauss",
        "nakagami",
        "nakagami:m=0",
        "nakagami:m=NaN",
        "rician:k=3,k=4",
        "rician:k=-1",
        "shadowed:sigma_db=99",
        "mixture:share=0.1",
        "rayleigh:m=2",
        "nakagami:m=2,x",
    ] {
        let error = text.parse::<FadingLaw>().unwrap_err().to_string();
        assert!(error.contains("nakagami:m=2"), "{error}");
    }
}

/// Tests that the empirical QoS is the mean over the samples, and that its compressed form is as accurate.
#[test]
fn empirical_qos_equals_brute_force() {
    let system = Config::default().validate().unwrap();
    let known = system.qos(system.service()).unwrap();
    for (seed, law) in FadingLaw::SHOWN.iter().enumerate() {
        let gains = draw(law, 8, 700, 11 + seed as u64);
        let samples = FadingSamples::new(gains.clone()).unwrap();
        let qos = known.with_fading(samples.rule());
        let compressed = known.with_fading(samples.compressed_rule());
        for (received_w, bandwidth_hz) in [(1e-14, 7e5), (1e-12, 2e5), (1e-10, 1.2e5)] {
            let terms =
                gains.iter().map(|&g| (-qos.theta() * qos.rate(received_w, bandwidth_hz, g)).exp());
            let mean = terms.sum::<f64>() / gains.len() as f64;
            let residual = -mean.ln() / qos.theta() - qos.effective_bandwidth();
            let found = qos.residual(received_w, bandwidth_hz);
            assert!((found - residual).abs() < 1e-12, "{law}: {found} {residual}");
            let close = compressed.residual(received_w, bandwidth_hz);
            assert!((close - residual).abs() < 1e-7, "{law}: {close} {residual}");
        }
    }
}

#[test]
fn hostile_samples_are_refused() {
    let good = vec![1.0; 500];
    assert!(FadingSamples::new(good.clone()).is_ok());
    for bad in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e-300] {
        let mut samples = good.clone();
        samples[17] = bad;
        let error = FadingSamples::new(samples).unwrap_err().to_string();
        assert!(error.starts_with("sample 17 is "), "{error}");
    }
    assert!(FadingSamples::new(vec![]).unwrap_err().to_string().contains("at least 500"));
    // Equal samples are valid: a channel without fading.
    let flat = FadingSamples::new(good).unwrap();
    assert_relative_eq!(flat.compressed_rule().expectation(|g| g), 1.0, max_relative = 1e-12);
}
