//! QoS of one user: finite-blocklength rate, effective capacity, and the margin `M` by which a power and a bandwidth
//! meet the demand of the service class.
//!
//! # The margin
//!
//! With `z = τB` (channel uses in a frame), `v = uτ/N_0` (ratio of received energy to noise density for unit fading,
//! with `u = αP`), `κ = θ/(μ ln 2)`, `q = Q_G⁻¹(ε/2)` and `L = θS^E`, the constraint `C^E ≥ S^E` of problem (P1) is
//!
//! ```text
//! M(z, v) = −ln E_g[(1 + g·v/z)^(−κz)] − κq√z − L ≥ 0.
//! ```
//!
//! `M` is in nats and equals `θ·(C^E − S^E)`. All derivatives are with respect to `ln z` and `ln v`, which is the same
//! as with respect to `ln B` and `ln u`.
//!
//! A largest spectral efficiency changes the expectation ([`ceiling`](super::ceiling)).

use std::sync::Arc;

use crate::channel::FadingQuadrature;
use crate::qos::ServiceClass;
use crate::qos::ceiling::Ceiling;
use crate::tolerance;

/// Value and first derivatives of the QoS margin `M` at a bandwidth and received power `(B, u)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Margin {
    /// Margin `M = θ·(C^E − S^E)`, nats; the QoS is met if it is at least 0.
    pub value: f64,
    /// Derivative `∂M/∂ln B`.
    pub by_bandwidth: f64,
    /// Derivative `∂M/∂ln u`.
    pub by_received: f64,
}

/// Second derivatives of the QoS margin `M` at a bandwidth and received power `(B, u)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MarginCurvature {
    /// Derivative `∂²M/∂(ln B)²`.
    pub bandwidth_bandwidth: f64,
    /// Derivative `∂²M/∂ln B ∂ln u`.
    pub bandwidth_received: f64,
    /// Derivative `∂²M/∂(ln u)²`.
    pub received_received: f64,
}

/// QoS constraint of a service class in a cell (paper, eq. (P1a) and section V-A).
///
/// ```
/// use anyk::Config;
/// let system = Config::default().validate()?;
/// let qos = system.qos(system.service())?;
/// // A user at 60 m with 2.451935 W and 124416.2 Hz just meets the loss target 1e-5 (shared reference).
/// let received_w = system.path_loss().gain(60.0) * 2.451935;
/// assert!((qos.packet_loss(received_w, 124_416.2) / 1e-5 - 1.0).abs() < 1e-3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Qos {
    service: ServiceClass,
    delay_frames: f64,
    transmission_s: f64,
    noise_w_hz: f64,
    fading: Arc<FadingQuadrature>,
    ceiling: Option<Arc<Ceiling>>,
    theta: f64,
    effective_bandwidth: f64,
    quantile: f64,
    kappa: f64,
    demand: f64,
}

impl Qos {
    /// Builds the constraint of `service` in a cell without a largest spectral efficiency. The cell has the bound
    /// `D/T_f` on the queueing delay in frames, the transmission time `τ` in s, the noise density `N_0` in W/Hz, and
    /// the given fading.
    pub(crate) fn new(
        service: ServiceClass,
        delay_frames: f64,
        transmission_s: f64,
        noise_w_hz: f64,
        fading: Arc<FadingQuadrature>,
    ) -> Self {
        let theta = service.qos_exponent(delay_frames);
        let effective_bandwidth = service.effective_bandwidth(theta);
        Self {
            service,
            delay_frames,
            transmission_s,
            noise_w_hz,
            fading,
            ceiling: None,
            theta,
            effective_bandwidth,
            quantile: service.decoding_quantile(),
            kappa: theta / (service.packet_bits * std::f64::consts::LN_2),
            demand: theta * effective_bandwidth,
        }
    }

    /// Returns the same constraint with a largest spectral efficiency in bit/s/Hz, or without one.
    pub(crate) fn with_max_spectral_efficiency(self, most: Option<f64>) -> Self {
        let ceiling = most.map(|most| Arc::new(Ceiling::new(most, &self.fading)));
        Self { ceiling, ..self }
    }

