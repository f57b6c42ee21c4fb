//! Tables and charts that studies and diagnoses return. Their values become text only when a program prints or writes a
//! table.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::exchange::{NotFinite, check_text};

/// Table of a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Stem of its file names and its anchor in a page, such as `table3`: only letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// Heading.
    pub title: String,
    /// One or two sentences that say what the table shows and how it was computed.
    pub note: String,
    /// Columns.
    pub columns: Vec<Head>,
    /// Cells, row by row; short rows are filled with blanks.
    pub rows: Vec<Vec<Value>>,
    /// Chart of the numbers.
    pub chart: Option<Chart>,
    /// Statements of the paper and of AnyK, compared with the numbers; a summary lists them.
    pub claims: Vec<Claim>,
    /// Pictures for a summary of several tables.
    pub pictures: Vec<Picture>,
}

/// Column of a [`Table`]: its head, its unit, and the format of its numbers.
///
/// A string converts into a column with this head. The tuples `(head, format)` and `(head, unit, format)` also convert
/// into a column.
///
/// ```
/// use anyk::framework::Head;
/// let column = Head::from(("W_K", "MHz", "{:.4}"));
/// assert_eq!(column.to_string(), "W_K (MHz)");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Name without the unit.
    pub head: String,
    /// Unit of the numbers, such as `MHz` or `%`. It is empty if there is none, or if the head contains it.
    pub unit: String,
    /// Text of a cell, with a placeholder for each number: `{:.2}`, `{:.4} ± {:.4}` or `{} of {}`. Placeholders are
    /// written as in Rust: `{:.2}` shows two digits, `{:+.2}` adds the sign, `{:e}` and `{:.2e}` are scientific
    /// notation, and `{}` shows all digits.
    pub format: String,
}

/// Value of a cell in a [`Table`]. In JSON it is `null`, a number, a string, a list of numbers, or an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// No value, from `()` or `None`. Tables show a dash.
    Empty,
    /// Whole number. Tables show all its digits.
    Whole(u64),
    /// Number. It takes the first placeholder in the format of the column.
    Number(f64),
    /// Text, which tables show unchanged.
    Text(String),
    /// Several numbers, one for each placeholder in the format of the column. If there are fewer, the text ends
    /// early.
    Numbers(Vec<f64>),
    /// Numbers that need another format than the rest of the column.
    Formatted {
        /// Numbers.
        numbers: Vec<f64>,
        /// Format, written like [`Head::format`].
        format: String,
    },
}

/// Builds a row of `Value`s or `Head`s from items that convert into them. An iterator can follow after a semicolon,
/// and more items after a second semicolon.
///
/// ```
/// use anyk::framework::Table;
/// let table = Table {
///     columns: anyk::row!["method"; [10, 50].map(|k| (format!("K = {k}"), "{:.2} ± {:.2}")); "trainings"],
///     rows: vec![anyk::row!["P-GNN"; [[1.0, 0.125], [2.0, 0.25]]; 3_usize]],
///     ..Table::default()
/// };
/// let (heads, rows) = table.text();
/// assert_eq!(heads, ["method", "K = 10", "K = 50", "trainings"]);
/// assert_eq!(rows, [["P-GNN", "1.00 ± 0.12", "2.00 ± 0.25", "3"]]);
/// ```
#[macro_export]
macro_rules! row {
    ($($cell:expr),* $(,)?) => { vec![$($cell.into()),*] };
    ($($cell:expr),*; $more:expr $(; $($last:expr),+)? $(,)?) => {{
        let mut row = vec![$($cell.into()),*];
        row.extend($more.into_iter().map(Into::into));
        $(row.extend([$($last.into()),+]);)?
        row
    }};
}

/// Statement of the paper or of AnyK, and whether the numbers of a table agree with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Author of the statement.
    pub by: Claimant,
    /// Statement, as a sentence without its full stop.
    pub statement: String,
    /// Measured result, as part of a sentence.
    pub measured: String,
    /// Whether the measurement agrees with the statement.
    pub holds: Holds,
    /// Scope of the verdict: the sizes and the budget of the measurement.
    #[serde(default)]
    pub covers: String,
}

