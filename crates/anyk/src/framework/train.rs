//! The one training driver: schedule, restarts, progress and cancellation for every training run, pre-training
//! included.
//!
//! A run has one or more *stages* (an outer function, then the networks that use it). Each is an
//! [`Objective`], what is minimised, and a [`Plan`], how; [`Session::train`] runs it.
//!
//! ```
//! use anyk::framework::{Objective, Plan, Schedule, Session, Silent, Update};
//!
//! /// (x − 3)².
//! struct Parabola;
//! impl Objective<f64> for Parabola {
//!     fn start(&mut self, attempt: u32) -> Vec<f64> {
//!         vec![f64::from(attempt)]
//!     }
//!     fn step(&mut self, _step: u64, x: &[f64], gradient: &mut [f64]) -> f64 {
//!         gradient[0] = 2.0 * (x[0] - 3.0);
//!         (x[0] - 3.0).powi(2)
//!     }
//! }
//! let plan = Plan {
//!     steps: 500,
//!     rate: Schedule::Cosine { rate: 0.1, last: 0.0 },
//!     rate_every: 1,
//!     update: Update::ADAM,
//!     attempts: 1,
//!     largest_loss: f64::INFINITY,
//! };
//! let found = Session::new(&Silent).train("parabola", &plan, &mut Parabola)?;
//! assert!((found[0] - 3.0).abs() < 1e-3);
//! # Ok::<(), anyk::framework::TrainError>(())
//! ```

use std::path::Path;
use std::time::Instant;

use crate::framework::{Adam, ModelFile, Observer, Schedule, Stored, TrainError, Update};
use crate::network::Real;

/// What a training minimises, in numbers of type `T`.
pub trait Objective<T> {
    /// Parameters to start from; each attempt has a start of its own.
    fn start(&mut self, attempt: u32) -> Vec<T>;

    /// The loss of a step's batch; its gradient overwrites `gradient`. Which batch that is depends on the step
    /// (and the attempt started last) alone.
    fn step(&mut self, step: u64, parameters: &[T], gradient: &mut [T]) -> f64;

    /// What parameters reach on samples that no step uses, over the best that a network can reach which does not
    /// look at its inputs: about 1 for one that has died. None where nothing is known of that.
    fn gain(&mut self, _parameters: &[T]) -> Option<f64> {
        None
    }
}

/// How an objective is minimised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Steps.
    pub steps: u64,
    /// Learning rate over the steps.
    pub rate: Schedule,
    /// Steps for which it stays.
    pub rate_every: u64,
    /// How parameters move.
    pub update: Update,
    /// Starts tried before a training is given up.
    pub attempts: u32,
    /// A loss beyond this, either way, has diverged.
    pub largest_loss: f64,
}

/// Starts tried before a training is given up, unless there is a reason for another number.
pub const ATTEMPTS: u32 = 5;

/// A training whose [`Objective::gain`] ends below this has collapsed.
const LEAST_GAIN: f64 = 1.02;

/// Steps between looks at the observer: at least a few microseconds.
const LOOK_EVERY: u64 = 64;

/// Everything that changes while training.
#[derive(Debug, Clone, PartialEq)]
pub struct State<T> {
    /// Which start this is, from 0.
    pub attempt: u32,
    /// Steps done.
    pub step: u64,
    /// The parameters.
    pub parameters: Vec<T>,
    /// The optimizer's memory.
    pub adam: Adam<T>,
}

impl<T: Real> State<T> {
    /// The start of an attempt.
    pub fn start(objective: &mut dyn Objective<T>, plan: &Plan, attempt: u32) -> Self {
        let parameters = objective.start(attempt);
        let adam = Adam::new(parameters.len(), plan.update.betas());
        Self { attempt, step: 0, parameters, adam }
    }

    /// One step; returns its loss. Parameters do not move if the loss has diverged.
    pub fn advance(
        &mut self,
        objective: &mut dyn Objective<T>,
        plan: &Plan,
        gradient: &mut [T],
    ) -> f64 {
        let loss = objective.step(self.step, &self.parameters, gradient);
        if !plan.has_diverged(loss) {
            let rate = plan.rate_at(self.step);
            match plan.update {
                Update::Adam { .. } => self.adam.descend(&mut self.parameters, gradient, rate),
                Update::Sgd { scale } => {
                    let rate = T::of(rate * scale);
                    for (parameter, &gradient) in self.parameters.iter_mut().zip(&*gradient) {
                        *parameter = *parameter - rate * gradient;
                    }
                }
            }
            self.step += 1;
        }
        loss
    }
}

impl Plan {
    /// Adam down a half cosine from a rate to 0.
    pub(crate) fn cosine(steps: u64, rate: f64) -> Self {
        Self {
            steps,
            rate: Schedule::Cosine { rate, last: 0.0 },
            rate_every: 1,
            update: Update::ADAM,
            attempts: ATTEMPTS,
            largest_loss: f64::INFINITY,
        }
    }

    /// The learning rate of a step.
    pub fn rate_at(&self, step: u64) -> f64 {
        let every = self.rate_every.max(1);
        self.rate.at(step / every, self.steps / every)
    }

