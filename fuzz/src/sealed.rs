//! Opening and sealing of containers, so that mutations get past the checksum.
//!
//! The opened form of a file has two lines of JSON, the header and the shapes of the tensors by name, and then the
//! values of the tensors.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

type Shapes = BTreeMap<String, Vec<usize>>;

#[derive(Serialize, Deserialize)]
struct Header<'a> {
    kind: String,
    version: u64,
    checksum: String,
    #[serde(borrow)]
    content: &'a RawValue,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

/// Builds a model file with a valid checksum from its opened form; returns `None` for other input. Missing numbers are
/// 0, and extra numbers are left out.
pub fn sealed(opened: &[u8]) -> Option<Vec<u8>> {
    let mut lines = opened.splitn(3, |byte| *byte == b'\n');
    let content: &RawValue = serde_json::from_slice(lines.next()?).ok()?;
    let shapes: Shapes = serde_json::from_slice(lines.next()?).ok()?;
    let mut numbers = lines.next()?.to_vec();
    let mut crc = crc32fast::Hasher::new();
    crc.update(content.get().as_bytes());
    let mut entries = serde_json::Map::new();
    let mut end = 0;
    for (name, shape) in shapes {
        let bytes = shape.iter().try_fold(8usize, |bytes, &axis| bytes.checked_mul(axis))?;
        let start = end;
        end += bytes;
        if end > crate::MOST_BYTES {
            return None;
        }
        numbers.resize(numbers.len().max(end), 0);
        crc.update(name.as_bytes());
        shape.iter().for_each(|&axis| crc.update(&(axis as u64).to_le_bytes()));
        crc.update(&numbers[start..end]);
        let entry = Entry { dtype: "F64".into(), shape, data_offsets: [start, end] };
        entries.insert(name, serde_json::to_value(entry).ok()?);
    }
    numbers.truncate(end);
    let checksum = format!("{:08x}", crc.finalize());
    let header = Header { kind: "model".into(), version: 2, checksum, content };
    let header = serde_json::to_string(&header).ok()?;
    entries.insert("__metadata__".into(), serde_json::json!({ "anyk": header }));
    let mut head = serde_json::to_string(&entries).ok()?.into_bytes();
    head.resize(head.len().next_multiple_of(8), b' ');
    Some([&(head.len() as u64).to_le_bytes()[..], &head, &numbers].concat())
}

/// Returns the opened form of a container; `None` for any other file.
pub fn opened(file: &[u8]) -> Option<Vec<u8>> {
    let length = usize::try_from(u64::from_le_bytes(*file.first_chunk()?)).ok()?;
    let head: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(file.get(8..8 + length)?).ok()?;
    let numbers = &file[8 + length..];
    let header = head.get("__metadata__")?.get("anyk")?.as_str()?;
    let header: Header<'_> = serde_json::from_str(header).ok()?;
    let (mut shapes, mut data) = (Shapes::new(), Vec::new());
    // The map is sorted by name, the order that `sealed` expects.
    for (name, entry) in head.iter().filter(|(name, _)| *name != "__metadata__") {
        let Entry { shape, data_offsets: [start, end], .. } =
            serde_json::from_value(entry.clone()).ok()?;
        data.extend_from_slice(numbers.get(start..end)?);
        shapes.insert(name.clone(), shape);
    }
    let shapes = serde_json::to_string(&shapes).ok()?;
    Some([header.content.get().as_bytes(), b"\n", shapes.as_bytes(), b"\n", &data].concat())
}