    /// Returns the constraint of another service class in this cell.
    pub fn with_service(&self, service: ServiceClass) -> Self {
        let other = Self::new(
            service,
            self.delay_frames,
            self.transmission_s,
            self.noise_w_hz,
            Arc::clone(&self.fading),
        );
        Self { ceiling: self.ceiling.clone(), ..other }
    }

    /// Returns the constraint with other fading: any nodes and weights that define an expectation, including measured
    /// samples.
    pub fn with_fading(&self, fading: Arc<FadingQuadrature>) -> Self {
        let other = Self { fading, ..self.clone() };
        other.with_max_spectral_efficiency(self.max_spectral_efficiency())
    }

    /// Returns the same queue with the code of another class, that is, its `Q_G⁻¹`.
    pub(crate) fn coded_for(mut self, other: ServiceClass) -> Self {
        self.quantile = other.decoding_quantile();
        self
    }

    /// Returns the maximum spectral efficiency in a fading state, in bit/s/Hz; `None` if there is no limit.
    pub fn max_spectral_efficiency(&self) -> Option<f64> {
        self.ceiling.as_ref().map(|ceiling| ceiling.bits)
    }

    /// Returns the maximum rate in a fading state, in nats per channel use; infinite if there is no limit.
    pub(crate) fn max_nats(&self) -> f64 {
        self.ceiling.as_ref().map_or(f64::INFINITY, |ceiling| ceiling.nats)
    }

    /// Returns the spectral efficiency that the service needs over a bandwidth, in bit/s/Hz: `μS^E/(τB)`.
    pub fn spectral_efficiency(&self, bandwidth_hz: f64) -> f64 {
        self.service.packet_bits * self.effective_bandwidth / self.channel_uses(bandwidth_hz)
    }

    /// Returns the channel uses in a frame, `τB`.
    pub fn channel_uses(&self, bandwidth_hz: f64) -> f64 {
        self.transmission_s * bandwidth_hz
    }

    /// Returns the logarithm of the channel uses below which no power meets the QoS, `ln(θS^E/(κη))`; `None` without a
    /// largest spectral efficiency.
    pub(crate) fn ln_least_uses(&self) -> Option<f64> {
        let ceiling = self.ceiling.as_ref()?;
        Some((self.demand / (self.kappa * ceiling.nats)).ln())
    }

    /// Returns `θS^E`, the margin that is missing at a rate of 0.
    pub(crate) fn demand(&self) -> f64 {
        self.demand
    }

    /// Returns the quadrature of the fading distribution.
    pub fn fading(&self) -> &FadingQuadrature {
        &self.fading
    }

    /// Returns the service class.
    pub fn service(&self) -> ServiceClass {
        self.service
    }

    /// Returns the QoS exponent `θ`, 1/packet.
    pub fn theta(&self) -> f64 {
        self.theta
    }

    /// Returns the effective bandwidth `S^E`, packets/frame.
    pub fn effective_bandwidth(&self) -> f64 {
        self.effective_bandwidth
    }

    /// Returns the exponent per channel use, `κ = θ/(μ ln 2)`.
    pub(crate) fn kappa(&self) -> f64 {
        self.kappa
    }

    /// Returns the factor `κq` of the finite-blocklength back-off `κq√z`.
    pub(crate) fn back_off_rate(&self) -> f64 {
        self.kappa * self.quantile
    }

    /// Returns whether `other` is a constraint in the same cell; only the service class may differ.
    pub(crate) fn same_cell(&self, other: &Self) -> bool {
        self.same_frame(other)
            && (Arc::ptr_eq(&self.fading, &other.fading) || self.fading == other.fading)
    }

    /// Returns whether `other` has the same service class and frame; only the fading may differ.
    pub(crate) fn same_service(&self, other: &Self) -> bool {
        self.same_frame(other) && self.service == other.service
    }

