//! Reading of files up to the [limits](crate::limits).

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use crate::exchange::npy;
use crate::limits::{MOST_ARRAY_BYTES, MOST_TEXT_BYTES};

/// Reads the bytes of a file. Returns an error before reading a file that is too large.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    if length > MOST_ARRAY_BYTES as u64 {
        return Err(too_large(length, MOST_ARRAY_BYTES));
    }
    // A device or a pipe has no length, and a file may grow while it is read.
    read_bounded(file)
}

/// Reads the bytes of a plain file. Returns an error for any other file, such as a pipe, which could block
/// forever.
pub fn read_plain_file(path: &Path) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.is_file() {
        read_file(path)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file"))
    }
}

/// Reads at most the first `most` bytes of a file, for callers that reject longer files.
pub fn read_start(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    read_bounded(File::open(path)?.take(most as u64))
}

/// Reads everything from a reader, up to the limits.
pub fn read_bounded(mut reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for most in [MOST_TEXT_BYTES, MOST_ARRAY_BYTES] {
        let more = most + 1 - bytes.len();
        reader.by_ref().take(more as u64).read_to_end(&mut bytes)?;
        check_length(&bytes)?;
        if bytes.len() <= most {
            break;
        }
    }
    Ok(bytes)
}

/// Returns an error if the number of bytes exceeds the limit for files that begin with these bytes.
pub(super) fn check_length(bytes: &[u8]) -> io::Result<()> {
    let is_array = bytes.starts_with(npy::MAGIC);
    let most = if is_array { MOST_ARRAY_BYTES } else { MOST_TEXT_BYTES };
    if bytes.len() > most { Err(too_large(bytes.len() as u64, most)) } else { Ok(()) }
}

fn too_large(bytes: u64, most: usize) -> io::Error {
    let message = format!("there are {bytes} bytes or more, expected at most {most}");
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}
