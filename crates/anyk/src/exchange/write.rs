//! Writer of all files. Even after a crash, on a full disk or in a folder that an attacker can write to, the path has
//! either the complete old file or the complete new one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::exchange::disk;

/// Maximum number of links to follow before they count as a cycle.
const MOST_LINKS: usize = 40;

/// Returns the path to which a file with this name is written; symbolic links are followed, so they remain links.
///
/// It rejects anything other than a plain file, since renaming a file onto a device would replace the device.
pub fn destination(path: &Path) -> io::Result<PathBuf> {
    let refuse = |message: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        if path.file_name().is_none() {
            return refuse("expected a file, not a folder");
        }
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => {
                let target = fs::read_link(&path)?;
                // A relative target starts from the link's folder.
                path = folder_of(&path).join(target);
            }
            Ok(found) if found.is_dir() => return refuse("expected a file, not a folder"),
            Ok(found) if !found.is_file() => {
                return refuse("expected a plain file, not a device or a pipe");
            }
            Ok(_) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(path),
            Err(error) => return Err(error),
        }
    }
    refuse("expected a file, not a cycle of symbolic links")
}

/// Returns whether two paths name the same file, also through symbolic and hard links. The file need not exist.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    if let (Ok(one), Ok(other)) = (fs::metadata(one), fs::metadata(other)) {
        use std::os::unix::fs::MetadataExt as _;
        return (one.dev(), one.ino()) == (other.dev(), other.ino());
    }
    let resolved = |path: &Path| {
        let path = destination(path).ok()?;
        Some(fs::canonicalize(folder_of(&path)).ok()?.join(path.file_name()?))
    };
    resolved(one).is_some_and(|one| resolved(other) == Some(one))
}

pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Writes a file completely or not at all: writes it under a temporary name in the same folder, syncs it to the
/// disk, then renames it. After a crash, the path holds either the complete old file or the complete new file. A
/// replaced file keeps its permissions.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = NewFile::begin(path)?;
    file.write_all(bytes)?;
    file.finish()
}

/// Writer of a file in several parts. The file gets its name when it is finished. An unfinished file is removed.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    unfinished: tempfile::NamedTempFile,
}

impl NewFile {
    /// Creates an unfinished file in the folder of its final name.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let path = destination(path)?;
        let unfinished = claimed(&path)?;
        Ok(Self { path, unfinished })
    }

    /// Gives the file its name.
    pub fn finish(self) -> io::Result<()> {
        let Self { path, unfinished } = self;
        if let Ok(old) = fs::metadata(&path) {
            disk::copy_mode(unfinished.as_file(), &old)?;
        }
        // Without this, a power cut can leave the new name without content.
        disk::sync(unfinished.as_file())?;
        disk::rename(unfinished, &path)?;
        disk::sync_folder(folder_of(&path))
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        disk::write(self.unfinished.as_file_mut(), bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the 64-bit FNV-1a hash of a text or of bytes. It serves as a file name, or shows that a file has changed.
pub fn fingerprint(bytes: impl AsRef<[u8]>) -> u64 {
    fingerprint_on(EMPTY, bytes.as_ref())
}

/// Fingerprint of no bytes.
pub(super) const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// Returns the fingerprint of some bytes followed by `bytes`, from the fingerprint of the former.
pub(super) fn fingerprint_on(hash: u64, bytes: &[u8]) -> u64 {
    let add = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(hash, add)
}

/// Checks that a file can be written without writing it: the path is a plain file or free, and its folder accepts
/// new files.
pub fn check_writable(path: &Path) -> io::Result<()> {
    let path = destination(path)?;
    clear_leftovers(folder_of(&path));
    // The file is removed at once.
    claimed(&path).map(drop)
}

/// Checks that files can be written in a folder, which is created if it is missing.
pub fn check_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    clear_leftovers(folder);
    claimed(&folder.join("anyk")).map(drop)
}

/// Maximum number of attempts to create an unfinished file.
const ATTEMPTS: usize = 8;

/// Creates an unfinished file that stays locked while it is written. An unfinished file without a lock is a
/// leftover.
fn claimed(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // With its prefix and suffix, the name must stay within the 255 bytes that file systems allow.
    let name: String = name.chars().take(40).collect();
    for _ in 0..ATTEMPTS {
        let file = disk::create(folder_of(path), &name)?;
        // Some file systems have no locks. Without locks, no file counts as a leftover.
        let locked = file.as_file().lock().is_ok();
        // A cleanup by another process may have been faster than the lock.
        if !locked || fs::symlink_metadata(file.path()).is_ok() {
            return Ok(file);
        }
    }
    Err(io::Error::other("another process keeps removing the unfinished file"))
}

/// Removes the unfinished files of writers that were killed. Files of active writers are locked.
fn clear_leftovers(folder: &Path) {
    // A leftover that cannot be removed does no harm.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let ours = name.starts_with('.') && name.ends_with(disk::UNFINISHED);
        // The type belongs to the entry itself: links are not followed, and pipes are not opened.
        if ours
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_written_whole_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        for bytes in [vec![1; 200_000], vec![2; 3], Vec::new()] {
            write_atomically(&path, &bytes).unwrap();
            assert_eq!(fs::read(&path).unwrap(), bytes);
            assert_eq!(names(folder.path()), ["model"]);
        }
        check_writable(&path).unwrap();
        assert_eq!(names(folder.path()), ["model"]);
        // A name of the maximum length.
        let longest = folder.path().join("n".repeat(255));
        write_atomically(&longest, b"x").unwrap();
        assert_eq!(fs::read(longest).unwrap(), b"x");
    }

    #[test]
    fn leftovers_are_cleared_and_unfinished_files_of_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        // A killed writer left the first file; the second is being written.
        fs::write(folder.path().join(".model.0123.anyk-part"), b"half").unwrap();
        let busy = claimed(&path).unwrap();
        fs::write(folder.path().join("mine.anyk-part"), b"not hidden: not ours").unwrap();
        check_writable(&path).unwrap();
        let busy_name = busy.path().file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(names(folder.path()), [busy_name, "mine.anyk-part".to_owned()]);
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("deep/target"), folder.path().join("link"));
        fs::create_dir(folder.path().join("deep")).unwrap();
        symlink("deep/target", &link).unwrap();
        // The link has no target at first.
        write_atomically(&link, b"one").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"one");
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
        write_atomically(&link, b"two").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"two");
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
        // A cycle, a folder, a device, and a path that is not a file.
        let circle = folder.path().join("circle");
        symlink("circle", &circle).unwrap();
        let not_files = [circle.as_path(), folder.path(), "/dev/null".as_ref(), "/".as_ref()];
        for (index, path) in not_files.into_iter().enumerate() {
            let error = write_atomically(path, b"x").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{index}");
        }
    }
}
