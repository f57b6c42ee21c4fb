//! Entry of a table: several training runs with the same settings, measured on one fixed test set.

use serde::{Deserialize, Serialize};

use crate::outer::train_with_exact_law;
use crate::shown::with_range;
use anyk::System;
use anyk::core::Policy;
use anyk::framework::{Method, Observer, PretrainSettings, Session, Silent, TrainError};
use anyk::math::second_worst;
use anyk::network::BandwidthLaw;
use anyk::problems::urllc::{
    CellPolicy as _, LearnedPolicy, Recipe, SizeResult, TestSet, TrainSettings, train_urllc,
};

/// Seed of the test set, fixed before the first training run.
pub const TEST_SEED: u64 = 7;
/// Number of cells of each size in the test set (paper, table I).
pub const TEST_SAMPLES: u64 = 100;
/// Numbers of users in the test set (paper, table I).
pub const TEST_SIZES: [usize; 7] = [1, 2, 5, 10, 50, 100, 200];

/// Availability that rounds to 1.00 with two decimals.
pub(crate) const AVAILABLE: f64 = 0.995;
/// Smallest number of runs that states a rate, and the smallest that decides whether users are served if some runs serve
/// them and others do not.
pub(crate) const ENOUGH: usize = 32;

/// Criterion by which a user counts as served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Loss target split into equal halves, `ε_c = ε_q = ε_max/2`: the stricter criterion, and the default.
    EqualHalves,
    /// Coding loss `ε_c = ε_D/2`, as the base station codes, with `ε_D/2 + ε_q` at most `ε_max`.
    AsCoded,
}

impl Count {
    /// All criteria.
    pub const ALL: [Self; 2] = [Self::EqualHalves, Self::AsCoded];

    /// Name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Self::EqualHalves => "equal halves",
            Self::AsCoded => "as coded",
        }
    }

    /// Returns the availability of a result by this criterion.
    pub fn of(self, result: &SizeResult) -> f64 {
        match self {
            Self::EqualHalves => result.availability,
            Self::AsCoded => result.availability_as_coded,
        }
    }
}

/// Source of the outer function of a P-GNN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Outer {
    /// One `B^v` shared by all runs.
    #[default]
    Shared,
    /// A separate `B^v` for each run.
    Own,
    /// The exact b instead of a network.
    Exact,
}

/// Description of networks that are trained with the preset fast.
pub(crate) const OUR_TRAINING: &str = "the paper's networks with our training (preset fast)";

/// Training with given settings; each run has its own seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Name of the row.
    pub label: String,
    /// Settings shared by all runs of this entry; only the seed differs.
    pub settings: TrainSettings,
    /// Pre-training of the outer function, for P-GNN.
    pub pretraining: PretrainSettings,
    /// Source of the outer function, for P-GNN.
    pub outer: Outer,
}

impl Entry {
    /// Returns the paper's P-GNN, trained with the preset fast.
    pub fn p_gnn(train_k: usize, samples: usize, epsilon_d: f64) -> Self {
        Self {
            label: "P-GNN".to_owned(),
            settings: TrainSettings::p_gnn(train_k, samples, epsilon_d),
            pretraining: PretrainSettings::default(),
            outer: Outer::Shared,
        }
    }

    /// Returns the entry trained with the preset paper.
    pub fn published(self) -> Self {
        let fnn = self.settings.method == Method::Fnn;
        let recipe = if fnn { Recipe::paper_fnn() } else { Recipe::paper() };
        Self {
            settings: TrainSettings { recipe, ..self.settings },
            pretraining: PretrainSettings::paper(),
            ..self
        }
    }

    /// Returns the entry without any step of Algorithm 1: initial networks with their outer function.
    pub fn untrained(mut self) -> Self {
        self.settings.recipe.steps = Some(0);
        self
    }

    /// Returns the settings of one run.
    pub fn settings_of_run(&self, run: u64) -> TrainSettings {
        TrainSettings { seed: 100 + run, ..self.settings.clone() }
    }

    /// Returns the seed of the outer function of a run; `None` for methods without one, and for the exact b.
    pub(crate) fn law_seed(&self, run: u64) -> Option<u64> {
        match (self.settings.method, self.outer) {
            (Method::PGnn, Outer::Shared) => Some(self.settings_of_run(0).seed),
            (Method::PGnn, Outer::Own) => Some(self.settings_of_run(run).seed),
            _ => None,
        }
    }

