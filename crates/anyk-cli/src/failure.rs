//! How a command fails, and with which exit code.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use anyk::ConfigError;
use anyk::diagnosis::DiagnosisError;
use anyk::exchange::InputError;
use anyk::framework::{Error, ErrorKind, ProblemError, TrainError};
use anyk::problems::interference::InterferenceError;
use anyk::problems::urllc::RunError;
use anyk::qos::ServiceError;

use crate::progress::tell;

/// Exit code of a cell that the power budget cannot serve.
pub(crate) const INFEASIBLE: u8 = 3;
/// Exit code of work that was stopped, as shells have it.
const INTERRUPTED: u8 = 130;

/// Why a command ended without an answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Bad input or usage: exit code 2.
    Input(String),
    /// The machine failed us (a full disk, say): exit code 1.
    Machine(String),
    /// The power budget does not reach: exit code 3.
    Infeasible(String),
    /// The work was stopped: exit code 130.
    Interrupted(String),
    /// Whoever read our output has gone: nothing to say to anyone.
    PipeClosed,
}

impl Failure {
    pub(crate) fn input(message: impl Display) -> Self {
        Self::Input(message.to_string())
    }

    /// Says what went wrong and returns the exit code.
    pub(crate) fn report(self) -> ExitCode {
        if let Some(message) = self.message() {
            tell(format_args!("error: {message}"));
        }
        ExitCode::from(self.code())
    }

    fn code(&self) -> u8 {
        match self {
            Self::Input(_) => 2,
            Self::Machine(_) => 1,
            Self::Infeasible(_) => INFEASIBLE,
            Self::Interrupted(_) => INTERRUPTED,
            Self::PipeClosed => 0,
        }
    }

    fn message(&self) -> Option<&str> {
        match self {
            Self::Input(message)
            | Self::Machine(message)
            | Self::Infeasible(message)
            | Self::Interrupted(message) => Some(message),
            Self::PipeClosed => None,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error.kind() {
            ErrorKind::Input => Self::Input(message),
            ErrorKind::Machine => Self::Machine(message),
            ErrorKind::Infeasible => Self::Infeasible(message),
            ErrorKind::Interrupted => Self::Interrupted(message),
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use anyk::framework::OptionError;

    use super::*;

    #[test]
    fn kinds_of_errors_have_their_exit_codes() {
        let full = io::Error::other("no space left");
        let cases: [(Error, u8); 4] = [
            (OptionError::value("k", 0, "at least 1").into(), 2),
            (Error::write(Path::new("out"), full).in_file("x"), 1),
            (TrainError::Infeasible("too little".into()).into(), INFEASIBLE),
            (Error::Interrupted, INTERRUPTED),
        ];
        for (error, code) in cases {
            let text = error.to_string();
            let failure = Failure::from(error);
            assert_eq!((failure.code(), failure.message()), (code, Some(text.as_str())));
        }
    }
}
