//! One entry of a table: several trainings of the same kind, measured on one fixed test set.

use serde::{Deserialize, Serialize};

use crate::outer::train_with_exact_law;
use anyk::System;
use anyk::core::Policy;
use anyk::framework::{Method, Observer, PretrainSettings, Session, Silent, TrainError};
use anyk::math::second_worst;
use anyk::network::BandwidthLaw;
use anyk::problems::urllc::{
    CellPolicy as _, LearnedPolicy, Recipe, SizeResult, TestSet, TrainSettings, train_urllc,
};

/// Seed of the test set, fixed before the first training.
pub const TEST_SEED: u64 = 7;
/// Cells of each size in the test set (paper, table I).
pub const TEST_SAMPLES: u64 = 100;
/// Sizes of the test set (paper, table I).
pub const TEST_SIZES: [usize; 7] = [1, 2, 5, 10, 50, 100, 200];

/// From here on two decimals print an availability as 1.00.
pub(crate) const AVAILABLE: f64 = 0.995;

/// How it is counted whether a user is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// `ε_c = ε_q = ε_max/2`: the stricter one, and the usual.
    EqualHalves,
    /// `ε_c = ε_D/2`, as the base station codes, and `ε_D/2 + ε_q` at most `ε_max`.
    AsCoded,
}

impl Count {
    /// Both.
    pub const ALL: [Self; 2] = [Self::EqualHalves, Self::AsCoded];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::EqualHalves => "equal halves",
            Self::AsCoded => "as coded",
        }
    }

    /// The availability.
    pub fn of(self, result: &SizeResult) -> f64 {
        match self {
            Self::EqualHalves => result.availability,
            Self::AsCoded => result.availability_as_coded,
        }
    }
}

/// Where the outer function of a P-GNN comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Outer {
    /// One `B^v` for all runs.
    #[default]
    Shared,
    /// Each run pre-trains its own.
    Own,
    /// The exact b in place of it.
    Exact,
}

/// What the preset fast is called where it stands beside the paper's.
pub(crate) const OUR_TRAINING: &str = "the paper's network, our training (preset fast)";

/// A kind of training; each run has a seed of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The row's name.
    pub label: String,
    /// Settings of all its trainings, but for the seed.
    pub settings: TrainSettings,
    /// How its outer function is pre-trained, for P-GNN.
    pub pretraining: PretrainSettings,
    /// Where its outer function comes from, for P-GNN.
    pub outer: Outer,
}

impl Entry {
    /// The paper's P-GNN, by our training.
    pub fn p_gnn(train_k: usize, samples: usize, epsilon_d: f64) -> Self {
        Self {
            label: "P-GNN".to_owned(),
            settings: TrainSettings::p_gnn(train_k, samples, epsilon_d),
            pretraining: PretrainSettings::default(),
            outer: Outer::Shared,
        }
    }

    /// The same, trained as the paper says: the preset paper.
    pub fn published(self) -> Self {
        let fnn = self.settings.method == Method::Fnn;
        let recipe = if fnn { Recipe::paper_fnn() } else { Recipe::paper() };
        Self {
            settings: TrainSettings { recipe, ..self.settings },
            pretraining: PretrainSettings::paper(),
            ..self
        }
    }

    /// The same without a step of Algorithm 1: the networks as they start, under their outer function.
    pub fn untrained(mut self) -> Self {
        self.settings.recipe.steps = Some(0);
        self
    }

    /// Settings of one run.
    pub fn settings_of_run(&self, run: u64) -> TrainSettings {
        TrainSettings { seed: 100 + run, ..self.settings.clone() }
    }

    /// Seed of the outer function of a run; `None` for methods without one, and with the exact b.
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

    /// Trains one run; the seconds are those of Algorithm 1 alone.
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

/// One training, measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// Wall-clock seconds of Algorithm 1.
    pub train_seconds: f64,
    /// Its results at each size.
    pub sizes: Vec<SizeResult>,
}

impl Measure {
    /// The lowest availability of any size.
    pub(crate) fn lowest(&self, count: Count) -> f64 {
        self.sizes.iter().map(|size| count.of(size)).fold(f64::INFINITY, f64::min)
    }
}

/// All trainings of an entry.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EntryResult {
    /// Its trainings.
    pub runs: Vec<Measure>,
    /// Trainings that diverged from every start: they serve nobody, and have no bandwidth.
    pub diverged: usize,
}

