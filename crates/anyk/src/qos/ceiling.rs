//! Largest spectral efficiency: a ceiling on the rate in every fading state.
//!
//! The rate in a state is `min(l − q/√z, η)` nats for each channel use, with `l = ln(1 + g·v/z)` and `η` the ceiling.
//! The margin of [`Qos`](crate::qos::Qos) becomes
//!
//! ```text
//! M(z, v) = −ln E_g[e^(−a)] − κq√z − L,     a = κz·min(l, h),     h = η + q/√z.
//! ```
//!
//! `a` has a kink at `g* = (e^h − 1)·z/v`. Above the kink, `a = κ(ηz + q√z)` is the same in every state, so only the
//! states below are summed. `a` is continuous, so that `M_p = Ē[a_p]` as without a ceiling. Its slope jumps by `Δ_p`,
//! from above the kink to below, and the kink moves:
//!
//! ```text
//! M_pq = Ē[a_pq] − Cov(a_p, a_q) − f(t*)·Δ_p·Δ_q/(κz·r*),     t = ln g,     r = (g·v/z)/(1 + g·v/z)
//! ```
//!
//! with `f` the tilted density of `t`. `z·min(l, h)` is the smaller of two concave functions of `(z, v)` and so concave
//! itself, like `z·l`.

use crate::channel::{FadingPanels, FadingQuadrature};
use crate::qos::margin::share;
use crate::qos::{Margin, MarginCurvature};

/// Ceiling on the rate, with a rule for expectations that have a kink.
#[derive(Debug)]
pub(crate) struct Ceiling {
    /// Spectral efficiency, bit/s/Hz.
    pub(crate) bits: f64,
    /// Largest rate in nats for each channel use, `η`.
    pub(crate) nats: f64,
    /// Panels for a known distribution; `None` for samples, each of which is on one side of the kink.
    panels: Option<FadingPanels>,
}

/// Expectations over the states below the ceiling, under weights that are tilted by `e^(−a)`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Under {
    /// `−ln E[e^(−a)]`.
    pub(crate) ln_mean: f64,
    /// Tilted probability of the states above the ceiling.
    pub(crate) above: f64,
    /// `κz`, `κq√z` and `h`.
    c: f64,
    back_off: f64,
    most: f64,
    /// `Ē` of `l`, `r`, `r²`, `d²` and `d·r` over the states below, with `d = l − r`.
    l: f64,
    r: f64,
    rr: f64,
    dd: f64,
    dr: f64,
    /// Tilted density at the kink.
    kink: f64,
}

impl Ceiling {
    pub(crate) fn new(bits: f64, fading: &FadingQuadrature) -> Self {
        let panels = fading.source().map(FadingPanels::new);
        Self { bits, nats: bits * std::f64::consts::LN_2, panels }
    }

