//! One driver for every training: stopped anywhere and continued, a training ends with the same model, and who
//! watches it is told what happens.

#![allow(clippy::unwrap_used)]

mod trainings;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyk::framework::{
    Checkpoint, Method, Objective, Observer, Plan, Schedule, Session, Silent, State, TrainError,
    Update,
};
use trainings::{SYSTEM, Training};

/// What was seen of a run, and when it is to stop.
#[derive(Default)]
struct Watcher {
    /// The look at which to stop, counted from 0.
    stop_at: Option<usize>,
    seen: Mutex<Seen>,
}

#[derive(Default, Clone)]
struct Seen {
    /// What was begun, and how many parts of it are done.
    begun: Vec<(String, u64, u64)>,
    /// For each look what was begun last.
    looks: Vec<String>,
    told: Vec<String>,
    ends: usize,
}

impl Watcher {
    fn stopping_at(look: usize) -> Self {
        Self { stop_at: Some(look), ..Self::default() }
    }

    fn seen(&self) -> Seen {
        self.seen.lock().unwrap().clone()
    }
}

impl Observer for Watcher {
    fn begin(&self, what: &str, parts: u64) {
        self.seen.lock().unwrap().begun.push((what.to_owned(), parts, 0));
    }

    fn done(&self, parts: u64) {
        self.seen.lock().unwrap().begun.last_mut().unwrap().2 += parts;
    }

    fn end(&self) {
        self.seen.lock().unwrap().ends += 1;
    }

    fn tell(&self, message: &str) {
        self.seen.lock().unwrap().told.push(message.to_owned());
    }

    fn stop(&self) -> bool {
        let mut seen = self.seen.lock().unwrap();
        let stage = seen.begun.last().unwrap().0.clone();
        seen.looks.push(stage);
        self.stop_at == Some(seen.looks.len() - 1)
    }
}

/// A place for a model, with nothing beside it.
fn model_path(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("training_driver").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder.join("model.safetensors")
}

fn beside(model: &Path, ending: &str) -> PathBuf {
    let mut name = model.file_name().unwrap().to_owned();
    name.push(ending);
    model.with_file_name(name)
}

/// A run with the checkpoint beside a model; the step at which it continued.
fn run(training: &Training, model: &Path, watcher: &Watcher) -> (Result<Vec<u8>, TrainError>, u64) {
    let checkpoint = Checkpoint::beside(model, &training.name);
    let mut session = Session::with_checkpoint(watcher, checkpoint);
    let found = (training.run)(&mut session);
    (found, session.resumed_at_step())
}

/// Stops a training at each of these looks (ascending, counted over the whole training), continues it each time
/// from its file, and returns the model.
fn in_pieces(training: &Training, model: &Path, looks: &[usize]) -> Vec<u8> {
    let mut done = 0;
    for &look in looks {
        let watcher = Watcher::stopping_at(look - done);
        let (found, resumed) = run(training, model, &watcher);
        let stopped = matches!(found, Err(TrainError::Interrupted { saved: true, .. }));
        assert!(stopped, "{}: {found:?}", training.name);
        let seen = watcher.seen();
        assert_eq!(seen.ends, seen.begun.len(), "{}", training.name);
        let told = seen.told.iter().any(|text| text.ends_with(&format!("at step {resumed}")));
        assert!(resumed == 0 || told, "{}: {:?}", training.name, seen.told);
        done = look + 1;
    }
    run(training, model, &Watcher::default()).0.unwrap()
}

