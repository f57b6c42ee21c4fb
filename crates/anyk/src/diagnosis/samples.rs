//! Inputs and outputs of a policy at several sizes. A policy that AnyK cannot call is known only by its samples.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::exchange::SampleRow;
use crate::invalid::Invalid;
use crate::math::Mean;

/// Minimum number of samples per size: ten for each window of [`Estimate`](super::Estimate).
pub const FEWEST_SAMPLES: usize = 100;
/// Minimum number of instances per size if the samples identify them, since the confidence intervals are computed
/// from their spread.
pub const FEWEST_INSTANCES: usize = 8;
/// Largest relative difference between the output sums of instances that count as equal.
const SAME_SUM: f64 = 0.01;
/// Magnitude of a sum, relative to the sum of the magnitudes of its terms, below which the sum counts as 0.
const ROUNDING: f64 = 1e-9;

/// Signs of the outputs, which a network must be able to produce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Support {
    /// Whether some outputs are negative.
    pub negative: bool,
    /// Whether some outputs are 0.
    pub zero: bool,
    /// Whether some outputs are positive.
    pub positive: bool,
}

impl Support {
    /// Returns whether all outputs are 0.
    pub fn zero_only(self) -> bool {
        !(self.negative || self.positive)
    }
}

/// One realization: the inputs and outputs of the users of one cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Instance {
    /// Inputs `x_k`.
    pub x: Vec<f64>,
    /// Outputs `y_k`.
    pub y: Vec<f64>,
}

/// All instances with the same number of users.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeSamples {
    /// Number of users `K`.
    pub k: usize,
    /// Realizations.
    pub instances: Vec<Instance>,
}

/// Samples of a policy, ordered by the number of users.
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
    /// Checks and groups the rows of a file. If some rows have no instance, each row counts as a separate instance.
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
                return Err(Invalid::value(field, 0, "a number of users of at least 1"));
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

    /// Checks whole instances that AnyK has drawn.
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

    /// Returns the error for too few sizes to fit a size law.
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

    /// Returns the samples of all sizes, ascending.
    pub fn sizes(&self) -> &[SizeSamples] {
        &self.sizes
    }

    /// Returns the samples of size `k`, if there are any.
    pub fn at(&self, k: usize) -> Option<&SizeSamples> {
        self.sizes.iter().find(|size| size.k == k)
    }

    /// Returns whether the samples identify the users of the same instance.
    pub fn clustered(&self) -> bool {
        self.clustered
    }

    /// Returns whether every instance contains all its K users.
    pub fn whole(&self) -> bool {
        self.whole
    }

    /// Returns the samples with at most `most` users. Returns an error if too few sizes remain.
    pub fn up_to(&self, most: usize) -> Result<Self, Invalid> {
        let sizes = self.sizes.iter().filter(|size| size.k <= most).cloned().collect();
        Self::checked(sizes, self.clustered)
    }

    /// Returns whether every output is positive, so that logarithms and relative errors exist.
    pub fn positive(&self) -> bool {
        self.users().all(|(_, y)| y > 0.0)
    }

    /// Returns which signs the outputs have.
    pub fn support(&self) -> Support {
        let mut found = Support { negative: false, zero: false, positive: false };
        for (_, y) in self.users() {
            found.negative |= y < 0.0;
            found.positive |= y > 0.0;
            found.zero |= y.abs() <= 0.0;
        }
        found
    }

    /// Returns all inputs with their outputs.
    pub(crate) fn users(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.sizes.iter().flat_map(SizeSamples::each)
    }

    /// Returns the sum `Σ_k y_k` if it is the same in all instances of all sizes, within a tolerance relative to `Σ_k
    /// |y_k|`. Returns `None` if the sums differ, if an instance lacks users, or if all outputs are 0.
    pub fn common_sum(&self) -> Option<f64> {
        let (sums, sizes): (Vec<f64>, Vec<f64>) =
            self.sizes.iter().flat_map(SizeSamples::sums).unzip();
        let mean = Mean::of(&sums)?.mean;
        let mut rows = sums.iter().zip(&sizes);
        let same = rows.all(|(sum, size)| (sum - mean).abs() <= SAME_SUM * size.max(mean.abs()));
        let some = sizes.iter().any(|size| *size > 0.0);
        // A residual of cancellation counts as a sum of 0.
        let largest = sizes.iter().copied().fold(0.0, f64::max);
        let mean = if mean.abs() > ROUNDING * largest { mean } else { 0.0 };
        (self.whole && some && same).then_some(mean)
    }
}

impl SizeSamples {
    /// Returns the number of samples.
    pub fn users(&self) -> usize {
        self.instances.iter().map(|instance| instance.x.len()).sum()
    }

    /// Returns the inputs with their outputs.
    pub(crate) fn each(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.instances.iter().flat_map(|one| one.x.iter().copied().zip(one.y.iter().copied()))
    }

    /// Returns `Σ_k y_k` and `Σ_k |y_k|` of each instance.
    fn sums(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.instances
            .iter()
            .map(|instance| (instance.y.iter().sum(), instance.y.iter().map(|y| y.abs()).sum()))
    }
}
