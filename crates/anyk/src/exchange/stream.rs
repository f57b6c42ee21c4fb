//! Splitter that cuts a stream into JSON documents while it arrives.
//!
//! Most documents are on one line, but a document may span many lines. Brackets outside texts determine where a
//! document ends. A document that is never closed must not consume the rest of the stream. A line that cannot
//! continue the open document therefore starts a new document.

use std::io::{self, Read};

use crate::exchange::Input;
use crate::exchange::read::check_length;

/// Number of bytes per read, enough for a few hundred cells.
const CHUNK: usize = 1 << 19;

/// Byte-order mark that some programs put before UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Documents that arrived together.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    documents: Vec<Place>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    start: usize,
    end: usize,
    part: usize,
    lines: usize,
}

impl Batch {
    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Returns whether there are no documents.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Returns the document at an index as an input.
    pub fn input<'a>(&'a self, index: usize, name: &'a str) -> Option<Input<'a>> {
        let &Place { start, end, part, lines } = self.documents.get(index)?;
        Some(Input { bytes: self.bytes.get(start..end)?, name, part, lines })
    }
}

/// State of the splitter.
#[derive(Debug, Default, Clone, Copy)]
struct Scan {
    /// Start of the open document, if there is one.
    start: Option<usize>,
    /// Number of lines before the open document.
    lines_at_start: usize,
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// Last byte that is not a blank; this byte determines whether a bracket may follow.
    last: u8,
    /// Whether only blanks followed the last end of a line.
    at_line_start: bool,
    /// Whether the open document is not JSON; such a document ends with its line.
    is_garbage: bool,
}

/// Iterator over the documents of a stream. Input other than JSON is a single document.
#[derive(Debug)]
pub struct Documents<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Number of bytes of the buffer that have been scanned.
    scanned: usize,
    scan: Scan,
    /// Number of documents and lines before the scan position.
    parts: usize,
    lines: usize,
    /// Whether the stream is JSON; unknown before its first byte.
    is_json: Option<bool>,
    ended: bool,
}

