//! Extrapolation of curves over K to a larger size. Every form that can be fitted makes a prediction. The prediction
//! of the form with the smallest error at the last size is used. The others, weighted by their expected errors,
//! determine its uncertainty.

use super::Point;

/// Method of extrapolation: takes the points of a curve and returns the value at a size, if it can be computed.
pub(super) trait Way: Fn(&[Point], usize) -> Option<f64> {}
impl<T: Fn(&[Point], usize) -> Option<f64>> Way for T {}

/// Prediction of one method.
struct Opinion {
    /// Values, one for each curve.
    values: Vec<f64>,
    /// Sum of squared errors of the prediction of the last size. The method with the smallest sum is selected.
    last: f64,
    /// Expected square of the error, computed from the last two sizes, since the error at a single size may be small by
    /// chance.
    square: f64,
}

/// Extrapolates the curves to size `k` by the method with the smallest error at the last size, and returns the values
/// with their expected deviations. Values are logarithms. Returns `None` if no method applies.
pub(super) fn carried_on(
    curves: &[Vec<Point>],
    ways: &[impl Way],
    k: usize,
) -> Option<(Vec<f64>, Vec<f64>)> {
    let mut opinions: Vec<Opinion> =
        ways.iter().filter_map(|way| opinion(way, curves, k)).collect();
    opinions.sort_by(|a, b| a.last.total_cmp(&b.last));
    let best = opinions.first()?;
    // Avoid division by 0 for an exact size law.
    let trust = |opinion: &Opinion| opinion.square.max(f64::EPSILON.powi(2)).recip();
    let total: f64 = opinions.iter().map(trust).sum();
    let deviation = |curve: usize| {
        let apart = |opinion: &Opinion| {
            trust(opinion) / total * (opinion.values[curve] - best.values[curve]).powi(2)
        };
        (best.square + opinions.iter().map(apart).sum::<f64>()).sqrt()
    };
    let deviations = (0..curves.len()).map(deviation).collect();
    Some((best.values.clone(), deviations))
}

fn opinion(way: &impl Way, curves: &[Vec<Point>], k: usize) -> Option<Opinion> {
    let mut made = Opinion { values: Vec::new(), last: 0.0, square: 0.0 };
    for points in curves {
        let [.., before, last] = points.as_slice() else { return None };
        let newest = points.len() - 1;
        let missed_last = missed(way, points, newest, k)?;
        // Size laws are asymptotic: their errors decrease at least as 1/K.
        let nearer = (before.k as f64 / last.k as f64).powi(2);
        let missed_before = missed(way, points, newest - 1, k).map(|square| square * nearer);
        let noise = noise(way, points, k)?;
        made.values.push(way(points, k)?);
        made.last += missed_last + noise;
        made.square += 0.5 * (missed_last + missed_before.unwrap_or(missed_last)) + noise;
    }
    made.square /= curves.len() as f64;
    Some(made)
}

/// Returns the squared error to expect at size `k`: the error of predicting the point at `index` from the points before
/// it, scaled by the distance in `ln K`.
fn missed(way: &impl Way, points: &[Point], index: usize, k: usize) -> Option<f64> {
    let (before, next) = (points.get(..index)?, points.get(index)?);
    let said = way(before, next.k)?;
    let step = (next.k as f64 / before.last()?.k as f64).ln();
    let steps = (k as f64 / points.last()?.k as f64).ln() / step;
    Some((steps * (said - next.value)).powi(2))
}

/// Returns the variance of the prediction that is caused by the standard errors of the points.
fn noise(way: &impl Way, points: &[Point], k: usize) -> Option<f64> {
    let value = way(points, k)?;
    let mut square = 0.0;
    for index in 0..points.len() {
        let mut moved = points.to_vec();
        moved[index].value += moved[index].standard_error;
        square += (way(&moved, k)? - value).powi(2);
    }
    Some(square)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    type Fitted = fn(&[Point], usize) -> Option<f64>;
    const WAYS: [Fitted; 2] = [constant, straight];

    /// Returns points without noise.
    fn curve(sizes: &[usize], value: impl Fn(f64) -> f64) -> Vec<Point> {
        let point = |&k: &usize| Point {
            k,
            value: value((k as f64).ln()),
            standard_error: 0.0,
            low: 0.0,
            high: 0.0,
            spread: 0.0,
            samples: 1,
        };
        sizes.iter().map(point).collect()
    }

    fn constant(points: &[Point], _: usize) -> Option<f64> {
        points.last().map(|point| point.value)
    }

    fn straight(points: &[Point], k: usize) -> Option<f64> {
        let [.., first, second] = points else { return None };
        let ln = |k: usize| (k as f64).ln();
        let slope = (second.value - first.value) / (ln(second.k) - ln(first.k));
        Some(second.value + slope * (ln(k) - ln(second.k)))
    }

    #[test]
    fn the_way_that_holds_is_gone_and_the_other_makes_no_doubt() {
        let line = curve(&[2, 4, 8, 16], |t| 1.0 + 0.5 * t);
        let (value, deviation) = carried_on(&[line], &WAYS, 160).unwrap();
        assert!((value[0] - 1.0 - 0.5 * 160f64.ln()).abs() < 1e-9 && deviation[0] < 1e-9);
    }

    #[test]
    fn a_bend_that_no_way_has_is_expected_to_be_missed() {
        let bent = |t: f64| 0.05 * t * t;
        let (value, deviation) = carried_on(&[curve(&[2, 4, 8, 16], bent)], &WAYS, 160).unwrap();
        let missed = (value[0] - bent(160f64.ln())).abs();
        assert!((0.3 * missed..3.0 * missed).contains(&deviation[0]), "{missed} {deviation:?}");
    }

    #[test]
    fn noise_counts_and_too_few_points_have_no_opinion() {
        let mut flat = curve(&[2, 4, 8, 16], |_| 1.0);
        for point in &mut flat {
            point.standard_error = 0.1;
        }
        let (value, deviation) = carried_on(&[flat], &WAYS, 160).unwrap();
        // Only the last point affects a constant.
        assert!((value[0] - 1.0).abs() < 1e-12 && (deviation[0] - 0.1).abs() < 1e-9);
        assert!(carried_on(&[curve(&[2], |_| 1.0)], &WAYS, 160).is_none());
    }
}
