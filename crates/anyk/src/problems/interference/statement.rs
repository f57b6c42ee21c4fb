//! Problems (P2-case1) and (P2-D2D): maximize the sum rate of links that share a band.

use serde::Serialize;

use crate::channel::GainMatrix;
use crate::invalid::Invalid;
use crate::problems::interference::LinkField;
use crate::tolerance;

/// Power control in an interference network (paper, eq. (P2-case1), in which all weights are 1):
///
/// ```text
/// max  Σ_k w_k log2(1 + P_k g_kk / (Σ_{j≠k} P_j g_kj + σ_0))     s.t.   0 ≤ P_k ≤ P_max
///  P
/// ```
///
/// Link scheduling (P2-D2D) is the same problem with `P_k` either 0 or `P_max`. Each link may have its own noise
/// and maximum power.
///
/// Internally, the noise and `P_max` are the units: gains are `g·P_max/σ_0` (`g_kj P_j/σ_k` if links differ),
/// powers are in [0, 1], and the noise is 1. Policies need only gains and weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Interference {
    /// Normalized gains `g_kj·P_max/σ_0`.
    gains: GainMatrix,
    /// Maximum power of each transmitter.
    max_power: Vec<f64>,
    /// Noise power at each receiver.
    noise: Vec<f64>,
    /// Weight of each link; `None` if all are 1.
    weights: Option<Vec<f64>>,
    /// Whether powers must be 0 or `P_max`.
    schedules: bool,
}

/// Assessment of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PowerAssessment {
    /// Whether every power is between 0 and `P_max`.
    pub feasible: bool,
    /// Whether every power is 0 or `P_max` (to 1e-3 of it, as in the paper): a schedule.
    pub binary: bool,
    /// Sum of the rates, bit/s/Hz.
    pub sum_rate_bits: f64,
    /// Weighted sum rate, bit/s/Hz: the objective if links have weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weighted_sum_rate_bits: Option<f64>,
    /// Violation of first-order optimality: the largest change of a power, in units of `P_max`, in one projected
    /// gradient step (of the rate in nats, with the weights divided by the largest). It is 0 at every stationary point,
    /// and thus at every local optimum.
    pub kkt_residual: f64,
    /// Largest gain in the objective from switching a single link (to 0 or `P_max`), bit/s/Hz; 0 or negative if
    /// no switch helps.
    pub best_switch_bits: f64,
}

