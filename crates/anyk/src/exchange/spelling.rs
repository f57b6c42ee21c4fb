//! Detection of misspelled names.

/// Returns the known name that a misspelled name resembles. It may differ in case, have a blank or a dash
/// instead of an underscore, and differ in one letter, or in two if the known name is long. Known names of two
/// or three letters are similar to too many others, so they only match in another case.
pub fn slip_of<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let longest = known.iter().map(|known| known.len()).max().unwrap_or(0);
    // A name this long cannot be within two edits of a known name, and may be megabytes long.
    if name.len() > longest + 8 {
        return None;
    }
    let plain: String = name
        .trim()
        .chars()
        .map(|letter| if matches!(letter, ' ' | '-') { '_' } else { letter.to_ascii_lowercase() })
        .collect();
    known.iter().copied().find(|known| {
        let most = match known.len() {
            0..4 => 0,
            4..7 => 1,
            _ => 2,
        };
        *known != name && strsim::osa_distance(&plain, known) <= most
    })
}

#[cfg(test)]
mod tests {
    use super::slip_of;

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        let known = ["id", "distance_m", "gain_db", "snr_db", "epsilon", "cell"];
        for (name, meant) in [
            ("distnce_m", "distance_m"),
            ("distance", "distance_m"),
            ("Distance_M", "distance_m"),
            ("distance-m", "distance_m"),
            ("gain_bd", "gain_db"),
            ("epsilo", "epsilon"),
            ("ID", "id"),
            ("cells", "cell"),
        ] {
            assert_eq!(slip_of(name, &known), Some(meant), "{name}");
        }
        for name in ["x", "y", "ue", "uid", "name", "rsrp", "sector", "lat", "gain_db", "", "距離"]
        {
            assert_eq!(slip_of(name, &known), None, "{name}");
        }
        assert_eq!(slip_of(&"x".repeat(1 << 20), &known), None);
    }
}
