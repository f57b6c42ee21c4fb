//! Files with the results of one shard of a run, from which `anyk merge` puts the whole run together.
//!
//! A part is a text file of JSON lines: its origin, one line for each unit of work, and an end with a checksum. It gets
//! its name (`part-2-of-4.jsonl`) when it is complete. Until then, the name ends in `.unfinished`; a later run keeps the
//! units that are in it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::disk;
use super::finite::write_json;
use super::write::{EMPTY, check_folder, fingerprint_on, folder_of};
use crate::limits::MOST_TEXT_BYTES;

/// Version of the format.
const FORMAT: u32 = 1;
/// Longest interval between writes to the disk, and the number of waiting bytes that causes a write.
const INTERVAL: Duration = Duration::from_secs(1);
const WAITING: usize = 1 << 16;
const UNFINISHED: &str = ".unfinished";

/// Everything that determines the results of a part. All parts of a run have the same origin, except for the shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Version of the program, with the fingerprint of its sources.
    pub program: String,
    /// Arguments of the run, without the shard and the folder.
    pub arguments: Vec<String>,
    /// Fingerprints of the input files.
    pub files: BTreeMap<String, String>,
    /// Number of the shard, from 1.
    pub shard: u64,
    /// Number of shards.
    pub of: u64,
}