impl Interference {
    /// Builds a network from gains, the maximum power of each transmitter and the noise power, in the same unit.
    pub fn new(gains: GainMatrix, max_power: f64, noise: f64) -> Result<Self, Invalid> {
        for (name, value) in [("the maximum power", max_power), ("the noise", noise)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Invalid::number(name, value, "a positive number"));
            }
        }
        let size = gains.size();
        Self::of_links(gains, vec![max_power; size], vec![noise; size])
    }

    /// Builds a network with a maximum power and a noise power for each link, in the same unit.
    pub fn of_links(
        gains: GainMatrix,
        max_power: Vec<f64>,
        noise: Vec<f64>,
    ) -> Result<Self, Invalid> {
        let size = gains.size();
        for (field, values) in [(LinkField::MaxPower, &max_power), (LinkField::Noise, &noise)] {
            field.check_each(values, size)?;
        }
        // This also rejects 0 times an infinite scale, which is NaN.
        let quiet = |gain: f64| (0.0..=tolerance::LOUDEST).contains(&gain);
        for (row, noise) in noise.iter().enumerate() {
            let loud = |(gain, power): (&f64, &f64)| !quiet(gain * (power / noise));
            if let Some(column) = gains.row(row).iter().zip(&max_power).position(loud) {
                let field = format!("row {row}, column {column}: the gain");
                let expected = "at most 1e100 times the noise at full power";
                return Err(Invalid::number(field, gains.row(row)[column], expected));
            }
        }
        let gains = gains.scaled(|row, column| max_power[column] / noise[row]);
        Ok(Self { gains, max_power, noise, weights: None, schedules: false })
    }

    /// Returns the network with weights of the links' rates. If all weights are 1, it stores none.
    pub fn with_weights(mut self, weights: Vec<f64>) -> Result<Self, Invalid> {
        LinkField::Weights.check_each(&weights, self.size())?;
        let plain = weights.iter().all(|weight| weight.total_cmp(&1.0).is_eq());
        self.weights = (!plain).then_some(weights);
        Ok(self)
    }

    /// Sets whether powers must be 0 or `P_max`.
    #[must_use]
    pub fn scheduling(self, schedules: bool) -> Self {
        Self { schedules, ..self }
    }

    /// Returns whether powers must be 0 or `P_max`.
    pub fn is_scheduling(&self) -> bool {
        self.schedules
    }

    /// Returns the network with some of its links, or all in another order: link `order[i]` gets index `i`.
    #[must_use]
    pub fn reordered(&self, order: &[usize]) -> Self {
        let moved = |values: &Vec<f64>| order.iter().map(|&link| values[link]).collect();
        Self {
            gains: self.gains.reordered(order),
            max_power: moved(&self.max_power),
            noise: moved(&self.noise),
            weights: self.weights.as_ref().map(moved),
            schedules: self.schedules,
        }
    }

    /// Returns the number of links `K`.
    pub fn size(&self) -> usize {
        self.gains.size()
    }

    /// Returns the weights of the links; `None` if all are 1.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// Returns the weight of a link.
    pub fn weight(&self, link: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[link])
    }

    /// Returns the gains in units of the noise at full power, `g·P_max/σ_0`.
    pub fn normalised(&self) -> &GainMatrix {
        &self.gains
    }

    /// Returns the maximum power `P_max` of each transmitter.
    pub fn max_power(&self) -> &[f64] {
        &self.max_power
    }

    /// Returns the noise power `σ_0` at each receiver.
    pub fn noise(&self) -> &[f64] {
        &self.noise
    }

    /// Returns the powers as shares of `P_max`, from 0 to 1.
    pub fn shares(&self, powers: &[f64]) -> Vec<f64> {
        let pairs = powers.iter().zip(&self.max_power);
        pairs.map(|(power, most)| (power / most).clamp(0.0, 1.0)).collect()
    }

    /// Returns the rates of all links, bit/s/Hz, for powers as shares of `P_max`.
    pub fn rates_bits<'a>(&'a self, shares: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        (0..self.size()).map(|link| {
            let signal = self.gains.direct(link) * shares[link];
            (signal / (1.0 + self.heard(link, shares))).ln_1p() / std::f64::consts::LN_2
        })
    }

    /// Returns the objective for powers as shares of `P_max`: the weighted sum of the rates, bit/s/Hz.
    pub fn sum_rate_bits(&self, shares: &[f64]) -> f64 {
        match &self.weights {
            None => self.rates_bits(shares).sum(),
            Some(weights) => {
                self.rates_bits(shares).zip(weights).map(|(rate, weight)| rate * weight).sum()
            }
        }
    }

    /// Returns the interference at a receiver, in units of the noise.
    fn heard(&self, link: usize, shares: &[f64]) -> f64 {
        let row = self.gains.row(link);
        dot(&row[..link], &shares[..link]) + dot(&row[link + 1..], &shares[link + 1..])
    }

    /// Computes the objective in nats and its gradient with respect to the shares of `P_max`.
    pub fn value_and_gradient(&self, shares: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        let mut value = 0.0;
        for link in 0..self.size() {
            let heard = 1.0 + self.heard(link, shares);
            let (direct, signal) =
                (self.gains.direct(link), self.gains.direct(link) * shares[link]);
            // Multiplication by a weight of 1 is exact.
            let weight = self.weight(link);
            value += weight * (signal / heard).ln_1p();
            let harm = weight * (signal / (heard * (heard + signal)));
            for (slot, gain) in gradient.iter_mut().zip(self.gains.row(link)) {
                *slot -= harm * gain;
            }
            gradient[link] += harm * direct + weight * (direct / (heard + signal));
        }
        value
    }

    /// Judges powers (not shares): whether they are feasible and a schedule, their value, and the distance to a
    /// local optimum.
    pub fn assess(&self, powers: &[f64]) -> Result<PowerAssessment, Invalid> {
        let links = self.size();
        if powers.len() != links {
            let expected = format!("{links}, one for each link");
            return Err(Invalid::value("the number of powers", powers.len(), expected));
        }
        let feasible = powers
            .iter()
            .zip(&self.max_power)
            .all(|(&power, most)| power >= 0.0 && power <= most * (1.0 + tolerance::BUDGET));
        let shares = self.shares(powers);
        let mut gradient = vec![0.0; links];
        self.value_and_gradient(&shares, &mut gradient);
        let largest = self.weights().map_or(1.0, |all| all.iter().copied().fold(0.0, f64::max));
        let kkt_residual = gradient
            .iter()
            .zip(&shares)
            .map(|(slope, share)| ((share + slope / largest).clamp(0.0, 1.0) - share).abs())
            .fold(0.0, f64::max);
        Ok(PowerAssessment {
            feasible,
            binary: shares.iter().all(|&share| is_binary(share)),
            sum_rate_bits: self.rates_bits(&shares).sum(),
            weighted_sum_rate_bits: self.weights().map(|_| self.sum_rate_bits(&shares)),
            kkt_residual,
            best_switch_bits: self.best_switch_bits(&shares),
        })
    }

    /// Returns the largest change of the objective if one link is switched to 0 or to `P_max`.
    fn best_switch_bits(&self, shares: &[f64]) -> f64 {
        let size = self.size();
        let heard: Vec<f64> = (0..size).map(|link| 1.0 + self.heard(link, shares)).collect();
        let signal = |link: usize, share: f64| self.gains.direct(link) * share;
        let mut best = f64::NEG_INFINITY;
        for link in 0..size {
            for share in [0.0, 1.0] {
                let change = share - shares[link];
                if change.abs() <= tolerance::BINARY {
                    continue;
                }
                let mut gain = (signal(link, share) / heard[link]).ln_1p()
                    - (signal(link, shares[link]) / heard[link]).ln_1p();
                gain *= self.weight(link);
                for other in (0..size).filter(|&other| other != link && shares[other] > 0.0) {
                    let signal = signal(other, shares[other]);
                    let then = (heard[other] + change * self.gains.row(other)[link]).max(1.0);
                    gain += self.weight(other)
                        * ((signal / then).ln_1p() - (signal / heard[other]).ln_1p());
                }
                best = best.max(gain / std::f64::consts::LN_2);
            }
        }
        best
    }
}

/// Returns the sum of products in eight partial sums, which compile to vector instructions.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a_chunks, a_rest) = a.as_chunks::<8>();
    let (b_chunks, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for i in 0..8 {
            sums[i] += a[i] * b[i];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// Returns whether a share of `P_max` counts as 0 or 1.
pub(crate) fn is_binary(share: f64) -> bool {
    share <= tolerance::BINARY || share >= 1.0 - tolerance::BINARY
}