    fn same_frame(&self, other: &Self) -> bool {
        let frame = |qos: &Self| {
            let most = qos.max_spectral_efficiency().unwrap_or(f64::INFINITY);
            [qos.delay_frames, qos.transmission_s, qos.noise_w_hz, most].map(f64::to_bits)
        };
        frame(self) == frame(other)
    }

    /// Computes the achievable rate in one fading state (paper, eq. (sk-URLLC)), packets/frame:
    ///
    /// ```text
    /// s = τB/(μ ln 2)·[ln(1 + u·g/(N_0 B)) − Q_G⁻¹(ε_c)/√(τB)]
    /// ```
    ///
    /// `received_w` is `u = αP`, and `gain` is the small-scale gain `g`. The approximation is negative at rates that
    /// are too low for the blocklength. A largest spectral efficiency limits the rate.
    pub fn rate(&self, received_w: f64, bandwidth_hz: f64, gain: f64) -> f64 {
        let uses = self.transmission_s * bandwidth_hz;
        let snr = received_w * gain / (self.noise_w_hz * bandwidth_hz);
        let scale = uses / (self.service.packet_bits * std::f64::consts::LN_2);
        let nats = snr.ln_1p() - self.quantile / uses.sqrt();
        scale * self.ceiling.as_ref().map_or(nats, |ceiling| nats.min(ceiling.nats))
    }

    /// Computes the effective capacity `C^E = −(1/θ)·ln E_g[e^(−θ s)]`, packets/frame (paper, section IV-B).
    pub fn effective_capacity(&self, received_w: f64, bandwidth_hz: f64) -> f64 {
        self.effective_bandwidth + self.residual(received_w, bandwidth_hz)
    }

    /// Computes the QoS residual `C^E − S^E`, packets/frame: at least 0 if the constraint is met.
    pub fn residual(&self, received_w: f64, bandwidth_hz: f64) -> f64 {
        self.margin(received_w.ln(), bandwidth_hz.ln()).value / self.theta
    }

    /// Computes the margin `M` and its gradient at `(ln u, ln B)`, with `u` in W and `B` in Hz.
    pub fn margin(&self, ln_received_w: f64, ln_bandwidth_hz: f64) -> Margin {
        self.margin_normalised(
            ln_received_w + self.ln_energy_scale(),
            ln_bandwidth_hz + self.transmission_s.ln(),
        )
    }

    /// Returns the difference between `ln v` and `ln u`, `ln(τ/N_0)`.
    pub(crate) fn ln_energy_scale(&self) -> f64 {
        (self.transmission_s / self.noise_w_hz).ln()
    }

    /// Returns the difference between `ln z` and `ln B`, `ln τ`.
    pub(crate) fn ln_uses_scale(&self) -> f64 {
        self.transmission_s.ln()
    }

    /// Computes `M` and its gradient in the normalized variables `ln v` and `ln z`.
    pub(crate) fn margin_normalised(&self, ln_v: f64, ln_z: f64) -> Margin {
        if self.ceiling.is_some() {
            return self.curvature_normalised(ln_v, ln_z).0;
        }
        let z = ln_z.exp();
        let x = (ln_v - ln_z).exp();
        let c = self.kappa * z;
        let back_off = self.kappa * self.quantile * z.sqrt();
        let nodes = self.fading.nodes();
        // l increases with g, so the smallest node has the largest term of the sum.
        let least = nodes.first().map_or(0.0, |&g| (x * g).ln_1p());
        let (mut sum, mut sum_l, mut sum_r) = (0.0, 0.0, 0.0);
        for (&g, &w) in nodes.iter().zip(self.fading.weights()) {
            let l = (x * g).ln_1p();
            let r = share(x * g);
            let term = w * (-c * (l - least)).exp();
            sum += term;
            sum_l += term * l;
            sum_r += term * r;
        }
        let (mean_l, mean_r) = (sum_l / sum, sum_r / sum);
        Margin {
            value: c * least - sum.ln() - back_off - self.demand,
            by_bandwidth: c * (mean_l - mean_r) - back_off / 2.0,
            by_received: c * mean_r,
        }
    }

