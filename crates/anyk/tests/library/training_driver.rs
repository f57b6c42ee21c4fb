//! Training driver of every run: it counts the steps, restarts, stops on request, and reports all of this.

#![allow(clippy::unwrap_used)]

use std::sync::Mutex;

use crate::trainings;
use anyk::framework::{
    Objective, Observer, Plan, Schedule, Session, Silent, State, TrainError, Update,
};

/// Observer that records a run and can stop it.
#[derive(Default)]
struct Watcher {
    /// Check at which to stop, counted from 0.
    stop_at: Option<usize>,
    seen: Mutex<Seen>,
}

#[derive(Default, Clone)]
struct Seen {
    /// Operations that were started, with their numbers of parts and of finished parts.
    begun: Vec<(String, u64, u64)>,
    /// For each check, the operation started last.
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

/// Tests that every run trains its stages in order and counts all steps. A run that is stopped in its first stage
/// (P-GNN: in any stage) ends there.
#[test]
fn every_run_is_watched_and_stops_when_asked() {
    for training in &trainings::ALL {
        let name = training.name;
        let watcher = Watcher::default();
        (training.run)(&mut Session::new(&watcher)).unwrap();
        let seen = watcher.seen();
        let stages: Vec<String> =
            training.stages.iter().map(|stage| format!("{stage}, steps")).collect();
        let begun: Vec<&String> = seen.begun.iter().map(|(what, ..)| what).collect();
        assert_eq!(begun, stages.iter().collect::<Vec<_>>(), "{name}");
        let counted = seen.begun.iter().all(|(_, parts, done)| parts == done);
        assert!(counted, "{name}: {:?}", seen.begun);
        assert_eq!(seen.told, Vec::<String>::new(), "{name}");
        let tried = if name == "urllc p-gnn" { stages.len() } else { 1 };
        for (count, stage) in stages.iter().take(tried).enumerate() {
            let look = seen.looks.iter().position(|what| what == stage).unwrap();
            let watcher = Watcher::stopping_at(look);
            let stopped = (training.run)(&mut Session::new(&watcher)).unwrap_err();
            assert_eq!(stopped, TrainError::Interrupted { step: 64 }, "{name}: {stage}");
            assert_eq!(stopped.to_string(), "interrupted at step 64");
            assert_eq!(watcher.seen().ends, count + 1, "{name}: {stage}");
        }
    }
}

/// Objective `Σ (x_i − target_i)²` with targets that differ between steps and attempts. Its first attempts diverge.
struct Diverging {
    started: u32,
    /// Number of attempts that diverge, and the step at which they do.
    bad: (u32, u64),
    how: How,
}

#[derive(Clone, Copy, Debug)]
enum How {
    /// An invalid loss.
    Loss(f64),
    /// An invalid gradient with a valid loss, which is detected at the end.
    Gradient,
    /// Valid loss and gradient, but a trained network with only this gain.
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
        // The observer counts the steps from 0 again.
        let whole = ("toy, steps".to_owned(), 1000, 1000);
        assert_eq!(seen.begun.len(), 2, "{how:?}");
        assert_eq!(seen.begun[1], whole, "{how:?}");
        assert_eq!(seen.ends, 1, "{how:?}");
        // The result is that of the second attempt alone.
        let mut objective = Diverging::new((0, 0), how);
        let mut state = State::start(&mut objective, &PLAN, 1);
        let mut gradient = [0.0; TARGETS];
        while state.step < PLAN.steps {
            state.advance(&mut objective, &PLAN, &mut gradient);
        }
        assert_eq!(found, state.parameters, "{how:?}");
    }
    // A loss at the limit does not count as diverged.
    for loss in [1e6, -1e6] {
        let watcher = Watcher::default();
        let mut objective = Diverging::new((1, 100), How::Loss(loss));
        Session::new(&watcher).train("toy", &PLAN, &mut objective).unwrap();
        assert!(watcher.seen().told.is_empty());
    }
}

/// Tests that the driver detects a collapsed network, restarts and reports it.
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
    // The result is that of the second attempt.
    let mut objective = Diverging::new((0, 0), How::Gain(1.5));
    let mut state = State::start(&mut objective, &PLAN, 1);
    let mut gradient = [0.0; TARGETS];
    while state.step < PLAN.steps {
        state.advance(&mut objective, &PLAN, &mut gradient);
    }
    assert_eq!(found, state.parameters);
    // If no attempt is better, the last network is kept, with a message.
    let watcher = Watcher::default();
    let mut objective = Diverging::new((9, 0), How::Gain(1.001));
    Session::new(&watcher).train("toy", &PLAN, &mut objective).unwrap();
    let told = watcher.seen().told;
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[2].ends_with("no attempt is left, so this network is kept"), "{told:?}");
    // A run that has learned is not restarted.
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

/// Tests that a session reports only the times of its own stages.
#[test]
fn seconds_are_of_the_stages_that_ran() {
    let mut session = Session::new(&Silent);
    let mut objective = Diverging::new((0, 0), How::Gradient);
    session.train("one", &PLAN, &mut objective).unwrap();
    assert!(session.seconds("one") > 0.0);
    assert!(session.seconds("other").total_cmp(&0.0).is_eq());
}
