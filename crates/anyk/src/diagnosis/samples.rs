//! Inputs and outputs of a policy at several sizes: all that is known of one that cannot be called.

use std::collections::BTreeMap;

use serde::Serialize;
use thiserror::Error;

use crate::exchange::SampleRow;
use crate::math::Mean;

/// Fewest samples of a size: ten for each of the windows of [`Estimate`](super::Estimate).
pub const FEWEST_SAMPLES: usize = 100;
/// Fewest instances of a size, where they are told apart: their spread gives the confidence.
pub const FEWEST_INSTANCES: usize = 8;
/// Sums over an instance that differ by less, relative, are one sum.
const SAME_SUM: f64 = 0.01;
/// A sum under this share of its parts is 0.
const ROUNDING: f64 = 1e-9;

/// Which values outputs take: what a network gives must be able to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Support {
    /// Some are negative.
    pub negative: bool,
    /// Some are 0.
    pub zero: bool,
    /// Some are positive.
    pub positive: bool,
}

impl Support {
    /// Whether all are 0.
    pub fn zero_only(self) -> bool {
        !(self.negative || self.positive)
    }
}

/// One realization: the inputs and outputs of users that belong together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Instance {
    /// Inputs `x_k`.
    pub x: Vec<f64>,
    /// Outputs `y_k`.
    pub y: Vec<f64>,
}

/// All instances of one size.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeSamples {
    /// Number of users `K`.
    pub k: usize,
    /// The realizations.
    pub instances: Vec<Instance>,
}

/// Why samples were refused.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SampleError {
    /// A number that is none.
    #[error("row {row}: {name} is {value}, expected a finite number")]
    Value {
        /// Row, from 1.
        row: usize,
        /// `x` or `y`.
        name: &'static str,
        /// The value given.
        value: f64,
    },
    /// No size.
    #[error("row {row}: k is 0, expected a number of users from 1")]
    NoUsers {
        /// Row, from 1.
        row: usize,
    },
    /// A law over K needs several.
    #[error("there are samples of {count} size(s) k, expected at least 2")]
    Sizes {
        /// Different sizes.
        count: usize,
    },
    /// Too few to say anything.
    #[error("k = {k} has {count} samples, expected at least {FEWEST_SAMPLES}")]
    Few {
        /// The size.
        k: usize,
        /// Its samples.
        count: usize,
    },
    /// Too few to know how far off the mean is.
    #[error("k = {k} has {count} instances, expected at least {FEWEST_INSTANCES}")]
    FewInstances {
        /// The size.
        k: usize,
        /// Its instances.
        count: usize,
    },
    /// More users than the size says.
    #[error("instance {instance} has {count} rows of k = {k}, expected at most {k}")]
    Crowded {
        /// The instance.
        instance: u64,
        /// Its size.
        k: usize,
        /// Its rows.
        count: usize,
    },
}

/// Samples of a policy, size by size, sizes ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    sizes: Vec<SizeSamples>,
    clustered: bool,
    whole: bool,
}

impl Samples {
    /// From the rows of a file, checked. Rows without an instance each count as one of their own.
    pub fn from_rows(rows: &[SampleRow]) -> Result<Self, SampleError> {
        let clustered = !rows.is_empty() && rows.iter().all(|row| row.instance.is_some());
        let mut sizes: BTreeMap<usize, BTreeMap<u64, Instance>> = BTreeMap::new();
        for (index, row) in rows.iter().enumerate() {
            for (name, value) in [("x", row.x), ("y", row.y)] {
                if !value.is_finite() {
                    return Err(SampleError::Value { row: index + 1, name, value });
                }
            }
            if row.k == 0 {
                return Err(SampleError::NoUsers { row: index + 1 });
            }
            let key = if clustered { row.instance } else { None }.unwrap_or(index as u64);
            let instance = sizes.entry(row.k).or_default().entry(key).or_default();
            instance.x.push(row.x);
            instance.y.push(row.y);
        }
        for (&k, instances) in &sizes {
            if let Some((&instance, found)) = instances.iter().find(|(_, one)| one.x.len() > k) {
                return Err(SampleError::Crowded { instance, k, count: found.x.len() });
            }
        }
        let sizes = sizes
            .into_iter()
            .map(|(k, instances)| SizeSamples { k, instances: instances.into_values().collect() });
        Self::checked(sizes.collect(), clustered)
    }

