//! Conversion of the gains of an interference network into features of its links and paths.

use serde::{Deserialize, Serialize};

use crate::math::lanes::{self, LANES, Lanes};
use crate::math::single;
use crate::math::vectorised;
use crate::network::{LinkGraph, Real};
use crate::problems::interference::SparseInterference;

/// Mean and standard deviation that standardize a feature `ln(1 + g)`, with `g` in units of the noise at full
/// power.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standard {
    /// Mean over the training samples.
    pub mean: f64,
    /// Standard deviation.
    pub deviation: f64,
}

impl Standard {
    /// Computes the mean and the standard deviation from gains; a deviation of 0 is replaced by 1.
    pub fn of(gains: impl Iterator<Item = f64>) -> Self {
        let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for gain in gains {
            let feature = gain.ln_1p();
            count += 1.0;
            sum += feature;
            squares += feature * feature;
        }
        let mean = sum / f64::max(count, 1.0);
        let variance = squares / f64::max(count, 1.0) - mean * mean;
        Self { mean, deviation: if variance > 1e-12 { variance.sqrt() } else { 1.0 } }
    }

    /// Returns whether the features of every gain are finite.
    fn is_sound(&self) -> bool {
        self.mean.is_finite() && self.deviation.is_finite() && self.deviation > 1e-7
    }

    /// Computes the features of gains, sixteen at a time.
    #[inline(always)]
    fn fill<T: Real>(&self, gains: &[f64], features: &mut [T]) {
        let (scale, shift) = (single(1.0 / self.deviation), single(-self.mean / self.deviation));
        let (chunks, rest) = gains.as_chunks::<LANES>();
        let (feature_chunks, feature_rest) = features.as_chunks_mut::<LANES>();
        for (features, gains) in feature_chunks.iter_mut().zip(chunks) {
            let values = line(gains, scale, shift);
            for i in 0..LANES {
                features[i] = T::of(f64::from(values[i]));
            }
        }
        let mut last = [0.0; LANES];
        last[..rest.len()].copy_from_slice(rest);
        for (feature, value) in feature_rest.iter_mut().zip(line(&last, scale, shift)) {
            *feature = T::of(f64::from(value));
        }
    }
}

/// Returns `ln(1 + g)·scale + shift`.
#[inline(always)]
fn line(gains: &[f64; LANES], scale: f32, shift: f32) -> Lanes {
    let mut singles = [0.0; LANES];
    for i in 0..LANES {
        // A gain beyond the range of `f32` is clipped to its end.
        singles[i] = 1.0 + single(gains[i]).min(1e38);
    }
    let logarithms = lanes::map(&singles, lanes::ln);
    let mut result = lanes::all(shift);
    lanes::add_scaled(&mut result, &logarithms, scale);
    result
}

/// Conversion of gains and weights into features.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Features {
    /// Scaling of the links' direct gains.
    pub link: Standard,
    /// Scaling of the gains of paths between links.
    pub path: Standard,
    /// Mean number of neighbours of a link in the training samples. Sums of messages are divided by it, at every
    /// number of links.
    #[serde(default = "one")]
    pub neighbours: f64,
    /// Whether links have weights. Their feature is `ln(α_k/ᾱ)`, with ᾱ the mean over the network; it is not
    /// standardized.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub weighted: bool,
}

/// Range to which weights are clipped, in units of their mean; a weight may be 0.
const WEIGHTS: (f64, f64) = (1e-3, 1e3);

/// Returns 1, the default for files of earlier versions, whose sums are not scaled.
fn one() -> f64 {
    1.0
}

impl Features {
    /// Returns whether the features of every network are finite.
    pub fn is_sound(&self) -> bool {
        let neighbours = (1e-6..=1e9).contains(&self.neighbours);
        self.link.is_sound() && self.path.is_sound() && neighbours
    }

    /// Writes the features of all links and paths into existing buffers.
    pub fn fill<T: Real>(&self, problem: &SparseInterference, graph: &mut LinkGraph<T>) {
        graph.per_neighbour = T::of(1.0 / self.neighbours);
        graph.offsets.clone_from(&problem.offsets);
        graph.neighbours.clone_from(&problem.neighbours);
        for (features, gains) in [
            (&mut graph.hears, &problem.hears),
            (&mut graph.harms, &problem.harms),
            (&mut graph.links, &problem.direct),
        ] {
            features.resize(gains.len(), T::zero());
        }
        dispatch_fill(self, problem, graph);
        graph.weights.clear();
        if self.weighted {
            let mean = problem.weights.iter().sum::<f64>() / problem.weights.len() as f64;
            // Multiplying all weights by a constant does not change the best powers.
            let feature = |weight: &f64| T::of((weight / mean).clamp(WEIGHTS.0, WEIGHTS.1).ln());
            graph.weights.extend(problem.weights.iter().map(feature));
        }
    }

    /// Returns the features of all links and paths.
    pub fn graph<T: Real + Default>(&self, problem: &SparseInterference) -> LinkGraph<T> {
        let mut graph = LinkGraph::default();
        self.fill(problem, &mut graph);
        graph
    }
}

vectorised!(
    fn dispatch_fill[T: Real][T](
        features: &Features,
        problem: &SparseInterference,
        graph: &mut LinkGraph<T>,
    ) = fill
);

#[inline(always)]
fn fill<T: Real>(features: &Features, problem: &SparseInterference, graph: &mut LinkGraph<T>) {
    features.path.fill(&problem.hears, &mut graph.hears);
    features.path.fill(&problem.harms, &mut graph.harms);
    features.link.fill(&problem.direct, &mut graph.links);
}
