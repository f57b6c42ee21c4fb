//! What a user sees of the others.

use serde::{Deserialize, Serialize};

/// How the features of the other users are put together: `agg_{j≠k} h_j`, for each feature alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregator {
    /// `(1/K)·Σ_{j≠k} h_j`, as the paper's eq. (Out-hidd) writes it: over K, not K − 1.
    Mean,
    /// `Σ_{j≠k} h_j`.
    Sum,
    /// `max_{j≠k} h_j`; 0 for a user alone, like the other two.
    Max,
}

impl Aggregator {
    /// All of them, for tests and sweeps.
    pub const ALL: [Self; 3] = [Self::Mean, Self::Sum, Self::Max];

    /// Aggregates `width` features of each of K users, user by user, in O(K).
    ///
    /// `chosen` gets, for [`Aggregator::Max`], which user each value came from (`usize::MAX` for
    /// none).
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
                // A sum of one less itself is 0, not what rounding makes of it.
                if size == 1 {
                    result.fill(0.0);
                }
            }
            None => {
                // The largest and the second largest of each feature serve every user.
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

    /// Adds to `gradient` (of the features) what `upstream` (of the aggregate) sends back.
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

    /// The factor on the sum over the others, for those that are one.
    pub(crate) fn scale(self, size: usize) -> Option<f64> {
        match self {
            Self::Mean => Some(1.0 / size as f64),
            Self::Sum => Some(1.0),
            Self::Max => None,
        }
    }
}