/// Reason why a part cannot be used.
#[derive(Debug, Error)]
pub enum PartError {
    /// The part cannot be written.
    #[error("{}: cannot write: {source}", path.display())]
    Write {
        /// Path of the part.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The part cannot be read.
    #[error("{}: cannot read: {source}", path.display())]
    Read {
        /// Path of the part.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The part is damaged, belongs to another run, or is missing.
    #[error("{0}")]
    Wrong(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct First {
    anyk_part: u32,
    origin: Origin,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unit<T> {
    unit: u64,
    result: T,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    units: u64,
    checksum: String,
}

/// Kind of a line after the first.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Unit { unit: u64 },
    End(End),
}

/// Units of a part: their numbers and the positions of their lines.
#[derive(Debug, Default)]
struct Index {
    units: Vec<(u64, u64)>,
    is_sorted: bool,
}

impl Index {
    fn push(&mut self, unit: u64, position: u64) {
        self.is_sorted = self.units.last().is_none_or(|last| last.0 < unit)
            && (self.is_sorted || self.units.is_empty());
        self.units.push((unit, position));
    }

    fn find(&mut self, unit: u64) -> Option<u64> {
        if !self.is_sorted {
            self.units.sort_unstable();
            self.is_sorted = true;
        }
        let found = self.units.binary_search_by_key(&unit, |known| known.0).ok()?;
        Some(self.units[found].1)
    }

    /// Returns a unit that occurs twice.
    fn doubled(&mut self) -> Option<u64> {
        self.find(0);
        self.units.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| pair[0].0)
    }
}

/// Reader of single lines at given positions. Consecutive lines are read without a new call of the system.
#[derive(Debug)]
struct Lines {
    reader: BufReader<File>,
    position: u64,
}

impl Lines {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { reader: BufReader::with_capacity(WAITING, File::open(path)?), position: 0 })
    }

    fn at(&mut self, position: u64) -> io::Result<Vec<u8>> {
        let apart = i128::from(position) - i128::from(self.position);
        match i64::try_from(apart) {
            Ok(apart) => self.reader.seek_relative(apart)?,
            Err(_) => self.reader.seek(SeekFrom::Start(position)).map(drop)?,
        }
        let mut line = Vec::new();
        let read =
            self.reader.by_ref().take(MOST_TEXT_BYTES as u64).read_until(b'\n', &mut line)?;
        self.position = position + read as u64;
        Ok(line)
    }
}

/// Result of reading a part from its start.
struct Scanned {
    origin: Origin,
    index: Index,
    /// Fingerprint and number of the bytes up to the last complete line of a unit.
    hash: u64,
    length: u64,
    end: Option<End>,
}

/// Reads a part up to its end, or up to the first line that is incomplete or damaged.
fn scan(path: &Path) -> Result<Scanned, PartError> {
    let unread = |source| PartError::Read { path: path.to_owned(), source };
    is_plain(path).map_err(unread)?;
    let damaged = |why: &str| PartError::Wrong(format!("{} is damaged: {why}", path.display()));
    let mut lines = Lines::open(path).map_err(unread)?;
    let line = lines.at(0).map_err(unread)?;
    let first: First = serde_json::from_slice(&line)
        .map_err(|_| damaged("its first line does not describe a part; remove the file"))?;
    if first.anyk_part != FORMAT {
        let version = first.anyk_part;
        return Err(damaged(&format!("it has format {version}, expected {FORMAT}")));
    }
    let mut scanned = Scanned {
        origin: first.origin,
        index: Index::default(),
        hash: fingerprint_on(EMPTY, &line),
        length: line.len() as u64,
        end: None,
    };
    loop {
        let line = lines.at(scanned.length).map_err(unread)?;
        match serde_json::from_slice(&line) {
            Ok(Line::Unit { unit }) if line.ends_with(b"\n") => {
                scanned.index.push(unit, scanned.length);
                scanned.hash = fingerprint_on(scanned.hash, &line);
                scanned.length += line.len() as u64;
            }
            Ok(Line::End(end)) => {
                let rest = lines.at(scanned.length + line.len() as u64).map_err(unread)?;
                scanned.end = rest.is_empty().then_some(end);
                return Ok(scanned);
            }
            _ => return Ok(scanned),
        }
    }
}

/// Returns an error if a path exists and is not a plain file: a pipe would block, and a link leads elsewhere.
fn is_plain(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => Err(io::Error::other("expected a plain file")),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn path_of(folder: &Path, shard: u64, of: u64) -> PathBuf {
    folder.join(format!("part-{shard}-of-{of}.jsonl"))
}

fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(UNFINISHED);
    path.with_file_name(name)
}

/// Describes the difference between the origins of two parts.
fn difference(one: &Origin, other: &Origin) -> Option<String> {
    if one.program != other.program {
        return Some(format!("was computed by AnyK {}, not {}", one.program, other.program));
    }
    if one.arguments != other.arguments {
        let (one, other) = (one.arguments.join(" "), other.arguments.join(" "));
        return Some(format!("belongs to `anyk {one}`, not to `anyk {other}`"));
    }
    if one.files != other.files {
        let names = one.files.keys().chain(other.files.keys());
        let name = names.into_iter().find(|name| one.files.get(*name) != other.files.get(*name));
        let name = name.map_or("input", String::as_str);
        return Some(format!("was computed from another content of {name}"));
    }
    (one.of != other.of).then(|| format!("is one of {} shards, not of {}", one.of, other.of))
}

/// Part that is being written. Results survive an interruption.
#[derive(Debug)]
pub struct Part {
    path: PathBuf,
    file: File,
    lines: Lines,
    index: Index,
    hash: u64,
    length: u64,
    waiting: Vec<u8>,
    written: Instant,
}

impl Part {
    /// Opens the part of a shard in a folder, with the units of an earlier run that was interrupted. Returns `None` if
    /// the part is complete.
    pub fn open(folder: &Path, origin: &Origin) -> Result<Option<Self>, PartError> {
        let path = path_of(folder, origin.shard, origin.of);
        let unwritten = |source| PartError::Write { path: path.clone(), source };
        check_folder(folder).map_err(unwritten)?;
        let elsewhere = |path: &Path, why: &str| {
            let path = path.display();
            PartError::Wrong(format!("{path} {why}; choose another folder, or remove the file"))
        };
        let (is_done, open) = (fs::exists(&path).map_err(unwritten)?, unfinished(&path));
        if is_done {
            let known = complete(&path)?;
            return match difference(&known.origin, origin) {
                Some(why) => Err(elsewhere(&path, &why)),
                None => Ok(None),
            };
        }
        is_plain(&open).map_err(|source| PartError::Write { path: open.clone(), source })?;
        let opened = disk::append_to(&open).map_err(unwritten)?;
        // Some file systems have no locks; the name that the finished part gets is then the only protection.
        if let Err(fs::TryLockError::WouldBlock) = opened.try_lock() {
            let path = open.display();
            let why =
                format!("{path}: another process is computing this shard; wait for it or stop it");
            return Err(PartError::Wrong(why));
        }
        if fs::exists(&path).map_err(unwritten)? {
            return Self::open(folder, origin);
        }
        let mut part = Self {
            lines: Lines::open(&open).map_err(unwritten)?,
            file: opened,
            index: Index::default(),
            hash: EMPTY,
            length: 0,
            waiting: Vec::new(),
            written: Instant::now(),
            path: path.clone(),
        };
        if part.file.metadata().map_err(unwritten)?.len() > 0 {
            let known = scan(&open)?;
            if let Some(why) = difference(&known.origin, origin) {
                return Err(elsewhere(&open, &why));
            }
            (part.index, part.hash, part.length) = (known.index, known.hash, known.length);
            // An interrupted run may have left half of a line.
            part.file.set_len(part.length).map_err(unwritten)?;
        } else {
            part.append(&First { anyk_part: FORMAT, origin: origin.clone() })?;
            part.flush()?;
        }
        Ok(Some(part))
    }