    /// Trains one run and measures it on several sets of cells.
    pub fn measure(
        &self,
        system: &System,
        run: u64,
        law: Option<&BandwidthLaw>,
        tests: &[&TestSet],
        observer: &dyn Observer,
    ) -> Result<Vec<Measure>, TrainError> {
        let (policy, train_seconds): (Box<dyn Policy>, f64) = if self.outer == Outer::Exact {
            let (policy, seconds) =
                train_with_exact_law(system, &self.settings_of_run(run), observer)?;
            (Box::new(policy), seconds)
        } else {
            let (policy, seconds) = self.train(system, run, law, observer)?;
            (Box::new(policy.allocator()), seconds)
        };
        let epsilon_d = Some(self.settings.epsilon_d);
        let measure = |test: &&TestSet| {
            let sizes = test.evaluate_coded(&*policy, epsilon_d, &Silent)?;
            Ok(Measure { train_seconds, sizes })
        };
        tests.iter().map(measure).collect()
    }

    /// Trains one run. The seconds are those of Algorithm 1, without pre-training.
    pub fn train(
        &self,
        system: &System,
        run: u64,
        law: Option<&BandwidthLaw>,
        observer: &dyn Observer,
    ) -> Result<(LearnedPolicy, f64), TrainError> {
        let mut session = Session::new(observer);
        let settings = self.settings_of_run(run);
        let policy = train_urllc(system, &settings, (&self.pretraining, law), &mut session)?;
        Ok((policy, session.seconds("training")))
    }
}

/// Measurements of one training run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// Wall-clock seconds of Algorithm 1.
    pub train_seconds: f64,
    /// Results at each size.
    pub sizes: Vec<SizeResult>,
}

impl Measure {
    /// Returns the lowest availability over all sizes.
    pub(crate) fn lowest(&self, count: Count) -> f64 {
        self.sizes.iter().map(|size| count.of(size)).fold(f64::INFINITY, f64::min)
    }
}

/// Results of all runs of an entry.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EntryResult {
    /// Runs that completed.
    pub runs: Vec<Measure>,
    /// Number of runs that diverged from every start. They count as serving no user and have no bandwidth.
    pub diverged: usize,
}

/// Label of equal power with exact bandwidths in tables.
pub(crate) const BASELINE: &str = "equal power, exact b";

impl EntryResult {
    /// Returns the second worst availability of the runs at a size (paper, section V-C); with fewer than ten runs, the
    /// worst.
    pub fn availability(&self, size: usize) -> f64 {
        self.availability_by(Count::EqualHalves, size)
    }

    /// Returns the availability at a size by a criterion; see [`Self::availability`].
    pub fn availability_by(&self, count: Count, size: usize) -> f64 {
        let mut negative = self.column(size, |result| -count.of(result));
        negative.extend(std::iter::repeat_n(0.0, self.diverged));
        second_worst(negative).map_or(f64::NAN, |a| -a)
    }

    /// Returns the lowest availability over all sizes, and its size.
    pub fn lowest(&self) -> (f64, usize) {
        self.lowest_by(Count::EqualHalves)
    }

    /// Returns the lowest availability over all sizes by a criterion, and its size.
    pub fn lowest_by(&self, count: Count) -> (f64, usize) {
        let sizes = self.runs.first().map(|run| run.sizes.as_slice()).unwrap_or_default();
        let all = sizes.iter().map(|size| (self.availability_by(count, size.k), size.k));
        all.reduce(|low, next| if next.0 < low.0 { next } else { low }).unwrap_or((0.0, 0))
    }

    /// Number of runs, including those that diverged.
    pub fn trainings(&self) -> usize {
        self.runs.len() + self.diverged
    }

    /// Number of runs whose availability rounds to 1.00 at every size.
    pub fn serving(&self, count: Count) -> usize {
        let serves = |run: &&Measure| run.lowest(count) >= AVAILABLE;
        self.runs.iter().filter(serves).count()
    }

    /// Returns the lowest availability of any run at any size.
    pub(crate) fn worst(&self, count: Count) -> f64 {
        let lowest = self.runs.iter().map(|run| run.lowest(count)).fold(f64::INFINITY, f64::min);
        if self.diverged > 0 { 0.0 } else { lowest }
    }

    /// Returns the second worst (second largest) bandwidth at a size, in MHz; with fewer than ten runs, the largest.
    pub fn bandwidth_mhz(&self, size: usize) -> f64 {
        second_worst(self.column(size, |result| result.total_bandwidth_mhz)).unwrap_or(f64::NAN)
    }

    /// Returns the second worst extra bandwidth at a size, in percent; with fewer than ten runs, the worst.
    pub fn gap_percent(&self, size: usize) -> f64 {
        second_worst(self.column(size, |result| result.gap_percent)).unwrap_or(f64::NAN)
    }

    /// Returns the availability at a size, followed by the range over all runs.
    pub(crate) fn availability_with_range(&self, size: usize) -> Vec<f64> {
        with_range(self.availability(size), &self.column(size, |result| result.availability))
    }

