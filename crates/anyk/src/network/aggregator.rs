//! Aggregation over the other users.

use serde::{Deserialize, Serialize};

/// Aggregation of the features of the other users, `agg_{j≠k} h_j`, separately for each feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregator {
    /// Mean, `(1/K)·Σ_{j≠k} h_j`, as in the paper's eq. (Out-hidd): divided by K, not K − 1.
    Mean,
    /// Sum, `Σ_{j≠k} h_j`.
    Sum,
    /// Maximum, `max_{j≠k} h_j`; 0 for a single user, as for the mean and the sum.
    Max,
}

impl Aggregator {
    /// All aggregators, for tests and sweeps.
    pub const ALL: [Self; 3] = [Self::Mean, Self::Sum, Self::Max];

    /// Aggregates `width` features of each of K users, user by user, in O(K).
    ///
    /// For [`Aggregator::Max`], `chosen` receives the user that each value came from (`usize::MAX` if there is none).
    pub(crate) fn forward(
        self,
        features: &[f64],
        width: usize,
        result: &mut Vec<f64>,
        chosen: &mut Vec<usize>,
    ) {
        let size = features.len() / width;
        result.clear();
        chosen.clear();
        match self.scale(size) {
            Some(scale) => {
                let mut sums = vec![0.0; width];
                for row in features.chunks_exact(width) {
                    for (sum, feature) in sums.iter_mut().zip(row) {
                        *sum += feature;
                    }
                }
                for row in features.chunks_exact(width) {
                    result.extend(sums.iter().zip(row).map(|(sum, own)| scale * (sum - own)));
                }
                // The sum over no other users is exactly 0.
                if size == 1 {
                    result.fill(0.0);
                }
            }
            None => {
                // The largest and second largest value of each feature are enough for every user.
                let none = (usize::MAX, f64::NEG_INFINITY);
                let mut best = vec![(none, none); width];
                for (user, row) in features.chunks_exact(width).enumerate() {
                    for (best, &feature) in best.iter_mut().zip(row) {
                        if feature > best.0.1 {
                            *best = ((user, feature), best.0);
                        } else if feature > best.1.1 {
                            best.1 = (user, feature);
                        }
                    }
                }
                for user in 0..size {
                    for &(first, second) in &best {
                        let (from, value) = if first.0 == user { second } else { first };
                        chosen.push(from);
                        result.push(if from == usize::MAX { 0.0 } else { value });
                    }
                }
            }
        }
    }

    /// Adds the gradient with respect to the features to `gradient`, given the gradient `upstream` with respect to
    /// the aggregate.
    pub(crate) fn backward(
        self,
        upstream: &[f64],
        width: usize,
        chosen: &[usize],
        gradient: &mut [f64],
    ) {
        let size = upstream.len() / width;
        match self.scale(size) {
            Some(scale) => {
                let mut sums = vec![0.0; width];
                for row in upstream.chunks_exact(width) {
                    for (sum, value) in sums.iter_mut().zip(row) {
                        *sum += value;
                    }
                }
                if size == 1 {
                    return;
                }
                let rows = gradient.chunks_exact_mut(width).zip(upstream.chunks_exact(width));
                for (row, own) in rows {
                    for ((gradient, sum), own) in row.iter_mut().zip(&sums).zip(own) {
                        *gradient += scale * (sum - own);
                    }
                }
            }
            None => {
                for (index, (&from, value)) in chosen.iter().zip(upstream).enumerate() {
                    if from != usize::MAX {
                        gradient[from * width + index % width] += value;
                    }
                }
            }
        }
    }

    /// Returns the factor on the sum over the other users, or `None` for the maximum.
    pub(crate) fn scale(self, size: usize) -> Option<f64> {
        match self {
            Self::Mean => Some(1.0 / size as f64),
            Self::Sum => Some(1.0),
            Self::Max => None,
        }
    }
}
