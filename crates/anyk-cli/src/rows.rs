//! Lines of CSV.

/// One line of CSV. A field with a `#` is quoted: a line that starts with one is read as a comment.
pub(crate) fn csv_line<'a>(fields: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new().comment(Some(b'#')).from_writer(Vec::new());
    // Into memory: nothing can fail.
    let _ = writer.write_record(fields);
    writer.into_inner().unwrap_or_default()
}
