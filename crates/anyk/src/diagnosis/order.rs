//! Whether a policy is permutation-equivariant: by calling it in another order, or, from samples alone,
//! by whether outputs go with a user's place in its instance.

use serde::Serialize;

use super::{Answer, Samples};
use crate::math::Moments;

/// Outputs that differ by less between two orders, relative to the largest, are the same: solvers stop
/// early, and networks compute in single precision.
const SAME: f64 = 1e-3;
/// Bins of the input within which outputs are compared.
const BINS: usize = 20;
/// Standard errors from which on a trend over the places is one (p < 0.001).
const CLEAR: f64 = 3.3;

/// Part of the outputs' variation that a trend must be to matter.
const LEAST_EFFECT: f64 = 0.02;

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
    const UNKNOWN: Self = Self { equivariant: Answer::Undecided, error: None, trend: None };

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
                "nothing against it: no trend to speak of over the places ({trend:+.1} σ); samples cannot \
                 prove it"
            ),
            _ => "unknown: samples without instances, or sorted by their inputs, do not show it"
                .to_owned(),
        }
    }
}

/// The test on samples: what is left of outputs and of places within bins of the input, after a straight
/// line in the input is taken out of both. The scores of instances are independent, whatever their users
/// do to each other. Where the inputs themselves go with the place, as in a sorted file, the place tells of
/// the other users, and nothing can be said.
pub(super) fn from_samples(samples: &Samples) -> Order {
    if !samples.clustered() {
        return Order::UNKNOWN;
    }
    let positive = samples.positive();
    let (mut sum, mut squares, mut effect) = (0.0, 0.0, 0.0f64);
    let (mut input_sum, mut input_squares) = (0.0, 0.0);
    for size in samples.sizes() {
        // (input, output, place between −½ and ½, instance)
        let mut users: Vec<([f64; 3], usize)> = Vec::new();
        for (index, instance) in size.instances.iter().enumerate() {
            let count = instance.x.len() as f64;
            let rows = instance.x.iter().zip(&instance.y).enumerate();
            users.extend(rows.map(|(place, (&x, &y))| {
                let y = if positive { y.ln() } else { y };
                ([x, y, (place as f64 + 0.5) / count - 0.5], index)
            }));
        }
        users.sort_by(|a, b| a.0[0].total_cmp(&b.0[0]));
        let outputs: Moments = users.iter().map(|user| user.0[1]).collect();
        // In units of the outputs' deviation, so that all sizes count alike.
        let unit = outputs.deviation().max(f64::MIN_POSITIVE);
        let inputs: Moments = users.iter().map(|user| user.0[0]).collect();
        let mut sorted = vec![0.0; size.instances.len()];
        for (user, instance) in &users {
            let unit = inputs.deviation().max(f64::MIN_POSITIVE);
            sorted[*instance] += (user[0] - inputs.mean) / unit * user[2];
        }
        input_sum += sorted.iter().sum::<f64>();
        input_squares += sorted.iter().map(|score| score * score).sum::<f64>();
        let mut scores = vec![0.0; size.instances.len()];
        let mut places = 0.0;
        for bin in users.chunks(users.len().div_ceil(BINS).max(2)) {
            let of = |column: usize| -> Moments { bin.iter().map(|user| user.0[column]).collect() };
            let means = [of(0), of(1), of(2)];
            let apart = |user: &[f64; 3], column: usize| user[column] - means[column].mean;
            let slope = |column: usize| {
                let products: f64 =
                    bin.iter().map(|(user, _)| apart(user, 0) * apart(user, column)).sum();
                if means[0].squares > 0.0 { products / means[0].squares } else { 0.0 }
            };
            let slopes = [1.0, slope(1), slope(2)];
            let left = |user: &[f64; 3], column: usize| {
                apart(user, column) - slopes[column] * apart(user, 0)
            };
            for (user, instance) in bin {
                scores[*instance] += left(user, 1) / unit * left(user, 2);
                places += left(user, 2).powi(2);
            }
        }
        let total: f64 = scores.iter().sum();
        let most = (places * users.len() as f64).sqrt();
        effect = effect.max(if most > 0.0 { total.abs() / most } else { 0.0 });
        sum += total;
        squares += scores.iter().map(|score| score * score).sum::<f64>();
    }
    if input_sum.abs() > CLEAR * input_squares.sqrt() {
        return Order::UNKNOWN;
    }
    let trend = if squares > 0.0 { sum / squares.sqrt() } else { 0.0 };
    let clear = trend.abs() > CLEAR && effect > LEAST_EFFECT;
    let equivariant = if clear { Answer::No } else { Answer::Undecided };
    Order { equivariant, error: None, trend: Some(trend) }
}
