//! Context of a training run: its observer, its output file, and the data that it shares with runs from other seeds.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::SOURCES;
use crate::exchange::{Tensor, fingerprint, write_atomically};
use crate::framework::{
    Error, ModelError, ModelFile, Observer, PretrainSettings, Session, Stored, Tensors, TrainError,
    network_tensors,
};
use crate::network::BandwidthLaw;

/// Context of a training run.
pub struct TrainingContext<'a> {
    /// Observer of the run.
    pub observer: &'a dyn Observer,
    /// Path of the model file to write, if any.
    pub out: Option<PathBuf>,
    /// Data shared with runs from other seeds; `None` for a single run.
    pub shared: Option<&'a Shared>,
}

/// Data shared by runs that differ only in their seeds: one outer function B^v, pre-trained from the first seed.
pub struct Shared {
    seed: u64,
    file: PathBuf,
    law: Mutex<Option<BandwidthLaw>>,
}

impl Shared {
    /// Creates the shared data. `seed` is the first seed, and the names of the model files are derived from `out`.
    pub fn new(seed: u64, out: &Path) -> Self {
        Self { seed, file: Self::file_of(out), law: Mutex::default() }
    }

    /// Returns the path of the file that stores B^v for later runs: `model.safetensors.outer` for
    /// `model.safetensors`.
    pub fn file_of(out: &Path) -> PathBuf {
        let mut name = out.file_name().unwrap_or_default().to_owned();
        name.push(".outer");
        out.with_file_name(name)
    }
}

/// Returns the ID of a run, a hash of everything that determines the result: the sources of the library and the
/// settings.
fn run_id(settings: &impl Serialize) -> Result<String, Error> {
    let text = serde_json::to_string(&(SOURCES, settings)).map_err(Error::other)?;
    Ok(format!("{:016x}", fingerprint(text)))
}

impl<'a> TrainingContext<'a> {
    /// Starts a run. The settings must contain everything that determines its result. If the run is one of several
    /// and its model already exists, [`Session::kept_or`] returns that model.
    pub fn session(&self, settings: &impl Serialize) -> Result<Session<'a>, Error> {
        let session = Session::new(self.observer);
        let (Some(_), Some(out)) = (self.shared, &self.out) else { return Ok(session) };
        Ok(session.of_run(run_id(settings)?, out))
    }

    /// Returns the seed for pre-training B^v in a run with the seed `own`.
    pub fn law_seed(&self, own: u64) -> u64 {
        self.shared.map_or(own, |shared| shared.seed)
    }

    /// Returns the outer function of a run for a model `M`, or `None` for a method without one. `make` pre-trains it,
    /// either as the first stage of the run or once for all runs that share it. A shared outer function is stored in
    /// a file and reused if the settings are equal.
    pub fn law<M: Stored>(
        &self,
        session: &mut Session<'_>,
        (pretraining, settings): (&PretrainSettings, &impl Serialize),
        make: impl FnOnce(&mut Session<'_>) -> Result<Option<BandwidthLaw>, TrainError>,
    ) -> Result<Option<BandwidthLaw>, Error> {
        let Some(shared) = self.shared else { return Ok(make(session)?) };
        // One run pre-trains while the others wait. A panic cannot leave half of B^v here.
        let mut law = shared.law.lock().unwrap_or_else(PoisonError::into_inner);
        if self.observer.stop() {
            return Err(Error::Interrupted);
        }
        if law.is_none() {
            let run = run_id(&(pretraining, settings))?;
            let kept = ModelFile::of_run(&shared.file, &run);
            *law = kept.and_then(|file| Some(file.into_model::<OuterFunction<M>>().ok()?.law));
            if law.is_none()
                && let Some(made) = make(&mut Session::new(self.observer))?
            {
                let outer = OuterFunction::<M> {
                    pretraining: pretraining.clone(),
                    law: made,
                    of: PhantomData,
                };
                let bytes = ModelFile::with_run(&outer.to_bytes()?, &run)?;
                write_atomically(&shared.file, &bytes)
                    .map_err(|error| Error::write(&shared.file, error))?;
                *law = Some(outer.law);
            }
        }
        Ok(law.clone())
    }

    /// Returns the path of the model file, for reports.
    pub fn model_name(&self) -> String {
        self.out.as_deref().map_or(Path::new(""), |path| path).display().to_string()
    }
}

/// Outer function that is stored as a model file of the problem of the models `M`.
struct OuterFunction<M> {
    pretraining: PretrainSettings,
    law: BandwidthLaw,
    of: PhantomData<M>,
}

impl<M: Stored> Stored for OuterFunction<M> {
    type Record = PretrainSettings;
    const PROBLEMS: &'static [&'static str] = M::PROBLEMS;

    fn method(&self) -> &'static str {
        ModelFile::OUTER_FUNCTION
    }

    fn record(&self) -> &PretrainSettings {
        &self.pretraining
    }

    fn tensors(&self) -> Vec<Tensor> {
        let layout = self.pretraining.shape.network().layout();
        network_tensors("law", &layout, self.law.parameters())
    }

    fn from_parts(
        pretraining: PretrainSettings,
        tensors: &mut Tensors,
    ) -> Result<Self, ModelError> {
        let shape = &pretraining.shape;
        let unsound = || ModelError::Content("the shape of the outer function is invalid".into());
        let layout = shape.is_sound().then(|| shape.network().layout()).ok_or_else(unsound)?;
        let law = BandwidthLaw::new(shape, tensors.take_network("law", &layout)?);
        Ok(Self { law: law.ok_or_else(unsound)?, pretraining, of: PhantomData })
    }
}
