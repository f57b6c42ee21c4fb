//! CSV output.

/// Formats one line of CSV. Fields that contain `#` are quoted, because readers take a line that starts with `#` for a
/// comment.
pub(crate) fn csv_line<'a>(fields: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new().comment(Some(b'#')).from_writer(Vec::new());
    // Writing to memory cannot fail.
    let _ = writer.write_record(fields);
    writer.into_inner().unwrap_or_default()
}