impl<R: Read> Documents<R> {
    /// Builds an iterator over the documents of a reader.
    pub fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            scanned: 0,
            scan: Scan { at_line_start: true, ..Scan::default() },
            parts: 0,
            lines: 0,
            is_json: None,
            ended: false,
        }
    }

    /// Returns the next document as soon as it is complete, together with all others that have arrived, or `None`
    /// at the end.
    pub fn next_batch(&mut self) -> io::Result<Option<Batch>> {
        let mut documents = Vec::new();
        while documents.is_empty() && !self.ended {
            self.fill()?;
            if self.is_json.is_none() {
                self.is_json = self.sniff();
            }
            match self.is_json {
                Some(true) => self.cut(&mut documents),
                _ if self.ended => documents.extend(self.rest()),
                _ => {}
            }
        }
        if documents.is_empty() {
            return Ok(None);
        }
        // Keep the open document.
        let end = self.scan.start.unwrap_or(self.scanned);
        let rest = self.buffer.split_off(end);
        let bytes = std::mem::replace(&mut self.buffer, rest);
        self.scanned -= end;
        self.scan.start = self.scan.start.map(|_| 0);
        Ok(Some(Batch { bytes, documents }))
    }

    /// Reads once, up to the limits.
    fn fill(&mut self) -> io::Result<()> {
        let held = self.buffer.len();
        check_length(&self.buffer)?;
        self.buffer.resize(held + CHUNK, 0);
        let read = loop {
            match self.reader.read(&mut self.buffer[held..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome,
            }
        };
        self.buffer.truncate(held + read.as_ref().map_or(0, |&read| read));
        self.ended = read? == 0;
        Ok(())
    }

    /// Returns whether the stream is JSON according to its first byte.
    fn sniff(&self) -> Option<bool> {
        // The byte-order mark may arrive in parts.
        if !self.ended && self.buffer.len() < MARK.len() && MARK.starts_with(&self.buffer) {
            return None;
        }
        let bytes = self.buffer.strip_prefix(MARK).unwrap_or(&self.buffer);
        let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        first.map(|byte| matches!(byte, b'{' | b'['))
    }

    /// Returns the whole input as one document.
    fn rest(&mut self) -> Option<Place> {
        self.scanned = self.buffer.len();
        Some(Place { start: 0, end: self.buffer.len(), part: 0, lines: 0 })
    }

    /// Scans the new bytes, and adds the documents that are complete.
    fn cut(&mut self, documents: &mut Vec<Place>) {
        let mut scan = self.scan;
        // The byte-order mark does not belong to the first document.
        if self.parts == 0 && self.scanned == 0 && self.buffer.starts_with(MARK) {
            self.scanned = 3;
        }
        for at in self.scanned..self.buffer.len() {
            let byte = self.buffer[at];
            if scan.in_text && byte != b'\n' {
                match byte {
                    _ if scan.escaped => scan.escaped = false,
                    b'\\' => scan.escaped = true,
                    b'"' => scan.in_text = false,
                    _ => {}
                }
                continue;
            }
            let is_open = scan.start.is_some();
            // A line end inside a text, or a bracket that cannot follow the last byte: the open document is
            // broken.
            let breaks = match byte {
                b'\n' => scan.in_text || scan.is_garbage,
                b'{' | b'[' => {
                    is_open && scan.at_line_start && !matches!(scan.last, b',' | b':' | b'[' | b'{')
                }
                _ => false,
            };
            if breaks {
                self.close(&mut scan, documents, at);
            }
            match byte {
                b'\n' => {
                    self.lines += 1;
                    scan.at_line_start = true;
                    continue;
                }
                _ if byte.is_ascii_whitespace() => continue,
                _ => {}
            }
            scan.at_line_start = false;
            scan.last = byte;
            if scan.start.is_none() {
                scan.start = Some(at);
                scan.lines_at_start = self.lines;
                scan.is_garbage = !matches!(byte, b'{' | b'[');
            }
            match byte {
                _ if scan.is_garbage => {}
                b'"' => scan.in_text = true,
                b'{' | b'[' => scan.depth += 1,
                b'}' | b']' => {
                    scan.depth -= 1;
                    if scan.depth == 0 {
                        self.close(&mut scan, documents, at + 1);
                    }
                }
                _ => {}
            }
        }
        self.scanned = self.buffer.len();
        if self.ended {
            let end = self.buffer.len();
            self.close(&mut scan, documents, end);
        }
        self.scan = scan;
    }

    /// Ends the open document, if there is one.
    fn close(&mut self, scan: &mut Scan, documents: &mut Vec<Place>, end: usize) {
        if let Some(start) = scan.start {
            let (part, lines) = (self.parts, scan.lines_at_start);
            documents.push(Place { start, end, part, lines });
            self.parts += 1;
        }
        *scan = Scan { at_line_start: scan.at_line_start, ..Scan::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reader that returns a few bytes at a time.
    struct Dribble<'a>(&'a [u8], usize);

    impl Read for Dribble<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(out.len());
            out[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    /// Returns the documents with their lines, and checks the order of their parts.
    fn cut(text: &str, at_once: usize) -> Vec<(usize, String)> {
        let mut documents = Documents::new(Dribble(text.as_bytes(), at_once));
        let mut found = Vec::new();
        while let Some(batch) = documents.next_batch().unwrap() {
            for index in 0..batch.len() {
                let input = batch.input(index, "x").unwrap();
                assert_eq!(input.part, found.len());
                found.push((input.lines, String::from_utf8(input.bytes.to_vec()).unwrap()));
            }
        }
        found
    }

    #[test]
    fn documents_are_cut_wherever_they_stand() {
        let text = "\u{feff}{\"a\":1}\n\n {\"b\":[\n{\"c\":\"}\\\"]\"},\n{}\n]}{\"d\":2} [3]\n";
        for at_once in [1, 2, 7, 1000] {
            let found = cut(text, at_once);
            let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
            let second = "{\"b\":[\n{\"c\":\"}\\\"]\"},\n{}\n]}";
            assert_eq!(texts, ["{\"a\":1}", second, "{\"d\":2}", "[3]"]);
            assert_eq!(found.iter().map(|(lines, _)| *lines).collect::<Vec<_>>(), [0, 2, 5, 5]);
        }
    }

    #[test]
    fn a_broken_document_does_not_take_the_next_one_along() {
        for broken in
            ["{\"a\":[1", "{\"a\":\"x", "nonsense {", "{\"a\":1}}", "{\"a\":[1}", "{\"a\" 1"]
        {
            let text = format!("{{\"z\":0}}\n{broken}\n{{\"b\":2}}\n{{\"c\":3}}\n");
            for at_once in [1, 5, 1000] {
                let found = cut(&text, at_once);
                let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
                assert_eq!(texts[0], "{\"z\":0}", "{broken}");
                assert!(texts.ends_with(&["{\"b\":2}", "{\"c\":3}"]), "{broken}: {texts:?}");
            }
        }
        // If a bracket could follow, one document is lost, but not all.
        assert!(cut("{\"a\":[1,\n{\"b\":2}\n{\"c\":3}\n", 1000).len() >= 2);
    }

    #[test]
    fn what_is_not_json_is_one_document() {
        let text = "id,distance_m\na,60\n{\n";
        assert_eq!(cut(text, 3), [(0, text.to_owned())]);
        assert_eq!(cut(" \n", 1), [(0, " \n".to_owned())]);
    }

    proptest! {
        /// Documents are returned unchanged, however they arrive.
        #[test]
        fn cutting_undoes_joining(
            texts in prop::collection::vec("[a-z\\[\\]{}\"\\\\,\n]{0,12}", 1..8),
            at_once in 1usize..40,
        ) {
            let documents: Vec<String> =
                texts.iter().map(|text| serde_json::json!({ "a": [text, { "b": text }] }).to_string()).collect();
            let found = cut(&documents.join("\n"), at_once);
            let found: Vec<String> = found.into_iter().map(|(_, text)| text).collect();
            prop_assert_eq!(found, documents);
        }
    }
}
