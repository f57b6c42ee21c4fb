//! Learning the required bandwidth `b(u)` where fading is known by samples alone.
//!
//! Whatever K is, `B_k = b(α_k P_k)`: one function of one variable is all there is to learn.
//!
//! - **Supervised**: labels are the roots of the QoS under the empirical measure of the samples.
//! - **Unsupervised**: no labels; the KKT condition `R(u) = E[e^(−θs)]/e^(−θS^E) − 1 = 0` itself. `R` is linear
//!   in the expectation, so that with two independent mini-batches of samples `R₁·∂R₂/∂ln b̂` is an unbiased
//!   gradient of `R²/2`.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::channel::FadingSamples;
use crate::config::System;
use crate::framework::Adam;
use crate::network::ConvexLaw;
use crate::problems::urllc::PretrainLoss;
use crate::problems::urllc::{ErrorPoint, SampledBandwidth};
use crate::qos::Qos;
use crate::qos::RequiredBandwidth;

/// How to learn from samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampledSettings {
    /// With labels or without.
    pub loss: PretrainLoss,
    /// Hidden units.
    pub units: usize,
    /// Steps of the optimizer.
    pub steps: u64,
    /// Learning rate at the start; it falls to 0 along a half cosine.
    pub rate: f64,
    /// Seed of the order and of the mini-batches.
    pub seed: u64,
}

impl SampledSettings {
    /// For a loss: 24 units, as many steps as the loss needs.
    pub fn new(loss: PretrainLoss, seed: u64) -> Self {
        let (steps, rate) = match loss {
            PretrainLoss::Supervised => (10_000, 0.03),
            PretrainLoss::Unsupervised => (16_000, 0.02),
        };
        Self { loss, units: 24, steps, rate, seed }
    }
}

/// Standard errors added to a bandwidth that was learned from samples unless said otherwise: at one received
/// power 9,999 of 10,000 draws of the samples are then on the safe side.
pub const DEVIATIONS: f64 = 3.719;

/// How often learning calls back.
pub const LEARN_PROGRESS: u64 = 50;
/// Received powers of a step, and samples of fading in each of the two mini-batches.
const POINTS: usize = 32;
const DRAWS: usize = 64;
/// Received powers that labels are made for.
const LABELS: usize = 512;
/// The range learned starts at the least received power that can be served, times this: closer to it the
/// bandwidth has a vertical tangent, and an allocation has no reason to go there.
const ABOVE_LEAST: f64 = 1.3;

/// It ends at the nearest user who has all the power, plus this in `ln u`: a fit is worst at its ends.
const ABOVE_MOST: f64 = 1.0;

/// Intervals of received power for which errors are stored.
const GRID: u32 = 128;

/// Learns `b̂` from samples of fading; `progress` is called [`LEARN_PROGRESS`] times.
pub fn learn_bandwidth(
    system: &System,
    qos: &Qos,
    samples: &FadingSamples,
    settings: &SampledSettings,
    mut progress: impl FnMut(),
) -> Option<SampledBandwidth> {
    let empirical = RequiredBandwidth::new(qos.with_fading(samples.compressed_rule()));
    let low_w = ABOVE_LEAST * empirical.min_received_w();
    let nearest = system.path_loss().gain(system.road().min_distance_m);
    let range = (nearest * system.max_power_w() / low_w).ln() + ABOVE_MOST;
    if !(range > 0.0 && range.is_finite()) {
        return None;
    }
    let mut law = ConvexLaw::start(low_w, range, settings.units);
    let mut adam = Adam::<f64>::new(law.parameters().len(), (0.9, 0.99));
    let mut gradient = vec![0.0; law.parameters().len()];
    let mut rng = ChaCha8Rng::seed_from_u64(settings.seed ^ 0xfad1_4975);
    // Denser at the low end, where b bends most.
    let place = |share: f64| range * share.powf(1.3);
    let labels: Vec<(f64, f64)> = match settings.loss {
        PretrainLoss::Unsupervised => Vec::new(),
        PretrainLoss::Supervised => (0..LABELS)
            .map(|i| {
                let x = place((i as f64 + 0.5) / LABELS as f64);
                let found = empirical.at(low_w * x.exp()).ok()?;
                Some((x, found.bandwidth_hz.ln()))
            })
            .collect::<Option<_>>()?,
    };
    let mut order: Vec<usize> = (0..LABELS).collect();
    let residual = Residual::new(qos, low_w);
    let gains = samples.as_slice();
    let mut batches = [vec![0.0; DRAWS], vec![0.0; DRAWS]];
    let mut reported = 0;
    for step in 0..settings.steps {
        gradient.fill(0.0);
        match settings.loss {
            PretrainLoss::Supervised => {
                let first = usize::try_from(step).unwrap_or(0) * POINTS % LABELS;
                if first == 0 {
                    order.shuffle(&mut rng);
                }
                for &index in &order[first..first + POINTS] {
                    let (x, label) = labels[index];
                    let off = law.at_scaled(x).0 - label;
                    law.add_gradient(x, off / POINTS as f64, &mut gradient);
                }
            }
            PretrainLoss::Unsupervised => {
                for gain in batches.iter_mut().flatten() {
                    *gain = gains[rng.random_range(0..gains.len())];
                }
                for point in 0..POINTS {
                    // One received power in each of equal shares of the range.
                    let x = place((point as f64 + rng.random::<f64>()) / POINTS as f64);
                    let ln_hz = law.at_scaled(x).0;
                    let (first, _) = residual.at(x, ln_hz, &batches[0]);
                    let (_, slope) = residual.at(x, ln_hz, &batches[1]);
                    let upstream = first.clamp(-1.0, 1.0) * slope.clamp(-10.0, 0.0);
                    law.add_gradient(x, upstream / POINTS as f64, &mut gradient);
                }
            }
        }
        let phase = std::f64::consts::PI * step as f64 / settings.steps as f64;
        let rate = settings.rate * 0.5 * (1.0 + phase.cos());
        adam.descend(law.parameters_mut(), &gradient, rate);
        while reported * settings.steps < (step + 1) * LEARN_PROGRESS {
            reported += 1;
            progress();
        }
    }
    let law = ConvexLaw::new(law.unit_w(), law.parameters().to_vec())?;
    let errors = (0..=GRID)
        .map(|i| {
            let place = range * (f64::from(i) / f64::from(GRID)).powf(1.5);
            let (standard_error, shortfall) = residual.errors(place, law.at_scaled(place).0, gains);
            ErrorPoint { place, standard_error, shortfall }
        })
        .collect();
    Some(SampledBandwidth { law, range_w: (low_w, low_w * range.exp()), errors })
}

