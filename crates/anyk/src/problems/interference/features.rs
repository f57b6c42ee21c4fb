//! From the gains of an interference network to the features of its links and paths.

use serde::{Deserialize, Serialize};

use crate::math::lanes::{self, LANES, Lanes};
use crate::math::single;
use crate::math::vectorised;
use crate::network::{LinkGraph, Real};
use crate::problems::interference::SparseInterference;

/// Mean and deviation that a feature `ln(1 + g)` is standardised with, `g` in units of the noise at full
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
    /// Of gains; a deviation of 0 counts as 1.
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

    /// Whether features come out as numbers.
    fn is_sound(&self) -> bool {
        self.mean.is_finite() && self.deviation.is_finite() && self.deviation > 1e-7
    }

    /// Features of gains, sixteen at a time.
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

/// `ln(1 + g)·scale + shift`.
#[inline(always)]
fn line(gains: &[f64; LANES], scale: f32, shift: f32) -> Lanes {
    let mut singles = [0.0; LANES];
    for i in 0..LANES {
        // Beyond the largest `f32` a gain is as good as there.
        singles[i] = 1.0 + single(gains[i]).min(1e38);
    }
    let logarithms = lanes::map(&singles, lanes::ln);
    let mut result = lanes::all(shift);
    lanes::add_scaled(&mut result, &logarithms, scale);
    result
}

/// How gains become features.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Features {
    /// Of links' own gains.
    pub link: Standard,
    /// Of paths between them.
    pub path: Standard,
    /// Neighbours of a link, on average over the training samples: sums of messages are in units of it, at every
    /// size the same.
    #[serde(default = "one")]
    pub neighbours: f64,
    /// Whether links have weights: `ln(α_k/ᾱ)`, in units of the mean of the network, is a feature as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub weighted: bool,
}

/// Weights, in units of their mean, outside of which they count as no smaller or larger: a weight may be 0.
const WEIGHTS: (f64, f64) = (1e-3, 1e3);

/// Files of before have sums as they are.
fn one() -> f64 {
    1.0
}

impl Features {
    /// Whether features come out as numbers.
    pub fn is_sound(&self) -> bool {
        let neighbours = (1e-6..=1e9).contains(&self.neighbours);
        self.link.is_sound() && self.path.is_sound() && neighbours
    }

    /// Features of all links and paths, in buffers that are kept.
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
            // The best powers do not change when all weights are multiplied by a number.
            let feature = |weight: &f64| T::of((weight / mean).clamp(WEIGHTS.0, WEIGHTS.1).ln());
            graph.weights.extend(problem.weights.iter().map(feature));
        }
    }

    /// Features of all links and paths.
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
