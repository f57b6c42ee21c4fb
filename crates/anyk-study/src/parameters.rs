//! P-GNN and the price policy in other cells than the paper's: "When the system parameters … change, similar results
//! can be obtained" (paper, section V).

use crate::entry::{AVAILABLE, BASELINE};
use crate::price::price_runs;
use crate::verdict::covering;
use crate::{Count, Entry, EntryResult, Lab, TEST_SIZES};
use anyk::Config;
use anyk::framework::{CancelOnly, Claim, Error, Holds, Session, Table, Value};
use anyk::problems::urllc::train_price_policy;
use anyk::row;

/// Ratios `ε_D/ε`, the loosest first: the paper's, then stricter ones.
const LADDER: [f64; 6] = [0.6, 0.4, 0.25, 0.1, 0.03, 0.01];
/// Sizes whose extra bandwidth is shown.
const SHOWN: [usize; 2] = [10, 200];
/// Largest extra bandwidth of similar results, in percent, at the sizes shown.
const SIMILAR_PERCENT: f64 = 10.0;

/// Returns the cells with their labels, the paper's first.
fn cells() -> Vec<(String, Config)> {
    let mut list = Vec::new();
    let mut add = |label: String, change: &dyn Fn(&mut Config)| {
        let mut config = Config::default();
        change(&mut config);
        list.push((label, config));
    };
    add("the paper's".to_owned(), &|_| ());
    for antennas in [2, 4, 16] {
        add(format!("N_t = {antennas}"), &|config| config.cell.antennas = antennas);
    }
    for dbm in [36.0, 40.0, 46.0] {
        add(format!("P_max = {dbm} dBm"), &|config| config.cell.max_power_dbm = dbm);
    }
    for radius_m in [150.0, 350.0, 500.0] {
        add(format!("radius {radius_m} m"), &|config| config.road.cell_radius_m = radius_m);
    }
    for epsilon in [1e-6, 1e-4] {
        add(format!("ε = {epsilon:e}"), &|config| config.service.epsilon = epsilon);
    }
    list
}

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let cells = cells();
    let some = lab.effort.of([2, cells.len(), cells.len()]);
    let (mut rows, mut measured) = (Vec::new(), Vec::new());
    for (label, config) in &cells[..some] {
        lab.go_on()?;
        let found = Row::measure(&mut lab.elsewhere(config)?)?;
        rows.extend(found.rows(label));
        measured.push((label.as_str(), found));
    }
    Ok(vec![Table {
        name: "parameters".into(),
        title:
            "Availability and extra bandwidth in other cells than the paper's, trained at K = 10"
                .into(),
        note: format!(
            "Each figure is the {}, with the worst of all runs in brackets. Each cell has {} test cells for each K in \
             {TEST_SIZES:?}. P-GNN has our training (preset fast). It is shown at the \
             paper's ratio ε_D = {} ε and, if it differs, at the first ratio of {LADDER:?} whose availability is 1.00 \
             at every K on the selection cells. The price policy has no margin ε_D. Results are similar if availability is \
             1.00 at every K and the extra bandwidth at most {SIMILAR_PERCENT} % at K = {SHOWN:?}.{}",
            lab.rule(),
            lab.cells,
            LADDER[0],
            hopeless(&measured),
        ),
        columns: row![
            "cell",
            "method",
            ("ε_D / ε", "{:.2}"),
            ("lowest A_K (of all runs)", "{:.3} at K = {} ({:.3})");
            SHOWN.map(|size| {
                (format!("extra bandwidth, K = {size} (of all runs)"), "%", "{:+.2} ({:+.2})")
            })
        ],
        rows,
        claims: covering(claims(&measured), &lab.covers()),
        ..Table::default()
    }])
}

/// Lowest availability with its size, and extra bandwidths.
#[derive(Debug, Clone)]
struct Figures {
    lowest: (f64, usize),
    over: [f64; 2],
    /// Lowest availability and largest extra bandwidths of any run.
    worst: (f64, [f64; 2]),
}

impl Figures {
    fn of(result: &EntryResult) -> Self {
        Self {
            lowest: result.lowest(),
            over: SHOWN.map(|size| result.gap_percent(size)),
            worst: (result.worst(Count::EqualHalves), SHOWN.map(|size| result.spread(size)[1].1)),
        }
    }

    fn is_available(&self) -> bool {
        self.lowest.0 >= AVAILABLE
    }

    fn is_similar(&self) -> bool {
        self.is_available() && self.over.iter().all(|over| over.abs() <= SIMILAR_PERCENT)
    }

    fn values(&self) -> Vec<Value> {
        let (lowest, size) = self.lowest;
        let over = [0, 1].map(|place| match [self.over[place], self.worst.1[place]] {
            // Rejected cells have no bandwidth to compare.
            [over, _] if over <= -99.0 => None,
            // A rounding error is not a negative value.
            both => Some(both.map(|over| if over.abs() < 5e-3 { 0.0 } else { over })),
        });
        row![[lowest, size as f64, self.worst.0]; over]
    }
}

/// Results in one cell.
struct Row {
    equal: Figures,
    price: Figures,
    at_paper: Figures,
    /// Ratio chosen on the selection cells, with its figures; `None` if no ratio suffices.
    chosen: Option<(f64, Figures)>,
}

