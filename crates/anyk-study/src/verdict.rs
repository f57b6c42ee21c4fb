//! Rules that turn measured numbers into words. Every verdict of a study follows from one of these rules and the
//! numbers of its table.

use anyk::framework::{Claim, Holds};
use anyk::math::Exponent;

/// Behavior of a positive quantity as the number of users K grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trend {
    /// Decrease at least as fast as `K^(−1/4)`, or to 0.
    Falls,
    /// Slower decrease, like a power of `ln K`: the sum over all doublings of K is infinite.
    FallsSlowly,
    /// Exponent between −1/20 and 1/20.
    Stays,
    /// Exponent above 1/20.
    Grows,
    /// One of the last three: the uncertainty of the exponent does not tell them apart.
    NotFast,
    /// An uncertainty of the exponent that allows no word.
    Undecided,
}

/// Exponents below which a quantity falls, and falls slowly. It grows above the second with the opposite sign.
const FALLS: f64 = -0.25;
const STAYS: f64 = -0.05;

impl Trend {
    /// Explanation of the words in notes.
    pub(crate) const RULE: &'static str = "a quantity “falls” if its exponent of K is below −0.25, “falls slowly” below \
        −0.05, “stays” up to +0.05, and “grows” above that. If the 95 % interval of the exponent spans more than two of \
        these, the trend is undecided, or “does not fall fast” if the interval excludes “falls”";

    /// Classifies an exponent in K by its value, unless its 95 % interval spans more than two words.
    pub(crate) fn of_exponent(exponent: Exponent) -> Self {
        let word = |value: f64| match value {
            value if value < FALLS => Self::Falls,
            value if value < STAYS => Self::FallsSlowly,
            value if value <= -STAYS => Self::Stays,
            _ => Self::Grows,
        };
        let Exponent { value, half_width } = exponent;
        let (low, high) = (word(value - half_width), word(value + half_width));
        match high as u8 - low as u8 {
            _ if !(value.is_finite() && half_width.is_finite()) => Self::Undecided,
            0 | 1 => word(value),
            _ if low > Self::Falls => Self::NotFast,
            _ => Self::Undecided,
        }
    }

    /// Classifies points `(K, y)`, ascending in K, by the exponent fitted to them, if there is one.
    pub(crate) fn of(points: &[(f64, f64)], exponent: Option<Exponent>) -> Self {
        match (points.last(), exponent) {
            // At 0 to machine accuracy, the quantity falls faster than any exponent can tell.
            (Some((_, last)), _) if *last <= 0.0 => Self::Falls,
            (_, Some(exponent)) => Self::of_exponent(exponent),
            (_, None) => Self::Undecided,
        }
    }

    /// Classifies points by an exponent that is fitted here.
    pub(crate) fn fit(points: &[(f64, f64)]) -> Self {
        Self::of(points, Exponent::fit(points))
    }

    /// Returns whether the quantity vanishes in the limit, fast or slowly; `None` if unknown.
    pub(crate) fn vanishes(self) -> Option<bool> {
        (self < Self::NotFast).then_some(self < Self::Stays)
    }

    /// Returns whether steps of this kind, one for each doubling of K, have a finite sum; `None` if unknown.
    pub(crate) fn settles(self) -> Option<bool> {
        (self != Self::Undecided).then_some(self == Self::Falls)
    }

    /// Name in texts.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Falls => "falls",
            Self::FallsSlowly => "falls slowly",
            Self::Stays => "stays",
            Self::Grows => "grows",
            Self::NotFast => "does not fall fast",
            Self::Undecided => "is undecided",
        }
    }
}

/// Returns whether a statement holds, in words; `None` means undecided.
pub(crate) fn holds(statement: Option<bool>) -> &'static str {
    match statement {
        Some(true) => "holds",
        Some(false) => "does not hold",
        None => "is undecided",
    }
}

/// Returns whether all, some or none of several statements hold. The result is undecided if the statements without an
/// answer could change it.
pub(crate) fn all_hold(statements: impl IntoIterator<Item = Option<bool>>) -> Holds {
    let all: Vec<Option<bool>> = statements.into_iter().collect();
    match Holds::in_all(all.iter().copied().flatten()) {
        Holds::Yes | Holds::No if all.contains(&None) => Holds::Undecided,
        decided => decided,
    }
}

/// Returns whether several statements hold together. One that fails decides; otherwise, one without an answer leaves it
/// open.
pub(crate) fn all_of(statements: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let all: Vec<Option<bool>> = statements.into_iter().collect();
    let fails = all.contains(&Some(false));
    (fails || !all.contains(&None)).then_some(!fails)
}

