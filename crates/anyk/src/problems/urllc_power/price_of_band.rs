//! Price of power at which the bandwidths of users fill a band.

use crate::math::{PriceSearch, price_of_budget};
use crate::network::{ClassResponse, PowerSplit};
use crate::qos::BandwidthFunction;

/// Users of one cell at the price that fills a band. Buffers are reused for the next cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct PriceOfBand {
    split: PowerSplit,
    bandwidth_hz: Vec<f64>,
}

impl PriceOfBand {
    pub(crate) fn split_of(&self) -> &PowerSplit {
        &self.split
    }

    pub(crate) fn bandwidth_hz(&self) -> &[f64] {
        &self.bandwidth_hz
    }

    /// Splits a band among users given by class and gain. Returns `false` if no power is sufficient.
    pub(crate) fn split<B: BandwidthFunction>(
        &mut self,
        responses: &[ClassResponse],
        bandwidths: &[B],
        users: impl Iterator<Item = (usize, f64)>,
        target_hz: f64,
    ) -> bool {
        self.split.clear();
        let mut fold_hz = 0.0;
        for (class, gain) in users {
            let bandwidth = &bandwidths[class];
            let most_hz = bandwidth.max_bandwidth_hz();
            fold_hz += most_hz;
            self.split.push(class, bandwidth.min_received_w() / gain, most_hz.ln());
        }
        // If the band is wider than all users can use, the price of power is unbounded; use the price at almost
        // this width.
        let wide_hz = (1.0 - 1e-7) * fold_hz;
        let target_hz = target_hz.min(wide_hz);
        let search = PriceSearch { tolerance: 1e-13, bracket: 1e-14, stride: 5.0 };
        let found = if target_hz > 0.5 * fold_hz {
            price_of_budget(search, fold_hz - target_hz, 0.0, |ln_price| {
                let (sum, slope) = self.respond(responses, bandwidths, ln_price);
                (fold_hz - sum, -slope)
            })
        } else {
            price_of_budget(search, target_hz, 0.0, |ln_inverse| {
                let (sum, slope) = self.respond(responses, bandwidths, -ln_inverse);
                (sum, -slope)
            })
        };
        let sum_hz: f64 = self.bandwidth_hz.iter().sum();
        found.total.is_finite() && (sum_hz / target_hz - 1.0).abs() < 1e-9
    }

    /// Computes `Σ b_k` at a price of power, and its derivative with respect to the logarithm of the price.
    fn respond<B: BandwidthFunction>(
        &mut self,
        responses: &[ClassResponse],
        bandwidths: &[B],
        ln_price: f64,
    ) -> (f64, f64) {
        self.split.respond_to(responses, ln_price);
        self.bandwidth_hz.clear();
        let (mut sum, mut by_price) = (0.0, 0.0);
        for (user, &excess) in self.split.excess().iter().enumerate() {
            let (own_hz, elasticity) = bandwidths[self.split.classes()[user]].at_excess(excess);
            let of_response_hz = -own_hz * elasticity * excess / (1.0 + excess);
            sum += own_hz;
            by_price += of_response_hz * self.split.slopes()[user];
            self.bandwidth_hz.push(own_hz);
        }
        (sum, by_price)
    }
}
