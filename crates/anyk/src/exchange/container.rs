//! Container format of all model files: safetensors with a JSON header, and a checksum that reveals damage.
//! `docs/model-format.md` describes it for readers in other languages.

use std::collections::HashMap;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView, serialize};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::exchange::finite::check_finite;
use crate::limits::MOST_HEADER_BYTES;

/// Named array of numbers, in row-major order.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Name, unique in its file.
    pub name: String,
    /// Lengths of the axes; their product is the number of values.
    pub shape: Vec<usize>,
    /// Values in row-major order.
    pub values: Vec<f64>,
}

impl Tensor {
    /// Builds a tensor with one axis.
    pub fn flat(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self { name: name.into(), shape: vec![values.len()], values }
    }
}

/// Reason why a file is not a valid container.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum ContainerError {
    /// File that AnyK did not write, or that is damaged.
    #[error("{0}")]
    Damaged(String),
    /// File in the format of AnyK 0.1.
    #[error("it was written by AnyK 0.1, whose format is no longer read")]
    Old,
    /// File in a newer format.
    #[error(
        "its format has version {found}, but this version of AnyK reads only up to {known}; update AnyK"
    )]
    Newer { found: u64, known: u64 },
}

/// Named tensors with a JSON header.
#[derive(Debug, Clone)]
pub(crate) struct Container {
    kind: String,
    version: u64,
    content: Box<RawValue>,
    tensors: Vec<Tensor>,
}

/// Header of a file: the value of the only metadata key. With several keys, whose order is not fixed, equal
/// models could give different files.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header<C> {
    /// Kind of file.
    kind: String,
    version: u64,
    /// CRC-32 of the content and all tensors, in hexadecimal.
    checksum: String,
    content: C,
}

/// Part of the header that is read first, since a newer file may have unknown fields.
#[derive(Deserialize)]
struct Preface {
    kind: String,
    version: u64,
}

const KEY: &str = "anyk";
/// First version with this form of header.
const FIRST: u64 = 2;
/// First lines of the headers of files from AnyK 0.1.
const OLD_KINDS: [&str; 6] = [
    "anyk-model\n",
    "anyk-any-model\n",
    "anyk-closed-form-model\n",
    "anyk-power-model\n",
    "anyk-checkpoint\n",
    "anyk-power-checkpoint\n",
];

// By value, for `map_err`.
#[allow(clippy::needless_pass_by_value)]
fn damaged(error: impl ToString) -> ContainerError {
    ContainerError::Damaged(error.to_string())
}

/// Rejects a long header, since it would need much more memory when parsed: each tensor takes only about fifty
/// bytes of the header.
fn check_header(bytes: &[u8]) -> Result<(), ContainerError> {
    let claimed = bytes.first_chunk().map_or(0, |length| u64::from_le_bytes(*length));
    let header = claimed.min(bytes.len() as u64);
    if header > MOST_HEADER_BYTES as u64 {
        let message =
            format!("its header has {header} bytes, expected at most {MOST_HEADER_BYTES}");
        return Err(damaged(message));
    }
    Ok(())
}

impl Container {
    /// Builds a container of the given kind, with `content` in its header.
    pub(crate) fn new(
        kind: &str,
        version: u64,
        content: &impl Serialize,
        mut tensors: Vec<Tensor>,
    ) -> Result<Self, ContainerError> {
        check_finite(content).map_err(damaged)?;
        let content = serde_json::value::to_raw_value(content).map_err(damaged)?;
        tensors.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self { kind: kind.to_owned(), version, content, tensors })
    }

    /// Returns the bytes of the file; equal content gives equal bytes.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, ContainerError> {
        let data: Vec<(&Tensor, Vec<u8>)> = self
            .tensors
            .iter()
            .map(|tensor| {
                (tensor, tensor.values.iter().flat_map(|value| value.to_le_bytes()).collect())
            })
            .collect();
        let views = data
            .iter()
            .map(|(tensor, bytes)| {
                let view = TensorView::new(Dtype::F64, tensor.shape.clone(), bytes);
                Ok((tensor.name.as_str(), view.map_err(damaged)?))
            })
            .collect::<Result<Vec<_>, ContainerError>>()?;
        let header = Header {
            kind: self.kind.clone(),
            version: self.version,
            checksum: format!("{:08x}", self.checksum()),
            content: &self.content,
        };
        let header = serde_json::to_string(&header).map_err(damaged)?;
        let metadata = HashMap::from([(KEY.to_owned(), header)]);
        serialize(views, Some(metadata)).map_err(damaged)
    }

    /// Reads and checks a file of this kind, up to a known version.
    pub(crate) fn from_bytes(bytes: &[u8], kind: &str, known: u64) -> Result<Self, ContainerError> {
        check_header(bytes)?;
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
        let header = metadata.metadata().as_ref().and_then(|map| map.get(KEY));
        let header = header.ok_or_else(|| damaged("it has no AnyK header"))?;
        if OLD_KINDS.iter().any(|old| header.starts_with(old)) {
            return Err(ContainerError::Old);
        }
        let Preface { kind: found_kind, version } = serde_json::from_str(header)
            .map_err(|error| damaged(format!("its header: {error}")))?;
        if found_kind != kind {
            return Err(damaged(format!("it is a {found_kind:?}, expected a {kind:?}")));
        }
        if version > known {
            return Err(ContainerError::Newer { found: version, known });
        }
        if version < FIRST {
            return Err(damaged(format!(
                "its header says version {version}, expected {FIRST} or more"
            )));
        }
        let Header { checksum, content, .. } =
            serde_json::from_str::<Header<Box<RawValue>>>(header)
                .map_err(|error| damaged(format!("its header: {error}")))?;
        let file = SafeTensors::deserialize(bytes).map_err(damaged)?;
        let mut tensors = Vec::new();
        for (name, view) in file.iter() {
            if view.dtype() != Dtype::F64 {
                return Err(damaged(format!("the tensor {name} is not F64")));
            }
            let values =
                view.data().as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
            tensors.push(Tensor {
                name: name.to_owned(),
                shape: view.shape().to_vec(),
                values: values.collect(),
            });
        }
        tensors.sort_by(|a, b| a.name.cmp(&b.name));
        let container = Self { kind: kind.to_owned(), version, content, tensors };
        if format!("{:08x}", container.checksum()) != checksum {
            return Err(damaged("its checksum does not match its content"));
        }
        Ok(container)
    }

    /// Parses the content of the header.
    pub(crate) fn content<C: DeserializeOwned>(&self) -> Result<C, ContainerError> {
        serde_json::from_str(self.content.get())
            .map_err(|error| damaged(format!("its header: {error}")))
    }

    /// Returns all tensors in the order of their names.
    pub(crate) fn into_tensors(self) -> Vec<Tensor> {
        self.tensors
    }

    fn checksum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(self.content.get().as_bytes());
        for Tensor { name, shape, values } in &self.tensors {
            hasher.update(name.as_bytes());
            for axis in shape {
                hasher.update(&(*axis as u64).to_le_bytes());
            }
            for value in values {
                hasher.update(&value.to_le_bytes());
            }
        }
        hasher.finalize()
    }
}
