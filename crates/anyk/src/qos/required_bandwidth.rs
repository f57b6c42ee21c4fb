//! Required bandwidth `b(u)`: the smallest bandwidth that meets the QoS at the received power `u = αP`.
//!
//! For a fixed `u`, more bandwidth first helps and then hurts, because the same energy is spread over more channel
//! uses, and each adds a finite-blocklength penalty. The margin `M(z, v)` of [`Qos`] therefore has a maximum over `z`.
//! If this maximum is 0, the two roots of `M` coincide. This point is called the **fold**. Its received power is the
//! smallest that any bandwidth can serve.
//!
//! ```text
//!      b │╲                       b(u) ends at (u_min, b_fold) with a vertical tangent:
//!        │ ╲___                   b_fold − b ∝ √(u − u_min)
//!        │     ‾‾‾‾──────
//!        └─┬──────────────── u
//!        u_min
//! ```
//!
//! Under a largest spectral efficiency, `b` falls only to the bandwidth at which every state has that rate: the curve
//! is flat above some received power.

use thiserror::Error;

use crate::math::root;
use crate::qos::{Margin, Qos};
use crate::tolerance;

/// Required bandwidth `b(u)` of one service class, computed exactly by Newton's method on the quadrature.
///
/// ```
/// use anyk::Config;
/// use anyk::qos::RequiredBandwidth;
/// let system = Config::default().validate()?;
/// let required = RequiredBandwidth::new(system.qos(system.service())?);
/// let point = required.at(1e-12)?;
/// assert!((point.bandwidth_hz / 209_480.7037 - 1.0).abs() < 1e-8);
/// assert!(point.slope_hz_per_w < 0.0);
/// assert!(required.at(1e-15).is_err()); // below u_min ≈ 3.0e-15 W
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct RequiredBandwidth {
    qos: Qos,
    fold: Point,
    flat: Option<Flat>,
}

/// End of a curve: beyond it, more power saves no bandwidth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Flat {
    /// Value of `ln(u/u_min)` at the end.
    pub(crate) rise: f64,
    /// Value of `ln z` at the end and beyond, at most [`SATURATED`] above its limit.
    ln_z: f64,
    /// Elasticity `−d ln z/d ln v` at the end; beyond the end it is 0.
    elasticity: f64,
}

/// Share by which the bandwidth at the end of the curve may exceed its limit.
pub(crate) const SATURATED: f64 = 1e-13;
/// Largest `w = √ln(u/u_min)` in a table, and in the search for the end of the curve: 43 decades of received power,
/// which is more than any valid config can have. Larger values use the exact form.
pub(crate) const W_MAX: f64 = 10.0;
/// Relative tolerance of `w` at the end of the curve, for rounding.
const CORNER: f64 = 1e-9;

/// Required bandwidth and its derivative at one received power.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BandwidthPoint {
    /// Required bandwidth `b(u)`, Hz.
    pub bandwidth_hz: f64,
    /// Derivative `db/du`, Hz/W; negative.
    pub slope_hz_per_w: f64,
}

/// Received power that no bandwidth can serve.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[error(
    "no bandwidth meets the QoS at a received power of {received_w:e} W; the least that can be \
     served is {min_received_w:e} W"
)]
pub struct TooWeak {
    /// Received power that cannot be served, W.
    pub received_w: f64,
    /// Smallest received power that can be served, W.
    pub min_received_w: f64,
}

/// Point in the normalized variables of [`Qos`]: `ln v` (received energy) and `ln z` (channel uses).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) ln_v: f64,
    pub(crate) ln_z: f64,
}

/// Response of a user to a price of power: the point of the curve `b(u)` whose slope matches the price.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Response {
    /// Point on the curve.
    pub(crate) point: Point,
    /// Logarithm of the excess, `ln(u/u_min − 1)`.
    pub(crate) ln_excess: f64,
    /// Derivative of `ln_excess` with respect to the logarithm of the price; negative.
    pub(crate) slope: f64,
}

/// Smallest distance to the fold, in `ln(z_fold/z)`. Closer to the fold, rounding dominates the derivative of `M`, so
/// the response to a price is extended by its tangent.
const NEAREST: f64 = 1e-5;

impl RequiredBandwidth {
    /// Finds the fold of the class; [`at`](Self::at) then computes `b` for any received power.
    pub fn new(qos: Qos) -> Self {
        let fold = fold(&qos);
        let required = Self { qos, fold, flat: None };
        Self { flat: required.find_flat(), ..required }
    }