/// Every training, stopped inside each of its stages: at the first look, in the middle, at the last, and at all
/// of these one after the other.
fn ends_with_the_same_model(training: &Training) {
    let name = training.name;
    let watcher = Watcher::default();
    let whole = (training.run)(&mut Session::new(&watcher)).unwrap();
    let seen = watcher.seen();
    let stages: Vec<String> =
        training.stages.iter().map(|stage| format!("{stage}, steps")).collect();
    let begun: Vec<&String> = seen.begun.iter().map(|(what, ..)| what).collect();
    assert_eq!(begun, stages.iter().collect::<Vec<_>>(), "{name}");
    assert!(seen.begun.iter().all(|(_, parts, done)| parts == done), "{name}: {:?}", seen.begun);
    assert_eq!(seen.told, Vec::<String>::new(), "{name}");

    let mut moments = [const { Vec::new() }; 3];
    for stage in &stages {
        let looks = seen.looks.iter().enumerate().filter(|(_, what)| *what == stage);
        let looks: Vec<usize> = looks.map(|(look, _)| look).collect();
        assert!(
            looks.len() >= 3,
            "{name}: {stage} is too short to be stopped at different moments"
        );
        let chosen = [looks[0], looks[looks.len() / 2], looks[looks.len() - 1]];
        for (moments, look) in moments.iter_mut().zip(chosen) {
            moments.push(look);
        }
    }
    let [first, middle, last] = moments;
    let all: BTreeSet<usize> = first.iter().chain(&middle).chain(&last).copied().collect();
    let all: Vec<usize> = all.into_iter().collect();
    let folder = name.replace([' ', ','], "-");
    for (moments, looks) in [("first", first), ("middle", middle), ("last", last), ("all", all)] {
        let model = model_path(&format!("{folder}-{moments}"));
        assert!(in_pieces(training, &model, &looks) == whole, "{name}: stopped at {looks:?}");
    }
}

macro_rules! every_training {
    ($($test:ident: $name:literal,)*) => {
        const NAMES: &[&str] = &[$($name),*];
        $(
            #[test]
            fn $test() {
                ends_with_the_same_model(trainings::named($name));
            }
        )*
    };
}

every_training! {
    p_gnn: "urllc p-gnn",
    p_gnn_without_labels: "urllc p-gnn, pre-trained without labels",
    m_gnn: "urllc m-gnn",
    m_gnn_with_the_size: "urllc m-gnn, size as an input",
    fnn: "urllc fnn",
    any_gnn: "urllc any-gnn",
    any_gnn_from_samples_with_labels: "urllc any-gnn, from samples with labels",
    any_gnn_from_samples_without_labels: "urllc any-gnn, from samples without labels",
    any_gnn_in_a_band: "urllc-power any-gnn",
    qos_power: "qos-power",
    equal_bandwidth: "equal-bandwidth p-gnn",
    interference: "interference",
    link_scheduling: "link scheduling",
}

#[test]
fn no_training_is_left_out() {
    assert_eq!(trainings::ALL.each_ref().map(|training| training.name), NAMES);
}

/// Another process may have been killed after it had gone on: its file is older than what it did.
#[test]
fn an_older_checkpoint_serves_as_well() {
    let training = trainings::named("urllc p-gnn");
    let model = model_path("older");
    let file = beside(&model, ".checkpoint");
    let (_, first) = run(training, &model, &Watcher::stopping_at(1));
    assert_eq!(first, 0);
    let older = fs::read(&file).unwrap();
    let (_, second) = run(training, &model, &Watcher::stopping_at(4));
    assert_eq!(second, 128);
    assert_ne!(fs::read(&file).unwrap(), older);
    fs::write(&file, older).unwrap();
    let (found, resumed) = run(training, &model, &Watcher::default());
    assert_eq!((found.unwrap() == training.model(), resumed), (true, 128));
}

/// A file that says something else than this training's state is set aside, told of, and not used.
#[track_caller]
fn is_set_aside(training: &Training, fingerprint: &str, model: &Path, whole: &[u8]) -> String {
    let (file, unused) = (beside(model, ".checkpoint"), beside(model, ".checkpoint.unused"));
    let before = fs::read(&file).unwrap();
    let _ = fs::remove_file(&unused);
    let watcher = Watcher::default();
    let checkpoint = Checkpoint::beside(model, &fingerprint);
    assert!(!file.exists());
    assert_eq!(fs::read(&unused).unwrap(), before);
    let mut session = Session::with_checkpoint(&watcher, checkpoint);
    assert!((training.run)(&mut session).unwrap() == whole);
    assert_eq!(session.resumed_at_step(), 0);
    let seen = watcher.seen();
    assert_eq!(seen.told.len(), 1, "{:?}", seen.told);
    let told = &seen.told[0];
    assert!(told.starts_with(&format!("{}: not used: ", file.display())), "{told}");
    assert!(told.ends_with(&format!("(kept as {})", unused.display())), "{told}");
    told.clone()
}