    fn has_diverged(&self, loss: f64) -> bool {
        !loss.is_finite() || loss.abs() > self.largest_loss
    }
}

/// What is told of a training that has collapsed, and from which initialization it starts over.
fn collapse(stage: &str, gain: f64, next: Option<u32>) -> String {
    let next = next.map_or_else(
        || "no start did better, and this one is kept".to_owned(),
        |next| format!("starting over from initialization {next}"),
    );
    let percent = 100.0 * gain;
    format!(
        "{stage}: the network has collapsed: on validation it reaches {percent:.1} % of what one does that does \
         not look at its inputs; {next}"
    )
}

/// One run, from its first stage to its last: who watches it, and the model that an earlier run has left.
pub struct Session<'a> {
    observer: &'a dyn Observer,
    seconds: Vec<(String, f64)>,
    /// Identifies the run, if it is one of several.
    run: Option<String>,
    /// The model of the same run, if it is there.
    found: Option<ModelFile>,
    is_kept: bool,
}

impl<'a> Session<'a> {
    /// A run that is watched.
    pub fn new(observer: &'a dyn Observer) -> Self {
        Self { observer, seconds: Vec::new(), run: None, found: None, is_kept: false }
    }

    /// Identifies the run, and reads its model if that is at `out`.
    pub(crate) fn of_run(self, run: String, out: &Path) -> Self {
        Self { found: ModelFile::of_run(out, &run), run: Some(run), ..self }
    }

    /// Returns the model that is there from an earlier run with equal settings, seed and sources, or trains it.
    pub fn kept_or<M: Stored, E>(
        &mut self,
        train: impl FnOnce(&mut Self) -> Result<M, E>,
    ) -> Result<M, E> {
        let Some(model) = self.found.take().and_then(|file| file.into_model().ok()) else {
            return train(self);
        };
        self.is_kept = true;
        self.observer.tell("the model is there already, with equal settings; it is kept");
        Ok(model)
    }

    /// Identifies the run, if it is one of several.
    pub(crate) fn run_id(&self) -> Option<&str> {
        self.run.as_deref()
    }

    /// Whether [`Self::kept_or`] has returned a model that was there.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Who watches.
    pub fn observer(&self) -> &'a dyn Observer {
        self.observer
    }

    /// Wall-clock seconds that a stage took in this run; 0 for one that did not run.
    pub fn seconds(&self, stage: &str) -> f64 {
        self.seconds.iter().find(|(name, _)| name == stage).map_or(0.0, |(_, seconds)| *seconds)
    }

    /// Runs a stage.
    pub fn train<T: Real>(
        &mut self,
        stage: &str,
        plan: &Plan,
        objective: &mut dyn Objective<T>,
    ) -> Result<Vec<T>, TrainError> {
        let started = Instant::now();
        let result = self.minimise(stage, plan, objective);
        self.observer.end();
        self.seconds.push((stage.to_owned(), started.elapsed().as_secs_f64()));
        result
    }

    fn minimise<T: Real>(
        &self,
        stage: &str,
        plan: &Plan,
        objective: &mut dyn Objective<T>,
    ) -> Result<Vec<T>, TrainError> {
        let mut state = State::start(objective, plan, 0);
        self.observer.begin(&format!("{stage}, steps"), plan.steps);
        let mut gradient = vec![T::of(0.0); state.parameters.len()];
        loop {
            let block = (state.step + LOOK_EVERY).min(plan.steps);
            let mut diverged = false;
            let from = state.step;
            while state.step < block && !diverged {
                diverged = plan.has_diverged(state.advance(objective, plan, &mut gradient));
            }
            let done = state.step >= plan.steps;
            if done {
                let finite = |parameter: &T| parameter.to().is_finite();
                diverged |= !state.parameters.iter().all(finite);
            }
            let gain = if done && !diverged { objective.gain(&state.parameters) } else { None };
            if let Some(gain) = gain
                && gain < LEAST_GAIN
            {
                let again = state.attempt + 1 < plan.attempts;
                self.observer.tell(&collapse(stage, gain, again.then_some(state.attempt + 2)));
                if again {
                    self.observer.begin(&format!("{stage}, steps"), plan.steps);
                    state = State::start(objective, plan, state.attempt + 1);
                    continue;
                }
            }
            if diverged {
                let (attempt, step) = (state.attempt + 1, state.step);
                if attempt >= plan.attempts {
                    let (stage, attempts) = (stage.to_owned(), plan.attempts);
                    return Err(TrainError::Diverged { stage, attempts, step });
                }
                let message = format!(
                    "{stage}: the loss diverged at step {step}; starting over from initialization {}",
                    attempt + 1
                );
                self.observer.tell(&message);
                self.observer.begin(&format!("{stage}, steps"), plan.steps);
                state = State::start(objective, plan, attempt);
                continue;
            }
            self.observer.done(state.step - from);
            if done {
                return Ok(state.parameters);
            }
            if self.observer.stop() {
                return Err(TrainError::Interrupted { step: state.step });
            }
        }
    }
}