    /// Finds the end of the curve, if there is one.
    fn find_flat(&self) -> Option<Flat> {
        let least = self.qos.ln_least_uses()?;
        // Once all states have the largest rate, M grows by θS^E per unit of ln z.
        let is_flat = |rise: f64| {
            let margin = self.qos.margin_normalised(self.fold.ln_v + rise, least);
            margin.value >= -SATURATED * self.qos.demand()
        };
        let (mut low, mut high) = (0.0, W_MAX * W_MAX);
        if !is_flat(high) {
            return None;
        }
        while high - low > 1e-9 {
            let middle = 0.5 * (low + high);
            *(if is_flat(middle) { &mut high } else { &mut low }) = middle;
        }
        let (ln_z, margin) = self.uses_at(self.fold.ln_v + high, None);
        Some(Flat { rise: high, ln_z, elasticity: margin.by_received / margin.by_bandwidth })
    }

    /// Returns the end of the curve; `None` if more power always saves bandwidth.
    pub(crate) fn flat(&self) -> Option<Flat> {
        self.flat
    }

    /// Returns the logarithm of the minimum number of channel uses at any power; negative infinity without a largest
    /// spectral efficiency.
    pub(crate) fn ln_least_uses(&self) -> f64 {
        self.qos.ln_least_uses().unwrap_or(f64::NEG_INFINITY)
    }

    /// Returns the QoS constraint that the bandwidth meets.
    pub fn qos(&self) -> &Qos {
        &self.qos
    }

    /// Returns the smallest received power `u_min` that some bandwidth can serve, W.
    pub fn min_received_w(&self) -> f64 {
        (self.fold.ln_v - self.qos.ln_energy_scale()).exp()
    }

    /// Returns the bandwidth at the smallest received power, Hz; the largest value of `b`.
    pub fn max_bandwidth_hz(&self) -> f64 {
        (self.fold.ln_z - self.qos.ln_uses_scale()).exp()
    }

    pub(crate) fn fold(&self) -> Point {
        self.fold
    }

    /// Computes `b(u)` and `b'(u)` at the received power `u = αP` in W.
    pub fn at(&self, received_w: f64) -> Result<BandwidthPoint, TooWeak> {
        let ln_v = received_w.ln() + self.qos.ln_energy_scale();
        // The negation also rejects NaN. An infinite power has no finite result.
        if !(ln_v >= self.fold.ln_v && ln_v.is_finite()) {
            return Err(TooWeak { received_w, min_received_w: self.min_received_w() });
        }
        let (ln_z, elasticity) = self.curve(ln_v, ln_v - self.fold.ln_v);
        let bandwidth_hz = (ln_z - self.qos.ln_uses_scale()).exp();
        Ok(BandwidthPoint { bandwidth_hz, slope_hz_per_w: bandwidth_hz / received_w * -elasticity })
    }

    /// Returns `ln z` and the elasticity `−d ln z/d ln v` at `ln v` and `rise = ln(u/u_min)`.
    fn curve(&self, ln_v: f64, rise: f64) -> (f64, f64) {
        if let Some(flat) = self.flat.filter(|flat| rise >= flat.rise) {
            // At the end of the curve, up to rounding, use the slope of the curve.
            let at_end = rise <= flat.rise * (1.0 + CORNER);
            return (flat.ln_z, if at_end { flat.elasticity } else { 0.0 });
        }
        let (ln_z, margin) = self.uses_at(ln_v, None);
        // d ln z/d ln v = −M_v/M_z along M = 0.
        (ln_z, margin.by_received / margin.by_bandwidth)
    }

    /// Computes `w = √ln(u/u_min)`, `ln z` and the elasticity `−d ln z/d ln v` at an excess `u/u_min − 1`.
    pub(crate) fn point(&self, excess: f64) -> (f64, f64, f64) {
        let rise = excess.ln_1p();
        let (ln_z, elasticity) = self.curve(self.fold.ln_v + rise, rise);
        (rise.sqrt(), ln_z, elasticity)
    }

