//! Training driver for every training run and pre-training: schedule, restarts, progress and cancellation.
//!
//! A run has one or more *stages* (an outer function, then the networks that use it). Each stage has an [`Objective`]
//! to minimize and a [`Plan`] of how to do so. [`Session::train`] runs it.
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

/// Objective that a training run minimizes, with parameters of type `T`.
pub trait Objective<T> {
    /// Returns initial parameters, which differ between attempts.
    fn start(&mut self, attempt: u32) -> Vec<T>;

    /// Returns the loss of a step's batch and writes its gradient to `gradient`. The batch depends only on the step
    /// and on the attempt started last.
    fn step(&mut self, step: u64, parameters: &[T], gradient: &mut [T]) -> f64;

    /// Returns the ratio of the result on validation samples to the best possible result of a network that ignores
    /// its inputs. It is about 1 for a collapsed network. Returns `None` if the ratio is unknown.
    fn gain(&mut self, _parameters: &[T]) -> Option<f64> {
        None
    }
}

/// Settings for minimizing an objective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Number of steps.
    pub steps: u64,
    /// Learning rate as a function of the step.
    pub rate: Schedule,
    /// Number of steps for which the learning rate stays constant.
    pub rate_every: u64,
    /// Update rule of the parameters.
    pub update: Update,
    /// Maximum number of attempts, each from another initialization.
    pub attempts: u32,
    /// Absolute loss above which the run counts as diverged.
    pub largest_loss: f64,
}

/// Default maximum number of attempts.
pub const ATTEMPTS: u32 = 5;

/// Value of [`Objective::gain`] below which a run counts as collapsed.
const LEAST_GAIN: f64 = 1.02;

/// Number of steps between two checks of the observer, which are at least a few microseconds apart.
const LOOK_EVERY: u64 = 64;

/// State that changes during training.
#[derive(Debug, Clone, PartialEq)]
pub struct State<T> {
    /// Attempt, from 0.
    pub attempt: u32,
    /// Number of completed steps.
    pub step: u64,
    /// Current parameters.
    pub parameters: Vec<T>,
    /// Moments of the optimizer.
    pub adam: Adam<T>,
}

impl<T: Real> State<T> {
    /// Returns the initial state of an attempt.
    pub fn start(objective: &mut dyn Objective<T>, plan: &Plan, attempt: u32) -> Self {
        let parameters = objective.start(attempt);
        let adam = Adam::new(parameters.len(), plan.update.betas());
        Self { attempt, step: 0, parameters, adam }
    }

    /// Runs one step and returns its loss. The parameters stay unchanged if the loss has diverged.
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
    /// Returns a plan with Adam and a half-cosine learning rate from `rate` to 0.
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

    /// Returns the learning rate of a step.
    pub fn rate_at(&self, step: u64) -> f64 {
        let every = self.rate_every.max(1);
        self.rate.at(step / every, self.steps / every)
    }

    fn has_diverged(&self, loss: f64) -> bool {
        !loss.is_finite() || loss.abs() > self.largest_loss
    }
}

/// Returns the message about a collapsed run, with the number of the next initialization if there is one.
fn collapse(stage: &str, gain: f64, next: Option<u32>) -> String {
    let next = next.map_or_else(
        || "no attempt is left, so this network is kept".to_owned(),
        |next| format!("starting over from initialization {next}"),
    );
    let percent = 100.0 * gain;
    format!(
        "{stage}: the network has collapsed: on validation it reaches {percent:.1} % of the result of a network that \
         ignores its inputs; {next}"
    )
}

/// Training run, with its observer and the model of an earlier equal run, if there is one.
pub struct Session<'a> {
    observer: &'a dyn Observer,
    seconds: Vec<(String, f64)>,
    /// ID of the run, if it is one of several.
    run: Option<String>,
    /// Model file of an equal run, if there is one.
    found: Option<ModelFile>,
    is_kept: bool,
}

impl<'a> Session<'a> {
    /// Starts a run with an observer.
    pub fn new(observer: &'a dyn Observer) -> Self {
        Self { observer, seconds: Vec::new(), run: None, found: None, is_kept: false }
    }

    /// Sets the ID of the run, and reads its model from `out` if the file exists.
    pub(crate) fn of_run(self, run: String, out: &Path) -> Self {
        Self { found: ModelFile::of_run(out, &run), run: Some(run), ..self }
    }

    /// Returns the model of an earlier run with equal settings, seed and sources, or trains a new one.
    pub fn kept_or<M: Stored, E>(
        &mut self,
        train: impl FnOnce(&mut Self) -> Result<M, E>,
    ) -> Result<M, E> {
        let Some(model) = self.found.take().and_then(|file| file.into_model().ok()) else {
            return train(self);
        };
        self.is_kept = true;
        self.observer
            .tell("the model file already exists, trained with equal settings; AnyK keeps it");
        Ok(model)
    }

    /// Returns the ID of the run, if it is one of several.
    pub(crate) fn run_id(&self) -> Option<&str> {
        self.run.as_deref()
    }

    /// Returns whether [`Self::kept_or`] returned an existing model.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Returns the observer.
    pub fn observer(&self) -> &'a dyn Observer {
        self.observer
    }

    /// Returns the wall-clock time of a stage in this run in seconds, or 0 if the stage did not run.
    pub fn seconds(&self, stage: &str) -> f64 {
        self.seconds.iter().find(|(name, _)| name == stage).map_or(0.0, |(_, seconds)| *seconds)
    }

    /// Runs a stage and returns the trained parameters.
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
