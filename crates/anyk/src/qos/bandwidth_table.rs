//! Table of the required bandwidth `b(u)` of a service class: built once, with a measured error bound. A look-up
//! takes a few nanoseconds.
//!
//! Its variable is `w = √(ln(u/u_min))`. Near the fold, `b` behaves like a square root; as a function of `w`, `ln b`
//! is analytic on the whole feasible range.
//!
//! Two functions are tabulated from exact evaluations, `ln z(w)` and its slope `γ(w) = −d ln z/dw`. They are
//! interpolated separately, so that the slope does not have the error of a differentiated polynomial. A third
//! function is derived from them: the response to a price of power, `ln(u/u_min − 1)` as a function of
//! `ln(−dz/dv)`. With it, computing the optimal powers of a cell takes one look-up per user and trial price.

use crate::math::Piecewise;
use crate::math::root;
use crate::qos::Qos;
use crate::qos::required_bandwidth::W_MAX;
use crate::qos::{BandwidthPoint, RequiredBandwidth, TooWeak};
use crate::tolerance;

/// Number of coefficients per piece of `ln z(w)` and `γ(w)`.
const CURVE: usize = 8;
/// Smallest and largest number of pieces. The number is doubled until the measured error of `b` is at most
/// [`ERROR_GOAL`]. The smallest number suffices for the paper's class. Classes with megabit packets need more pieces,
/// because their curves bend more sharply near the fold.
const CURVE_PIECES: (usize, usize) = (128, 4096);
/// Relative error of `b` at which the number of pieces is no longer doubled.
const ERROR_GOAL: f64 = 1e-10;
/// Number of coefficients per piece of the response.
const RESPONSE: usize = 8;
/// Number of pieces of the response per unit of `ln price`.
const RESPONSE_PIECES_PER_UNIT: f64 = 2.0;
/// Largest `w` at which the table still contains twice the power above the minimum.
pub(crate) const CONVEX_UP_TO: f64 = 9.9;
/// Allowance for errors of the polynomials in the bound on the rate at which prices fall.
const UNCLEAR: f64 = 1e-4;
/// Smallest `w` of the response; below it, the tangent is used (log–log linear near the fold).
const W_LINEAR: f64 = 1e-7;

/// Table of the required bandwidth `b(u)` of one service class, with error bounds.
///
/// ```
/// use anyk::Config;
/// use anyk::qos::BandwidthTable;
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
    /// Largest `w` in the table: the end of the curve, or received powers `e^(w²)` = 43 decades above the minimum,
    /// which is more than any accepted config can have. Larger values use the exact form.
    w_max: f64,
    ln_uses: Piecewise<CURVE>,
    gamma: Piecewise<CURVE>,
    response: Piecewise<RESPONSE>,
    response_range: (f64, f64),
    response_tail: (f64, f64),
    error_bound: f64,
    slope_error_bound: f64,
    fall_at_double: f64,
}

impl BandwidthTable {
    /// Tabulates the class and measures the table's error between its nodes; takes a few milliseconds.
    pub fn new(qos: Qos) -> Self {
        let exact = RequiredBandwidth::new(qos);
        let (mut pieces, most) = CURVE_PIECES;
        loop {
            let table = Self::with_pieces(exact.clone(), pieces);
            let good =
                table.error_bound <= ERROR_GOAL && table.slope_error_bound <= tolerance::TABLE;
            if good || pieces >= most {
                return table;
            }
            pieces *= 2;
        }
    }

