//! Output files: the rule that decides which existing files a command may overwrite.
//!
//! A command never overwrites its own input. It overwrites any other existing file only with `--force`. There are two
//! exceptions: a model may replace a model with a valid checksum, and a report may replace a file whose current
//! checksum is in the manifest of the folder.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyk::Invalid;
use anyk::exchange::{
    check_folder, check_writable, destination, fingerprint, is_same_file, read_plain_file, to_json,
    write_atomically,
};
use anyk::framework::{Error, ModelFile};
use anyk::problems::file_options;
use clap::ArgMatches;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// Returns the arguments of commands and problems that name input files, each with its name in messages.
pub(crate) fn inputs() -> Vec<(&'static str, String)> {
    let of_commands = [
        ("file", "FILE"),
        ("input", "--input"),
        ("allocations", "--allocations"),
        ("rows", "--samples"),
        ("model", "MODEL"),
        ("policies", "POLICY"),
        ("dir", "DIR"),
        ("spec", "FILE"),
    ];
    let of_commands = of_commands.map(|(id, shown)| (id, shown.to_owned()));
    let of_problems = file_options().into_iter().map(|name| (name, format!("--{name}")));
    of_commands.into_iter().chain(of_problems).collect()
}

/// Options that name output files or folders.
pub(crate) const OUTPUTS: [&str; 3] = ["out", "csv", "plot"];

/// Outputs and inputs of a command, and whether it may overwrite files.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    outputs: Vec<(&'static str, PathBuf)>,
    inputs: Vec<(String, PathBuf)>,
    force: bool,
}

impl Outputs {
    /// Reads the paths from the arguments of a command.
    pub(crate) fn of(matches: &ArgMatches) -> Self {
        let matches = matches.subcommand().map_or(matches, |(_, matches)| matches);
        let paths = |id: &str| -> Vec<PathBuf> {
            let values = matches.try_get_raw(id).ok().flatten().into_iter().flatten();
            values.map(PathBuf::from).collect()
        };
        let standard_input =
            |path: PathBuf| if path == Path::new("-") { "/dev/stdin".into() } else { path };
        let named = |(id, shown): (&str, String)| {
            let named = |path| (shown.clone(), standard_input(path));
            paths(id).into_iter().map(named).collect::<Vec<_>>()
        };
        Self {
            outputs: OUTPUTS
                .iter()
                .flat_map(|id| paths(id).into_iter().map(|path| (*id, path)))
                .collect(),
            inputs: inputs().into_iter().flat_map(named).collect(),
            force: matches!(matches.try_get_one("force"), Ok(Some(true))),
        }
    }

    /// Returns the paths of the inputs.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.inputs.iter().map(|(_, path)| path.as_path())
    }

    /// Checks, before any work, that all output files of the command can be written.
    pub(crate) fn claim_all(&self) -> Result<(), Failure> {
        for (place, (flag, path)) in self.outputs.iter().enumerate() {
            self.allow(flag, path, |_| false)?;
            check_writable(path).map_err(|error| Failure::write(path, error))?;
            let same = |(_, other): &&(&str, PathBuf)| is_same_file(path, other);
            if let Some((other, _)) = self.outputs[..place].iter().find(same) {
                return Err(cannot_write(
                    path,
                    &format!("--{other} writes to it; choose another path"),
                ));
            }
        }
        Ok(())
    }

    /// Checks, before any work, that a model can be written.
    pub(crate) fn claim_model(&self, path: &Path) -> Result<(), Failure> {
        self.allow("out", path, ModelFile::is_at)?;
        check_writable(path).map_err(|error| Failure::write(path, error))
    }

    /// Checks that a file may be written: it is not an input, and it is new or may be overwritten.
    fn allow(
        &self,
        flag: &'static str,
        path: &Path,
        may_overwrite: impl FnOnce(&Path) -> bool,
    ) -> Result<(), Failure> {
        let target = destination(path).map_err(|error| match error.kind() {
            // Even --force cannot write to a folder or a device.
            io::ErrorKind::InvalidInput => {
                let error = error.to_string();
                let expected = error.trim_start_matches("expected ").to_owned();
                Invalid::value(flag, path.display(), expected).into()
            }
            _ => Failure::write(path, error),
        })?;
        self.refuse_input(path)?;
        if target.exists() && !self.force && !may_overwrite(path) {
            return Err(exists(path));
        }
        Ok(())
    }

    /// Rejects a path that is also an input of the command.
    fn refuse_input(&self, path: &Path) -> Result<(), Failure> {
        match self.inputs.iter().find(|(_, input)| is_same_file(path, input)) {
            None => Ok(()),
            Some((shown, _)) => {
                let why = format!("it is also the input ({shown}); choose another path");
                Err(cannot_write(path, &why))
            }
        }
    }
}