    /// From whole instances, drawn here.
    pub(crate) fn from_instances(mut sizes: Vec<SizeSamples>) -> Result<Self, SampleError> {
        sizes.sort_by_key(|size| size.k);
        for (k, row, instance) in sizes.iter().flat_map(|size| {
            size.instances.iter().enumerate().map(|(row, instance)| (size.k, row + 1, instance))
        }) {
            let bad = |values: &[f64]| values.iter().copied().find(|value| !value.is_finite());
            for (name, values) in [("x", &instance.x), ("y", &instance.y)] {
                if let Some(value) = bad(values) {
                    return Err(SampleError::Value { row, name, value });
                }
            }
            debug_assert_eq!(instance.x.len(), k);
        }
        Self::checked(sizes, true)
    }

    fn checked(sizes: Vec<SizeSamples>, clustered: bool) -> Result<Self, SampleError> {
        if sizes.len() < 2 {
            return Err(SampleError::Sizes { count: sizes.len() });
        }
        for size in &sizes {
            let (k, count) = (size.k, size.users());
            if count < FEWEST_SAMPLES {
                return Err(SampleError::Few { k, count });
            }
            if size.instances.len() < FEWEST_INSTANCES {
                return Err(SampleError::FewInstances { k, count: size.instances.len() });
            }
        }
        let mut instances = sizes
            .iter()
            .flat_map(|size| size.instances.iter().map(|instance| instance.x.len() == size.k));
        let whole = clustered && instances.all(|whole| whole);
        Ok(Self { sizes, clustered, whole })
    }

    /// Size by size, ascending.
    pub fn sizes(&self) -> &[SizeSamples] {
        &self.sizes
    }

    /// The samples of a size, if there are any.
    pub fn at(&self, k: usize) -> Option<&SizeSamples> {
        self.sizes.iter().find(|size| size.k == k)
    }

    /// Whether it is known which users belong together.
    pub fn clustered(&self) -> bool {
        self.clustered
    }

    /// Whether every instance has all its K users.
    pub fn whole(&self) -> bool {
        self.whole
    }

    /// Those of at most so many users; an error if too few sizes remain.
    pub fn up_to(&self, most: usize) -> Result<Self, SampleError> {
        let sizes = self.sizes.iter().filter(|size| size.k <= most).cloned().collect();
        Self::checked(sizes, self.clustered)
    }

    /// Whether every output is positive, so that logarithms and relative errors exist.
    pub fn positive(&self) -> bool {
        self.users().all(|(_, y)| y > 0.0)
    }

    /// Which values the outputs take.
    pub fn support(&self) -> Support {
        let mut found = Support { negative: false, zero: false, positive: false };
        for (_, y) in self.users() {
            found.negative |= y < 0.0;
            found.positive |= y > 0.0;
            found.zero |= y.abs() <= 0.0;
        }
        found
    }

    /// All inputs with their outputs.
    pub(crate) fn users(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.sizes.iter().flat_map(SizeSamples::each)
    }

    /// The sum `Σ_k y_k` that every instance of every size has, if there is one: relative to the outputs themselves,
    /// of any sign. None where all outputs are 0.
    pub fn common_sum(&self) -> Option<f64> {
        let (sums, sizes): (Vec<f64>, Vec<f64>) =
            self.sizes.iter().flat_map(SizeSamples::sums).unzip();
        let mean = Mean::of(&sums)?.mean;
        let mut rows = sums.iter().zip(&sizes);
        let same = rows.all(|(sum, size)| (sum - mean).abs() <= SAME_SUM * size.max(mean.abs()));
        let some = sizes.iter().any(|size| *size > 0.0);
        // What is left of numbers that cancel is 0.
        let largest = sizes.iter().copied().fold(0.0, f64::max);
        let mean = if mean.abs() > ROUNDING * largest { mean } else { 0.0 };
        (self.whole && some && same).then_some(mean)
    }
}

impl SizeSamples {
    /// Number of samples.
    pub fn users(&self) -> usize {
        self.instances.iter().map(|instance| instance.x.len()).sum()
    }

    /// Inputs with their outputs.
    pub(crate) fn each(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.instances.iter().flat_map(|one| one.x.iter().copied().zip(one.y.iter().copied()))
    }

    /// `Σ_k y_k` of each instance, and `Σ_k |y_k|`.
    fn sums(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.instances
            .iter()
            .map(|instance| (instance.y.iter().sum(), instance.y.iter().map(|y| y.abs()).sum()))
    }
}
