//! Convex, decreasing interpolation of samples with a continuous slope: two parabolas between neighbouring
//! samples.
//!
//! Between samples `i` and `i + 1`, let `d` be the slope of the line through them and `s_i ≤ d ≤ s_{i+1}` the
//! slopes at them. The slope changes linearly from `s_i` to `d` and from there to `s_{i+1}`. It equals `d` at the
//! point `u_i + (1 − r)·h`, `r = (d − s_i)/(s_{i+1} − s_i)`. With this choice the integral of the slope is
//! correct for any slopes, and the slope never falls. The slope at a sample is the harmonic mean of the slopes of
//! the two adjacent lines, which lies between them.

use crate::problems::separable::CostError;
use crate::problems::separable::cost::{COST, MOST};
use crate::problems::separable::tabulation::check_shape;

const MOST_SAMPLES: usize = 1_000_000;
/// Distance up to which two samples count as one point: the absolute part, and the part relative to the point.
const CLOSEST: (f64, f64) = (1e-100, 1e-15);

/// Maximum distance of a sample from the convex function, due to rounding, as a share of the largest value.
const MOVED: f64 = 1e-10;

/// Data of a table.
pub(crate) struct Found {
    pub(crate) low: f64,
    pub(crate) ends: Vec<f64>,
    pub(crate) coefficients: Vec<[f64; COST]>,
    pub(crate) errors: Vec<f64>,
    /// Maximum difference to another convex cost through the samples, relative to the range of values.
    pub(crate) between: f64,
}

/// Interpolates samples in any order.
pub(crate) fn interpolate(samples: &[(f64, f64)]) -> Result<Found, CostError> {
    if !(2..=MOST_SAMPLES).contains(&samples.len()) {
        return Err(CostError::Count(samples.len()));
    }
    for &(u, value) in samples {
        if !(0.0..=MOST).contains(&u) {
            return Err(CostError::Range { low: u, high: u });
        }
        if !(-MOST..=MOST).contains(&value) {
            return Err(CostError::NotFinite { u, value });
        }
    }
    let mut points = samples.to_vec();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    for pair in points.windows(2) {
        // Also rejects samples so close that the slope between them overflows.
        if pair[1].0 - pair[0].0 <= CLOSEST.0 + CLOSEST.1 * pair[0].0 {
            return Err(CostError::Duplicate { u: pair[0].0, value: [pair[0].1, pair[1].1] });
        }
    }
    let low = points[0].0;
    check_shape(&points, low)?;
    let (values, lines) = in_order(&points)?;
    let slopes = slopes(&lines);
    let (mut ends, mut coefficients, mut errors) = (vec![0.0], Vec::new(), Vec::new());
    for (index, pair) in points.windows(2).enumerate() {
        let [(from, given), (to, after)] = [pair[0], pair[1]];
        let (value, moved) = (values[index], (values[index] - given).abs());
        let (line, [left, right]) = (lines[index], [slopes[index], slopes[index + 1]]);
        let width = to - from;
        let share = if right > left { (right - line) / (right - left) } else { 1.0 };
        let knot = from + share * width;
        let error = 1e-14 * given.abs().max(after.abs()) + moved;
        let mut at = value;
        for (begin, end, slopes) in [(from, knot, (left, line)), (knot, to, (line, right))] {
            // Rounding can leave a sliver of the interval; it is not a piece.
            if end - begin > 1e-12 * width {
                let end = if to - end > 1e-12 * width { end } else { to };
                let width = end - begin;
                ends.push(end - low);
                coefficients.push(parabola(at, width, slopes));
                errors.push(error);
                at += width * 0.5 * (slopes.0 + slopes.1);
            }
        }
    }
    cut_flat_end(&mut ends, &mut coefficients, &mut errors);
    Ok(Found { low, ends, coefficients, errors, between: between(&points, &lines) })
}

