//! Input files, read up to the size limits.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::Arc;

use anyk::core::Model;
use anyk::exchange::{read_bounded, read_file};
use anyk::framework::Error;
use anyk::problems::read_model;

use crate::failure::Failure;

/// Returns the name of an input for messages.
pub(crate) fn name(path: &str) -> &str {
    if path == "-" { "standard input" } else { path }
}

/// Reads a file, or standard input for `-`.
pub(crate) fn read(path: &str) -> Result<Vec<u8>, Failure> {
    let bytes =
        if path == "-" { read_bounded(io::stdin().lock()) } else { read_file(path.as_ref()) };
    bytes.map_err(|source| Error::Read { path: PathBuf::from(name(path)), source }.into())
}

/// Reads the bytes of a model file; see [`model`] for the model.
pub(crate) fn model_file(path: &str) -> Result<Vec<u8>, Failure> {
    model_bytes(path).map_err(|source| {
        let path = PathBuf::from(name(path));
        Failure::from(Error::Read { path, source })
    })
}

/// Reads a model.
pub(crate) fn model(path: &str) -> Result<Arc<dyn Model>, Failure> {
    let bytes = model_file(path)?;
    Ok(read_model(&bytes).map_err(|error| Error::from(error).in_file(name(path)))?)
}

/// Reads the bytes of a model. If the file does not start like a model, this stops after the first bytes, because a
/// device such as `/dev/zero` never ends.
fn model_bytes(path: &str) -> io::Result<Vec<u8>> {
    /// Maximum length of a header in bytes; AnyK writes a few thousand.
    const MOST_HEADER: u64 = 1 << 27;
    let mut reader: Box<dyn io::Read> =
        if path == "-" { Box::new(io::stdin()) } else { Box::new(File::open(path)?) };
    // Length of the header, followed by its first character.
    let mut head = Vec::new();
    reader.by_ref().take(9).read_to_end(&mut head)?;
    match head.split_first_chunk() {
        Some((length, b"{")) if u64::from_le_bytes(*length) < MOST_HEADER => {
            read_bounded(head.chain(reader))
        }
        _ => Ok(head),
    }
}
