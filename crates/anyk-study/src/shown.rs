//! How the figures of several trainings are shown: one of them, and the range of all.

/// A figure with the range of all trainings behind it, where there are several: `2.93 (2.87–2.94)`.
pub(crate) fn with_range(shown: f64, all: &[f64], digits: usize) -> String {
    let text = |value: f64| {
        let text = format!("{value:.digits$}");
        // Rounding is not less than nothing.
        if text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.') {
            text.trim_start_matches('-').to_owned()
        } else {
            text
        }
    };
    if all.len() < 2 {
        return text(shown);
    }
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{} ({}–{})", text(shown), text(low), text(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_is_seen_beside_the_second_worst() {
        assert_eq!(with_range(100.3, &[91.4, 100.3, 101.0], 1), "100.3 (91.4–101.0)");
        assert_eq!(with_range(100.3, &[100.3], 1), "100.3");
        assert_eq!(with_range(-1e-9, &[-1e-9, 1e-9], 2), "0.00 (0.00–0.00)");
    }
}
