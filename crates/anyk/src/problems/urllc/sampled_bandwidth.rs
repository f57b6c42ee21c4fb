//! Required bandwidth `b̂(u)` that was learned from samples of fading, with estimates of its error.

use crate::math::Piecewise;
use crate::network::ConvexLaw;
use crate::qos::BandwidthFunction;

/// Bandwidth function that was learned from samples.
#[derive(Debug, Clone, PartialEq)]
pub struct SampledBandwidth {
    /// Learned function `b̂`.
    pub law: ConvexLaw,
    /// Range of received powers for which it was learned, W.
    pub range_w: (f64, f64),
    /// Error estimates, by ascending received power.
    pub errors: Vec<ErrorPoint>,
}

/// Error estimate of `b̂` at one received power.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorPoint {
    /// Scaled received power, `ln(u/u_0)`.
    pub place: f64,
    /// Relative standard error of the root under the samples, computed from their spread.
    pub standard_error: f64,
    /// Relative amount by which `b̂` lies below that root (error of the fit); 0 if it lies above.
    pub shortfall: f64,
}

impl SampledBandwidth {
    /// Returns whether the parts are consistent, which those of a file may not be.
    pub fn is_sound(&self) -> bool {
        let (low_w, high_w) = self.range_w;
        let range = (high_w / low_w).ln();
        let ordered = low_w > 0.0 && range > 0.0 && range.is_finite();
        let same = (self.law.unit_w() / low_w - 1.0).abs() < 1e-9;
        let ascending = self.errors.windows(2).all(|pair| pair[0].place < pair[1].place);
        let errors = self.errors.iter().all(|point| {
            point.place.is_finite()
                && [point.standard_error, point.shortfall]
                    .iter()
                    .all(|error| (0.0..10.0).contains(error))
        });
        ordered && same && ascending && errors && {
            let ends = [0.0, range].map(|x| self.law.at_scaled(x));
            ends.iter().all(|(ln_hz, slope)| ln_hz.abs() < 100.0 && slope.is_finite())
        }
    }

    /// Returns the relative standard error and shortfall of `b̂` at a received power in W, by linear interpolation.
    pub fn errors_at(&self, received_w: f64) -> (f64, f64) {
        self.errors_at_scaled((received_w / self.law.unit_w()).ln())
    }

    fn errors_at_scaled(&self, x: f64) -> (f64, f64) {
        let above = self.errors.partition_point(|point| point.place < x);
        let below = above.checked_sub(1).and_then(|index| self.errors.get(index));
        match (below, self.errors.get(above)) {
            (Some(low), Some(high)) => {
                let share = (x - low.place) / (high.place - low.place);
                let between = |low: f64, high: f64| low + share * (high - low);
                (
                    between(low.standard_error, high.standard_error),
                    between(low.shortfall, high.shortfall),
                )
            }
            (Some(end), None) | (None, Some(end)) => (end.standard_error, end.shortfall),
            (None, None) => (0.0, 0.0),
        }
    }

    /// Tabulates `b̂` plus the shortfall of the fit and `deviations` standard errors, for fast evaluation. With 0
    /// standard errors it tabulates `b̂` unchanged.
    pub fn widened(&self, deviations: f64) -> WidenedBandwidth {
        let range = (self.range_w.1 / self.range_w.0).ln();
        let curve = Piecewise::interpolate((0.0, range), PIECES, |x| {
            let ln_hz = self.law.at_scaled(x).0;
            if deviations <= 0.0 {
                return ln_hz;
            }
            let (standard_error, shortfall) = self.errors_at_scaled(x);
            ln_hz + (shortfall + deviations * standard_error).ln_1p()
        });
        let end = curve.value_and_slope(range);
        let max_bandwidth_hz = curve.value(0.0).exp();
        WidenedBandwidth { min_received_w: self.range_w.0, max_bandwidth_hz, range, end, curve }
    }
}

/// Number of pieces of the table.
const PIECES: usize = 512;

/// Table of a [`SampledBandwidth`] with its errors added.
///
/// Its minimum received power is the lower end of the learned range, so a split of power stays within the range.
/// Beyond the upper end it continues as a power law.
#[derive(Debug, Clone)]
pub struct WidenedBandwidth {
    min_received_w: f64,
    max_bandwidth_hz: f64,
    /// Upper end of `ln(u/u_0)`.
    range: f64,
    /// Value and slope of `ln B` at the upper end.
    end: (f64, f64),
    curve: Piecewise<8>,
}

impl BandwidthFunction for WidenedBandwidth {
    fn min_received_w(&self) -> f64 {
        self.min_received_w
    }

    fn max_bandwidth_hz(&self) -> f64 {
        self.max_bandwidth_hz
    }

    #[inline]
    fn at_excess(&self, excess: f64) -> (f64, f64) {
        let x = excess.ln_1p();
        let (ln_hz, slope) = if x <= self.range {
            self.curve.value_and_slope(x)
        } else {
            (self.end.0 + self.end.1 * (x - self.range), self.end.1)
        };
        (ln_hz.exp(), -slope)
    }

    #[inline]
    fn bandwidth_hz(&self, excess: f64) -> f64 {
        let x = excess.ln_1p();
        let beyond = self.end.1 * (x - self.range).max(0.0);
        (self.curve.value(x.min(self.range)) + beyond).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the table is the learned function plus errors, and a straight line beyond its end.
    #[test]
    fn the_table_follows_the_law() {
        let law = ConvexLaw::start(1e-14, 14.0, 24);
        let point = |place: f64, standard_error: f64, shortfall: f64| ErrorPoint {
            place,
            standard_error,
            shortfall,
        };
        let errors = vec![point(0.0, 0.01, 0.0), point(3.0, 0.002, 1e-3), point(14.0, 0.001, 0.0)];
        let sampled = SampledBandwidth { law, range_w: (1e-14, 1e-14 * 14.0f64.exp()), errors };
        assert!(sampled.is_sound());
        for deviations in [0.0, 4.0] {
            let table = sampled.widened(deviations);
            for i in 0..=700 {
                let x = 0.02 * f64::from(i);
                let (plain_hz, slope) = sampled.law.at(1e-14 * x.exp());
                let (standard_error, shortfall) = sampled.errors_at(1e-14 * x.exp());
                let added =
                    if deviations > 0.0 { shortfall + deviations * standard_error } else { 0.0 };
                let (found_hz, elasticity) = table.at(1e-14 * x.exp()).unwrap_or_default();
                // The table smooths the kinks of the errors.
                assert!((found_hz / (plain_hz * (1.0 + added)) - 1.0).abs() < 1e-4, "{x}");
                if deviations <= 0.0 {
                    assert!((found_hz / plain_hz - 1.0).abs() < 1e-9, "{x}");
                    let exact = -slope * 1e-14 * x.exp() / plain_hz;
                    assert!((elasticity - exact).abs() < 1e-6, "{x}: {elasticity} {exact}");
                }
            }
            let (near, far) = (table.at_excess(1e7), table.at_excess(1e9));
            assert!(far.0 < near.0 && (far.1 - near.1).abs() < 1e-12);
        }
        assert!(sampled.widened(0.0).at(0.99e-14).is_none());
    }
}
