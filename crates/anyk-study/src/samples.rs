//! How many samples each method takes (paper, table V): the fewest such that "both the availability and total
//! bandwidth can be improved less than 1 % by further increasing the training samples and epochs".

use crate::entry::{BASELINE, OUR_TRAINING};
use crate::{EntryResult, Lab, PAPER_TIMES, our_entries};
use anyk::framework::{Error, Table, Value};
use anyk::row;

/// Numbers of samples that are tried, ascending; the last is the table's own.
const COUNTS: [&[usize]; 4] = [
    &[5, 10, 20, 50, 100, 200, 500, 1000],
    &[5, 10, 20, 50, 100, 200, 500, 1000],
    &[2, 5, 10, 30, 100],
    &[100, 300, 1000, 3000, 10_000],
];
/// Less than so much is no improvement.
const LITTLE: f64 = 0.01;

/// What a training reaches at a size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reached {
    availability: f64,
    bandwidth_mhz: f64,
}

impl Reached {
    pub(crate) fn of(result: &EntryResult, size: usize) -> Self {
        Self { availability: result.availability(size), bandwidth_mhz: result.bandwidth_mhz(size) }
    }

    /// By how much another is better: availability up, bandwidth down.
    fn gain(self, other: Self) -> (f64, f64) {
        (other.availability - self.availability, 1.0 - other.bandwidth_mhz / self.bandwidth_mhz)
    }

    /// Whether another is better by 1 % or more, in either.
    pub(crate) fn is_improved_by(self, other: Self) -> bool {
        let (availability, bandwidth) = self.gain(other);
        !(availability < LITTLE && bandwidth < LITTLE)
    }

    /// The gain in percent, of availability and of bandwidth.
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
        // The steps of a training do not depend on its samples: "epochs" are doubled by themselves.
        let longer = Reached::of(&lab.results_to_choose(&with(samples, 2))?, train_k);
        let result = lab.results(&with(samples, 1))?;
        rows.push(row![
            label,
            train_k,
            // Fewer than the fewest were not tried.
            Value::formatted([samples as f64], if found == 0 { "at most {}" } else { "{}" }),
            paper_samples,
            entry.settings.recipe.stored_draws,
            result.seconds(),
            result.availability(train_k),
            result.gap_percent(train_k),
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
        title:
            "Table V by its own rule: the fewest samples that more would improve by less than 1 %"
                .into(),
        note: format!(
            "Preset fast: {OUR_TRAINING}. Of {COUNTS:?} and the table's own number, the fewest such that every larger one improves neither the \
             availability nor the bandwidth at the training size by {} % or more, on cells for choosing; the figures are \
             the {} on the test set. Then what the most samples gain over it, and twice the steps. A sample of ours has \
             several fading states, one of the paper's has one.",
            100.0 * LITTLE,
            lab.rule(),
        ),
        columns: row![
            "method",
            "training K",
            "samples",
            "paper",
            "fading states of a sample",
            ("seconds", "{:.2}"),
            ("A_K", "{:.3}"),
            ("over optimum", "%", "{:+.2}"),
            ("most samples: A_K, W_K", "%", "{:+.1}, {:+.1}"),
            ("twice the steps: A_K, W_K", "%", "{:+.1}, {:+.1}"),
        ],
        rows,
        chart: None,
        ..Table::default()
    }])
}

/// Place of the fewest samples that no larger number improves.
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
        // Availability comes first, then bandwidth; then there is nothing to gain.
        let reached = [(0.6, 1.80), (0.97, 1.80), (1.0, 1.75), (1.0, 1.72), (1.0, 1.71)];
        assert_eq!(fewest(&reached), 3);
        assert_eq!(fewest(&reached[..1]), 0);
        // One that does better only than its neighbour is not enough.
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
