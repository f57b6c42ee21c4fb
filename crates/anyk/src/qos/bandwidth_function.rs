//! Bandwidth as an activation of the received power: `B_k = b(α_k P_k)`, one function for a service
//! class, whatever the number of users.

use std::sync::Arc;

use crate::qos::{BandwidthTable, Curve, Qos};
use crate::tolerance;

/// `b(u)` on `u ≥ u_min`: decreasing and convex, with a vertical tangent at its end. Known from
/// quadrature ([`KnownBandwidth`]), or learned.
///
/// The variable is the excess `e = u/u_min − 1`, since next to `u_min` a small change of `u` is a large one
/// of `b`.
pub trait BandwidthFunction {
    /// Smallest received power `u_min` that is served, W.
    fn min_received_w(&self) -> f64;

    /// Bandwidth there, Hz: the largest.
    fn max_bandwidth_hz(&self) -> f64;

    /// Bandwidth in Hz and elasticity `−d ln b/d ln u` at an excess that is not negative.
    fn at_excess(&self, excess: f64) -> (f64, f64);

    /// The excess from which on more power saves no bandwidth; infinite if there is none.
    fn max_excess(&self) -> f64 {
        f64::INFINITY
    }

    /// The bandwidth alone.
    fn bandwidth_hz(&self, excess: f64) -> f64 {
        self.at_excess(excess).0
    }

    /// `e` at a received power in W; `None` below the smallest, and for what is no power.
    fn excess(&self, received_w: f64) -> Option<f64> {
        let excess = received_w / self.min_received_w() - 1.0;
        (excess >= 0.0 && excess.is_finite()).then_some(excess)
    }

    /// Bandwidth and elasticity at a received power in W, if there is one.
    fn at(&self, received_w: f64) -> Option<(f64, f64)> {
        self.excess(received_w).map(|excess| self.at_excess(excess))
    }
}

/// `b(u)` of a known law of fading, rounded up by its error bound: a user with this bandwidth has its QoS.
///
/// That is the certificate of the hot path. The curve comes from quadrature, its error was measured
/// between all nodes when the table was built (`qos/bandwidth_table.rs`), and it is entered at a
/// received power lower by [`tolerance::ROUNDING`], exactly as the solver does.
#[derive(Debug, Clone)]
pub struct KnownBandwidth {
    curve: Curve,
    min_received_w: f64,
    max_bandwidth_hz: f64,
    /// `(1 + error bound)/τ`.
    hz_per_use: f64,
}

impl KnownBandwidth {
    /// From a table; the exact form behind it where the table's error bound is too large.
    pub fn new(table: Arc<BandwidthTable>) -> Self {
        Self::of(Curve::new(table))
    }

    pub(crate) fn of(curve: Curve) -> Self {
        let (exact, error) = (curve.exact(), curve.error_bounds().0);
        Self {
            min_received_w: exact.min_received_w() * (1.0 + tolerance::ROUNDING),
            max_bandwidth_hz: exact.max_bandwidth_hz(),
            hz_per_use: (-exact.qos().ln_uses_scale()).exp() * (1.0 + error),
            curve,
        }
    }

    /// The constraint behind it.
    pub fn qos(&self) -> &Qos {
        self.curve.exact().qos()
    }
}

impl BandwidthFunction for KnownBandwidth {
    fn min_received_w(&self) -> f64 {
        self.min_received_w
    }

    fn max_bandwidth_hz(&self) -> f64 {
        self.max_bandwidth_hz
    }

    fn max_excess(&self) -> f64 {
        self.curve.exact().flat().map_or(f64::INFINITY, |flat| flat.rise.exp_m1())
    }

    #[inline]
    fn at_excess(&self, excess: f64) -> (f64, f64) {
        let (_, ln_z, elasticity) = self.curve.point(excess);
        (ln_z.exp() * self.hz_per_use, elasticity)
    }

    #[inline]
    fn bandwidth_hz(&self, excess: f64) -> f64 {
        self.curve.ln_uses(excess).exp() * self.hz_per_use
    }
}
