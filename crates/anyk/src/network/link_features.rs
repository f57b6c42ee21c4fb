//! From the gains of an interference network to the features of its links and paths.

use serde::{Deserialize, Serialize};

use crate::network::{LinkGraph, Real, lanes, single};
use crate::problem::SparseInterference;

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
    pub fn is_sound(&self) -> bool {
        self.mean.is_finite() && self.deviation.is_finite() && self.deviation > 1e-7
    }

    #[inline(always)]
    fn feature(scale: f32, shift: f32, gain: f64) -> f32 {
        // Beyond the largest `f32` a gain is as good as there.
        let gain = single(gain).min(1e38);
        lanes::ln(1.0 + gain).mul_add(scale, shift)
    }

    /// Scale and shift of the logarithm.
    fn line(&self) -> (f32, f32) {
        (single(1.0 / self.deviation), single(-self.mean / self.deviation))
    }
}

/// How gains become features.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Features {
    /// Of links' own gains.
    pub link: Standard,
    /// Of paths between them.
    pub path: Standard,
}

impl Features {
    /// Features of all links and paths, in buffers that are kept.
    pub fn fill<T: Real>(&self, problem: &SparseInterference, graph: &mut LinkGraph<T>) {
        graph.offsets.clone_from(&problem.offsets);
        graph.neighbours.clone_from(&problem.neighbours);
        graph.paths.resize(problem.hears.len(), [T::zero(); 2]);
        graph.links.resize(problem.direct.len(), T::zero());
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
        {
            // SAFETY: the features were just detected.
            #[allow(unsafe_code)]
            return unsafe { fill_avx2(self, problem, graph) };
        }
        fill(self, problem, graph);
    }

    /// Features of all links and paths.
    pub fn graph<T: Real + Default>(&self, problem: &SparseInterference) -> LinkGraph<T> {
        let mut graph = LinkGraph::default();
        self.fill(problem, &mut graph);
        graph
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn fill_avx2<T: Real>(features: &Features, problem: &SparseInterference, graph: &mut LinkGraph<T>) {
    fill(features, problem, graph);
}

#[inline(always)]
fn fill<T: Real>(features: &Features, problem: &SparseInterference, graph: &mut LinkGraph<T>) {
    let (scale, shift) = features.path.line();
    let gains = problem.hears.iter().zip(&problem.harms);
    for (path, (&hears, &harms)) in graph.paths.iter_mut().zip(gains) {
        path[0] = T::of(f64::from(Standard::feature(scale, shift, hears)));
        path[1] = T::of(f64::from(Standard::feature(scale, shift, harms)));
    }
    let (scale, shift) = features.link.line();
    for (link, &gain) in graph.links.iter_mut().zip(&problem.direct) {
        *link = T::of(f64::from(Standard::feature(scale, shift, gain)));
    }
}
