//! Disk operations of the writer, with one function for each operation that can fail.
//!
//! In debug builds, which the tests use, each call can be made to fail as on a full or broken disk, or to end
//! the program as in a power cut.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

/// Suffix of unfinished files.
pub(super) const UNFINISHED: &str = ".anyk-part";

/// Number of bytes per write. A large file needs many writes, each of which may fail.
const CHUNK: usize = 1 << 16;

/// Creates a new hidden file in a folder. Its random name cannot be guessed, and the file is neither an existing
/// one nor a link.
pub(super) fn create(folder: &Path, name: &str) -> io::Result<NamedTempFile> {
    fault(Call::Create)?;
    let mut builder = Builder::new();
    let prefix = format!(".{name}.");
    builder.prefix(&prefix).suffix(UNFINISHED).rand_bytes(12);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The user's mask removes permissions, as for any new file.
        builder.permissions(Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// Opens a file to which lines are added, and creates it if it is missing.
pub(super) fn append_to(path: &Path) -> io::Result<File> {
    fault(Call::Create)?;
    OpenOptions::new().create(true).append(true).open(path)
}

/// Gives a file the owner and the permissions of another file.
pub(super) fn copy_mode(file: &File, like: &std::fs::Metadata) -> io::Result<()> {
    fault(Call::Mode)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        // Only the superuser can change the owner; for others, the writing user becomes the owner.
        let _ = fchown(file, Some(like.uid()), Some(like.gid()));
    }
    file.set_permissions(like.permissions())
}

/// Writes all bytes.
pub(super) fn write(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    for chunk in bytes.chunks(CHUNK) {
        if let Err(error) = fault(Call::Write) {
            // A disk that fills up accepts part of a write.
            let _ = file.write_all(&chunk[..chunk.len() / 2]);
            return Err(error);
        }
        file.write_all(chunk)?;
    }
    Ok(())
}

/// Waits until the content of a file is on the disk.
pub(super) fn sync(file: &File) -> io::Result<()> {
    fault(Call::Sync)?;
    file.sync_all()
}

/// Renames an unfinished file atomically, replacing any file with that name.
pub(super) fn rename(unfinished: NamedTempFile, path: &Path) -> io::Result<()> {
    fault(Call::Rename)?;
    unfinished.persist(path).map_err(|error| error.error)?;
    // Power cut at this point: the file has its name, but the folder may not be on the disk.
    fault(Call::Renamed)
}

/// Renames a file atomically, replacing any file with the new name.
pub(super) fn rename_to(from: &Path, to: &Path) -> io::Result<()> {
    fault(Call::Rename)?;
    std::fs::rename(from, to)?;
    fault(Call::Renamed)
}

/// Waits until the names in a folder are on the disk.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    fault(Call::SyncFolder)?;
    #[cfg(unix)]
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // The folder may be writable but not readable, or the file system may lack this call.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied
                    | io::ErrorKind::InvalidInput
                    | io::ErrorKind::Unsupported
            ) => {}
        outcome => return outcome,
    }
    Ok(())
}

/// Disk operation that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(debug_assertions), allow(dead_code))]
enum Call {
    Create,
    Mode,
    Write,
    Sync,
    Rename,
    Renamed,
    SyncFolder,
}

#[cfg(not(debug_assertions))]
#[allow(clippy::unnecessary_wraps)]
fn fault(_call: Call) -> io::Result<()> {
    Ok(())
}

/// Fails the call whose number is in `ANYK_FAULT` (`7:enospc`, `7:eio`, `7:kill`, counted from 1).
#[cfg(debug_assertions)]
fn fault(call: Call) -> io::Result<()> {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static CALLS: AtomicU64 = AtomicU64::new(0);
    static PLAN: OnceLock<Option<(u64, String)>> = OnceLock::new();
    let plan = PLAN.get_or_init(|| {
        let text = std::env::var("ANYK_FAULT").ok()?;
        let (number, how) = text.split_once(':')?;
        Some((number.parse().ok()?, how.to_owned()))
    });
    let number = 1 + CALLS.fetch_add(1, Ordering::Relaxed);
    let Some((_, how)) = plan.as_ref().filter(|(planned, _)| *planned == number) else {
        return Ok(());
    };
    let _ = writeln!(io::stderr(), "fault {number} ({call:?}): {how}");
    match how.as_str() {
        // Abort without cleanup: no destructor runs, and no buffer is flushed.
        "kill" => std::process::abort(),
        "enospc" => Err(io::Error::from(io::ErrorKind::StorageFull)),
        // `ErrorKind` has no variant for EIO.
        _ => Err(io::Error::other("input/output error")),
    }
}
