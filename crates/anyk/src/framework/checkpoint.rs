//! The file beside a model that holds an unfinished training.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::exchange::container::{Container, ContainerError, Tensor};
use crate::exchange::{read_plain_file, write_atomically};
use crate::framework::{Adam, State, TrainError};
use crate::network::Real;

/// Between two checkpoints.
const EVERY: Duration = Duration::from_secs(2);
const KIND: &str = "checkpoint";
const VERSION: u64 = 2;

/// With the feature `faults`, tests have it done more often.
fn every() -> Duration {
    let asked = cfg!(feature = "faults").then(|| std::env::var("ANYK_CHECKPOINT_SECONDS"));
    let seconds = asked.and_then(|text| text.ok()?.parse().ok());
    seconds.map_or(EVERY, Duration::from_secs)
}

/// Everything that changes while training, in double precision.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) attempt: u32,
    pub(crate) step: u64,
    pub(crate) adam_steps: u64,
    pub(crate) parameters: Vec<f64>,
    pub(crate) first: Vec<f64>,
    pub(crate) second: Vec<f64>,
}

impl Snapshot {
    pub(crate) fn of<T: Real>(state: &State<T>) -> Self {
        let double = |values: &[T]| values.iter().map(|value| value.to()).collect();
        let (first, second, adam_steps) = state.adam.memory();
        Self {
            attempt: state.attempt,
            step: state.step,
            adam_steps,
            parameters: double(&state.parameters),
            first: double(first),
            second: double(second),
        }
    }

    pub(crate) fn state<T: Real>(self, betas: (f64, f64)) -> State<T> {
        let numbers = |values: Vec<f64>| values.into_iter().map(T::of).collect::<Vec<T>>();
        let count = self.parameters.len();
        let adam =
            Adam::from_memory(numbers(self.first), numbers(self.second), self.adam_steps, betas)
                .filter(|adam| adam.len() == count)
                .unwrap_or_else(|| Adam::new(count, betas));
        State { attempt: self.attempt, step: self.step, parameters: numbers(self.parameters), adam }
    }
}

/// What stands in the file's header.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    /// All that decides the result, as JSON text: a checkpoint of another training is never used.
    fingerprint: String,
    finished: Vec<String>,
    current: Option<Current>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Current {
    stage: String,
    attempt: u32,
    step: u64,
    adam_steps: u64,
}

/// A checkpoint file, there or not yet.
pub struct Checkpoint {
    path: PathBuf,
    fingerprint: String,
    finished: Vec<(String, Vec<f64>)>,
    current: Option<(String, Snapshot)>,
    saved: Instant,
    message: Option<String>,
}

impl Checkpoint {
    /// Where the checkpoint of a model is.
    pub fn path_beside(model: &Path) -> PathBuf {
        let mut name = model.file_name().unwrap_or_default().to_owned();
        name.push(".checkpoint");
        model.with_file_name(name)
    }

    /// The file beside a model, of a training that `fingerprint` describes: everything that decides the
    /// result (cell, settings, pre-training, data). The program's own sources are part of it. A file of
    /// another training, or a damaged one, is moved out of the way.
    pub fn beside(model: &Path, fingerprint: &impl Serialize) -> Self {
        let path = Self::path_beside(model);
        let fingerprint = serde_json::to_string(&(crate::SOURCES, fingerprint)).unwrap_or_default();
        let mut checkpoint = Self {
            path,
            fingerprint,
            finished: Vec::new(),
            current: None,
            saved: Instant::now(),
            message: None,
        };
        // A FIFO or a device is no checkpoint, and reading one may never end.
        let is_file = fs::metadata(&checkpoint.path).is_ok_and(|found| found.is_file());
        if !is_file {
            return checkpoint;
        }
        if let Err(why) = checkpoint.load() {
            let aside = checkpoint.free_name();
            let moved = fs::rename(&checkpoint.path, &aside).is_ok();
            let kept =
                if moved { format!(" (kept as {})", aside.display()) } else { String::new() };
            checkpoint.finished.clear();
            checkpoint.message =
                Some(format!("{}: not used: {why}{kept}", checkpoint.path.display()));
        }
        checkpoint
    }

    /// A name for what is set aside that nothing has: an earlier one may be hours of somebody's training.
    fn free_name(&self) -> PathBuf {
        let named = |ending: String| {
            let mut name = self.path.clone().into_os_string();
            name.push(ending);
            PathBuf::from(name)
        };
        let is_free = |path: &PathBuf| fs::symlink_metadata(path).is_err();
        let others = (2..1000).map(|number| named(format!(".unused.{number}")));
        let first = named(".unused".to_owned());
        std::iter::once(first.clone()).chain(others).find(is_free).unwrap_or(first)
    }