    fn with_pieces(exact: RequiredBandwidth, pieces: usize) -> Self {
        let fold = exact.fold();
        let w_max = exact.flat().map_or(W_MAX, |flat| flat.rise.sqrt());
        // ln z and γ come from the same exact evaluation: one pass fills both.
        let mut gammas = Vec::with_capacity(CURVE * pieces);
        let mut near = None;
        let ln_uses = Piecewise::<CURVE>::interpolate((0.0, w_max), pieces, |w| {
            let (ln_z, gamma) = exact_curve(&exact, w, near);
            near = Some(ln_z);
            gammas.push(gamma);
            ln_z
        });
        let mut gammas = gammas.into_iter();
        let gamma = Piecewise::<CURVE>::interpolate((0.0, w_max), pieces, |_| {
            gammas.next().unwrap_or(f64::NAN)
        });
        let (error_bound, slope_error_bound) =
            measure_error(&exact, (&ln_uses, &gamma), w_max / pieces as f64, pieces);
        let ln_price = |w: f64| ln_price(fold.ln_v, &ln_uses, &gamma, w);
        let range = (ln_price(w_max), ln_price(W_LINEAR));
        let density = RESPONSE_PIECES_PER_UNIT * pieces as f64 / CURVE_PIECES.0 as f64;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let response_pieces = ((range.1 - range.0) * density).ceil().max(1.0) as usize;
        let bracket = (W_LINEAR.ln(), w_max.ln());
        let mut near = bracket.1;
        // Inverts ln price(w) by Newton's method on the tables above.
        let response = Piecewise::interpolate(range, response_pieces, |price| {
            let ln_w = root::increasing(bracket, near, 1e-15, |ln_w| {
                let w = ln_w.exp();
                let (gamma, gamma_slope) = gamma.value_and_slope(w);
                let slope = w * (-gamma - 2.0 * w + gamma_slope / gamma) - 1.0;
                (price - ln_price(w), -slope)
            });
            near = ln_w;
            (2.0 * ln_w).exp().exp_m1().ln()
        });
        let response_tail = response.value_and_slope(range.1);
        let fall_at_double =
            if exact.fold_is_least() { fall_at_double(&gamma, w_max, pieces) } else { 0.0 };
        Self {
            exact,
            w_max,
            ln_uses,
            gamma,
            response,
            response_range: range,
            response_tail,
            error_bound,
            slope_error_bound,
            fall_at_double,
        }
    }

    /// Returns the exact form of the table.
    pub fn exact(&self) -> &RequiredBandwidth {
        &self.exact
    }

    /// Returns a bound on the relative error of the bandwidth on the whole feasible range.
    pub fn error_bound(&self) -> f64 {
        self.error_bound
    }

    /// Returns a bound on the relative error of the derivative for `w = √ln(u/u_min) ≥ 1`. For smaller `w`, multiply it
    /// by `1/w`: near the fold, rounding `u` changes the slope.
    pub fn slope_error_bound(&self) -> f64 {
        self.slope_error_bound
    }

    /// Returns the minimum factor, above 1, by which the price of power `−db/du` falls when the power above the
    /// minimum, `u − u_min`, doubles. Such a factor means that the price falls everywhere, so `b` is convex. Returns 0
    /// if there is no such factor: for some fading distributions `b` is not convex.
    ///
    /// Valid for `w = √ln(u/u_min)` up to [`CONVEX_UP_TO`].
    pub(crate) fn fall_at_double(&self) -> f64 {
        self.fall_at_double
    }

    /// Returns `b(u)` and `b'(u)` at the received power `u = αP` in W, within the error bounds of the table.
    pub fn at(&self, received_w: f64) -> Result<BandwidthPoint, TooWeak> {
        let ln_v = received_w.ln() + self.exact.qos().ln_energy_scale();
        let rise = ln_v - self.exact.fold().ln_v;
        let w = rise.sqrt();
        // The condition is also true if w is NaN (too weak) or 0 (infinite slope).
        if !(w > 0.0 && w <= self.w_max) {
            return self.exact.at(received_w);
        }
        let (ln_z, gamma) = self.curve(w);
        let bandwidth_hz = (ln_z - self.exact.qos().ln_uses_scale()).exp();
        let slope_hz_per_w = -bandwidth_hz / received_w * gamma / (2.0 * w);
        Ok(BandwidthPoint { bandwidth_hz, slope_hz_per_w })
    }

    /// Returns `ln z` and `γ` at `w = √ln(u/u_min)`, for `w` up to `w_max`.
    #[inline]
    fn curve(&self, w: f64) -> (f64, f64) {
        (self.ln_uses.value(w), self.gamma.value(w))
    }

