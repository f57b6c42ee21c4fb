//! Names the sources that a crate is built from, so that results kept by one version of the code are never taken for
//! those of another. `crates/anyk-study` uses this script too.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rerun-if-changed=Cargo.toml");
    let mut files = vec![("Cargo.toml".to_owned(), root.join("Cargo.toml"))];
    collect(&root.join("src"), "src", &mut files)?;
    // The versions of what we depend on decide about results as well. A published package has no workspace.
    let lock = root.join("../../Cargo.lock");
    if lock.is_file() {
        println!("cargo:rerun-if-changed=../../Cargo.lock");
        files.push(("Cargo.lock".to_owned(), lock));
    }
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for (name, path) in &files {
        let content = fs::read(path)?;
        // With the lengths, no content can stand for the name of the next file.
        for bytes in [name.as_bytes(), &content] {
            hash = fnv1a(hash, &(bytes.len() as u64).to_le_bytes());
            hash = fnv1a(hash, bytes);
        }
    }
    println!("cargo:rustc-env=ANYK_SOURCES={hash:016x}");
    Ok(())
}

/// Collects all files of a folder and its subfolders, by their names relative to the package, which are the same
/// on every machine.
fn collect(
    folder: &Path,
    name: &str,
    files: &mut Vec<(String, PathBuf)>,
) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &name, files)?;
        } else {
            files.push((name, entry.path()));
        }
    }
    Ok(())
}

/// Continues a 64-bit FNV-1a hash with more bytes.
fn fnv1a(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
