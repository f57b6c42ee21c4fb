//! Test of permutation equivariance. It calls the policy with the users in another order or, given only samples, tests
//! whether outputs depend on the position of a user in its instance.

use serde::Serialize;

use super::{Answer, Samples, SizeSamples};
use crate::math::Moments;

/// Largest difference between the outputs for two orders, relative to the largest output, that counts as 0. The outputs
/// differ slightly because solvers stop early and networks compute in single precision.
const SAME: f64 = 1e-3;
/// Number of bins of the input within which outputs are compared.
const BINS: usize = 20;
/// Standard errors above which a pattern counts as a dependence on the position. The test searches about 60 patterns.
/// By chance, it finds a pattern for fewer than one policy in a thousand.
const CLEAR: f64 = 4.5;
/// Smallest residual deviation that is tested, relative to the deviation of the outputs. Below this value, the inputs
/// determine the outputs, and a grid of inputs would appear as a pattern.
const LEAST_LEFT: f64 = 0.01;
/// Largest number of waves over the positions for which the test searches.
const WAVES: usize = 4;

/// Result of the test of permutation equivariance, and the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Order {
    /// Whether the policy is permutation-equivariant.
    pub equivariant: Answer,
    /// Largest difference between the outputs for two orders, divided by the largest output, if the policy was
    /// called.
    pub error: Option<f64>,
    /// Clearest pattern of the outputs over the positions, for given inputs, if the test used samples.
    pub place: Option<Pattern>,
}

/// Dependence on the position in an instance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pattern {
    /// Name of the pattern.
    pub name: &'static str,
    /// Size of the dependence, in standard errors.
    pub sigma: f64,
}

impl Order {
    const UNKNOWN: Self = Self { equivariant: Answer::Undecided, error: None, place: None };

    /// Returns the result for a policy that was called, from the difference between two orders.
    pub(super) fn called(error: f64) -> Self {
        let equivariant = if error <= SAME { Answer::Yes } else { Answer::No };
        Self { equivariant, error: Some(error), place: None }
    }

    /// Returns the conclusion as a sentence.
    pub fn text(&self) -> String {
        match (self.equivariant, self.error, self.place) {
            (Answer::Yes, Some(error), _) => {
                format!("yes: in another order, the outputs differ by {error:.1e}")
            }
            (_, Some(error), _) => {
                format!("no: in another order, the outputs differ by {error:.1e} of the largest")
            }
            (Answer::No, _, Some(Pattern { name, sigma })) => {
                format!("no: for a given input, outputs depend on the position ({name}, {sigma:.1} σ)")
            }
            (_, _, Some(Pattern { name, sigma })) => format!(
                "not contradicted: outputs do not depend on the position (at most {sigma:.1} σ, {name}), but \
                 samples cannot prove equivariance"
            ),
            _ => "unknown: cannot be tested on samples without instances, or if inputs depend on the position"
                .to_owned(),
        }
    }
}

/// Tests samples. If the order does not matter, the residuals of the outputs, given their inputs, may be permuted
/// within an instance. These permutations give the standard error of every pattern. The test searches the residuals,
/// their products with the input, and their absolute values. If the inputs themselves depend on the position, as in a
/// sorted file, the position contains information about the other users, and the result is undecided.
pub(super) fn from_samples(samples: &Samples) -> Order {
    if !samples.clustered() {
        return Order::UNKNOWN;
    }
    let positive = samples.positive();
    let mut inputs = Patterns::default();
    let mut outputs = [Patterns::default(), Patterns::default(), Patterns::default()];
    for size in samples.sizes().iter().filter(|size| size.k > 1) {
        let left = left_over(size, positive);
        let x = ranks(&size.each().map(|user| user.0).collect::<Vec<_>>());
        let moved: Vec<f64> = left.iter().zip(&x).map(|(left, x)| left * x).collect();
        let sizes = ranks(&left.iter().map(|left| left.abs()).collect::<Vec<_>>());
        let table: Vec<Contrasts> = (0..size.k).map(|place| contrasts(place, size.k)).collect();
        inputs.add(size, &x, &table);
        for (patterns, values) in outputs.iter_mut().zip([&left, &moved, &sizes]) {
            patterns.add(size, values, &table);
        }
    }
    let clear = |found: Option<Pattern>| found.is_some_and(|found| found.sigma > CLEAR);
    if clear(inputs.clearest()) {
        return Order::UNKNOWN;
    }
    let found = outputs.iter().filter_map(Patterns::clearest);
    let place = found.max_by(|a, b| a.sigma.total_cmp(&b.sigma));
    let equivariant = if clear(place) { Answer::No } else { Answer::Undecided };
    Order { equivariant, error: None, place }
}

