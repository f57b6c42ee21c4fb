//! Learning of the required bandwidth `b(u)` if the fading distribution is known only through samples.
//!
//! For any K, `B_k = b(α_k P_k)`, so only one function of one variable must be learned.
//!
//! - **Supervised**: labels are the roots of the QoS under the empirical distribution of the samples.
//! - **Unsupervised**: no labels, but the KKT condition `R(u) = E[e^(−θs)]/e^(−θS^E) − 1 = 0` itself. `R` is
//!   linear in the expectation, so with two independent mini-batches of samples `R₁·∂R₂/∂ln b̂` is an unbiased
//!   gradient of `R²/2`.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::channel::FadingSamples;
use crate::config::System;
use crate::framework::batches::{Batches, Order};
use crate::framework::{Objective, Plan, PretrainLoss, Session, TrainError, Update};
use crate::network::ConvexLaw;
use crate::problems::urllc::{ErrorPoint, SampledBandwidth};
use crate::qos::{Qos, RequiredBandwidth};

/// Settings for learning from samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampledSettings {
    /// Loss: supervised or unsupervised.
    pub loss: PretrainLoss,
    /// Number of hidden units.
    pub units: usize,
    /// Number of optimizer steps.
    pub steps: u64,
    /// Initial learning rate; it falls to 0 along a half cosine.
    pub rate: f64,
    /// Seed of the order and of the mini-batches.
    pub seed: u64,
}

impl SampledSettings {
    /// Returns the settings for a loss: 24 units, and the number of steps that the loss needs.
    pub fn new(loss: PretrainLoss, seed: u64) -> Self {
        let (steps, rate) = match loss {
            PretrainLoss::Supervised => (10_000, 0.03),
            PretrainLoss::Unsupervised => (16_000, 0.02),
        };
        Self { loss, units: 24, steps, rate, seed }
    }
}

/// Default number of standard errors added to a bandwidth that was learned from samples. At one received power,
/// 9,999 of 10,000 sets of samples are then on the safe side.
pub const DEVIATIONS: f64 = 3.719;

/// Number of received powers in a step, and of fading samples in each of the two mini-batches.
const POINTS: usize = 32;
const DRAWS: usize = 64;
/// Number of received powers with labels.
const LABELS: usize = 512;
/// Ratio of the lowest received power in the learned range to the minimum that can be served. The bandwidth
/// has a vertical tangent at the minimum, and no reasonable allocation is closer to it.
const ABOVE_LEAST: f64 = 1.3;

/// Margin in `ln u` by which the learned range exceeds the received power of the nearest user with the whole budget. A
/// fit is least accurate at the ends of its range.
const ABOVE_MOST: f64 = 1.0;

/// Number of intervals of received power for which errors are stored.
const GRID: u32 = 128;

/// Maps a share of the range to a point; points are denser at the low end, where b bends most.
fn place(range: f64, share: f64) -> f64 {
    range * share.powf(1.3)
}

/// Learns `b̂` from samples of fading.
pub fn learn_bandwidth(
    system: &System,
    qos: &Qos,
    samples: &FadingSamples,
    settings: &SampledSettings,
    session: &mut Session<'_>,
) -> Result<SampledBandwidth, TrainError> {
    let unreachable = || {
        TrainError::Infeasible(
            "it is too small even for one user at the point of the road nearest to the base station"
                .into(),
        )
    };
    let empirical = RequiredBandwidth::new(qos.with_fading(samples.compressed_rule()));
    let low_w = ABOVE_LEAST * empirical.min_received_w();
    let nearest = system.path_loss().gain(system.road().min_distance_m);
    let range = (nearest * system.max_power_w() / low_w).ln() + ABOVE_MOST;
    if !(range > 0.0 && range.is_finite()) {
        return Err(unreachable());
    }
    let labels: Vec<(f64, f64)> = match settings.loss {
        PretrainLoss::Unsupervised => Vec::new(),
        PretrainLoss::Supervised => (0..LABELS)
            .map(|i| {
                let x = place(range, (i as f64 + 0.5) / LABELS as f64);
                let found = empirical.at(low_w * x.exp()).map_err(|_| unreachable())?;
                Ok((x, found.bandwidth_hz.ln()))
            })
            .collect::<Result<_, TrainError>>()?,
    };
    let residual = Residual::new(qos, low_w);
    let gains = samples.as_slice();
    let rng = ChaCha8Rng::seed_from_u64(settings.seed ^ 0xfad1_4975);
    let mut objective = BandwidthObjective {
        loss: settings.loss,
        range,
        law: ConvexLaw::start(low_w, range, settings.units),
        labels,
        batches: Batches::new(rng.clone(), LABELS, POINTS, Order::Whole),
        residual,
        gains,
        draws: Draws::new(rng),
    };
    let plan = Plan {
        update: Update::Adam { beta1: 0.9, beta2: 0.99 },
        attempts: 1,
        ..Plan::cosine(settings.steps, settings.rate)
    };
    let parameters = session.train("bandwidth", &plan, &mut objective)?;
    let diverged =
        || TrainError::Diverged { stage: "bandwidth".into(), attempts: 1, step: settings.steps };
    let law = ConvexLaw::new(low_w, parameters).ok_or_else(diverged)?;
    let errors = (0..=GRID)
        .map(|i| {
            let place = range * (f64::from(i) / f64::from(GRID)).powf(1.5);
            let (standard_error, shortfall) = residual.errors(place, law.at_scaled(place).0, gains);
            ErrorPoint { place, standard_error, shortfall }
        })
        .collect();
    Ok(SampledBandwidth { law, range_w: (low_w, low_w * range.exp()), errors })
}

