//! `b(u)` as a table: built once for a class, certified, then a few nanoseconds a look-up.
//!
//! The variable is `w = √(ln(u/u_min))`, in which the square-root end of `b` at the fold is
//! straightened out: `ln b` is analytic in `w` on the whole feasible range.
//!
//! Two functions are tabulated from exact evaluations, `ln z(w)` and its slope
//! `γ(w) = −d ln z/dw`, each interpolated on its own so that the slope does not inherit the error
//! of differentiating a polynomial. A third is derived from them: the response to a price of power,
//! `ln(u/u_min − 1)` against `ln(−dz/dv)`, which turns the optimal powers of a cell into one look-up
//! for each user and each trial price.

use crate::problem::Qos;
use crate::solver::piecewise::Piecewise;
use crate::solver::required_bandwidth::{BandwidthPoint, RequiredBandwidth, TooWeak};
use crate::solver::root;
use crate::tolerance;

/// Degree + 1 and number of pieces of `ln z(w)` and `γ(w)`.
const CURVE: usize = 8;
const CURVE_PIECES: usize = 96;
/// Degree + 1 and pieces for each unit of `ln price`.
const RESPONSE: usize = 8;
const RESPONSE_PIECES_PER_UNIT: f64 = 2.0;
/// Largest `w`: received powers up to `e^(w²)` = 24 decades over the least are tabulated; beyond,
/// the exact form answers.
const W_MAX: f64 = 7.43;
/// Below this `w` the response is continued by its tangent (log–log linear at the fold).
const W_LINEAR: f64 = 1e-7;

/// The certified table of one service class.
///
/// ```
/// use anyk::{Config, solver::BandwidthTable};
/// let system = Config::default().validate()?;
/// let table = BandwidthTable::new(system.qos(system.service())?);
/// let fast = table.at(1e-12)?.bandwidth_hz;
/// let exact = table.exact().at(1e-12)?.bandwidth_hz;
/// assert!((fast / exact - 1.0).abs() <= table.error_bound());
/// assert!(table.error_bound() <= 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct BandwidthTable {
    exact: RequiredBandwidth,
    ln_uses: Piecewise<CURVE>,
    gamma: Piecewise<CURVE>,
    response: Piecewise<RESPONSE>,
    response_range: (f64, f64),
    response_tail: (f64, f64),
    error_bound: f64,
    slope_error_bound: f64,
}

impl BandwidthTable {
    /// Tabulates the class (some milliseconds) and measures the table's error between its nodes.
    pub fn new(qos: Qos) -> Self {
        let exact = RequiredBandwidth::new(qos);
        let fold = exact.fold();
        // ln z and γ come from the same exact evaluation: one pass fills both.
        let mut near = Some(fold.ln_z);
        let mut curve = |w: f64| {
            let (ln_z, margin) = exact.uses_at(fold.ln_v + w * w, near);
            near = Some(ln_z);
            (ln_z, 2.0 * w * margin.by_received / margin.by_bandwidth)
        };
        let mut gammas = Vec::with_capacity(CURVE * CURVE_PIECES);
        let ln_uses = Piecewise::<CURVE>::interpolate((0.0, W_MAX), CURVE_PIECES, |w| {
            let (ln_z, gamma) = curve(w);
            gammas.push(gamma);
            ln_z
        });
        let mut gammas = gammas.into_iter();
        let gamma = Piecewise::<CURVE>::interpolate((0.0, W_MAX), CURVE_PIECES, |_| {
            gammas.next().unwrap_or(f64::NAN)
        });
        let mut table = Self {
            exact,
            ln_uses,
            gamma,
            response: Piecewise::interpolate((0.0, 1.0), 1, |_| 0.0),
            response_range: (0.0, 0.0),
            response_tail: (0.0, 0.0),
            error_bound: 0.0,
            slope_error_bound: 0.0,
        };
        table.measure_error();
        table.tabulate_response();
        table
    }

    /// Largest deviation from the exact form where interpolation is worst, between the nodes and at
    /// the ends of each piece, doubled, plus what rounding leaves.
    fn measure_error(&mut self) {
        let fold = self.exact.fold();
        let piece = W_MAX / CURVE_PIECES as f64;
        let (mut worst, mut worst_slope) = (0.0f64, 0.0f64);
        let mut near = Some(fold.ln_z);
        for index in 0..CURVE_PIECES {
            // Where |T_8| = 1, and so the error of interpolation at the Chebyshev points, is largest:
            // t = cos(π/8), 0, −cos(π/8).
            for t in [-0.923_879_532_511_286_7, 0.0, 0.923_879_532_511_286_7] {
                let w = (index as f64 + 0.5 * (t + 1.0)) * piece;
                let (ln_z, margin) = self.exact.uses_at(fold.ln_v + w * w, near);
                near = Some(ln_z);
                worst = worst.max((self.ln_uses.value(w) - ln_z).abs());
                let gamma = 2.0 * w * margin.by_received / margin.by_bandwidth;
                worst_slope = worst_slope.max((self.gamma.value(w) / gamma - 1.0).abs());
            }
        }
        self.error_bound = 2.0 * worst + tolerance::EXACT_BANDWIDTH;
        self.slope_error_bound = 2.0 * worst_slope + tolerance::EXACT_BANDWIDTH;
    }

