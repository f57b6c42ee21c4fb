//! Why something could not be done, and whose part it is to mend it.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::exchange::{CellPlace, InputError, NotFinite};
use crate::framework::{CellOptions, Infeasibility};
use crate::invalid::Invalid;
use crate::qos::TooWeak;

/// Why a training ended without a model.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum TrainError {
    /// A setting that cannot be trained with, or an instance that cannot be stated.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The power budget cannot serve what is trained on.
    #[error("the power budget cannot serve the training cells: {0}")]
    Infeasible(String),
    /// A label does not exist.
    #[error("equal power cannot serve most users of the pre-training: {0}")]
    EqualPower(TooWeak),
    /// Every initialization diverged.
    #[error(
        "{stage}: the loss diverged in each of {attempts} initializations (last at step {step}); try a lower \
         learning rate"
    )]
    Diverged {
        /// What was trained.
        stage: String,
        /// Initializations tried.
        attempts: u32,
        /// Step of the last divergence.
        step: u64,
    },
    /// The parts of what was trained do not fit together.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Stopped by the observer.
    #[error("interrupted at step {step}")]
    Interrupted {
        /// Steps done of the stage.
        step: u64,
    },
}

/// Why a model could not be measured after its training.
impl From<Error> for TrainError {
    fn from(error: Error) -> Self {
        match error {
            Error::Train(error) => error,
            Error::Invalid(wrong) => Self::Invalid(wrong),
            Error::Model(error) => Self::Model(error),
            Error::Interrupted => Self::Interrupted { step: 0 },
            other => Self::Model(ModelError::Content(other.to_string())),
        }
    }
}

/// Why a model was refused.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ModelError {
    /// The config in it is out of range.
    #[error("its config is refused: {0}")]
    Config(#[from] Invalid),
    /// Its parts do not fit together.
    #[error("{0}")]
    Content(String),
    /// Not a model of ours, or damaged.
    #[error("not an AnyK model, or a damaged one: {0}")]
    Format(String),
    /// From before the one format for all models.
    #[error("it was written by AnyK 0.1, whose format is no longer read; train it again")]
    Old,
    /// From a newer version.
    #[error("the model's format is version {found}, this program reads up to {known}; update it")]
    Newer {
        /// Version in the file.
        found: u64,
        /// Newest version that is known.
        known: u64,
    },
    /// Of a problem that this program does not know.
    #[error("it is a model of {0:?}, a problem that this program does not know; update it")]
    UnknownProblem(String),
    /// A cell that a fully-connected network has no inputs for.
    #[error("the cell has {size} users, the model is for at most {most}")]
    TooLarge {
        /// Users in the cell.
        size: usize,
        /// Users that the model has inputs for.
        most: usize,
    },
}

/// Whose part it is to mend an [`Error`](enum@Error).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The caller's: bad input or usage.
    Input,
    /// The machine's: a full disk, a folder that cannot be written.
    Machine,
    /// Nobody's: the budget does not reach.
    Infeasible,
    /// The work was stopped.
    Interrupted,
}