#[test]
fn the_checkpoint_of_another_training_is_not_used() {
    let model = model_path("other");
    let mut config = SYSTEM.config().clone();
    let settings = trainings::settings(Method::MGnn);
    let text = |config: &anyk::Config, settings: &anyk::problems::urllc::TrainSettings| {
        serde_json::to_string(&(config, settings)).unwrap()
    };
    let training = trainings::named("urllc m-gnn");
    let whole = training.model();
    let usual = text(&config, &settings);
    let save = || {
        let checkpoint = Checkpoint::beside(&model, &usual);
        let watcher = Watcher::stopping_at(1);
        let stopped = (training.run)(&mut Session::with_checkpoint(&watcher, checkpoint));
        assert_eq!(stopped, Err(TrainError::Interrupted { step: 128, saved: true }));
    };
    let mut other = settings.clone();
    other.seed += 1;
    config.cell.max_power_dbm += 1e-9;
    for fingerprint in [text(SYSTEM.config(), &other), text(&config, &settings), String::new()] {
        save();
        let told = is_set_aside(training, &fingerprint, &model, &whole);
        assert!(told.contains("another cell, settings or program"), "{told}");
    }
    // The same one is.
    save();
    let mut session = Session::with_checkpoint(&Silent, Checkpoint::beside(&model, &usual));
    assert!((training.run)(&mut session).unwrap() == whole);
    assert_eq!(session.resumed_at_step(), 128);
    // And its file is for whoever has the model now to remove.
    assert!(beside(&model, ".checkpoint").exists());
    Checkpoint::remove_beside(&model);
    assert!(!beside(&model, ".checkpoint").exists());
    Checkpoint::remove_beside(&model);
}

#[test]
fn a_damaged_checkpoint_is_not_used() {
    let training = trainings::named("urllc p-gnn");
    let model = model_path("damaged");
    let file = beside(&model, ".checkpoint");
    // In the second stage: the result of the first is part of the file.
    let (stopped, _) = run(training, &model, &Watcher::stopping_at(5));
    assert_eq!(stopped, Err(TrainError::Interrupted { step: 128, saved: true }));
    let good = fs::read(&file).unwrap();
    let whole = training.model();
    let mut flipped = good.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let middle = good[..good.len() / 2].to_vec();
    let of_a_model = whole.clone();
    for damaged in [flipped, middle, vec![], b"no checkpoint".to_vec(), of_a_model] {
        fs::write(&file, damaged).unwrap();
        is_set_aside(training, training.name, &model, &whole);
    }
    // Whatever a byte of it becomes, it is set aside.
    for at in 0..good.len() {
        let mut damaged = good.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::write(&file, damaged).unwrap();
        let _ = Checkpoint::beside(&model, &training.name);
        assert!(!file.exists(), "byte {at} of {}", good.len());
    }
    fs::write(&file, good).unwrap();
    let (found, resumed) = run(training, &model, &Watcher::default());
    assert_eq!((found.unwrap() == whole, resumed), (true, 128));
}

#[test]
fn a_checkpoint_that_cannot_be_written_is_an_error() {
    let training = trainings::named("urllc m-gnn");
    let model = model_path("unwritable");
    let file = beside(&model, ".checkpoint");
    // A folder in its place.
    fs::create_dir(&file).unwrap();
    let (found, _) = run(training, &model, &Watcher::stopping_at(0));
    let Err(TrainError::Checkpoint { path, .. }) = found else { panic!("{found:?}") };
    assert_eq!(path, file.display().to_string());
    // Without a checkpoint, what was done is lost, and the error says so.
    let stopped = (training.run)(&mut Session::new(&Watcher::stopping_at(0))).unwrap_err();
    assert_eq!(stopped, TrainError::Interrupted { step: 64, saved: false });
    assert_eq!(stopped.to_string(), "interrupted at step 64");
}

