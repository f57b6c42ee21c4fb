//! The file beside a model that holds an unfinished training.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyk::exchange::write_atomically;

use crate::failure::Failure;

/// Between two checkpoints, as long as nothing else is due.
pub(super) const EVERY: Duration = Duration::from_secs(2);

/// The file, which may be there or not.
pub(super) struct Checkpoint {
    path: PathBuf,
}

impl Checkpoint {
    pub(super) fn beside(model: &Path) -> Self {
        let mut name = model.file_name().unwrap_or_default().to_owned();
        name.push(".checkpoint");
        Self { path: model.with_file_name(name) }
    }

    /// What an earlier run has left, if it belongs to this training; says so, or why not.
    pub(super) fn load<T>(
        &self,
        read: impl Fn(&[u8]) -> Result<T, String>,
        step: impl Fn(&T) -> u64,
    ) -> Option<T> {
        let bytes = fs::read(&self.path).ok()?;
        match read(&bytes) {
            Ok(found) => {
                eprintln!("{}: continuing at step {}", self.path.display(), step(&found));
                Some(found)
            }
            Err(error) => {
                eprintln!("{}: not used: {error}", self.path.display());
                None
            }
        }
    }

    /// Says that what was loaded is not used after all.
    pub(super) fn unfit(&self) {
        eprintln!("{}: does not fit this training; starting over", self.path.display());
    }

    pub(super) fn save(&self, bytes: Result<Vec<u8>, String>) -> Result<(), Failure> {
        write_atomically(&self.path, &bytes.map_err(Failure::input)?).map_err(|error| {
            Failure::input(format!("{}: cannot write: {error}", self.path.display()))
        })
    }

    /// The model is there; the checkpoint has done its work. One that stays behind does no harm.
    pub(super) fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }
}
