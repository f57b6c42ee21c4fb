//! Results of a model on random instances at each size: JSON for programs, and a table for people.

use serde::Serialize;

use super::{Page, Text};
use crate::framework::{Error, Observer, Trials};

/// Column of the table: its heading, and the function that formats its value at a size.
pub(crate) type Shown<R> = (&'static str, fn(&R) -> String);

#[derive(Serialize)]
struct Evaluation<'a, F, R> {
    #[serde(flatten)]
    first: &'a F,
    samples: u64,
    seed: u64,
    sizes: &'a [R],
}

/// Evaluates a model on trials and reports the results at each size. The fields of `first` come first in the
/// JSON. The observer counts instances under the name `what`.
pub(crate) fn evaluation<R: Serialize>(
    first: &impl Serialize,
    (trials, what, observer): (&Trials, &str, &dyn Observer),
    columns: &[Shown<R>],
    measure: impl FnOnce() -> Result<Vec<R>, Error>,
) -> Result<Page, Error> {
    trials.check()?;
    let Trials { samples, seed, .. } = trials;
    observer.begin(what, trials.count());
    let sizes = &measure()?[..];
    observer.end();
    let heads: Vec<&str> = columns.iter().map(|(head, _)| *head).collect();
    let row = |size: &R| columns.iter().map(|(_, show)| show(size)).collect();
    let mut text = Text::default();
    text.table(&heads, sizes.iter().map(row));
    Page::new(&Evaluation { first, samples: *samples, seed: *seed, sizes }, text)
}

/// Formats a value, or a dash if it is absent.
pub(crate) fn or_dash(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), show)
}
