//! What the writer asks of the disk, one function for each thing that can fail.
//!
//! In debug builds, which the tests use, any of these calls can be made to fail as a full or
//! broken disk would, or to end the program as a power cut would.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

/// How unfinished files end.
pub(super) const UNFINISHED: &str = ".anyk-part";

/// Bytes of one write: a large file is many writes, each of which may fail.
const CHUNK: usize = 1 << 16;

/// A new file in a folder: hidden, with a name that nobody can guess, that was not there before and is no link.
pub(super) fn create(folder: &Path, name: &str) -> io::Result<NamedTempFile> {
    fault(Call::Create)?;
    let mut builder = Builder::new();
    let prefix = format!(".{name}.");
    builder.prefix(&prefix).suffix(UNFINISHED).rand_bytes(12);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // Less what the user's mask takes away, as for any new file.
        builder.permissions(Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// Makes a file belong to whom another one belongs, with the same permissions.
pub(super) fn copy_mode(file: &File, like: &std::fs::Metadata) -> io::Result<()> {
    fault(Call::Mode)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        // Only the superuser can give files away; whoever else writes here becomes the owner.
        let _ = fchown(file, Some(like.uid()), Some(like.gid()));
    }
    file.set_permissions(like.permissions())
}

/// Writes everything.
pub(super) fn write(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    for chunk in bytes.chunks(CHUNK) {
        if let Err(error) = fault(Call::Write) {
            // A disk that fills up takes a part.
            let _ = file.write_all(&chunk[..chunk.len() / 2]);
            return Err(error);
        }
        file.write_all(chunk)?;
    }
    Ok(())
}

/// Waits until a file's content is on the disk.
pub(super) fn sync(file: &File) -> io::Result<()> {
    fault(Call::Sync)?;
    file.sync_all()
}

/// Gives an unfinished file its name; whatever had the name is gone in the same instant.
pub(super) fn rename(unfinished: NamedTempFile, path: &Path) -> io::Result<()> {
    fault(Call::Rename)?;
    unfinished.persist(path).map_err(|error| error.error)?;
    // A power cut right here: the name is new, the folder may not be on the disk.
    fault(Call::Renamed)
}

/// Waits until the names in a folder are on the disk.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    fault(Call::SyncFolder)?;
    #[cfg(unix)]
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // A folder that may be written to but not read, or a file system that has no such call.
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

/// A call that can fail.
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

/// The call whose number `ANYK_FAULT` names (`7:enospc`, `7:eio`, `7:kill`, counted from 1) goes wrong.
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
        // Nothing is tidied up: no destructor runs, no buffer is flushed.
        "kill" => std::process::abort(),
        "enospc" => Err(io::Error::from(io::ErrorKind::StorageFull)),
        // EIO has no kind of its own.
        _ => Err(io::Error::other("input/output error")),
    }
}