    /// Computes `M`, its gradient and its second derivatives in the normalized variables.
    ///
    /// With the exponent `a = c·l`, `M_p = Ē[a_p]` and `M_pq = Ē[a_pq] − Cov(a_p, a_q)` under the tilted weights.
    pub(crate) fn curvature_normalised(&self, ln_v: f64, ln_z: f64) -> (Margin, MarginCurvature) {
        if let Some(ceiling) = &self.ceiling {
            let under = ceiling.under(&self.fading, (ln_v, ln_z), (self.kappa, self.quantile));
            let (margin, curvature) = under.margin();
            return (Margin { value: margin.value - self.demand, ..margin }, curvature);
        }
        let z = ln_z.exp();
        let x = (ln_v - ln_z).exp();
        let c = self.kappa * z;
        let back_off = self.kappa * self.quantile * z.sqrt();
        let nodes = self.fading.nodes();
        let least = nodes.first().map_or(0.0, |&g| (x * g).ln_1p());
        let (mut sum, mut sum_l, mut sum_r) = (0.0, 0.0, 0.0);
        let (mut sum_rr, mut sum_dd, mut sum_dr) = (0.0, 0.0, 0.0);
        for (&g, &w) in nodes.iter().zip(self.fading.weights()) {
            let l = (x * g).ln_1p();
            let r = share(x * g);
            let d = l - r;
            let term = w * (-c * (l - least)).exp();
            sum += term;
            sum_l += term * l;
            sum_r += term * r;
            sum_rr += term * r * r;
            sum_dd += term * d * d;
            sum_dr += term * d * r;
        }
        let (l, r, rr) = (sum_l / sum, sum_r / sum, sum_rr / sum);
        let d = l - r;
        let (variance_d, variance_r) = (sum_dd / sum - d * d, rr - r * r);
        let covariance = sum_dr / sum - d * r;
        let margin = Margin {
            value: c * least - sum.ln() - back_off - self.demand,
            by_bandwidth: c * d - back_off / 2.0,
            by_received: c * r,
        };
        let curvature = MarginCurvature {
            bandwidth_bandwidth: c * (d - rr) - c * c * variance_d - back_off / 4.0,
            bandwidth_received: c * rr - c * c * covariance,
            received_received: c * (r - rr) - c * c * variance_r,
        };
        (margin, curvature)
    }

    /// Computes the packet loss `ε_k` of a user with the received power `u = αP` in W and a bandwidth in Hz: the `ε`
    /// for which the QoS constraint holds with equality, with `ε_c = ε_q = ε/2`. Returns 1 if no smaller loss is
    /// possible, and at least 1e-300.
    ///
    /// The root is unique: `M` grows with `ε`, because a looser target lowers `θ`, `S^E` and `Q_G⁻¹`.
    pub fn packet_loss(&self, received_w: f64, bandwidth_hz: f64) -> f64 {
        if !(received_w > 0.0 && bandwidth_hz > 0.0) {
            return 1.0;
        }
        let ln_v = received_w.ln() + self.ln_energy_scale();
        let ln_z = bandwidth_hz.ln() + self.ln_uses_scale();
        // The logarithms are half of the work and do not depend on ε. Under a ceiling, the evaluated states do.
        let x = (ln_v - ln_z).exp();
        let logs = |&g: &f64| (x * g).ln_1p();
        let logs: Vec<f64> = match self.ceiling {
            None => self.fading.nodes().iter().map(logs).collect(),
            Some(_) => Vec::new(),
        };
        let (mut low, mut high) = (1e-300f64.ln(), 0.0);
        // Newton's method in a bracket, with bisection if a step leaves it. It starts at the target, which is close
        // to the loss of a good allocation.
        let mut here = self.service.epsilon.ln();
        for _ in 0..200 {
            let (value, slope) = self.margin_at_loss(here, (ln_v, ln_z), &logs);
            if value >= 0.0 {
                high = here;
            } else {
                low = here;
            }
            let step = -value / slope;
            let next = here + step;
            let inside = next > low && next < high;
            here = if inside { next } else { 0.5 * (low + high) };
            // The error after a Newton step is of the order of the step's square.
            if inside && step.abs() < 1e-7 || high - low < tolerance::ROOT {
                break;
            }
        }
        here.exp()
    }

