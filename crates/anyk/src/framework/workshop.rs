//! The surroundings of a training run: its observer, its file, and what it shares with runs from other seeds.

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

/// The surroundings of a training run.
pub struct Workshop<'a> {
    /// Who watches.
    pub observer: &'a dyn Observer,
    /// The file that the model will be written to, if any.
    pub out: Option<PathBuf>,
    /// Shared with runs from other seeds; `None` for a single run.
    pub shared: Option<&'a Shared>,
}

/// Shared by runs that differ only in their seeds: one outer function B^v, pre-trained from the first seed.
pub struct Shared {
    seed: u64,
    file: PathBuf,
    law: Mutex<Option<BandwidthLaw>>,
}

impl Shared {
    /// Takes the first seed, and the name that the names of the models are made from.
    pub fn new(seed: u64, out: &Path) -> Self {
        Self { seed, file: Self::file_of(out), law: Mutex::default() }
    }

    /// The file that keeps B^v for the next run: `model.safetensors.outer` for `model.safetensors`.
    pub fn file_of(out: &Path) -> PathBuf {
        let mut name = out.file_name().unwrap_or_default().to_owned();
        name.push(".outer");
        out.with_file_name(name)
    }
}

/// Identifies a run by everything that decides its result: the sources of the library, and these settings.
fn run_id(settings: &impl Serialize) -> Result<String, Error> {
    let text = serde_json::to_string(&(SOURCES, settings)).map_err(Error::other)?;
    Ok(format!("{:016x}", fingerprint(text)))
}

impl<'a> Workshop<'a> {
    /// Starts a run. The settings are everything that decides its result. If the run is one of several and its model is
    /// there already, [`Session::kept_or`] returns that model.
    pub fn session(&self, settings: &impl Serialize) -> Result<Session<'a>, Error> {
        let session = Session::new(self.observer);
        let (Some(_), Some(out)) = (self.shared, &self.out) else { return Ok(session) };
        Ok(session.of_run(run_id(settings)?, out))
    }

    /// The seed that B^v is pre-trained from, in a run with this seed.
    pub fn law_seed(&self, own: u64) -> u64 {
        self.shared.map_or(own, |shared| shared.seed)
    }

    /// Returns the outer function of a run for a model `M`: `make` pre-trains it, as the run's first stage or once for all runs that
    /// share it. The shared one is kept in a file, and read from there if the settings are equal. `None`: a method
    /// without an outer function.
    pub fn law<M: Stored>(
        &self,
        session: &mut Session<'_>,
        (pretraining, settings): (&PretrainSettings, &impl Serialize),
        make: impl FnOnce(&mut Session<'_>) -> Result<Option<BandwidthLaw>, TrainError>,
    ) -> Result<Option<BandwidthLaw>, Error> {
        let Some(shared) = self.shared else { return Ok(make(session)?) };
        // One run pre-trains, the others wait. A panic cannot leave half of B^v here.
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

    /// The name of the model's file, for reports.
    pub fn model_name(&self) -> String {
        self.out.as_deref().map_or(Path::new(""), |path| path).display().to_string()
    }
}

/// An outer function as a model file, of the problem of the models `M` that it is part of.
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
        let unsound = || ModelError::Content("the shape of the outer function is refused".into());
        let layout = shape.is_sound().then(|| shape.network().layout()).ok_or_else(unsound)?;
        let law = BandwidthLaw::new(shape, tensors.take_network("law", &layout)?);
        Ok(Self { law: law.ok_or_else(unsound)?, pretraining, of: PhantomData })
    }
}