/// Why something could not be done.
#[derive(Debug, Error)]
pub enum Error {
    /// An option, or a value of an instance.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A file's content.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file of parameters that is no TOML, or has a field of the wrong name or type.
    #[error(transparent)]
    Toml(#[from] toml::de::Error),
    /// A training.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// A model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A guarantee that cannot be given.
    #[error("{0}: no margin gives this guarantee")]
    NoGuarantee(String),
    /// The budget does not reach everyone.
    #[error(transparent)]
    Infeasible(#[from] Infeasibility),
    /// A user with a service class of its own, where there is no place for one.
    #[error("user {user:?} has a service class of its own, expected {expected}")]
    OwnClass {
        /// The user's id.
        user: String,
        /// What is accepted.
        expected: String,
    },
    /// Numbers of the caller's that are no instance.
    #[error("{0}")]
    Array(String),
    /// An instance for somebody else.
    #[error("it is an instance of another problem")]
    OtherProblem,
    /// An allocation that cannot be judged.
    #[error("the allocation: {0}")]
    Allocation(String),
    /// A cell without an allocation.
    #[error("cell {cell} has no allocation in {file}, expected one for each cell")]
    NoAllocation {
        /// Its name or number.
        cell: String,
        /// The file of allocations.
        file: String,
    },
    /// Any of these, with the name of the cell that it is about.
    #[error(transparent)]
    OfCell(Box<OfCell>),
    /// Any of these, about an instance of which more is known than that there is no verdict.
    #[error(transparent)]
    Unjudged(Box<Unjudged>),
    /// A policy that is not for an instance.
    #[error("{0}")]
    Refused(String),
    /// A problem without networks.
    #[error("{0} has no networks, and so nothing to train")]
    NothingToTrain(&'static str),
    /// An error of a single problem or study.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
    /// Any of these, with the file that it is about.
    #[error("{file}: {source}")]
    In {
        /// The file, as the caller named it.
        file: String,
        /// What is wrong with it.
        source: Box<Error>,
    },
    /// A result that is not a number.
    #[error(transparent)]
    NotFinite(#[from] NotFinite),
    /// A file of parameters that is longer than any.
    #[error("the file is longer than {most} bytes, expected TOML", most = CellOptions::MOST_BYTES)]
    LongConfig,
    /// A file that is not text.
    #[error("not UTF-8, expected TOML")]
    NotText,
    /// A file that cannot be read.
    #[error("{}: cannot read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file that cannot be written.
    #[error("{}: cannot write: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The work was stopped by whoever watches it.
    #[error("interrupted")]
    Interrupted,
}

/// An error of a cell with a name.
#[derive(Debug, Error)]
#[error("{source}")]
pub struct OfCell {
    /// The cell.
    pub cell: CellPlace,
    /// What is wrong with it.
    pub source: Error,
}

/// An instance whose allocation could not be judged.
#[derive(Debug, Error)]
#[error("{source}")]
pub struct Unjudged {
    /// Number of users or links.
    pub k: usize,
    /// Whether some allocation serves everyone.
    pub feasible: bool,
    /// Why.
    pub source: Error,
}

impl Error {
    /// An error of a single problem or study.
    pub fn other(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Other(Box::new(error))
    }

    /// The same, with the file that it is about.
    #[must_use]
    pub fn in_file(self, file: impl Into<String>) -> Self {
        Self::In { file: file.into(), source: Box::new(self) }
    }

    /// A file that cannot be written.
    pub fn write(path: &Path, source: io::Error) -> Self {
        Self::Write { path: path.to_owned(), source }
    }

    /// The cell of a table that it is about, where it is one of several.
    pub fn cell(&self) -> Option<&CellPlace> {
        match self {
            Self::Input(error) => error.cell.as_ref(),
            Self::In { source, .. } => source.cell(),
            Self::Unjudged(unjudged) => unjudged.source.cell(),
            Self::OfCell(found) => Some(&found.cell),
            _ => None,
        }
    }

    /// What is known of an instance whose allocation could not be judged; none where the instance could not be read.
    pub fn unjudged(&self) -> Option<&Unjudged> {
        match self {
            Self::Unjudged(unjudged) => Some(unjudged),
            Self::In { source, .. } => source.unjudged(),
            Self::OfCell(found) => found.source.unjudged(),
            _ => None,
        }
    }

    /// The option or value that is wrong, wherever it was found.
    pub fn invalid(&self) -> Option<&Invalid> {
        match self {
            Self::Invalid(wrong) | Self::Train(TrainError::Invalid(wrong)) => Some(wrong),
            Self::In { source, .. } => source.invalid(),
            Self::Unjudged(unjudged) => unjudged.source.invalid(),
            Self::OfCell(found) => found.source.invalid(),
            _ => None,
        }
    }

    /// Whose part it is to mend it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::In { source, .. } => source.kind(),
            Self::Unjudged(unjudged) => unjudged.source.kind(),
            Self::OfCell(found) => found.source.kind(),
            // Whoever asked has done nothing wrong.
            Self::Write { .. } | Self::NotFinite(_) => ErrorKind::Machine,
            Self::Infeasible(_)
            | Self::Train(TrainError::Infeasible(_) | TrainError::EqualPower(_)) => {
                ErrorKind::Infeasible
            }
            Self::Interrupted | Self::Train(TrainError::Interrupted { .. }) => {
                ErrorKind::Interrupted
            }
            _ => ErrorKind::Input,
        }
    }
}
