//! The container of models and checkpoints: safetensors with one JSON text and a checksum, written so
//! that a crash leaves the old file or the new one, and read so that damage is found.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView, serialize};

/// Named lists of numbers and a text.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Container {
    /// What kind of file it is.
    pub(crate) kind: String,
    /// JSON.
    pub(crate) text: String,
    /// In the order of their names.
    pub(crate) tensors: Vec<(String, Vec<f64>)>,
}

/// The one metadata key: several would be written in no particular order, and the same model would
/// not be the same file.
const KEY: &str = "anyk";

impl Container {
    /// The bytes of the file.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, String> {
        let data: Vec<(&str, Vec<u8>)> = self
            .tensors
            .iter()
            .map(|(name, values)| {
                (name.as_str(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
            })
            .collect();
        let views = data
            .iter()
            .map(|(name, bytes)| {
                let view = TensorView::new(Dtype::F64, vec![bytes.len() / 8], bytes);
                Ok((*name, view.map_err(|error| error.to_string())?))
            })
            .collect::<Result<Vec<_>, String>>()?;
        let header = format!("{}\n{:08x}\n{}", self.kind, self.checksum(), self.text);
        let metadata = HashMap::from([(KEY.to_owned(), header)]);
        serialize(views, Some(metadata)).map_err(|error| error.to_string())
    }

    /// The header of a file: kind, checksum and text, line by line.
    fn header(bytes: &[u8]) -> Result<String, String> {
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| error.to_string())?;
        let header = metadata.metadata().as_ref().and_then(|map| map.get(KEY));
        Ok(header.ok_or("it has no AnyK header")?.clone())
    }

    /// What kind of file it is, unchecked.
    pub(crate) fn kind_of(bytes: &[u8]) -> Result<String, String> {
        Ok(Self::header(bytes)?.lines().next().unwrap_or_default().to_owned())
    }

    /// Reads and checks a file of this kind.
    pub(crate) fn from_bytes(bytes: &[u8], kind: &str) -> Result<Self, String> {
        let header = Self::header(bytes)?;
        let mut parts = header.splitn(3, '\n');
        let (found, checksum, text) = (parts.next(), parts.next(), parts.next());
        let (Some(found), Some(checksum), Some(text)) = (found, checksum, text) else {
            return Err("its AnyK header is incomplete".into());
        };
        if found != kind {
            return Err(format!("it is an {found:?}, expected an {kind:?}"));
        }
        let file = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
        let mut tensors = Vec::new();
        for (name, view) in file.iter() {
            if view.dtype() != Dtype::F64 {
                return Err(format!("the tensor {name} is not F64"));
            }
            let values =
                view.data().as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
            tensors.push((name.to_owned(), values.collect()));
        }
        tensors.sort_by(|a: &(String, Vec<f64>), b| a.0.cmp(&b.0));
        let container = Self { kind: kind.to_owned(), text: text.to_owned(), tensors };
        if format!("{:08x}", container.checksum()) != checksum {
            return Err("its checksum does not match its content".into());
        }
        Ok(container)
    }

    /// Takes out a tensor by its name.
    pub(crate) fn take(&mut self, name: &str) -> Option<Vec<f64>> {
        let index = self.tensors.iter().position(|tensor| tensor.0 == name)?;
        Some(self.tensors.remove(index).1)
    }

    fn checksum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(self.text.as_bytes());
        let mut tensors: Vec<&(String, Vec<f64>)> = self.tensors.iter().collect();
        tensors.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, values) in tensors {
            hasher.update(name.as_bytes());
            hasher.update(&(values.len() as u64).to_le_bytes());
            for value in values {
                hasher.update(&value.to_le_bytes());
            }
        }
        hasher.finalize()
    }
}

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
