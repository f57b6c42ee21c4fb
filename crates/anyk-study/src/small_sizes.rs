//! Table IV of the paper: how many samples P-GNN needs at small training sizes, and what it does without them.

use crate::entry::{BASELINE, OUR_TRAINING};
use crate::lab::SELECTION_SEED;
use crate::tables::{COUNTS, LARGEST};
use crate::verdict::{all_hold, all_of, listed, pointer};
use crate::{Count, Entry, EntryResult, Lab, Outer, PAPER_SMALL_K};
use anyk::framework::{Chart, Claim, Error, Series, Table, Value};
use anyk::row;

/// Sample counts that are tried: in a trial, by default, and with full effort.
const SAMPLE_COUNTS: [&[usize]; 3] =
    [&[50], &[50, 500, 5000], &[20, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000]];
/// Values of `ε_D` that are tried: the paper's, and stricter ones.
const TARGETS: [&[f64]; 3] = [&[PAPER], &[PAPER, 5e-6], &[PAPER, 5e-6, 4e-6, 3e-6]];
/// `ε_D` of the paper.
const PAPER: f64 = 6e-6;
/// Training size of the controls.
const CONTROL_K: usize = 10;

/// Samples and `ε_D` that serve every user, by each criterion.
type Enough = [Option<(usize, f64)>; 2];

pub(crate) fn table4(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let (counts, targets) = (lab.effort.of(SAMPLE_COUNTS), lab.effort.of(TARGETS));
    lab.prepare_laws(&[PAPER, 5e-6].map(|target| Entry::p_gnn(CONTROL_K, 1, target).published()))?;
    let mut rows = Vec::new();
    let (mut ours, mut theirs, mut all) = (vec![], vec![], vec![]);
    for (size, paper_samples, paper_seconds) in PAPER_SMALL_K {
        // Ascending. The first count that suffices on the selection cells is measured on the test set.
        let tries = targets.iter().flat_map(|&target| {
            counts.iter().map(move |&samples| Entry::p_gnn(size, samples, target).published())
        });
        let mut found = [None, None];
        for (found, count) in found.iter_mut().zip(Count::ALL) {
            *found = lab.first_available(count, tries.clone())?;
        }
        let enough: Enough = found.each_ref().map(|entry| {
            entry.as_ref().map(|entry| (entry.settings.samples, entry.settings.epsilon_d))
        });
        let printed = || Entry::p_gnn(size, paper_samples, PAPER).published();
        let entry = found.into_iter().flatten().next().unwrap_or_else(printed);
        let result = lab.outcomes(&entry)?;
        if let Some((samples, target)) = enough[0]
            && target >= PAPER
        {
            ours.push((size as f64, samples as f64));
        }
        theirs.push((size as f64, paper_samples as f64));
        all.push((size, enough));
        let settings = &entry.settings;
        let start = row!["trained", size, settings.samples, settings.epsilon_d; enough.map(words)];
        let times = row![paper_samples, result.seconds(), paper_seconds];
        rows.push([start, times, reached(&result)].concat());
    }
    let controls = controls(lab)?;
    for control in &controls {
        let start = row![control.label.clone(), CONTROL_K, control.samples, PAPER; [(); 5]];
        rows.push([start, reached(&control.result)].concat());
    }
    rows.push([row![BASELINE; [(); 8]], reached(&lab.equal_power()?)].concat());
    let small = format!("{}, {counts:?} samples, preset paper", lab.covers());
    let without = format!("{}, training K = {CONTROL_K}, ε_D = {PAPER:e}", lab.covers());
    Ok(vec![Table {
        name: "table4".into(),
        title: "Table IV: samples that P-GNN needs at small training sizes (preset paper), and controls".into(),
        note: format!(
            "“Enough samples” is the smallest of {counts:?} whose availability is 1.00 at every size ({}). It is \
             chosen on the selection cells (seed {SELECTION_SEED}) for the paper's ε_D = {PAPER:e}, or, if no number \
             suffices, for the next of {targets:?}. The other figures are measured on the test set for the first \
             number found with equal halves, or else as coded, or else for the paper's number. All runs for one ε_D \
             share one B^v. {COUNTS} The controls are untrained networks, one training sample, and equal power with \
             the bandwidths of B^v or of the exact b at ε_D. So few runs do not show how often a run serves every \
             user; the study `rates` does. Rows with preset fast are for {OUR_TRAINING}. There, a sample has 64 fading \
             states; in the paper, it has one. Brackets in the last column show the range of all runs.",
            lab.rule(),
        ),
        columns: row![
            "P-GNN",
            "training K",
            "samples",
            ("ε_D", "{:e}"),
            ("enough samples", "{}, ε_D = {:e}"),
            ("enough samples, as coded", "{}, ε_D = {:e}"),
            "paper's samples",
            ("training", "s", "{:.2}"),
            ("paper's training", "s", "{:.2}"),
            ("lowest A_K", "{:.3} at K = {}"),
            ("lowest A_K, as coded", "{:.3} at K = {}"),
            ("lowest A_K of all runs (as coded)", "{:.3} ({:.3})"),
            ("runs with A_K = 1.00 (as coded)", "{} ({}) of {}"),
            ("extra bandwidth, K = 200", "%", "{:+.2} ({:+.2} to {:+.2})"),
        ],
        rows,
        chart: Some(Chart {
            title: "Samples needed for availability 1.00 at every K".into(),
            x_label: "training K".into(),
            y_label: "number of training samples".into(),
            log_x: false,
            log_y: true,
            series: vec![Series::solid("AnyK", ours), Series::dashed("paper", theirs)],
        }),
        claims: vec![small_claim(&all).covering(small), control_claim(&controls).covering(without)],
        ..Table::default()
    }])
}

