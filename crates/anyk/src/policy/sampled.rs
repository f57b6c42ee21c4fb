//! A policy for fading of unknown law: powers and bandwidths of any number of users from one learned `b̂(u)`.

use serde::{Deserialize, Serialize};

use crate::config::{Config, System};
use crate::network::ConvexLaw;
use crate::policy::ModelError;
use crate::problem::Allocation;
use crate::training::{SampledBandwidth, SampledSettings};

/// How a [`SampledPolicy`] came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampledRecord {
    /// The cell; its fading law is not used.
    pub config: Config,
    /// How `b̂` was learned.
    pub training: SampledSettings,
    /// Samples of fading that it was learned from.
    pub samples: usize,
    /// Standard errors of `b̂` that are added to it, and with them what its fit falls short; 0 for `b̂` as it is.
    pub deviations: f64,
    /// Received powers that `b̂` was learned for, W.
    pub range_w: (f64, f64),
}

/// `B_k = b̂(α_k P_k)`, with the powers at which everyone's price `−α_k b̂'(α_k P_k)` is the same. The bandwidth
/// is then widened by [`deviations`](SampledRecord::deviations) standard errors of `b̂`.
#[derive(Debug, Clone)]
pub struct SampledPolicy {
    record: SampledRecord,
    system: System,
    bandwidth: SampledBandwidth,
    /// `ln(−b̂'(u))` on an even grid of `ln(u/u_0)`: descending, since `b̂` is convex.
    ln_prices: Vec<f64>,
    range: f64,
}

/// Intervals of the grid.
const INTERVALS: usize = 2048;

impl SampledPolicy {
    /// From a record and what was learned; an error says what does not fit.
    pub fn new(record: SampledRecord, bandwidth: SampledBandwidth) -> Result<Self, ModelError> {
        let system = record.config.validate()?;
        let (low_w, high_w) = record.range_w;
        let range = (high_w / low_w).ln();
        let ordered = low_w > 0.0 && range > 0.0 && range.is_finite();
        let same = (bandwidth.law.unit_w() / low_w - 1.0).abs() < 1e-9;
        let errors = &bandwidth.errors;
        let sound = errors.windows(2).all(|pair| pair[0].place < pair[1].place)
            && errors.iter().all(|point| {
                point.place.is_finite()
                    && [point.standard_error, point.shortfall]
                        .iter()
                        .all(|error| (0.0..10.0).contains(error))
            });
        if !(ordered && same && sound && (0.0..=100.0).contains(&record.deviations)) {
            return Err(ModelError::Content("the parts of the model do not fit together".into()));
        }
        let ln_prices = (0..=INTERVALS)
            .map(|i| {
                let x = range * i as f64 / INTERVALS as f64;
                let (ln_hz, slope) = bandwidth.law.at_scaled(x);
                ln_hz - low_w.ln() - x + (-slope).ln()
            })
            .collect();
        Ok(Self { record, system, bandwidth, ln_prices, range })
    }

    /// The same policy with another number of standard errors added to `b̂`.
    pub fn with_deviations(&self, deviations: f64) -> Result<Self, ModelError> {
        let record = SampledRecord { deviations, ..self.record.clone() };
        Self::new(record, self.bandwidth.clone())
    }

    /// How it came about.
    pub fn record(&self) -> &SampledRecord {
        &self.record
    }

    /// The cell.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// What was learned.
    pub fn bandwidth(&self) -> &SampledBandwidth {
        &self.bandwidth
    }

    /// `b̂`.
    pub fn law(&self) -> &ConvexLaw {
        &self.bandwidth.law
    }

    /// Powers and bandwidths of users with these gains.
    pub fn allocate(&self, gains: &[f64], allocation: &mut Allocation) {
        let max_power_w = self.system.max_power_w();
        let ln_gains: Vec<f64> = gains.iter().map(|gain| gain.ln()).collect();
        let (low_w, _) = self.record.range_w;
        let power_w = |ln_price: f64, ln_gain: f64| {
            low_w * (self.respond(ln_price - ln_gain) - ln_gain).exp()
        };
        let total = |ln_price: f64| -> f64 {
            ln_gains.iter().map(|&ln_gain| power_w(ln_price, ln_gain)).sum()
        };
        // The total falls with the price: between one at which everyone asks for the most and one at which
        // everyone asks for the least.
        let ends =
            ln_gains.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &gain| {
                (low.min(gain), high.max(gain))
            });
        let (mut low, mut high) = (self.ln_prices[INTERVALS] + ends.0, self.ln_prices[0] + ends.1);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if total(middle) > max_power_w {
                low = middle;
            } else {
                high = middle;
            }
        }
        allocation.power_w.clear();
        allocation.power_w.extend(ln_gains.iter().map(|&ln_gain| power_w(high, ln_gain)));
        // The whole budget, to rounding; also where the range of b̂ ends before it is spent or met.
        let scale = max_power_w / allocation.total_power_w();
        allocation.bandwidth_hz.clear();
        for (power_w, &gain) in allocation.power_w.iter_mut().zip(gains) {
            *power_w *= scale;
            let received_w = gain * *power_w;
            let widened_hz = self.bandwidth.widened_hz(received_w, self.record.deviations);
            allocation.bandwidth_hz.push(widened_hz);
        }
    }

    /// `ln(u/u_0)` at which the price of received power is given, within the range.
    fn respond(&self, ln_price: f64) -> f64 {
        let above = self.ln_prices.partition_point(|&price| price > ln_price);
        let step = self.range / INTERVALS as f64;
        match (above.checked_sub(1), self.ln_prices.get(above)) {
            (Some(before), Some(&next)) => {
                let last = self.ln_prices[before];
                step * (before as f64 + (last - ln_price) / (last - next))
            }
            (None, _) => 0.0,
            (_, None) => self.range,
        }
    }
}