/// Whether a statement holds. In JSON it is `true`, `"partly"`, `false` or `null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "HoldsInJson", into = "HoldsInJson")]
pub enum Holds {
    /// The statement holds.
    Yes,
    /// The statement holds for some of the sizes, methods or counts.
    Partly,
    /// The statement does not hold.
    No,
    /// The numbers do not decide.
    Undecided,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum HoldsInJson {
    Known(Option<bool>),
    Word(Word),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Partly,
}

/// Author of a [`Claim`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claimant {
    /// The paper; the verdict says whether AnyK reproduces its statement.
    Paper,
    /// AnyK; the paper does not make this statement.
    Own,
}

/// Picture of a summary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// Subject of the picture; it is the same for all tables that can draw the picture.
    pub subject: String,
    /// One or two sentences that say what to look at.
    pub caption: String,
    /// Chart.
    pub chart: Chart,
}

/// Chart: curves over two axes, each linear or logarithmic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Heading inside the chart.
    pub title: String,
    /// Label of the horizontal axis, with its unit.
    pub x_label: String,
    /// Label of the vertical axis, with its unit.
    pub y_label: String,
    /// Whether the horizontal axis is logarithmic.
    pub log_x: bool,
    /// Whether the vertical axis is logarithmic.
    pub log_y: bool,
    /// Curves, in the order of the legend.
    pub series: Vec<Series>,
}

/// Curve of a [`Chart`].
///
/// If there are as many dashed as solid curves, the n-th dashed curve takes the colour of the n-th solid one. A curve
/// of the paper and the corresponding one of AnyK are then shown as a pair.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name in the legend.
    pub label: String,
    /// Points, joined in this order. Points outside the domain of an axis are dropped.
    pub points: Vec<(f64, f64)>,
    /// Whether the line is dashed, as for the paper's own figures.
    pub dashed: bool,
    /// Lower and upper end of the interval around each point, one pair per point.
    pub spread: Option<Vec<(f64, f64)>>,
    /// Whether the points are black crosses without a line, which mark points of other curves.
    #[serde(default)]
    pub crosses: bool,
}

impl Table {
    /// Returns the number of columns, including cells without a head.
    pub fn width(&self) -> usize {
        self.rows.iter().map(Vec::len).fold(self.columns.len(), usize::max)
    }

    /// Returns whether the name can be used as a file stem and an anchor: it contains no path and needs no quoting.
    pub fn has_plain_name(&self) -> bool {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !self.name.is_empty() && !self.name.starts_with('.') && self.name.chars().all(plain)
    }

    /// Returns an error if a cell contains NaN or infinity, as a number or in its text.
    pub fn check(&self) -> Result<(), NotFinite> {
        self.rows.iter().enumerate().try_for_each(|(row, cells)| {
            cells.iter().enumerate().try_for_each(|(column, cell)| {
                let head = self.columns.get(column).map_or("", |column| &column.head);
                let place = format!("{}, row {}, {head:?}", self.name, row + 1);
                match cell.numbers().iter().find(|number| !number.is_finite()) {
                    Some(number) => Err(NotFinite { place, value: number.to_string() }),
                    None => check_text(&place, &cell.text(self.format(column))),
                }
            })
        })
    }

    /// Returns the heads and the rows as text. Short rows are filled with blanks.
    pub fn text(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let width = self.width();
        let wide = |mut row: Vec<String>| {
            row.resize(width, String::new());
            row
        };
        let row = |row: &Vec<Value>| {
            let cells = row.iter().enumerate();
            wide(cells.map(|(column, cell)| cell.text(self.format(column))).collect())
        };
        let heads = wide(self.columns.iter().map(Head::to_string).collect());
        (heads, self.rows.iter().map(row).collect())
    }

    fn format(&self, column: usize) -> &str {
        self.columns.get(column).map_or("{}", |column| &column.format)
    }
}