    /// Computes `M` for another loss target, and `∂M/∂ln ε`, at `(ln v, ln z)` and at `ln(1 + g·v/z)` of each node,
    /// which is used only without a ceiling.
    fn margin_at_loss(
        &self,
        ln_epsilon: f64,
        (ln_v, ln_z): (f64, f64),
        logs: &[f64],
    ) -> (f64, f64) {
        let service = ServiceClass { epsilon: ln_epsilon.exp(), ..self.service };
        let theta = service.qos_exponent(self.delay_frames);
        let kappa = theta / (service.packet_bits * std::f64::consts::LN_2);
        let quantile = service.decoding_quantile();
        let root_z = (0.5 * ln_z).exp();
        let back_off = kappa * quantile * root_z;
        let c = kappa * ln_z.exp();
        // −ln E[e^(−a)], Ē[a] and the tilted probability of the states above the ceiling, in which `a` grows with q.
        let (ln_mean, mean, above) = match &self.ceiling {
            None => {
                let least = logs.first().copied().unwrap_or(0.0);
                let (mut sum, mut sum_l) = (0.0, 0.0);
                for (&l, &w) in logs.iter().zip(self.fading.weights()) {
                    let term = w * (-c * (l - least)).exp();
                    sum += term;
                    sum_l += term * l;
                }
                (c * least - sum.ln(), c * sum_l / sum, 0.0)
            }
            Some(ceiling) => {
                let under = ceiling.under(&self.fading, (ln_v, ln_z), (kappa, quantile));
                (under.ln_mean, under.mean(), under.above)
            }
        };
        let demand = theta * service.effective_bandwidth(theta);
        let value = ln_mean - back_off - demand;
        // The derivative goes through θ, Q_G⁻¹ and S^E; κ∂M/∂κ = Ē[a] − κq√z.
        let normal_density = (-0.5 * quantile * quantile).exp() / std::f64::consts::TAU.sqrt();
        let by_theta = -(-theta).exp() / (service.arrival_rate * self.delay_frames) / theta;
        let by_quantile = -0.5 * service.epsilon / normal_density;
        let by_demand = -1.0 / self.delay_frames;
        let slope =
            by_theta * (mean - back_off) - kappa * root_z * (1.0 - above) * by_quantile - by_demand;
        (value, slope)
    }
}