/// Words after a measurement whose verdict is undecided because too few runs contradict each other.
pub(crate) fn pointer(holds: Holds) -> &'static str {
    either(
        holds == Holds::Undecided,
        [". These runs are too few to decide; the study `rates` has more", ""],
    )
}

/// Adds to claims what their verdicts cover.
pub(crate) fn covering(claims: impl IntoIterator<Item = Claim>, covers: &str) -> Vec<Claim> {
    claims.into_iter().map(|claim| claim.covering(covers)).collect()
}

/// Returns the first word if the condition is true, else the second.
pub(crate) fn either(first: bool, words: [&'static str; 2]) -> &'static str {
    words[usize::from(!first)]
}

/// Returns whether an exponent equals the expected one, within its 95 % interval plus 0.1.
pub(crate) fn is_exponent(exponent: Option<Exponent>, expected: f64) -> bool {
    exponent.is_some_and(|found| (found.value - expected).abs() <= found.half_width + 0.1)
}

/// Returns whether a value equals the expected one, within a share of it.
pub(crate) fn is_within(value: f64, expected: f64, share: f64) -> bool {
    (value - expected).abs() <= share * expected.abs()
}

/// Returns a number of runs in words.
pub(crate) fn runs_words(runs: u64) -> String {
    format!("{runs} run{}", if runs == 1 { "" } else { "s" })
}

/// Joins names in a sentence: “a”, “a and b”, “a, b and c”.
pub(crate) fn listed(names: &[&str]) -> String {
    match names {
        [] => "none".to_owned(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn power(exponent: f64) -> Vec<(f64, f64)> {
        [4.0f64, 16.0, 64.0, 256.0].map(|k| (k, k.powf(exponent))).to_vec()
    }

    #[test]
    fn every_kind_of_sequence_gets_its_word() {
        for (exponent, trend, vanishes, settles) in [
            (-0.5, Trend::Falls, true, true),
            (-0.12, Trend::FallsSlowly, true, false),
            (0.02, Trend::Stays, false, false),
            (-0.02, Trend::Stays, false, false),
            (0.3, Trend::Grows, false, false),
        ] {
            let found = Trend::fit(&power(exponent));
            assert_eq!(found, trend, "{exponent}");
            assert_eq!((found.vanishes(), found.settles()), (Some(vanishes), Some(settles)));
        }
        // The last value is 0, whose logarithm cannot be fitted.
        assert_eq!(Trend::fit(&[(4.0, 1.0), (8.0, 1e-9), (16.0, 0.0)]), Trend::Falls);
        // An interval this wide allows no word.
        let vague = Exponent { value: -0.1, half_width: 0.3 };
        assert_eq!(Trend::of_exponent(vague), Trend::Undecided);
        assert_eq!((Trend::Undecided.vanishes(), Trend::Undecided.settles()), (None, None));
        assert_eq!(Trend::fit(&[(4.0, 1.0)]), Trend::Undecided);
        let not_fast = Trend::of_exponent(Exponent { value: 0.0, half_width: 0.08 });
        assert_eq!((not_fast.vanishes(), not_fast.settles()), (None, Some(false)));
        // An interval that spans two words still has one.
        let near = Exponent { value: 0.03, half_width: 0.04 };
        assert_eq!(Trend::of_exponent(near), Trend::Stays);
    }

    #[test]
    fn statements_hold_in_all_cases_in_some_or_in_none() {
        let [yes, no, open] = [Some(true), Some(false), None];
        for (all, expected) in [
            (vec![yes, yes], Holds::Yes),
            (vec![yes, open], Holds::Undecided),
            (vec![open, no], Holds::Undecided),
            (vec![no, yes, open], Holds::Partly),
            (vec![no], Holds::No),
        ] {
            assert_eq!(all_hold(all), expected);
        }
        assert_eq!([[yes, open], [open, no], [yes, yes]].map(all_of), [open, no, yes]);
    }

    #[test]
    fn numbers_against_what_is_expected() {
        let exponent = Exponent { value: -0.95, half_width: 0.02 };
        assert!(is_exponent(Some(exponent), -1.0) && !is_exponent(Some(exponent), -0.5));
        assert!(!is_exponent(None, -1.0));
        assert!(is_within(1.04, 1.0, 0.05) && !is_within(1.06, 1.0, 0.05));
        assert!(!is_within(f64::NAN, 1.0, 0.05));
        assert_eq!([holds(Some(true)), holds(Some(false))], ["holds", "does not hold"]);
        assert_eq!(
            [listed(&[]), listed(&["a"]), listed(&["a", "b", "c"])],
            ["none", "a", "a, b and c"]
        );
    }
}
