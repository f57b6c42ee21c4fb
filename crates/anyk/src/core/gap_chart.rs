//! Chart of the gaps of policies to the reference.

use std::collections::BTreeMap;

use super::Standing;
use crate::framework::{Chart, Series};

/// Smallest availability that a curve need not mention.
const ALL_SERVED: f64 = 0.995;

/// Curve of a [`gap_chart`].
#[derive(Debug, Clone, PartialEq)]
pub struct GapCurve {
    /// Name of the policy, and the values that distinguish it from other curves.
    pub label: String,
    /// Results of the policy.
    pub standings: Vec<Standing>,
}

/// Draws the gap to the reference against K. If several standings of a curve have the same size, such as those of
/// several training runs, the curve shows their mean, and its spread their range. Otherwise, the spread is the 95 %
/// confidence interval. If the availability is below 99.5 % for some K, the label gives the lowest.
pub fn gap_chart(problem: &str, objective: &str, reference: &str, curves: Vec<GapCurve>) -> Chart {
    let series = |GapCurve { label, standings }| {
        let mut by_size: BTreeMap<usize, Vec<(f64, f64)>> = BTreeMap::new();
        for standing in &standings {
            if let Some(gap) = standing.gap_percent {
                let error = standing.gap_standard_error.unwrap_or(0.0);
                by_size.entry(standing.k).or_default().push((gap, error));
            }
        }
        let (mut points, mut spread) = (Vec::new(), Vec::new());
        for (k, gaps) in by_size {
            let mean = gaps.iter().map(|(gap, _)| gap).sum::<f64>() / gaps.len() as f64;
            points.push((k as f64, mean));
            spread.push(match gaps[..] {
                [(gap, error)] => (gap - 1.96 * error, gap + 1.96 * error),
                _ => gaps
                    .iter()
                    .fold((mean, mean), |(low, high), (gap, _)| (low.min(*gap), high.max(*gap))),
            });
        }
        let least = standings.iter().filter_map(|row| row.availability).fold(1.0, f64::min);
        let label = if least < ALL_SERVED {
            format!("{label} (serves {:.0} % at worst)", 100.0 * least)
        } else {
            label
        };
        Series { label, points, spread: Some(spread), ..Series::default() }
    };
    Chart {
        title: format!("{problem}: gap to {reference}"),
        x_label: "K".to_owned(),
        y_label: format!("{objective}: % worse than {reference}"),
        log_x: true,
        log_y: false,
        series: curves.into_iter().map(series).filter(|one| !one.points.is_empty()).collect(),
    }
}