/// Computes `y/(1 + y)` without overflow for large `y`.
pub(super) fn share(y: f64) -> f64 {
    if y < 1.0 { y / (1.0 + y) } else { 1.0 / (1.0 + 1.0 / y) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use approx::assert_relative_eq;
    use proptest::prelude::*;

    fn arbitrary_qos() -> impl Strategy<Value = Qos> {
        (1u32..20, -9.0f64..-1.5, 20.0f64..3000.0, -2.0f64..0.7).prop_map(
            |(antennas, log_epsilon, packet_bits, log_rate)| {
                let mut config = Config::default();
                config.cell.antennas = antennas;
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

    /// Computes a central difference with a step that balances truncation and rounding.
    fn difference(f: impl Fn(f64) -> f64, x: f64) -> f64 {
        let h = 1e-5;
        (f(x + h) - f(x - h)) / (2.0 * h)
    }

    proptest! {
        #[test]
        fn derivatives_match_finite_differences(
            qos in arbitrary_qos(), ln_v in 0.0f64..14.0, ln_z in -1.0f64..7.0,
        ) {
            let (margin, curvature) = qos.curvature_normalised(ln_v, ln_z);
            let scale = 1.0 + margin.value.abs() + margin.by_bandwidth.abs() + margin.by_received;
            let at = |v, z| qos.margin_normalised(v, z);
            prop_assert_eq!(at(ln_v, ln_z), margin);
            for (analytic, numeric) in [
                (margin.by_bandwidth, difference(|z| at(ln_v, z).value, ln_z)),
                (margin.by_received, difference(|v| at(v, ln_z).value, ln_v)),
                (curvature.bandwidth_bandwidth, difference(|z| at(ln_v, z).by_bandwidth, ln_z)),
                (curvature.bandwidth_received, difference(|v| at(v, ln_z).by_bandwidth, ln_v)),
                (curvature.received_received, difference(|v| at(v, ln_z).by_received, ln_v)),
            ] {
                prop_assert!((analytic - numeric).abs() < 1e-7 * scale, "{analytic} {numeric}");
            }
            let by_epsilon = difference(|ln_epsilon| {
                let service = ServiceClass { epsilon: f64::exp(ln_epsilon), ..qos.service };
                qos.with_service(service).margin_normalised(ln_v, ln_z).value
            }, qos.service.epsilon.ln());
            let x = f64::exp(ln_v - ln_z);
            let logs: Vec<f64> = qos.fading.nodes().iter().map(|&g| (x * g).ln_1p()).collect();
            let (value, analytic) =
                qos.margin_at_loss(qos.service.epsilon.ln(), (ln_v, ln_z), &logs);
            prop_assert!((value - margin.value).abs() < 1e-11 * scale, "{value} {}", margin.value);
            prop_assert!((analytic - by_epsilon).abs() < 1e-7 * scale, "{analytic} {by_epsilon}");
        }

        /// Checks that a class whose target is the computed loss meets its QoS with equality.
        #[test]
        fn packet_loss_is_the_root(
            qos in arbitrary_qos(), ln_v in 0.0f64..14.0, ln_z in -1.0f64..7.0,
        ) {
            let received_w = (ln_v - qos.ln_energy_scale()).exp();
            let bandwidth_hz = (ln_z - qos.ln_uses_scale()).exp();
            let loss = qos.packet_loss(received_w, bandwidth_hz);
            prop_assert!((0.0..=1.0).contains(&loss));
            if loss > 1e-250 && loss < 0.999 {
                let service = ServiceClass { epsilon: loss, ..qos.service };
                let margin = qos.with_service(service).margin_normalised(ln_v, ln_z);
                prop_assert!(margin.value.abs() < 1e-10 * (1.0 + margin.by_bandwidth.abs()));
            }
            // More power never loses more packets.
            prop_assert!(qos.packet_loss(1.5 * received_w, bandwidth_hz) <= loss * (1.0 + 1e-12));
        }
    }

    #[test]
    fn capacity_is_the_expectation_of_the_rate() {
        let system = Config::default().validate().unwrap();
        let qos = system.qos(system.service()).unwrap();
        let (received_w, bandwidth_hz) = (1e-12, 2e5);
        let laplace = qos
            .fading
            .expectation(|g| (-qos.theta() * qos.rate(received_w, bandwidth_hz, g)).exp());
        assert_relative_eq!(
            qos.effective_capacity(received_w, bandwidth_hz),
            -laplace.ln() / qos.theta(),
            max_relative = 1e-13
        );
    }

    #[test]
    fn nonsense_loses_every_packet() {
        let system = Config::default().validate().unwrap();
        let qos = system.qos(system.service()).unwrap();
        for (received_w, bandwidth_hz) in [
            (0.0, 1e5),
            (1e-12, 0.0),
            (-1.0, 1e5),
            (f64::NAN, 1e5),
            (1e-12, f64::NAN),
            (1e-30, 1e5),
        ] {
            assert_relative_eq!(qos.packet_loss(received_w, bandwidth_hz), 1.0, epsilon = 1e-12);
        }
    }
}