/// What equal power with exact bandwidths is called where it stands beside the learned.
pub(crate) const BASELINE: &str = "equal power, exact b";

impl EntryResult {
    /// The second worst availability of the runs at a size (paper, section V-C); the worst of fewer
    /// than ten.
    pub fn availability(&self, size: usize) -> f64 {
        self.availability_by(Count::EqualHalves, size)
    }

    /// The same by either count.
    pub fn availability_by(&self, count: Count, size: usize) -> f64 {
        let mut negative = self.column(size, |result| -count.of(result));
        negative.extend(std::iter::repeat_n(0.0, self.diverged));
        second_worst(negative).map_or(f64::NAN, |a| -a)
    }

    /// The lowest availability of any size, and that size.
    pub fn lowest(&self) -> (f64, usize) {
        self.lowest_by(Count::EqualHalves)
    }

    /// The same by either count.
    pub fn lowest_by(&self, count: Count) -> (f64, usize) {
        let sizes = self.runs.first().map(|run| run.sizes.as_slice()).unwrap_or_default();
        let all = sizes.iter().map(|size| (self.availability_by(count, size.k), size.k));
        all.reduce(|low, next| if next.0 < low.0 { next } else { low }).unwrap_or((0.0, 0))
    }

    /// Trainings, those that diverged included.
    pub fn trainings(&self) -> usize {
        self.runs.len() + self.diverged
    }

    /// Trainings whose availability is 1.00, as two decimals print it, at every size.
    pub fn serving(&self, count: Count) -> usize {
        let serves = |run: &&Measure| run.lowest(count) >= AVAILABLE;
        self.runs.iter().filter(serves).count()
    }

    /// The lowest availability of any training at any size.
    pub(crate) fn worst(&self, count: Count) -> f64 {
        let lowest = self.runs.iter().map(|run| run.lowest(count)).fold(f64::INFINITY, f64::min);
        if self.diverged > 0 { 0.0 } else { lowest }
    }

    /// The second worst (largest) bandwidth at a size, MHz.
    pub fn bandwidth_mhz(&self, size: usize) -> f64 {
        second_worst(self.column(size, |result| result.total_bandwidth_mhz)).unwrap_or(f64::NAN)
    }

    /// The second worst gap to the exact optimum at a size, percent.
    pub fn gap_percent(&self, size: usize) -> f64 {
        second_worst(self.column(size, |result| result.gap_percent)).unwrap_or(f64::NAN)
    }

    /// Smallest and largest availability and gap at a size: the full spread.
    pub fn spread(&self, size: usize) -> [(f64, f64); 2] {
        let ends = |values: Vec<f64>| {
            values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| {
                (low.min(value), high.max(value))
            })
        };
        [
            ends(self.column(size, |result| result.availability)),
            ends(self.column(size, |result| result.gap_percent)),
        ]
    }

    /// Mean seconds of a training.
    pub fn seconds(&self) -> f64 {
        self.runs.iter().map(|run| run.train_seconds).sum::<f64>() / self.runs.len().max(1) as f64
    }

    /// Whether the availability is 1.00, as two decimals print it, at every size.
    pub fn is_available(&self) -> bool {
        self.is_available_by(Count::EqualHalves)
    }

    /// The same by either count.
    pub fn is_available_by(&self, count: Count) -> bool {
        self.lowest_by(count).0 >= AVAILABLE
    }

    fn column(&self, size: usize, value: impl Fn(&SizeResult) -> f64) -> Vec<f64> {
        let results = self.runs.iter().flat_map(|run| &run.sizes);
        results.filter(|result| result.k == size).map(value).collect()
    }
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
        // The second worst of ten, the worst of fewer.
        assert!(result(9, 1).is_available() && !result(8, 2).is_available());
        assert!(!result(8, 1).is_available() && !result(0, 3).is_available());
        // By either count, and training by training.
        let mut mixed = result(9, 1);
        mixed.runs[0] = run(0.9);
        mixed.runs[1] = run(0.8);
        assert!(!mixed.is_available() && mixed.is_available_by(Count::AsCoded));
        assert_eq!(Count::ALL.map(|count| mixed.serving(count)), [7, 9]);
        assert_eq!((mixed.trainings(), mixed.worst(Count::AsCoded)), (10, 0.0));
    }
}
