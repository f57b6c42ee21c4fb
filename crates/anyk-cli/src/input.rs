//! Files and standard input, read whole and within bounds.

use std::fs::File;
use std::io::{self, Read};

use anyk::exchange::Model;

use crate::failure::Failure;

/// Larger inputs are refused before they fill the memory.
const MOST_BYTES: u64 = 1 << 30;

/// How messages name an input.
pub(crate) fn name(path: &str) -> &str {
    if path == "-" { "standard input" } else { path }
}

/// The bytes of a file, or of standard input for `-`.
pub(crate) fn read(path: &str) -> Result<Vec<u8>, Failure> {
    let fail = |error: io::Error| Failure::input(format!("{}: cannot read: {error}", name(path)));
    let mut bytes = Vec::new();
    if path == "-" {
        io::stdin().lock().take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    } else {
        let file = File::open(path).map_err(fail)?;
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    }
    if bytes.len() as u64 > MOST_BYTES {
        let message = format!("{}: larger than 1 GiB, expected less", name(path));
        return Err(Failure::input(message));
    }
    Ok(bytes)
}

/// A model from its file.
pub(crate) fn model(path: &str) -> Result<Model, Failure> {
    Model::from_bytes(&read(path)?)
        .map_err(|error| Failure::input(format!("{}: {error}", name(path))))
}
