//! Files in and out: read within bounds, and checked before any work is put into what will be written.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyk::exchange::{check_folder, check_writable, destination, read_bounded, read_file};
use anyk::framework::{Checkpoint, Error, LoadedModel, OptionError};
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

/// The bytes of a model's file.
pub(crate) fn model_file(path: &str) -> Result<Vec<u8>, Failure> {
    model_bytes(path).map_err(|source| {
        let path = PathBuf::from(name(path));
        Failure::from(Error::Read { path, source })
    })
}

/// A model from its file.
pub(crate) fn model(path: &str) -> Result<Box<dyn LoadedModel>, Failure> {
    let bytes = model_file(path)?;
    Ok(read_model(&bytes).map_err(|error| Error::from(error).in_file(name(path)))?)
}

/// The bytes of a model. What does not start as one is not read on: a device has no end.
fn model_bytes(path: &str) -> io::Result<Vec<u8>> {
    /// Longest header that is read; ours have some thousand bytes.
    const MOST_HEADER: u64 = 1 << 27;
    let mut reader: Box<dyn io::Read> =
        if path == "-" { Box::new(io::stdin()) } else { Box::new(File::open(path)?) };
    // The length of the header, and its first character.
    let mut head = Vec::new();
    reader.by_ref().take(9).read_to_end(&mut head)?;
    match head.split_first_chunk() {
        Some((length, b"{")) if u64::from_le_bytes(*length) < MOST_HEADER => {
            read_bounded(head.chain(reader))
        }
        _ => Ok(head),
    }
}

/// Files that this program writes, by how they begin: these it may overwrite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A model: safetensors with our header.
    Model,
    /// A NumPy array.
    Array,
    /// A table or a picture of `evaluate`.
    Table,
    /// Users as JSON or CSV, networks or gains as JSON, or answers.
    Text,
}

/// As much of a file as tells what it is.
const START_BYTES: usize = 256;
/// As much of one as tells whether it starts with an answer, before which may stand what the input says of its cell.
const HEAD_BYTES: u64 = 1 << 16;

/// The first line of tables and sentences in a file: nothing else tells them from anybody's.
pub(crate) const OUR_TABLES: &str = "# answers of anyk\n";

/// Whether a line of JSON is an answer, wherever what its input said of the cell ends: its status, and what follows it
/// in the answers of every problem and in verdicts.
fn is_answer(head: &[u8]) -> bool {
    let end = head.iter().position(|&byte| byte == b'\n').unwrap_or(head.len());
    let line = String::from_utf8_lossy(&head[..end]);
    let follows = |rest: &str| {
        let Some((_, rest)) = rest.split_once('"') else { return false };
        let next = [",\"total_", ",\"max_", ",\"sum_rate_bits\":", ",\"k\":"];
        next.iter().any(|next| rest.starts_with(next))
    };
    let answered = line.split("\"status\":\"").skip(1).any(follows);
    let refused = line.contains("\"line\":") && line.contains(",\"error\":\"");
    line.starts_with("{\"") && (answered || refused)
}

impl Kind {
    /// Whether a file is one that this program wrote, or empty.
    fn is_ours(self, path: &Path) -> bool {
        let mut head = Vec::new();
        let read = File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
        let start = &head[..head.len().min(START_BYTES)];
        let holds = |part: &[u8]| start.windows(part.len()).any(|window| window == part);
        let starts = |parts: &[&[u8]]| parts.iter().any(|part| head.starts_with(part));
        let ours = match self {
            // The header's one metadata key stands near the start.
            Self::Model => holds(b"\"anyk\""),
            // NumPy itself writes a shape without the last blank: what it wrote may be somebody's measurement.
            Self::Array => starts(&[b"\x93NUMPY"]) && holds(b", ), }"),
            Self::Table => starts(&[b"policy,k,instances", b"<svg"]),
            Self::Text => {
                let cells: [&[u8]; 4] =
                    [b"{\"users\":[", b"{\"gains\":[", b"{\"fading\":", b"id,distance_m\n"];
                let tables: [&[u8]; 4] = [
                    OUR_TABLES.as_bytes(),
                    b"cell,id,power_w",
                    b"cell,instance,link,power,",
                    b"cell,status,k,",
                ];
                let refusals = starts(&[b"cell,status\n"]) && holds(b"error: ");
                starts(&cells) || starts(&tables) || refusals || is_answer(&head)
            }
        };
        read.is_ok() && (head.is_empty() || ours)
    }
}

/// Makes sure, before any work, that a file can be written: its folder is there and writable, and what is
/// there already is ours, or may be overwritten.
pub(crate) fn claim(path: &Path, kind: Kind, force: bool) -> Result<(), Failure> {
    claim_for("out", path, kind, force)
}

/// The same for a file that another flag names.
pub(crate) fn claim_for(flag: &str, path: &Path, kind: Kind, force: bool) -> Result<(), Failure> {
    let refuse =
        |expected: &str| -> Failure { OptionError::value(flag, path.display(), expected).into() };
    let cannot = |error: io::Error| match error.kind() {
        // Not a file, and no --force makes it one.
        io::ErrorKind::InvalidInput => refuse(error.to_string().trim_start_matches("expected ")),
        _ => Failure::write(path, error),
    };
    if destination(path).map_err(cannot)?.exists() && !force && !kind.is_ours(path) {
        return Err(refuse(
            "a new file, or one that this program wrote: it is neither; --force overwrites it",
        ));
    }
    check_writable(path).map_err(cannot)
}

/// The same for the checkpoint that a training writes beside its model.
pub(crate) fn claim_checkpoint(model: &Path) -> Result<(), Failure> {
    let path = Checkpoint::path_beside(model);
    check_writable(&path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => {
            let path = path.display();
            let expected = format!("a name beside which {path} can be written: {error} there");
            OptionError::value("out", model.display(), expected).into()
        }
        _ => Failure::write(&path, error),
    })
}

/// Makes sure that a folder is there, or can be made, and can be written to.
pub(crate) fn claim_folder(folder: &Path) -> Result<(), Failure> {
    check_folder(folder).map_err(|error| Failure::write(folder, error))
}