    /// Computes the root `ln z ≤ ln z_fold` of `M = 0` at `ln v`, and the margin at the root; `near` is a first guess.
    pub(crate) fn uses_at(&self, ln_v: f64, near: Option<f64>) -> (f64, Margin) {
        let high = self.fold.ln_z;
        // Left of the root, M is negative and concave, so Newton's method does not overshoot.
        let mut low = near.map_or(high, |near| near.min(high)) - 0.5;
        let mut stride = 1.0;
        while self.qos.margin_normalised(ln_v, low).value > 0.0 && stride < 1e4 {
            low -= stride;
            stride *= 2.0;
        }
        let start = near.unwrap_or(low);
        let mut margin = None;
        let ln_z = root::increasing((low, high), start, tolerance::ROOT, |ln_z| {
            let here = self.qos.margin_normalised(ln_v, ln_z);
            margin = Some(here);
            (here.value, here.by_bandwidth)
        });
        (ln_z, margin.unwrap_or_else(|| self.qos.margin_normalised(ln_v, ln_z)))
    }

    /// Returns whether it is proved that no bandwidth wider than that of the fold can serve a received power below
    /// `u_min`.
    pub(crate) fn fold_is_least(&self) -> bool {
        self.qos.is_outside(Line::through(self.fold, 0.0), Side::Wider)
    }

    /// Bounds the relative difference in bandwidth between a point of the curve and the cheapest point that meets the
    /// QoS. The point is given by `rise = ln(u/u_min)` and `ln_z`, and the price of power is `e^ln_price` in the
    /// normalized unit `−dz/dv`. Returns infinity if there is no proof.
    #[cold]
    pub(crate) fn distance_at(&self, rise: f64, ln_z: f64, ln_price: f64) -> f64 {
        let point = Point { ln_v: self.fold.ln_v + rise, ln_z };
        let line = Line::through(point, (-ln_price).exp());
        let outside = |side| self.qos.is_outside(line, side);
        if outside(Side::Narrower) && outside(Side::Wider) { NEIGHBOURS } else { f64::INFINITY }
    }

    /// Computes the root `ln v ≥ ln v_fold` of `M = 0` at `ln z`; `near` is a first guess.
    fn energy_at(&self, ln_z: f64, near: Option<f64>) -> f64 {
        energy_at(&self.qos, ln_z, self.fold.ln_v, near)
    }

    /// Computes the response to the price of power `e^ln_price`, in the normalized unit `−dz/dv`; `near` is a first
    /// guess. [`BandwidthTable`](crate::qos::BandwidthTable) tabulates this function.
    pub(crate) fn respond(&self, ln_price: f64, near: Option<&Response>) -> Response {
        if self.qos.ln_least_uses().is_some() {
            return self.respond_under_ceiling(ln_price, near);
        }
        // The price is a monotone function of the distance to the fold, p = ln(z_fold/z), and log–log linear near
        // the fold, so iterate on ln p.
        let mut ln_v = near.map(|response| response.point.ln_v);
        let mut slope = 0.0;
        let mut price_at = |ln_p: f64| {
            let p = ln_p.exp();
            let ln_z = self.fold.ln_z - p;
            let energy = self.energy_at(ln_z, ln_v);
            ln_v = Some(energy).filter(|energy| energy.is_finite());
            let (margin, curvature) = self.qos.curvature_normalised(energy, ln_z);
            let energy_slope = -margin.by_bandwidth / margin.by_received;
            let price = ln_z - energy + (margin.by_received / margin.by_bandwidth).ln();
            let price_slope = 1.0 - energy_slope
                + (curvature.bandwidth_received + curvature.received_received * energy_slope)
                    / margin.by_received
                - (curvature.bandwidth_bandwidth + curvature.bandwidth_received * energy_slope)
                    / margin.by_bandwidth;
            slope = energy_slope / price_slope;
            (energy, price, -p * price_slope)
        };
        let nearest = NEAREST.ln();
        let start = near.map_or(0.0, |near| (self.fold.ln_z - near.point.ln_z).ln()).max(nearest);
        let (mut low, mut high) = (nearest, start);
        // The strides are small because the energy grows faster than e^(e^p) far from the fold.
        while price_at(high).1 > ln_price && high < 8.0 {
            low = high;
            high += 0.25;
        }
        let ln_p = root::increasing((low, high), start, 1e-13, |ln_p| {
            let (_, price, slope) = price_at(ln_p);
            (ln_price - price, -slope)
        });
        let ln_z = self.fold.ln_z - ln_p.exp();
        let (energy, price, _) = price_at(ln_p);
        let rise = energy - self.fold.ln_v;
        let point = Point { ln_v: energy, ln_z };
        let ln_excess = rise.exp_m1().ln();
        if ln_price > price && ln_p <= nearest {
            // Near the fold, the excess falls as 1/price².
            return Response {
                point,
                ln_excess: ln_excess - 2.0 * (ln_price - price),
                slope: -2.0,
            };
        }
        // d ln(e^Δ − 1) = dΔ / (1 − e^(−Δ)).
        Response { point, ln_excess, slope: slope / -(-rise).exp_m1() }
    }