/// The QoS as the mean of `e^(−θ(s − S^E)) − 1` over fading states.
#[derive(Debug, Clone, Copy)]
struct Residual {
    kappa: f64,
    quantile: f64,
    demand: f64,
    /// `ln(u_0·τ/N_0)` and `ln τ`.
    ln_energy: f64,
    ln_uses: f64,
}

impl Residual {
    fn new(qos: &Qos, unit_w: f64) -> Self {
        Self {
            kappa: qos.kappa(),
            quantile: qos.service().decoding_quantile(),
            demand: qos.theta() * qos.effective_bandwidth(),
            ln_energy: unit_w.ln() + qos.ln_energy_scale(),
            ln_uses: qos.ln_uses_scale(),
        }
    }

    /// `R` and `∂R/∂ln B` at `ln(u/u_0)` and `ln B`, as means over fading states.
    fn at(&self, x: f64, ln_hz: f64, gains: &[f64]) -> (f64, f64) {
        let (mut sum, mut slope) = (0.0, 0.0);
        self.each(x, ln_hz, gains, |term, by_bandwidth| {
            sum += term;
            slope += term * by_bandwidth;
        });
        let count = gains.len() as f64;
        (sum / count - 1.0, slope / count)
    }

    /// Relative standard error of the bandwidth that makes the mean of `R` over the samples 0, and how far
    /// the one given is below it.
    fn errors(&self, x: f64, ln_hz: f64, gains: &[f64]) -> (f64, f64) {
        let (mut sum, mut squares, mut slope) = (0.0, 0.0, 0.0);
        self.each(x, ln_hz, gains, |term, by_bandwidth| {
            sum += term;
            squares += term * term;
            slope += term * by_bandwidth;
        });
        let count = gains.len() as f64;
        let mean = sum / count;
        let variance = (squares / count - mean * mean).max(0.0) / (count - 1.0);
        // At the fold the slope is 0 and the error has no bound; b̂ is not learned that close.
        let steepness = (-slope / count).max(1e-3);
        (variance.sqrt() / steepness, ((mean - 1.0) / steepness).max(0.0))
    }

    /// Calls `f` with `e^(−θ(s − S^E))` and its logarithmic derivative by `ln B` for each fading state.
    fn each(&self, x: f64, ln_hz: f64, gains: &[f64], mut f: impl FnMut(f64, f64)) {
        let ln_z = ln_hz + self.ln_uses;
        let snr = (x + self.ln_energy - ln_z).exp();
        let uses = self.kappa * ln_z.exp();
        let back_off = self.kappa * self.quantile * (0.5 * ln_z).exp();
        for gain in gains {
            let y = snr * gain;
            let l = y.ln_1p();
            let term = (self.demand + back_off - uses * l).exp();
            f(term, 0.5 * back_off - uses * (l - y / (1.0 + y)));
        }
    }
}
