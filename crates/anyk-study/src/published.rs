//! Training as in the paper (preset paper): P-GNN at each training size of table IV, and the methods of table VI. Each
//! run of P-GNN pre-trains its own `B^v`.

use crate::entry::{AVAILABLE, BASELINE};
use crate::fnn::paper_methods;
use crate::tables::COUNTS;
use crate::verdict::{all_hold, listed, pointer};
use crate::{
    Count, Entry, EntryResult, Lab, Outer, PAPER_COMPARISON, PAPER_SMALL_K, PaperRow, TEST_SIZES,
};
use anyk::framework::{Claim, Error, Table, Value};
use anyk::row;

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let p_gnn = &PAPER_COMPARISON[0];
    let mut rows = Vec::new();
    let mut serve = Vec::new();
    for (size, samples, _) in PAPER_SMALL_K {
        let entry = Entry { outer: Outer::Own, ..Entry::p_gnn(size, samples, 6e-6).published() };
        let result = lab.outcomes(&entry)?;
        serve.push((size, Count::ALL.map(|count| result.serves(count))));
        rows.extend(at_sizes(&format!("P-GNN^{size}"), &result, Some(p_gnn)));
    }
    let (entries, budget) = paper_methods(lab)?;
    for (entry, paper) in entries.iter().zip(&PAPER_COMPARISON).skip(1) {
        rows.extend(at_sizes(&entry.label, &lab.outcomes(entry)?, Some(paper)));
    }
    rows.extend(at_sizes(BASELINE, &lab.equal_power()?, None));
    Ok(vec![Table {
        name: "published".into(),
        title: "Availability and bandwidth after training as in the paper (preset paper)".into(),
        note: format!(
            "Training takes 5,000 epochs of plain gradient steps from small normal weights. t counts epochs; the paper's \
             text says iterations. Each run of P-GNN pre-trains its own B^v. Each figure is the {}, with the range of \
             all runs in brackets. A run that diverges from five starts counts as serving no user. {COUNTS} Extra \
             bandwidth is relative to the exact optimum. {} cannot show how often a run serves every user; the study \
             `rates` does. {budget}",
            lab.rule(),
            lab.trainings_words(),
        ),
        columns: row![
            "method",
            "K",
            ("runs with A_K = 1.00 (as coded)", "{} ({}) of {}"),
            ("A_K", "{:.2} ({:.3}–{:.3})"),
            ("A_K as coded", "{:.2}"),
            ("paper's A_K", "{:.2}"),
            ("W_K", "MHz", "{:.3}"),
            ("paper's W_K", "MHz", "{:.2}"),
            ("deviation", "%", "{:+.2}"),
            ("extra bandwidth", "%", "{:+.2} ({:+.2} to {:+.2})"),
        ],
        rows,
        claims: vec![claim(&serve).covering(format!("{}, preset paper", lab.covers()))],
        ..Table::default()
    }])
}

/// Returns the rows of a method: figures at each size, with the paper's if they exist.
fn at_sizes(label: &str, result: &EntryResult, paper: Option<&PaperRow>) -> Vec<Vec<Value>> {
    let some = !result.runs.is_empty();
    let at_size = |(place, size): (usize, usize)| {
        let (paper_a, paper_w) = paper.map(|paper| paper.figures[place]).unzip();
        let found = result.runs.iter().flat_map(|run| &run.sizes).filter(|found| found.k == size);
        let [good, as_coded] = Count::ALL
            .map(|count| found.clone().filter(|found| count.of(found) >= AVAILABLE).count() as f64);
        let w = some.then(|| result.bandwidth_mhz(size));
        row![
            label,
            size,
            paper.map(|_| [good, as_coded, result.trainings() as f64]),
            result.availability_with_range(size),
            result.availability_by(Count::AsCoded, size),
            paper_a,
            w,
            paper_w,
            w.zip(paper_w).map(|(w, paper)| 100.0 * (w / paper - 1.0)),
            some.then(|| result.gap_with_range(size)),
        ]
    };
    TEST_SIZES.into_iter().enumerate().map(at_size).collect()
}

/// Returns the claim about the training sizes at which P-GNN serves every user, by each criterion.
fn claim(serve: &[(usize, [Option<bool>; 2])]) -> Claim {
    let holds = all_hold(serve.iter().flat_map(|(_, by)| *by));
    let words = [0, 1].map(|place| {
        let served = serve.iter().filter(|(_, by)| by[place] == Some(true));
        let sizes: Vec<String> = served.map(|(size, _)| size.to_string()).collect();
        let name = ["with equal halves", "as coded"][place];
        if sizes.is_empty() {
            return format!("for no training K {name}");
        }
        let sizes = listed(&sizes.iter().map(String::as_str).collect::<Vec<_>>());
        format!("for training K = {sizes} {name}")
    });
    let all: Vec<String> = serve.iter().map(|(size, _)| size.to_string()).collect();
    Claim::paper(
        format!(
            "P-GNN, trained as in the paper at K = {}, has availability 1.00 at every K",
            all.join(", ")
        ),
        format!("all runs do so {}{}", words.join(" and "), pointer(holds)),
        holds,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyk::framework::Holds;

    #[test]
    fn words_follow_the_numbers() {
        let [yes, no, open] = [Some(true), Some(false), None];
        let found = claim(&[(2, [no, yes]), (10, [yes, yes])]);
        assert_eq!(
            found.measured,
            "all runs do so for training K = 10 with equal halves and for training K = 2 and 10 as coded"
        );
        assert_eq!(found.holds, Holds::Partly);
        assert_eq!(claim(&[(2, [yes; 2])]).holds, Holds::Yes);
        let none = claim(&[(2, [no; 2])]);
        assert!(none.measured.starts_with("all runs do so for no training K with equal halves"));
        assert_eq!(none.holds, Holds::No);
        let few = claim(&[(2, [no; 2]), (10, [open; 2])]);
        assert_eq!(few.holds, Holds::Undecided);
        assert!(few.measured.ends_with("; the study `rates` has more"), "{}", few.measured);
    }
}