/// Returns the values at the samples and the slopes of the lines between them, convex and never increasing. If rounding
/// leaves adjacent lines in the wrong order, one line from the first of their samples to the last replaces them.
fn in_order(points: &[(f64, f64)]) -> Result<(Vec<f64>, Vec<f64>), CostError> {
    // First sample, width and change of value of each line.
    let mut pooled: Vec<(usize, f64, f64)> = Vec::new();
    for (index, pair) in points.windows(2).enumerate() {
        let mut line = (index, pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        while let Some(before) = pooled.pop_if(|before| before.2 / before.1 > line.2 / line.1) {
            line = (before.0, before.1 + line.1, before.2 + line.2);
        }
        pooled.push(line);
    }
    let (mut values, mut lines): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    for (index, &(first, width, change)) in pooled.iter().enumerate() {
        let last = pooled.get(index + 1).map_or(points.len() - 1, |next| next.0);
        let slope = (change / width).min(0.0);
        let (from, given) = points[first];
        // After a line that would have increased, the function is below the sample.
        let value = values.last().map_or(given, |before| given.min(*before));
        let end = if index + 1 == pooled.len() { last + 1 } else { last };
        values.extend(points[first..end].iter().map(|point| value + slope * (point.0 - from)));
        lines.resize(last, slope);
    }
    let size = points.iter().fold(0.0f64, |most, point| most.max(point.1.abs()));
    for at in 1..points.len() {
        if (points[at].1 - values[at]).abs() > MOVED * size {
            let [a, b, c] = [at - 1, at, (at + 1).min(points.len() - 1)].map(|at| points[at]);
            return Err(CostError::NotConvex { u: [a.0, b.0, c.0], value: [a.1, b.1, c.1] });
        }
    }
    Ok((values, lines))
}

/// Returns the slopes at the samples, between those of the adjacent lines.
fn slopes(lines: &[f64]) -> Vec<f64> {
    let mut slopes = vec![0.0; lines.len() + 1];
    for (slope, pair) in slopes[1..].iter_mut().zip(lines.windows(2)) {
        // 0 if one of them is 0.
        let product = pair[0] * pair[1];
        *slope = if product > 0.0 { 2.0 / (1.0 / pair[0] + 1.0 / pair[1]) } else { 0.0 };
        *slope = slope.max(pair[0]).min(pair[1]);
    }
    // At both ends, continue the bend.
    let last = lines.len();
    slopes[0] = if last > 1 { 2.0 * lines[0] - slopes[1] } else { lines[0] };
    slopes[last] =
        if last > 1 { (2.0 * lines[last - 1] - slopes[last - 1]).min(0.0) } else { lines[0] };
    slopes
}

/// Returns the coefficients on `[−1, 1]` of a parabola with a value at the left end and slopes at both ends.
fn parabola(value: f64, width: f64, (left, right): (f64, f64)) -> [f64; COST] {
    let mut coefficients = [0.0; COST];
    coefficients[0] = value + width * (0.5 * left + 0.125 * (right - left));
    coefficients[1] = width * (0.5 * left + 0.25 * (right - left));
    coefficients[2] = 0.125 * width * (right - left);
    coefficients
}

/// Drops constant pieces at the end.
fn cut_flat_end(ends: &mut Vec<f64>, coefficients: &mut Vec<[f64; COST]>, errors: &mut Vec<f64>) {
    while coefficients.len() > 1
        && coefficients.last().is_some_and(|last| last[1..].iter().all(|c| c.abs() <= 0.0))
    {
        coefficients.pop();
        errors.pop();
        ends.pop();
    }
}

/// Returns the maximum difference between two convex, decreasing functions through the samples, relative to the range
/// of values. Such a function lies below the line between two samples and above the extensions of the neighbouring
/// lines.
fn between(points: &[(f64, f64)], lines: &[f64]) -> f64 {
    let mut worst = 0.0f64;
    for (index, pair) in points.windows(2).enumerate() {
        let width = pair[1].0 - pair[0].0;
        let line = lines[index];
        // Before the first sample any slope is possible; after the last one, at most 0.
        let left = if index > 0 { lines[index - 1] } else { f64::NEG_INFINITY };
        let right = lines.get(index + 1).copied().unwrap_or(0.0);
        let depth = if left.is_finite() {
            // Intersection of both lines.
            let share = if right > left { (right - line) / (right - left) } else { 0.0 };
            (line - left) * share * width
        } else {
            (right - line) * width
        };
        worst = worst.max(depth);
    }
    let range = points[0].1 - points[points.len() - 1].1;
    worst / range
}
