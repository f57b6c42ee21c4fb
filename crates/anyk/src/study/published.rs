//! The paper's own trainings (preset paper): P-GNN at each training size of table IV, and the methods of table VI.

use super::entry::AVAILABLE;
use super::lab::Outcome;
use super::verdict::paper_says;
use super::{
    Effort, Entry, EntryResult, Lab, Measure, PAPER_COMPARISON, PAPER_SMALL_K, PaperRow,
    TEST_SIZES, paper_entries,
};
use crate::framework::{Error, Table, strings};

/// Passes of the FNN that are tried: until twice as many improve by less than this, the paper's own rule. Fewer than
/// the first have hardly moved it, and the rule would be met by that.
const FNN_EPOCHS: [u64; 5] = [8, 16, 32, 64, 128];
const LITTLE: f64 = 0.01;

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let p_gnn = &PAPER_COMPARISON[0];
    let mut rows = Vec::new();
    let mut as_printed = Vec::new();
    for (size, samples, _) in PAPER_SMALL_K {
        let entry = Entry::p_gnn(size, samples, 6e-6).published();
        let outcomes = lab.outcomes(&entry)?;
        as_printed.push((size, is_available(&entry, &outcomes)));
        rows.extend(cells(&format!("P-GNN^{size}"), &entry, &outcomes, p_gnn));
    }
    let [_, m_gnn_10, m_gnn_200, fnn] = paper_entries(lab.effort);
    for (entry, paper) in [m_gnn_10, m_gnn_200].into_iter().zip(&PAPER_COMPARISON[1..]) {
        let entry = entry.published();
        let outcomes = lab.outcomes(&entry)?;
        rows.extend(cells(&entry.label, &entry, &outcomes, paper));
    }
    let (entry, epochs, enough) = stopped(lab, &fnn.published())?;
    let outcomes = lab.outcomes(&entry)?;
    rows.extend(cells(&entry.label, &entry, &outcomes, &PAPER_COMPARISON[3]));
    for size in &lab.equal_power()? {
        let mut row = vec!["equal power, exact b".to_owned(), size.k.to_string(), "–".to_owned()];
        row.extend([format!("{:.2}", size.availability), "–".to_owned()]);
        row.extend([format!("{:.3}", size.total_bandwidth_mhz), "–".to_owned(), "–".to_owned()]);
        row.push(format!("{:+.2}", size.gap_percent));
        rows.push(row);
    }
    let rule = if enough {
        "after which twice as many improve neither availability nor bandwidth at K = 200 by 1 %"
    } else {
        "the most that are tried, though twice as many as half of them still improved something by 1 %"
    };
    Ok(vec![Table {
        name: "published".into(),
        title: "The paper's own trainings (preset paper)".into(),
        note: format!(
            "Plain gradient steps, 5,000 epochs; t counts epochs, bandwidths are in MHz, networks start from small \
             normal weights. Each figure is the {}; a training that diverged from five starts counts as one that serves \
             nobody. {} Of the FNN's 5,000 epochs {epochs} were done, {rule}; it has {} samples{}.",
            lab.rule(),
            verdict(&as_printed),
            entry.settings.samples,
            if lab.effort == Effort::Full { "" } else { ", a part of the paper's 100,000" },
        ),
        columns: strings([
            "method",
            "K",
            "trainings with A_K = 1.00",
            "A_K",
            "paper",
            "W_K (MHz)",
            "paper",
            "deviation (%)",
            "over optimum (%)",
        ]),
        rows,
        chart: None,
    }])
}

/// The FNN with as many passes as the paper's rule asks for, and whether that was found.
fn stopped(lab: &mut Lab<'_>, fnn: &Entry) -> Result<(Entry, u64, bool), Error> {
    let per_epoch = fnn.settings.steps() / fnn.settings.recipe.epochs.max(1);
    let with = |epochs: u64| {
        let mut entry = fnn.clone();
        entry.settings.recipe.steps = Some(epochs * per_epoch);
        entry
    };
    let size = fnn.settings.train_k[0];
    let most = lab.effort.of([1, 4, FNN_EPOCHS.len()]);
    let mut before: Option<(f64, f64)> = None;
    for (place, &epochs) in FNN_EPOCHS[..most].iter().enumerate() {
        let result = lab.results_to_choose(&with(epochs))?;
        let reached = (result.availability(size), result.bandwidth_mhz(size));
        if before.is_some_and(|before| is_little(before, reached)) {
            let epochs = FNN_EPOCHS[place - 1];
            return Ok((with(epochs), epochs, true));
        }
        before = Some(reached);
    }
    let epochs = FNN_EPOCHS[most - 1];
    Ok((with(epochs), epochs, false))
}