/// Objective that compares `b̂` with its labels, or with the QoS itself.
struct BandwidthObjective<'a> {
    loss: PretrainLoss,
    range: f64,
    law: ConvexLaw,
    labels: Vec<(f64, f64)>,
    batches: Batches,
    residual: Residual,
    gains: &'a [f64],
    draws: Draws,
}

/// Random draws of the unsupervised steps: two mini-batches of fading states, and the positions of the received
/// powers.
struct Draws {
    start: ChaCha8Rng,
    rng: ChaCha8Rng,
    made: u64,
    batches: [Vec<f64>; 2],
    shares: [f64; POINTS],
}

impl Draws {
    fn new(rng: ChaCha8Rng) -> Self {
        let batches = [vec![0.0; DRAWS], vec![0.0; DRAWS]];
        Self { start: rng.clone(), rng, made: 0, batches, shares: [0.0; POINTS] }
    }

    /// Draws the values of a step. Earlier steps are drawn first if necessary.
    fn at(&mut self, step: u64, gains: &[f64]) {
        if step + 1 < self.made {
            self.rng = self.start.clone();
            self.made = 0;
        }
        while self.made <= step {
            self.made += 1;
            for gain in self.batches.iter_mut().flatten() {
                *gain = gains[self.rng.random_range(0..gains.len())];
            }
            for share in &mut self.shares {
                *share = self.rng.random::<f64>();
            }
        }
    }
}

impl Objective<f64> for BandwidthObjective<'_> {
    fn start(&mut self, _attempt: u32) -> Vec<f64> {
        self.law.parameters().to_vec()
    }

    fn step(&mut self, step: u64, parameters: &[f64], gradient: &mut [f64]) -> f64 {
        self.law.parameters_mut().copy_from_slice(parameters);
        gradient.fill(0.0);
        let mut loss = 0.0;
        match self.loss {
            PretrainLoss::Supervised => {
                for &index in self.batches.at(step) {
                    let (x, label) = self.labels[index];
                    let off = self.law.at_scaled(x).0 - label;
                    loss += 0.5 * off * off / POINTS as f64;
                    self.law.add_gradient(x, off / POINTS as f64, gradient);
                }
            }
            PretrainLoss::Unsupervised => {
                self.draws.at(step, self.gains);
                for (point, share) in self.draws.shares.iter().enumerate() {
                    // One received power in each of equal shares of the range.
                    let x = place(self.range, (point as f64 + share) / POINTS as f64);
                    let ln_hz = self.law.at_scaled(x).0;
                    let (first, _) = self.residual.at(x, ln_hz, &self.draws.batches[0]);
                    let (_, slope) = self.residual.at(x, ln_hz, &self.draws.batches[1]);
                    loss += 0.5 * first.clamp(-1.0, 1.0).powi(2) / POINTS as f64;
                    let upstream = first.clamp(-1.0, 1.0) * slope.clamp(-10.0, 0.0);
                    self.law.add_gradient(x, upstream / POINTS as f64, gradient);
                }
            }
        }
        loss
    }
}

/// Residual of the QoS: the mean of `e^(−θ(s − S^E)) − 1` over fading states.
#[derive(Debug, Clone, Copy)]
struct Residual {
    kappa: f64,
    quantile: f64,
    demand: f64,
    /// Largest rate in nats for each channel use; infinite without a limit.
    most: f64,
    /// Logarithms `ln(u_0·τ/N_0)` and `ln τ`.
    ln_energy: f64,
    ln_uses: f64,
}

impl Residual {
    fn new(qos: &Qos, unit_w: f64) -> Self {
        Self {
            kappa: qos.kappa(),
            quantile: qos.service().decoding_quantile(),
            demand: qos.theta() * qos.effective_bandwidth(),
            most: qos.max_nats(),
            ln_energy: unit_w.ln() + qos.ln_energy_scale(),
            ln_uses: qos.ln_uses_scale(),
        }
    }

    /// Computes `R` and `∂R/∂ln B` at `ln(u/u_0)` and `ln B`, as means over fading states.
    fn at(&self, x: f64, ln_hz: f64, gains: &[f64]) -> (f64, f64) {
        let (mut sum, mut slope) = (0.0, 0.0);
        self.each(x, ln_hz, gains, |term, by_bandwidth| {
            sum += term;
            slope += term * by_bandwidth;
        });
        let count = gains.len() as f64;
        (sum / count - 1.0, slope / count)
    }

    /// Returns the relative standard error of the bandwidth at which the mean of `R` over the samples is 0, and how far
    /// the given bandwidth lies below it.
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
        // At the fold the slope is 0 and the error is unbounded; b̂ is not learned that close to it.
        let steepness = (-slope / count).max(1e-3);
        (variance.sqrt() / steepness, ((mean - 1.0) / steepness).max(0.0))
    }

    /// Calls `f` with `e^(−θ(s − S^E))` and its logarithmic derivative with respect to `ln B` for each fading
    /// state.
    fn each(&self, x: f64, ln_hz: f64, gains: &[f64], mut f: impl FnMut(f64, f64)) {
        let ln_z = ln_hz + self.ln_uses;
        let snr = (x + self.ln_energy - ln_z).exp();
        let uses = self.kappa * ln_z.exp();
        let back_off = self.kappa * self.quantile * (0.5 * ln_z).exp();
        // Above the ceiling, θs = κηz.
        let limit = uses * self.most;
        for gain in gains {
            let y = snr * gain;
            let l = y.ln_1p();
            if uses * l - back_off >= limit {
                f((self.demand - limit).exp(), -limit);
                continue;
            }
            let term = (self.demand + back_off - uses * l).exp();
            f(term, 0.5 * back_off - uses * (l - y / (1.0 + y)));
        }
    }
}
