//! Models and checkpoints, with a checksum that holds.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;

use anyk::exchange::Input;
use anyk::framework::{
    Checkpoint, LoadedModel, Objective, Options, Plan, Schedule, Session, Silent, Update, Verb,
};
use anyk::problems::read_model;

use crate::{answers, opened, sealed};

const CELLS: &[u8] = b"{\"users\":[{\"id\":\"a\",\"distance_m\":60}]}\n\
    {\"users\":[{\"id\":\"a\",\"distance_m\":60},{\"id\":\"b\",\"distance_m\":90},{\"id\":\"c\",\"distance_m\":240}]}";
const LINKS: &[u8] = b"[[1,0.1,0.2],[0.2,0.9,0.01],[0,0.3,2]]";

/// A model, sealed if it stands opened.
pub(crate) fn model(bytes: &[u8]) {
    let file = sealed(bytes, "model").unwrap_or_else(|| bytes.to_vec());
    let model = match read_model(&file) {
        Ok(model) => model,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let written = model.file_bytes().unwrap();
    let again = read_model(&written).expect("what a model writes can be read");
    let stays = again.file_bytes().unwrap() == written;
    assert!(stays, "a model changes when it is written and read");
    assert!(!model.describe().is_empty());
    let cells = answer(model.as_ref(), CELLS);
    let links = answer(model.as_ref(), LINKS);
    assert!(!(cells && links), "users and links are not the same");
}

/// Asks a model; whether it has an answer.
fn answer(model: &dyn LoadedModel, bytes: &[u8]) -> bool {
    let mut options = Options::default();
    if model.options(Verb::Allocate).iter().any(|spec| spec.name == "max-bandwidth-hz") {
        options.set("max-bandwidth-hz", "1e7");
    }
    let counter = model.allocate(&options).unwrap();
    match counter.answer_all(Input::new(bytes, "cells")) {
        Ok(answers) => {
            answers.iter().for_each(|answer| answers::check(answer.as_ref(), true));
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

/// `Σ (x − 3)²` of two numbers.
struct Parabola;

impl Objective<f64> for Parabola {
    fn start(&mut self, attempt: u32) -> Vec<f64> {
        vec![f64::from(attempt), 1.0]
    }

    fn step(&mut self, _: u64, x: &[f64], gradient: &mut [f64]) -> f64 {
        assert_eq!(
            (x.len(), gradient.len()),
            (2, 2),
            "a checkpoint with another number of parameters was used"
        );
        gradient.iter_mut().zip(x).for_each(|(slope, x)| *slope = 2.0 * (x - 3.0));
        x.iter().map(|x| (x - 3.0).powi(2)).sum()
    }
}

/// The stages of the training whose checkpoint it is.
pub const STAGES: [&str; 2] = ["first", "second"];
/// Where the opened form says that the checkpoint is of this very training.
pub const OURS: &str = "\"OURS\"";

/// The plan of both stages.
pub fn plan() -> Plan {
    Plan {
        rate_every: 1,
        steps: 200,
        rate: Schedule::Cosine { rate: 0.1, last: 0.0 },
        update: Update::ADAM,
        attempts: 2,
        largest_loss: f64::INFINITY,
    }
}

/// A training that is asked to stop again and again, for a checkpoint to begin with.
pub fn example_checkpoint() -> Vec<u8> {
    struct Stop;
    impl anyk::framework::Observer for Stop {
        fn stop(&self) -> bool {
            true
        }
    }
    let model = place();
    let file = beside(&model);
    let _ = fs::remove_file(&file);
    let mut session = Session::with_checkpoint(&Stop, Checkpoint::beside(&model, &"fuzz"));
    let _ = session.train(STAGES[0], &plan(), &mut Parabola);
    let opened = opened(&fs::read(&file).unwrap()).unwrap();
    let _ = fs::remove_file(&file);
    let ours = fingerprint();
    let at = opened.windows(ours.len()).position(|part| part == ours.as_bytes()).unwrap();
    [&opened[..at], OURS.as_bytes(), &opened[at + ours.len()..]].concat()
}

/// The fingerprint of the training above, as it stands in a header.
fn fingerprint() -> String {
    let text = serde_json::to_string(&(anyk::SOURCES, "fuzz")).unwrap();
    serde_json::to_string(&text).unwrap()
}

thread_local! {
    static PLACE: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
}

/// Where this thread's model would be; in memory where the machine has such a folder.
fn place() -> PathBuf {
    PLACE.with_borrow_mut(|place| {
        place
            .get_or_insert_with(|| {
                let memory = PathBuf::from("/dev/shm");
                let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
                let thread = format!("{:?}", std::thread::current().id());
                let number: String = thread.chars().filter(char::is_ascii_digit).collect();
                let folder = parent.join(format!("anyk-fuzz-{}-{number}", std::process::id()));
                fs::create_dir_all(&folder).unwrap();
                folder.join("model")
            })
            .clone()
    })
}

fn beside(model: &std::path::Path) -> PathBuf {
    model.with_file_name("model.checkpoint")
}

/// A checkpoint, sealed if it stands opened, and a training that finds it: it uses it or sets it aside, and ends
/// with finite numbers.
pub(crate) fn checkpoint(bytes: &[u8]) {
    let ours = OURS.as_bytes();
    let bytes = match bytes.windows(ours.len()).position(|part| part == ours) {
        Some(at) => [&bytes[..at], fingerprint().as_bytes(), &bytes[at + ours.len()..]].concat(),
        None => bytes.to_vec(),
    };
    let file = sealed(&bytes, "checkpoint").unwrap_or(bytes);
    let model = place();
    fs::write(beside(&model), file).unwrap();
    let mut session = Session::with_checkpoint(&Silent, Checkpoint::beside(&model, &"fuzz"));
    for stage in STAGES {
        match session.train(stage, &plan(), &mut Parabola) {
            Ok(found) => {
                assert_eq!(found.len(), 2, "a result with another number of parameters");
                assert!(found.iter().all(|x| x.is_finite()), "{stage} ends with {found:?}");
            }
            Err(error) => return assert!(!error.to_string().is_empty()),
        }
    }
}
