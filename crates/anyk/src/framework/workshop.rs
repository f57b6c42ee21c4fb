//! Where trainings take place, alone or several of one command side by side.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::framework::{Checkpoint, Observer, Session, TrainError};
use crate::network::BandwidthLaw;

/// Where a training takes place: who watches, and where the model will be.
pub struct Workshop<'a> {
    /// Who watches.
    pub observer: &'a dyn Observer,
    /// The file that the model will be written to; a checkpoint lies beside it. None: no checkpoint.
    pub out: Option<PathBuf>,
    /// What it shares with trainings from other seeds.
    pub shared: Option<&'a Shared>,
}

/// What trainings that differ in their seeds alone have in common: one outer function, pre-trained from the first of
/// the seeds.
pub struct Shared {
    seed: u64,
    out: PathBuf,
    law: Mutex<Option<BandwidthLaw>>,
}

impl Shared {
    /// For trainings of which the first has this seed; the checkpoint of the pre-training is beside `out`.
    pub fn new(seed: u64, out: &Path) -> Self {
        Self { seed, out: out.to_owned(), law: Mutex::default() }
    }

    /// Removes the checkpoint of the pre-training, if there was one.
    pub fn remove_checkpoint(&self) {
        if self.law.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            Checkpoint::remove_beside(&self.out);
        }
    }
}

impl<'a> Workshop<'a> {
    /// A session for a training that `fingerprint` describes: all that decides its result.
    pub fn session(&self, fingerprint: &impl Serialize) -> Session<'a> {
        let Some(out) = &self.out else { return Session::new(self.observer) };
        let first = self.shared.map(|shared| shared.seed);
        let checkpoint = Checkpoint::beside(out, &(fingerprint, first));
        Session::with_checkpoint(self.observer, checkpoint).keeping(first.is_some())
    }

    /// The outer function of a training, which `make` pre-trains from a seed: from the training's own, as its first
    /// stage, or once for all that share it. `fingerprint` is all that decides it but the seed. None: a training
    /// without one.
    pub fn law(
        &self,
        (own, session): (u64, &mut Session<'_>),
        fingerprint: &impl Serialize,
        make: impl FnOnce(u64, &mut Session<'_>) -> Result<Option<BandwidthLaw>, TrainError>,
    ) -> Result<Option<BandwidthLaw>, TrainError> {
        let Some(shared) = self.shared else { return make(own, session) };
        // One pre-trains, the others wait for it. A law goes in whole, whatever becomes of the thread.
        let mut law = shared.law.lock().unwrap_or_else(PoisonError::into_inner);
        if self.observer.stop() {
            return Err(TrainError::Interrupted { step: 0, saved: true });
        }
        if law.is_none() {
            let checkpoint = Checkpoint::beside(&shared.out, &(fingerprint, shared.seed));
            let mut session = Session::with_checkpoint(self.observer, checkpoint).keeping(true);
            *law = make(shared.seed, &mut session)?;
        }
        Ok(law.clone())
    }

    /// The name of the model's file, for reports.
    pub fn model_name(&self) -> String {
        self.out.as_deref().map_or(Path::new(""), |path| path).display().to_string()
    }
}
