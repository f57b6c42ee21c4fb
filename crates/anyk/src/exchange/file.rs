//! Files written so that a crash leaves the old one or the new one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Writes a file whole or not at all: under another name in the same folder, to the disk, then renamed.
/// A crash leaves the old file or the new one.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    // Two processes that write the same file must not share the unfinished one.
    name.push(format!(".{}.part", std::process::id()));
    let unfinished = path.with_file_name(name);
    let outcome = File::create(&unfinished)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            // Without this, a power cut can leave the new name with no content.
            file.sync_all()
        })
        .and_then(|()| fs::rename(&unfinished, path));
    if outcome.is_err() {
        // The first error is the one to tell; what is left behind is only a temporary file.
        let _ = fs::remove_file(&unfinished);
    }
    outcome
}
