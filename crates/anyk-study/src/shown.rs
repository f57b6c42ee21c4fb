//! Figures of several runs: the one that is shown, and the range.

/// Returns a figure, followed by the lowest and highest of all runs if there are several, as in `2.93 (2.87–2.94)`.
pub(crate) fn with_range(shown: f64, all: &[f64]) -> Vec<f64> {
    if all.len() < 2 {
        return vec![shown];
    }
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    vec![shown, low, high]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_is_seen_beside_the_second_worst() {
        assert_eq!(with_range(100.3, &[91.4, 100.3, 101.0]), [100.3, 91.4, 101.0]);
        assert_eq!(with_range(100.3, &[100.3]), [100.3]);
    }
}