/// `Σ (x_i − target_i)²` with targets that differ from step to step and from start to start; it diverges in its
/// first starts.
struct Diverging {
    started: u32,
    /// Starts that diverge, and the step at which they do.
    bad: (u32, u64),
    how: How,
}

#[derive(Clone, Copy, Debug)]
enum How {
    /// A loss that is none.
    Loss(f64),
    /// A gradient that is none, at a loss that is: found at the end.
    Gradient,
    /// Nothing wrong with loss and gradient, but what was learned is worth no more than this.
    Gain(f64),
}

const TARGETS: usize = 3;

impl Diverging {
    fn new(bad: (u32, u64), how: How) -> Self {
        Self { started: u32::MAX, bad, how }
    }
}

impl Objective<f64> for Diverging {
    fn start(&mut self, attempt: u32) -> Vec<f64> {
        self.started = attempt;
        (0..TARGETS).map(|i| f64::from(attempt) + i as f64).collect()
    }

    fn step(&mut self, step: u64, parameters: &[f64], gradient: &mut [f64]) -> f64 {
        let bad = self.started < self.bad.0 && step >= self.bad.1;
        let target = |i: usize| (step as f64 * (1.0 + f64::from(self.started)) + i as f64).sin();
        for (i, (gradient, x)) in gradient.iter_mut().zip(parameters).enumerate() {
            *gradient = 2.0 * (x - target(i));
        }
        match self.how {
            How::Loss(loss) if bad => return loss,
            How::Gradient if bad => gradient[0] = f64::NAN,
            _ => {}
        }
        parameters.iter().enumerate().map(|(i, x)| (x - target(i)).powi(2)).sum()
    }

    fn gain(&mut self, _: &[f64]) -> Option<f64> {
        match self.how {
            How::Gain(gain) => Some(if self.started < self.bad.0 { gain } else { 1.5 }),
            _ => None,
        }
    }
}

const PLAN: Plan = Plan {
    rate_every: 1,
    steps: 1000,
    rate: Schedule::Cosine { rate: 0.05, last: 0.0 },
    update: Update::ADAM,
    attempts: 3,
    largest_loss: 1e6,
};

#[test]
fn a_restart_after_divergence_is_told() {
    for (how, bad_step, found_at) in [
        (How::Loss(f64::NAN), 100, 100),
        (How::Loss(f64::INFINITY), 0, 0),
        (How::Loss(f64::NEG_INFINITY), 999, 999),
        (How::Loss(1.000_001e6), 64, 64),
        (How::Loss(-1.000_001e6), 500, 500),
        (How::Gradient, 999, 1000),
    ] {
        let watcher = Watcher::default();
        let mut objective = Diverging::new((1, bad_step), how);
        let found = Session::new(&watcher).train("toy", &PLAN, &mut objective).unwrap();
        let seen = watcher.seen();
        let text = format!(
            "toy: the loss diverged at step {found_at}; starting over from initialization 2"
        );
        assert_eq!(seen.told, [text], "{how:?}");
        // Whoever counts the steps counts them from 0 again.
        let whole = ("toy, steps".to_owned(), 1000, 1000);
        assert_eq!(seen.begun.len(), 2, "{how:?}");
        assert_eq!(seen.begun[1], whole, "{how:?}");
        assert_eq!(seen.ends, 1, "{how:?}");
        // What it ends with is the second start's, as if there had been no first.
        let mut objective = Diverging::new((0, 0), how);
        let mut state = State::start(&mut objective, &PLAN, 1);
        let mut gradient = [0.0; TARGETS];
        while state.step < PLAN.steps {
            state.advance(&mut objective, &PLAN, &mut gradient);
        }
        assert_eq!(found, state.parameters, "{how:?}");
    }
    // As large as allowed is not beyond.
    for loss in [1e6, -1e6] {
        let watcher = Watcher::default();
        let mut objective = Diverging::new((1, 100), How::Loss(loss));
        Session::new(&watcher).train("toy", &PLAN, &mut objective).unwrap();
        assert!(watcher.seen().told.is_empty());
    }
}

