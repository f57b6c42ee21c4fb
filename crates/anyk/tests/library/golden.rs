//! Reference values. Unless stated otherwise, they come from an independent computation in f64 with 64-point
//! generalized Gauss–Laguerre quadrature (the project's shared reference).

// Clippy's exception for tests does not cover helpers of integration tests.
#![allow(clippy::unwrap_used)]

use anyk::framework::Silent;
use anyk::problems::urllc::Urllc;
use anyk::problems::urllc::UrllcSolver;
use anyk::problems::urllc::optimum_over_sizes;
use anyk::qos::ServiceClass;
use anyk::qos::{BandwidthTable, RequiredBandwidth};
use anyk::{Config, System};
use approx::assert_relative_eq;

fn paper() -> System {
    Config::default().validate().unwrap()
}

/// Values of b(u) in Hz for ε and u = 1e-14, 1e-13, …, 1e-10 W.
const REQUIRED_BANDWIDTH: [(f64, [f64; 5]); 4] = [
    (1e-5, [667_516.086_4, 311_718.207_7, 209_480.703_7, 159_004.385_5, 128_531.257_6]),
    (8e-6, [680_602.872, 316_259.049, 212_280.710, 161_040.335, 130_134.073]),
    (6e-6, [697_649.006, 322_115.325, 215_885.268, 163_659.319, 132_195.033]),
    (5e-6, [708_555.641, 325_828.152, 218_166.719, 165_315.830, 133_498.102]),
];

#[test]
fn required_bandwidth() {
    let system = paper();
    for (epsilon, expected) in REQUIRED_BANDWIDTH {
        let service = ServiceClass { epsilon, ..ServiceClass::default() };
        let table = BandwidthTable::new(system.qos(service).unwrap());
        for (exponent, expected_hz) in (-14..=-10).zip(expected) {
            let received_w = 10f64.powi(exponent);
            let exact = table.exact().at(received_w).unwrap().bandwidth_hz;
            assert_relative_eq!(exact, expected_hz, max_relative = 1e-8);
            let tabulated = table.at(received_w).unwrap().bandwidth_hz;
            assert_relative_eq!(tabulated, expected_hz, max_relative = 1e-8);
        }
    }
}

#[test]
fn smallest_feasible_received_power() {
    let system = paper();
    let required = RequiredBandwidth::new(system.qos(system.service()).unwrap());
    let least = required.min_received_w();
    assert_relative_eq!(least, 3.0e-15, max_relative = 0.01);
    let error = required.at(0.999 * least).unwrap_err();
    assert!(error.to_string().contains("no bandwidth meets the QoS"), "{error}");
    assert!(required.at(1.001 * least).is_ok());
    for nonsense in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(required.at(nonsense).is_err(), "{nonsense}");
    }
}

#[test]
fn five_user_optimum() {
    let system = paper();
    let gains = [60.0, 90.0, 120.0, 180.0, 240.0].map(|d| system.path_loss().gain(d));
    let problem = Urllc::uniform(&system, gains).unwrap();
    let solution = UrllcSolver::default().solve(&problem);
    assert!(solution.outcome.is_optimal());
    let powers = [2.451_935, 3.072_302, 3.660_303, 4.806_896, 5.961_188];
    let bandwidths = [124_416.2, 138_888.4, 151_229.2, 172_544.9, 191_371.5];
    for (power_w, expected) in solution.allocation.power_w.iter().zip(powers) {
        assert_relative_eq!(*power_w, expected, max_relative = 1e-6);
    }
    for (bandwidth_hz, expected) in solution.allocation.bandwidth_hz.iter().zip(bandwidths) {
        assert_relative_eq!(*bandwidth_hz, expected, max_relative = 1e-6);
    }
    let total = solution.allocation.total_bandwidth_hz();
    assert_relative_eq!(total, 778_450.15, max_relative = 1e-8);
}

/// Tests the mean optimum and equal power over random cells. The columns are K, W* in MHz, its standard error, and
/// equal power with exact b. The means are compared within three standard errors of the difference. The reference is
/// printed with four to five digits, so half of the last digit is allowed in addition.
#[test]
fn mean_optimum_at_each_size() {
    let golden = [
        (1, 0.1334, 0.0001, 0.1334, 5e-5),
        (2, 0.2844, 0.0002, 0.2851, 5e-5),
        (5, 0.7761, 0.0006, 0.7798, 5e-5),
        (10, 1.6715, 0.0012, 1.6825, 5e-5),
        (50, 10.246, 0.008, 10.384, 5e-4),
        (100, 22.714, 0.019, 23.142, 5e-4),
        (200, 51.200, 0.040, 52.635, 5e-4),
        (500, 155.31, 0.19, 163.57, 5e-3),
        (1000, 372.5, 0.75, 412.0, 5e-2),
    ];
    let system = paper();
    for (size, optimum, standard_error, equal_power, digit) in golden {
        let samples = (200_000 / size as u64).clamp(400, 20_000);
        let rows = optimum_over_sizes(&system, &[size], samples, 2024, &Silent).unwrap();
        let row = &rows[0];
        assert_eq!(row.infeasible, 0);
        assert!(row.worst_gap <= 1e-8, "K = {size}: gap {}", row.worst_gap);
        for (mean, expected) in [(row.optimum_mhz, optimum), (row.equal_power_mhz, equal_power)] {
            let mean = mean.unwrap();
            let allowed = 3.0 * mean.standard_error.hypot(standard_error) + digit;
            let off = (mean.mean - expected).abs();
            assert!(off <= allowed, "K = {size}: {mean:?} against {expected} ± {allowed}");
        }
    }
}
