//! Other methods for other sizes, named in the paper's introduction: training at several sizes, and the number of users
//! as an input. Also the aggregators of proposition 4 on the paper's own problem.

use std::sync::Arc;

use crate::entry::{BASELINE, OUR_TRAINING};
use crate::lab::equal_power_on;
use crate::verdict::listed;
use crate::{Entry, EntryResult, Lab, TEST_SEED, TEST_SIZES, our_entries};
use anyk::framework::{Claim, Error, Head, Method, Table};
use anyk::network::Aggregator;
use anyk::problems::urllc::{Recipe, TestSet, UserInputs};
use anyk::row;

/// Sizes of the comparison: the paper's, and one that no run was trained at.
const SIZES: [usize; 8] = [1, 2, 5, 10, 50, 100, 200, 500];
/// Sizes of the training runs on small cells.
const SMALL: [usize; 6] = [1, 2, 5, 10, 20, 50];
/// Number of samples over all training sizes.
const SAMPLES: usize = 2100;
/// Hidden features and steps of the larger network, enough that neither limits it.
const LARGER: (usize, u64) = (16, 80_000);
/// Largest extra bandwidth of a method that follows the optimum, in percent.
const FOLLOWS_PERCENT: f64 = 10.0;

/// Returns the methods, with their training sizes in words.
fn ways(lab: &Lab<'_>) -> Vec<(&'static str, &'static str, Entry)> {
    let at = |method: Method, inputs: UserInputs, sizes: &[usize]| {
        let mut entry = Entry::p_gnn(10, SAMPLES / sizes.len(), 6e-6);
        let settings = &mut entry.settings;
        (settings.method, settings.inputs, settings.train_k) = (method, inputs, sizes.to_vec());
        settings.recipe = Recipe::fast(sizes.iter().copied().max().unwrap_or(1));
        entry
    };
    let [p_gnn, m_gnn, ..] = our_entries(lab.effort);
    let (gain, size) = (UserInputs::Gain, UserInputs::GainAndSize);
    let all = |method, inputs| at(method, inputs, &TEST_SIZES);
    // A function of gain and size may need more than the paper's four features and the usual steps.
    let mut larger = all(Method::MGnn, size);
    larger.settings.hidden = vec![LARGER.0];
    larger.settings.recipe.steps = Some(LARGER.1);
    vec![
        ("P-GNN", "10", p_gnn),
        ("P-GNN", "1…200", all(Method::PGnn, gain)),
        ("M-GNN", "10", m_gnn),
        ("M-GNN", "1…200", all(Method::MGnn, gain)),
        ("M-GNN with K as an input", "1…200", all(Method::MGnn, size)),
        ("M-GNN with K as an input", "1…50", at(Method::MGnn, size, &SMALL)),
        ("M-GNN with K as an input, larger", "1…200", larger),
        ("P-GNN with K as an input", "1…200", all(Method::PGnn, size)),
    ]
}

pub(crate) fn alternatives(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    lab.go_on()?;
    let test = Arc::new(TestSet::draw(&lab.system, &SIZES, lab.cells, TEST_SEED)?);
    let (mut rows, mut follow) = (Vec::new(), Vec::new());
    for (method, sizes, entry) in ways(lab) {
        let result = lab.results_on(&entry, &test, "alternatives")?;
        rows.push(row![method, sizes; figures(&result, &SIZES)]);
        follow.push((format!("{method} ({sizes})"), follows(&result, &SIZES)));
    }
    rows.push(row![BASELINE, (); figures(&equal_power_on(&test)?, &SIZES)]);
    Ok(vec![Table {
        name: "alternatives".into(),
        title: "Availability and extra bandwidth of training at several K, and of K as an input"
            .into(),
        note: format!(
            "Figures are for {OUR_TRAINING}. Each cell shows A_K and the extra bandwidth in percent, the {} (in \
             brackets the worst, if it differs). Training \
             is for ε_D = 6e-6 (M-GNN at K = 10: 5e-6, as in the paper), with {SAMPLES} samples in total if there are \
             several K. “K as an input” adds ln K to the input of every user; “larger” has {} hidden features instead \
             of 4 and {} steps instead of 20,000. No run was trained at K = 500. {}",
            lab.rule(),
            LARGER.0,
            LARGER.1,
            who_follows(&follow),
        ),
        columns: columns(["method", "training K"], &SIZES),
        rows,
        chart: None,
        ..Table::default()
    }])
}