    /// Returns whether the measured error bounds are small enough; if they are not, use the exact form.
    pub(crate) fn is_sound(&self) -> bool {
        self.error_bound.max(self.slope_error_bound) <= tolerance::TABLE
    }

    /// Returns `w = √ln(u/u_min)`, `ln z` and the elasticity `−d ln z/d ln v` at an excess `u/u_min − 1`.
    #[inline]
    pub(crate) fn point(&self, excess: f64) -> (f64, f64, f64) {
        let w = excess.ln_1p().sqrt();
        if w <= self.w_max {
            let (ln_z, gamma) = self.curve(w);
            (w, ln_z, gamma / (2.0 * w))
        } else {
            self.exact.point(excess)
        }
    }

    /// Returns `ln z` at an excess `u/u_min − 1`.
    #[inline]
    pub(crate) fn ln_uses(&self, excess: f64) -> f64 {
        let w = excess.ln_1p().sqrt();
        if w <= self.w_max { self.ln_uses.value(w) } else { self.exact.point(excess).1 }
    }

    /// Returns `ln(u/u_min − 1)` at a price of power, and its derivative with respect to `ln price`.
    #[inline]
    pub(crate) fn respond(&self, ln_price: f64) -> (f64, f64) {
        let (low, high) = self.response_range;
        if ln_price > high {
            let (value, slope) = self.response_tail;
            (value + slope * (ln_price - high), slope)
        } else if ln_price >= low {
            self.response.value_and_slope(ln_price)
        } else if let Some(flat) = self.exact.flat() {
            (flat.rise.exp_m1().ln(), 0.0)
        } else {
            let response = self.exact.respond(ln_price, None);
            (response.ln_excess, response.slope)
        }
    }

    /// Returns a first guess of `ln price` for the response `ln(u/u_min − 1) = ln_excess`.
    pub(crate) fn price_near(&self, ln_excess: f64) -> f64 {
        let w = ln_excess.exp().ln_1p().sqrt();
        ln_price(self.exact.fold().ln_v, &self.ln_uses, &self.gamma, w.clamp(W_LINEAR, self.w_max))
    }
}

/// Computes `ln z` and `γ` at `w` without a table; `near` is a first guess of `ln z`.
fn exact_curve(exact: &RequiredBandwidth, w: f64, near: Option<f64>) -> (f64, f64) {
    let (ln_z, margin) = exact.uses_at(exact.fold().ln_v + w * w, near);
    (ln_z, 2.0 * w * margin.by_received / margin.by_bandwidth)
}

/// Returns the logarithm of the price of power at `w`, `ln(−dz/dv)` in normalized units.
fn ln_price(fold_ln_v: f64, ln_uses: &Piecewise<CURVE>, gamma: &Piecewise<CURVE>, w: f64) -> f64 {
    ln_uses.value(w) - fold_ln_v - w * w + (gamma.value(w) / (2.0 * w)).ln()
}

/// Returns the minimum factor by which the price falls when `x = u/u_min − 1` doubles. It is `2^s`, where `s` is a
/// lower bound on
///
/// ```text
/// −d ln price/d ln x = (1 + w·(γ + 2w − γ'/γ))·(1 − e^(−w²))/(2w²),
/// ```
///
/// which is ½ at the fold and tends to 1. On every piece, the bound follows from the coefficients of the polynomial.
/// Returns 0 if `s` is not clearly positive.
fn fall_at_double(gamma: &Piecewise<CURVE>, w_max: f64, pieces: usize) -> f64 {
    let piece = w_max / pieces as f64;
    let least = (0..pieces).map(|index| {
        let [(gamma_low, gamma_high), (_, slope)] = gamma.bounds(index);
        let (low, high) = (index as f64 * piece, (index as f64 + 1.0) * piece);
        let slope = if slope > 0.0 { high * slope / gamma_low } else { low * slope / gamma_high };
        // The last factor decreases with w.
        let last = -(-high * high).exp_m1() / (2.0 * high * high);
        if gamma_low > 0.0 { (1.0 + low * (gamma_low + 2.0 * low) - slope) * last } else { 0.0 }
    });
    let least = least.fold(f64::INFINITY, f64::min);
    // Errors of the polynomials, and jumps between the pieces, are far smaller than this.
    if least > 2.0 * UNCLEAR { (least - UNCLEAR).exp2() } else { 0.0 }
}