    /// Computes the expectations at `(ln v, ln z)` for `κ` and `q`.
    pub(crate) fn under(
        &self,
        fading: &FadingQuadrature,
        (ln_v, ln_z): (f64, f64),
        (kappa, quantile): (f64, f64),
    ) -> Under {
        let z = ln_z.exp();
        let x = (ln_v - ln_z).exp();
        let c = kappa * z;
        let most = self.nats + quantile / z.sqrt();
        // ln(e^h − 1), which does not overflow.
        let kink = most + (-(-most).exp()).ln_1p() - (ln_v - ln_z);
        let first = self.panels.as_ref().map(FadingPanels::least_gain);
        let first = first.or(fading.nodes().first().copied()).unwrap_or(0.0);
        // a is increasing in g: the smallest state has the largest term of the sum.
        let least = (x * first).ln_1p().min(most);
        let (mut sum, mut sums) = (0.0, [0.0; 5]);
        let mut below = |weight: f64, gain: f64| {
            let y = x * gain;
            // Rounding must not lift a state above the ceiling.
            let l = y.ln_1p().min(most);
            let r = share(y);
            let d = l - r;
            let term = weight * (-c * (l - least)).exp();
            sum += term;
            let values = [l, r, r * r, d * d, d * r];
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += term * value);
        };
        let (probability, density) = match &self.panels {
            Some(panels) => {
                let above = panels.split(kink, below);
                (above.probability, above.density)
            }
            None => {
                let limit = kink.exp();
                let count = fading.nodes().partition_point(|&gain| gain < limit);
                let (nodes, weights) = (&fading.nodes()[..count], &fading.weights()[..count]);
                nodes.iter().zip(weights).for_each(|(&gain, &weight)| below(weight, gain));
                (fading.weights()[count..].iter().sum(), 0.0)
            }
        };
        let tilt = (-c * (most - least)).exp();
        sum += probability * tilt;
        let [l, r, rr, dd, dr] = sums.map(|value| value / sum);
        Under {
            ln_mean: c * least - sum.ln(),
            above: probability * tilt / sum,
            c,
            back_off: kappa * quantile * z.sqrt(),
            most,
            l,
            r,
            rr,
            dd,
            dr,
            kink: density * tilt / sum,
        }
    }
}

impl Under {
    /// Returns `Ē[a]` over all states.
    pub(crate) fn mean(&self) -> f64 {
        self.c * (self.l + self.above * self.most)
    }

    /// Returns `M + L` with its first and second derivatives with respect to `ln z` and `ln v`.
    pub(crate) fn margin(&self) -> (Margin, MarginCurvature) {
        let Self { c, back_off, above, r, rr, dd, dr, .. } = *self;
        let d = self.l - r;
        // a_z and a_zz above the kink; a_v is 0 there.
        let flat = c * self.most;
        let (flat_z, flat_zz) = (flat - 0.5 * back_off, flat - 0.75 * back_off);
        let (mean_z, mean_v) = (c * d + above * flat_z, c * r);
        let margin = Margin {
            value: self.ln_mean - back_off,
            by_bandwidth: mean_z - 0.5 * back_off,
            by_received: mean_v,
        };
        // Jumps of a_z and a_v at the kink; that of a_v is κz·r*.
        let jump_v = -c * (-self.most).exp_m1();
        let jump_z = 0.5 * back_off - jump_v;
        let curvature = MarginCurvature {
            bandwidth_bandwidth: c * (d - rr) + above * flat_zz
                - (c * c * dd + above * flat_z * flat_z - mean_z * mean_z)
                - self.kink * jump_z * jump_z / jump_v
                - 0.25 * back_off,
            bandwidth_received: c * rr - (c * c * dr - mean_z * mean_v) - self.kink * jump_z,
            received_received: c * (r - rr) - (c * c * rr - mean_v * mean_v) - self.kink * jump_v,
        };
        (margin, curvature)
    }
}

#[cfg(test)]
mod tests {
    use crate::Config;
    use crate::channel::{FadingLaw, FadingSamples};
    use crate::config::System;
    use crate::problems::urllc::draw_fading;
    use crate::qos::{BandwidthTable, Qos, RequiredBandwidth, ServiceClass};
    use proptest::prelude::*;
    use rayon::prelude::*;
    use statrs::function::gamma::ln_gamma;

    fn system(antennas: u32, service: ServiceClass, most: f64) -> System {
        let mut config = Config { service, ..Config::default() };
        config.cell.antennas = antennas;
        config.cell.max_spectral_efficiency = Some(most);
        config.validate().unwrap()
    }

    fn arbitrary_qos() -> impl Strategy<Value = Qos> {
        (1u32..20, -9.0f64..-1.5, 20.0f64..3000.0, -2.0f64..0.7, -0.7f64..1.3).prop_map(
            |(antennas, log_epsilon, packet_bits, log_rate, log_most)| {
                let service = ServiceClass {
                    epsilon: 10f64.powf(log_epsilon),
                    packet_bits,
                    arrival_rate: 10f64.powf(log_rate),
                };
                let system = system(antennas, service, 10f64.powf(log_most));
                system.qos(service).unwrap()
            },
        )
    }

