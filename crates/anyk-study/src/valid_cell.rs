//! The paper's comparison in a cell in which its rate formula holds: at least 100 channel uses in a frame, and at most
//! the spectral efficiency of 256-QAM. In the paper's own cell at K = 10, a user has 6 to 11 channel uses, that is, 18 to
//! 10 bit/s/Hz.

use crate::entry::{AVAILABLE, BASELINE, OUR_TRAINING};
use crate::lab::equal_power_on;
use crate::price::price_runs;
use crate::tables::too_short;
use crate::verdict::{either, runs_words};
use crate::{Count, Effort, EntryResult, Lab, TEST_SEED, our_entries};
use anyk::Config;
use anyk::framework::{CancelOnly, Claim, Error, Holds, Method, Session, Table, Value};
use anyk::math::realization_rng;
use anyk::problems::urllc::{TestSet, Urllc, UrllcSolver, train_price_policy};
use anyk::row;

/// Parameters of the cell, with their sources.
const CELL: &str = include_str!("../../../examples/valid-cell.toml");
const SIZES: [usize; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
/// Samples and steps of the FNN by default. It has as many inputs as the largest cell has users, and one run takes minutes
/// in full.
const FNN: (usize, u64) = (1_000, 100);
/// Minimum number of channel uses for which the normal approximation is meant.
const LEAST_USES: f64 = 100.0;
/// Spectral efficiency of 256-QAM, bit/s/Hz.
const MOST_BITS: f64 = 7.4063;
/// Largest extra bandwidth, in percent, at which a policy counts as generalizing.
const NEAR_PERCENT: f64 = 10.0;
/// Methods of the paper that are compared, by their places in table VI.
const METHODS: [usize; 3] = [0, 1, 3];
/// Runs of each method by default.
const RUNS: u64 = 2;

pub(crate) fn tables(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let config = Config::from_toml(CELL).map_err(Error::other)?;
    let mut lab = lab.elsewhere(&config)?.with_trainings(lab.trainings_or(10, RUNS));
    let test = TestSet::draw(&lab.system, &SIZES, lab.cells, TEST_SEED)?;
    let entries = our_entries(lab.effort);
    let mut rows = Vec::new();
    for mut entry in METHODS.map(|place| entries[place].clone()) {
        let is_fnn = entry.settings.method == Method::Fnn;
        let result = if is_fnn {
            let (samples, steps) = (entry.settings.samples, entry.settings.steps());
            let short = lab.effort.of([FNN, FNN, (samples, steps)]);
            (entry.settings.samples, entry.settings.recipe.steps) = (short.0, Some(short.1));
            // It has no outputs for larger cells than those of its training.
            lab.results(&entry)?
        } else {
            lab.results_on(&entry, &test, "valid cell")?
        };
        rows.push(Row::new(&entry.label, &result));
    }
    // Its runs hardly differ, and most of a run's time is for the tables of its training classes.
    let once = lab.with_trainings(lab.effort.of([1, 1, lab.runs()]));
    let [runs] = price_runs(&once, &test, &"valid cell", |run| {
        let settings = lab.price_settings(100 + run);
        let quietly = CancelOnly(lab.observer);
        Ok([train_price_policy(&lab.system, &settings, &mut Session::new(&quietly))?])
    })?;
    rows.push(Row::new(PRICE, &EntryResult { runs, diverged: 0 }));
    let equal = equal_power_on(&test)?;
    rows.push(Row::new(BASELINE, &equal));
    let mhz = |size: &usize| {
        let row = equal.runs.iter().flat_map(|run| &run.sizes).find(|row| row.k == *size);
        Value::formatted([row.map_or(f64::NAN, |row| row.optimum_mhz)], "{:.3}")
    };
    let optimum = row!["exact optimum (MHz)"; SIZES.iter().map(mhz)];
    let extremes = extremes(&lab)?;
    let fewest = extremes.iter().map(|of| Value::formatted([of.0], "{:.0}"));
    let fewest = row!["fewest channel uses of a user at the optimum"; fewest];
    let claims = covered(claims(&rows, lab.effort == Effort::Full), &lab, once.runs());
    let validity =
        validity(&extremes).covering(format!("K = 1 to 1000, {} cells for each K", lab.cells));
    Ok(vec![Table {
        name: "valid-cell".into(),
        title: "Extra bandwidth (availability) of each method in a cell in which the rate formula holds".into(),
        note: format!(
            "The cell is examples/valid-cell.toml: packets of 255 bytes, frames of 0.5 ms, and at most 7.4063 bit/s/Hz \
             in each fading state. The rate formula is meant for {LEAST_USES} channel uses per frame or more. Each \
             figure is the {}, in percent of the optimum, with the share of users served in brackets. The networks are \
             {OUR_TRAINING}. The statements below are AnyK's: the paper has neither this cell nor K above 200, and sets \
             no limit on the extra bandwidth. By default, the FNN has {} samples and {} steps, and the price policy has \
             one run. The FNN applies to K up to 200.",
            lab.rule(),
            FNN.0,
            FNN.1,
        ),
        columns: row![
            "method";
            SIZES.map(|size| (format!("K = {size}"), "%", "{:+.2} ({:.2})"))
        ],
        rows: [optimum, fewest].into_iter().chain(rows.iter().map(Row::values)).collect(),
        claims: [validity].into_iter().chain(claims).collect(),
        ..Table::default()
    }])
}

/// Adds to the claims of [`claims`] the sizes and runs that they cover.
fn covered(claims: Vec<Claim>, lab: &Lab<'_>, price_runs: u64) -> Vec<Claim> {
    let networks = |most| {
        let (runs, cells) = (lab.trainings_words(), lab.cells);
        format!("K = 1 to {most}; {runs}, preset fast, {cells} cells for each K")
    };
    let price =
        format!("K = 1 to 1000; {}, {} cells for each K", runs_words(price_runs), lab.cells);
    let covers = |claim: &Claim| match () {
        () if claim.statement.contains("FNN") => networks(200),
        () if claim.statement.contains("price policy") => price.clone(),
        () => networks(1000),
    };
    claims
        .into_iter()
        .map(|claim| {
            let covers = covers(&claim);
            claim.covering(covers)
        })
        .collect()
}

/// Returns, for each size, the smallest number of channel uses per frame of any user in the optimal allocations of the
/// test cells, and the largest spectral efficiency in bit/s/Hz.
fn extremes(lab: &Lab<'_>) -> Result<Vec<(f64, f64)>, Error> {
    let mut solver = UrllcSolver::default();
    SIZES
        .iter()
        .map(|&size| {
            let (mut fewest, mut most) = (f64::INFINITY, 0.0);
            for index in 0..lab.cells {
                let mut rng = realization_rng(TEST_SEED, size, index);
                let mut gain =
                    || lab.system.path_loss().gain(lab.system.road().sample_distance_m(&mut rng));
                let gains: Vec<f64> = (0..size).map(|_| gain()).collect();
                let problem = Urllc::uniform(&lab.system, gains).map_err(Error::other)?;
                let solution = solver.solve(&problem);
                if solution.outcome.infeasible().is_none() {
                    let qos = &problem.classes()[0];
                    for &hz in &solution.allocation.bandwidth_hz {
                        fewest = f64::min(fewest, qos.channel_uses(hz));
                        most = f64::max(most, qos.spectral_efficiency(hz));
                    }
                }
            }
            Ok((fewest, most))
        })
        .collect()
}

/// Returns the claim that the rate formula holds in the optimal allocations.
fn validity(extremes: &[(f64, f64)]) -> Claim {
    let fewest = extremes.iter().map(|of| of.0).fold(f64::INFINITY, f64::min);
    let most = extremes.iter().map(|of| of.1).fold(0.0, f64::max);
    Claim::own(
        format!(
            "Every optimal allocation has at least {LEAST_USES} channel uses and at most {MOST_BITS} bit/s/Hz for each \
             user"
        ),
        format!("at least {fewest:.1} channel uses, at most {most:.4} bit/s/Hz"),
        fewest >= LEAST_USES && most <= MOST_BITS * (1.0 + 1e-9),
    )
}

/// Label of the price policy.
const PRICE: &str = "price";

/// Extra bandwidth in percent and availability of a method at each size that it applies to, and whether it serves every
/// user.
struct Row {
    label: String,
    figures: Vec<(usize, f64, f64)>,
    serves: Option<bool>,
}

impl Row {
    fn new(label: &str, result: &EntryResult) -> Self {
        let sizes = result.runs.first().map(|run| run.sizes.as_slice()).unwrap_or_default();
        let figures = sizes
            .iter()
            .map(|size| (size.k, result.gap_percent(size.k), result.availability(size.k)));
        let serves = result.serves(Count::EqualHalves);
        Self { label: label.to_owned(), figures: figures.collect(), serves }
    }

    fn values(&self) -> Vec<Value> {
        let at = |size: usize| {
            let (_, gap, availability) = *self.figures.iter().find(|figure| figure.0 == size)?;
            // Rejected cells have no bandwidth to compare, and a rounding error is not a negative value.
            (gap > -99.0).then(|| [if gap.abs() < 5e-3 { 0.0 } else { gap }, availability])
        };
        row![self.label.clone(); SIZES.map(at)]
    }

    /// Largest extra bandwidth over all sizes, in percent.
    fn worst(&self) -> f64 {
        self.figures.iter().map(|figure| figure.1).fold(f64::NEG_INFINITY, f64::max)
    }

    fn words(&self) -> String {
        let lowest = self.figures.iter().map(|figure| figure.2).fold(1.0, f64::min);
        format!("lowest A_K {lowest:.2}, extra bandwidth up to {:.2} %", self.worst())
    }
}

/// Returns the claims about the methods, with verdicts from the figures. `whole` says whether the FNN has its whole budget.
fn claims(rows: &[Row], whole: bool) -> Vec<Claim> {
    let of = |label: &str| rows.iter().find(|row| row.label.starts_with(label));
    let words = |label: &str| of(label).map_or_else(String::new, Row::words);
    let is = |label: &str, holds: &dyn Fn(&Row) -> bool| of(label).is_some_and(holds);
    let p_gnn = "P-GNN";
    let served = Holds::from(of(p_gnn).and_then(|row| row.serves));
    let fails = |label: &str| {
        let holds = of(label).and_then(|row| match row.serves {
            _ if row.worst() > NEAR_PERCENT => Some(true),
            serves => serves.map(|serves| !serves),
        });
        Claim::own(
            format!(
                "In the valid cell, {label} does not serve every user at every K, or needs more than \
                 {NEAR_PERCENT} % extra bandwidth"
            ),
            words(label),
            holds,
        )
    };
    let fnn = if whole { fails("FNN") } else { too_short(fails("FNN")) };
    let pairs = || {
        let pairs = of(p_gnn).into_iter().zip(of(BASELINE)).flat_map(|(one, equal)| {
            let both = |figure: &(usize, f64, f64)| {
                let equal = equal.figures.iter().find(|other| other.0 == figure.0)?;
                (equal.2 >= AVAILABLE).then_some(figure.1 < equal.1)
            };
            one.figures.iter().filter_map(both).collect::<Vec<bool>>()
        });
        pairs.collect::<Vec<bool>>()
    };
    let less = pairs().iter().filter(|less| **less).count();
    vec![
        Claim::own(
            "In the valid cell, P-GNN trained at K = 10 serves every user at every K",
            format!(
                "{}{}",
                words(p_gnn),
                either(served == Holds::Undecided, [". These runs are too few to decide", ""])
            ),
            served,
        ),
        Claim::own(
            format!(
                "In the valid cell, P-GNN needs at most {NEAR_PERCENT} % extra bandwidth at every K"
            ),
            words(p_gnn),
            Holds::from(is(p_gnn, &|row| row.worst() <= NEAR_PERCENT)),
        ),
        fails("M-GNN^10"),
        fnn,
        Claim::own(
            "In the valid cell, P-GNN needs less bandwidth than equal power with exact bandwidths",
            format!("at {less} of {} sizes at which equal power serves every user", pairs().len()),
            Holds::in_all(pairs()),
        ),
        Claim::own(
            "In the valid cell, the price policy serves every user within 0.2 % of the optimum at every K",
            words(PRICE),
            Holds::from(is(PRICE, &|row| row.serves == Some(true) && row.worst() <= 0.2)),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_follow_the_figures() {
        let row = |label: &str, gap: f64, availability: f64| Row {
            label: label.to_owned(),
            figures: vec![(10, 0.1, 1.0), (1000, gap, availability)],
            serves: Some(availability >= AVAILABLE),
        };
        let holds = |p_gnn: (f64, f64), price: f64, whole: bool| -> Vec<Holds> {
            let rows = [
                row("P-GNN", p_gnn.0, p_gnn.1),
                row("M-GNN^10", -50.0, 0.0),
                row("FNN", 3.0, 1.0),
                row(PRICE, price, 1.0),
                row(BASELINE, 7.0, 1.0),
            ];
            claims(&rows, whole).into_iter().map(|claim| claim.holds).collect()
        };
        use Holds::{No, Partly, Undecided, Yes};
        assert_eq!(holds((5.0, 1.0), 0.1, true), [Yes, Yes, Yes, No, Partly, Yes]);
        assert_eq!(holds((12.0, 0.9), 0.3, false), [No, No, Yes, Undecided, No, No]);
        // Only sizes at which equal power serves every user count.
        let equal =
            Row { figures: vec![(10, 0.2, 1.0), (1000, 0.0, 0.0)], ..row(BASELINE, 0.0, 0.0) };
        let found = claims(&[row("P-GNN", 5.0, 1.0), equal], true);
        assert_eq!(found[4].holds, Yes);
        assert!(found[4].measured.starts_with("at 1 of 1 sizes"), "{}", found[4].measured);
    }

    #[test]
    fn the_cell_is_valid() {
        let config = Config::from_toml(CELL).unwrap();
        assert_eq!(config.cell.max_spectral_efficiency, Some(7.4063));
        config.validate().unwrap();
    }
}
