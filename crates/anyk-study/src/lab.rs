//! Environment of the studies: the cell, the test sets, shared training runs, and the cache.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::entry::Count;
use crate::outer::{OuterFunction, WithOuter};
use crate::{Effort, Entry, EntryResult, Measure, TEST_SAMPLES, TEST_SEED, TEST_SIZES};
use anyk::channel::sample_distances_m;
use anyk::framework::{
    CancelOnly, Counted, Error, Observer, PretrainSettings, Session, Silent, Stored, TrainError,
};
use anyk::network::BandwidthLaw;
use anyk::problems::interference::{
    PowerOutput, PowerPolicy, PowerTrainSettings, Scenario, train_power,
};
use anyk::problems::urllc::{EqualPower, PriceSettings, TestSet, law_for, measure_law};
use anyk::{Config, System};

/// Seed of the selection cells, on which settings are chosen. It differs from the test set's.
pub(crate) const SELECTION_SEED: u64 = 8;

/// Cache name of pre-training runs.
const PRETRAINING: &str = "pre-training";
/// Cache name of training runs, and names of the cells that they are measured on.
const TRAINING: &str = "training of an entry";
const TEST: &str = "test set";
const SELECTION: &str = "selection";

/// Measurements of a training run, or how it diverged.
type Outcome = Result<Measure, Diverged>;

/// Training run that diverged from every start.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Diverged {
    stage: String,
    attempts: u32,
    step: u64,
}

impl From<Diverged> for Error {
    fn from(Diverged { stage, attempts, step }: Diverged) -> Self {
        TrainError::Diverged { stage, attempts, step }.into()
    }
}

/// Extent of the training and measurements, and the cache folder.
#[derive(Debug, Clone, Default)]
pub struct StudySettings {
    /// Number of runs of each entry. By default, each study has its own number.
    pub trainings: Option<u64>,
    /// Extent of the training and measurements.
    pub effort: Effort,
    /// Cache folder, from which an interrupted study continues.
    pub cache: Option<PathBuf>,
}

/// Environment that trains and measures for the studies, and caches the results.
pub struct Lab<'a> {
    /// Parameters of the cell: the paper's, or those given to [`Self::elsewhere`].
    pub(crate) system: System,
    /// Extent of the training and measurements.
    pub(crate) effort: Effort,
    /// Number of cells of each size in the test sets.
    pub(crate) cells: u64,
    /// Cache of earlier results.
    pub(crate) cache: Arc<Cache>,
    /// Observer of the progress.
    pub(crate) observer: &'a dyn Observer,
    trainings: Option<u64>,
    /// Outer functions, by [`Self::law_key`].
    laws: HashMap<String, BandwidthLaw>,
    test: Arc<TestSet>,
    selection: Arc<TestSet>,
}

impl<'a> Lab<'a> {
    /// Builds a lab with its test sets. Returns an error if the cache folder cannot be created.
    pub fn new(settings: &StudySettings, observer: &'a dyn Observer) -> Result<Self, Error> {
        let system = Config::default().validate()?;
        let cache = Arc::new(Cache::new(settings.cache.clone())?);
        let effort = settings.effort;
        let cells = effort.of([4, TEST_SAMPLES, TEST_SAMPLES]);
        let [test, selection] = test_sets(&system, cells)?;
        Ok(Self {
            system,
            effort,
            cells,
            cache,
            observer,
            trainings: settings.trainings,
            laws: HashMap::new(),
            test,
            selection,
        })
    }

    /// Returns a lab with the same settings in another cell, with its own test sets.
    pub(crate) fn elsewhere(&self, config: &Config) -> Result<Self, Error> {
        let system = config.validate()?;
        let [test, selection] = test_sets(&system, self.cells)?;
        let cache = Arc::clone(&self.cache);
        Ok(Self { system, cache, laws: HashMap::new(), test, selection, ..*self })
    }

