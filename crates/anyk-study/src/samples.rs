//! Number of samples that each method needs (paper, table V): the smallest such that "both the availability and total
//! bandwidth can be improved less than 1 % by further increasing the training samples and epochs".

use crate::entry::{BASELINE, OUR_TRAINING};
use crate::{EntryResult, Lab, PAPER_TIMES, our_entries};
use anyk::framework::{Error, Table, Value};
use anyk::row;

/// Numbers of samples that are tried, ascending; the table's own number follows.
const COUNTS: [&[usize]; 4] = [
    &[5, 10, 20, 50, 100, 200, 500, 1000],
    &[5, 10, 20, 50, 100, 200, 500, 1000],
    &[2, 5, 10, 30, 100],
    &[100, 300, 1000, 3000, 10_000],
];
/// Smallest change that counts as an improvement.
const LITTLE: f64 = 0.01;

/// Result of an entry at a size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reached {
    availability: f64,
    bandwidth_mhz: f64,
}

impl Reached {
    pub(crate) fn of(result: &EntryResult, size: usize) -> Self {
        Self { availability: result.availability(size), bandwidth_mhz: result.bandwidth_mhz(size) }
    }

    /// Returns how much better another result is: higher availability, and lower bandwidth relative to this one.
    fn gain(self, other: Self) -> (f64, f64) {
        (other.availability - self.availability, 1.0 - other.bandwidth_mhz / self.bandwidth_mhz)
    }

    /// Returns whether another result is better by 1 % or more in availability or bandwidth.
    pub(crate) fn is_improved_by(self, other: Self) -> bool {
        let (availability, bandwidth) = self.gain(other);
        !(availability < LITTLE && bandwidth < LITTLE)
    }

    /// Returns the change to another result in percent, of availability and of bandwidth.
    fn gain_percent(self, other: Self) -> [f64; 2] {
        let (availability, bandwidth) = self.gain(other);
        [100.0 * availability, -100.0 * bandwidth]
    }
}

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let mut rows = Vec::new();
    let entries = our_entries(lab.effort);
    for ((entry, counts), paper) in entries.iter().zip(COUNTS).zip(PAPER_TIMES) {
        let (label, _, train_k, paper_samples, _) = paper;
        let with = |samples: usize, more: u64| {
            let mut entry = entry.clone();
            let steps = entry.settings.steps();
            entry.settings.samples = samples;
            entry.settings.recipe.steps = Some(more * steps);
            entry
        };
        let few = lab.effort.of([1, usize::MAX, usize::MAX]);
        let all: Vec<usize> =
            counts.iter().copied().take(few).chain([entry.settings.samples]).collect();
        let mut reached = Vec::new();
        for &samples in &all {
            reached.push(Reached::of(&lab.results_to_choose(&with(samples, 1))?, train_k));
        }
        let found = fewest(&reached);
        let samples = all[found];
        // The number of steps does not depend on the samples, so the "epochs" are doubled separately.
        let longer = Reached::of(&lab.results_to_choose(&with(samples, 2))?, train_k);
        let result = lab.results(&with(samples, 1))?;
        rows.push(row![
            label,
            train_k,
            // Smaller numbers were not tried.
            Value::formatted([samples as f64], if found == 0 { "at most {}" } else { "{}" }),
            paper_samples,
            entry.settings.recipe.stored_draws,
            result.seconds(),
            result.availability_with_range(train_k),
            result.gap_with_range(train_k),
            reached[found].gain_percent(reached[reached.len() - 1]),
            reached[found].gain_percent(longer),
        ]);
    }
    let equal = lab.equal_power()?;
    for size in [10, 200] {
        let (availability, gap) = (equal.availability(size), equal.gap_percent(size));
        rows.push(row![BASELINE, size; [(); 4]; availability, gap, (), ()]);
    }
    Ok(vec![Table {
        name: "samples".into(),
        title: "Table V by its own rule: the smallest number of samples that more improve by less than 1 %"
            .into(),
        note: format!(
            "Figures are for {OUR_TRAINING}. “Samples” is the smallest of {COUNTS:?} and the table's own number such \
             that no larger number improves availability or bandwidth at the training K by {} % or more on the \
             selection cells. The other figures are the {} on the test set, with the range of all runs in brackets. The last two columns are the changes of \
             A_K and W_K with the largest number of samples, and with twice the steps. A sample of preset fast has \
             several fading states; one of the paper has one.",
            100.0 * LITTLE,
            lab.rule(),
        ),
        columns: row![
            "method",
            "training K",
            "samples",
            "paper's samples",
            "fading states per sample",
            ("training", "s", "{:.2}"),
            ("A_K", "{:.3} ({:.3}–{:.3})"),
            ("extra bandwidth", "%", "{:+.2} ({:+.2} to {:+.2})"),
            ("change with most samples: A_K, W_K", "%", "{:+.1}, {:+.1}"),
            ("change with twice the steps: A_K, W_K", "%", "{:+.1}, {:+.1}"),
        ],
        rows,
        chart: None,
        ..Table::default()
    }])
}

/// Returns the index of the smallest number of samples that no larger number improves.
fn fewest(reached: &[Reached]) -> usize {
    let is_enough = |place: &usize| {
        reached[place + 1..].iter().all(|&more| !reached[*place].is_improved_by(more))
    };
    (0..reached.len()).find(is_enough).unwrap_or(reached.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enough_is_what_more_does_not_improve() {
        let fewest = |figures: &[(f64, f64)]| {
            let reached = |&(availability, bandwidth_mhz)| Reached { availability, bandwidth_mhz };
            fewest(&figures.iter().map(reached).collect::<Vec<_>>())
        };
        // Availability improves first, then bandwidth; then nothing does.
        let reached = [(0.6, 1.80), (0.97, 1.80), (1.0, 1.75), (1.0, 1.72), (1.0, 1.71)];
        assert_eq!(fewest(&reached), 3);
        assert_eq!(fewest(&reached[..1]), 0);
        // A result that is only better than its neighbor is not enough.
        assert_eq!(fewest(&[(1.0, 1.80), (1.0, 1.81), (1.0, 1.70)]), 2);
        // Less availability for less bandwidth improves the bandwidth, and counts.
        assert_eq!(fewest(&[(1.0, 1.80), (0.9, 1.70)]), 1);
        let [from, to] =
            [(0.9, 2.0), (1.0, 1.9)].map(|(a, w)| Reached { availability: a, bandwidth_mhz: w });
        let gain = Value::from(from.gain_percent(to));
        assert_eq!(gain.text("{:+.1}, {:+.1}"), "+10.0, -5.0");
        assert!(from.is_improved_by(to) && !to.is_improved_by(from));
    }
}
