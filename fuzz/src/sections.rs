//! Target that reads the stored sections of studies with a valid fingerprint.

use anyk_study::{STUDIES, Section, Summary};

/// Adds the fingerprint (64-bit FNV-1a, as in the library), so that a mutated section passes the check.
fn sealed(section: &str) -> String {
    let print = section.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{{\"fingerprint\":\"{print:016x}\",\"section\":{section}}}")
}

/// Adds the fingerprint and reads the section. Returns `None` if the input is not text or does not name a study.
pub fn read(bytes: &[u8]) -> Option<Result<Section, String>> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    let study = STUDIES.iter().find(|study| text.contains(&format!("\"{}\"", study.name)))?;
    Some(Section::from_bytes(sealed(text).as_bytes(), study))
}

pub(crate) fn section(bytes: &[u8]) {
    // Without a fingerprint, the section is rejected.
    let _ = Section::from_bytes(bytes, &STUDIES[0]);
    let section = match read(bytes) {
        None => return,
        Some(Err(why)) => return assert!(!why.is_empty() && why.len() < 4000),
        Some(Ok(section)) => section,
    };
    for table in section.tables() {
        assert!(table.has_plain_name() && table.check().is_ok());
        // A page shows the table with its missing cells filled.
        let (heads, rows) = table.text();
        assert!(rows.iter().all(|row| row.len() == heads.len()));
        assert!(rows.iter().map(Vec::len).sum::<usize>() <= 200_000);
    }
    let sections = [section];
    let summary = Summary::of(&sections);
    let said = [&summary.reproduced, &summary.contradicted, &summary.undecided, &summary.new];
    let claims = sections[0].tables().iter().map(|table| table.claims.len()).sum::<usize>();
    assert_eq!(said.iter().map(|said| said.len()).sum::<usize>(), claims, "a claim is lost");
    // A section stays the same when it is written and read. The first time, bounds without a point are left out.
    let study = STUDIES.iter().find(|study| study.name == sections[0].study()).unwrap();
    let again = |section: &Section| {
        Section::from_bytes(&section.to_bytes().unwrap(), study)
            .expect("a section that was written can be read")
    };
    let first = again(&sections[0]);
    assert_eq!(again(&first), first);
}
