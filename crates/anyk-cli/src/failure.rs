//! Errors of commands, their messages and exit codes.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::LazyLock;

use anyk::Invalid;
use anyk::exchange::{InputError, NotFinite};
use anyk::framework::{CellOptions, Error, ErrorKind, ModelError, TrainError};
use clap::error::{ContextKind, ContextValue, ErrorKind as ClapErrorKind};
use serde::{Deserialize, Serialize};

use crate::cli;
use crate::output;
use crate::printable::is_obeyed;

/// Section of the help page on exit codes.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
    0  done
    1  the machine failed: a full disk, a folder that cannot be written
    2  bad input or usage
    3  infeasible: the budget cannot serve every user; for assess, the allocations do not
  130  interrupted";

/// Prints clap's message about the arguments and ends the program. If an argument contains control characters, the
/// message shows them escaped and has no colours, because terminals set colours by control characters, too.
pub(crate) fn usage(error: &clap::Error) -> ! {
    // Help and version go to standard output, which must be open.
    if !error.use_stderr()
        && let Err(error) = output::check_stdout()
    {
        let _ = Failure::from(error).report();
        std::process::exit(1);
    }
    if let Some(message) = moved_to_file(error) {
        output::note(&message);
        std::process::exit(error.exit_code());
    }
    let is_plain = |argument: OsString| !argument.to_string_lossy().contains(is_obeyed);
    if std::env::args_os().all(is_plain) {
        error.exit();
    }
    output::note(error.render().to_string().trim_end());
    std::process::exit(error.exit_code())
}

/// Returns the message about a flag of earlier versions that is now a field of the file for `--config`.
fn moved_to_file(error: &clap::Error) -> Option<String> {
    if error.kind() != ClapErrorKind::UnknownArgument {
        return None;
    }
    let ContextValue::String(flag) = error.get(ContextKind::InvalidArg)? else { return None };
    let (section, field) = CellOptions::file_field(flag.strip_prefix("--")?)?;
    Some(format!(
        "error: {flag} was removed; set {section}.{field} in a file for --config (`anyk config` prints one)"
    ))
}

/// Flags of the command that runs, without dashes.
static FLAGS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let all = cli::command();
    let mut command = &all;
    for name in std::env::args_os().skip(1) {
        command = command.find_subcommand(&name).unwrap_or(command);
    }
    command.get_arguments().filter_map(|flag| flag.get_long().map(str::to_owned)).collect()
});

/// Returns the message of an error. If the command has a flag for the invalid value, the message names the flag and not
/// a file.
pub(crate) fn message(error: &Error) -> String {
    let wrong = error.invalid().filter(|wrong| wrong.user.is_none());
    let flag = wrong.map(|wrong| wrong.field.replace('_', "-"));
    match (wrong, flag) {
        (Some(wrong), Some(flag)) if FLAGS.contains(&flag) => format!("--{flag} {}", wrong.fault),
        _ => error.to_string(),
    }
}

/// Exit code if an answer does not serve every user.
pub(crate) const INFEASIBLE: u8 = 3;
/// Exit code after an interruption (128 + SIGINT, as in shells).
pub(crate) const INTERRUPTED: u8 = 130;

/// Reason why a command ended without an answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Error of the library, with its message.
    Error(Error),
    /// Error that is known only by its message, because it occurred in another thread or in a shard.
    Fault(Fault),
    /// The reader of standard output has exited, so no message is printed.
    PipeClosed,
}

/// Message and exit code of an error.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Fault {
    pub(crate) message: String,
    exit: u8,
}

impl Fault {
    pub(crate) fn of(error: &Error) -> Self {
        let exit = match error.kind() {
            ErrorKind::Machine => 1,
            ErrorKind::Input => 2,
            ErrorKind::Infeasible => INFEASIBLE,
            ErrorKind::Interrupted => INTERRUPTED,
        };
        Self { message: message(error), exit }
    }
}

impl Failure {
    /// Returns the error for a file that cannot be written.
    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        Self::from(Error::write(path, source))
    }

    /// Prints the error message and returns the exit code.
    pub(crate) fn report(self) -> ExitCode {
        self.report_of("")
    }

    /// Prints the error message after the prefix `work`, which names one of several tasks, and returns the exit code.
    pub(crate) fn report_of(self, work: &str) -> ExitCode {
        let Fault { message, exit } = match self {
            Self::PipeClosed => return ExitCode::SUCCESS,
            // The shard has no result to print; another command merges the shards.
            Self::Error(error @ Error::PartOfRun { .. }) => {
                output::note(&format!("{work}{error}"));
                return ExitCode::SUCCESS;
            }
            Self::Error(error) => Fault::of(&error),
            Self::Fault(fault) => fault,
        };
        output::note(&format!("error: {work}{message}"));
        ExitCode::from(exit)
    }

    /// Returns whether the command was interrupted.
    pub(crate) fn is_interruption(&self) -> bool {
        matches!(self, Self::Error(error) if error.kind() == ErrorKind::Interrupted)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Write { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => {
                Self::PipeClosed
            }
            error => Self::Error(error),
        }
    }
}

impl From<io::Error> for Failure {
    /// Converts an error of writing to standard output.
    fn from(error: io::Error) -> Self {
        Self::write("standard output".as_ref(), error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        io::Error::from(error).into()
    }
}

/// Converts errors of the library that need no further context.
macro_rules! through_error {
    ($($type:ty),*) => {$(
        impl From<$type> for Failure {
            fn from(error: $type) -> Self {
                Error::from(error).into()
            }
        }
    )*};
}
through_error!(NotFinite, Invalid, InputError, TrainError, ModelError);