pub(crate) fn aggregators(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    const WORDS: [(&str, Aggregator); 3] =
        [("mean", Aggregator::Mean), ("sum", Aggregator::Sum), ("max", Aggregator::Max)];
    let (mut rows, mut follow) = (Vec::new(), Vec::new());
    for method in [Method::PGnn, Method::MGnn] {
        for (word, aggregator) in WORDS {
            let [p_gnn, m_gnn, ..] = our_entries(lab.effort);
            let mut entry = if method == Method::PGnn { p_gnn } else { m_gnn };
            entry.settings.aggregator = aggregator;
            let name = if method == Method::PGnn { "P-GNN" } else { "M-GNN" };
            let result = lab.results(&entry)?;
            rows.push(row![name, word; figures(&result, &TEST_SIZES)]);
            follow.push((format!("{name}, {word}"), follows(&result, &TEST_SIZES)));
        }
    }
    rows.push(row![BASELINE, (); figures(&lab.equal_power()?, &TEST_SIZES)]);
    Ok(vec![Table {
        name: "aggregators".into(),
        title: "Availability and extra bandwidth by aggregator, trained at K = 10 (proposition 4)"
            .into(),
        note: format!(
            "Figures are for {OUR_TRAINING}. Each cell shows A_K and the extra bandwidth in percent, the {} (in \
             brackets the worst, if it differs).",
            lab.rule()
        ),
        columns: columns(["method", "aggregator"], &TEST_SIZES),
        rows,
        claims: vec![
            Claim::own(
                "With the pre-trained output, only the mean aggregator serves every user near the optimum at every K \
                 (proposition 4)",
                means_that_follow(&follow),
                is_mean_alone(&follow),
            )
            .covering(format!("{}, preset fast", lab.covers())),
        ],
        ..Table::default()
    }])
}

fn columns([first, second]: [&str; 2], sizes: &[usize]) -> Vec<Head> {
    row![first, second; sizes.iter().map(|size| (format!("K = {size}"), "{:.2}, {:+.1} ({:.2}, {:+.1})"))]
}

/// Returns the availability and the extra bandwidth in percent at each size, also of the worst run if it differs.
fn figures(result: &EntryResult, sizes: &[usize]) -> Vec<Vec<f64>> {
    let at_size = |&size: &usize| {
        let shown = [result.availability(size), result.gap_percent(size)];
        let [(lowest, _), (_, most)] = result.spread(size);
        let worst = [lowest, most];
        let differs = shown.iter().zip(worst).any(|(one, other)| one.total_cmp(&other).is_ne());
        if differs { [shown, worst].concat() } else { shown.to_vec() }
    };
    sizes.iter().map(at_size).collect()
}

fn follows(result: &EntryResult, sizes: &[usize]) -> bool {
    let near = |&size: &usize| result.gap_percent(size) <= FOLLOWS_PERCENT;
    result.is_available() && sizes.iter().all(near)
}

/// Names the methods that serve every user at every size near the optimum.
fn who_follows(found: &[(String, bool)]) -> String {
    let names: Vec<&str> =
        found.iter().filter(|(_, follows)| *follows).map(|(name, _)| name.as_str()).collect();
    let who = match names.as_slice() {
        [] => "No method has".to_owned(),
        [one] => format!("Only {one} has"),
        several => format!("{} have", listed(several)),
    };
    format!("{who} availability 1.00 and at most {FOLLOWS_PERCENT} % extra bandwidth at every K.")
}

/// Names the aggregators with which P-GNN serves every user at every size near the optimum.
fn means_that_follow(found: &[(String, bool)]) -> String {
    let of_p_gnn = found.iter().filter(|(_, follows)| *follows);
    let names: Vec<&str> = of_p_gnn.filter_map(|(name, _)| name.strip_prefix("P-GNN, ")).collect();
    let names = if names.is_empty() { "no aggregator".to_owned() } else { listed(&names) };
    format!(
        "P-GNN has availability 1.00 and at most {FOLLOWS_PERCENT} % extra bandwidth at every K with {names}"
    )
}

/// Returns whether, with the pre-trained output, the mean is the only aggregator that follows the optimum.
fn is_mean_alone(found: &[(String, bool)]) -> bool {
    let of = |name: &str| found.iter().any(|(label, follows)| label == name && *follows);
    of("P-GNN, mean") && !of("P-GNN, sum") && !of("P-GNN, max")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_the_numbers() {
        let found = |flags: [bool; 3]| -> Vec<(String, bool)> {
            let names = ["P-GNN, mean", "P-GNN, sum", "P-GNN, max"].map(str::to_owned);
            names.into_iter().zip(flags).collect()
        };
        let paper = found([true, false, false]);
        assert!(who_follows(&paper).starts_with("Only P-GNN, mean has availability 1.00"));
        assert!(is_mean_alone(&paper));
        assert!(means_that_follow(&paper).ends_with("at every K with mean"));
        let two = found([true, false, true]);
        assert!(who_follows(&two).starts_with("P-GNN, mean and P-GNN, max have"));
        assert!(!is_mean_alone(&two));
        assert!(who_follows(&found([false; 3])).starts_with("No method has"));
        assert!(!is_mean_alone(&found([false; 3])));
        assert!(means_that_follow(&found([false; 3])).ends_with("with no aggregator"));
    }
}