/// Measures the largest relative errors of `b` and of its slope (multiplied by `w` if `w < 1`) at the points where
/// interpolation is worst. Returns twice these errors plus the rounding error.
fn measure_error(
    exact: &RequiredBandwidth,
    (ln_uses, gamma): (&Piecewise<CURVE>, &Piecewise<CURVE>),
    piece: f64,
    pieces: usize,
) -> (f64, f64) {
    let (mut worst, mut worst_slope) = (0.0f64, 0.0f64);
    let mut near = None;
    for index in 0..pieces {
        // Points with |T_8| = 1, where interpolation at the Chebyshev points has its largest error:
        // t = cos(π/8), 0, −cos(π/8).
        for t in [-0.923_879_532_511_286_7, 0.0, 0.923_879_532_511_286_7] {
            let w = (index as f64 + 0.5 * (t + 1.0)) * piece;
            let (ln_z, exact_gamma) = exact_curve(exact, w, near);
            near = Some(ln_z);
            worst = worst.max((ln_uses.value(w) - ln_z).abs());
            let off = (gamma.value(w) / exact_gamma - 1.0).abs();
            worst_slope = worst_slope.max(off * w.min(1.0));
        }
    }
    (2.0 * worst + tolerance::EXACT_BANDWIDTH, 2.0 * worst_slope + tolerance::EXACT_BANDWIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::qos::ServiceClass;

    fn qos(law: &str, antennas: u32, service: ServiceClass) -> Qos {
        let mut config = Config::default();
        config.cell.antennas = antennas;
        config.service = service;
        let system = config.validate().unwrap();
        let rule = system.fading_rule(&law.parse().unwrap());
        system.qos(service).unwrap().with_fading(rule)
    }

    /// Computes by the exact form how much prices fall when the power above the minimum doubles. Checks that they
    /// always fall by more than the table says and, for one distribution, by less than a square root would give.
    #[test]
    fn prices_fall_as_the_table_says() {
        let paper = ServiceClass::default();
        let strict = ServiceClass { epsilon: 1e-9, packet_bits: 20.0, arrival_rate: 1.0 };
        let mut slowest = f64::INFINITY;
        for law in [
            "rayleigh",
            "nakagami:m=0.5",
            "rician:k=10",
            "shadowed:sigma_db=12",
            "mixture:share=0.1,loss_db=40",
            "mixture:share=0.01,loss_db=40",
        ] {
            for (antennas, service) in [(8, paper), (1, paper), (8, strict)] {
                let table = BandwidthTable::new(qos(law, antennas, service));
                let ln_price = |excess: f64| {
                    let (_, ln_z, elasticity) = table.exact.point(excess);
                    ln_z - excess.ln_1p() + elasticity.ln()
                };
                let promised = table.fall_at_double();
                assert!(promised > 1.3, "{law}, {antennas} antennas: {promised}");
                for i in 1..60 {
                    let excess = (0.05 * f64::from(i)).powi(2).exp_m1();
                    let fall = (ln_price(excess) - ln_price(2.0 * excess)).exp();
                    assert!(fall > promised, "{law}, {antennas} antennas, {excess}: {fall}");
                    slowest = slowest.min(fall);
                }
            }
        }
        assert!(slowest < 0.999 * std::f64::consts::SQRT_2, "{slowest}");
    }

    /// Checks a class with packets of two bits. A rare fading state either determines the bandwidth or does not, so `b`
    /// jumps.
    #[test]
    fn where_b_is_not_convex_the_table_says_so() {
        let tiny = ServiceClass { epsilon: 1.6e-6, packet_bits: 2.0, arrival_rate: 0.0012 };
        let table = BandwidthTable::new(qos("mixture:share=0.001,loss_db=40", 8, tiny));
        assert!(table.fall_at_double() <= 0.0 && !table.is_sound());
    }
}