    /// Computes the response under a largest spectral efficiency. Channel uses hardly change along the flat part of the
    /// curve, so the search is over `ln w`, `w = √ln(u/u_min)`.
    fn respond_under_ceiling(&self, ln_price: f64, near: Option<&Response>) -> Response {
        let mut ln_z = near.map(|response| response.point.ln_z);
        let mut price_at = |ln_w: f64| {
            let rise = (2.0 * ln_w).exp();
            let ln_v = self.fold.ln_v + rise;
            let uses = self.uses_at(ln_v, ln_z).0;
            ln_z = Some(uses);
            let (margin, curvature) = self.qos.curvature_normalised(ln_v, uses);
            let elasticity = margin.by_received / margin.by_bandwidth;
            let price = uses - ln_v + elasticity.ln();
            let price_slope = -1.0 - elasticity
                + (curvature.received_received - curvature.bandwidth_received * elasticity)
                    / margin.by_received
                - (curvature.bandwidth_received - curvature.bandwidth_bandwidth * elasticity)
                    / margin.by_bandwidth;
            (Point { ln_v, ln_z: uses }, price, 2.0 * rise * price_slope)
        };
        let end = self.flat.map_or(W_MAX, |flat| flat.rise.sqrt()).ln();
        let nearest = NEAREST.ln();
        let start = near.map_or(end, |near| 0.5 * (near.point.ln_v - self.fold.ln_v).ln());
        let ln_w = root::increasing((nearest, end), start, 1e-13, |ln_w| {
            let (_, price, slope) = price_at(ln_w);
            (ln_price - price, -slope)
        });
        let (point, price, price_slope) = price_at(ln_w);
        let rise = (2.0 * ln_w).exp();
        let ln_excess = rise.exp_m1().ln();
        if ln_price > price && ln_w <= nearest {
            // Near the fold, the excess falls as 1/price².
            let ln_excess = ln_excess - 2.0 * (ln_price - price);
            return Response { point, ln_excess, slope: -2.0 };
        }
        // At a lower price, no user takes more power than at the end.
        let is_end = ln_price < price && ln_w >= end;
        let by_rise = 2.0 * rise / -(-rise).exp_m1();
        Response { point, ln_excess, slope: if is_end { 0.0 } else { by_rise / price_slope } }
    }
}

/// Line in the plane of `z` and `v`: points of equal cost at a price of power.
#[derive(Debug, Clone, Copy)]
struct Line {
    z: f64,
    v: f64,
    /// Decrease of `v` per channel use.
    fall: f64,
}

impl Line {
    fn through(point: Point, fall: f64) -> Self {
        Self { z: point.ln_z.exp(), v: point.ln_v.exp(), fall }
    }
}

/// Direction along a line.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Side {
    /// Less bandwidth, more power.
    Narrower,
    /// More bandwidth, less power.
    Wider,
}

/// Relative distance in `√z` from the point where a line touches the curve to the first step along the line.
const NEAR: f64 = 0.005;
/// Relative difference in bandwidth at the distance [`NEAR`], rounded up.
const NEIGHBOURS: f64 = 0.0101;
/// Maximum number of steps along a line; a few are usual.
const MOST_STEPS: usize = 400;

