//! Input of readers: bytes, with the file and position that they come from.

/// Bytes of a file, of standard input, or of one document of either.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Content.
    pub bytes: &'a [u8],
    /// Name of the file in messages.
    pub name: &'a str,
    /// Number of documents before the input in its file.
    pub part: usize,
    /// Number of lines before the input in its file.
    pub lines: usize,
}

impl<'a> Input<'a> {
    /// Builds the input for a whole file.
    pub fn new(bytes: &'a [u8], name: &'a str) -> Self {
        Self { bytes, name, part: 0, lines: 0 }
    }
}
