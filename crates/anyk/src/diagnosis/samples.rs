//! Inputs and outputs of a policy at several sizes: all that is known of one that cannot be called.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::exchange::SampleRow;
use crate::invalid::Invalid;
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

/// Samples of a policy, size by size, sizes ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    sizes: Vec<SizeSamples>,
    clustered: bool,
    whole: bool,
}

fn not_finite(row: usize, name: &str, value: f64) -> Invalid {
    Invalid::number(format!("row {row}: {name}"), value, "a finite number")
}

impl Samples {
    /// From the rows of a file, checked. Rows without an instance each count as one of their own.
    pub fn from_rows(rows: &[SampleRow]) -> Result<Self, Invalid> {
        let clustered = !rows.is_empty() && rows.iter().all(|row| row.instance.is_some());
        let mut sizes: BTreeMap<usize, BTreeMap<u64, Instance>> = BTreeMap::new();
        for (index, row) in rows.iter().enumerate() {
            for (name, value) in [("x", row.x), ("y", row.y)] {
                if !value.is_finite() {
                    return Err(not_finite(index + 1, name, value));
                }
            }
            if row.k == 0 {
                let field = format!("row {}: k", index + 1);
                return Err(Invalid::value(field, 0, "a number of users from 1"));
            }
            let key = if clustered { row.instance } else { None }.unwrap_or(index as u64);
            let instance = sizes.entry(row.k).or_default().entry(key).or_default();
            instance.x.push(row.x);
            instance.y.push(row.y);
        }
        for (&k, instances) in &sizes {
            if let Some((&instance, found)) = instances.iter().find(|(_, one)| one.x.len() > k) {
                let field = format!("the number of rows of instance {instance}");
                let expected = format!("at most {k}, its number of users");
                return Err(Invalid::value(field, found.x.len(), expected));
            }
        }
        let sizes = sizes
            .into_iter()
            .map(|(k, instances)| SizeSamples { k, instances: instances.into_values().collect() });
        Self::checked(sizes.collect(), clustered)
    }

    /// From whole instances, drawn here.
    pub(crate) fn from_instances(mut sizes: Vec<SizeSamples>) -> Result<Self, Invalid> {
        sizes.sort_by_key(|size| size.k);
        for (k, row, instance) in sizes.iter().flat_map(|size| {
            size.instances.iter().enumerate().map(|(row, instance)| (size.k, row + 1, instance))
        }) {
            let bad = |values: &[f64]| values.iter().copied().find(|value| !value.is_finite());
            for (name, values) in [("x", &instance.x), ("y", &instance.y)] {
                if let Some(value) = bad(values) {
                    return Err(not_finite(row, name, value));
                }
            }
            debug_assert_eq!(instance.x.len(), k);
        }
        Self::checked(sizes, true)
    }

    /// A law over K needs several sizes.
    pub(super) fn too_few_sizes(count: usize) -> Invalid {
        Invalid::value("the number of sizes k", count, "at least 2")
    }

    fn checked(sizes: Vec<SizeSamples>, clustered: bool) -> Result<Self, Invalid> {
        if sizes.len() < 2 {
            return Err(Self::too_few_sizes(sizes.len()));
        }
        for size in &sizes {
            for (what, count, least) in [
                ("samples", size.users(), FEWEST_SAMPLES),
                ("instances", size.instances.len(), FEWEST_INSTANCES),
            ] {
                if count < least {
                    let field = format!("the number of {what} with k = {}", size.k);
                    return Err(Invalid::value(field, count, format!("at least {least}")));
                }
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
    pub fn up_to(&self, most: usize) -> Result<Self, Invalid> {
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
