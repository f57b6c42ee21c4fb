//! What readers are given: bytes, and where they come from.

/// The bytes of a file, of standard input, or of one document of either.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// What is in it.
    pub bytes: &'a [u8],
    /// How messages name the file.
    pub name: &'a str,
    /// Documents before it in the file.
    pub part: usize,
    /// Lines before it in the file.
    pub lines: usize,
}

impl<'a> Input<'a> {
    /// All of a file.
    pub fn new(bytes: &'a [u8], name: &'a str) -> Self {
        Self { bytes, name, part: 0, lines: 0 }
    }
}
