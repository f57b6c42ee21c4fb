//! Files read within bounds.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Larger inputs are refused before they fill the memory.
pub const MOST_BYTES: u64 = 1 << 30;

/// The bytes of a file, at most [`MOST_BYTES`].
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    read_bounded(File::open(path)?)
}

/// All that a reader holds, at most [`MOST_BYTES`].
pub fn read_bounded(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 1 GiB"));
    }
    Ok(bytes)
}