/// Returns a cell of the table.
fn words(enough: Option<(usize, f64)>) -> Value {
    enough.map_or("none tried".into(), |(samples, target)| [samples as f64, target].into())
}

/// Returns the lowest availability by both criteria, also of the worst run, the number of runs that serve every user,
/// and the extra bandwidth.
fn reached(result: &EntryResult) -> Vec<Value> {
    let lowest = Count::ALL.map(|count| {
        let (lowest, size) = result.lowest_by(count);
        [lowest, size as f64]
    });
    let [served, as_coded] = Count::ALL.map(|count| result.serving(count) as f64);
    let worst = Count::ALL.map(|count| result.worst(count));
    let over = (!result.runs.is_empty()).then(|| result.gap_with_range(LARGEST));
    row![lowest[0], lowest[1], worst, [served, as_coded, result.trainings() as f64], over]
}

/// Result of P-GNN with or without its samples.
struct Control {
    preset: &'static str,
    what: &'static str,
    label: String,
    samples: Option<usize>,
    result: EntryResult,
}

const PRESETS: [&str; 2] = ["preset paper", "preset fast"];
/// Name of the first result, which is not a control.
const TRAINED: &str = "trained";
/// Names of the controls that are networks.
const UNTRAINED: &str = "untrained";
const ONE_SAMPLE: &str = "one sample";

fn controls(lab: &mut Lab<'_>) -> Result<Vec<Control>, Error> {
    let fast = Entry::p_gnn(CONTROL_K, 2000, PAPER);
    let mut controls = Vec::new();
    for (preset, entry) in PRESETS.into_iter().zip([fast.clone().published(), fast.clone()]) {
        let mut one = entry.clone();
        one.settings.samples = 1;
        let untrained = entry.clone().untrained();
        let found = [
            (TRAINED, Some(2000), lab.outcomes(&entry)?),
            (UNTRAINED, Some(0), lab.outcomes(&untrained)?),
            (ONE_SAMPLE, Some(1), lab.outcomes(&one)?),
            ("equal power with B^v", None, lab.equal_power_by(&entry)?),
        ];
        controls.extend(found.map(|(what, samples, result)| {
            let label = format!("{what}, {preset}");
            Control { preset, what, label, samples, result }
        }));
    }
    let (what, samples) = ("equal power with the exact b", None);
    let result = lab.equal_power_by(&Entry { outer: Outer::Exact, ..fast })?;
    controls.push(Control { preset: "", what, label: what.to_owned(), samples, result });
    Ok(controls)
}

