//! `anyk reproduce`: trains and measures what the tables and figures need.

mod any_gnn;
mod any_ranges;
mod calibration;
mod closed_forms;
mod diagnose;
mod fading;
mod figures;
mod interference;
mod power_control;
mod propositions;
mod tables;

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyk::exchange::write_atomically;
use anyk::framework::{Method, PretrainSettings};
use anyk::network::BandwidthLaw;
use anyk::problems::urllc::{TestSet, law_for};
use anyk::study::{Entry, EntryResult, Measure, PROGRESS_CALLS, TEST_SEED, TEST_SIZES};
use anyk::{Config, System};
use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::args::{PaperTable, ReproduceArgs};
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;
use crate::report;

/// Cells of each size in the test set (paper, table I).
const TEST_SAMPLES: u64 = 100;
/// Sample counts that table IV tries, and the seed of the cells it chooses on: not the test set's.
const SAMPLE_COUNTS: [usize; 10] = [20, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000];
const SELECTION_SEED: u64 = 8;

pub(crate) fn run(args: &ReproduceArgs) -> Result<ExitCode, Failure> {
    let cannot = |what: &Path, error: std::io::Error| {
        Failure::input(format!("{}: cannot write: {error}", what.display()))
    };
    let runs = args.trainings.unwrap_or(if args.full { 10 } else { 3 });
    let mut lab = Lab::new(&args.out, runs, args.full)?;
    let names: Vec<PaperTable> =
        if args.names.is_empty() { PaperTable::ALL.to_vec() } else { args.names.clone() };
    let mut tables = Vec::new();
    let mut out = output::stdout();
    for name in names {
        let made = match name {
            PaperTable::Table1 => vec![tables::table1(&lab)],
            PaperTable::Table2 => vec![tables::table2(&lab)],
            PaperTable::Table3 => vec![tables::table3(&mut lab)?],
            PaperTable::Table4 => vec![tables::table4(&mut lab)?],
            PaperTable::Table5 => vec![tables::table5(&mut lab)?],
            PaperTable::Table6 => vec![tables::table6(&mut lab)?],
            PaperTable::ClosedForms => vec![closed_forms::table(&lab, args)?],
            PaperTable::Fig1 => vec![figures::fig1()],
            PaperTable::Fig2a => vec![interference::fig2a(&lab)?],
            PaperTable::Fig2b => vec![interference::fig2b(&lab)?],
            PaperTable::Fig2c => figures::fig2c(),
            PaperTable::Propositions => propositions::tables(&lab)?,
            PaperTable::PowerControl => power_control::tables(&lab, args)?,
            PaperTable::AnyGnn => any_gnn::tables(&mut lab)?,
            PaperTable::AnyRanges => vec![any_ranges::table(&lab)?],
            PaperTable::Diagnose => diagnose::tables(&lab)?,
            PaperTable::Calibration => calibration::tables(&mut lab)?,
            PaperTable::Fading => fading::tables(&lab)?,
        };
        for table in &made {
            report::write_table(&args.out, table).map_err(|error| cannot(&args.out, error))?;
            writeln!(out, "{}\n", table.title)?;
            let columns: Vec<&str> = table.columns.iter().map(String::as_str).collect();
            writeln!(out, "{}", output::table(&columns, table.rows.iter().cloned()))?;
            writeln!(out, "{}\n", table.note)?;
            out.flush()?;
        }
        tables.extend(made);
    }
    let subtitle = format!(
        "anyk {} · {runs} trainings for each entry, the {} · test set: {TEST_SAMPLES} cells of each size, \
         seed {TEST_SEED}",
        env!("CARGO_PKG_VERSION"),
        lab.rule(),
    );
    let title =
        "Size Generalization for Resource Allocation with Graph Neural Networks, reproduced";
    report::write_report(&args.out, title, &subtitle, &tables)
        .map_err(|error| cannot(&args.out, error))?;
    writeln!(out, "written to {}", args.out.join("report.html").display())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Trains and measures, remembering what was done: in memory and in `DIR/cache`, so that an
/// interrupted reproduction continues where it stopped.
struct Lab {
    system: System,
    pretraining: PretrainSettings,
    runs: u64,
    full: bool,
    cache: PathBuf,
    laws: HashMap<u64, BandwidthLaw>,
    test: Arc<TestSet>,
    selection: Arc<TestSet>,
}

impl Lab {
    fn new(out: &Path, runs: u64, full: bool) -> Result<Self, Failure> {
        let system = Config::default().validate()?;
        let cache = out.join("cache");
        fs::create_dir_all(&cache).map_err(|error| {
            Failure::input(format!("{}: cannot make: {error}", cache.display()))
        })?;
        let draw = |seed| TestSet::draw(&system, &TEST_SIZES, TEST_SAMPLES, seed).map(Arc::new);
        let (test, selection) = (draw(TEST_SEED)?, draw(SELECTION_SEED)?);
        let pretraining = PretrainSettings::default();
        Ok(Self { system, pretraining, runs, full, cache, laws: HashMap::new(), test, selection })
    }

    /// The outer function for an `ε_D`: pre-trained once, shared by all trainings.
    fn prepare_law(&mut self, entry: &Entry) -> Result<(), Failure> {
        let key = entry.settings.epsilon_d.to_bits();
        if entry.settings.method != Method::PGnn || self.laws.contains_key(&key) {
            return Ok(());
        }
        let progress = Progress::new("pre-training, epochs", self.pretraining.epochs as u64);
        let settings = entry.settings_of_run(0);
        let law = law_for(&self.system, &settings, &self.pretraining, || progress.step())?;
        progress.finish();
        if let Some(law) = law {
            self.laws.insert(key, law);
        }
        Ok(())
    }

    /// All trainings of an entry on the test set (or on the cells for choosing).
    fn results(&mut self, entry: &Entry, choosing: bool) -> Result<EntryResult, Failure> {
        let test = Arc::clone(if choosing { &self.selection } else { &self.test });
        self.results_on(entry, &test, &choosing)
    }

    /// All trainings of an entry on other cells, which a name tells apart.
    fn results_on(
        &mut self,
        entry: &Entry,
        test: &TestSet,
        name: &impl Serialize,
    ) -> Result<EntryResult, Failure> {
        let key = |run: u64| -> Result<PathBuf, Failure> {
            let version = env!("CARGO_PKG_VERSION");
            let settings = (version, &self.pretraining, entry.settings_of_run(run), name);
            self.cache_file(&settings)
        };
        let files: Vec<PathBuf> = (0..self.runs).map(key).collect::<Result<_, _>>()?;
        let mut runs: Vec<Option<Measure>> = files.iter().map(|file| cached(file)).collect();
        if runs.iter().any(Option::is_none) {
            self.prepare_law(entry)?;
            let law = self.laws.get(&entry.settings.epsilon_d.to_bits());
            let law = law.filter(|_| entry.settings.method == Method::PGnn);
            let missing = runs.iter().filter(|run| run.is_none()).count() as u64;
            let progress = Progress::new("training, parts", missing * PROGRESS_CALLS);
            let measured: Vec<(usize, Measure)> = (0..runs.len())
                .into_par_iter()
                .filter(|&run| runs[run].is_none())
                .map(|run| {
                    let number = run as u64;
                    let law = (&self.pretraining, law);
                    let step = || progress.step();
                    let measure = entry.measure(&self.system, number, law, test, step)?;
                    let bytes = serde_json::to_vec(&measure)?;
                    write_atomically(&files[run], &bytes)?;
                    Ok((run, measure))
                })
                .collect::<Result<_, Failure>>()?;
            progress.finish();
            for (run, measure) in measured {
                runs[run] = Some(measure);
            }
        }
        Ok(EntryResult { entry: entry.clone(), runs: runs.into_iter().flatten().collect() })
    }

    /// Where the result of a training with these settings is kept.
    fn cache_file(&self, settings: &impl Serialize) -> Result<PathBuf, Failure> {
        let text = serde_json::to_string(settings)?;
        Ok(self.cache.join(format!("{:016x}.json", fingerprint(&text))))
    }

    /// What is shown of several trainings.
    fn rule(&self) -> &'static str {
        if self.runs >= 10 { "second worst of ten trainings" } else { "worst of the trainings" }
    }
}

/// A result that is kept; one that cannot be read is as good as none.
fn cached<T: DeserializeOwned>(file: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

/// FNV-1a: names a cache file.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