    /// Returns a lab with the same settings except the number of runs.
    pub(crate) fn with_trainings(&self, trainings: u64) -> Self {
        let (cache, test) = (Arc::clone(&self.cache), Arc::clone(&self.test));
        let (system, selection) = (self.system.clone(), Arc::clone(&self.selection));
        let (trainings, laws) = (Some(trainings), HashMap::new());
        Self { system, cache, laws, test, selection, trainings, ..*self }
    }

    /// Returns a line that describes how the studies are run.
    pub fn about(&self) -> String {
        let trial = self.effort.of(["a trial: ignore its figures · ", "", ""]);
        format!(
            "{trial}{} of each entry; each figure is the {} · test set: {} cells for each K, seed {TEST_SEED}",
            self.trainings_words(),
            self.rule(),
            self.cells,
        )
    }

    /// Number of runs of each entry in the paper's tables.
    pub(crate) fn runs(&self) -> u64 {
        self.trainings_or(10, 3)
    }

    /// Number of runs as set by the user, or else the default of a study: with full effort, and usually.
    pub(crate) fn trainings_or(&self, full: u64, usual: u64) -> u64 {
        self.trainings.unwrap_or(self.effort.of([1, usual, full]))
    }

    /// Describes what a verdict covers: the sizes of the test set, the runs and the cells.
    pub(crate) fn covers(&self) -> String {
        let [first, .., last] = TEST_SIZES;
        format!(
            "K = {first} to {last}; {}, {} cells for each K",
            self.trainings_words(),
            self.cells
        )
    }

    /// Number of runs of each entry, in words.
    pub(crate) fn trainings_words(&self) -> String {
        let runs = self.runs();
        format!("{runs} training run{}", if runs == 1 { "" } else { "s" })
    }

