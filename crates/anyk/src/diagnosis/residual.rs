//! Errors of a network, as `z_k = ln(ŷ_k/y_k)` for each user. One part depends only on the user's own input and stays
//! as the cell grows. The other part comes from the other users and decays.

use crate::math::{Exponent, Moments};

/// Returns, for each user, the mean over users with similar inputs: the `√n` nearest in the order of the inputs, half
/// of them on each side.
pub(super) fn smoothed(x: &[f64], values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by(|&a, &b| x[a].total_cmp(&x[b]));
    let half = (order.len() as f64).sqrt().mul_add(0.5, 1.0).floor();
    // The conversion truncates the square root of a length, which fits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let half = half as usize;
    let mut sums = vec![0.0];
    for &user in &order {
        sums.push(sums[sums.len() - 1] + values[user]);
    }
    let mut means = vec![0.0; x.len()];
    for (place, &user) in order.iter().enumerate() {
        // Near an end the window narrows on both sides, so that a slope of the values does not bias the mean.
        let half = half.min(place).min(order.len() - 1 - place);
        let (from, to) = (place - half, place + half + 1);
        means[user] = (sums[to] - sums[from]) / (to - from) as f64;
    }
    means
}

/// Returns each value minus the mean over users with similar inputs.
pub(super) fn left(x: &[f64], values: &[f64]) -> Vec<f64> {
    let means = smoothed(x, values);
    values.iter().zip(means).map(|(value, mean)| value - mean).collect()
}

/// Returns the mean absolute value.
pub(super) fn spread(left: &[f64]) -> f64 {
    left.iter().map(|left| left.abs()).collect::<Moments>().mean
}

/// Returns the factor by which the spread changes from `train_k` to `test_k`, by a power of K fitted to `spreads`.
/// The power is clamped to between 1/K and √K. Returns 1 if there are too few sizes to fit it.
pub(super) fn fade(spreads: &[(usize, f64)], (train_k, test_k): (usize, usize)) -> f64 {
    let points: Vec<(f64, f64)> = spreads.iter().map(|&(k, spread)| (k as f64, spread)).collect();
    let exponent = Exponent::fit(&points).map_or(0.0, |exponent| exponent.value.clamp(-1.0, 0.5));
    (test_k as f64 / train_k as f64).powf(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_with_the_input_is_taken_out_and_the_rest_is_left() {
        // Inputs in random order, with an alternating residual of ±0.1 that is independent of x.
        let x: Vec<f64> = (0..1000).map(|i| f64::from(i * 387 % 1000) / 1000.0).collect();
        let rest = |x: f64| if (x * 1000.0).round() % 2.0 < 0.5 { 0.1 } else { -0.1 };
        let values: Vec<f64> = x.iter().map(|&x| x.powi(2) + rest(x)).collect();
        for (mean, x) in smoothed(&x, &values).iter().zip(&x) {
            assert!((mean - x.powi(2)).abs() < 0.01 || !(0.01..0.99).contains(x), "{x}: {mean}");
        }
        assert!((spread(&left(&x, &values)) - 0.1).abs() < 0.005);
        assert!(smoothed(&[], &[]).is_empty());
    }

    #[test]
    fn a_spread_fades_along_its_power() {
        let at = |k: usize| (k, (k as f64).powf(-0.5));
        let fade_of = |spreads: &[(usize, f64)]| fade(spreads, (20, 200));
        assert!((fade_of(&[at(5), at(10), at(20)]) - 0.1f64.sqrt()).abs() < 1e-9);
        // Too few sizes, an implausible power, and spreads of 0.
        assert!((fade_of(&[at(10), at(20)]) - 1.0).abs() < 1e-9);
        assert!((fade_of(&[(5, 1.0), (10, 1e-3), (20, 1e-6)]) - 0.1).abs() < 1e-9);
        assert!((fade_of(&[(5, 0.0), (10, 0.0), (20, 0.0)]) - 1.0).abs() < 1e-9);
    }
}
