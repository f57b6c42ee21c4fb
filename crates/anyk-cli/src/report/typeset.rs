//! Symbols as they are printed: ε_D with its D below the line, B^v with its v above it.
//!
//! Text is escaped first and typeset then. A script is letters, digits, signs and blanks alone, and what is between `_` or
//! `^` and its base is nothing: no entity is cut, and no text of anybody's becomes a tag.

/// Where the text is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Medium {
    Html,
    Svg,
}

/// Longest script without brackets (`P_max`), and within brackets (`Σ_(j≠k)`, `K^(−0.98 ± 0.03)`).
const LONGEST: usize = 4;
const LONGEST_IN_BRACKETS: usize = 16;

/// Escaped text with its sub- and superscripts.
pub(super) fn typeset(escaped: &str, medium: Medium) -> String {
    let text: Vec<char> = escaped.chars().collect();
    let mut shown = String::with_capacity(escaped.len());
    let mut place = 0;
    // SVG has no way back to the line but to say how far it is.
    let mut is_shifted = false;
    while place < text.len() {
        match script(&text, place) {
            Some((script, end)) => {
                let below = text[place] == '_';
                if std::mem::take(&mut is_shifted) {
                    shown.push_str("</tspan>");
                }
                match (medium, below) {
                    (Medium::Html, true) => push(&mut shown, ["<sub>", "</sub>"], script),
                    (Medium::Html, false) => push(&mut shown, ["<sup>", "</sup>"], script),
                    // Its em is three quarters of the line's, to which the way back is measured.
                    (Medium::Svg, true) => {
                        push(
                            &mut shown,
                            ["<tspan dy=\"0.3em\" font-size=\"75%\">", "</tspan>"],
                            script,
                        );
                    }
                    (Medium::Svg, false) => {
                        push(
                            &mut shown,
                            ["<tspan dy=\"-0.45em\" font-size=\"75%\">", "</tspan>"],
                            script,
                        );
                    }
                }
                if medium == Medium::Svg && end < text.len() {
                    let back = if below { "-0.225em" } else { "0.3375em" };
                    shown.push_str(&format!("<tspan dy=\"{back}\">"));
                    is_shifted = true;
                }
                place = end;
            }
            None => {
                shown.push(text[place]);
                place += 1;
            }
        }
    }
    if is_shifted {
        shown.push_str("</tspan>");
    }
    shown
}

fn push(shown: &mut String, [open, close]: [&str; 2], script: &[char]) {
    shown.push_str(open);
    shown.extend(script);
    shown.push_str(close);
}

/// The script that begins at this place, if one does, and the place after it.
fn script(text: &[char], place: usize) -> Option<(&[char], usize)> {
    let before = |back: usize| place.checked_sub(back).and_then(|place| text.get(place)).copied();
    let base = before(1)?;
    match text[place] {
        // One letter, not the end of a name such as my_policy; it may wear a hat.
        '_' => {
            let (letter, ahead) =
                if base == '\u{302}' { (before(2)?, before(3)) } else { (base, before(2)) };
            let inside =
                |c: char| c.is_alphanumeric() || matches!(c, '_' | '^' | '&' | '#' | '/' | '.');
            if !letter.is_alphabetic() || ahead.is_some_and(inside) {
                return None;
            }
        }
        '^' if base.is_alphanumeric() || base == ')' => {}
        _ => return None,
    }
    let rest = &text[place + 1..];
    if rest.first() == Some(&'(') {
        let length = rest.iter().take(LONGEST_IN_BRACKETS + 2).position(|&c| c == ')')?;
        let inside = rest.get(1..length)?;
        let plain = |c: &char| {
            c.is_alphanumeric() || matches!(c, ' ' | '+' | '-' | '−' | '±' | '/' | '≠' | '.' | ',')
        };
        return (!inside.is_empty() && inside.iter().all(plain))
            .then_some((inside, place + 2 + length));
    }
    let sign = usize::from(text[place] == '^' && matches!(rest.first(), Some('-' | '−' | '+')));
    let letters = rest[sign..].iter().take_while(|c| c.is_alphanumeric()).count();
    let end = sign + letters;
    // What goes on is a name: a_b.csv, x_1_2.
    let goes_on = match rest.get(end) {
        Some('_') => true,
        Some('.') => rest.get(end + 1).is_some_and(|c| c.is_alphanumeric()),
        _ => false,
    };
    ((1..=LONGEST).contains(&letters) && !goes_on).then_some((&rest[..end], place + 1 + end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        typeset(text, Medium::Html)
    }

    #[test]
    fn symbols_are_typeset() {
        for (text, shown) in [
            ("ε_D = 6e-6", "ε<sub>D</sub> = 6e-6"),
            ("B^v, A_K", "B<sup>v</sup>, A<sub>K</sub>"),
            ("0 or P_max.", "0 or P<sub>max</sub>."),
            ("(W_K / K)", "(W<sub>K</sub> / K)"),
            ("K·g_k·P_k", "K·g<sub>k</sub>·P<sub>k</sub>"),
            ("N_t = 8, g_kk ± 0.1", "N<sub>t</sub> = 8, g<sub>kk</sub> ± 0.1"),
            ("M-GNN^10, paper", "M-GNN<sup>10</sup>, paper"),
            ("∝ K^(−0.98), fitted", "∝ K<sup>−0.98</sup>, fitted"),
            ("(ln K)^(−0.98 ± 0.03)", "(ln K)<sup>−0.98 ± 0.03</sup>"),
            ("Σ_(j≠k) x_j", "Σ<sub>j≠k</sub> x<sub>j</sub>"),
            ("10^−3", "10<sup>−3</sup>"),
            ("b\u{302}_k", "b\u{302}<sub>k</sub>"),
            ("W_200 (MHz)", "W<sub>200</sub> (MHz)"),
            ("“x_k”", "“x<sub>k</sub>”"),
        ] {
            assert_eq!(html(text), shown);
        }
    }

    #[test]
    fn names_stay_names() {
        for text in [
            "my_policy.py",
            "power_w",
            "a_b.csv",
            "x_1_2",
            "_k",
            "^2",
            "a_",
            "a^",
            "a_()",
            "P_maximum",
            "a_(",
            "a_(b",
            "user_1",
            "C:/a_b/c_d.e",
            "x ^ y",
            "a__b",
            "--max_k",
            "&lt;_k",
            "&#39;_k",
            "e^(&lt;b&gt;)",
            "e^(a&quot;b)",
        ] {
            assert_eq!(html(text), text);
        }
    }

    #[test]
    fn svg_comes_back_to_the_line() {
        let text = typeset("A_K and B^v end", Medium::Svg);
        assert_eq!(
            text,
            "A<tspan dy=\"0.3em\" font-size=\"75%\">K</tspan><tspan dy=\"-0.225em\"> and B</tspan>\
             <tspan dy=\"-0.45em\" font-size=\"75%\">v</tspan><tspan dy=\"0.3375em\"> end</tspan>"
        );
        assert_eq!(typeset("x_k", Medium::Svg), "x<tspan dy=\"0.3em\" font-size=\"75%\">k</tspan>");
        // Steps down and up add up to nothing, in ems of the line.
        let shifts = text.split("dy=\"").skip(1).map(|part| {
            let number: f64 = part.split("em").next().unwrap().parse().unwrap();
            number * if part.contains("75%") { 0.75 } else { 1.0 }
        });
        assert!(shifts.sum::<f64>().abs() < 1e-12);
    }
}