    /// Inverts `ln price(w)`, by Newton on the tables that are there already.
    fn tabulate_response(&mut self) {
        let range = (self.ln_price(W_MAX), self.ln_price(W_LINEAR));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let pieces = ((range.1 - range.0) * RESPONSE_PIECES_PER_UNIT).ceil() as usize;
        let bracket = (W_LINEAR.ln() - 1.0, W_MAX.ln() + 0.1);
        let mut near = bracket.1;
        let response = Piecewise::interpolate(range, pieces.max(1), |ln_price| {
            let ln_w = root::increasing(bracket, near, 1e-15, |ln_w| {
                let w = ln_w.exp();
                let (gamma, gamma_slope) = self.gamma.value_and_slope(w);
                let slope = w * (-gamma - 2.0 * w + gamma_slope / gamma) - 1.0;
                (ln_price - self.ln_price(w), -slope)
            });
            near = ln_w;
            (2.0 * ln_w).exp().exp_m1().ln()
        });
        self.response_tail = response.value_and_slope(range.1);
        self.response = response;
        self.response_range = range;
    }

    /// `ln(−dz/dv)` at `w`: the price of power there, in normalised units.
    fn ln_price(&self, w: f64) -> f64 {
        self.ln_uses.value(w) - self.exact.fold().ln_v - w * w
            + (self.gamma.value(w) / (2.0 * w)).ln()
    }

    /// The exact form.
    pub fn exact(&self) -> &RequiredBandwidth {
        &self.exact
    }

    /// Bound on the relative error of the bandwidth, over the whole feasible range.
    pub fn error_bound(&self) -> f64 {
        self.error_bound
    }

    /// Bound on the relative error of the derivative.
    pub fn slope_error_bound(&self) -> f64 {
        self.slope_error_bound
    }

    /// `b(u)` and `b'(u)` at received power `u = αP` in W, within the table's error bounds.
    pub fn at(&self, received_w: f64) -> Result<BandwidthPoint, TooWeak> {
        let ln_v = received_w.ln() + self.exact.qos().ln_energy_scale();
        let rise = ln_v - self.exact.fold().ln_v;
        let w = rise.sqrt();
        // Also where w is NaN (too weak) or 0 (an infinite slope).
        if !(w > 0.0 && w <= W_MAX) {
            return self.exact.at(received_w);
        }
        let (ln_z, gamma) = self.curve(w);
        let bandwidth_hz = (ln_z - self.exact.qos().ln_uses_scale()).exp();
        let slope_hz_per_w = -bandwidth_hz / received_w * gamma / (2.0 * w);
        Ok(BandwidthPoint {
            bandwidth_hz,
            slope_hz_per_w,
        })
    }

    /// `ln z` and `γ` at `w = √ln(u/u_min)`; only up to [`W_MAX`].
    #[inline]
    pub(crate) fn curve(&self, w: f64) -> (f64, f64) {
        (self.ln_uses.value(w), self.gamma.value(w))
    }

    /// Whether `w` is inside the table.
    #[inline]
    pub(crate) fn covers(w: f64) -> bool {
        w <= W_MAX
    }

    /// `ln(u/u_min − 1)` at a price of power, and its derivative by `ln price`.
    #[inline]
    pub(crate) fn respond(&self, ln_price: f64) -> (f64, f64) {
        let (low, high) = self.response_range;
        if ln_price > high {
            let (value, slope) = self.response_tail;
            (value + slope * (ln_price - high), slope)
        } else if ln_price >= low {
            self.response.value_and_slope(ln_price)
        } else {
            let response = self.exact.respond(ln_price, None);
            (response.ln_excess, response.slope)
        }
    }

    /// `ln price` at which the response is about `ln(u/u_min − 1) = ln_excess`: a first guess.
    pub(crate) fn price_near(&self, ln_excess: f64) -> f64 {
        let w = ln_excess.exp().ln_1p().sqrt();
        self.ln_price(w.clamp(W_LINEAR, W_MAX))
    }
}
