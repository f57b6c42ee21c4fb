//! What a folder of results keeps of a study, with a fingerprint that holds.

use anyk_study::{STUDIES, Section, Summary};

/// FNV-1a, 64 bit, as the library has it: a mutation then reaches what stands behind it.
fn sealed(section: &str) -> String {
    let print = section.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{{\"fingerprint\":\"{print:016x}\",\"section\":{section}}}")
}

/// A section, sealed if it is text; by the study that it says it is of.
pub fn read(bytes: &[u8]) -> Option<Result<Section, String>> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    let study = STUDIES.iter().find(|study| text.contains(&format!("\"{}\"", study.name)))?;
    Some(Section::from_bytes(sealed(text).as_bytes(), study))
}

pub(crate) fn section(bytes: &[u8]) {
    // As it is: refused, by its fingerprint at the latest.
    let _ = Section::from_bytes(bytes, &STUDIES[0]);
    let section = match read(bytes) {
        None => return,
        Some(Err(why)) => return assert!(!why.is_empty() && why.len() < 4000),
        Some(Ok(section)) => section,
    };
    for table in section.tables() {
        assert!(table.has_plain_name() && table.check().is_ok());
        // Filled up, as a page shows it.
        let (heads, rows) = table.text();
        assert!(rows.iter().all(|row| row.len() == heads.len()));
        assert!(rows.iter().map(Vec::len).sum::<usize>() <= 200_000);
    }
    let sections = [section];
    let summary = Summary::of(&sections);
    let said = [&summary.reproduced, &summary.contradicted, &summary.undecided, &summary.new];
    let claims = sections[0].tables().iter().map(|table| table.claims.len()).sum::<usize>();
    assert_eq!(said.iter().map(|said| said.len()).sum::<usize>(), claims, "a claim is lost");
    // Written and read, it stays; bounds that belong to no point are left out the first time.
    let study = STUDIES.iter().find(|study| study.name == sections[0].study()).unwrap();
    let again = |section: &Section| {
        Section::from_bytes(&section.to_bytes().unwrap(), study).expect("what is kept can be read")
    };
    let first = again(&sections[0]);
    assert_eq!(again(&first), first);
}
