//! Files in and out: read within bounds, and checked before any work is put into what will be written.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use anyk::exchange::{read_bounded, read_file};
use anyk::framework::{Error, Input, LoadedModel, OptionError};
use anyk::problems::read_model;

use crate::failure::Failure;

/// How messages name an input.
pub(crate) fn name(path: &str) -> &str {
    if path == "-" { "standard input" } else { path }
}

/// The bytes of a file, or of standard input for `-`.
pub(crate) fn read(path: &str) -> Result<Vec<u8>, Failure> {
    let bytes =
        if path == "-" { read_bounded(io::stdin().lock()) } else { read_file(path.as_ref()) };
    bytes.map_err(|source| Error::Read { path: PathBuf::from(name(path)), source }.into())
}

/// The content of a file as an input.
pub(crate) fn input<'a>(bytes: &'a [u8], path: &'a str) -> Input<'a> {
    Input { bytes, name: name(path) }
}

/// A model from its file.
pub(crate) fn model(path: &str) -> Result<Box<dyn LoadedModel>, Failure> {
    let bytes = read(path)?;
    Ok(read_model(&bytes).map_err(|error| Error::from(error).in_file(name(path)))?)
}

/// Files that this program writes, by how they begin: these it may overwrite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A model: safetensors with our header.
    Model,
    /// A NumPy array.
    Array,
    /// JSON, or CSV of users.
    Text,
}

impl Kind {
    fn is_ours(self, path: &Path) -> bool {
        let Ok(bytes) = read_file(path) else { return false };
        match self {
            // The header's one metadata key stands near the start.
            Self::Model => {
                let head = &bytes[..bytes.len().min(256)];
                bytes.is_empty() || head.windows(6).any(|window| window == b"\"anyk\"")
            }
            Self::Array => bytes.is_empty() || bytes.starts_with(b"\x93NUMPY"),
            Self::Text => {
                bytes.is_empty() || bytes.starts_with(b"{\"") || bytes.starts_with(b"id,distance_m")
            }
        }
    }
}

/// Makes sure, before any work, that a file can be written: its folder is there and writable, and what is
/// there already is ours, or may be overwritten.
pub(crate) fn claim(path: &Path, kind: Kind, force: bool) -> Result<(), Failure> {
    let refuse =
        |expected: &str| -> Failure { OptionError::value("out", path.display(), expected).into() };
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => return Err(refuse("a file, not a folder")),
        Ok(found) if !found.is_file() => {
            return Err(refuse("a plain file, not a device or a pipe"));
        }
        Ok(_) if !force && !kind.is_ours(path) => {
            return Err(refuse(
                "a new file, or one that this program wrote: what is there is neither; --force overwrites it",
            ));
        }
        _ => (),
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    probe(folder, path)
}

/// Makes sure that a folder is there, or can be made, and can be written to.
pub(crate) fn claim_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::write(folder, error))?;
    probe(folder, folder)
}

/// Writes and removes a small file of a name that nobody has.
fn probe(folder: &Path, shown: &Path) -> Result<(), Failure> {
    let unique = format!(".anyk-{}-{:x}", std::process::id(), std::ptr::from_ref(shown).addr());
    let path = folder.join(unique);
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .map_err(|error| Failure::write(shown, error))?;
    // It is empty: one that stays behind does no harm.
    let _ = fs::remove_file(&path);
    Ok(())
}
