//! The paper's own trainings (preset paper): P-GNN at each training size of table IV, and the methods of table VI. Each
//! run of P-GNN pre-trains its own B^v.

use crate::entry::{AVAILABLE, BASELINE};
use crate::fnn::paper_methods;
use crate::tables::COUNTS;
use crate::verdict::listed;
use crate::{
    Count, Entry, EntryResult, Lab, Outer, PAPER_COMPARISON, PAPER_SMALL_K, PaperRow, TEST_SIZES,
};
use anyk::framework::{Claim, Error, Holds, Table, Value};
use anyk::row;

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let p_gnn = &PAPER_COMPARISON[0];
    let mut rows = Vec::new();
    let mut serve = Vec::new();
    for (size, samples, _) in PAPER_SMALL_K {
        let entry = Entry { outer: Outer::Own, ..Entry::p_gnn(size, samples, 6e-6).published() };
        let result = lab.outcomes(&entry)?;
        serve.push((size, Count::ALL.map(|count| result.is_available_by(count))));
        rows.extend(at_sizes(&format!("P-GNN^{size}"), &result, Some(p_gnn)));
    }
    let (entries, budget) = paper_methods(lab)?;
    for (entry, paper) in entries.iter().zip(&PAPER_COMPARISON).skip(1) {
        rows.extend(at_sizes(&entry.label, &lab.outcomes(entry)?, Some(paper)));
    }
    rows.extend(at_sizes(BASELINE, &lab.equal_power()?, None));
    Ok(vec![Table {
        name: "published".into(),
        title: "The paper's own trainings (preset paper)".into(),
        note: format!(
            "Plain gradient steps, 5,000 epochs; t counts epochs, bandwidths are in MHz, networks start from small \
             normal weights, and each training of P-GNN has pre-trained its own B^v. Each figure is the {}; a training that \
             diverged from five starts counts as one that serves nobody. {COUNTS} How often a training serves everyone is in \
             the study `rates`: {} are too few for that. {budget}",
            lab.rule(),
            lab.trainings_words(),
        ),
        columns: row![
            "method",
            "K",
            ("trainings with A_K = 1.00 (as coded)", "{} ({}) of {}"),
            ("A_K", "{:.2}"),
            ("A_K as coded", "{:.2}"),
            ("paper", "{:.2}"),
            ("W_K", "MHz", "{:.3}"),
            ("paper", "{:.2}"),
            ("deviation", "%", "{:+.2}"),
            ("over optimum", "%", "{:+.2}"),
        ],
        rows,
        claims: vec![claim(&serve).covering(format!("{}, preset paper", lab.covers()))],
        ..Table::default()
    }])
}

/// Figures at each size, beside the paper's if it has some.
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
            result.availability(size),
            result.availability_by(Count::AsCoded, size),
            paper_a,
            w,
            paper_w,
            w.zip(paper_w).map(|(w, paper)| 100.0 * (w / paper - 1.0)),
            some.then(|| result.gap_percent(size)),
        ]
    };
    TEST_SIZES.into_iter().enumerate().map(at_size).collect()
}

/// At which training sizes P-GNN serves everyone, by each count.
fn claim(serve: &[(usize, [bool; 2])]) -> Claim {
    let words = [0, 1].map(|place| {
        let served = serve.iter().filter(|(_, by)| by[place]);
        let sizes: Vec<String> = served.map(|(size, _)| size.to_string()).collect();
        let sizes = listed(&sizes.iter().map(String::as_str).collect::<Vec<_>>());
        format!("{}, when it is trained at K = {sizes}", Count::ALL[place].name())
    });
    let all: Vec<String> = serve.iter().map(|(size, _)| size.to_string()).collect();
    Claim::paper(
        "P-GNN, trained as the paper says, has availability 1.00 at every K",
        format!("{} of {}", words.join("; "), all.join(", ")),
        Holds::in_all(serve.iter().flat_map(|(_, by)| *by)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_the_numbers() {
        let found = claim(&[(2, [false, true]), (10, [true, true])]);
        assert_eq!(
            found.measured,
            "equal halves, when it is trained at K = 10; as coded, when it is trained at K = 2 and 10 of 2, 10"
        );
        assert_eq!(found.holds, Holds::Partly);
        assert_eq!(claim(&[(2, [true; 2])]).holds, Holds::Yes);
        let none = claim(&[(2, [false; 2])]);
        assert!(none.measured.starts_with("equal halves, when it is trained at K = none;"));
        assert_eq!(none.holds, Holds::No);
    }
}