    /// Returns the path of the complete part.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the result of a unit, if it is in the part.
    pub fn find<T: DeserializeOwned>(&mut self, unit: u64) -> Result<Option<T>, PartError> {
        let Some(position) = self.index.find(unit) else { return Ok(None) };
        self.flush()?;
        read_unit(&mut self.lines, &unfinished(&self.path), position).map(Some)
    }

    /// Returns whether the part has the result of a unit.
    pub fn has(&mut self, unit: u64) -> bool {
        self.index.find(unit).is_some()
    }

    /// Adds the result of a unit.
    pub fn keep<T: Serialize>(&mut self, unit: u64, result: &T) -> Result<(), PartError> {
        let position = self.length;
        self.append(&Unit { unit, result })?;
        self.index.push(unit, position);
        if self.waiting.len() >= WAITING || self.written.elapsed() >= INTERVAL {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes the end of the part and gives the part its name.
    pub fn finish(&mut self) -> Result<(), PartError> {
        let end =
            End { units: self.index.units.len() as u64, checksum: format!("{:016x}", self.hash) };
        self.append(&end)?;
        self.flush()?;
        let (from, to) = (unfinished(&self.path), &self.path);
        let named = || {
            disk::sync(&self.file)?;
            disk::rename_to(&from, to)?;
            disk::sync_folder(folder_of(to))
        };
        named().map_err(|source| self.unwritten(source))
    }

    fn append(&mut self, line: &impl Serialize) -> Result<(), PartError> {
        let start = self.waiting.len();
        let written = write_json(&mut self.waiting, line);
        if let Err(error) = written {
            self.waiting.truncate(start);
            return Err(self.unwritten(error));
        }
        self.waiting.push(b'\n');
        self.hash = fingerprint_on(self.hash, &self.waiting[start..]);
        self.length += (self.waiting.len() - start) as u64;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), PartError> {
        let waiting = std::mem::take(&mut self.waiting);
        self.written = Instant::now();
        disk::write(&mut self.file, &waiting).map_err(|source| self.unwritten(source))
    }

    fn unwritten(&self, source: io::Error) -> PartError {
        PartError::Write { path: unfinished(&self.path), source }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // The results up to an error or an interruption. If there are none, the settings may be wrong.
        let _ = self.flush();
        let path = unfinished(&self.path);
        if self.index.units.is_empty() && path.exists() {
            let _ = fs::remove_file(path);
        }
    }
}

fn read_unit<T: DeserializeOwned>(
    lines: &mut Lines,
    path: &Path,
    position: u64,
) -> Result<T, PartError> {
    let line =
        lines.at(position).map_err(|source| PartError::Read { path: path.to_owned(), source })?;
    let unit: Unit<T> = serde_json::from_slice(&line).map_err(|error| {
        PartError::Wrong(format!(
            "{} is damaged: {error}; remove it and run its shard again",
            path.display()
        ))
    })?;
    Ok(unit.result)
}

/// Reads a part that must be complete and undamaged.
fn complete(path: &Path) -> Result<Scanned, PartError> {
    let mut found = scan(path)?;
    let Origin { shard, of, .. } = found.origin;
    let again = format!("remove it and run shard {shard}/{of} again");
    let damaged =
        |why: &str| Err(PartError::Wrong(format!("{} is damaged: {why}; {again}", path.display())));
    let Some(end) = &found.end else {
        return damaged(
            "it is truncated, has lines after its end, or contains a line that is not JSON",
        );
    };
    let units = found.index.units.len() as u64;
    if end.units != units {
        return damaged(&format!("it has {units} results, expected {}", end.units));
    }
    if end.checksum != format!("{:016x}", found.hash) {
        return damaged("its checksum is wrong");
    }
    if let Some(unit) = found.index.doubled() {
        return damaged(&format!("it has two results for unit {unit}"));
    }
    Ok(found)
}

/// Complete parts of a run.
#[derive(Debug)]
pub struct Parts {
    origin: Origin,
    parts: Vec<(PathBuf, Lines, Index)>,
}

impl Parts {
    /// Opens all parts in a folder. Returns an error that names each part that is missing, damaged, or of another run.
    pub fn open(folder: &Path) -> Result<Self, PartError> {
        let unread = |source| PartError::Read { path: folder.to_owned(), source };
        let mut names = Vec::new();
        for entry in fs::read_dir(folder).map_err(unread)? {
            let name = entry.map_err(unread)?.file_name().to_string_lossy().into_owned();
            let is_part = name.starts_with("part-") && name.ends_with(".jsonl");
            names.extend(is_part.then_some(name));
        }
        names.sort();
        let mut found: BTreeMap<u64, (PathBuf, Scanned)> = BTreeMap::new();
        let mut wrong: Vec<String> = Vec::new();
        for name in names {
            let path = folder.join(&name);
            let part = match complete(&path) {
                Ok(part) => part,
                Err(why) => {
                    wrong.push(why.to_string());
                    continue;
                }
            };
            let Origin { shard, of, .. } = part.origin;
            let first = found.values().next().map(|(_, first)| &first.origin);
            if let Some(why) = first.and_then(|first| difference(&part.origin, first)) {
                wrong.push(format!("{} {why}", path.display()));
            } else if path != path_of(folder, shard, of) || !(1..=of).contains(&shard) {
                wrong
                    .push(format!("{} is a copy of shard {shard}/{of}; remove it", path.display()));
            } else {
                found.insert(shard, (path, part));
            }
        }
        let Some(origin) = found.values().next().map(|(_, part)| part.origin.clone()) else {
            let why = format!("{} has no complete part (part-1-of-4.jsonl, …)", folder.display());
            wrong.push(why);
            return Err(PartError::Wrong(wrong.join("\n")));
        };
        for shard in (1..=origin.of).filter(|shard| !found.contains_key(shard)) {
            let path = path_of(folder, shard, origin.of);
            if wrong.iter().any(|why| why.starts_with(&*path.to_string_lossy())) {
                continue;
            }
            let begun = unfinished(&path).exists();
            let state = if begun { "is not finished" } else { "is missing" };
            wrong.push(format!("{} {state}; run shard {shard}/{}", path.display(), origin.of));
            // With a wrong number of shards, the list would be endless.
            if wrong.len() > 20 {
                wrong.push("…".to_owned());
                break;
            }
        }
        if !wrong.is_empty() {
            return Err(PartError::Wrong(wrong.join("\n")));
        }
        let mut parts = Vec::new();
        for (path, scanned) in found.into_values() {
            let lines = Lines::open(&path).map_err(unread)?;
            parts.push((path, lines, scanned.index));
        }
        Ok(Self { origin, parts })
    }

    /// Returns the origin of the parts.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Returns the result of a unit, if a part has it.
    pub fn find<T: DeserializeOwned>(&mut self, unit: u64) -> Result<Option<T>, PartError> {
        for (path, lines, index) in &mut self.parts {
            if let Some(position) = index.find(unit) {
                return read_unit(lines, path, position).map(Some);
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(shard: u64) -> Origin {
        let arguments = vec!["evaluate".to_owned(), "p.safetensors".to_owned()];
        Origin { program: "0.2.0 (a)".into(), arguments, files: BTreeMap::new(), shard, of: 2 }
    }

    fn written(folder: &Path, origin: &Origin, units: &[u64]) {
        let mut part = Part::open(folder, origin).unwrap().unwrap();
        units.iter().for_each(|&unit| part.keep(unit, &(unit as f64 * 0.1)).unwrap());
        part.finish().unwrap();
    }

    #[test]
    fn parts_are_put_together_and_finished_ones_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path(), &origin(1), &[2, 0]);
        written(folder.path(), &origin(2), &[1, 3]);
        assert!(Part::open(folder.path(), &origin(1)).unwrap().is_none());
        let mut parts = Parts::open(folder.path()).unwrap();
        for unit in [0, 3, 1, 2] {
            let found: Option<f64> = parts.find(unit).unwrap();
            assert_eq!(found.map(f64::to_bits), Some((unit as f64 * 0.1).to_bits()));
        }
        assert_eq!(parts.find::<f64>(4).unwrap(), None);
    }

    #[test]
    fn an_interrupted_part_continues_where_it_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let mut part = Part::open(folder.path(), &origin(1)).unwrap().unwrap();
        part.keep(0, &0.5).unwrap();
        let busy = Part::open(folder.path(), &origin(1)).unwrap_err().to_string();
        assert!(busy.contains("another process"), "{busy}");
        drop(part);
        let open = folder.path().join("part-1-of-2.jsonl.unfinished");
        let mut text = fs::read(&open).unwrap();
        text.extend(br#"{"unit":1,"resu"#);
        fs::write(&open, text).unwrap();
        let mut part = Part::open(folder.path(), &origin(1)).unwrap().unwrap();
        assert_eq!((part.find::<f64>(0).unwrap(), part.has(1)), (Some(0.5), false));
        part.keep(1, &1.5).unwrap();
        assert_eq!(part.find::<f64>(1).unwrap(), Some(1.5));
        part.finish().unwrap();
        written(folder.path(), &origin(2), &[]);
        assert_eq!(Parts::open(folder.path()).unwrap().find::<f64>(1).unwrap(), Some(1.5));
        // Unfinished work of another run is not continued.
        let other = Origin { program: "0.3.0 (b)".into(), ..origin(1) };
        let why = Part::open(folder.path(), &other).unwrap_err().to_string();
        assert!(why.contains("computed by AnyK 0.2.0 (a), not 0.3.0 (b)"), "{why}");
    }

    #[test]
    fn what_is_missing_foreign_copied_or_damaged_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let why = |of: &str| {
            let why = Parts::open(folder.path()).unwrap_err().to_string();
            assert!(why.contains(of), "{why}");
        };
        why("no complete part");
        written(folder.path(), &origin(1), &[0]);
        why("part-2-of-2.jsonl is missing; run shard 2/2");
        let two = folder.path().join("part-2-of-2.jsonl");
        fs::copy(folder.path().join("part-1-of-2.jsonl"), &two).unwrap();
        why("part-2-of-2.jsonl is a copy of shard 1/2");
        fs::remove_file(&two).unwrap();
        written(folder.path(), &Origin { program: "0.3.0 (b)".into(), ..origin(2) }, &[1]);
        why("part-2-of-2.jsonl was computed by AnyK 0.3.0 (b), not 0.2.0 (a)");
        fs::remove_file(&two).unwrap();
        written(folder.path(), &origin(2), &[1]);
        let text = fs::read_to_string(&two).unwrap();
        for (from, to, of) in [
            ("0.1", "0.2", "checksum"),
            ("\n{\"unit\":1,\"result\":0.1}", "", "0 results, expected 1"),
            ("\"checksum\"", "\"check", "truncated"),
            ("anyk_part", "part", "first line"),
        ] {
            fs::write(&two, text.replacen(from, to, 1)).unwrap();
            why(of);
        }
        fs::write(&two, "").unwrap();
        why("part-2-of-2.jsonl is damaged");
        let open = Part::open(folder.path(), &origin(2)).unwrap_err().to_string();
        assert!(open.contains("damaged"), "{open}");
    }
}