/// A network that has died is no model: the driver notices, starts over and says so.
#[test]
fn a_collapsed_training_starts_over() {
    let watcher = Watcher::default();
    let mut objective = Diverging::new((1, 0), How::Gain(1.001));
    let found = Session::new(&watcher).train("toy", &PLAN, &mut objective).unwrap();
    let told = watcher.seen().told;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("toy: the network has collapsed: on validation it reaches 100.1 %")
    );
    assert!(told[0].ends_with("starting over from initialization 2"), "{told:?}");
    // What it ends with is the second start's.
    let mut objective = Diverging::new((0, 0), How::Gain(1.5));
    let mut state = State::start(&mut objective, &PLAN, 1);
    let mut gradient = [0.0; TARGETS];
    while state.step < PLAN.steps {
        state.advance(&mut objective, &PLAN, &mut gradient);
    }
    assert_eq!(found, state.parameters);
    // Where no start does better, the last is kept, with a word.
    let watcher = Watcher::default();
    let mut objective = Diverging::new((9, 0), How::Gain(1.001));
    Session::new(&watcher).train("toy", &PLAN, &mut objective).unwrap();
    let told = watcher.seen().told;
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[2].ends_with("no start did better, and this one is kept"), "{told:?}");
    // A training that has learned is left alone.
    let watcher = Watcher::default();
    let mut objective = Diverging::new((9, 0), How::Gain(1.03));
    Session::new(&watcher).train("toy", &PLAN, &mut objective).unwrap();
    assert!(watcher.seen().told.is_empty());
}

#[test]
fn a_training_whose_every_start_diverges_is_given_up() {
    let watcher = Watcher::default();
    let mut objective = Diverging::new((u32::MAX, 70), How::Loss(f64::NAN));
    let found = Session::new(&watcher).train("toy", &PLAN, &mut objective).unwrap_err();
    assert_eq!(found, TrainError::Diverged { stage: "toy".into(), attempts: 3, step: 70 });
    assert_eq!(watcher.seen().ends, 1);
    let told = watcher.seen().told;
    assert_eq!(told.len(), 2);
    assert!(told[1].ends_with("starting over from initialization 3"), "{told:?}");
}

/// A training that is stopped after a restart continues with the start that it was in.
#[test]
fn a_restarted_training_continues() {
    let mut objective = Diverging::new((2, 130), How::Loss(f64::NAN));
    let whole = Session::new(&Silent).train("toy", &PLAN, &mut objective).unwrap();
    // Two looks in each of the two starts that diverge.
    for (look, step) in [(0, 64), (1, 128), (2, 64), (3, 128), (4, 64), (9, 384), (18, 960)] {
        let model = model_path(&format!("restarted-{look}"));
        let train = |watcher: &Watcher| {
            let checkpoint = Checkpoint::beside(&model, &"toy");
            let mut session = Session::with_checkpoint(watcher, checkpoint);
            let mut objective = Diverging::new((2, 130), How::Loss(f64::NAN));
            (session.train("toy", &PLAN, &mut objective), session.resumed_at_step())
        };
        let stopped = train(&Watcher::stopping_at(look)).0;
        assert_eq!(stopped, Err(TrainError::Interrupted { step, saved: true }), "{look}");
        assert_eq!(train(&Watcher::default()), (Ok(whole.clone()), step), "{look}");
    }
}

/// What was measured of a run is of that run.
#[test]
fn seconds_are_of_the_stages_that_ran() {
    let mut session = Session::new(&Silent);
    let mut objective = Diverging::new((0, 0), How::Gradient);
    session.train("one", &PLAN, &mut objective).unwrap();
    assert!(session.seconds("one") > 0.0);
    assert!(session.seconds("other").total_cmp(&0.0).is_eq());
}