impl Qos {
    /// Returns whether it is proved that no point of a line meets the QoS, on one side of the point where the line
    /// meets the curve. The proof holds for any fading distribution, because it does not use the shape of the curve.
    ///
    /// Along a line, `M` is a concave function minus `κq√z`: `z·ln(1 + gv/z)` is concave in `(z, v)`, and so is
    /// `−ln E e^(−·)` of concave functions. The concave part lies below its tangent. With `y = √z` and the derivative
    /// `M'` with respect to `z` at `y₁`,
    ///
    /// ```text
    /// M(y) ≤ M(y₁) + M'·(y² − y₁²) + κq·(y − y₁)²/(2y₁).
    /// ```
    ///
    /// The right-hand side is a parabola that is negative up to its root, so a step almost to the root skips no point
    /// that meets the QoS. Steps near the curve would be short, so the walk starts at a distance of [`NEAR`]. On this
    /// first part `M` must be concave, which is checked at both ends.
    fn is_outside(&self, line: Line, side: Side) -> bool {
        let sign = if side == Side::Wider { 1.0 } else { -1.0 };
        let rate = self.back_off_rate();
        // Upper bound on M, since −ln E e^(−a) ≤ E a and ln(1 + x) ≤ x.
        let most_at_v = self.kappa() * self.fading().expectation(|g| g);
        let demand = self.theta() * self.effective_bandwidth();
        let bent_down = |z: f64| {
            let v = line.v - line.fall * (z - line.z);
            let (margin, second) = self.curvature_normalised(v.ln(), z.ln());
            let (by_z, by_v) = (1.0 / z, -line.fall / v);
            let bend = (second.bandwidth_bandwidth - margin.by_bandwidth) * by_z * by_z
                + 2.0 * second.bandwidth_received * by_z * by_v
                + (second.received_received - margin.by_received) * by_v * by_v;
            bend < 0.0
        };
        let mut y = line.z.sqrt() * (1.0 + sign * NEAR);
        let end = line.v - line.fall * (y * y - line.z);
        if !(bent_down(line.z) && (end <= 0.0 || bent_down(y * y))) {
            return false;
        }
        for _ in 0..MOST_STEPS {
            let z = y * y;
            let v = line.v - line.fall * (z - line.z);
            let over = y <= 0.0 || v <= 0.0;
            if over || (side == Side::Wider && rate * y + demand >= most_at_v * v) {
                return true;
            }
            let margin = self.margin_normalised(v.ln(), z.ln());
            let slope = margin.by_bandwidth / z - line.fall * margin.by_received / v;
            // The parabola is c₀ + c₁·δ + c₂·δ² for a step δ > 0 in the direction of the side.
            let (c0, c1, c2) = (margin.value, 2.0 * y * slope * sign, slope + rate / (2.0 * y));
            let discriminant = c1 * c1 - 4.0 * c0 * c2;
            if c0 >= 0.0 || c0.is_nan() {
                return false;
            }
            if c2 <= 0.0 && (c1 <= 0.0 || discriminant < 0.0) {
                return true;
            }
            let root = discriminant.sqrt();
            let step = if c1 > 0.0 { -2.0 * c0 / (c1 + root) } else { (root - c1) / (2.0 * c2) };
            // Stop slightly before the root because of rounding.
            y += sign * 0.999 * step;
        }
        false
    }
}

/// Computes the root of `M = 0` in `ln v` at `ln z`, at least `least`; `near` is a first guess.
fn energy_at(qos: &Qos, ln_z: f64, least: f64, near: Option<f64>) -> f64 {
    let mut low = least;
    let mut high = near.unwrap_or(least).max(least) + 0.5;
    let mut stride = 1.0;
    while qos.margin_normalised(high, ln_z).value < 0.0 && stride < 1e3 {
        low = high;
        high += stride;
        stride *= 2.0;
    }
    root::increasing((low, high), near.unwrap_or(low), tolerance::ROOT, |ln_v| {
        let margin = qos.margin_normalised(ln_v, ln_z);
        (margin.value, margin.by_received)
    })
}

/// Distance in `ln z` from the minimum bandwidth at which the search for the fold ends.
const ABOVE_LEAST_USES: f64 = 1e-6;