    /// Names the run whose figure is shown.
    pub(crate) fn rule(&self) -> &'static str {
        if self.runs() >= 10 { "second worst of the runs" } else { "worst of the runs" }
    }

    /// Reports the work and its number of parts to the observer, does the work, and reports its end even on an error.
    pub(crate) fn watched<T>(&self, what: &str, parts: u64, work: impl FnOnce() -> T) -> T {
        self.observer.begin(what, parts);
        let done = work();
        self.observer.end();
        done
    }

    /// Returns an error if the observer requests a stop. Called between pieces of work, each of which is cached.
    pub(crate) fn go_on(&self) -> Result<(), Error> {
        if self.observer.stop() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Pre-trains the outer functions that the entries need, in parallel. The runs of an entry share one, or each run
    /// has its own if the entry requires it.
    pub(crate) fn prepare_laws(&mut self, entries: &[Entry]) -> Result<(), Error> {
        let runs = self.runs();
        let mut wanted = Vec::new();
        let mut named = HashSet::new();
        for entry in entries {
            let entry = self.shortened(entry);
            for run in 0..runs {
                let Some(key) = self.law_key(&entry, run) else { break };
                if !self.laws.contains_key(&key) && named.insert(key.clone()) {
                    wanted.push((key, entry.clone(), run));
                }
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        self.go_on()?;
        let steps: u64 = wanted.iter().map(|(_, entry, _)| pretraining_steps(entry)).sum();
        let made = self.watched("pre-training, steps", steps, || {
            wanted.par_iter().map(|one| self.pretrained(one)).collect::<Result<Vec<_>, Error>>()
        })?;
        self.laws.extend(made.into_iter().flatten());
        Ok(())
    }

    /// Returns an outer function from the cache, or pre-trains it.
    fn pretrained(
        &self,
        (key, entry, run): &(String, Entry, u64),
    ) -> Result<Option<(String, BandwidthLaw)>, Error> {
        let mut settings = entry.settings_of_run(*run);
        settings.seed = entry.law_seed(*run).unwrap_or(settings.seed);
        let kept: Pretrained = self.cache.get_or(PRETRAINING, key, || {
            let counted = Counted(self.observer);
            let mut session = Session::new(&counted);
            let law = law_for(&self.system, &settings, &entry.pretraining, &mut session)?;
            let parameters = law.map_or_else(Vec::new, |law| law.parameters().to_vec());
            Ok(Pretrained { parameters, seconds: session.seconds("pre-training") })
        })?;
        let law = BandwidthLaw::new(&entry.pretraining.shape, kept.parameters);
        Ok(law.map(|law| (key.clone(), law)))
    }

    /// Seconds of the pre-training of an entry's outer function; `None` for methods without one.
    pub(crate) fn pretrain_seconds(&mut self, entry: &Entry) -> Result<Option<f64>, Error> {
        let Some(key) = self.law_key(&self.shortened(entry), 0) else { return Ok(None) };
        self.prepare_laws(std::slice::from_ref(entry))?;
        let kept: Option<Pretrained> = self.cache.find(PRETRAINING, &key)?;
        Ok(kept.map(|kept| kept.seconds))
    }

    /// Returns the key of a run's outer function: the cell, target, pre-training and seed; `None` without one.
    fn law_key(&self, entry: &Entry, run: u64) -> Option<String> {
        let (cell, seed) = (self.system.config(), entry.law_seed(run)?);
        Some(format!("{cell:?} {:e} {:?} {seed}", entry.settings.epsilon_d, entry.pretraining))
    }

    /// Returns the outer function of an entry's run, if it has one and it is prepared.
    pub(crate) fn law_of_run(&self, entry: &Entry, run: u64) -> Option<&BandwidthLaw> {
        self.laws.get(&self.law_key(&self.shortened(entry), run)?)
    }

    /// Returns the outer function of an entry's first run.
    pub(crate) fn law(&self, entry: &Entry) -> Option<&BandwidthLaw> {
        self.law_of_run(entry, 0)
    }

    /// Returns the entry as it is trained here, with fewer samples and steps in a trial.
    pub(crate) fn shortened(&self, entry: &Entry) -> Entry {
        let mut entry = entry.clone();
        let steps = entry.settings.steps();
        let short = self.effort.of_training((entry.settings.samples, steps));
        if short != (entry.settings.samples, steps) {
            entry.settings.samples = short.0;
            entry.settings.recipe.steps = Some(short.1);
        }
        let epochs = entry.pretraining.epochs;
        entry.pretraining.epochs = self.effort.of([epochs.min(4), epochs, epochs]);
        entry
    }

    /// Returns the settings of a training run of the price policy.
    pub(crate) fn price_settings(&self, seed: u64) -> PriceSettings {
        let mut settings = PriceSettings::preset(seed);
        (settings.samples, settings.steps) =
            self.effort.of_training((settings.samples, settings.steps));
        settings
    }

    /// Returns a network for links. It is trained once; the output layer can be replaced afterwards.
    pub(crate) fn links_policy(
        &self,
        settings: &PowerTrainSettings,
        output: PowerOutput,
    ) -> Result<PowerPolicy, Error> {
        self.go_on()?;
        let (record, parameters) = self.cache.get_or("network of links", settings, || {
            let quietly = CancelOnly(self.observer);
            let policy = train_power(settings, output, &mut Session::new(&quietly))?;
            Ok((policy.record().clone(), policy.parameters().to_vec()))
        })?;
        self.observer.done(1);
        Ok(PowerPolicy::new(record, parameters)?.with_output(output))
    }

    /// Returns the settings of a training run for links.
    pub(crate) fn links_settings(&self, scenario: Scenario, seed: u64) -> PowerTrainSettings {
        let preset = PowerTrainSettings::preset(scenario, seed);
        let (samples, steps) = self.effort.of_training((preset.samples, preset.steps));
        PowerTrainSettings { samples, steps, ..preset }
    }

    /// Returns the relative error of an entry's outer function on held-out users: mean, 99th percentile and maximum.
    pub(crate) fn law_errors(&mut self, entry: &Entry) -> Result<[f64; 3], Error> {
        const WORK: &str = "errors of an outer function";
        let entry = self.shortened(entry);
        let key = (self.law_key(&entry, 0), SELECTION_SEED);
        if let Some(known) = self.cache.find(WORK, &key)? {
            return Ok(known);
        }
        self.prepare_laws(std::slice::from_ref(&entry))?;
        // With the exact b there is no network, hence no error.
        let Some(law) = self.law(&entry) else { return Ok([0.0; 3]) };
        let (epsilon_d, way) = (entry.settings.epsilon_d, &entry.pretraining);
        let error = measure_law(&self.system, epsilon_d, law, way, SELECTION_SEED)?;
        let errors = [error.mean, error.percentile_99, error.max];
        self.cache.keep(WORK, &key, &errors)?;
        Ok(errors)
    }

    /// Returns the relative error of a run's outer function at several sizes: its signed mean, and its largest
    /// magnitude.
    pub(crate) fn law_errors_at(
        &mut self,
        entry: &Entry,
        run: u64,
        sizes: &[usize],
    ) -> Result<Vec<[f64; 2]>, Error> {
        /// Number of gains at each size.
        const GAINS: usize = 1000;
        self.prepare_laws(std::slice::from_ref(entry))?;
        let exact = OuterFunction::exact(&self.system, entry.settings.epsilon_d)?;
        let Some(law) = self.law_of_run(entry, run) else { return Ok(vec![[0.0; 2]; sizes.len()]) };
        let (road, path_loss) = (self.system.road(), self.system.path_loss());
        let distances = sample_distances_m(&road, SELECTION_SEED, GAINS, 0);
        let gains: Vec<f64> = distances.into_iter().map(|d| path_loss.gain(d)).collect();
        let at_size = |&size: &usize| {
            let expected = exact.at_size(&gains, size, self.system.max_power_w());
            let found = law.bandwidths_hz(&gains, size);
            let errors =
                found.iter().zip(&expected).map(|(found, expected)| found / expected - 1.0);
            let worst = errors.clone().fold(0.0, |most: f64, error| most.max(error.abs()));
            [errors.sum::<f64>() / GAINS as f64, worst]
        };
        Ok(sizes.iter().map(at_size).collect())
    }

    /// Measures all runs of an entry on the test set.
    pub(crate) fn results(&mut self, entry: &Entry) -> Result<EntryResult, Error> {
        let test = Arc::clone(&self.test);
        self.results_on(entry, &test, TEST)
    }

    /// Returns the test set.
    pub(crate) fn test_set(&self) -> Arc<TestSet> {
        Arc::clone(&self.test)
    }

    /// Measures equal power with exact bandwidths, the baseline, on the test set.
    pub(crate) fn equal_power(&self) -> Result<EntryResult, Error> {
        equal_power_on(&self.test)
    }

    /// Measures equal power with the bandwidths of an entry's outer function on the test set: a P-GNN without its
    /// networks. With the exact b, only the entry's `ε_D` matters.
    pub(crate) fn equal_power_by(&mut self, entry: &Entry) -> Result<EntryResult, Error> {
        self.prepare_laws(std::slice::from_ref(entry))?;
        let epsilon_d = entry.settings.epsilon_d;
        let outer = match self.law(entry) {
            Some(law) => OuterFunction::Pretrained(law.clone()),
            None => OuterFunction::exact(&self.system, epsilon_d)?,
        };
        let policy = WithOuter { outer, inner: None };
        let sizes = self.test.evaluate_coded(&policy, Some(epsilon_d), &Silent)?;
        Ok(EntryResult { runs: vec![Measure { train_seconds: 0.0, sizes }], diverged: 0 })
    }

    /// Measures all runs of an entry on the selection cells.
    pub(crate) fn results_to_choose(&mut self, entry: &Entry) -> Result<EntryResult, Error> {
        let selection = Arc::clone(&self.selection);
        self.results_on(entry, &selection, SELECTION)
    }

    /// Returns the first of several entries whose availability by a criterion is 1.00 at every size on the selection
    /// cells.
    pub(crate) fn first_available(
        &mut self,
        count: Count,
        entries: impl IntoIterator<Item = Entry>,
    ) -> Result<Option<Entry>, Error> {
        let selection = Arc::clone(&self.selection);
        for entry in entries {
            let outcomes = self.outcomes_on(&entry, &selection, SELECTION)?;
            if finished(outcomes).is_available_by(count) {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Measures all runs of an entry on other cells. `cells` names them in the cache.
    pub(crate) fn results_on(
        &mut self,
        entry: &Entry,
        test: &TestSet,
        cells: &str,
    ) -> Result<EntryResult, Error> {
        let runs = self.outcomes_on(entry, test, cells)?.into_iter();
        let runs = runs.collect::<Result<_, Diverged>>()?;
        Ok(EntryResult { runs, diverged: 0 })
    }

    /// Measures all runs of an entry on the test set, and counts those that diverged from every start.
    pub(crate) fn outcomes(&mut self, entry: &Entry) -> Result<EntryResult, Error> {
        let test = Arc::clone(&self.test);
        Ok(finished(self.outcomes_on(entry, &test, TEST)?))
    }

    fn outcomes_on(
        &mut self,
        entry: &Entry,
        test: &TestSet,
        cells: &str,
    ) -> Result<Vec<Outcome>, Error> {
        let entry = &self.shortened(entry);
        let place = |cells: &str| (self.system.config().clone(), cells.to_owned(), self.cells);
        let asked = place(cells);
        let key =
            |run: u64, place| (&entry.pretraining, entry.outer, entry.settings_of_run(run), place);
        let mut runs = (0..self.runs())
            .map(|run| self.cache.find(TRAINING, &key(run, &asked)))
            .collect::<Result<Vec<Option<Outcome>>, Error>>()?;
        let missing: Vec<u64> =
            (0..).zip(&runs).filter(|(_, run)| run.is_none()).map(|(run, _)| run).collect();
        if !missing.is_empty() {
            // A trained run is measured on both sets of the lab.
            let own = [
                (place(TEST), Arc::clone(&self.test)),
                (place(SELECTION), Arc::clone(&self.selection)),
            ];
            let mut sets: Vec<(_, &TestSet)> = vec![(asked.clone(), test)];
            if [TEST, SELECTION].contains(&cells) {
                sets.extend(
                    own.iter().filter(|set| set.0.1 != cells).map(|set| (set.0.clone(), &*set.1)),
                );
            }
            self.prepare_laws(std::slice::from_ref(entry))?;
            let measure = |&run: &u64| {
                let observer = Counted(self.observer);
                let tests: Vec<&TestSet> = sets.iter().map(|set| set.1).collect();
                let law = self.law_of_run(entry, run);
                let outcomes = match entry.measure(&self.system, run, law, &tests, &observer) {
                    Ok(measures) => measures.into_iter().map(Ok).collect(),
                    Err(TrainError::Diverged { stage, attempts, step }) => {
                        vec![Err(Diverged { stage, attempts, step }); sets.len()]
                    }
                    Err(other) => return Err(other.into()),
                };
                for (outcome, (place, _)) in outcomes.iter().zip(&sets) {
                    self.cache.keep(TRAINING, &key(run, place), outcome)?;
                }
                Ok(outcomes.into_iter().next())
            };
            let parts = missing.len() as u64 * entry.settings.steps();
            let measured: Vec<Option<Outcome>> = self.watched("training, steps", parts, || {
                missing.par_iter().map(measure).collect::<Result<_, Error>>()
            })?;
            let empty = runs.iter_mut().filter(|run| run.is_none());
            empty.zip(measured).for_each(|(run, measure)| *run = measure);
        }
        Ok(runs.into_iter().flatten().collect())
    }
}

/// Number of steps of the pre-training of an entry's outer function.
fn pretraining_steps(entry: &Entry) -> u64 {
    let PretrainSettings { sizes, samples_per_size, batch, epochs, .. } = &entry.pretraining;
    let samples = sizes.list().len() * samples_per_size;
    (samples.div_ceil(*batch) * epochs) as u64
}

/// Measures equal power with exact bandwidths, and returns the result as one run.
pub(crate) fn equal_power_on(test: &TestSet) -> Result<EntryResult, Error> {
    let sizes = test.evaluate(&EqualPower::default(), &Silent)?;
    Ok(EntryResult { runs: vec![Measure { train_seconds: 0.0, sizes }], diverged: 0 })
}

/// Separates the runs that completed from those that diverged.
fn finished(outcomes: Vec<Outcome>) -> EntryResult {
    let all = outcomes.len();
    let runs: Vec<Measure> = outcomes.into_iter().flatten().collect();
    EntryResult { diverged: all - runs.len(), runs }
}

/// Draws the test set and the selection cells.
fn test_sets(system: &System, cells: u64) -> Result<[Arc<TestSet>; 2], Error> {
    let draw = |seed| TestSet::draw(system, &TEST_SIZES, cells, seed).map(Arc::new);
    Ok([draw(TEST_SEED)?, draw(SELECTION_SEED)?])
}

/// Outer function in the cache, and the duration of its pre-training.
#[derive(Serialize, Deserialize)]
struct Pretrained {
    parameters: Vec<f64>,
    seconds: f64,
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::{STUDIES, Study};
    use anyk::framework::{ErrorKind, Silent};

    /// Observer that requests a stop at once and records its calls.
    #[derive(Default)]
    struct Impatient(Mutex<Vec<&'static str>>);

    impl Observer for Impatient {
        fn begin(&self, _: &str, _: u64) {
            self.0.lock().unwrap().push("begin");
        }

        fn end(&self) {
            self.0.lock().unwrap().push("end");
        }

        fn stop(&self) -> bool {
            true
        }
    }

    #[test]
    fn every_long_study_stops_when_it_is_asked_to() {
        let observer = Impatient::default();
        let mut lab = Lab::new(&StudySettings::default(), &observer).unwrap();
        let short = ["table1", "table2", "fig1"];
        for study in STUDIES.iter().filter(|study| !short.contains(&study.name)) {
            let kind = study.tables(&mut lab).map_err(|error| error.kind()).err();
            assert_eq!(kind, Some(ErrorKind::Interrupted), "{}", study.name);
        }
        // Every `begin` has its `end`.
        let told = observer.0.into_inner().unwrap();
        assert!(told.chunks(2).all(|pair| pair == ["begin", "end"]), "{told:?}");
    }

    #[test]
    fn trainings_are_as_said_or_those_of_the_study() {
        let lab = |trainings, effort| {
            let settings = StudySettings { trainings, effort, cache: None };
            Lab::new(&settings, &Silent).unwrap()
        };
        let runs = |effort| lab(None, effort).runs();
        assert_eq!([Effort::Trial, Effort::Usual, Effort::Full].map(runs), [1, 3, 10]);
        let said = lab(Some(2), Effort::Full);
        assert_eq!((said.runs(), said.trainings_or(5, 1)), (2, 2));
        assert_eq!(lab(None, Effort::Full).rule(), "second worst of the runs");
    }

    #[test]
    fn a_study_returns_tables_whose_rows_fit_their_heads() {
        let mut lab = Lab::new(&StudySettings::default(), &Silent).unwrap();
        for name in ["table1", "table2", "fig1"] {
            let tables = Study::named(name).unwrap().tables(&mut lab).unwrap();
            assert_eq!((tables.len(), tables[0].name.as_str()), (1, name));
            assert!(tables[0].rows.iter().all(|row| row.len() == tables[0].columns.len()));
        }
    }
}
