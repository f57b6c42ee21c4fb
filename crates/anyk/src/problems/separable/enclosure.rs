//! Enclosure of a convex, decreasing function between the points at which it was evaluated.
//!
//! Between two neighbouring points, a convex function lies below their chord and above the extensions of the next
//! chords on both sides. The three lines form a triangle. The height of the triangle bounds the uncertainty about the
//! function, even if the function has kinks:
//!
//! ```text
//! height = h·l·r / (l + r),   l = s − s_left,   r = s_right − s,
//! ```
//!
//! where `h` is the width and `s` are the slopes of the three chords. Left of the first point, the slope is
//! unknown and `l` is infinite. Right of the last point, the function does not increase, so `s_right` is 0.
//! [`refine`] adds points until every triangle is low enough.

use crate::problems::separable::CostError;
use crate::problems::separable::tabulation::{Function, check_shape};
use crate::tolerance;

/// Maximum number of points. A function that needs more gets a larger error bound.
const MOST_POINTS: usize = 1 << 22;
/// Maximum number of parts into which one round splits an interval.
const MOST_PARTS: f64 = 32.0;
/// Share of `|c(high)|` that counts towards the size of a cost. Without it, a root or a logarithm at `low`, where
/// the cost is 0 and infinitely steep, would need points without limit.
const OF_LAST: f64 = 1e-5;
/// Factor by which the slope changes faster over an interval with a kink than next to it, and the factor on the
/// goal for such an interval.
const FASTER: f64 = 16.0;
const KINK: f64 = 1e-6;
/// Relative rounding error of a value of the function.
pub(crate) const ROUNDING: f64 = 2e-15;
/// Values below this count as 0.
pub(crate) const SMALLEST: f64 = 1e-250;

/// Point `u` and the value of the function at `u`.
pub(crate) type Point = (f64, f64);

/// Evaluates the function at `places`, then between them until the height of each triangle is at most
/// [`tolerance::COST_TABLE`] of the cost's size. Returns all points in ascending order.
pub(crate) fn refine<F: FnMut(&[f64], &mut [f64])>(
    function: &mut Function<F>,
    places: Vec<f64>,
) -> Result<Vec<Point>, CostError> {
    let mut points = function.points(places)?;
    // Number of parts of each interval in the next round; 0 if the interval is already accurate.
    let mut parts = vec![1; points.len() - 1];
    let (mut goal, mut checked) = (tolerance::COST_TABLE, 0);
    loop {
        if points.len() > 8 * checked {
            check_shape(&points, function.low)?;
            checked = points.len();
        }
        let added = |parts: &[usize]| parts.iter().map(|parts| parts.max(&1) - 1).sum::<usize>();
        split(function, &points, goal, &mut parts);
        while points.len() + added(&parts) > MOST_POINTS {
            goal *= 4.0;
            split(function, &points, goal, &mut parts);
        }
        let mut places = Vec::with_capacity(added(&parts));
        for (pair, &parts) in points.windows(2).zip(&parts) {
            let step = (pair[1].0 - pair[0].0) / parts as f64;
            places.extend((1..parts).map(|part| pair[0].0 + step * part as f64));
        }
        if places.is_empty() {
            return Ok(points);
        }
        let mut new = function.points(places)?.into_iter();
        let (old, old_parts) = (points, parts);
        points = Vec::with_capacity(old.len() + new.len());
        parts = Vec::with_capacity(old.len() + new.len());
        for (point, &count) in old.iter().zip(old_parts.iter().chain(&[0])) {
            points.push(*point);
            points.extend(new.by_ref().take(count.max(1) - 1));
            parts.extend(std::iter::repeat_n(usize::from(count > 0), count.max(1)));
        }
        parts.pop();
    }
}

/// Sorts points and removes duplicates.
pub(crate) fn sort(points: &mut Vec<Point>) {
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|a, b| a.0 <= b.0);
}

/// Sets the number of parts into which each interval must be split. Accurate intervals (0) stay accurate, since
/// new points around them only lower their triangles.
fn split<F>(function: &Function<F>, points: &[Point], goal: f64, parts: &mut [usize]) {
    for (index, parts) in parts.iter_mut().enumerate().filter(|(_, parts)| **parts > 0) {
        let [(from, before), (to, after)] = [points[index], points[index + 1]];
        let marginal = ((before - after) / (to - from)).max(0.0);
        let size = before.abs().min(after.abs())
            + (to - function.low) * marginal
            + OF_LAST * function.last;
        let goal = if has_kink(points, index) { goal * KINK } else { goal };
        let ratio = height(points, index, 0.0) / (goal * size + SMALLEST);
        *parts = 0;
        if ratio > 1.0 && to - from > function.finest(to) {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let count = ratio.sqrt().ceil().clamp(2.0, MOST_PARTS) as usize;
            *parts = count;
        }
    }
}

/// Returns whether the slope changes much faster over this interval than next to it. Such an interval shrinks
/// around the kink with few points.
fn has_kink(points: &[Point], index: usize) -> bool {
    let Some(six) = index.checked_sub(2).and_then(|first| points.get(first..first + 6)) else {
        return false;
    };
    let slope = |i: usize| (six[i + 1].1 - six[i].1) / (six[i + 1].0 - six[i].0);
    let [s0, s1, s2, s3, s4] = [slope(0), slope(1), slope(2), slope(3), slope(4)];
    let [a, b, c, d] = [
        (s1 - s0) / (six[2].0 - six[0].0),
        (s2 - s1) / (six[3].0 - six[1].0),
        (s3 - s2) / (six[4].0 - six[2].0),
        (s4 - s3) / (six[5].0 - six[3].0),
    ];
    b.min(c) > FASTER * a.max(d).max(0.0)
}

/// Returns the height of the triangle between the points `index` and `index + 1`, given a bound on the rounding error
/// of their values and those of their neighbours.
pub(crate) fn height(points: &[Point], index: usize, noise: f64) -> f64 {
    let chord = |index: usize| -> Option<(f64, f64)> {
        let [from, to] = [points.get(index)?, points.get(index + 1)?];
        Some((to.0 - from.0, (to.1 - from.1) / (to.0 - from.0)))
    };
    let Some((width, slope)) = chord(index) else { return 0.0 };
    // Maximum change of the slope from one chord to the next. The last term contains the noise of this chord's
    // own slope.
    let left = index.checked_sub(1).and_then(chord).map_or(f64::INFINITY, |(neighbour, before)| {
        (slope - before).max(0.0) + 2.0 * noise / neighbour
    });
    let right = chord(index + 1)
        .map_or(-slope, |(neighbour, after)| (after - slope).max(0.0) + 2.0 * noise / neighbour);
    let right = right.max(0.0);
    let height = if left.is_infinite() {
        width * right
    } else if left + right > 0.0 {
        width * left * (right / (left + right))
    } else {
        0.0
    };
    height + 4.0 * noise
}

/// Returns the distance of the point `index` above the chord of its neighbours; 0 if the three points are convex.
pub(crate) fn dent(points: &[Point], index: usize) -> f64 {
    let neighbours =
        index.checked_sub(1).and_then(|left| Some((points[left], *points.get(index + 1)?)));
    let Some((left, right)) = neighbours else { return 0.0 };
    let (u, value) = points[index];
    let share = (u - left.0) / (right.0 - left.0);
    (value - (left.1 + (right.1 - left.1) * share)).max(0.0)
}
