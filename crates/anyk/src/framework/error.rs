//! Errors of the library and their kinds.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::exchange::{CellPlace, InputError, NotFinite};
use crate::framework::{CellOptions, Infeasibility};
use crate::invalid::Invalid;
use crate::qos::TooWeak;

/// Reason why a training run ended without a model.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum TrainError {
    /// A setting is invalid, or an instance cannot be formulated.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The power budget cannot serve the training cells.
    #[error("the power budget cannot serve the training cells: {0}")]
    Infeasible(String),
    /// Equal power cannot serve most users in the pre-training samples, so these users have no labels.
    #[error("equal power cannot serve most users in the pre-training samples: {0}")]
    EqualPower(TooWeak),
    /// The loss diverged from every initialization.
    #[error(
        "{stage}: the loss diverged in each of {attempts} initializations (last at step {step}); try a lower \
         learning rate"
    )]
    Diverged {
        /// Stage of the training run.
        stage: String,
        /// Number of initializations tried.
        attempts: u32,
        /// Step of the last divergence.
        step: u64,
    },
    /// The parts of the trained model do not fit together.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The observer stopped the run.
    #[error("interrupted at step {step}")]
    Interrupted {
        /// Number of completed steps of the stage.
        step: u64,
    },
}

/// Converts an error from the evaluation of a model after its training.
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

/// Reason why a model was rejected.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ModelError {
    /// The config in the model is out of range.
    #[error("the model's config is invalid: {0}")]
    Config(#[from] Invalid),
    /// The parts of the model do not fit together.
    #[error("{0}")]
    Content(String),
    /// The file is not an AnyK model, or is damaged.
    #[error("not an AnyK model, or a damaged model: {0}")]
    Format(String),
    /// The file has a format of AnyK 0.1.
    #[error(
        "the model was written by AnyK 0.1, whose format is no longer supported; train it again"
    )]
    Old,
    /// The file has a newer format.
    #[error(
        "the model file has format version {found}, but this version of AnyK reads only up to {known}; update AnyK"
    )]
    Newer {
        /// Format version of the file.
        found: u64,
        /// Newest supported format version.
        known: u64,
    },
    /// The model is for an unknown problem.
    #[error(
        "the model is for the problem {0:?}, which this version of AnyK does not know; update AnyK"
    )]
    UnknownProblem(String),
    /// The cell has more users than the fully connected network has inputs.
    #[error("the cell has {size} users, but the model supports at most {most}")]
    TooLarge {
        /// Number of users in the cell.
        size: usize,
        /// Number of users that the model has inputs for.
        most: usize,
    },
}

/// Kind of an [`Error`](enum@Error), which tells who can fix it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Bad input or usage, which the caller can fix.
    Input,
    /// A fault of the machine, such as a full disk or a read-only folder.
    Machine,
    /// The budget is too small for the cell.
    Infeasible,
    /// The operation was stopped.
    Interrupted,
}