    /// Returns the extra bandwidth at a size in percent, followed by the range over all runs.
    pub(crate) fn gap_with_range(&self, size: usize) -> Vec<f64> {
        with_range(self.gap_percent(size), &self.column(size, |result| result.gap_percent))
    }

    /// Returns the smallest and largest availability, then extra bandwidth, of the runs at a size.
    pub fn spread(&self, size: usize) -> [(f64, f64); 2] {
        [
            self.availability_range(Count::EqualHalves, size),
            ends(self.column(size, |result| result.gap_percent)),
        ]
    }

    /// Returns the smallest and largest availability of the runs at a size by a criterion.
    pub(crate) fn availability_range(&self, count: Count, size: usize) -> (f64, f64) {
        ends(self.column(size, |result| count.of(result)))
    }

    /// Mean duration of a run, in seconds.
    pub fn seconds(&self) -> f64 {
        self.runs.iter().map(|run| run.train_seconds).sum::<f64>() / self.runs.len().max(1) as f64
    }

    /// Returns whether the availability rounds to 1.00 at every size.
    pub fn is_available(&self) -> bool {
        self.is_available_by(Count::EqualHalves)
    }

    /// Returns whether the availability by a criterion rounds to 1.00 at every size.
    pub fn is_available_by(&self, count: Count) -> bool {
        self.lowest_by(count).0 >= AVAILABLE
    }

    /// Returns whether every user is served at every size; `None` if only some of fewer than [`ENOUGH`] runs serve them.
    pub(crate) fn serves(&self, count: Count) -> Option<bool> {
        self.decided(self.is_available_by(count), self.serving(count) > 0)
    }

    /// Returns whether every user is served at a size; see [`Self::serves`].
    pub(crate) fn serves_at(&self, count: Count, size: usize) -> Option<bool> {
        let some = self.availability_range(count, size).1 >= AVAILABLE;
        self.decided(self.availability_by(count, size) >= AVAILABLE, some)
    }

    /// Returns whether the shown run serves every user, unless too few runs contradict each other.
    fn decided(&self, serves: bool, some: bool) -> Option<bool> {
        (serves || !some || self.trainings() >= ENOUGH).then_some(serves)
    }

    fn column(&self, size: usize, value: impl Fn(&SizeResult) -> f64) -> Vec<f64> {
        let results = self.runs.iter().flat_map(|run| &run.sizes);
        results.filter(|result| result.k == size).map(value).collect()
    }
}

/// Returns the smallest and largest of some values.
fn ends(values: Vec<f64>) -> (f64, f64) {
    let start = (f64::INFINITY, f64::NEG_INFINITY);
    values.into_iter().fold(start, |(low, high), value| (low.min(value), high.max(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(availability: f64) -> Measure {
        let size = |k| SizeResult {
            k,
            availability: if k == 10 { availability } else { 1.0 },
            availability_as_coded: 1.0,
            total_bandwidth_mhz: 1.0,
            optimum_mhz: 1.0,
            gap_percent: 0.0,
        };
        Measure { train_seconds: 1.0, sizes: vec![size(5), size(10)] }
    }

    #[test]
    fn a_training_that_diverges_is_worse_than_all_others() {
        let result = |good: usize, diverged: usize| EntryResult {
            runs: (0..good).map(|_| run(0.998)).collect(),
            diverged,
        };
        assert_eq!(result(9, 0).lowest(), (0.998, 10));
        // The second worst of ten runs, and the worst of fewer.
        assert!(result(9, 1).is_available() && !result(8, 2).is_available());
        assert!(!result(8, 1).is_available() && !result(0, 3).is_available());
        // By either criterion, and run by run.
        let mut mixed = result(9, 1);
        mixed.runs[0] = run(0.9);
        mixed.runs[1] = run(0.8);
        assert!(!mixed.is_available() && mixed.is_available_by(Count::AsCoded));
        assert_eq!(Count::ALL.map(|count| mixed.serving(count)), [7, 9]);
        assert_eq!((mixed.trainings(), mixed.worst(Count::AsCoded)), (10, 0.0));
        // Some of ten runs do not decide; 32 runs do, and so do ten of which none serves every user.
        assert_eq!(Count::ALL.map(|count| mixed.serves(count)), [None, Some(true)]);
        assert_eq!(
            [5, 10].map(|size| mixed.serves_at(Count::EqualHalves, size)),
            [Some(true), None]
        );
        assert_eq!(result(30, 2).serves(Count::AsCoded), Some(false));
        assert_eq!(result(0, 10).serves(Count::AsCoded), Some(false));
    }
}