    /// Computes a central difference of fourth order.
    fn difference(f: impl Fn(f64) -> f64, x: f64) -> f64 {
        let h = 1e-3;
        (8.0 * (f(x + h) - f(x - h)) - (f(x + 2.0 * h) - f(x - 2.0 * h))) / (12.0 * h)
    }

    /// Computes `M` from the formula for the rate, by half a million trapezoids over `ln g`.
    fn brute_margin(qos: &Qos, antennas: u32, ln_v: f64, ln_z: f64) -> f64 {
        let received_w = (ln_v - qos.ln_energy_scale()).exp();
        let bandwidth_hz = (ln_z - qos.ln_uses_scale()).exp();
        let shape = f64::from(antennas);
        let (low, high, count) =
            (-60.0 / shape - 2.0 + shape.ln(), 5.5f64.max(shape.ln() + 2.0), 500_000);
        let h = (high - low) / f64::from(count);
        let terms = (0..=count).map(|i| {
            let t = low + f64::from(i) * h;
            let rate = qos.rate(received_w, bandwidth_hz, t.exp());
            let ln_density = shape * t - t.exp() - ln_gamma(shape);
            (ln_density, ln_density - qos.theta() * rate)
        });
        let (weights, terms): (Vec<f64>, Vec<f64>) = terms.unzip();
        let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = terms.iter().map(|term| (term - most).exp()).sum();
        let weight: f64 = weights.iter().map(|weight| weight.exp()).sum();
        weight.ln() - most - sum.ln() - qos.demand()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn derivatives_match_finite_differences(
            qos in arbitrary_qos(), ln_v in 0.0f64..14.0, ln_z in -1.0f64..7.0,
        ) {
            let (margin, curvature) = qos.curvature_normalised(ln_v, ln_z);
            let scale = 1.0 + margin.value.abs() + margin.by_bandwidth.abs() + margin.by_received;
            let at = |v, z| qos.margin_normalised(v, z);
            for (analytic, numeric) in [
                (margin.by_bandwidth, difference(|z| at(ln_v, z).value, ln_z)),
                (margin.by_received, difference(|v| at(v, ln_z).value, ln_v)),
                (curvature.bandwidth_bandwidth, difference(|z| at(ln_v, z).by_bandwidth, ln_z)),
                (curvature.bandwidth_received, difference(|v| at(v, ln_z).by_bandwidth, ln_v)),
                (curvature.bandwidth_received, difference(|z| at(ln_v, z).by_received, ln_z)),
                (curvature.received_received, difference(|v| at(v, ln_z).by_received, ln_v)),
            ] {
                prop_assert!((analytic - numeric).abs() < 1e-7 * scale, "{analytic} {numeric}");
            }
        }

        /// Checks that a class whose target is the computed loss meets its QoS with equality, and that a ceiling never
        /// helps.
        #[test]
        fn packet_loss_is_the_root(
            qos in arbitrary_qos(), ln_v in 0.0f64..14.0, ln_z in -1.0f64..7.0,
        ) {
            let received_w = (ln_v - qos.ln_energy_scale()).exp();
            let bandwidth_hz = (ln_z - qos.ln_uses_scale()).exp();
            let loss = qos.packet_loss(received_w, bandwidth_hz);
            prop_assert!((0.0..=1.0).contains(&loss));
            if loss > 1e-250 && loss < 0.999 {
                let service = ServiceClass { epsilon: loss, ..qos.service() };
                let margin = qos.with_service(service).margin_normalised(ln_v, ln_z);
                prop_assert!(margin.value.abs() < 1e-10 * (1.0 + margin.by_bandwidth.abs()), "{margin:?}");
            }
            prop_assert!(qos.packet_loss(1.5 * received_w, bandwidth_hz) <= loss * (1.0 + 1e-12));
            let free = qos.clone().with_max_spectral_efficiency(None);
            let free = free.packet_loss(received_w, bandwidth_hz);
            // At smaller losses, tails matter that no rule of the class contains.
            prop_assert!(loss < 1e-12 || free <= loss * (1.0 + 1e-9), "{free:e} {loss:e}");
        }

        #[test]
        fn the_integral_is_that_of_a_fine_trapezoid(
            qos in arbitrary_qos(), antennas in 1u32..20, ln_v in 0.0f64..14.0, ln_z in -1.0f64..7.0,
        ) {
            let system = system(antennas, qos.service(), qos.max_spectral_efficiency().unwrap());
            let qos = system.qos(qos.service()).unwrap();
            let found = qos.margin_normalised(ln_v, ln_z).value;
            let expected = brute_margin(&qos, antennas, ln_v, ln_z);
            // Far above the QoS, tails matter that no rule of the class contains.
            prop_assume!(expected < 10.0);
            prop_assert!((found - expected).abs() < 1e-8 * (1.0 + expected.abs()), "{found} {expected}");
        }
    }

