//! The paper's own trainings (preset paper): P-GNN at each training size of table IV, and the methods of table VI.

use crate::entry::{AVAILABLE, BASELINE};
use crate::samples::Reached;
use crate::{
    Effort, Entry, EntryResult, Lab, PAPER_COMPARISON, PAPER_SMALL_K, PaperRow, TEST_SIZES,
    paper_entries,
};
use anyk::framework::{Claim, Error, Table, Value};
use anyk::row;

/// Passes of the FNN that are tried: until twice as many hardly improve it, the paper's own rule. Fewer than
/// the first have hardly moved it, and the rule would be met by that.
const FNN_EPOCHS: [u64; 5] = [8, 16, 32, 64, 128];

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let p_gnn = &PAPER_COMPARISON[0];
    let mut rows = Vec::new();
    let mut as_printed = Vec::new();
    for (size, samples, _) in PAPER_SMALL_K {
        let entry = Entry::p_gnn(size, samples, 6e-6).published();
        let result = lab.outcomes(&entry)?;
        as_printed.push((size, result.is_available()));
        rows.extend(at_sizes(&format!("P-GNN^{size}"), &result, Some(p_gnn)));
    }
    let [_, m_gnn_10, m_gnn_200, fnn] = paper_entries(lab.effort);
    for (entry, paper) in [m_gnn_10, m_gnn_200].into_iter().zip(&PAPER_COMPARISON[1..]) {
        let result = lab.outcomes(&entry.clone().published())?;
        rows.extend(at_sizes(&entry.label, &result, Some(paper)));
    }
    let (entry, epochs, enough) = stopped(lab, &fnn.published())?;
    rows.extend(at_sizes(&entry.label, &lab.outcomes(&entry)?, Some(&PAPER_COMPARISON[3])));
    rows.extend(at_sizes(BASELINE, &lab.equal_power()?, None));
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
             nobody. Of the FNN's 5,000 epochs {epochs} were done, {rule}; it has {} samples{}.",
            lab.rule(),
            entry.settings.samples,
            if lab.effort == Effort::Full { "" } else { ", a part of the paper's 100,000" },
        ),
        columns: row![
            "method",
            "K",
            ("trainings with A_K = 1.00", "{} of {}"),
            ("A_K", "{:.2}"),
            ("paper", "{:.2}"),
            ("W_K", "MHz", "{:.3}"),
            ("paper", "{:.2}"),
            ("deviation", "%", "{:+.2}"),
            ("over optimum", "%", "{:+.2}"),
        ],
        rows,
        claims: vec![Claim::paper(
            "P-GNN, trained as the paper says, has availability 1.00 at every K",
            holding(&as_printed),
            as_printed.iter().all(|found| found.1),
        )],
        ..Table::default()
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
    let mut before: Option<Reached> = None;
    for (place, &epochs) in FNN_EPOCHS[..most].iter().enumerate() {
        let reached = Reached::of(&lab.results_to_choose(&with(epochs))?, size);
        if before.is_some_and(|before| !before.is_improved_by(reached)) {
            let epochs = FNN_EPOCHS[place - 1];
            return Ok((with(epochs), epochs, true));
        }
        before = Some(reached);
    }
    let epochs = FNN_EPOCHS[most - 1];
    Ok((with(epochs), epochs, false))
}

/// Figures at each size, beside the paper's if it has some.
fn at_sizes(label: &str, result: &EntryResult, paper: Option<&PaperRow>) -> Vec<Vec<Value>> {
    let some = !result.runs.is_empty();
    let at_size = |(place, size): (usize, usize)| {
        let (paper_a, paper_w) = paper.map(|paper| paper.figures[place]).unzip();
        let all = result.runs.iter().flat_map(|run| &run.sizes).filter(|found| found.k == size);
        let good = all.filter(|found| found.availability >= AVAILABLE).count();
        let count = [good as f64, (result.runs.len() + result.diverged) as f64];
        let w = some.then(|| result.bandwidth_mhz(size));
        row![
            label,
            size,
            paper.map(|_| count),
            result.availability(size),
            paper_a,
            w,
            paper_w,
            w.zip(paper_w).map(|(w, paper)| 100.0 * (w / paper - 1.0)),
            some.then(|| result.gap_percent(size)),
        ]
    };
    TEST_SIZES.into_iter().enumerate().map(at_size).collect()
}

/// At which training sizes P-GNN serves everyone.
fn holding(found: &[(usize, bool)]) -> String {
    let holds: Vec<String> =
        found.iter().filter(|(_, holds)| *holds).map(|(size, _)| size.to_string()).collect();
    let all: Vec<String> = found.iter().map(|(size, _)| size.to_string()).collect();
    let which = if holds.is_empty() { "none".to_owned() } else { holds.join(", ") };
    format!("when it is trained at K = {which} of {}", all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_the_numbers() {
        assert_eq!(holding(&[(2, true), (10, true)]), "when it is trained at K = 2, 10 of 2, 10");
        assert_eq!(holding(&[(2, false), (10, true)]), "when it is trained at K = 10 of 2, 10");
        assert_eq!(holding(&[(2, false)]), "when it is trained at K = none of 2");
    }
}