/// Returns the residuals of the outputs within bins of the input, after subtracting a straight line. They are
/// returned as ranks, so that heavy tails do not dominate.
fn left_over(size: &SizeSamples, positive: bool) -> Vec<f64> {
    let users: Vec<(f64, f64)> =
        size.each().map(|(x, y)| (x, if positive { y.ln() } else { y })).collect();
    let mut order: Vec<usize> = (0..users.len()).collect();
    order.sort_by(|&a, &b| users[a].0.total_cmp(&users[b].0));
    let mut left = vec![0.0; users.len()];
    for bin in order.chunks(order.len().div_ceil(BINS).max(2)) {
        let x: Moments = bin.iter().map(|&user| users[user].0).collect();
        let y: Moments = bin.iter().map(|&user| users[user].1).collect();
        let products: f64 =
            bin.iter().map(|&user| (users[user].0 - x.mean) * (users[user].1 - y.mean)).sum();
        let slope = if x.squares > 0.0 { products / x.squares } else { 0.0 };
        for &user in bin {
            left[user] = users[user].1 - y.mean - slope * (users[user].0 - x.mean);
        }
    }
    let deviation = |values: &mut dyn Iterator<Item = f64>| values.collect::<Moments>().deviation();
    let outputs = deviation(&mut users.iter().map(|user| user.1));
    // Curvature within a bin and rounding are not a residual.
    if deviation(&mut left.iter().copied()) <= LEAST_LEFT * outputs {
        return vec![0.0; left.len()];
    }
    ranks(&left)
}

/// Returns ranks with mean 0. Equal values have equal ranks, since otherwise the sorting order would appear as a
/// pattern.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let value = values[order[from]];
        let equal = order[from..].iter().take_while(|&&user| values[user] <= value).count();
        let rank = (from as f64 + 0.5 * (equal as f64 - 1.0) + 0.5) / values.len() as f64 - 0.5;
        order[from..from + equal].iter().for_each(|&user| ranks[user] = rank);
        from += equal;
    }
    ranks
}

/// Names of the patterns, in the order of [`contrasts`].
const NAMES: [&str; 4 + 2 * WAVES] = [
    "a trend",
    "every second one",
    "the first",
    "the last",
    "one wave",
    "one wave",
    "two waves",
    "two waves",
    "three waves",
    "three waves",
    "four waves",
    "four waves",
];

/// Values of the named patterns at one position.
type Contrasts = [f64; NAMES.len()];

fn contrasts(place: usize, size: usize) -> Contrasts {
    let one_if = |holds: bool| if holds { 1.0 } else { 0.0 };
    let at = (place as f64 + 0.5) / size as f64;
    let mut found = [0.0; NAMES.len()];
    found[0] = at;
    found[1] = one_if(place.is_multiple_of(2));
    found[2] = one_if(place == 0);
    found[3] = one_if(place + 1 == size);
    for wave in 0..WAVES {
        let (sine, cosine) = (std::f64::consts::TAU * (wave + 1) as f64 * at).sin_cos();
        found[4 + 2 * wave] = sine;
        found[5 + 2 * wave] = cosine;
    }
    found
}

/// Dependence of values on the position, over all sizes.
#[derive(Default)]
struct Patterns {
    /// Sum and variance of each named pattern under permutation.
    sums: Contrasts,
    variances: Contrasts,
    /// χ² of the means at all positions and its degrees of freedom, for each size.
    any: Vec<(f64, f64)>,
}

impl Patterns {
    fn add(&mut self, size: &SizeSamples, values: &[f64], table: &[Contrasts]) {
        let (mut totals, mut squares) = (vec![0.0; size.k], 0.0);
        let mut rest = values;
        let mut whole = true;
        for instance in &size.instances {
            let (own, after) = rest.split_at(instance.x.len());
            rest = after;
            whole &= own.len() == size.k;
            let count = own.len() as f64;
            let moments: Moments = own.iter().copied().collect();
            if own.len() < 2 {
                continue;
            }
            let (mut firsts, mut seconds, mut sums) =
                ([0.0; NAMES.len()], [0.0; NAMES.len()], [0.0; NAMES.len()]);
            for ((value, contrasts), total) in own.iter().zip(table).zip(&mut totals) {
                let value = value - moments.mean;
                *total += value;
                for (index, contrast) in contrasts.iter().enumerate() {
                    firsts[index] += contrast;
                    seconds[index] += contrast * contrast;
                    sums[index] += contrast * value;
                }
            }
            squares += moments.squares;
            for index in 0..NAMES.len() {
                let spread = seconds[index] - firsts[index].powi(2) / count;
                // Skip contrasts that vary only by rounding, such as whole waves over two positions.
                if spread > 1e-9 {
                    self.sums[index] += sums[index];
                    self.variances[index] += spread * moments.squares / (count - 1.0);
                }
            }
        }
        if whole && squares > 0.0 {
            let freedom = size.k as f64 - 1.0;
            let square = totals.iter().map(|total| total * total).sum::<f64>();
            self.any.push((freedom * square / squares, freedom));
        }
    }

    fn clearest(&self) -> Option<Pattern> {
        let named = NAMES
            .iter()
            .zip(self.sums.iter().zip(&self.variances))
            .filter(|(_, (_, variance))| **variance > 0.0)
            .map(|(&name, (sum, variance))| Pattern { name, sigma: sum.abs() / variance.sqrt() });
        let all = self.any.iter().fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        let any = self.any.iter().copied().chain([all]).filter(|one| one.1 > 0.0).map(|one| {
            // Approximates χ² by a normal variable (Wilson and Hilferty).
            let (square, freedom) = one;
            let width = 2.0 / (9.0 * freedom);
            let sigma = ((square / freedom).cbrt() - 1.0 + width) / width.sqrt();
            Pattern { name: "places differ", sigma: sigma.max(0.0) }
        });
        named.chain(any).max_by(|a, b| a.sigma.total_cmp(&b.sigma))
    }
}