    /// Checks that a ceiling far above every rate does not change the margin, up to rounding.
    #[test]
    fn a_ceiling_that_no_state_reaches_changes_nothing() {
        for antennas in [1, 8, 64] {
            let service = ServiceClass::default();
            let limited = system(antennas, service, 100.0).qos(service).unwrap();
            let free = limited.clone().with_max_spectral_efficiency(None);
            for ln_v in [3.0, 6.0, 10.0] {
                for ln_z in [0.0, 2.0, 4.0] {
                    let (one, two) =
                        (limited.margin_normalised(ln_v, ln_z), free.margin_normalised(ln_v, ln_z));
                    assert!((one.value - two.value).abs() < 1e-13, "{one:?} {two:?}");
                    assert!((one.by_received - two.by_received).abs() < 1e-13);
                }
            }
        }
    }

    /// Checks that `b(u)` under a ceiling is decreasing, convex and flat at its end, over wide ranges of classes and
    /// ceilings, and that its table is as accurate as without a ceiling.
    #[test]
    fn the_required_bandwidth_is_convex_and_becomes_flat() {
        let paper = ServiceClass::default();
        let large = ServiceClass { epsilon: 1e-5, packet_bits: 2040.0, arrival_rate: 0.05 };
        let strict = ServiceClass { epsilon: 1e-9, packet_bits: 32.0, arrival_rate: 1.0 };
        let mut cases = Vec::new();
        for antennas in [1, 2, 8, 64] {
            for service in [paper, large, strict] {
                cases.extend([0.1, 1.0, 7.4063].map(|most| (antennas, service, most)));
            }
        }
        cases.extend([
            (1, strict, 100.0),
            (8, paper, 20.0),
            (8, large, 100.0),
            (1024, large, 7.4063),
        ]);
        cases.into_par_iter().for_each(|(antennas, service, most)| {
            let case = format!("{antennas} antennas, {service:?}, {most}");
            let qos = system(antennas, service, most).qos(service).unwrap();
            let table = BandwidthTable::new(qos.clone());
            let exact = table.exact();
            let fold = exact.fold();
            let at_fold = qos.margin_normalised(fold.ln_v, fold.ln_z);
            assert!(
                at_fold.value.abs() < 1e-11 && at_fold.by_bandwidth.abs() < 1e-9,
                "{case}: {at_fold:?}"
            );
            assert!(
                table.is_sound(),
                "{case}: {} {}",
                table.error_bound(),
                table.slope_error_bound()
            );
            assert!(table.fall_at_double() > 1.2, "{case}: {}", table.fall_at_double());
            let limit_hz = service.packet_bits * qos.effective_bandwidth() / most / 5e-5;
            let end = exact.flat().map_or(40.0, |flat| flat.rise);
            let mut last = (f64::INFINITY, f64::NEG_INFINITY);
            for i in 1..=200 {
                let u = exact.min_received_w() * (end * (f64::from(i) / 200.0).powi(2)).exp();
                let point = exact.at(u).unwrap();
                let (hz, slope) = (point.bandwidth_hz, point.slope_hz_per_w);
                assert!(hz >= limit_hz * (1.0 - 1e-15), "{case}: {hz} {limit_hz}");
                assert!(
                    hz <= last.0 * (1.0 + 1e-14) && slope >= last.1,
                    "{case}, {i}: {point:?} {last:?}"
                );
                last = (hz, slope);
                let loss = qos.packet_loss(u, hz * (1.0 + 1e-11));
                assert!(loss <= service.epsilon, "{case}, {i}: {loss}");
                // Any bandwidth up to that of the fold meets the QoS as well.
                let ln_v = u.ln() + qos.ln_energy_scale();
                let ln_z = hz.ln() + qos.ln_uses_scale();
                for j in 1..=8 {
                    let between = ln_z + (fold.ln_z - ln_z) * f64::from(j) / 8.0;
                    let margin = qos.margin_normalised(ln_v, between).value;
                    assert!(i % 10 > 0 || margin >= -1e-11, "{case}, {i}, {j}: {margin}");
                }
            }
            if let Some(flat) = exact.flat() {
                let hz = exact.at(exact.min_received_w() * (flat.rise + 20.0).exp()).unwrap();
                assert!(
                    (hz.bandwidth_hz / limit_hz - 1.0).abs() < 2e-13 && hz.slope_hz_per_w == 0.0
                );
            }
        });
    }