/// Returns the claim that P-GNN needs its samples: with each preset and by each criterion, the trained networks serve
/// every user, and no control does.
fn control_claim(controls: &[Control]) -> Claim {
    let (mut words, mut cases) = (Vec::new(), Vec::new());
    for preset in PRESETS {
        let own: Vec<&Control> = controls.iter().filter(|one| one.preset == preset).collect();
        let each = own.iter().map(|one| {
            let (lowest, _) = one.result.lowest_by(Count::EqualHalves);
            let how = match one.what {
                TRAINED | UNTRAINED => one.what.to_owned(),
                ONE_SAMPLE => format!("with {}", one.what),
                what => format!("for {what}"),
            };
            format!("{lowest:.2} {how}")
        });
        let each: Vec<String> = each.collect();
        words.push(format!("{preset}: {}", each.join(", ")));
        cases.extend(Count::ALL.map(|count| {
            all_of(own.iter().map(|one| Some(one.result.serves(count)? == (one.what == TRAINED))))
        }));
    }
    Claim::own(
        "P-GNN needs its training samples to serve every user at every K",
        format!("lowest A_K with equal halves, {}", words.join(". Lowest A_K, ")),
        all_hold(cases),
    )
}

/// Returns the claim that the paper's `ε_D` suffices at each training size, by each criterion. It suffices if all runs
/// serve every user; if not, so few runs do not decide.
fn small_claim(found: &[(usize, Enough)]) -> Claim {
    let is_enough =
        |enough: &Option<(usize, f64)>| enough.is_some_and(|(_, target)| target >= PAPER);
    let sizes = |place: usize| {
        let sizes = found.iter().filter(|(_, enough)| is_enough(&enough[place]));
        let sizes: Vec<String> = sizes.map(|(size, _)| size.to_string()).collect();
        if sizes.is_empty() {
            return "at none of these K".to_owned();
        }
        format!("at K = {}", listed(&sizes.iter().map(String::as_str).collect::<Vec<_>>()))
    };
    let holds = all_hold(
        found.iter().flat_map(|(_, by)| by.iter().map(|enough| is_enough(enough).then_some(true))),
    );
    Claim::paper(
        "P-GNN can be trained at K = 2, 5, 8 or 10 with the same ε_D = 6e-6",
        format!(
            "it suffices for all runs {} with equal halves, and {} as coded{}",
            sizes(0),
            sizes(1),
            pointer(holds)
        ),
        holds,
    )
}

#[cfg(test)]
mod tests {
    use anyk::framework::Holds;

    use super::*;
    use crate::tables::tests::measured;

    #[test]
    fn small_sizes_are_as_the_paper_says_or_not() {
        let at = |target: f64| Some((50, target));
        let paper = small_claim(&[(2, [at(6e-6); 2]), (10, [at(6e-6); 2])]);
        assert_eq!(
            paper.measured,
            "it suffices for all runs at K = 2 and 10 with equal halves, and at K = 2 and 10 as coded"
        );
        assert_eq!(paper.holds, Holds::Yes);
        let by_one = small_claim(&[(2, [at(4e-6), at(6e-6)]), (10, [None, at(6e-6)])]);
        // Some runs may serve every user, so the numbers do not decide.
        assert_eq!(by_one.holds, Holds::Undecided);
        assert!(by_one.measured.starts_with(
            "it suffices for all runs at none of these K with equal halves, and at K = 2 and 10 as coded. These"
        ));
        assert_eq!(small_claim(&[(2, [None; 2])]).holds, Holds::Undecided);
    }

    #[test]
    fn samples_count_only_where_nothing_does_without_them() {
        let claim = |untrained: f64| {
            let of = |what, preset, lowest: f64| Control {
                preset,
                what,
                label: String::new(),
                samples: None,
                result: measured([1.0, 1.0, 1.0, lowest, 1.0, 1.0, 1.0], 1.0),
            };
            let [paper, fast] = PRESETS;
            control_claim(&[
                of(TRAINED, paper, 1.0),
                of("one sample", paper, 0.3),
                of(TRAINED, fast, 1.0),
                of("untrained", fast, untrained),
            ])
        };
        assert_eq!(claim(0.4).holds, Holds::Yes);
        assert_eq!(claim(1.0).holds, Holds::Partly);
        assert_eq!(
            claim(1.0).measured,
            "lowest A_K with equal halves, preset paper: 1.00 trained, 0.30 with one sample. Lowest A_K, preset fast: \
             1.00 trained, 1.00 untrained"
        );
    }
}