    fn load(&mut self) -> Result<(), ContainerError> {
        let bytes = read_plain_file(&self.path)
            .map_err(|error| ContainerError::Damaged(format!("cannot read: {error}")))?;
        let mut file = Container::from_bytes(&bytes, KIND, VERSION)?;
        let content: Content = file.content()?;
        if content.fingerprint != self.fingerprint {
            return Err(ContainerError::Damaged(
                "it belongs to a training with another cell, settings or program".into(),
            ));
        }
        let mut take = |stage: &str, name: &str| file.take(&format!("{stage}/{name}"));
        for stage in content.finished {
            let parameters = take(&stage, "finished")?;
            // A training never ends with such numbers, and nobody looks at them again.
            if !parameters.iter().all(|parameter| parameter.is_finite()) {
                let message = format!("a number of the stage {stage} is not finite");
                return Err(ContainerError::Damaged(message));
            }
            self.finished.push((stage, parameters));
        }
        if let Some(Current { stage, attempt, step, adam_steps }) = content.current {
            let snapshot = Snapshot {
                attempt,
                step,
                adam_steps,
                parameters: take(&stage, "parameters")?,
                first: take(&stage, "first")?,
                second: take(&stage, "second")?,
            };
            self.current = Some((stage, snapshot));
        }
        Ok(())
    }

    /// What there is to say about the file that was found, if anything.
    pub(crate) fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// The result of a stage that an earlier run has finished, with as many parameters as it has; another number
    /// is none of this training, and is forgotten.
    pub(crate) fn finished(&mut self, stage: &str, count: usize) -> Option<&[f64]> {
        self.finished.retain(|(name, values)| name != stage || values.len() == count);
        self.finished.iter().find(|(name, _)| name == stage).map(|(_, values)| values.as_slice())
    }

    /// The state in which an earlier run left a stage.
    pub(crate) fn take(&mut self, stage: &str) -> Option<Snapshot> {
        self.current.take_if(|(name, _)| name == stage).map(|(_, snapshot)| snapshot)
    }

    /// A stage has ended.
    pub(crate) fn finish(&mut self, stage: &str, parameters: Vec<f64>) {
        self.finished.push((stage.to_owned(), parameters));
    }

    /// Whether it is time for another.
    pub(crate) fn is_due(&self) -> bool {
        self.saved.elapsed() > every()
    }

    /// Saves what is finished and how far a stage is.
    pub(crate) fn save(&mut self, stage: &str, snapshot: Snapshot) -> Result<(), TrainError> {
        self.write(Some((stage, snapshot)))
    }

    /// Saves what is finished: for a training that is done while others of the same command are not.
    pub(crate) fn save_finished(&mut self) -> Result<(), TrainError> {
        self.write(None)
    }

    /// Writes the file whole or not at all.
    fn write(&mut self, current: Option<(&str, Snapshot)>) -> Result<(), TrainError> {
        let content = Content {
            fingerprint: self.fingerprint.clone(),
            finished: self.finished.iter().map(|(name, _)| name.clone()).collect(),
            current: current.as_ref().map(|(stage, snapshot)| Current {
                stage: (*stage).to_owned(),
                attempt: snapshot.attempt,
                step: snapshot.step,
                adam_steps: snapshot.adam_steps,
            }),
        };
        let mut tensors: Vec<Tensor> = self
            .finished
            .iter()
            .map(|(name, values)| Tensor::flat(format!("{name}/finished"), values.clone()))
            .collect();
        if let Some((stage, snapshot)) = current {
            tensors.push(Tensor::flat(format!("{stage}/parameters"), snapshot.parameters));
            tensors.push(Tensor::flat(format!("{stage}/first"), snapshot.first));
            tensors.push(Tensor::flat(format!("{stage}/second"), snapshot.second));
        }
        let fail = |message: String| TrainError::Checkpoint {
            path: self.path.display().to_string(),
            message,
        };
        let bytes = Container::new(KIND, VERSION, &content, tensors)
            .and_then(|container| container.to_bytes())
            .map_err(|error| fail(error.to_string()))?;
        write_atomically(&self.path, &bytes).map_err(|error| fail(error.to_string()))?;
        self.saved = Instant::now();
        Ok(())
    }

    /// Removes the file beside a model that is there now; one that stays behind does no harm.
    pub fn remove_beside(model: &Path) {
        let _ = fs::remove_file(Self::path_beside(model));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_is_due_after_a_while() {
        let mut checkpoint = Checkpoint::beside(Path::new("no/such/folder/model"), &"toy");
        assert!(!checkpoint.is_due());
        checkpoint.saved = Instant::now().checked_sub(EVERY + Duration::from_millis(1)).unwrap();
        assert!(checkpoint.is_due());
    }
}