/// Whether availability and bandwidth both improve by little.
fn is_little(before: (f64, f64), after: (f64, f64)) -> bool {
    after.0 - before.0 < LITTLE && 1.0 - after.1 / before.1 < LITTLE
}

/// Trainings that came to an end.
fn finished(outcomes: &[Outcome]) -> Vec<Measure> {
    outcomes.iter().flatten().cloned().collect()
}

/// The second worst training, those that diverged being worse than all others.
fn availability(result: &EntryResult, diverged: usize, size: usize) -> f64 {
    if diverged > usize::from(result.runs.len() + diverged >= 10) {
        0.0
    } else {
        result.availability(size)
    }
}

fn is_available(entry: &Entry, outcomes: &[Outcome]) -> bool {
    let result = EntryResult { entry: entry.clone(), runs: finished(outcomes) };
    let diverged = outcomes.len() - result.runs.len();
    TEST_SIZES.iter().all(|&size| availability(&result, diverged, size) >= AVAILABLE)
}

fn cells(label: &str, entry: &Entry, outcomes: &[Outcome], paper: &PaperRow) -> Vec<Vec<String>> {
    let result = EntryResult { entry: entry.clone(), runs: finished(outcomes) };
    let diverged = outcomes.len() - result.runs.len();
    let at_size = |(&size, (paper_a, paper_w)): (&usize, (f64, f64))| {
        let all = result.runs.iter().flat_map(|run| &run.sizes).filter(|found| found.k == size);
        let good = all.filter(|found| found.availability >= AVAILABLE).count();
        let mut row = vec![label.to_owned(), size.to_string()];
        row.push(format!("{good} of {}", outcomes.len()));
        row.push(format!("{:.2}", availability(&result, diverged, size)));
        row.push(format!("{paper_a:.2}"));
        if result.runs.is_empty() {
            row.push("–".to_owned());
            row.push(format!("{paper_w:.2}"));
            row.extend(strings(["–"; 2]));
        } else {
            let w = result.bandwidth_mhz(size);
            row.push(format!("{w:.3}"));
            row.push(format!("{paper_w:.2}"));
            row.push(format!("{:+.2}", 100.0 * (w / paper_w - 1.0)));
            row.push(format!("{:+.2}", result.gap_percent(size)));
        }
        row
    };
    let figures = paper.figures;
    TEST_SIZES.iter().zip(figures).map(at_size).collect()
}

/// At which training sizes P-GNN serves everyone, as the paper prints it.
fn verdict(found: &[(usize, bool)]) -> String {
    let holds: Vec<String> =
        found.iter().filter(|(_, holds)| *holds).map(|(size, _)| size.to_string()).collect();
    let all: Vec<String> = found.iter().map(|(size, _)| size.to_string()).collect();
    let which = if holds.is_empty() { "none".to_owned() } else { holds.join(", ") };
    format!(
        "P-GNN has availability 1.00 at every K when it is trained at K = {which} of {}: {}.",
        all.join(", "),
        paper_says(holds.len() == found.len()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_the_numbers() {
        let paper = verdict(&[(2, true), (10, true)]);
        assert!(paper.contains("K = 2, 10 of 2, 10: as the paper says"), "{paper}");
        let other = verdict(&[(2, false), (10, true)]);
        assert!(other.contains("K = 10 of 2, 10: against the paper"), "{other}");
        assert!(verdict(&[(2, false)]).contains("K = none of 2: against the paper"));
    }

    #[test]
    fn a_training_that_diverges_is_the_worst() {
        let result = EntryResult { entry: Entry::p_gnn(10, 20, 6e-6), runs: Vec::new() };
        assert!(availability(&result, 3, 10).abs() < 1e-12);
        assert!(is_little((0.9, 2.0), (0.905, 1.99)) && !is_little((0.9, 2.0), (0.92, 2.0)));
        assert!(!is_little((0.9, 2.0), (0.9, 1.9)));
    }
}
