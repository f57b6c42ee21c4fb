//! How a command fails, and with which exit code.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use anyk::ConfigError;
use anyk::diagnosis::DiagnosisError;
use anyk::exchange::InputError;
use anyk::framework::ProblemError;
use anyk::framework::TrainError;
use anyk::problems::interference::InterferenceError;
use anyk::problems::urllc::RunError;
use anyk::qos::ServiceError;

/// Exit code of a cell that the power budget cannot serve.
pub(crate) const INFEASIBLE: u8 = 3;

/// Why a command ended without an answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Bad input or usage: exit code 2.
    Input(String),
    /// The machine failed us (a full disk, say): exit code 1.
    Machine(String),
    /// Whoever read our output has gone: nothing to say to anyone.
    PipeClosed,
}

impl Failure {
    pub(crate) fn input(message: impl Display) -> Self {
        Self::Input(message.to_string())
    }

    /// Says what went wrong and returns the exit code.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::Input(message) => {
                eprintln!("error: {message}");
                ExitCode::from(2)
            }
            Self::Machine(message) => {
                eprintln!("error: {message}");
                ExitCode::from(1)
            }
            Self::PipeClosed => ExitCode::SUCCESS,
        }
    }
}

impl From<io::Error> for Failure {
    /// An error while writing output.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::PipeClosed,
            _ => Self::Machine(format!("cannot write the output: {error}")),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        io::Error::from(error).into()
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        Self::input(error)
    }
}

impl From<ProblemError> for Failure {
    fn from(error: ProblemError) -> Self {
        Self::input(error)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::input(error)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self::input(error)
    }
}

impl From<TrainError> for Failure {
    fn from(error: TrainError) -> Self {
        Self::input(error)
    }
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Self {
        Self::input(error)
    }
}

impl From<InterferenceError> for Failure {
    fn from(error: InterferenceError) -> Self {
        Self::input(error)
    }
}

impl From<DiagnosisError> for Failure {
    fn from(error: DiagnosisError) -> Self {
        Self::input(error)
    }
}