/// Error of the library.
#[derive(Debug, Error)]
pub enum Error {
    /// An option or a value of an instance is invalid.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The content of a file is invalid.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A parameter file is not TOML, or has a field of the wrong name or type.
    #[error(transparent)]
    Toml(#[from] toml::de::Error),
    /// A training run failed.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// A model was rejected.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The requested guarantee is impossible, or not proved for the cell.
    #[error("{0}")]
    NoGuarantee(String),
    /// The budget cannot serve every user.
    #[error(transparent)]
    Infeasible(#[from] Infeasibility),
    /// A user has its own service class, but the policy supports only one class for all users.
    #[error("user {user:?} has its own service class, expected {expected}")]
    OwnClass {
        /// ID of the user.
        user: String,
        /// Accepted values.
        expected: String,
    },
    /// The caller's arrays do not describe an instance.
    #[error("{0}")]
    Array(String),
    /// The instance belongs to another problem.
    #[error("the instance belongs to another problem")]
    OtherProblem,
    /// The allocation cannot be checked.
    #[error("invalid allocation: {0}")]
    Allocation(String),
    /// A cell has no allocation.
    #[error("cell {cell} has no allocation in {file}, expected one for each cell")]
    NoAllocation {
        /// Name or number of the cell.
        cell: String,
        /// Name of the file of allocations.
        file: String,
    },
    /// An error in a cell that has a name.
    #[error(transparent)]
    OfCell(Box<OfCell>),
    /// The instance was read, but its allocation could not be checked.
    #[error(transparent)]
    Unjudged(Box<Unjudged>),
    /// The policy does not apply to the instance.
    #[error("{0}")]
    Refused(String),
    /// The problem has no networks.
    #[error("{0} has no networks, so there is nothing to train")]
    NothingToTrain(&'static str),
    /// An error of a single problem or study.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
    /// An error in a file.
    #[error("{file}: {source}")]
    In {
        /// Name of the file, as given by the caller.
        file: String,
        /// Error in the file.
        source: Box<Error>,
    },
    /// A result is NaN or infinite.
    #[error(transparent)]
    NotFinite(#[from] NotFinite),
    /// A parameter file exceeds the size limit.
    #[error(
        "the file is longer than {most} bytes, the limit for a TOML file of parameters",
        most = CellOptions::MOST_BYTES
    )]
    LongConfig,
    /// A parameter file is not text.
    #[error("the file is not UTF-8 text, expected TOML")]
    NotText,
    /// A file cannot be read.
    #[error("{}: cannot read: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("{}: cannot write: {source}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The observer stopped the operation.
    #[error("interrupted")]
    Interrupted,
    /// The process has computed its shard of a run, so the run has no result yet.
    #[error("{}: shard {shard}/{of} is complete", path.display())]
    PartOfRun {
        /// Number of the shard, from 1.
        shard: u64,
        /// Number of shards.
        of: u64,
        /// Path of the part with the results.
        path: PathBuf,
    },
}

/// Error in a cell that has a name.
#[derive(Debug, Error)]
#[error("{source}")]
pub struct OfCell {
    /// Cell with the error.
    pub cell: CellPlace,
    /// Error.
    pub source: Error,
}

/// Error of an instance whose allocation could not be checked.
#[derive(Debug, Error)]
#[error("{source}")]
pub struct Unjudged {
    /// Number of users or links.
    pub k: usize,
    /// Whether some allocation serves every user.
    pub feasible: bool,
    /// Error.
    pub source: Error,
}

impl Error {
    /// Wraps an error of a single problem or study.
    pub fn other(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Other(Box::new(error))
    }

    /// Adds the name of the file that contains the error.
    #[must_use]
    pub fn in_file(self, file: impl Into<String>) -> Self {
        Self::In { file: file.into(), source: Box::new(self) }
    }

    /// Returns the error for a file that cannot be written.
    pub fn write(path: &Path, source: io::Error) -> Self {
        Self::Write { path: path.to_owned(), source }
    }

    /// Returns the cell of a table in which the error occurred, if the table has several.
    pub fn cell(&self) -> Option<&CellPlace> {
        match self {
            Self::Input(error) => error.cell.as_ref(),
            Self::In { source, .. } => source.cell(),
            Self::Unjudged(unjudged) => unjudged.source.cell(),
            Self::OfCell(found) => Some(&found.cell),
            _ => None,
        }
    }

    /// Returns the instance whose allocation could not be checked, or `None` if the instance could not be read.
    pub fn unjudged(&self) -> Option<&Unjudged> {
        match self {
            Self::Unjudged(unjudged) => Some(unjudged),
            Self::In { source, .. } => source.unjudged(),
            Self::OfCell(found) => found.source.unjudged(),
            _ => None,
        }
    }

    /// Returns the invalid option or value that caused the error, if there is one, even if the error is wrapped with a
    /// file or a cell.
    pub fn invalid(&self) -> Option<&Invalid> {
        match self {
            Self::Invalid(wrong) | Self::Train(TrainError::Invalid(wrong)) => Some(wrong),
            Self::In { source, .. } => source.invalid(),
            Self::Unjudged(unjudged) => unjudged.source.invalid(),
            Self::OfCell(found) => found.source.invalid(),
            _ => None,
        }
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::In { source, .. } => source.kind(),
            Self::Unjudged(unjudged) => unjudged.source.kind(),
            Self::OfCell(found) => found.source.kind(),
            // The caller is not at fault.
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