/// Shows the head, with the unit in brackets.
impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.head)?;
        if self.unit.is_empty() { Ok(()) } else { write!(f, " ({})", self.unit) }
    }
}

impl From<&str> for Head {
    fn from(head: &str) -> Self {
        (head, "{}").into()
    }
}

impl From<String> for Head {
    fn from(head: String) -> Self {
        (head, "{}").into()
    }
}

impl<H: Into<String>> From<(H, &str)> for Head {
    fn from((head, format): (H, &str)) -> Self {
        (head, "", format).into()
    }
}

impl<H: Into<String>> From<(H, &str, &str)> for Head {
    fn from((head, unit, format): (H, &str, &str)) -> Self {
        Self { head: head.into(), unit: unit.to_owned(), format: format.to_owned() }
    }
}

impl Value {
    /// Creates numbers that need another format than the rest of the column, written like [`Head::format`].
    pub fn formatted(numbers: impl Into<Vec<f64>>, format: impl Into<String>) -> Self {
        Self::Formatted { numbers: numbers.into(), format: format.into() }
    }

    /// Returns the numbers, unless the value is a whole number.
    pub fn numbers(&self) -> &[f64] {
        match self {
            Self::Number(number) => std::slice::from_ref(number),
            Self::Numbers(numbers) | Self::Formatted { numbers, .. } => numbers,
            Self::Empty | Self::Whole(_) | Self::Text(_) => &[],
        }
    }

