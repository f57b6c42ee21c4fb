//! Escaping of text for terminals. Names of users, links, columns and files come from input files and may contain
//! escape sequences that a terminal would interpret. The program prints them only as visible escapes.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Maximum number of characters of a printed line; longer lines are cut.
const LONGEST_LINE: usize = 10_000;

/// Returns whether a terminal interprets a character instead of showing it. Such characters are control characters,
/// line and paragraph separators, and characters that change the text direction and could make the text read
/// differently.
pub(crate) fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{2028}' | '\u{2029}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the text with interpreted characters as escapes like `\u{1b}`. Line breaks stay, and overlong lines are cut.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let is_long = |line: &str| line.len() > LONGEST_LINE;
    let obeyed = |c: char| c != '\n' && is_obeyed(c);
    if !text.contains(obeyed) && !text.split('\n').any(is_long) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len().min(LONGEST_LINE));
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            shown.push('\n');
        }
        push_line(&mut shown, line);
    }
    Cow::Owned(shown)
}

/// Returns the text like [`printable`], but also escapes line breaks, which would end the row of a table.
pub(crate) fn printable_cell(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) && text.len() <= LONGEST_LINE {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    push_line(&mut shown, text);
    Cow::Owned(shown)
}

fn push_line(shown: &mut String, line: &str) {
    let mut left = LONGEST_LINE;
    for c in line.chars() {
        if left == 0 {
            shown.push('…');
            return;
        }
        left -= 1;
        if is_obeyed(c) {
            let _ = write!(shown, "{}", c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown() {
        for (text, shown) in [
            ("plain µ é 漢", "plain µ é 漢"),
            ("two\nlines", "two\nlines"),
            ("\x1b[31mred", "\\u{1b}[31mred"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("a\rb\x07\x7f\0", "a\\u{d}b\\u{7}\\u{7f}\\u{0}"),
            ("user\u{202e}nimda", "user\\u{202e}nimda"),
            ("\u{2066}a\u{2069}\n\u{1b}", "\\u{2066}a\\u{2069}\n\\u{1b}"),
        ] {
            assert_eq!(printable(text), shown);
        }
        assert_eq!(printable_cell("two\nlines"), "two\\u{a}lines");
        assert!(matches!(printable("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn endless_lines_are_cut() {
        let long = "é".repeat(LONGEST_LINE + 1);
        let text = format!("a\n{long}\nb");
        let shown = printable(&text);
        assert_eq!(shown.chars().count(), LONGEST_LINE + 1 + 4);
        assert!(shown.starts_with("a\né") && shown.ends_with("é…\nb"));
        assert_eq!(printable_cell(&long).chars().count(), LONGEST_LINE + 1);
        let fits = "é".repeat(LONGEST_LINE);
        assert_eq!(printable(&fits), fits);
    }
}