impl Row {
    fn measure(lab: &mut Lab<'_>) -> Result<Self, Error> {
        let epsilon = lab.system.service().epsilon;
        let entry = |ratio: f64| Entry::p_gnn(10, 2000, ratio * epsilon);
        let at_paper = Figures::of(&lab.results(&entry(LADDER[0]))?);
        let mut chosen = None;
        if let Some(found) = lab.first_available(Count::EqualHalves, LADDER.map(entry))? {
            let ratio = found.settings.epsilon_d / epsilon;
            chosen = Some((ratio, Figures::of(&lab.results(&found)?)));
        }
        let test = lab.test_set();
        let [runs] = price_runs(lab, &test, &"other cells", |run| {
            let settings = lab.price_settings(100 + run);
            let quietly = CancelOnly(lab.observer);
            Ok([train_price_policy(&lab.system, &settings, &mut Session::new(&quietly))?])
        })?;
        Ok(Self {
            equal: Figures::of(&lab.equal_power()?),
            price: Figures::of(&EntryResult { runs, diverged: 0 }),
            at_paper,
            chosen,
        })
    }

    fn rows(&self, label: &str) -> Vec<Vec<Value>> {
        let row = |method: &str, ratio: Value, figures: &Figures| -> Vec<Value> {
            row![label, method, ratio; figures.values()]
        };
        let paper = Value::formatted([LADDER[0]], "{}");
        let mut rows = vec![row("P-GNN", paper, &self.at_paper)];
        match &self.chosen {
            // The paper's ratio has a row already; the product and the quotient may have rounded it.
            Some((ratio, _)) if *ratio > 0.5 * (LADDER[0] + LADDER[1]) => {}
            Some((ratio, figures)) => rows.push(row("P-GNN", Value::Number(*ratio), figures)),
            None => {
                rows.push(row![label, "P-GNN", "none tried"; [(); 1 + SHOWN.len()]]);
            }
        }
        rows.push(row("price", Value::Empty, &self.price));
        rows.push(row(BASELINE, Value::Empty, &self.equal));
        rows
    }

    /// Figures of P-GNN at the chosen ratio, or else at the paper's.
    fn p_gnn(&self) -> &Figures {
        self.chosen.as_ref().map_or(&self.at_paper, |(_, figures)| figures)
    }
}

/// Returns claims about the number of cells with similar results.
fn claims(rows: &[(&str, Row)]) -> Vec<Claim> {
    let all = rows.len();
    let similar = |of: fn(&Row) -> &Figures| rows.iter().map(move |(_, row)| of(row).is_similar());
    let count = |of: fn(&Row) -> &Figures| similar(of).filter(|similar| *similar).count();
    let said = |similar: usize| format!("in {similar} of {all} cells");
    let (p_gnn, price) = (count(Row::p_gnn), count(|row| &row.price));
    let at_paper = count(|row| &row.at_paper);
    vec![
        Claim::paper(
            "P-GNN gives similar results when the system parameters change",
            format!("{}, and in {at_paper} with the paper's ratio ε_D/ε", said(p_gnn)),
            Holds::in_all(similar(Row::p_gnn)),
        ),
        Claim::own(
            "The price policy gives similar results when the system parameters change",
            said(price),
            Holds::in_all(similar(|row| &row.price)),
        ),
    ]
}

/// Names the cells in which equal power does not serve every user, so that P-GNN cannot learn its outer function.
fn hopeless(rows: &[(&str, Row)]) -> String {
    let lost = rows
        .iter()
        .filter(|(_, row)| !row.p_gnn().is_available() && !row.equal.is_available())
        .map(|(label, row)| {
            format!(
                " In the cell “{label}”, equal power does not serve every user at K = {}. The outer function is \
                 trained on equal power, so P-GNN cannot learn it there.",
                row.equal.lowest.1
            )
        });
    lost.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_count_cells() {
        let good = Figures { lowest: (0.998, 50), over: [2.9, 4.7], worst: (0.998, [2.9, 4.7]) };
        let short = Figures { lowest: (0.66, 200), ..good.clone() };
        let wide = Figures { over: [2.9, 14.7], ..good.clone() };
        let row = |at_paper: &Figures, chosen: Option<&Figures>| Row {
            equal: good.clone(),
            price: good.clone(),
            at_paper: at_paper.clone(),
            chosen: chosen.map(|figures| (0.1, figures.clone())),
        };
        let said = &claims(&[("a", row(&good, None)), ("b", row(&short, Some(&good)))])[0];
        assert_eq!(said.measured, "in 2 of 2 cells, and in 1 with the paper's ratio ε_D/ε");
        assert_eq!(said.holds, Holds::Yes);
        for other in [None, Some(&wide)] {
            let rows = [("a", row(&good, None)), ("b", row(&short, other))];
            assert_eq!(claims(&rows)[0].holds, Holds::Partly);
            assert_eq!(hopeless(&rows), "");
        }
        let held = claims(&[("a", row(&short, None))]);
        assert_eq!([held[0].holds, held[1].holds], [Holds::No, Holds::Yes]);
        // If equal power fails as well, the note gives that reason.
        let lost = Row { equal: short.clone(), ..row(&short, None) };
        assert!(hopeless(&[("500 m", lost)]).contains("“500 m”, equal power does not serve"));
        // P-GNN has a second row, even if no ratio suffices.
        let ratios = |row: Row| row.rows("x").into_iter().map(|row| row[2].clone());
        assert!(ratios(row(&short, None)).any(|ratio| ratio == "none tried".into()));
        assert!(ratios(row(&short, Some(&good))).any(|ratio| ratio == 0.1.into()));
    }
}
