//! Bandwidth as a function of the received power: `B_k = b(α_k P_k)`. Each service class has one such function,
//! which does not depend on the number of users.

use std::sync::Arc;

use crate::qos::{BandwidthTable, Curve, Qos};
use crate::tolerance;

/// Required bandwidth `b(u)` for `u ≥ u_min`: decreasing and convex, with a vertical tangent at `u_min`. The function
/// is computed by quadrature ([`KnownBandwidth`]) or learned.
///
/// Its argument is the excess `e = u/u_min − 1`, because next to `u_min` a small change of `u` changes `b` a lot.
pub trait BandwidthFunction {
    /// Returns the smallest received power `u_min` that is served, W.
    fn min_received_w(&self) -> f64;

    /// Returns the bandwidth at `u_min`, Hz; the largest value of `b`.
    fn max_bandwidth_hz(&self) -> f64;

    /// Returns the bandwidth, Hz, and the elasticity `−d ln b/d ln u` at a nonnegative excess.
    fn at_excess(&self, excess: f64) -> (f64, f64);

    /// Returns the excess above which more power saves no bandwidth; infinite if there is none.
    fn max_excess(&self) -> f64 {
        f64::INFINITY
    }

    /// Returns the bandwidth at a nonnegative excess, Hz.
    fn bandwidth_hz(&self, excess: f64) -> f64 {
        self.at_excess(excess).0
    }

    /// Returns the excess at a received power in W; `None` below `u_min`, and for NaN and infinity.
    fn excess(&self, received_w: f64) -> Option<f64> {
        let excess = received_w / self.min_received_w() - 1.0;
        (excess >= 0.0 && excess.is_finite()).then_some(excess)
    }

    /// Returns bandwidth and elasticity at a received power in W; `None` if [`excess`](Self::excess) is `None`.
    fn at(&self, received_w: f64) -> Option<(f64, f64)> {
        self.excess(received_w).map(|excess| self.at_excess(excess))
    }
}

/// Required bandwidth `b(u)` for a known fading distribution, rounded up by its error bound: a user with this
/// bandwidth meets its QoS.
///
/// Certificates rest on this bound. The curve is computed by quadrature, and its error was measured between all
/// nodes when the table was built (`qos/bandwidth_table.rs`). As in the solver, the curve is evaluated at a received
/// power that is lower by [`tolerance::ROUNDING`].
#[derive(Debug, Clone)]
pub struct KnownBandwidth {
    curve: Curve,
    min_received_w: f64,
    max_bandwidth_hz: f64,
    /// `(1 + error bound)/τ`.
    hz_per_use: f64,
}

impl KnownBandwidth {
    /// Builds the function from a table, or from the table's exact form if the error bound of the table is too large.
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

    /// Returns the QoS constraint that the bandwidth meets.
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