/// Computes the fold, where `M = 0` and `∂M/∂ln z = 0`.
fn fold(qos: &Qos) -> Point {
    // Along the curve M = 0, ∂M/∂ln z changes its sign exactly once. Bracket this point, starting where the exponent
    // κz is 1; then apply Newton's method to both equations.
    let least = -80.0;
    let mut ln_v = None;
    let mut slope_at = |ln_z: f64| {
        let energy = energy_at(qos, ln_z, least, ln_v);
        ln_v = Some(energy);
        (energy, qos.margin_normalised(energy, ln_z).by_bandwidth)
    };
    // Under a ceiling, the curve does not exist below the minimum bandwidth, and M increases at this bandwidth.
    let end = qos.ln_least_uses().map_or(f64::NEG_INFINITY, |least| least + ABOVE_LEAST_USES);
    let mut here = (-qos.kappa().ln()).max(end);
    let rising = slope_at(here).1 > 0.0;
    let stride = if rising { 1.0 } else { -1.0 };
    for _ in 0..200 {
        let next = here + stride;
        if next < end {
            break;
        }
        if (slope_at(next).1 > 0.0) != rising {
            break;
        }
        here = next;
    }
    let (mut low, mut high) = (here.min(here + stride).max(end), here.max(here + stride));
    loop {
        let middle = 0.5 * (low + high);
        let (energy, slope) = slope_at(middle);
        let found = newton(qos, Point { ln_v: energy, ln_z: middle });
        // At a sharp fold, Newton's method leaves the bracket unless it starts nearby.
        if (low..=high).contains(&found.ln_z) || high - low < 1e-9 {
            return found;
        }
        if slope > 0.0 { low = middle } else { high = middle }
    }
}

/// Solves `M = 0` and `∂M/∂ln z = 0` from a first guess.
fn newton(qos: &Qos, mut point: Point) -> Point {
    for _ in 0..60 {
        let (margin, curvature) = qos.curvature_normalised(point.ln_v, point.ln_z);
        let determinant = margin.by_bandwidth * curvature.bandwidth_received
            - margin.by_received * curvature.bandwidth_bandwidth;
        let step_z = (-margin.value * curvature.bandwidth_received
            + margin.by_received * margin.by_bandwidth)
            / determinant;
        let step_v = (-margin.by_bandwidth * margin.by_bandwidth
            + margin.value * curvature.bandwidth_bandwidth)
            / determinant;
        // Limit the step far from the root, where the linear model is inaccurate.
        let scale = (1.0 / step_z.abs().max(step_v.abs())).min(1.0);
        if !scale.is_finite() {
            break;
        }
        point.ln_z += scale * step_z;
        point.ln_v += scale * step_v;
        if step_z.abs().max(step_v.abs()) < 1e-13 {
            break;
        }
    }
    point
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::qos::ServiceClass;

    fn exact(law: &str, service: ServiceClass) -> RequiredBandwidth {
        let system = Config { service, ..Config::default() }.validate().unwrap();
        let rule = system.fading_rule(&law.parse().unwrap());
        RequiredBandwidth::new(system.qos(service).unwrap().with_fading(rule))
    }

    /// Checks tangents of the curve point by point. Counts those with a point that meets the QoS, and those for which
    /// `distance_at` returns no bound. The former must be among the latter.
    fn tangents(exact: &RequiredBandwidth) -> (usize, usize) {
        let (mut cut, mut unknown) = (0, 0);
        for i in 1..40 {
            let rise = (0.08 * f64::from(i)).powi(2);
            let (_, ln_z, elasticity) = exact.point(rise.exp_m1());
            let ln_v = exact.fold.ln_v + rise;
            let ln_price = ln_z - ln_v + elasticity.ln();
            let met = (-600..300).filter(|step: &i32| step.abs() > 2).any(|step| {
                let z = (ln_z + 0.01 * f64::from(step)).exp();
                let v = ln_v.exp() - (z - ln_z.exp()) / ln_price.exp();
                v > 0.0 && exact.qos.margin_normalised(v.ln(), z.ln()).value >= 0.0
            });
            let bound = exact.distance_at(rise, ln_z, ln_price);
            assert!(!met || bound.is_infinite(), "a place was missed at {rise}");
            (cut, unknown) = (cut + usize::from(met), unknown + usize::from(bound.is_infinite()));
        }
        (cut, unknown)
    }

    #[test]
    fn the_walk_along_a_line_misses_nothing() {
        // For a convex curve, no tangent cuts the curve, and this is proved for all tangents.
        for law in ["rayleigh", "mixture:share=0.1,loss_db=40", "shadowed:sigma_db=8"] {
            assert_eq!(tangents(&exact(law, ServiceClass::default())), (0, 0), "{law}");
        }
        // If the curve is not convex, some tangents cut it, and for some others it is proved that they do not.
        let tiny = ServiceClass { epsilon: 1.6e-6, packet_bits: 2.0, arrival_rate: 0.0012 };
        let (cut, unknown) = tangents(&exact("mixture:share=0.001,loss_db=40", tiny));
        assert!(cut > 0 && unknown < 39, "{cut} {unknown}");
    }
}
