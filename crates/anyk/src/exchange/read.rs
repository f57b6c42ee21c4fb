//! Files read within the memory budget.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use crate::memory::{MemoryBudget, TooMuchMemory};

/// The bytes of a file; one that is larger than the memory budget is refused before it is read.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    // A device or a pipe has no length, and a file may grow while it is read: both end at the budget.
    let length = file.metadata()?.len();
    MemoryBudget::current().allow("the file", length.into()).map_err(too_large)?;
    read_up_to(file, usize::try_from(length).unwrap_or_default())
}

/// The same of a plain file: a pipe in the place of a file of our own would be waited for without end.
pub fn read_plain_file(path: &Path) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.is_file() {
        read_file(path)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file"))
    }
}

/// The start of a file, up to so many bytes: enough for whoever refuses a longer one.
pub fn read_start(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    read_bounded(File::open(path)?.take(most as u64))
}

/// All that a reader holds, up to the memory budget.
pub fn read_bounded(reader: impl Read) -> io::Result<Vec<u8>> {
    read_up_to(reader, 0)
}

fn read_up_to(reader: impl Read, expected: usize) -> io::Result<Vec<u8>> {
    let budget = MemoryBudget::current();
    let mut bytes = Vec::with_capacity(expected);
    let most = budget.get();
    reader.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    budget.allow("what there is to read", bytes.len() as u128).map_err(too_large)?;
    Ok(bytes)
}

fn too_large(error: TooMuchMemory) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, error)
}