    /// Checks that responses of the exact form are the inverse of the price and are clamped at the end of the curve.
    #[test]
    fn the_response_inverts_the_price() {
        for (antennas, most) in [(1, 7.4063), (8, 7.4063), (8, 1.0), (64, 20.0)] {
            let service = ServiceClass::default();
            let exact =
                RequiredBandwidth::new(system(antennas, service, most).qos(service).unwrap());
            let end = exact.flat().unwrap().rise;
            for i in 1..40 {
                let rise = end * (f64::from(i) / 40.0).powi(2);
                let (_, ln_z, elasticity) = exact.point(rise.exp_m1());
                let response =
                    exact.respond(ln_z - exact.fold().ln_v - rise + elasticity.ln(), None);
                let off = response.ln_excess - rise.exp_m1().ln();
                assert!(off.abs() < 1e-6, "{antennas} {most} {rise} of {end}: {off}");
                assert!(response.slope < 0.0 && response.slope > -2.1, "{}", response.slope);
            }
            let least = exact.respond(-200.0, None);
            assert!((least.ln_excess - end.exp_m1().ln()).abs() < 1e-9 && least.slope == 0.0);
        }
    }

    /// Checks that every sample is on exactly one side of the kink.
    #[test]
    fn samples_are_limited_one_by_one() {
        let service = ServiceClass::default();
        let system = system(8, service, 7.4063);
        let drawn = draw_fading(&system, &FadingLaw::Rayleigh, 700, 5);
        let samples = FadingSamples::new(drawn.clone()).unwrap();
        let qos = system.qos(service).unwrap().with_fading(samples.rule());
        for (received_w, bandwidth_hz) in [(1e-13, 4e5), (1e-12, 3e5), (1e-10, 2.5e5)] {
            let terms =
                drawn.iter().map(|&g| (-qos.theta() * qos.rate(received_w, bandwidth_hz, g)).exp());
            let capacity = -(terms.sum::<f64>() / 700.0).ln() / qos.theta();
            let found = qos.effective_capacity(received_w, bandwidth_hz);
            assert!((found / capacity - 1.0).abs() < 1e-12, "{found} {capacity}");
        }
    }
}