fn cannot_write(path: &Path, why: &str) -> Failure {
    Error::Other(format!("cannot write {}: {why}", path.display()).into()).into()
}

fn exists(path: &Path) -> Failure {
    cannot_write(path, "the file exists; pass --force to overwrite it")
}

/// A report folder. Its manifest lists the files that AnyK wrote there, with checksums. AnyK overwrites these files
/// unless they have been changed.
#[derive(Debug)]
pub(crate) struct ReportFolder<'a> {
    path: &'a Path,
    outputs: &'a Outputs,
}

/// Content of the manifest.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    /// Checksums of each file before and after the last write. After an interruption, the file has one of the two.
    files: BTreeMap<String, Vec<String>>,
}

/// File name of the manifest.
const MANIFEST: &str = "anyk-manifest.json";

/// A file of a report: its name within the folder, and its content.
pub(crate) type ReportFile = (String, Vec<u8>);

fn checksum(bytes: &[u8]) -> String {
    format!("{:016x}", fingerprint(bytes))
}

impl<'a> ReportFolder<'a> {
    /// Opens a folder, creates it if it is missing, and checks that these files can be written to it.
    pub(crate) fn open(
        path: &'a Path,
        outputs: &'a Outputs,
        names: &[String],
    ) -> Result<Self, Failure> {
        check_folder(path).map_err(|error| Failure::write(path, error))?;
        let folder = Self { path, outputs };
        let manifest = folder.manifest()?;
        for name in names {
            folder.claim(&manifest, name)?;
        }
        Ok(folder)
    }

    /// Adds files to the manifest, then writes them.
    pub(crate) fn write(&self, files: &[ReportFile]) -> Result<(), Failure> {
        let mut manifest = self.manifest()?;
        for (name, bytes) in files {
            let mut sums = vec![checksum(bytes)];
            sums.extend(self.claim(&manifest, name)?.filter(|old| *old != sums[0]));
            manifest.files.insert(name.clone(), sums);
        }
        let manifest = (MANIFEST.to_owned(), to_json(&manifest)?.into_bytes());
        for (name, bytes) in [&manifest].into_iter().chain(files) {
            let path = self.path.join(name);
            let within = path.parent().filter(|folder| *folder != self.path);
            within
                .map_or(Ok(()), check_folder)
                .and_then(|()| write_atomically(&path, bytes))
                .map_err(|error| Failure::write(&path, error))?;
        }
        Ok(())
    }

    /// Returns the error for a file whose content could not be generated.
    pub(crate) fn cannot(&self, error: io::Error) -> Failure {
        Failure::write(self.path, error)
    }

    /// Reads the manifest; a folder that AnyK has not written to has none.
    fn manifest(&self) -> Result<Manifest, Failure> {
        let path = self.path.join(MANIFEST);
        self.outputs.refuse_input(&path)?;
        if !fs::exists(&path).map_err(|error| Failure::write(&path, error))? {
            return Ok(Manifest::default());
        }
        let bytes = read_plain_file(&path).map_err(|error| Failure::write(&path, error))?;
        match serde_json::from_slice(&bytes) {
            Ok(manifest) => Ok(manifest),
            Err(_) if self.outputs.force => Ok(Manifest::default()),
            Err(_) => Err(exists(&path)),
        }
    }

    /// Checks that a file can be written, and returns the checksum of the listed file that it overwrites.
    fn claim(&self, manifest: &Manifest, name: &str) -> Result<Option<String>, Failure> {
        let path = self.path.join(name);
        let found = read_plain_file(&path).ok().map(|bytes| checksum(&bytes));
        let sums = manifest.files.get(name).map_or(&[][..], Vec::as_slice);
        let listed = found.filter(|sum| sums.contains(sum));
        self.outputs.allow("out", &path, |_| listed.is_some())?;
        Ok(listed)
    }
}
