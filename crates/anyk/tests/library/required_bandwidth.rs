//! Required bandwidth b(u) as a function: exact to 1e-12, decreasing, convex, and with a table within its error
//! bound, for service classes and antenna numbers far from the paper's.

// Clippy's exception for tests does not cover helpers of integration tests.
#![allow(clippy::unwrap_used)]

use anyk::qos::{BandwidthTable, RequiredBandwidth};
use anyk::qos::{Qos, ServiceClass};
use anyk::{Config, tolerance};
use proptest::prelude::*;

/// Returns classes and cells over most of the range that the config accepts: six decades of ε, two of packet size,
/// three of arrivals, 1 to 64 antennas.
fn arbitrary_qos() -> impl Strategy<Value = Qos> {
    (1u32..64, -9.0f64..-2.0, 20.0f64..2000.0, -2.0f64..0.7, 1.0f64..20.0).prop_map(
        |(antennas, log_epsilon, packet_bits, log_rate, delay_frames)| {
            let mut config = Config::default();
            config.cell.antennas = antennas;
            config.frame.queueing_delay_ms = config.frame.frame_ms * delay_frames;
            config.service = ServiceClass {
                epsilon: 10f64.powf(log_epsilon),
                packet_bits,
                arrival_rate: 10f64.powf(log_rate),
            };
            let system = config.validate().unwrap();
            system.qos(system.service()).unwrap()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Tests that the QoS holds with equality at b(u), and fails if the bandwidth is reduced by the guaranteed
    /// relative error.
    #[test]
    fn exact_form_is_the_root(qos in arbitrary_qos(), rise in 0.001f64..40.0) {
        let required = RequiredBandwidth::new(qos.clone());
        let received_w = required.min_received_w() * rise.exp();
        let bandwidth_hz = required.at(received_w).unwrap().bandwidth_hz;
        let margin = |factor: f64| {
            qos.margin(received_w.ln(), (bandwidth_hz * factor).ln()).value
        };
        // Rounding in the inputs of `margin` is of the order of 1e-15 relative to ln u ≈ −30.
        let width = tolerance::EXACT_BANDWIDTH.max(2e-14 / rise.sqrt());
        prop_assert!(margin(1.0 + width) > 0.0, "{}", margin(1.0 + width));
        prop_assert!(margin(1.0 - width) < 0.0, "{}", margin(1.0 - width));
        // It is the smallest root: there is none below.
        for factor in [0.9, 0.5, 0.1] {
            prop_assert!(margin(factor) < 0.0);
        }
    }

    #[test]
    fn slope_matches_finite_differences(qos in arbitrary_qos(), rise in 0.01f64..40.0) {
        let required = RequiredBandwidth::new(qos);
        let received_w = required.min_received_w() * rise.exp();
        let slope = required.at(received_w).unwrap().slope_hz_per_w;
        let step = 1e-5 * rise.min(1.0);
        let at = |factor: f64| required.at(received_w * factor).unwrap().bandwidth_hz;
        let numeric = (at(1.0 + step) - at(1.0 - step)) / (2.0 * step * received_w);
        prop_assert!((slope / numeric - 1.0).abs() < 1e-5, "{slope} {numeric}");
    }

    /// Tests that b is decreasing and convex in u, as the dual decomposition and its certificate require.
    #[test]
    fn decreasing_and_convex(qos in arbitrary_qos(), rise in 0.001f64..40.0, more in 0.01f64..2.0) {
        let required = RequiredBandwidth::new(qos);
        let low = required.min_received_w() * rise.exp();
        let high = low * more.exp();
        let (left, right) = (required.at(low).unwrap(), required.at(high).unwrap());
        prop_assert!(right.bandwidth_hz < left.bandwidth_hz);
        prop_assert!(left.slope_hz_per_w < 0.0);
        prop_assert!(right.slope_hz_per_w > left.slope_hz_per_w);
        prop_assert!(left.bandwidth_hz <= required.max_bandwidth_hz() * (1.0 + 1e-12));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Tests that the table is within its own bound at 400 points that are not nodes, and that the bound is within
    /// the guaranteed one.
    #[test]
    fn table_is_within_its_bound(qos in arbitrary_qos(), shift in 0.0f64..1.0) {
        let table = BandwidthTable::new(qos);
        prop_assert!(table.error_bound() <= tolerance::TABLE, "{}", table.error_bound());
        prop_assert!(table.slope_error_bound() <= tolerance::TABLE, "{}", table.slope_error_bound());
        let least = table.exact().min_received_w();
        for i in 0..400 {
            // Denser towards the fold. The last points are beyond the table, where the exact form is used.
            let w = 10.2 * (f64::from(i) + shift) / 400.0;
            let received_w = least * (w * w + 1e-12).exp();
            let (fast, exact) = (table.at(received_w).unwrap(), table.exact().at(received_w).unwrap());
            let error = (fast.bandwidth_hz / exact.bandwidth_hz - 1.0).abs();
            // Near the fold, b changes with the last bits of u.
            let nudged = table.exact().at(received_w * (1.0 + 32.0 * f64::EPSILON)).unwrap();
            let moved = (nudged.bandwidth_hz / exact.bandwidth_hz - 1.0).abs();
            let rounding = moved.max(1e-15 / w.max(1e-6));
            prop_assert!(error <= table.error_bound() + rounding, "w = {w}: {error}");
            let slope_error = (fast.slope_hz_per_w / exact.slope_hz_per_w - 1.0).abs();
            let rounding = 2e-14 / (w * w).max(1e-12);
            let bound = table.slope_error_bound() / w.min(1.0) + rounding;
            prop_assert!(slope_error <= bound, "w = {w}: {slope_error}");
        }
        prop_assert!(table.at(0.999 * least).is_err());
    }
}