    /// Formats the value for a column with the given format.
    pub fn text(&self, format: &str) -> String {
        match self {
            Self::Empty => "–".to_owned(),
            Self::Whole(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            Self::Formatted { numbers, format } => filled(format, numbers),
            Self::Number(_) | Self::Numbers(_) => filled(format, self.numbers()),
        }
    }
}

/// Fills numbers into the placeholders of a format. The text ends before the first placeholder without a number.
fn filled(format: &str, numbers: &[f64]) -> String {
    let mut places = format.split('{');
    let mut text = places.next().unwrap_or_default().to_owned();
    let mut places = places.map(|place| place.split_once('}').unwrap_or((place, ""))).peekable();
    let mut numbers = numbers.iter().peekable();
    while let (Some((notation, after)), Some(&number)) = (places.next(), numbers.next()) {
        text.push_str(&shown(number, notation));
        if places.peek().is_none() || numbers.peek().is_some() {
            text.push_str(after);
        }
    }
    text
}

/// Maximum number of digits after the decimal point. Further digits of an `f64` are not significant.
const MOST_DIGITS: usize = 17;

/// Returns a number in the notation of a placeholder, such as `:+.2`.
fn shown(number: f64, notation: &str) -> String {
    let digits = notation.trim_matches([':', '+', 'e']).strip_prefix('.');
    let digits = digits.and_then(|digits| digits.parse().ok()).map(|n: usize| n.min(MOST_DIGITS));
    match (digits, notation.contains('+'), notation.ends_with('e')) {
        (None, _, false) => number.to_string(),
        (None, _, true) => format!("{number:e}"),
        (Some(digits), _, true) => format!("{number:.digits$e}"),
        (Some(digits), true, false) => format!("{number:+.digits$}"),
        (Some(digits), false, false) => {
            let text = format!("{number:.digits$}");
            // Rounding does not make a number negative.
            let is_zero = !text.contains(|c: char| matches!(c, '1'..='9'));
            text.strip_prefix('-').filter(|_| is_zero).map(str::to_owned).unwrap_or(text)
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Whole(number)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Whole(number as u64)
    }
}

impl From<Vec<f64>> for Value {
    fn from(numbers: Vec<f64>) -> Self {
        Self::Numbers(numbers)
    }
}

impl<const N: usize> From<[f64; N]> for Value {
    fn from(numbers: [f64; N]) -> Self {
        Self::Numbers(numbers.to_vec())
    }
}

impl From<()> for Value {
    fn from((): ()) -> Self {
        Self::Empty
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}

impl Series {
    /// Creates a solid curve, for measurements.
    pub fn solid(label: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { label: label.into(), points, ..Self::default() }
    }

    /// Creates a dashed curve, for the paper or a formula.
    pub fn dashed(label: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { dashed: true, ..Self::solid(label, points) }
    }

    /// Creates black crosses without a line, which mark points of other curves.
    pub fn crosses(label: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { crosses: true, ..Self::solid(label, points) }
    }
}

impl Claim {
    /// Creates a statement of the paper, with the measurement.
    pub fn paper(
        statement: impl Into<String>,
        measured: impl Into<String>,
        holds: impl Into<Holds>,
    ) -> Self {
        let (statement, measured, holds) = (statement.into(), measured.into(), holds.into());
        Self { by: Claimant::Paper, statement, measured, holds, covers: String::new() }
    }

    /// Creates a statement of AnyK, with the measurement.
    pub fn own(
        statement: impl Into<String>,
        measured: impl Into<String>,
        holds: impl Into<Holds>,
    ) -> Self {
        Self { by: Claimant::Own, ..Self::paper(statement, measured, holds) }
    }

    /// Sets the scope of the verdict: sizes and budget.
    #[must_use]
    pub fn covering(self, covers: impl Into<String>) -> Self {
        Self { covers: covers.into(), ..self }
    }
}

impl Holds {
    /// Returns whether a statement holds in all cases, in some, or in none; undecided if there is no case.
    pub fn in_all(cases: impl IntoIterator<Item = bool>) -> Self {
        let (mut yes, mut no) = (false, false);
        cases.into_iter().for_each(|case| if case { yes = true } else { no = true });
        match (yes, no) {
            (true, true) => Self::Partly,
            (true, false) => Self::Yes,
            (false, true) => Self::No,
            (false, false) => Self::Undecided,
        }
    }
}

impl From<bool> for Holds {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

/// Converts `None` into undecided.
impl From<Option<bool>> for Holds {
    fn from(holds: Option<bool>) -> Self {
        holds.map_or(Self::Undecided, Self::from)
    }
}

impl From<HoldsInJson> for Holds {
    fn from(json: HoldsInJson) -> Self {
        match json {
            HoldsInJson::Known(holds) => holds.into(),
            HoldsInJson::Word(Word::Partly) => Self::Partly,
        }
    }
}

impl From<Holds> for HoldsInJson {
    fn from(holds: Holds) -> Self {
        match holds {
            Holds::Yes => Self::Known(Some(true)),
            Holds::Partly => Self::Word(Word::Partly),
            Holds::No => Self::Known(Some(false)),
            Holds::Undecided => Self::Known(None),
        }
    }
}

/// Shows the verdict in brackets, the statement, the measurement, and its scope.
impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match (self.by, self.holds) {
            (_, Holds::Undecided) => "undecided",
            (Claimant::Paper, Holds::Yes) => "reproduces",
            (Claimant::Paper, Holds::Partly) => "partly reproduces",
            (Claimant::Paper, Holds::No) => "does not reproduce",
            (Claimant::Own, Holds::Yes) => "holds",
            (Claimant::Own, Holds::Partly) => "partly holds",
            (Claimant::Own, Holds::No) => "does not hold",
        };
        write!(f, "[{verdict}] {}: {}", self.statement, self.measured.trim_end_matches('.'))?;
        if self.covers.is_empty() { f.write_str(".") } else { write!(f, " ({}).", self.covers) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_the_places_of_a_format() {
        let text = |value: Value, format: &str| value.text(format);
        assert_eq!(text([0.5, -2.0].into(), "{:.2}, {:+.1}"), "0.50, -2.0");
        assert_eq!(text([3.0, 10.0].into(), "{} of {} trainings"), "3 of 10 trainings");
        assert_eq!(text([6e-6, 1234.5].into(), "{:e} to {:.1e}"), "6e-6 to 1.2e3");
        // Fewer numbers than placeholders fill the first ones.
        assert_eq!(text(2.934.into(), "{:.2} ({:.2}–{:.2})"), "2.93");
        assert_eq!(text([1.0, 2.0].into(), "{:.0}, {:.1} ({:.1}) m"), "1, 2.0");
        assert_eq!(text(Value::formatted([1e-4], "<0.001"), "{:.3}"), "<0.001");
        // The format does not affect other values.
        assert_eq!(text(7_usize.into(), "{:.3}"), "7");
        assert_eq!(text("a {b}".into(), "{:.3}"), "a {b}");
        assert_eq!(text(None::<f64>.into(), "{:.3}"), "–");
        // Rounding does not make a number negative, but a sign shows on which side of zero it is.
        assert_eq!(text([-1e-9, -1e-9].into(), "{:.2} {:+.2}"), "0.00 -0.00");
        assert_eq!(text((-0.016).into(), "{:.2}"), "-0.02");
        // Formats come from files, so an invalid one must not panic.
        for odd in ["", "{", "}{", "{:.}", "{:.x}", "{:.-1}", "{:+e}", "{:.99999999999999999999}"] {
            text([1.5, 2.5].into(), odd);
        }
        assert_eq!(text(0.5.into(), "{:.4000000000}"), format!("{:.17}", 0.5));
    }

    #[test]
    fn a_verdict_says_what_it_covers_and_comes_back_from_json() {
        let claim = |holds: Holds| Claim::paper("It is so", "it is.", holds).covering("K = 10");
        for (holds, json, words) in [
            (Holds::Yes, "true", "[reproduces] It is so: it is (K = 10)."),
            (Holds::Partly, "\"partly\"", "[partly reproduces] It is so: it is (K = 10)."),
            (Holds::No, "false", "[does not reproduce] It is so: it is (K = 10)."),
            (Holds::Undecided, "null", "[undecided] It is so: it is (K = 10)."),
        ] {
            assert_eq!(serde_json::to_string(&holds).unwrap(), json);
            assert_eq!(serde_json::from_str::<Holds>(json).unwrap(), holds);
            assert_eq!(claim(holds).to_string(), words);
        }
        assert!(serde_json::from_str::<Holds>("\"nearly\"").is_err());
        assert_eq!(Claim::own("A", "b", None).to_string(), "[undecided] A: b.");
        for (cases, holds) in [
            (vec![true, true], Holds::Yes),
            (vec![true, false], Holds::Partly),
            (vec![false], Holds::No),
            (vec![], Holds::Undecided),
        ] {
            assert_eq!(Holds::in_all(cases), holds);
        }
    }

    #[test]
    fn values_keep_their_bits_in_json() {
        let row: Vec<Value> = row![
            "P-GNN",
            10_usize,
            0.1 + 0.2,
            1.0,
            (),
            [1.0, -0.0],
            Value::formatted([1e-300], "<{:.1}"),
        ];
        let text = serde_json::to_string(&row).unwrap();
        assert_eq!(
            text,
            r#"["P-GNN",10,0.30000000000000004,1.0,null,[1.0,-0.0],{"numbers":[1e-300],"format":"<{:.1}"}]"#
        );
        assert_eq!(serde_json::from_str::<Vec<Value>>(&text).unwrap(), row);
    }

    #[test]
    fn no_number_of_a_table_is_nan_or_infinite() {
        let table = |value: Value| Table {
            name: "t".into(),
            columns: row!["K", ("W_K", "MHz", "{:.2}")],
            rows: vec![row![1_usize, value]],
            ..Table::default()
        };
        for good in ["info".into(), 1e300.into(), Value::Empty] {
            assert_eq!(table(good).check(), Ok(()));
        }
        // The last value is infinite in a number that the format does not show.
        let hidden = Value::formatted([1.0, f64::INFINITY], "{}");
        for bad in [f64::NAN.into(), [0.0, f64::NEG_INFINITY].into(), hidden, "about NaN %".into()]
        {
            let why = table(bad).check().unwrap_err();
            assert_eq!(why.place, "t, row 1, \"W_K\"");
        }
    }
}
