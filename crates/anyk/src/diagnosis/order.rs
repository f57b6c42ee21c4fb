//! Whether a policy is permutation-equivariant: by calling it in another order, or, from samples alone,
//! by whether outputs go with a user's place in its instance.

use serde::Serialize;

use super::{Answer, Samples};

/// Outputs that differ by less between two orders, relative to the largest, are the same: solvers stop
/// early, and networks compute in single precision.
const SAME: f64 = 1e-3;
/// Bins of the input within which outputs are compared.
const BINS: usize = 20;
/// Standard errors from which on a trend over the places is one (p < 0.001).
const CLEAR: f64 = 3.3;

/// Whether the order of the users matters, and how that is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Order {
    /// Whether the policy is permutation-equivariant.
    pub equivariant: Answer,
    /// Called with its users in another order: largest difference over the largest output.
    pub error: Option<f64>,
    /// From samples: standard errors by which outputs rise over the places in an instance, for given
    /// inputs.
    pub trend: Option<f64>,
}

impl Order {
    /// From the difference between two orders.
    pub(super) fn called(error: f64) -> Self {
        let equivariant = if error <= SAME { Answer::Yes } else { Answer::No };
        Self { equivariant, error: Some(error), trend: None }
    }

    /// What can and cannot be concluded.
    pub fn text(&self) -> String {
        match (self.equivariant, self.error, self.trend) {
            (Answer::Yes, Some(error), _) => {
                format!("yes: in another order the outputs differ by {error:.1e}")
            }
            (_, Some(error), _) => {
                format!("no: in another order the outputs differ by {error:.1e} of the largest")
            }
            (Answer::No, _, Some(trend)) => {
                format!("no: for a given input, outputs go with the place ({trend:+.1} σ)")
            }
            (_, _, Some(trend)) => format!(
                "nothing against it: no trend over the places ({trend:+.1} σ); samples cannot prove it"
            ),
            _ => "unknown: samples without instances do not show the order".to_owned(),
        }
    }
}

/// The test on samples: residuals of the outputs, ranked within bins of size and input, against the
/// place. The scores of instances are independent, whatever their users do to each other.
pub(super) fn from_samples(samples: &Samples) -> Order {
    if !samples.clustered() {
        return Order { equivariant: Answer::Undecided, error: None, trend: None };
    }
    let (mut sum, mut squares) = (0.0, 0.0);
    for size in samples.sizes() {
        // (input, output, instance, place between −½ and ½)
        let mut users: Vec<(f64, f64, usize, f64)> = Vec::new();
        for (index, instance) in size.instances.iter().enumerate() {
            let count = instance.x.len() as f64;
            let rows = instance.x.iter().zip(&instance.y).enumerate();
            users.extend(
                rows.map(|(place, (&x, &y))| (x, y, index, (place as f64 + 0.5) / count - 0.5)),
            );
        }
        users.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut scores = vec![0.0; size.instances.len()];
        let in_bin = users.len().div_ceil(BINS).max(2);
        for bin in users.chunks_mut(in_bin) {
            bin.sort_by(|a, b| a.1.total_cmp(&b.1));
            let count = bin.len() as f64;
            for (rank, user) in bin.iter().enumerate() {
                scores[user.2] += ((rank as f64 + 0.5) / count - 0.5) * user.3;
            }
        }
        sum += scores.iter().sum::<f64>();
        squares += scores.iter().map(|score| score * score).sum::<f64>();
    }
    let trend = if squares > 0.0 { sum / squares.sqrt() } else { 0.0 };
    let equivariant = if trend.abs() > CLEAR { Answer::No } else { Answer::Undecided };
    Order { equivariant, error: None, trend: Some(trend) }
}
